"""A row for each step of a trace, and which of CPU and GPU the step waited for.

All times are integer nanoseconds unless a field says otherwise.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from kinetoscope.kernel_names import is_communication
from kinetoscope.measure.idle_time import HOST_COPY, find_gaps
from kinetoscope.measure.intervals import Cover, covered
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

Regime = Literal["overhead-bound", "communication-bound", "gpu-bound", "mixed"]

OVERHEAD_BOUND = 0.5
"""A step is overhead-bound if the GPU waits for the CPU for more than this share of it.  Even kernels that
took no time would not make such a step half as long."""

COMMUNICATION_BOUND = 0.5
"""A step is communication-bound if the GPU does nothing but communicate for more than this share of it."""

GPU_BOUND = 0.8
"""A step can be gpu-bound only if the GPU computes for at least this share of it.  Nothing done on the CPU
would save more than the fifth that is left.  The limit isn't nearer to 1 because the GPU needs one or two
microseconds between two queued kernels, a tenth of a kernel of ten or twenty."""

AHEAD = 1
"""A step can be gpu-bound only if some launch of it found at least this many activities in the queue, so that
the CPU was ahead at least once.  If it never was, a faster CPU would help as well."""


REGIMES: dict[Regime, str] = {
    "overhead-bound": f"the GPU waits for the CPU for more than {printed(OVERHEAD_BOUND, 'share')} of it",
    "communication-bound": f"for more than {printed(COMMUNICATION_BOUND, 'share')} of it the GPU runs "
    "nothing but communication with other GPUs",
    "gpu-bound": f"the GPU computes for at least {printed(GPU_BOUND, 'share')} of it (communication and "
    "copies from or to the host don't count), and some launch found work in the queue",
    "mixed": "none of these",
}
"""What each regime means, for pages; "it" is the whole step"""


class StepRow(msgspec.Struct, frozen=True):
    """One step, or a whole trace.  ``gpu_busy + idle == span``, and the ``idle_*`` add up to ``idle``."""

    number: int
    name: str
    """its annotation's; with the process where several have a step of this number"""
    process: int | None
    """the number of its process in ``columns.process``, whose GPUs are idle or busy; None for all of them"""
    start: int
    """ns since the earliest event of the trace"""
    cpu: int
    """of the ``ProfilerStep#n`` range on the CPU"""
    span: int
    """from the start of that range to its end or the end of the step's last GPU activity"""
    busy: int
    """in which at least one GPU activity launched in this step ran"""
    gpu_busy: int
    """of ``span``, in which any GPU activity ran, an earlier step's included"""
    computing: int
    """of ``gpu_busy``, in which anything ran but communication and copies from or to the host"""
    communicating: int
    """of ``gpu_busy``, in which communication ran and none of what ``computing`` counts"""
    idle: int
    """of ``span``, in which no GPU activity ran"""
    lead: int
    """of ``idle_cpu``, before the first launch in the file: the recording may have begun with an empty queue
    although the GPU has work at this point of a longer run"""
    tail: int
    """of ``idle_end``, after the last GPU activity of a whole trace, which may end anywhere; 0 for a step"""
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
    """activities in the queue of the step's fullest stream, on average from the step's first launch to its
    last end; where the CPU is far ahead, those of later steps are among them.  None without GPU activity"""
    events: Sequence[Event]
    """the step's annotation (of a whole trace: its CPU events), then its GPU activities"""


def step_table(trace: Trace) -> list[StepRow]:
    """A row for each step, in order of time; empty where the trace has no steps."""
    if not trace.steps_at:
        return []
    columns = trace.columns
    of_step = columns.process[columns.lane[[step.event for step in trace.steps_at]]].tolist()
    several = 1 < len(set(of_step)) <= _MOST_PROCESSES
    of_process: dict[int | None, _Rows] = {}
    how_often = Counter(step.number for step in trace.steps_at)
    rows = []
    for step, own in zip(trace.steps_at, of_step, strict=True):
        process = own if several else None
        if process not in of_process:
            of_process[process] = _Rows(trace, process)
        start, cpu = int(columns.start[step.event]), int(columns.dur[step.event])
        end = max(start + cpu, int(columns.ends(step.gpu[~columns.wrong[step.gpu]]).max(initial=0)))
        name = columns.names[columns.name[step.event]]
        if how_often[step.number] > 1:
            name += f" (process {columns.lanes[columns.lane[step.event]].pid})"
        at = np.array([step.event])
        rows.append(of_process[process].of(step.number, name, start, end, cpu, at, step.gpu))
    return rows


_MOST_PROCESSES = 64
"""With more processes than this, all GPUs are taken together, so that no file can make this slow."""


