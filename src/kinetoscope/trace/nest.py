"""Which CPU event encloses which, per thread."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from kinetoscope.trace.events import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kinetoscope.trace.events import Event, LaneId
    from kinetoscope.trace.findings import Findings

_DEPTH = {Kind.ANNOTATION: 0, Kind.OP: 1, Kind.CALL: 2}
"""What lies outside where two events have the same range."""

OVERRUN = 1000
"""ns by which a child may end after its parent.

A file in whole µs has start and duration cut off separately, so that an end may be up to 1 µs late
(pytorch#101861).  Beyond that two events overlap and neither is the other's child.
"""


def nest(events: list[Event], findings: Findings) -> None:
    """Set ``parent`` and ``children`` of annotations, ops and calls, and apart from them of Python frames.

    ``events`` are in order of start; afterwards so are every event's children.  Frames are kept apart
    because C-call frames that are never closed would swallow the ops after them (pytorch#193440).
    ``findings``: ops, annotations and calls that overlap and neither holds the other.
    """
    threads: dict[tuple[LaneId, bool], list[Event]] = defaultdict(list)
    for event in events:
        if event.kind in _DEPTH:
            threads[event.lane, False].append(event)
        elif event.kind is Kind.PYTHON:
            threads[event.lane, True].append(event)
    for (_, frames), thread in threads.items():
        for event in _nest_thread(sorted(thread, key=_outer_first)):
            if not frames:
                findings.add("crossing", f"event {event.index}, {event.name[:80]!r}")


def _outer_first(event: Event) -> tuple[int, int, int, int]:
    return event.start, -event.dur, _DEPTH.get(event.kind, 0), event.index


def _nest_thread(events: Iterable[Event]) -> Iterator[Event]:
    """Sets parents and children; gives the events that begin inside another and end after it."""
    open_events: list[Event] = []
    for event in events:
        while open_events and not _encloses(open_events[-1], event):
            if event.start < open_events.pop().end:
                yield event
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
