"""A row for each step of a trace, and which of CPU and GPU the step waited for.

All times are integer nanoseconds unless a field says otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from kinetoscope.measure.idle_time import find_gaps
from kinetoscope.measure.intervals import covered
from kinetoscope.measure.launch_queue import Queues, launches_at
from kinetoscope.measure.printing import printed
from kinetoscope.measure.quantity import middle
from kinetoscope.trace import Kind
from kinetoscope.trace.columns import CODE, distinct
from kinetoscope.trace.events import EventsAt
from kinetoscope.trace.fields import NONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from kinetoscope.measure.printing import Number
    from kinetoscope.trace import Event, Trace
    from kinetoscope.trace.columns import Columns

Regime = Literal["overhead-bound", "gpu-bound", "mixed"]

OVERHEAD_BOUND = 0.5
"""A step is overhead-bound if the GPU waits for the CPU for more than this share of the working window.
Even kernels that took no time would not make such a window half as long."""

GPU_BOUND = 0.8
"""A step can be gpu-bound only if the GPU is busy for at least this share of the working window.  Nothing
done on the CPU would save more than the fifth that is left.  The limit isn't nearer to 1 because the GPU
needs one or two microseconds between two queued kernels, a tenth of a kernel of ten or twenty."""

AHEAD = 1
"""A step can be gpu-bound only if some launch of it found at least this many activities in the queue, so that
the CPU was ahead at least once.  If it never was, a faster CPU would help as well."""


REGIMES: dict[Regime, str] = {
    "overhead-bound": f"the GPU waits for the CPU for more than {printed(OVERHEAD_BOUND, 'share')} of it",
    "gpu-bound": f"the GPU is busy for at least {printed(GPU_BOUND, 'share')} of it, and some launch found "
    "work in the queue",
    "mixed": "neither",
}
"""What each regime means, for pages; "it" is the time of :class:`WorkWindow`"""


class WorkWindow(msgspec.Struct, frozen=True):
    """The time in which the GPU could have worked for a step: from its first launch to its last end."""

    start: int
    """ns: start of the call that made the step's first launch"""
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


class StepRow(msgspec.Struct, frozen=True):
    """One step, or a whole trace.  ``gpu_busy + idle == span``, and the ``idle_*`` add up to ``idle``."""

    number: int
    name: str
    cpu: int
    """of the ``ProfilerStep#n`` range on the CPU"""
    span: int
    """from the start of that range to its end or the end of the step's last GPU activity"""
    busy: int
    """in which at least one GPU activity launched in this step ran"""
    gpu_busy: int
    """of ``span``, in which any GPU activity ran, an earlier step's included"""
    idle: int
    """of ``span``, in which no GPU activity ran"""
    idle_cpu: int
    """the CPU had not yet begun to launch what ran next"""
    idle_launch: int
    """what ran next was being launched: from the start of the launching call"""
    idle_sync: int
    """the GPU had nothing left to do, and the CPU was still in the call in which it waited for that"""
    idle_queued: int
    """what ran next was already in the queue: one activity after the other, or waiting for another stream"""
    idle_end: int
    """nothing more ran in the step, without what is ``idle_sync``"""
    idle_unknown: int
    """the launch of what ran next is not in the file"""
    share: float
    """0..1: ``busy`` of ``span``; in a table by cause of waiting, ``gpu_busy`` of ``span``"""
    kernels: int
    launches: int
    """runtime and driver calls in the step that started at least one GPU activity"""
    launch_delay: Number | None
    """from the start of a launching call to the start of what it launched, median; None without launches"""
    deepest: int | None
    """the most activities that a launch of the step found in its stream's queue; None without launches"""
    mean_queue: float | None
    """activities in the queue of the step's fullest stream, on average over the time of ``window``; where
    the CPU is far ahead, those of later steps are among them"""
    window: WorkWindow | None
    """None for a step that started nothing on the GPU"""
    events: Sequence[Event]
    """the step's annotation (of a whole trace: its CPU events), then its GPU activities"""


def step_table(trace: Trace) -> list[StepRow]:
    """A row for each step, in order of time; empty where the trace has no steps."""
    if not trace.steps_at:
        return []
    columns, row = trace.columns, _Rows(trace)
    rows = []
    for step in trace.steps_at:
        start, cpu = int(columns.start[step.event]), int(columns.dur[step.event])
        end = max(start + cpu, int(columns.ends(step.gpu).max(initial=0)))
        name = columns.names[columns.name[step.event]]
        rows.append(row.of(step.number, name, start, end, cpu, np.array([step.event]), step.gpu))
    return rows


def whole_row(trace: Trace) -> StepRow:
    """The whole trace as if it were one step, for one that was recorded without a schedule."""
    columns = trace.columns
    on_cpu = columns.where(Kind.ANNOTATION, Kind.OP, Kind.CALL)
    gpu = np.flatnonzero(columns.on_gpu)
    cpu_start, cpu_end = _bounds(columns, on_cpu)
    start, end = _bounds(columns, np.concatenate([on_cpu, gpu]))
    return _Rows(trace).of(0, "(whole trace)", start, end, cpu_end - cpu_start, on_cpu, gpu)


