"""Time that is covered by events; overlapping events count once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from kinetoscope.trace import Event
    from kinetoscope.trace.columns import Columns


def busy(events: Iterable[Event]) -> int:
    """ns covered by at least one of ``events``: the length of the union of their intervals."""
    ranges = sorted((event.start, event.end) for event in events)
    covered, reached = 0, ranges[0][0] if ranges else 0
    for begin, end in ranges:
        begin = max(begin, reached)
        if end > begin:
            covered += end - begin
            reached = end
    return covered


def span(events: Iterable[Event]) -> int:
    """ns from the start of the first of ``events`` to the end of the last (0 for none)."""
    bounds = [(event.start, event.end) for event in events]
    if not bounds:
        return 0
    return max(end for _, end in bounds) - min(start for start, _ in bounds)


def covered(columns: Columns, at: NDArray[np.intp]) -> int:
    """ns covered by at least one of the events at positions ``at``, which are in order of start."""
    cover = Cover.of(columns, at)
    return int((cover.end - cover.start).sum())


class Cover(NamedTuple):
    """The time that some events cover, as m intervals in order, which do not touch."""

    start: NDArray[np.int64]
    """(m) ns"""
    end: NDArray[np.int64]
    """(m) ns"""
    before: NDArray[np.int64]
    """(m + 1) ns that the intervals before each cover"""

    @classmethod
    def of(cls, columns: Columns, at: NDArray[np.intp]) -> Cover:
        """The time covered by the events at positions ``at``, which are in order of start."""
        start, reached = columns.start[at], np.maximum.accumulate(columns.ends(at))
        new = np.append(True, start[1:] > reached[:-1])[: len(at)]
        start, end = start[new], reached[np.append(new[1:], True)[: len(at)]]
        return cls(start, end, np.append(0, np.cumsum(end - start)))

    def until(self, time: NDArray[np.int64]) -> NDArray[np.int64]:
        """(n) ns covered before each of n times (ns)."""
        behind = np.searchsorted(self.start, time, "right")
        over = np.append(0, self.end)[behind] - time
        covered: NDArray[np.int64] = self.before[behind] - np.maximum(over, 0) * (behind > 0)
        return covered

    def between(self, start: int, end: int) -> int:
        """ns covered between two times (ns)."""
        first, last = self.until(np.array([start, end])).tolist()
        return int(last - first)