def whole_row(trace: Trace) -> StepRow:
    """The whole trace as if it were one step, for one that was recorded without a schedule."""
    columns = trace.columns
    on_cpu = columns.where(Kind.ANNOTATION, Kind.OP, Kind.CALL)
    on_cpu = on_cpu[~columns.wrong[on_cpu]]
    gpu = np.flatnonzero(columns.on_gpu)
    cpu_start, cpu_end = _bounds(columns, on_cpu)
    start, end = _bounds(columns, np.concatenate([on_cpu, np.flatnonzero(columns.timed)]))
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

    def __init__(self, trace: Trace, process: int | None = None) -> None:
        """``process``: the number of the process whose GPUs count; all GPUs if None."""
        self._process = process
        self._trace = trace
        self._columns = trace.columns
        gpu = own_gpu(self._columns, process)
        self._gaps = find_gaps(trace, gpu)
        self._queues = Queues(self._columns)
        communicates, copies = communication(self._columns, gpu), host_copies(self._columns, gpu)
        self._computing = Cover.of(self._columns, gpu[~communicates & ~copies])
        self._without_copies = Cover.of(self._columns, gpu[~copies])

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
        timed = gpu[~columns.wrong[gpu]]
        busy = covered(columns, timed)
        launched = gpu[columns.launch[gpu] != NONE]
        delays = columns.delay[gpu][columns.delay[gpu] != NONE].tolist()
        computing = self._computing.between(start, end)
        return StepRow(
            number=number,
            name=name,
            process=self._process,
            start=start,
            cpu=cpu,
            span=length,
            busy=busy,
            gpu_busy=length - total_idle,
            computing=computing,
            communicating=self._without_copies.between(start, end) - computing,
            lead=self._gaps.lead(start, end),
            tail=0 if self._trace.steps_at else idle["end"],
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
            mean_queue=self._mean_queue(timed),
            events=EventsAt(self._trace, np.concatenate([on_cpu, gpu])),
        )

    def _mean_queue(self, gpu: NDArray[np.intp]) -> float | None:
        if not len(gpu):
            return None
        start, end = int(launches_at(self._columns, gpu).min()), int(self._columns.ends(gpu).max())
        return max(self._queues.mean(lane, start, end) for lane in distinct(self._columns.lane[gpu]).tolist())


def own_gpu(columns: Columns, process: int | None) -> NDArray[np.intp]:
    """Positions of the activities with right times on the GPUs of a process (its number); None is for all."""
    return np.flatnonzero(columns.timed) if process is None else columns.on_devices_of(process)


def communication(columns: Columns, gpu: NDArray[np.intp]) -> NDArray[np.bool_]:
    """(len(gpu)) which GPU activities are communication with other GPUs, by their names."""
    return np.array([is_communication(name) for name in columns.names], bool)[columns.name[gpu]]


def host_copies(columns: Columns, gpu: NDArray[np.intp]) -> NDArray[np.bool_]:
    """(len(gpu)) which GPU activities copy from or to the host."""
    named = np.array([HOST_COPY.search(name) is not None for name in columns.names], bool)
    which: NDArray[np.bool_] = named[columns.name[gpu]] & (columns.kind[gpu] == CODE[Kind.MEMCPY])
    return which


def regime(step: StepRow) -> Regime | None:
    """What a step waited for; None if no launch of it is in the file.

    It rests on the whole step, so that a step whose GPU is busy only after a long wait for data isn't
    gpu-bound.  Work that an earlier step left in the queue counts as busy.  One stretch of time is judged
    with caution, ``lead``: when the recording begins, the queue is empty, but in a longer run the GPU may
    still work on the step before.  A step isn't overhead-bound because of it, nor gpu-bound in spite of it.
    Total CPU and GPU times say nothing about the regime, because the two run side by side.  The length of a
    synchronization doesn't either: it is long whenever work is left.

    - ``overhead-bound``: the GPU waits for the CPU for more than :data:`OVERHEAD_BOUND` of the step, the
      lead (and the tail of a whole trace) left out of both.  What the GPU waits for is idle time by cause
      cpu, launch, sync and end.
    - ``communication-bound``: ``communicating`` is more than :data:`COMMUNICATION_BOUND` of the step.  A
      communication kernel also runs while it waits for the other ranks.
    - ``gpu-bound``: ``computing`` is at least :data:`GPU_BOUND` of the step, and at least one launch found
      :data:`AHEAD` activities or more in its queue.
    - ``mixed``: none of these; both the CPU's and the GPU's time show in the step's length.
    """
    if step.deepest is None or not step.span:
        return None
    margin = step.lead + step.tail
    if waiting(step) - margin > OVERHEAD_BOUND * (step.span - margin):
        return "overhead-bound"
    if step.communicating > COMMUNICATION_BOUND * step.span:
        return "communication-bound"
    if step.computing >= GPU_BOUND * step.span and step.deepest >= AHEAD:
        return "gpu-bound"
    return "mixed"


def waiting(step: StepRow) -> int:
    """ns of a step in which the GPU waited for the CPU."""
    return step.idle_cpu + step.idle_launch + step.idle_sync + step.idle_end