def _bounds(columns: Columns, at: NDArray[np.intp]) -> tuple[int, int]:
    """(start, end) in ns of all events at positions ``at``; (0, 0) for none."""
    return (int(columns.start[at].min()), int(columns.ends(at).max())) if len(at) else (0, 0)


def typical(steps: Sequence[StepRow]) -> StepRow:
    """The step of median length; of an even number, the shorter of the two in the middle.

    A timeline shows this one unless it is told otherwise.
    """
    by_length = sorted(steps, key=lambda step: (step.span, step.number))
    return by_length[(len(by_length) - 1) // 2]


class _Rows:
    """Makes the rows of a trace; what they have in common is computed once."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._columns = trace.columns
        self._gaps = find_gaps(trace)
        self._queues = Queues(self._columns)
        gpu = np.flatnonzero(self._columns.on_gpu)
        self._is_first = np.zeros(len(self._columns), bool)
        """(n) whether it is the first activity of its launch"""
        self._is_first[gpu[np.unique(self._columns.launch[gpu], return_index=True)[1]]] = True

    def of(
        self,
        number: int,
        name: str,
        start: int,
        end: int,
        cpu: int,
        on_cpu: NDArray[np.intp],
        gpu: NDArray[np.intp],
    ) -> StepRow:
        """The row of the time from ``start`` to ``end`` (ns); ``on_cpu`` and ``gpu`` are positions."""
        columns, length = self._columns, end - start
        idle = self._gaps.idle(start, end)
        total_idle = sum(idle.values())
        busy = covered(columns, gpu)
        launched = gpu[columns.launch[gpu] != NONE]
        first = launched[self._is_first[launched]]
        delays = (columns.start[first] - columns.start[columns.launch[first]]).tolist()
        window = self._window(gpu)
        return StepRow(
            number=number,
            name=name,
            cpu=cpu,
            span=length,
            busy=busy,
            gpu_busy=length - total_idle,
            idle=total_idle,
            idle_cpu=idle["cpu"],
            idle_launch=idle["launch"],
            idle_sync=idle["sync"],
            idle_queued=idle["queued"],
            idle_end=idle["end"],
            idle_unknown=idle["unknown"],
            share=busy / length if length else 0.0,
            kernels=int((columns.kind[gpu] == CODE[Kind.KERNEL]).sum()),
            launches=len(distinct(columns.launch[launched])),
            launch_delay=middle(delays) if delays else None,
            deepest=self._queues.deepest(launched),
            mean_queue=None if window is None else self._mean_queue(gpu, window),
            window=window,
            events=EventsAt(self._trace, np.concatenate([on_cpu, gpu])),
        )

    def _window(self, gpu: NDArray[np.intp]) -> WorkWindow | None:
        if not len(gpu):
            return None
        start = int(launches_at(self._columns, gpu).min())
        end = int(self._columns.ends(gpu).max())
        idle = self._gaps.idle(start, end)
        waiting = idle["cpu"] + idle["launch"] + idle["sync"]
        return WorkWindow(start, end, end - start - sum(idle.values()), waiting)

    def _mean_queue(self, gpu: NDArray[np.intp], window: WorkWindow) -> float:
        lanes = distinct(self._columns.lane[gpu]).tolist()
        return max(self._queues.mean(lane, window.start, window.end) for lane in lanes)


def regime(step: StepRow) -> Regime | None:
    """Which of CPU and GPU a step waited for; None if no launch of it is in the file.

    It rests on the working window (:class:`WorkWindow`) alone.  What the CPU does before a step's first
    launch is left out: when the profiler starts, this time is long and the queue is empty, but in a longer
    run the GPU works on the step before.  (If a program waits for the GPU in each step, it does pay for this
    time: look at ``idle_cpu`` of the step.)  Total CPU and GPU times say nothing about the regime, because
    the two run side by side.  The length of a synchronization doesn't either: it is long whenever work is
    left.

    - ``overhead-bound``: the GPU waits for the CPU for more than :data:`OVERHEAD_BOUND` of the window.
    - ``gpu-bound``: it is busy for at least :data:`GPU_BOUND` of it, and at least one launch found
      :data:`AHEAD` activities or more in its queue.
    - ``mixed``: neither; both the CPU's and the GPU's time show in the step's length.
    """
    if step.window is None or step.deepest is None or not step.window.length:
        return None
    if step.window.waiting / step.window.length > OVERHEAD_BOUND:
        return "overhead-bound"
    if step.window.busy / step.window.length >= GPU_BOUND and step.deepest >= AHEAD:
        return "gpu-bound"
    return "mixed"
