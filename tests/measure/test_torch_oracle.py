"""Each row of torch's own table of the same run, unrounded, is reproduced from the exported trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kinetoscope.measure.torch_table import torch_table
from kinetoscope.trace import load

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
    found = {(row.name, row.on, row.user_annotation): row for row in ours}
    assert len(found) == len(ours)
    assert found.keys() == expected.keys()
    for which, row in found.items():
        want = expected[which]
        assert row.calls == want["calls"], which
        for column in ("self_cpu", "cpu", "self_device", "device"):
            # torch sums floats of µs: to a nanosecond a call, and its own rounding
            off = abs(getattr(row, column) - want[f"{column}_us"] * 1000)
            assert off <= row.calls + 1e-3, (which, column)
    total = sum(row.self_cpu for row in ours)
    assert total == pytest.approx(theirs["self_cpu_total_us"] * 1000, abs=len(ours))
