"""What the GPU waited for while it was idle.

A *gap* is a stretch of time in which no GPU activity ran, on any stream: from the end of the last that
ran to the begin of the next.  It is put down to what the CPU was doing before it launched that next
activity, piece by piece, so that the pieces of a gap add up to the gap.  With ``g`` the begin of the gap,
``a`` the next activity, and ``c`` the begin of the call that launched it:

- ``a`` was in the queue at ``g`` (its call had returned, or had started something before): all of the gap
  is ``queued``.  The GPU was handing over from one to the next, or ``a`` waited for another stream.
- ``c`` was before ``g``, and the call was still running: all of it is ``launch``.
- ``c`` was after ``g``: from ``c`` to the begin of ``a`` is ``launch``, and what is before ``c`` is ``cpu``,
  but for a part at its begin that is ``sync``: if the stream ran dry *while the CPU was in a call that
  waited for it*, up to that call's return.
- it is not in the file what launched ``a``: all of it is ``unknown``.

A wait is told by structure: a call of the process that launched ``a`` that began before ``g``, launched
nothing, and returned after ``g`` and before ``c`` (else it held nothing up), on whatever thread.  A call that
copies from or to the host counts as well if it is still running when the copy has ended.  Calls that by their
names return at once are no waits (:data:`RETURNS_AT_ONCE`).  Only what is after ``g`` is ``sync``: before it
the GPU worked, however long the call was.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from kinetoscope.trace import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kinetoscope.trace import Event, Trace

Cause = Literal["cpu", "launch", "sync", "queued", "end", "unknown"]
CAUSES: dict[Cause, str] = {
    "cpu": "the CPU had not begun to launch what ran next",
    "launch": "what ran next was being launched, from the begin of the call that did it",
    "sync": "the GPU had run dry, and the CPU was still in the call in which it waited for that",
    "queued": "what ran next was in the queue already",
    "end": "nothing ran any more in the step",
    "unknown": "the launch of what ran next is not in the file",
}
"""What each means, for the reference page; ``end`` is given by :func:`idle_by_cause`, the others by
:func:`find_gaps`."""

RETURNS_AT_ONCE = frozenset(
    "Async Capturing Create Get Launch Load Occupancy Peek Query Record Set Wait".split()
)
"""Words in names of calls that do not wait for the GPU, though they launch nothing (or nothing in the file).

``cudaStreamWaitEvent`` is one of them: the stream waits, the CPU does not.
"""

_WORD = re.compile(r"[A-Z][a-z]+")
_HOST_COPY = re.compile(r"DtoH|HtoD|DeviceToHost|HostToDevice")


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch of time without any GPU activity, and what each part of it is put down to."""

    start: int
    """ns"""
    pieces: tuple[tuple[int, Cause], ...]
    """(end in ns, cause) of each part, in order; the last ends where the gap does"""
    after: Event | None
    """the activity that ends the gap; None after the last of the trace"""

    @property
    def end(self) -> int:
        """ns"""
        return self.pieces[-1][0]

    def parts(self) -> Iterator[tuple[int, int, Cause]]:
        """(start, end, cause) of each part, in order."""
        ends = [self.start, *(end for end, _ in self.pieces)]
        for (start, end), (_, cause) in zip(pairwise(ends), self.pieces, strict=True):
            yield start, end, cause


def find_gaps(trace: Trace) -> list[Gap]:
    """Every gap on the merged timeline of all streams, from the trace's begin to its end, in order."""
    waits = _Waits(trace)
    found = []
    reached = 0
    for activity in sorted(trace.gpu, key=_launched_first):
        if activity.start > reached:
            found.append(Gap(reached, _pieces(reached, activity, waits), activity))
        reached = max(reached, activity.end)
    if trace.end > reached:
        pieces = _without_empty(reached, (waits.until(reached, trace.end, None), "sync"), (trace.end, "end"))
        found.append(Gap(reached, pieces, None))
    return found


def idle_by_cause(gaps: Sequence[Gap], start: int, end: int) -> dict[Cause, int]:
    """ns between ``start`` and ``end`` in which the GPU was idle, by cause; they add up to all of it.

    ``gaps`` are those of :func:`find_gaps`.  What remains of a gap in which the time asked for ends is
    ``end``, but for a wait's part of it: nothing was launched any more that would be part of it.
    """
    return Idle(gaps).between(start, end)


class Idle:
    """The gaps of a trace, and how much of what is in those before each; asked for many steps."""

    def __init__(self, gaps: Sequence[Gap]) -> None:
        self._gaps = gaps
        sums = dict.fromkeys(CAUSES, 0)
        self._before = [dict(sums)]
        for gap in gaps:
            for begin, finish, cause in gap.parts():
                sums[cause] += finish - begin
            self._before.append(dict(sums))

    def between(self, start: int, end: int) -> dict[Cause, int]:
        """As :func:`idle_by_cause`."""
        idle = dict.fromkeys(CAUSES, 0)
        first = max(0, bisect_right(self._gaps, start, key=lambda gap: gap.start) - 1)
        behind = bisect_left(self._gaps, end, key=lambda gap: gap.start)
        # All but the first and the last of them lie inside whole.
        if behind - first > 2:
            for cause in CAUSES:
                idle[cause] = self._before[behind - 1][cause] - self._before[first + 1][cause]
        for gap in {first: 0, behind - 1: 0} if behind > first else ():
            self._add(idle, self._gaps[gap], start, end)
        return idle

    def _add(self, idle: dict[Cause, int], gap: Gap, start: int, end: int) -> None:
        for begin, finish, cause in gap.parts():
            length = min(finish, end) - max(begin, start)
            if length > 0:
                idle["end" if gap.end >= end and cause != "sync" else cause] += length


