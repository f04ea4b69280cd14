"""A trace as tables: by op, annotation, kernel, copy, runtime call and step.

All times are integer nanoseconds unless a field says otherwise.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

from kinetoscope.measure.busy import busy, span
from kinetoscope.measure.device import DeviceTimes
from kinetoscope.trace import COPIES, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kinetoscope.trace import Event, Step, Trace

NO_LAUNCH = "(no launch in trace)"
"""Stands for the op of a GPU activity whose launch is not in the file."""
NO_OP = "(no op)"
"""Stands for the op of a GPU activity that was launched outside any op."""


@dataclass(frozen=True, slots=True)
class Row:
    """All events of one name in a table.  Sums and extremes are over the events the row was made from."""

    name: str
    kind: Kind
    calls: int
    self_cpu: int
    """ns on the CPU outside child ops and calls; 0 for GPU rows"""
    cpu: int
    """ns on the CPU, children included; 0 for GPU rows"""
    self_device: int
    """ns on the GPU: of the activities themselves, or of those an op launched outside its child ops"""
    device: int
    """ns on the GPU, those of children included"""
    mean: float
    """ns an event, of the events' own durations (so are the next three)"""
    median: float
    min: int
    max: int
    share: float
    """0..1: GPU rows, of the summed time of the table's GPU activities; CPU rows, of its summed self CPU"""
    launched_by: tuple[str, ...]
    """GPU rows: the names of the ops they were launched from; empty for CPU rows"""
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class StepRow:
    """One step."""

    number: int
    name: str
    cpu: int
    """ns of the ``ProfilerStep#n`` range on the CPU"""
    span: int
    """ns from the begin of that range to its end or the end of the step's last GPU activity"""
    busy: int
    """ns in which at least one GPU activity launched in this step ran"""
    idle: int
    """ns of ``span`` in which no GPU activity at all ran, an earlier step's included"""
    kernels: int
    launches: int
    """runtime and driver calls in the step that started at least one GPU activity"""
    share: float
    """0..1: busy of span"""
    events: tuple[Event, ...]
    """the step's annotation, then its GPU activities"""


def op_table(trace: Trace, step: Step | None = None) -> list[Row]:
    """A row for each op name, the most self CPU time first; of one step only if ``step`` is given."""
    return _cpu_table(trace, Kind.OP, step)


def annotation_table(trace: Trace, step: Step | None = None) -> list[Row]:
    """A row for each annotation name (every ``ProfilerStep#n`` as ``ProfilerStep*``), as :func:`op_table`."""
    return _cpu_table(trace, Kind.ANNOTATION, step)


def call_table(trace: Trace, step: Step | None = None) -> list[Row]:
    """A row for each runtime and driver call name; ``device`` is the time of the activities they started."""
    return _cpu_table(trace, Kind.CALL, step)


def kernel_table(trace: Trace, step: Step | None = None) -> list[Row]:
    """A row for each kernel name, the most GPU time first.  Copies are no kernels: :func:`copy_table`."""
    return _gpu_table(trace, frozenset({Kind.KERNEL}), step)


def copy_table(trace: Trace, step: Step | None = None) -> list[Row]:
    """A row for each memcpy and memset name, the most GPU time first."""
    return _gpu_table(trace, COPIES, step)


def step_table(trace: Trace) -> list[StepRow]:
    """A row for each step, in order of time; empty where the trace has no steps."""
    rows = []
    gpu = trace.gpu
    for step in trace.steps:
        length = step.end - step.start
        working = busy(step.gpu)
        launches = {id(activity.launch) for activity in step.gpu if activity.launch is not None}
        rows.append(
            StepRow(
                number=step.number,
                name=step.event.name,
                cpu=step.event.dur,
                span=length,
                busy=working,
                idle=length - busy(gpu, step.start, step.end),
                kernels=sum(activity.kind is Kind.KERNEL for activity in step.gpu),
                launches=len(launches),
                share=working / length if length else 0.0,
                events=(step.event, *step.gpu),
            )
        )
    return rows


