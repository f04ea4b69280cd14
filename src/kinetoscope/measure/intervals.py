"""Time that is covered by events; overlapping events count once."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    if not len(at):
        return 0
    start, end = columns.start[at], columns.ends(at)
    reached = np.maximum.accumulate(end)
    # An event adds what lies behind the ends of all events before it.
    begin = np.maximum(start[1:], reached[:-1])
    return int(end[0] - start[0] + np.maximum(end[1:] - begin, 0).sum())
