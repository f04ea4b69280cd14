"""Time that is covered by events, counted once however many run at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kinetoscope.trace import Event


def busy(events: Iterable[Event], start: int | None = None, end: int | None = None) -> int:
    """ns covered by at least one of ``events``: the length of the union of their intervals.

    ``start`` and ``end`` (ns) leave out what lies before and after.
    """
    covered = 0
    reached: int | None = start
    for begin, finish in sorted((event.start, event.end) for event in events):
        if end is not None:
            finish = min(finish, end)
        if reached is not None:
            begin = max(begin, reached)
        if finish > begin:
            covered += finish - begin
            reached = finish
    return covered


def span(events: Iterable[Event]) -> int:
    """ns from the begin of the first of ``events`` to the end of the last (0 for none)."""
    bounds = [(event.start, event.end) for event in events]
    if not bounds:
        return 0
    return max(end for _, end in bounds) - min(start for start, _ in bounds)
