"""The union of intervals, against counting every nanosecond."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.measure.intervals import busy, covered, span

from .made import Made, ranged

RANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 25)), max_size=12)


def events(ranges: list[tuple[int, int]]) -> Any:
    return ranged((start, start + dur) for start, dur in ranges)


@given(RANGES)
def test_busy_is_the_union(ranges: list[tuple[int, int]]) -> None:
    ticks = {tick for start, dur in ranges for tick in range(start, start + dur)}
    assert busy(events(ranges)) == len(ticks)


def test_busy_before_zero() -> None:
    assert busy(events([(-30, 10), (-25, 20)])) == 25


@given(RANGES)
def test_positions_cover_what_their_events_do(ranges: list[tuple[int, int]]) -> None:
    made = Made().call("the beginning", 0, 0)
    for start, dur in ranges:
        made.activity(start, start + dur)
    columns = made.trace().columns
    ticks = {tick for start, dur in ranges for tick in range(start, start + dur)}
    assert covered(columns, np.flatnonzero(columns.on_gpu)) == 1000 * len(ticks)


@given(RANGES)
def test_span_holds_busy(ranges: list[tuple[int, int]]) -> None:
    ends = [start + dur for start, dur in ranges]
    assert span(events(ranges)) == (max(ends) - min(start for start, _ in ranges) if ranges else 0)
    assert busy(events(ranges)) <= span(events(ranges))
