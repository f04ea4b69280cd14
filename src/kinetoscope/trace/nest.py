"""Which CPU event encloses which, per thread."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from kinetoscope.trace.events import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kinetoscope.trace.events import Event, LaneId

_DEPTH = {Kind.ANNOTATION: 0, Kind.OP: 1, Kind.CALL: 2}
"""What lies outside where two events have the same range."""

OVERRUN = 1000
"""ns by which a child may end after its parent.

A file in whole µs has start and duration cut off separately, so that an end may be up to 1 µs late
(pytorch#101861).  Beyond that two events overlap and neither is the other's child.
"""


def nest(events: list[Event]) -> None:
    """Set ``parent`` and ``children`` of annotations, ops and calls, and apart from them of Python frames.

    ``events`` are in order of start; afterwards so are every event's children.  Frames are kept apart
    because C-call frames that are never closed would swallow the ops after them (pytorch#193440).
    """
    threads: dict[tuple[LaneId, bool], list[Event]] = defaultdict(list)
    for event in events:
        if event.kind in _DEPTH:
            threads[event.lane, False].append(event)
        elif event.kind is Kind.PYTHON:
            threads[event.lane, True].append(event)
    for thread in threads.values():
        _nest_thread(sorted(thread, key=_outer_first))


def _outer_first(event: Event) -> tuple[int, int, int, int]:
    return event.start, -event.dur, _DEPTH.get(event.kind, 0), event.index


def _nest_thread(events: Iterable[Event]) -> None:
    open_events: list[Event] = []
    for event in events:
        while open_events and not _encloses(open_events[-1], event):
            open_events.pop()
        if open_events:
            event.parent = open_events[-1]
            event.parent.children.append(event)
        open_events.append(event)


def _encloses(outer: Event, inner: Event) -> bool:
    """Whether ``inner``, which starts no earlier, lies in ``outer``."""
    if inner.start == outer.end:
        # A zero-length event at the very end is inside; one that lasts has come after it.
        return inner.dur == 0
    return inner.start < outer.end and inner.end <= outer.end + OVERRUN
