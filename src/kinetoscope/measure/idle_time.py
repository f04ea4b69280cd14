"""What the GPU waited for while it was idle.

A *gap* is a stretch of time in which no GPU activity ran on any stream: from the end of the last one to the
start of the next.  Its cause is what the CPU was doing before it launched that next activity.  A gap may have
several causes, one after the other, and their times add up to the gap.  With ``g`` the start of the gap,
``a`` the next activity, and ``c`` the start of the call that launched it:

- ``a`` was already in the queue at ``g`` (its call had returned, or had started something before): the whole
  gap is ``queued``.  The GPU was handing over from one to the next, or ``a`` waited for another stream.
- ``c`` was before ``g``, and the call was still running: the whole gap is ``launch``.
- ``c`` was after ``g``: from ``c`` to the start of ``a`` is ``launch``, and what comes before is ``cpu``.
  But if the stream ran dry *while the CPU was in a call that waited for it*, the time up to the return of
  that call is ``sync``.
- ``c`` was after ``g``, but ``a`` began more than :data:`LATE` after the call had returned: as before, with
  ``queued`` in place of ``launch``.  Something other than the CPU held ``a`` back.
- The file doesn't say what launched ``a``, or ``a`` begins before its launch, so that the clocks of CPU and
  GPU differ: the whole gap is ``unknown``.

A wait is recognized by its structure: the process that launched ``a`` made a call, on any thread, that began
before ``g``, launched nothing, and returned after ``g`` and before ``c`` (otherwise it delayed nothing).  A
call that copies from or to the host counts too if it is still running when the copy has ended.  Calls whose
names say that they return at once are no waits (:data:`RETURNS_AT_ONCE`).  Only the time after ``g`` is
``sync``: before ``g`` the GPU worked, however long the call was.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from kinetoscope.trace import Kind
from kinetoscope.trace.columns import CODE
from kinetoscope.trace.fields import NONE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from kinetoscope.trace import Event, Trace
    from kinetoscope.trace.columns import Columns

Cause = Literal["cpu", "launch", "sync", "queued", "end", "unknown"]
CAUSES: dict[Cause, str] = {
    "cpu": "the CPU had not begun to launch what ran next",
    "launch": "what ran next was being launched, from the start of the call that did it",
    "sync": "the GPU had run dry, and the CPU was still in the call in which it waited for that",
    "queued": "what ran next was in the queue already",
    "end": "nothing ran any more in the step",
    "unknown": "the launch of what ran next is not in the file, or the clocks of CPU and GPU differ",
}
"""What each cause means, for the reference page.  Of the gaps of a trace only the last one, after all
activities, is ``end``; :meth:`Gaps.idle` has it for any time that ends in a gap."""

RETURNS_AT_ONCE = frozenset(
    "Async Capturing Create Get Launch Load Occupancy Peek Query Record Set Wait".split()
)
"""Words in the names of calls that don't wait for the GPU, though they launch nothing (in the file).

