"""Each row of torch's own table of the same run, unrounded, is reproduced from the exported trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kinetoscope.measure.tables import op_table
from kinetoscope.trace import load

from .torch_table import DeviceTimes, torch_table

if TYPE_CHECKING:
    from kinetoscope.trace import Event

TRACES = Path(__file__).parents[1] / "data" / "traces"
NAMES = sorted(path.name.removesuffix(".table.json") for path in TRACES.glob("*.table.json"))


def test_every_sample_has_its_oracle() -> None:
    assert len(NAMES) == 13
    assert sorted(path.name.removesuffix(".json.gz") for path in TRACES.glob("*.json.gz")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_row_of_torch(name: str) -> None:
    theirs = json.loads((TRACES / f"{name}.table.json").read_text())
    ours = torch_table(load(TRACES / f"{name}.json.gz"))

    def key(row: Any) -> tuple[Any, ...]:
        return (row["name"], row["on"], row["user_annotation"])

    expected = {key(row): row for row in theirs["rows"]}
    assert len(expected) == len(theirs["rows"])
    by_key = {(row.name, row.on, row.user_annotation): row for row in ours}
    assert len(by_key) == len(ours)
    assert by_key.keys() == expected.keys()
    for which, row in by_key.items():
        want = expected[which]
        assert row.calls == want["calls"], which
        for column in ("self_cpu", "cpu", "self_device", "device"):
            # torch sums floats of µs: to a nanosecond a call, and its own rounding
            off = abs(getattr(row, column) - want[f"{column}_us"] * 1000)
            assert off <= row.calls + 1e-3, (which, column)
    total = sum(row.self_cpu for row in ours)
    assert total == pytest.approx(theirs["self_cpu_total_us"] * 1000, abs=len(ours))


@pytest.mark.parametrize("name", NAMES)
def test_gpu_time_of_ops_is_that_of_their_activities_one_by_one(name: str) -> None:
    trace = load(TRACES / f"{name}.json.gz")
    steps = zip(trace.steps_at, (step.gpu for step in trace.steps), strict=True)
    for step, gpu in ((None, trace.gpu), *steps):
        device = DeviceTimes(gpu)
        for row in op_table(trace, step):
            assert row.self_device == sum(map(device.own, row.events))
            outer = [event for event in row.events if not _in_its_like(event)]
            assert row.device == sum(map(device.total, outer))


def _in_its_like(event: Event) -> bool:
    around = event.parent
    while around is not None and (around.name, around.kind) != (event.name, event.kind):
        around = around.parent
    return around is not None
