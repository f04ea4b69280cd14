"""The typed events of one trace, and :class:`Trace`.

Times are integer nanoseconds throughout.  ``start`` counts from the earliest event of the
trace, so that it stays readable and exact however large the clock in the file was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from kinetoscope.trace.categories import COPIES, GPU_ACTIVITIES, Kind
from kinetoscope.trace.columns import KINDS, distinct
from kinetoscope.trace.fields import NONE, Args

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from kinetoscope.trace.columns import Columns
    from kinetoscope.trace.fields import LaneId
    from kinetoscope.trace.findings import Finding
    from kinetoscope.trace.steps import StepAt


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
    wrong: bool = False
    """whether its time or its length cannot be right: no statistic but a count has it"""
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
        """Ns outside its children of right times; never below 0, and 0 where its end is not known"""
        inside = sum(child.dur for child in self.children if not child.wrong)
        return 0 if self.unfinished else max(0, self.dur - inside)

    @property
    def op(self) -> Event | None:
        """The innermost op around it (for a GPU activity: around its launch); itself for an op.

        Correlation and nesting come first; the External id (``named_op``) counts only where they give none.
        """
        at = self.launch if self.kind.on_gpu else self
        while at is not None and at.kind is not Kind.OP:
            if at.named_op is not None:
                return at.named_op
            at = at.parent
        return at or self.named_op

    @property
    def launch_delay(self) -> int | None:
        """Ns from the start of the launching call to the start of the first activity that it launched.

        None for all others: in a graph each of them waits for the one before.  None also where a time cannot
        be right, or the activity begins before its launch, since then the clocks of CPU and GPU differ.
        """
        if self.launch is None or self.start < self.launch.start:
            return None
        first = next((activity for activity in self.launch.activities if not activity.wrong), None)
        return self.start - self.launch.start if self is first else None

    def above(self) -> Iterator[Event]:
        """The events around it, the innermost first."""
        event = self.parent
        while event is not None:
            yield event
            event = event.parent

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
        return max([self.event.end, *(a.end for a in self.gpu if not a.wrong)])


@dataclass(eq=False, repr=False)
class Trace:
    """What ``torch.profiler`` exported once, typed, nested and linked.

    Every list is in order of ``start``.
    """

    path: str
    """where it was read from, for messages"""
    columns: Columns
    """the events as numbers, for whoever counts many"""
    steps_at: list[StepAt]
    """the steps as positions in ``columns``"""
    device_names: dict[int, str]
    """GPU name by device number, as the profiler wrote it"""
    findings: list[Finding]
    """what was repaired, dropped or assumed while it was read"""

    @cached_property
    def events(self) -> list[Event]:
        """Every complete event, in the order of ``columns``"""
        return _build_events(self.columns)

    @cached_property
    def steps(self) -> list[Step]:
        return [
            Step(
                number=step.number,
                event=self.events[step.event],
                cpu=[self.events[at] for at in step.cpu.tolist()],
                gpu=[self.events[at] for at in step.gpu.tolist()],
            )
            for step in self.steps_at
        ]

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
        return int(self.columns.end[~self.columns.wrong].max(initial=0))


class EventsAt(Sequence[Event]):
    """Some events of a trace, built when somebody looks at one."""

    __slots__ = ("_at", "_trace")

    def __init__(self, trace: Trace, at: NDArray[np.intp]) -> None:
        self._trace, self._at = trace, at

    def __len__(self) -> int:
        return len(self._at)

    @overload
    def __getitem__(self, place: int) -> Event: ...
    @overload
    def __getitem__(self, place: slice) -> EventsAt: ...
    def __getitem__(self, place: int | slice) -> Event | EventsAt:
        if isinstance(place, slice):
            return EventsAt(self._trace, self._at[place])
        return self._trace.events[int(self._at[place])]

    def indexes(self) -> list[int]:
        """The :attr:`Event.index` of each, without building one."""
        indexes: list[int] = self._trace.columns.index[self._at].tolist()
        return indexes

    def alike(self) -> set[tuple[Kind, str]]:
        """Their kinds and names, without building one."""
        columns = self._trace.columns
        pairs = distinct(columns.name[self._at].astype("int64") * len(KINDS) + columns.kind[self._at])
        return {(KINDS[pair % len(KINDS)], columns.names[pair // len(KINDS)]) for pair in pairs.tolist()}


class _NoEvents(list[Event]):
    """An empty list that most events share, as most have no children: a list for each would take a third of
    an event's memory.  It stays empty.
    """

    __slots__ = ()

    def _refuse(self, *_: Any) -> Any:
        raise TypeError("this event has none; assign a list of your own")

    append = extend = insert = __iadd__ = _refuse


_NO_EVENTS = _NoEvents()


def _build_events(columns: Columns) -> list[Event]:
    """The events, in the columns' order, nested and linked."""
    names, lanes = columns.names, columns.lanes
    events = [
        Event(
            names[name],
            KINDS[kind],
            start,
            dur,
            lanes[lane],
            Args(columns.read_args, at),
            index,
            None if correlation == NONE else correlation,
            children=_NO_EVENTS,
            activities=_NO_EVENTS,
        )
        for at, (name, kind, start, dur, lane, index, correlation) in enumerate(
            zip(
                columns.name.tolist(),
                columns.kind.tolist(),
                columns.start.tolist(),
                columns.dur.tolist(),
                columns.lane.tolist(),
                columns.index.tolist(),
                columns.correlation.tolist(),
                strict=True,
            )
        )
    ]
    parent = columns.parent.tolist()
    for at in columns.nested[columns.parent[columns.nested] != NONE].tolist():
        child, outer = events[at], events[parent[at]]
        child.parent = outer
        if not outer.children:
            outer.children = []
        outer.children.append(child)
    for at in (columns.launch != NONE).nonzero()[0].tolist():
        activity, call = events[at], events[columns.launch[at]]
        activity.launch = call
        if not call.activities:
            call.activities = []
        call.activities.append(activity)
    for at in columns.unfinished.nonzero()[0].tolist():
        events[at].unfinished = True
    for at in columns.wrong.nonzero()[0].tolist():
        events[at].wrong = True
    for at, op in columns.named_op.items():
        events[at].named_op = events[op]
    return events