``cudaStreamWaitEvent`` is one of them: the stream waits, the CPU doesn't.
"""

LATE = 100_000
"""ns.  An idle GPU begins what was launched within ten microseconds of the call's return, in all traces that
we have seen."""

NUMBER: dict[Cause, int] = {cause: number for number, cause in enumerate(CAUSES)}
"""The number of each cause in :attr:`Gaps.last`"""
_WORD = re.compile(r"[A-Z][a-z]+")
HOST_COPY = re.compile(r"DtoH|HtoD|DeviceToHost|HostToDevice")
"""Found in the name of a copy from or to the host"""


@dataclass(frozen=True)
class Gaps:
    """m gaps, in order.  Each is ``sync`` first, then ``cpu``, then one more cause; any part may be empty."""

    start: NDArray[np.int64]
    """(m) ns"""
    waited: NDArray[np.int64]
    """(m) ns, where ``sync`` ends"""
    begun: NDArray[np.int64]
    """(m) ns, where ``cpu`` ends"""
    end: NDArray[np.int64]
    """(m) ns"""
    last: NDArray[np.int8]
    """(m) the cause of the rest, a number into the order of :data:`CAUSES`"""

    def __len__(self) -> int:
        return len(self.start)

    def parts(self, at: int) -> list[tuple[int, int, Cause]]:
        """(start, end, cause) of each part of one gap, in order, without those that are empty."""
        bounds = [int(column[at]) for column in (self.start, self.waited, self.begun, self.end)]
        causes: tuple[Cause, ...] = ("sync", "cpu", tuple(CAUSES)[self.last[at]])
        parts = zip(bounds, bounds[1:], causes, strict=False)
        return [(start, end, cause) for start, end, cause in parts if end > start]

    def idle(self, start: int, end: int) -> dict[Cause, int]:
        """ns between ``start`` and ``end`` in which the GPU was idle, by cause; they add up to all idle time.

        A gap that lasts until ``end`` or longer is ``end``, except for its ``sync`` part: what ends that gap
        was launched for a later time.
        """
        idle = dict.fromkeys(CAUSES, 0)
        first = max(0, int(np.searchsorted(self.start, start, "right")) - 1)
        behind = int(np.searchsorted(self.start, end, "left"))
        # All gaps but the first and the last lie inside.
        if behind - first > 2:
            for cause, before in self._before.items():
                idle[cause] = int(before[behind - 1] - before[first + 1])
        for at in {first, behind - 1} if behind > first else ():
            for begin, finish, cause in self.parts(at):
                length = min(finish, end) - max(begin, start)
                if length > 0:
                    idle["end" if self.end[at] >= end and cause != "sync" else cause] += length
        return idle

    def lead(self, start: int, end: int) -> int:
        """ns between ``start`` and ``end`` by cause cpu before the first launch of the trace."""
        if not len(self) or self.start[0]:
            return 0
        return max(0, min(end, int(self.begun[0])) - max(start, int(self.waited[0])))

    @cached_property
    def _before(self) -> dict[Cause, NDArray[np.int64]]:
        """(m + 1) ns of each cause in all gaps before each."""
        rest = self.end - self.begun
        by_cause = {cause: np.where(self.last == number, rest, 0) for cause, number in NUMBER.items()}
        by_cause["sync"] = self.waited - self.start
        by_cause["cpu"] = self.begun - self.waited
        return {cause: np.append(0, np.cumsum(lengths)) for cause, lengths in by_cause.items()}


def find_gaps(trace: Trace, gpu: NDArray[np.intp] | None = None) -> Gaps:
    """Every gap on the merged timeline of all streams, from the trace's begin to its end, in order.

    ``gpu``: positions of the activities that count, those of one process; None: all with right times.
    """
    columns = trace.columns
    gpu = np.flatnonzero(columns.timed) if gpu is None else gpu
    launch = np.where(columns.skewed[gpu], NONE, columns.launch[gpu])
    known = launch != NONE
    launched = np.where(known, columns.start[launch], 0) if len(gpu) else launch.astype(np.int64)
    # Of activities that start together, the one that was launched first ends the gap.
    order = np.lexsort((columns.index[gpu], launched, ~known, columns.start[gpu]))
    ends = np.maximum.accumulate(columns.end[gpu[order]]) if len(gpu) else np.empty(0, np.int64)
    reached = np.append(0, ends)
    before = columns.start[gpu[order]] > reached[:-1]
    start, at = reached[:-1][before], order[before]
    end = columns.start[gpu[at]]
    waited, begun, last = start.copy(), start.copy(), np.full(len(at), NUMBER["launch"], np.int8)
    call = launch[at]
    last[call == NONE] = NUMBER["unknown"]
    late = np.zeros(len(at), bool)
    if len(gpu):
        ready = (columns.end[call] <= start) | (columns.start[gpu[first_started(launch)[at]]] < end)
        late = (call != NONE) & ~ready & (end - columns.end[call] > LATE)
        last[(call != NONE) & (ready | late)] = NUMBER["queued"]
    process = columns.process
    waits = _Waits.of(columns, process)
    launching = (last == NUMBER["launch"]) | late
    being_launched = np.flatnonzero(launching & (columns.start[call] > start))
    launched_at, by = columns.start[call[being_launched]], columns.lane[call[being_launched]]
    begun[being_launched] = launched_at
    returned = np.array(waits.last_returns(start[being_launched], launched_at, process[by]), np.int64)
    waited[being_launched] = np.minimum(returned, begun[being_launched])
    finish = columns.end[~columns.wrong].max(initial=0)
    if finish > reached[-1]:
        start, end = np.append(start, reached[-1]), np.append(end, finish)
        returned = waits.end[waits.begin < reached[-1]].max(initial=reached[-1])
        waited, begun = np.append(waited, returned), np.append(begun, returned)
        last = np.append(last, np.int8(NUMBER["end"]))
    return Gaps(start, waited, begun, end, last)


def first_started(launch: NDArray[np.int32]) -> NDArray[np.intp]:
    """(n) the place of the first activity of the same launch, for activities in order of start."""
    _, first, which = np.unique(launch, return_index=True, return_inverse=True)
    first_of_launch: NDArray[np.intp] = first[which]
    return first_of_launch


def launch_delays(activities: Iterable[Event]) -> list[int]:
    """ns from the start of each launching call to the first activity that it launched, where known."""
    return [delay for activity in activities if (delay := activity.launch_delay) is not None]


class _Waits(NamedTuple):
    """m calls in which the CPU waited for the GPU."""

    begin: NDArray[np.int64]
    """(m) ns; a wait for a copy begins with the copy"""
    end: NDArray[np.int64]
    """(m) ns, when the call returned"""
    process: NDArray[np.intp]
    """(m) the number of the process that called it"""

    @classmethod
    def of(cls, columns: Columns, process: NDArray[np.intp]) -> _Waits:
        """The waits of a trace; ``process`` is the number of the process of each lane."""
        at_once = [not RETURNS_AT_ONCE.isdisjoint(_WORD.findall(name)) for name in columns.names]
        calls = columns.where(Kind.CALL)
        last, only_copies = _started(columns)
        started = last[calls] >= 0
        waits = np.where(started, only_copies[calls], ~np.array(at_once, bool)[columns.name[calls]])
        begin = np.where(started, last[calls], columns.start[calls])
        return cls(begin[waits], columns.ends(calls[waits]), process[columns.lane[calls[waits]]])

    def last_returns(
        self, at: NDArray[np.int64], before: NDArray[np.int64], process: NDArray[np.intp]
    ) -> list[int]:
        """(n) ns at which the last wait of ``process`` returned that was open at ``at``, by ``before``.

        The n questions are in order of ``at``.  The answer is ``at`` itself where there is no such wait.
        """
        order = np.lexsort((self.end, self.process))
        ends, begins = self.end[order].tolist(), self.begin[order].tolist()
        by_begin = np.argsort(self.begin[order], kind="stable").tolist()
        first = np.searchsorted(self.process[order], np.arange(process.max(initial=0) + 2)).tolist()
        # left[k] is how many of the first k waits to keep so that the last one is not removed (a union-find).
        left = list(range(len(ends) + 1))
        answers = []
        for moment, limit, number in zip(
            *(each[::-1].tolist() for each in (at, before, process)), strict=True
        ):
            while by_begin and begins[by_begin[-1]] >= moment:
                removed = by_begin.pop()
                left[removed + 1] = removed
            k = bisect_right(ends, limit, first[number], first[number + 1])
            while left[k] != k:
                left[k] = left[left[k]]
                k = left[k]
            answers.append(max(moment, ends[k - 1]) if k > first[number] else moment)
        return answers[::-1]


def _started(columns: Columns) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """What each call, or a call inside it, started on the GPU.

    (n) ns at which the last of it began, -1 where there is nothing; (n) whether all of it copies from or to
    the host.
    """
    host = np.array([HOST_COPY.search(name) is not None for name in columns.names], bool)
    last, only_copies = np.full(len(columns), -1, np.int64), np.ones(len(columns), bool)
    launched = np.flatnonzero(columns.launch != NONE)
    copies = (columns.kind[launched] == CODE[Kind.MEMCPY]) & host[columns.name[launched]]
    np.maximum.at(last, columns.launch[launched], columns.start[launched])
    np.logical_and.at(only_copies, columns.launch[launched], copies)
    call_around = columns.innermost(columns.kind == CODE[Kind.CALL])[columns.parent]
    inside = columns.nested[((columns.parent != NONE) & (call_around != NONE))[columns.nested]]
    # A call hands what it started up to its parent, the innermost calls first.
    for at, around in zip(inside[::-1].tolist(), columns.parent[inside[::-1]].tolist(), strict=True):
        if last[at] >= 0:
            last[around] = max(last[around], last[at])
            only_copies[around] &= only_copies[at]
    return last, only_copies
