"""Which call started which GPU activity, and which op an event belongs to."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import numpy as np

from kinetoscope.trace.categories import Kind
from kinetoscope.trace.columns import CODE, among, by_lane
from kinetoscope.trace.fields import NONE
from kinetoscope.trace.nest import OVERRUN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kinetoscope.trace.columns import Columns
    from kinetoscope.trace.fields import LaneId
    from kinetoscope.trace.findings import Findings


def link_launches(columns: Columns, findings: Findings) -> None:
    """Set ``launch``: the runtime or driver call of the same correlation id, whatever its name.

    One call (a graph launch) may own many activities.  An activity whose call is not in the file has no
    ``launch``.  Ids are unique in one process only.  Where ranks were merged into one file, several
    processes use the same ids: a device belongs to the process with which it shares unambiguous ids, else to
    the process that has the device's rank in order of appearance.  Where one process used an id twice, the
    call is the last one that began before the activity.
    """
    launch = np.full(len(columns), NONE, np.int32)
    correlation = columns.correlation
    calls = columns.where(Kind.CALL)
    calls = calls[(correlation[calls] != NONE) & ~columns.lost[calls]]
    gpu = np.flatnonzero(columns.on_gpu)
    activities = gpu[correlation[gpu] != NONE]
    order = calls[np.argsort(correlation[calls], kind="stable")]
    ids = correlation[order]
    ambiguous: list[int] = []
    if len(ids):
        first = np.searchsorted(ids, correlation[activities], "left")
        behind = np.searchsorted(ids, correlation[activities], "right")
        one = behind - first == 1
        launch[activities[one]] = order[first[one]]
        several = np.flatnonzero(behind - first > 1)
        if len(several):
            shared = {
                int(ids[first[n]]): _Calls(columns, order[first[n] : behind[n]].tolist())
                for n in several[np.unique(first[several], return_index=True)[1]].tolist()
            }
            groups = {int(activities[n]): shared[int(ids[first[n]])] for n in several.tolist()}
            ambiguous = _choose_all(columns, launch, groups, activities[one])
            if ambiguous:
                findings.add("ambiguous-launch", columns.place(ambiguous[0]), len(ambiguous))
    columns.launch = launch
    _mark_impossible(columns, findings)
    _note(columns, gpu, ambiguous, findings)


class _Calls:
    """The calls that carry one id, by process and in order of start."""

    def __init__(self, columns: Columns, calls: list[int]) -> None:
        self.of: dict[int | str, list[int]] = defaultdict(list)
        for call in calls:
            self.of[_lane(columns, call).pid].append(call)
        self._begins = {process: columns.start[own].tolist() for process, own in self.of.items()}
        self._first = sorted((begins[0], n) for n, begins in enumerate(self._begins.values()))

    def only(self, moment: int) -> int | str | None:
        """The process whose calls alone began until ``moment`` (ns); None for no process, or several."""
        if self._first[0][0] > moment or (len(self._first) > 1 and self._first[1][0] <= moment):
            return None
        return list(self.of)[self._first[0][1]]

    def last(self, process: int | str, moment: int) -> int:
        """The last call of a process that began until ``moment`` (ns), else its first."""
        return self.of[process][max(0, bisect_right(self._begins[process], moment) - 1)]


def _choose_all(
    columns: Columns, launch: NDArray[np.int32], groups: dict[int, _Calls], others: NDArray[np.intp]
) -> list[int]:
    """Set ``launch`` of the activities whose id several calls carry (``groups``).

    ``others`` are the activities whose id one call carries.  Returns the activities whose call cannot be
    told, since the calls are of several processes.
    """
    owner = _process_of_device(columns, launch, groups, others)
    ambiguous = []
    for activity, calls in groups.items():
        moment = int(columns.start[activity])
        process: int | str | None
        if len(calls.of) == 1:
            [process] = calls.of
        else:
            process = owner.get(int(columns.device[columns.lane[activity]]))
            process = calls.only(moment) if process is None else process
        if process is None or process not in calls.of:
            ambiguous.append(activity)
        else:
            launch[activity] = calls.last(process, moment)
    return ambiguous


def _lane(columns: Columns, at: int) -> LaneId:
    return columns.lanes[int(columns.lane[at])]


def _process_of_device(
    columns: Columns, launch: NDArray[np.int32], groups: dict[int, _Calls], others: NDArray[np.intp]
) -> dict[int, int | str]:
    """The process to which each device (its number) belongs; empty if all launches are of one process."""
    first: dict[int | str, int] = {}
    """place in the file of the first launch of each process"""
    votes: dict[int, Counter[int | str]] = defaultdict(Counter)
    calls = [
        call
        for group in {id(group): group for group in groups.values()}.values()
        for own in group.of.values()
        for call in own
    ]
    for call in [*calls, *launch[others].tolist()]:
        process = _lane(columns, call).pid
        first[process] = min(first.get(process, int(columns.index[call])), int(columns.index[call]))
    if len(first) < 2:
        return {}
    for activity in others.tolist():
        votes[int(columns.device[columns.lane[activity]])][_lane(columns, int(launch[activity])).pid] += 1
    for activity, group in groups.items():
        if len(group.of) == 1:
            votes[int(columns.device[columns.lane[activity]])].update(group.of.keys())
    in_order = sorted([*groups, *others.tolist()], key=lambda activity: int(columns.index[activity]))
    devices = list(dict.fromkeys(int(columns.device[columns.lane[activity]]) for activity in in_order))
    processes = sorted(first, key=lambda process: first[process])
    by_rank = dict(zip(devices, processes, strict=False)) if len(devices) == len(processes) else {}
    return by_rank | {device: votes[device].most_common(1)[0][0] for device in devices if votes[device]}


_BEYOND = 10**9
"""ns by which a GPU activity may outlast all else in the file, if that is shorter"""


def _mark_impossible(columns: Columns, findings: Findings) -> None:
    """Mark GPU activities as ``wrong`` that last longer than the file allows.

    A stream runs in order: an activity is over when a later launch's has ended, and one of which more than
    half lies behind that end is wrong.  It may still run when the next one begins (programmatic dependent
    launch).  Activities of one graph may run side by side, and what has no launch, or begins before it,
    proves nothing.  At the end of the file, an activity may run as long again as all else in it, or
    :data:`_BEYOND`.
    """
    gpu = np.flatnonzero(columns.timed)
    if not len(gpu):
        return
    wrong = np.zeros(len(columns), bool)
    proof = gpu[(columns.launch[gpu] != NONE) & ~columns.skewed[gpu] & (columns.dur[gpu] > 0)]
    for there in by_lane(columns, proof):
        at = proof[there]
        ends, launch = columns.ends(at), columns.launch[at]
        soonest = np.append(np.minimum.accumulate(ends[::-1])[::-1], np.iinfo(np.int64).max)
        new = np.append(launch[1:] != launch[:-1], True)
        # The first place behind each activity that is of another launch.
        behind = np.minimum.accumulate(np.where(new, np.arange(1, len(at) + 1), len(at))[::-1])[::-1]
        longer = ends - soonest[behind]
        wrong[at[(longer > OVERRUN) & (longer > columns.dur[at] // 2)]] = True
    others = np.flatnonzero(~columns.lost & ~columns.on_gpu)
    reached = max(int(columns.start.max()), int(columns.ends(others).max(initial=0)))
    gpu = gpu[~wrong[gpu]]
    ends = columns.ends(gpu)
    late = np.append(reached, np.sort(ends[ends > reached]))
    far = np.flatnonzero(np.diff(late) > np.maximum(late[:-1], _BEYOND))
    if reached and len(far):
        beyond = gpu[ends > late[far[0]]]
        # Where all of several seem too long, it is rather the rest of the file that is short.
        wrong[beyond] = len(beyond) == 1 or len(beyond) < len(gpu)
    if wrong.any():
        columns.wrong |= wrong
        findings.add("impossible-length", columns.place(int(np.argmax(wrong))), int(wrong.sum()))


def _note(columns: Columns, gpu: NDArray[np.intp], ambiguous: list[int], findings: Findings) -> None:
    """Report what is odd about the GPU activities (positions ``gpu``)."""
    launch, start = columns.launch[gpu], columns.start[gpu]
    early = columns.skewed[gpu] & ~columns.lost[gpu]
    overlapping = np.zeros(len(gpu), bool)
    lasts = (columns.dur[gpu] > 0) & ~columns.wrong[gpu]
    for there in by_lane(columns, gpu):
        ends = np.maximum.accumulate(np.where(columns.wrong[gpu[there]], 0, columns.ends(gpu[there])))
        overlapping[there[1:]] = (start[there[1:]] < ends[:-1]) & lasts[there[1:]]
    # An ambiguous activity has calls, more than one, and that is reported already.
    orphan = launch == NONE
    orphan[among(gpu, ambiguous, len(columns))] = False
    codes = (("no-launch", orphan), ("before-its-launch", early), ("overlapping-stream", overlapping))
    for code, wrong in codes:
        if wrong.any():
            findings.add(code, columns.place(int(gpu[np.argmax(wrong)])), int(wrong.sum()))


def link_ops(columns: Columns) -> None:
    """Set ``named_op`` of calls and GPU activities that nesting gives no op, by External id.

    This is needed where a runtime call is on another thread than its op (files of 2021 number threads in two
    ways).  An id that equals the correlation says nothing: Kineto of 2022 wrote one in place of the other.
    """
    calls, gpu = columns.where(Kind.CALL), np.flatnonzero(columns.on_gpu)
    launch, external = columns.launch[gpu], columns.external
    op = np.where(launch == NONE, NONE, columns.op[launch])
    # Calls first: an activity whose call has found its op needs none of its own.
    without = np.concatenate([calls[columns.op[calls] == NONE], gpu[op == NONE]])
    wanted = without[(external[without] != NONE) & (external[without] != columns.correlation[without])]
    if not len(wanted):
        return
    asked = set(external[wanted].tolist())
    ops: dict[int, list[int]] = defaultdict(list)
    all_ops = columns.where(Kind.OP)
    for at, number in zip(all_ops.tolist(), external[all_ops].tolist(), strict=True):
        if number in asked:
            ops[number].append(at)
    for at in wanted.tolist():
        call = int(columns.launch[at])
        if call != NONE and call in columns.named_op:
            continue
        named = ops.get(int(external[at]), [])
        if len(named) <= _MOST_OPS:
            owners = [op for op in named if _could_own(columns, op, at)]
            if len(owners) == 1:
                columns.named_op[at] = owners[0]


_MOST_OPS = 64
"""Ops of one External id, one for each rank; an id that more ops have names none of them."""


def _could_own(columns: Columns, op: int, at: int) -> bool:
    """Whether the process and the times of an op allow it to own the call or GPU activity ``at``."""
    start, lane = columns.start[at], _lane(columns, op)
    if columns.kind[at] == CODE[Kind.CALL]:
        begin, length = int(columns.start[op]), int(columns.dur[op])
        return lane.pid == _lane(columns, at).pid and begin <= start <= begin + length
    call = int(columns.launch[at])
    launched_by = _lane(columns, call).pid if call != NONE else lane.pid
    return bool(lane.pid == launched_by and columns.start[op] <= start)
