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
from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from kinetoscope.trace import Kind
from kinetoscope.trace.columns import CODE, NONE, columns_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from kinetoscope.trace import Event, Trace
    from kinetoscope.trace.columns import Columns

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

_NUMBER: dict[Cause, int] = {cause: number for number, cause in enumerate(CAUSES)}
_WORD = re.compile(r"[A-Z][a-z]+")
_HOST_COPY = re.compile(r"DtoH|HtoD|DeviceToHost|HostToDevice")


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch of time without any GPU activity, and what each part of it is put down to."""

    start: int
    """ns"""
    pieces: tuple[tuple[int, Cause], ...]
    """(end in ns, cause) of each part, in order; the last ends where the gap does"""

    @property
    def end(self) -> int:
        """ns"""
        return self.pieces[-1][0]

    def parts(self) -> Iterator[tuple[int, int, Cause]]:
        """(start, end, cause) of each part, in order."""
        ends = [self.start, *(end for end, _ in self.pieces)]
        for (start, end), (_, cause) in zip(pairwise(ends), self.pieces, strict=True):
            yield start, end, cause


@dataclass(frozen=True, slots=True)
class Gaps(Sequence[Gap]):
    """m gaps, in order.  Each is ``sync`` first, then ``cpu``, then of one more cause; any may be empty."""

    start: NDArray[np.int64]
    """(m) ns"""
    waited: NDArray[np.int64]
    """(m) ns, where ``sync`` ends"""
    begun: NDArray[np.int64]
    """(m) ns, where ``cpu`` ends"""
    end: NDArray[np.int64]
    """(m) ns"""
    last: NDArray[np.int8]
    """(m) what the rest is, into the order of :data:`CAUSES`"""

    def __len__(self) -> int:
        return len(self.start)

    @overload
    def __getitem__(self, at: int) -> Gap: ...
    @overload
    def __getitem__(self, at: slice) -> list[Gap]: ...
    def __getitem__(self, at: int | slice) -> Gap | list[Gap]:
        if isinstance(at, slice):
            return [self[n] for n in range(len(self))[at]]
        bounds = [int(column[at]) for column in (self.start, self.waited, self.begun, self.end)]
        causes: tuple[Cause, ...] = ("sync", "cpu", tuple(CAUSES)[self.last[at]])
        parts = zip(pairwise(bounds), causes, strict=True)
        return Gap(bounds[0], tuple((end, cause) for (begin, end), cause in parts if end > begin))


def find_gaps(trace: Trace) -> Gaps:
    """Every gap on the merged timeline of all streams, from the trace's begin to its end, in order."""
    columns = columns_of(trace)
    gpu = np.flatnonzero(columns.on_gpu)
    launch = columns.launch[gpu]
    known = launch != NONE
    launched = np.where(known, columns.start[launch], 0) if len(gpu) else launch.astype(np.int64)
    # Of those that start together, the one that was launched first ends the gap.
    order = np.lexsort((columns.index[gpu], launched, ~known, columns.start[gpu]))
    ends = np.maximum.accumulate(columns.end[gpu[order]]) if len(gpu) else np.empty(0, np.int64)
    reached = np.append(0, ends)
    before = columns.start[gpu[order]] > reached[:-1]
    start, at = reached[:-1][before], order[before]
    end = columns.start[gpu[at]]
    waited, begun, last = start.copy(), start.copy(), np.full(len(at), _NUMBER["launch"], np.int8)
    call = launch[at]
    last[call == NONE] = _NUMBER["unknown"]
    if len(gpu):
        ready = (columns.end[call] <= start) | (columns.start[gpu[first_started(launch)[at]]] < end)
        last[(call != NONE) & ready] = _NUMBER["queued"]
    waits = _Waits(columns)
    being_launched = np.flatnonzero((last == _NUMBER["launch"]) & (columns.start[call] > start))
    launched_at, by = columns.start[call[being_launched]], columns.lane[call[being_launched]]
    # The clocks of CPU and GPU may differ by a little: nothing starts before it is launched.
    begun[being_launched] = np.minimum(launched_at, end[being_launched])
    of_lane = [lane.pid for lane in columns.lanes]
    asked = zip(start[being_launched].tolist(), launched_at.tolist(), by.tolist(), strict=True)
    dry = [waits.until(begin, launching, of_lane[lane]) for begin, launching, lane in asked]
    waited[being_launched] = np.minimum(np.array(dry, np.int64), begun[being_launched])
    finish = int(columns.end.max(initial=0))
    if finish > reached[-1]:
        ran_dry = waits.until(int(reached[-1]), finish, None)
        start, end = np.append(start, reached[-1]), np.append(end, finish)
        waited, begun = np.append(waited, ran_dry), np.append(begun, ran_dry)
        last = np.append(last, np.int8(_NUMBER["end"]))
    return Gaps(start, waited, begun, end, last)


