"""What an expression can point at in a trace: its events by kind and name, step by step."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from kinetoscope.measure.errors import ExpressionError, suggestion
from kinetoscope.measure.steps import StepRow, step_table, whole_row
from kinetoscope.measure.tables import cpu_events
from kinetoscope.trace import COPIES, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kinetoscope.trace import Event, Step, Trace

COLLECTIONS: dict[str, frozenset[Kind]] = {
    "ops": frozenset({Kind.OP}),
    "annotations": frozenset({Kind.ANNOTATION}),
    "calls": frozenset({Kind.CALL}),
    "kernels": frozenset({Kind.KERNEL}),
    "copies": COPIES,
}


@dataclass(frozen=True, slots=True)
class Group:
    """The selected events of one step (of the whole trace, where it has no steps), in order of start."""

    label: str
    events: tuple[Event, ...]


class Selection:
    """Events of one collection (``ops``, ``kernels``, …), a group for each recorded step."""

    def __init__(
        self, source: str, collection: str, groups: tuple[Group, ...], whole: Selection | None = None
    ) -> None:
        self.source = source
        """how the expression wrote it, for messages"""
        self.collection = collection
        self.groups = groups
        self.whole = self if whole is None else whole
        """the same collection before it was narrowed by name"""

    def __bool__(self) -> bool:
        raise ExpressionError(
            f"{self.source} is a selection, neither true nor false; ask count({self.source}) > 0."
        )

    def __repr__(self) -> str:
        return self.source

    def __getitem__(self, pattern: str) -> Selection:
        found = self.like(pattern)
        if not found.events:
            raise ExpressionError(
                f"{pattern!r} matches nothing in {self.source}: {suggestion(pattern, self.names)} "
                f'(Where that is what is claimed: "…" not in {self.source}, or {self.source}.like("…").)'
            )
        return found

    def __contains__(self, pattern: str) -> bool:
        return bool(self.like(pattern).events)

    def like(self, pattern: str) -> Selection:
        """The events whose name matches ``pattern`` (``*`` and ``?``, case counts); maybe none."""
        if not isinstance(pattern, str):
            raise ExpressionError(f'a name or pattern in quotes is needed: {self.source}["aten::*"].')
        names = {name for name in self.names if matches(name, pattern)}
        groups = tuple(
            Group(group.label, tuple(event for event in group.events if event.name in names))
            for group in self.groups
        )
        return Selection(f'{self.source}["{pattern}"]', self.collection, groups, self.whole)

    @property
    def events(self) -> tuple[Event, ...]:
        """All selected events of all steps."""
        return tuple(event for group in self.groups for event in group.events)

    @property
    def names(self) -> tuple[str, ...]:
        """The distinct names, in order of first appearance."""
        return tuple(dict.fromkeys(event.name for event in self.events))

    def first(self) -> Selection:
        """The first event of each step."""
        groups = tuple(Group(group.label, group.events[:1]) for group in self.groups)
        return Selection(f"first({self.source})", self.collection, groups, self.whole)

    @property
    def ops(self) -> Selection:
        """The ops inside the selected CPU events, or that launched the selected GPU activities."""
        return self._related("ops")

    @property
    def annotations(self) -> Selection:
        """The annotations inside the selected CPU events."""
        return self._related("annotations")

    @property
    def calls(self) -> Selection:
        """The calls inside the selected CPU events, or that launched the selected GPU activities."""
        return self._related("calls")

    @property
    def kernels(self) -> Selection:
        """The kernels launched inside the selected CPU events."""
        return self._related("kernels")

    @property
    def copies(self) -> Selection:
        """The copies launched inside the selected CPU events."""
        return self._related("copies")

    def _related(self, collection: str) -> Selection:
        kinds = COLLECTIONS[collection]
        groups = []
        for group in self.groups:
            found = {id(e): e for event in group.events for e in _around(event) if e.kind in kinds}
            groups.append(Group(group.label, tuple(sorted(found.values(), key=_in_time))))
        return Selection(f"{self.source}.{collection}", collection, tuple(groups))


class TraceView:
    """A trace under the name that the expression gives it; ``step`` narrows it to one step."""

    def __init__(self, name: str, trace: Trace, step: Step | None = None) -> None:
        self.name = name
        self.trace = trace
        self._step = step

    def __repr__(self) -> str:
        return self.name

    def __bool__(self) -> bool:
        raise ExpressionError(f"{self.name} is a trace, neither true nor false; ask for a count or a time.")

    @property
    def ops(self) -> Selection:
        return self._collection("ops")

    @property
    def annotations(self) -> Selection:
        return self._collection("annotations")

    @property
    def calls(self) -> Selection:
        return self._collection("calls")

    @property
    def kernels(self) -> Selection:
        return self._collection("kernels")

    @property
    def copies(self) -> Selection:
        return self._collection("copies")

    @property
    def steps(self) -> StepsView:
        return StepsView(self)

    def step(self, number: int) -> TraceView:
        """The trace's step ``ProfilerStep#number``."""
        for step in self.trace.steps:
            if step.number == number and self._step is None:
                return TraceView(f"{self.name}.step({number})", self.trace, step)
        have = ", ".join(str(step.number) for step in self.recorded) or "none"
        raise ExpressionError(f"{self.name} has no step {number}; its steps are: {have}.")

    @property
    def recorded(self) -> list[Step]:
        """The steps this is about."""
        return self.trace.steps if self._step is None else [self._step]

    @cached_property
    def step_rows(self) -> list[StepRow]:
        """The step table's rows of these steps; one row for the whole trace where it has no steps."""
        if not self.trace.steps:
            return [whole_row(self.trace)]
        rows = zip(step_table(self.trace), self.trace.steps, strict=True)
        return [row for row, step in rows if self._step is None or step is self._step]

    @cached_property
    def _parts(self) -> list[tuple[str, list[Event]]]:
        """(label, CPU events and GPU activities) of each step; the whole trace where it has no steps."""
        steps = self.recorded
        if not steps:
            return [(self.name, [*cpu_events(self.trace), *self.trace.gpu])]
        # The step's own range is no annotation of the program's.
        return [
            (f"{self.trace.path} step {step.number}", [*cpu_events(self.trace, step)[1:], *step.gpu])
            for step in steps
        ]

    def _collection(self, collection: str) -> Selection:
        kinds = COLLECTIONS[collection]
        groups = tuple(
            Group(label, tuple(event for event in events if event.kind in kinds))
            for label, events in self._parts
        )
        return Selection(f"{self.name}.{collection}", collection, groups)


class StepsView:
    """The recorded steps of a trace."""

    def __init__(self, view: TraceView) -> None:
        self.view = view

    def __repr__(self) -> str:
        return f"{self.view}.steps"

    def __bool__(self) -> bool:
        raise ExpressionError(f"{self} are steps, neither true nor false; ask count({self}) > 0.")


def matches(name: str, pattern: str) -> bool:
    """Whether ``name`` fits ``pattern``, where ``*`` is any text and ``?`` one character; case counts.

    Brackets mean themselves, because C++ names are full of them.
    """
    return _compiled(pattern).match(name) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    # fnmatch's expression never goes back in a name, however many stars it has: names may be very long.
    return re.compile(fnmatch.translate(pattern.replace("[", "[[]")))


def _around(event: Event) -> Iterable[Event]:
    """What is launched or called inside a CPU event; the launch and op of a GPU activity."""
    if event.kind.on_gpu:
        return [found for found in (event.launch, event.op) if found is not None]
    inside = [found for found in event.walk() if found is not event]
    started = [a for found in (event, *inside) for a in found.activities]
    return [*inside, *started]


def _in_time(event: Event) -> tuple[int, int, int]:
    return event.start, -event.dur, event.index
