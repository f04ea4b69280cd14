"""The typed events of one trace.

Times are integer nanoseconds throughout.  ``start`` counts from the earliest event of the
trace, so that it stays readable and exact however large the clock in the file was.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kinetoscope.trace.columns import Columns
    from kinetoscope.trace.findings import Finding
    from kinetoscope.trace.steps import StepAt


class Kind(Enum):
    """What an event is, decided by its ``cat`` field alone (never by which keys it carries)."""

    OP = "op"
    """A CPU-side dispatcher call (``cpu_op``): ``aten::linear``."""
    ANNOTATION = "annotation"
    """A ``record_function`` or ``ProfilerStep#n`` range on the CPU (``user_annotation``)."""
    CALL = "call"
    """A CUDA/HIP runtime or driver call (``cuda_runtime``, ``cuda_driver``)."""
    KERNEL = "kernel"
    MEMCPY = "memcpy"
    MEMSET = "memset"
    GPU_ANNOTATION = "gpu_annotation"
    """The span of a CPU annotation's kernels, drawn by the profiler on the stream; never summed."""
    SYNC = "sync"
    """A ``cuda_sync`` range: it covers kernels on its lane and is never busy time."""
    PYTHON = "python"
    """A Python stack frame (``python_function``)."""
    OVERHEAD = "overhead"
    """The profiler's own work (``overhead``)."""
    OTHER = "other"

    @property
    def on_gpu(self) -> bool:
        """Whether this is a GPU activity: work on a stream that counts as busy time."""
        return self in GPU_ACTIVITIES


GPU_ACTIVITIES = frozenset({Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET})
COPIES = frozenset({Kind.MEMCPY, Kind.MEMSET})


@dataclass(frozen=True, slots=True)
class LaneId:
    """Where events happen: a CPU thread (``stream is None``) or a GPU stream."""

    pid: int | str
    tid: int | str
    stream: int | None = None
    device: int | None = None

    @property
    def on_gpu(self) -> bool:
        return self.stream is not None


@dataclass(slots=True, eq=False, repr=False)
class Event:
    """One complete ("X") event of a trace."""

    name: str
    kind: Kind
    start: int
    """ns since the earliest event of the trace"""
    dur: int
    """ns"""
    lane: LaneId
    args: Mapping[str, Any]
    """the event's own ``args``, as in the file (numbers with a fraction as float)"""
    index: int
    """position among the file's events"""
    correlation: int | None = None
    parent: Event | None = field(default=None)
    """the innermost CPU event (op, annotation or call) on the same thread that encloses this one"""
    children: list[Event] = field(default_factory=list)
    launch: Event | None = field(default=None)
    """GPU activity -> the runtime call that started it (None: its launch is not in the file)"""
    activities: list[Event] = field(default_factory=list)
    """runtime call -> the GPU activities it started, in order of start"""
    named_op: Event | None = field(default=None)
    """the op that the External id names, set only where nesting gives none"""
    unfinished: bool = False
    """whether it is a Python frame whose end the profiler missed: ``dur`` goes up to the next frame"""

    def __repr__(self) -> str:
        name = self.name if len(self.name) <= 80 else f"{self.name[:79]}…"
        return f"<Event {self.index} {name!r} ({self.kind.value}): {self.dur} ns from {self.start}>"

    @property
    def end(self) -> int:
        """Ns since the earliest event of the trace"""
        return self.start + self.dur

    @property
    def self_dur(self) -> int:
        """Ns in this event outside its children; never below 0, and 0 where its end is not known"""
        return 0 if self.unfinished else max(0, self.dur - sum(child.dur for child in self.children))

    @property
    def op(self) -> Event | None:
        """The innermost op that it (for a GPU activity: its launch) lies in; itself for an op.

        Correlation and nesting come first; the External id (``named_op``) only where they give none.
        """
        at = self.launch if self.kind.on_gpu else self
        while at is not None and at.kind is not Kind.OP:
            if at.named_op is not None:
                return at.named_op
            at = at.parent
        return at or self.named_op

    @property
    def launch_delay(self) -> int | None:
        """Ns from the begin of the launching call to the begin of the GPU activity."""
        return None if self.launch is None else self.start - self.launch.start

    def walk(self) -> Iterator[Event]:
        """This event and all below it, parents first."""
        waiting = [self]
        while waiting:
            event = waiting.pop()
            yield event
            waiting += reversed(event.children)


@dataclass(slots=True, eq=False, repr=False)
class Step:
    """One ``ProfilerStep#n``: its CPU range and the GPU activities launched from inside it."""

    number: int
    event: Event
    cpu: list[Event]
    """top-level CPU events inside the step, in order of start"""
    gpu: list[Event]
    """GPU activities launched inside the step, in order of start"""

    def __repr__(self) -> str:
        of = f"{len(self.cpu)} top-level CPU events, {len(self.gpu)} GPU activities"
        return f"<Step {self.number}: {of}, {self.event.dur} ns of CPU from {self.start}>"

    @property
    def start(self) -> int:
        return self.event.start

    @property
    def end(self) -> int:
        """ns: when the later of the CPU range and the last GPU activity ends"""
        return max([self.event.end, *(a.end for a in self.gpu)])


class Trace:
    """What ``torch.profiler`` exported once, typed, nested and linked.

    Every list is in order of ``start``.
    """

    def __init__(
        self,
        path: str,
        events: Sequence[Event] | Callable[[], list[Event]],
        steps: Sequence[Step] | Callable[[list[Event]], list[Step]],
        device_names: Mapping[int, str],
        findings: Sequence[Finding] = (),
        columns: Columns | None = None,
        steps_at: Sequence[StepAt] = (),
    ) -> None:
        self.path = path
        """where it was read from, for messages"""
        self.device_names = dict(device_names)
        """GPU name by device number, as the profiler wrote it"""
        self.findings = list(findings)
        """what was repaired, dropped or assumed while it was read"""
        self.columns = columns
        """the same events as numbers, for whoever counts many; None for a trace that was not read"""
        self.steps_at = list(steps_at)
        """the steps as positions in ``columns``"""
        self._events, self._steps = events, steps

    @cached_property
    def events(self) -> list[Event]:
        """Every complete event"""
        return self._events() if callable(self._events) else list(self._events)

    @cached_property
    def steps(self) -> list[Step]:
        return self._steps(self.events) if callable(self._steps) else list(self._steps)

    def of(self, *kinds: Kind) -> list[Event]:
        """The events of these kinds."""
        return [event for event in self.events if event.kind in kinds]

    @property
    def ops(self) -> list[Event]:
        return self.of(Kind.OP)

    @property
    def annotations(self) -> list[Event]:
        return self.of(Kind.ANNOTATION)

    @property
    def calls(self) -> list[Event]:
        return self.of(Kind.CALL)

    @property
    def kernels(self) -> list[Event]:
        return self.of(Kind.KERNEL)

    @property
    def copies(self) -> list[Event]:
        """Memcpy and memset; never counted as kernels"""
        return self.of(*COPIES)

    @property
    def gpu(self) -> list[Event]:
        """Every GPU activity: kernels, memcpy, memset"""
        return self.of(*GPU_ACTIVITIES)

    @property
    def end(self) -> int:
        """Ns at which the last event ends (0 for an empty trace)"""
        return max((event.end for event in self.events), default=0)
