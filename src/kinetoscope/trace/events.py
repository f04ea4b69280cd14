"""The typed events of one trace, and :class:`Trace`.

Times are integer nanoseconds throughout.  ``start`` counts from the earliest event of the
trace, so that it stays readable and exact however large the clock in the file was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from kinetoscope.trace.categories import COPIES, GPU_ACTIVITIES, Kind
from kinetoscope.trace.columns import KINDS, distinct
from kinetoscope.trace.fields import NONE, plain_args

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from kinetoscope.trace.columns import Columns
    from kinetoscope.trace.fields import LaneId
    from kinetoscope.trace.findings import Finding
    from kinetoscope.trace.steps import StepAt


class Event:
    """One complete ("X") event of a trace: a view of its place in the trace's columns.

    A trace has each event once, so that two of them can be compared with ``is``.
    """

    __slots__ = ("_at", "_trace")

    def __init__(self, trace: Trace, at: int) -> None:
        self._trace, self._at = trace, at

    @property
    def name(self) -> str:
        columns = self._trace.columns
        return columns.names[int(columns.name[self._at])]

    @property
    def kind(self) -> Kind:
        return KINDS[int(self._trace.columns.kind[self._at])]

    @property
    def start(self) -> int:
        """Ns since the earliest event of the trace"""
        return int(self._trace.columns.start[self._at])

    @property
    def dur(self) -> int:
        """Ns"""
        return int(self._trace.columns.dur[self._at])

    @property
    def lane(self) -> LaneId:
        columns = self._trace.columns
        return columns.lanes[int(columns.lane[self._at])]

    @property
    def args(self) -> Mapping[str, Any]:
        """The event's own ``args``, as in the file (numbers with a fraction as float)"""
        return self._trace.args_at(self._at)

    @property
    def index(self) -> int:
        """Position among the file's events"""
        return int(self._trace.columns.index[self._at])

    @property
    def correlation(self) -> int | None:
        number = int(self._trace.columns.correlation[self._at])
        return None if number == NONE else number

    @property
    def parent(self) -> Event | None:
        """The innermost CPU event (op, annotation or call) on the same thread that encloses this one"""
        return self._other(self._trace.columns.parent)

    @property
    def children(self) -> list[Event]:
        return self._others(self._trace.columns.children(self._at))

    @property
    def launch(self) -> Event | None:
        """GPU activity -> the runtime call that started it (None: its launch is not in the file)"""
        return self._other(self._trace.columns.launch)

    @property
    def activities(self) -> list[Event]:
        """Runtime call -> the GPU activities it started, in order of start"""
        return self._others(self._trace.columns.activities(self._at))

    @property
    def named_op(self) -> Event | None:
        """The op that the External id names, set only where nesting gives none"""
        op = self._trace.columns.named_op.get(self._at)
        return None if op is None else self._trace.events[op]

    @property
    def wrong(self) -> bool:
        """Whether its time or its length cannot be right: no statistic but a count has it"""
        return bool(self._trace.columns.wrong[self._at])

    @property
    def unfinished(self) -> bool:
        """Whether it is a Python frame whose end the profiler missed: ``dur`` goes up to the next frame"""
        return bool(self._trace.columns.unfinished[self._at])

    def _other(self, column: NDArray[np.int32]) -> Event | None:
        at = column[self._at]
        return None if at == NONE else self._trace.events[at]

    def _others(self, at: NDArray[np.int32]) -> list[Event]:
        events = self._trace.events
        return [events[each] for each in at.tolist()]

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
        return [Event(self, at) for at in range(len(self.columns))]

    @cached_property
    def _args(self) -> dict[int, Mapping[str, Any]]:
        return {}

    def args_at(self, at: int) -> Mapping[str, Any]:
        """The ``args`` of the event at a position in ``columns``; they are read once."""
        if at not in self._args:
            self._args[at] = plain_args(self.columns.read_args(at))
        return self._args[at]

    def read_args(self, events: Iterable[Event]) -> None:
        """Read the ``args`` of these events ahead, in much less memory than one after the other."""
        at = np.array([event._at for event in events if event._at not in self._args], np.intp)
        at = at[np.argsort(self.columns.index[at])]
        for each, args in zip(at.tolist(), self.columns.args_in_turn(at), strict=True):
            self._args[each] = plain_args(args)

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
        return [self.events[at] for at in self.columns.where(*kinds).tolist()]

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
