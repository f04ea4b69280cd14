"""The views of a trace: what it costs to make them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from kinetoscope.cli.table import plain_rows
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
    assert len(plain_rows(shown)[1]) == len(shown.rows)
