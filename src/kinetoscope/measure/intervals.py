"""Time that is covered by events; overlapping events count once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
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
    """ns from the begin of the first of ``events`` to the end of the last (0 for none)."""
    bounds = [(event.start, event.end) for event in events]
    if not bounds:
        return 0
    return max(end for _, end in bounds) - min(start for start, _ in bounds)


class Union(msgspec.Struct, frozen=True):
    """The union of many intervals; answers how much it covers between two moments by binary search."""

    start: NDArray[np.int64]
    """(m) ns, begins of the m stretches without a gap"""
    end: NDArray[np.int64]
    before: NDArray[np.int64]
    """(m + 1) ns covered by all stretches before each, and by all"""

    @classmethod
    def of(cls, columns: Columns, at: NDArray[np.intp]) -> Union:
        """The union of the events at positions ``at``, which are in order of start."""
        start, end = columns.start[at], columns.ends(at)
        reached = np.maximum.accumulate(end) if len(at) else end
        first = np.flatnonzero(np.append(True, start[1:] > reached[:-1])) if len(at) else np.empty(0, np.intp)
        last = np.append(first[1:], len(at))[: len(first)] - 1
        start, end = start[first], reached[last]
        return cls(start, end, np.append(0, np.cumsum(end - start)))

    def covered(self, start: int | None = None, end: int | None = None) -> int:
        """ns that it covers; only between ``start`` and ``end`` if they are given."""
        if not len(self.start):
            return 0
        start = int(self.start[0]) if start is None else start
        end = int(self.end[-1]) if end is None else end
        return max(0, self._until(end) - self._until(start))

    def _until(self, moment: int) -> int:
        """ns covered before ``moment``."""
        n = int(np.searchsorted(self.start, moment, "right"))
        if n == 0:
            return 0
        return int(self.before[n - 1]) + min(moment, int(self.end[n - 1])) - int(self.start[n - 1])
