"""Which call started which GPU activity, and which op an event belongs to."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import partial
from typing import TYPE_CHECKING

from kinetoscope.trace.events import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kinetoscope.trace.events import Event, LaneId
    from kinetoscope.trace.findings import Findings


def link_launches(events: list[Event], findings: Findings) -> None:
    """Join GPU activities to the runtime or driver call of the same correlation id, whatever its name.

    One call (a graph launch) may own many activities.  An activity whose call is not in the file keeps
    ``launch = None``.  Where ranks were merged into one file, several processes use the same ids: a
    device belongs to the process with which it shares ids that are not ambiguous, else to the process
    that has its rank in order of appearance (ids are unique in one process only).  Where one process
    used an id twice, the call is the last that began before the activity.
    """
    calls: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        if event.kind is Kind.CALL and event.correlation:  # 0 is no id: CUPTI's for none
            calls[event.correlation].append(event)
    linked = [e for e in events if e.kind.on_gpu and e.correlation in calls]
    owner = _process_of_device(linked, calls)
    for activity in linked:
        assert activity.correlation is not None
        launch = _choose(activity, calls[activity.correlation], owner)
        if launch is not None:
            activity.launch = launch
            launch.activities.append(activity)
    _note(events, findings)


def _note(events: list[Event], findings: Findings) -> None:
    """What is odd about the GPU activities, which are in order of start."""
    ends: dict[LaneId, int] = {}
    for activity in events:
        if not activity.kind.on_gpu:
            continue
        if activity.launch is None:
            findings.add("no-launch", partial(_named, activity))
        elif activity.start < activity.launch.start:
            findings.add("before-its-launch", partial(_named, activity))
        end = ends.get(activity.lane, activity.start)
        if activity.start < end:
            findings.add("overlapping-stream", partial(_named, activity))
        ends[activity.lane] = max(end, activity.end)


def _named(event: Event) -> str:
    return f"event {event.index}, {event.name[:80]!r}"


def _device(event: Event) -> int | str:
    return event.lane.pid if event.lane.device is None else event.lane.device


def _processes(calls: Iterable[Event]) -> set[int | str]:
    return {call.lane.pid for call in calls}


def _process_of_device(linked: list[Event], calls: dict[int, list[Event]]) -> dict[int | str, int | str]:
    """The process to which each device belongs; empty if the file holds one process only."""
    order = sorted((call for group in calls.values() for call in group), key=lambda call: call.index)
    processes = list(dict.fromkeys(call.lane.pid for call in order))
    if len(processes) < 2:
        return {}
    votes: dict[int | str, Counter[int | str]] = defaultdict(Counter)
    for activity in linked:
        assert activity.correlation is not None
        candidates = _processes(calls[activity.correlation])
        if len(candidates) == 1:
            votes[_device(activity)].update(candidates)
    devices = list(dict.fromkeys(_device(a) for a in sorted(linked, key=lambda a: a.index)))
    by_rank = dict(zip(devices, processes, strict=False)) if len(devices) == len(processes) else {}
    owner = {device: votes[device].most_common(1)[0][0] for device in devices if votes[device]}
    return by_rank | owner


def _choose(activity: Event, calls: list[Event], owner: dict[int | str, int | str]) -> Event | None:
    """The call among those of the activity's correlation id that started it."""
    if len(_processes(calls)) > 1:
        process = owner.get(_device(activity))
        calls = [call for call in calls if call.lane.pid == process]
    began = [call for call in calls if call.start <= activity.start]
    return began[-1] if began else calls[0] if calls else None


def link_ops(events: list[Event]) -> None:
    """Set ``named_op`` of calls and GPU activities that nesting gives no op, by External id.

    Needed where a runtime call is on another thread than its op (files of 2021 number threads in two
    ways).  An id that equals the correlation says nothing: Kineto of 2022 wrote one in place of the other.
    """
    ops: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        if event.kind is Kind.OP and event.external_id:
            ops[event.external_id].append(event)
    for event in events:
        if event.kind is Kind.CALL or event.kind.on_gpu:
            if not event.external_id or event.external_id == event.correlation or event.op is not None:
                continue
            candidates = [op for op in ops.get(event.external_id, ()) if _could_own(op, event)]
            if len(candidates) == 1:
                event.named_op = candidates[0]


def _could_own(op: Event, event: Event) -> bool:
    if event.kind is Kind.CALL:
        return op.lane.pid == event.lane.pid and op.start <= event.start <= op.end
    launched_by = event.launch.lane.pid if event.launch is not None else op.lane.pid
    return op.lane.pid == launched_by and op.start <= event.start
