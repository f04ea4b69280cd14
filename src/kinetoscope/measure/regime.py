"""A step in figures, and which of CPU and GPU it waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from kinetoscope.measure.idle_time import Cause, Idle, find_gaps
from kinetoscope.measure.launch_queue import Queues, launches_at
from kinetoscope.measure.printing import printed
from kinetoscope.measure.quantity import middle
from kinetoscope.trace import Kind
from kinetoscope.trace.columns import NONE, EventsAt, columns_of, distinct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from kinetoscope.measure.printing import Number
    from kinetoscope.trace import Event, Trace

RegimeKind = Literal["overhead-bound", "gpu-bound", "mixed"]

OVERHEAD_BOUND = 0.5
"""Share of the working window that the GPU waits for the CPU, above which a step is overhead-bound: kernels
that took no time at all would not make the window half as long."""

GPU_BOUND = 0.8
"""Share of the working window that the GPU is busy, from which on a step may be gpu-bound: nothing done on
the CPU would save more than the fifth that is left.  Not nearer to 1, because the GPU needs one or two
microseconds from one kernel in the queue to the next, a tenth of a kernel of ten or twenty."""

AHEAD = 1
"""Activities in the queue at some launch of a gpu-bound step: the CPU was ahead at least once.  Where it
never was, every activity had to be launched first, and a faster CPU would help as well."""


KINDS: dict[RegimeKind, str] = {
    "overhead-bound": f"the GPU waits for the CPU for more than {printed(OVERHEAD_BOUND, 'share')} of it",
    "gpu-bound": f"the GPU is busy for at least {printed(GPU_BOUND, 'share')} of it, and some launch found "
    "work in the queue",
    "mixed": "neither",
}
"""What each means, for the reference page; the time is that of :class:`WorkWindow`"""


class WorkWindow(msgspec.Struct, frozen=True):
    """The time in which the GPU could have worked for a step: from its first launch to its last end."""

    start: int
    """ns: begin of the call that made the step's first launch"""
    end: int
    """ns: end of the step's last GPU activity"""
    busy: int
    """ns of it in which any GPU activity ran, an earlier step's included"""
    waiting: int
    """ns of it in which the GPU waited for the CPU: idle by cause cpu, launch and sync"""

    @property
    def length(self) -> int:
        """ns"""
        return self.end - self.start


class StepSummary(msgspec.Struct, frozen=True):
    """One step in figures.  Times are in ns; ``gpu_busy + idle == span``, and the ``idle_*`` are ``idle``."""

    number: int
    name: str
    span: int
    """from the begin of the step's CPU range to its end or the end of its last GPU activity"""
    gpu_busy: int
    """of ``span``, in which any GPU activity ran, an earlier step's included"""
    idle: int
    """of ``span``, in which none did"""
    idle_cpu: int
    """the CPU had not yet begun to launch what ran next"""
    idle_launch: int
    """what ran next was being launched: from the begin of the launching call"""
    idle_sync: int
    """the GPU had nothing left to do, and the CPU was still in the call in which it waited for that"""
    idle_queued: int
    """what ran next was in the queue already: one activity after the other, or waiting for another stream"""
    idle_end: int
    """nothing ran any more in the step, without what is ``idle_sync``"""
    idle_unknown: int
    """the launch of what ran next is not in the file"""
    share: float
    """0..1: ``gpu_busy`` of ``span``"""
    launches: int
    """calls in the step that started at least one GPU activity"""
    launch_delay: Number | None
    """from the begin of a launching call to the begin of what it launched, median; None without launches"""
    deepest: int | None
    """the most activities that a launch of the step found in its stream's queue; None without launches"""
    mean_queue: float | None
    """activities in the queue of the step's fullest stream, on average over the time of ``window``; where
    the CPU is far ahead, those of later steps are among them"""
    window: WorkWindow | None
    """None for a step that started nothing on the GPU"""
    events: Sequence[Event]
    """the step's annotation (of a whole trace: its CPU events), then its GPU activities"""


class Regime(msgspec.Struct, frozen=True):
    """Which of CPU and GPU a step waited for, and the figures that this rests on."""

    kind: RegimeKind
    busy: float
    """0..1: share of the working window in which the GPU was busy"""
    waiting: float
    """0..1: share of the working window in which the GPU waited for the CPU"""
    deepest: int
    """activities that a launch found in the queue, at most"""
    window: int
    """ns of the working window"""