def whole_row(trace: Trace) -> StepRow:
    """The whole trace as if it were one step, for one that was recorded without a schedule."""
    cpu, gpu = cpu_events(trace), trace.gpu
    length, working = span([*cpu, *gpu]), busy(gpu)
    return StepRow(
        number=0,
        name="(whole trace)",
        cpu=span(cpu),
        span=length,
        busy=working,
        idle=length - working,
        kernels=len(trace.kernels),
        launches=len({id(activity.launch) for activity in gpu if activity.launch is not None}),
        share=working / length if length else 0.0,
        events=(*cpu, *gpu),
    )


def row_name(event: Event) -> str:
    """The name an event is grouped under: its own, but one for all steps, as in torch's tables."""
    return "ProfilerStep*" if event.name.startswith("ProfilerStep#") else event.name


def cpu_events(trace: Trace, step: Step | None = None) -> list[Event]:
    """Annotations, ops and calls of the trace, or those inside one step (its own range among them)."""
    if step is None:
        return trace.of(Kind.ANNOTATION, Kind.OP, Kind.CALL)
    inside = {id(event): event for top in step.cpu for event in top.walk()}
    return [step.event, *sorted(inside.values(), key=lambda event: (event.start, -event.dur, event.index))]


def _cpu_table(trace: Trace, kind: Kind, step: Step | None) -> list[Row]:
    device = DeviceTimes(trace.gpu if step is None else step.gpu)
    groups = _by_name(event for event in cpu_events(trace, step) if event.kind is kind)
    whole = sum(event.self_dur for events in groups.values() for event in events)
    rows = []
    for name, events in groups.items():
        self_cpu = sum(event.self_dur for event in events)
        started = [activity.dur for event in events for activity in event.activities]
        total = sum(started) if kind is Kind.CALL else sum(device.total(event) for event in events)
        rows.append(
            _row(
                name,
                events,
                self_cpu=self_cpu,
                cpu=sum(event.dur for event in events),
                self_device=sum(device.own(event) for event in events),
                device=total,
                share=self_cpu / whole if whole else 0.0,
            )
        )
    return sorted(rows, key=lambda row: (-row.self_cpu, row.name))


def _gpu_table(trace: Trace, kinds: frozenset[Kind], step: Step | None) -> list[Row]:
    activities = trace.gpu if step is None else step.gpu
    groups = _by_name(activity for activity in activities if activity.kind in kinds)
    whole = sum(activity.dur for events in groups.values() for activity in events)
    rows = []
    for name, events in groups.items():
        time = sum(event.dur for event in events)
        rows.append(_row(name, events, self_device=time, device=time, share=time / whole if whole else 0.0))
    return sorted(rows, key=lambda row: (-row.device, row.name))


def _by_name(events: Iterable[Event]) -> dict[str, list[Event]]:
    groups: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        groups[row_name(event)].append(event)
    return groups


def _row(
    name: str,
    events: list[Event],
    *,
    self_cpu: int = 0,
    cpu: int = 0,
    self_device: int = 0,
    device: int = 0,
    share: float,
) -> Row:
    durations = [event.dur for event in events]
    return Row(
        name=name,
        kind=events[0].kind,
        calls=len(events),
        self_cpu=self_cpu,
        cpu=cpu,
        self_device=self_device,
        device=device,
        mean=fmean(durations),
        median=float(median(durations)),
        min=min(durations),
        max=max(durations),
        share=share,
        launched_by=tuple(dict.fromkeys(_launcher(event) for event in events if event.kind.on_gpu)),
        events=tuple(events),
    )


def _launcher(activity: Event) -> str:
    if activity.op is not None:
        return activity.op.name
    return NO_LAUNCH if activity.launch is None else NO_OP