def launch_delays(activities: Iterable[Event]) -> list[int]:
    """ns from the begin of each launching call to the begin of what it launched, where that is known.

    Of a graph launch only the first activity waits for the launch; the others wait for the one before.
    """
    return [
        activity.start - activity.launch.start
        for activity in activities
        if activity.launch is not None and activity is activity.launch.activities[0]
    ]


def _launched_first(activity: Event) -> tuple[int, bool, int, int]:
    """By start; of those that start together, the one that was launched first ends the gap."""
    launch = activity.launch
    return activity.start, launch is None, 0 if launch is None else launch.start, activity.index


def _pieces(start: int, activity: Event, waits: _Waits) -> tuple[tuple[int, Cause], ...]:
    launch, end = activity.launch, activity.start
    if launch is None:
        return ((end, "unknown"),)
    if launch.end <= start or launch.activities[0].start < end:
        return ((end, "queued"),)
    if launch.start <= start:
        return ((end, "launch"),)
    # The clocks of CPU and GPU may differ by a little: nothing starts before it is launched.
    begun = min(launch.start, end)
    waited = min(waits.until(start, launch.start, launch.lane.pid), begun)
    return _without_empty(start, (waited, "sync"), (begun, "cpu"), (end, "launch"))


def _without_empty(start: int, *pieces: tuple[int, Cause]) -> tuple[tuple[int, Cause], ...]:
    ends = [start, *(end for end, _ in pieces)]
    return tuple(piece for piece, before in zip(pieces, ends, strict=False) if piece[0] > before)


class _Waits:
    """The calls in which the CPU waited for the GPU, asked in order of time."""

    def __init__(self, trace: Trace) -> None:
        self._ahead = sorted(_waits(trace), key=lambda wait: -wait[0])
        self._returns: dict[int | str | None, _Ordered] = defaultdict(_Ordered)
        """when those that have begun return: of each process, and of all"""

    def until(self, at: int, before: int, pid: int | str | None) -> int:
        """ns at which the last wait of process ``pid`` (None: any) returned that was open at ``at``.

        Those that returned after ``before`` held nothing up; ``at`` where there is none.
        """
        while self._ahead and self._ahead[-1][0] < at:
            _, end, process = self._ahead.pop()
            for which in (process, None):
                self._returns[which].add(end)
        return max(at, self._returns[pid].last(before))


class _Ordered:
    """Numbers that are kept in order, in runs short enough that one more costs little."""

    _LONGEST = 1000

    def __init__(self) -> None:
        self._runs: list[list[int]] = []
        self._lows: list[int] = []
        """the least of each run"""

    def add(self, number: int) -> None:
        at = max(0, bisect_right(self._lows, number) - 1)
        if not self._runs:
            self._runs.append([])
            self._lows.append(number)
        run = self._runs[at]
        insort(run, number)
        self._lows[at] = run[0]
        if len(run) > self._LONGEST:
            half = len(run) // 2
            self._runs[at : at + 1] = [run[:half], run[half:]]
            self._lows[at : at + 1] = [run[0], run[half]]

    def last(self, most: int) -> int:
        """The largest that is no more than ``most``; the least integer of 64 bits where there is none."""
        at = bisect_right(self._lows, most) - 1
        return self._runs[at][bisect_right(self._runs[at], most) - 1] if at >= 0 else -(2**63)


def _waits(trace: Trace) -> Iterator[tuple[int, int, int | str]]:
    """(begin, return, process) of each wait; that for a copy begins with the copy."""
    started = _started(trace)
    for call in trace.calls:
        last, only_copies = started.get(id(call), (None, False))
        if last is not None:
            if only_copies:
                yield last, call.end, call.lane.pid
        elif RETURNS_AT_ONCE.isdisjoint(_WORD.findall(call.name)):
            yield call.start, call.end, call.lane.pid


def _started(trace: Trace) -> dict[int, tuple[int, bool]]:
    """By the id of an event in which something was started on the GPU: when the last of it began, and
    whether all of it copies from or to the host.
    """
    found: dict[int, tuple[int, bool]] = {}
    for top in trace.of(Kind.ANNOTATION, Kind.OP, Kind.CALL):
        if top.parent is not None:
            continue
        # what is inside before what is around it
        for event in reversed(list(top.walk())):
            mine = [(activity.start, _copies_host(activity)) for activity in event.activities]
            mine += [found[id(child)] for child in event.children if id(child) in found]
            if mine:
                found[id(event)] = max(start for start, _ in mine), all(copies for _, copies in mine)
    return found


def _copies_host(activity: Event) -> bool:
    return activity.kind is Kind.MEMCPY and _HOST_COPY.search(activity.name) is not None