def regime(step: StepSummary) -> Regime | None:
    """The regime of a step; None if it launched nothing (in the file), which has none.

    It rests on the working window (:class:`WorkWindow`) alone.  What the CPU does before a step's first
    launch is left out: the profiler's own start makes it long and has the queue empty, where in a longer run
    the CPU does it while the GPU works on the step before.  (A program that waits for the GPU in each step
    does pay for it: then ``idle_cpu`` of the step is what to look at.)  Nor is it a matter of totals of CPU
    and GPU time, which run side by side, or of a synchronization's length, which is long whenever work is
    left.

    - ``overhead-bound``: the GPU waits for the CPU for more than :data:`OVERHEAD_BOUND` of the window.
    - ``gpu-bound``: it is busy for at least :data:`GPU_BOUND` of it, and at least one launch found
      :data:`AHEAD` activities or more in its queue.
    - ``mixed``: neither; both the CPU's and the GPU's time can be seen in the step's length.
    """
    if step.window is None or step.deepest is None or not step.window.length:
        return None
    working = step.window.busy / step.window.length
    waiting = step.window.waiting / step.window.length
    kind: RegimeKind = "mixed"
    if waiting > OVERHEAD_BOUND:
        kind = "overhead-bound"
    elif working >= GPU_BOUND and step.deepest >= AHEAD:
        kind = "gpu-bound"
    return Regime(kind, working, waiting, step.deepest, step.window.length)


def step_summaries(trace: Trace) -> list[StepSummary]:
    """A summary of each step, in order of time; empty where the trace has no steps."""
    if not trace.steps_at:
        return []
    columns, measure = columns_of(trace), _Measure(trace)
    found = []
    for step in trace.steps_at:
        start, end = int(columns.start[step.event]), int(columns.end[step.event])
        end = max(end, int(columns.end[step.gpu].max(initial=0)))
        name = columns.names[columns.name[step.event]]
        found.append(measure.summary(step.number, name, start, end, [step.event], step.gpu))
    return found


def whole_summary(trace: Trace) -> StepSummary:
    """The whole trace as if it were one step, for one that was recorded without a schedule."""
    columns = columns_of(trace)
    cpu = columns.where(Kind.ANNOTATION, Kind.OP, Kind.CALL)
    gpu = np.flatnonzero(columns.on_gpu)
    shown = np.concatenate([cpu, gpu])
    start, end = (int(columns.start[shown].min()), int(columns.end[shown].max())) if len(shown) else (0, 0)
    return _Measure(trace).summary(0, "(whole trace)", start, end, cpu.tolist(), gpu)


def typical(steps: Sequence[StepSummary]) -> StepSummary:
    """The step of median length; of an even number the shorter of the two in the middle.

    It is the one that a timeline shows unless it is told otherwise.
    """
    by_length = sorted(steps, key=lambda step: (step.span, step.number))
    return by_length[(len(by_length) - 1) // 2]


class _Measure:
    """What the summaries of a trace's steps have in common, found once."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.columns = columns_of(trace)
        self._idle = Idle(find_gaps(trace))
        self.queues = Queues.of(self.columns)
        gpu = np.flatnonzero(self.columns.on_gpu)
        self.is_first = np.zeros(len(self.columns), bool)
        """(n) whether it is the first activity of its launch"""
        self.is_first[gpu[np.unique(self.columns.launch[gpu], return_index=True)[1]]] = True

    def summary(
        self, number: int, name: str, start: int, end: int, cpu: list[int], gpu: NDArray[np.intp]
    ) -> StepSummary:
        idle = self.idle(start, end)
        total, length = sum(idle.values()), end - start
        launch = self.columns.launch
        launched = gpu[launch[gpu] != NONE]
        first = launched[self.is_first[launched]]
        delays = (self.columns.start[first] - self.columns.start[launch[first]]).tolist()
        window = self.window(gpu)
        return StepSummary(
            number=number,
            name=name,
            span=length,
            gpu_busy=length - total,
            idle=total,
            idle_cpu=idle["cpu"],
            idle_launch=idle["launch"],
            idle_sync=idle["sync"],
            idle_queued=idle["queued"],
            idle_end=idle["end"],
            idle_unknown=idle["unknown"],
            share=(length - total) / length if length else 0.0,
            launches=len(distinct(launch[launched])),
            launch_delay=middle(delays) if delays else None,
            deepest=self.queues.deepest(launched),
            mean_queue=None if window is None else self.mean_queue(gpu, window),
            window=window,
            events=EventsAt(self.trace, np.array([*cpu, *gpu.tolist()], np.intp)),
        )

    def idle(self, start: int, end: int) -> dict[Cause, int]:
        return self._idle.between(start, end)

    def window(self, gpu: NDArray[np.intp]) -> WorkWindow | None:
        if not len(gpu):
            return None
        start = int(launches_at(self.columns, gpu).min())
        end = int(self.columns.end[gpu].max())
        idle = self.idle(start, end)
        waiting = idle["cpu"] + idle["launch"] + idle["sync"]
        return WorkWindow(start, end, end - start - sum(idle.values()), waiting)

    def mean_queue(self, gpu: NDArray[np.intp], window: WorkWindow) -> float:
        lanes = [self.columns.lanes[lane] for lane in distinct(self.columns.lane[gpu]).tolist()]
        return max(self.queues.mean(lane, window.start, window.end) for lane in lanes)
