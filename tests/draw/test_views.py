"""The views of a trace: what it costs to make them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from kinetoscope.api.trace import plain_rows
from kinetoscope.draw.table import fitting, text_table
from kinetoscope.draw.views import VIEWS, choose_rows
from kinetoscope.trace import Trace, loads

TRACE = Path(__file__).parents[1] / "data" / "traces" / "geglu_eager.json.gz"


@pytest.mark.parametrize("by", VIEWS)
@pytest.mark.parametrize("step", [None, 3, "no steps"])
def test_no_event_is_built_for_a_table(
    by: str, step: int | str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred thousand events take longer to build than all else."""
    data = gzip.decompress(TRACE.read_bytes())
    if step == "no steps":
        data = data.replace(b"ProfilerStep#", b"Range#")
    trace = loads(data, "t")

    def refuse(_: Trace) -> None:
        raise AssertionError("events were built")

    monkeypatch.setattr(Trace, "events", property(refuse))
    shown = choose_rows(trace, by, step=step if isinstance(step, int) else None)
    assert shown.rows or (by == "step" and step == "no steps")
    assert len(plain_rows(shown.view, shown.rows)[1]) == len(shown.rows)


SMALL = Path(__file__).parents[1] / "data" / "small"


def test_what_is_idle_adds_up_in_the_columns_that_are_shown() -> None:
    [path] = SMALL.glob("25_*")
    shown = choose_rows(loads(path.read_bytes(), "t"), "waiting")
    causes = [column.key for column in shown.columns if column.key.startswith("idle_")]
    assert "idle_unknown" in causes
    [row] = shown.rows
    assert sum(getattr(row, cause) for cause in causes) == row.idle > 0
    usual = choose_rows(loads(TRACE.read_bytes(), "t"), "waiting")
    assert "idle_unknown" not in [column.key for column in usual.columns]


@pytest.mark.parametrize("name", ["ProfilerStep#2", "aten::mm"])
def test_without_a_gpu_nothing_waited(name: str) -> None:
    event = f'[{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 1, "tid": 1, "ts": 0, "dur": 9}}]'
    assert choose_rows(loads(event.encode(), "t"), "waiting").rows == []


@pytest.mark.parametrize("width", [40, 60, 80])
def test_on_a_narrow_terminal_more_names_give_way_to_numbers(width: int) -> None:
    shown = choose_rows(loads(TRACE.read_bytes(), "t"), "kernel")
    fitted = fitting(shown.columns, shown.rows, width)
    assert [column.key for column in fitted][:3] == ["name", "calls", "device"]
    assert max(map(len, text_table(fitted, shown.rows, width=width).splitlines())) <= width
    assert fitting(shown.columns, shown.rows, 200) == shown.columns
