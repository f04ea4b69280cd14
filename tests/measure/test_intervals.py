"""The union of intervals, against counting every nanosecond."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.measure.intervals import busy, span
from kinetoscope.trace import Event, Kind, LaneId

LANE = LaneId(0, 7, 7, 0)
RANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 25)), max_size=12)


def events(ranges: list[tuple[int, int]]) -> list[Event]:
    return [Event("k", Kind.KERNEL, start, dur, LANE, {}, n) for n, (start, dur) in enumerate(ranges)]


@given(RANGES)
def test_busy_is_the_union(ranges: list[tuple[int, int]]) -> None:
    covered = {tick for start, dur in ranges for tick in range(start, start + dur)}
    assert busy(events(ranges)) == len(covered)


@given(RANGES, st.integers(0, 60), st.integers(0, 60))
def test_busy_within_bounds(ranges: list[tuple[int, int]], one: int, other: int) -> None:
    first, last = sorted((one, other))
    covered = {tick for start, dur in ranges for tick in range(start, start + dur) if first <= tick < last}
    assert busy(events(ranges), first, last) == len(covered)


@given(RANGES)
def test_span_holds_busy(ranges: list[tuple[int, int]]) -> None:
    ends = [start + dur for start, dur in ranges]
    assert span(events(ranges)) == (max(ends) - min(start for start, _ in ranges) if ranges else 0)
    assert busy(events(ranges)) <= span(events(ranges))