def first_started(launch: NDArray[np.int32]) -> NDArray[np.intp]:
    """(n) of activities with these launches, in order of start: the first of the same launch."""
    _, first, which = np.unique(launch, return_index=True, return_inverse=True)
    found: NDArray[np.intp] = first[which]
    return found


def idle_by_cause(gaps: Gaps, start: int, end: int) -> dict[Cause, int]:
    """ns between ``start`` and ``end`` in which the GPU was idle, by cause; they add up to all of it.

    ``gaps`` are those of :func:`find_gaps`.  What remains of a gap in which the time asked for ends is
    ``end``, but for a wait's part of it: nothing was launched any more that would be part of it.
    """
    return Idle(gaps).between(start, end)


class Idle:
    """The gaps of a trace, and how much of what is in those before each; asked for many steps."""

    def __init__(self, gaps: Gaps) -> None:
        self._gaps = gaps
        rest = gaps.end - gaps.begun
        by_cause = {cause: np.where(gaps.last == number, rest, 0) for cause, number in _NUMBER.items()}
        by_cause["sync"] = gaps.waited - gaps.start
        by_cause["cpu"] = gaps.begun - gaps.waited
        self._before = {cause: np.append(0, np.cumsum(lengths)) for cause, lengths in by_cause.items()}

    def between(self, start: int, end: int) -> dict[Cause, int]:
        """As :func:`idle_by_cause`."""
        idle = dict.fromkeys(CAUSES, 0)
        first = max(0, int(np.searchsorted(self._gaps.start, start, "right")) - 1)
        behind = int(np.searchsorted(self._gaps.start, end, "left"))
        # All but the first and the last of them lie inside whole.
        if behind - first > 2:
            for cause, before in self._before.items():
                idle[cause] = int(before[behind - 1] - before[first + 1])
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


class _Waits:
    """The calls in which the CPU waited for the GPU, asked in order of time."""

    def __init__(self, columns: Columns) -> None:
        self._ahead = sorted(_waits(columns), key=lambda wait: -wait[0])
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


def _waits(columns: Columns) -> Iterator[tuple[int, int, int | str]]:
    """(begin, return, process) of each wait; that for a copy begins with the copy."""
    at_once = [not RETURNS_AT_ONCE.isdisjoint(_WORD.findall(name)) for name in columns.names]
    calls = columns.where(Kind.CALL)
    last, only_copies = _started(columns)
    started = last[calls] >= 0
    waiting = np.where(started, only_copies[calls], ~np.array(at_once, bool)[columns.name[calls]])
    begin = np.where(started, last[calls], columns.start[calls])[waiting]
    pids = [columns.lanes[lane].pid for lane in columns.lane[calls[waiting]].tolist()]
    yield from zip(begin.tolist(), columns.end[calls[waiting]].tolist(), pids, strict=True)


def _started(columns: Columns) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """(n) when the last began of what each call, or one inside it, started on the GPU (ns; -1 for nothing),
    and whether all of it copies from or to the host.
    """
    host = np.array([_HOST_COPY.search(name) is not None for name in columns.names], bool)
    last, only_copies = np.full(len(columns), -1, np.int64), np.ones(len(columns), bool)
    launched = np.flatnonzero(columns.launch != NONE)
    copies = (columns.kind[launched] == CODE[Kind.MEMCPY]) & host[columns.name[launched]]
    np.maximum.at(last, columns.launch[launched], columns.start[launched])
    np.logical_and.at(only_copies, columns.launch[launched], copies)
    inside = columns.nested[_inside_calls(columns)[columns.nested]]
    if not len(inside):
        return last, only_copies
    return _handed_up(columns, inside, last.tolist(), only_copies.tolist())


_LEVELS = 64


def _inside_calls(columns: Columns) -> NDArray[np.bool_]:
    """(n) whether it nests in a call, at whatever depth; in a trace that is very deep maybe too often."""
    parent = columns.parent
    nests: NDArray[np.bool_] = parent != NONE
    found: NDArray[np.bool_] = nests & (columns.kind[parent] == CODE[Kind.CALL])
    for _ in range(_LEVELS if len(found) else 0):
        more = found | (nests & found[parent])
        if np.array_equal(more, found):
            return found
        found = more
    return nests


def _handed_up(
    columns: Columns, inside: NDArray[np.intp], last: list[int], only_copies: list[bool]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    parent = columns.parent.tolist()
    # what is inside before what is around it
    for at in inside[::-1].tolist():
        around = parent[at]
        if last[at] >= 0 and around != NONE:
            last[around] = max(last[around], last[at])
            only_copies[around] &= only_copies[at]
    return np.array(last, np.int64), np.array(only_copies, bool)
