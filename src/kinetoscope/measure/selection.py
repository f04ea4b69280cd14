"""What an expression can point at in a trace: its events by kind and name, step by step."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from kinetoscope.measure.errors import ExpressionError, suggestion
from kinetoscope.measure.presence import STEPS, Presence, need_of
from kinetoscope.measure.steps import StepRow, step_table, whole_row
from kinetoscope.trace import COPIES, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

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


class _Collections:
    """What a trace and a selection have in common: the collections of events that can be taken of them."""

    @property
    def ops(self) -> Selection:
        """Of a trace all ops; of events the ops inside CPU events, or that launched GPU activities."""
        return self._collection("ops")

    @property
    def annotations(self) -> Selection:
        """Of a trace all annotations but the steps; of events those inside CPU events."""
        return self._collection("annotations")

    @property
    def calls(self) -> Selection:
        """Of a trace all calls; of events the calls inside CPU events, or that launched GPU activities."""
        return self._collection("calls")

    @property
    def kernels(self) -> Selection:
        """Of a trace all kernels; of events the kernels launched inside CPU events."""
        return self._collection("kernels")

    @property
    def copies(self) -> Selection:
        """Of a trace all copies; of events the copies launched inside CPU events."""
        return self._collection("copies")

    def _collection(self, collection: str) -> Selection:
        raise NotImplementedError


class Selection(_Collections):
    """Events of one collection (``ops``, ``kernels``, …), a group for each recorded step."""

    def __init__(
        self,
        source: str,
        collection: str,
        groups: tuple[Group, ...],
        presence: Presence,
        whole: Selection | None = None,
    ) -> None:
        """Raises :class:`NotMeasured` where the trace holds nothing of the collection's kind."""
        presence.need(need_of(COLLECTIONS[collection]))
        self.presence = presence
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
        matching = self.like(pattern)
        if not matching.events:
            raise ExpressionError(
                f"{pattern!r} matches nothing in {self.source}: {suggestion(pattern, self.names)} "
                f'(Where that is what is claimed: "…" not in {self.source}, or {self.source}.like("…").)'
            )
        return matching

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
        return Selection(f'{self.source}["{pattern}"]', self.collection, groups, self.presence, self.whole)

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
        return Selection(f"first({self.source})", self.collection, groups, self.presence, self.whole)

    def _collection(self, collection: str) -> Selection:
        kinds = COLLECTIONS[collection]
        groups = []
        for group in self.groups:
            related = {id(e): e for event in group.events for e in _related(event) if e.kind in kinds}
            groups.append(Group(group.label, tuple(sorted(related.values(), key=_in_time))))
        return Selection(f"{self.source}.{collection}", collection, tuple(groups), self.presence)


class TraceView(_Collections):
    """A trace under the name that the expression gives it; ``step`` narrows it to one step."""

    def __init__(
        self, name: str, trace: Trace, steps: Sequence[Step] | None = None, *, absent_is_zero: bool = False
    ) -> None:
        self.name = name
        self.trace = trace
        self.presence = Presence(trace, absent_is_zero)
        self._steps = steps
        """those of one number, one for each process; None: all of the trace"""

    def __repr__(self) -> str:
        return self.name

    def __bool__(self) -> bool:
        raise ExpressionError(f"{self.name} is a trace, neither true nor false; ask for a count or a time.")

    @property
    def steps(self) -> StepsView:
        return StepsView(self)

    def step(self, number: int) -> TraceView:
        """The trace's step ``ProfilerStep#number``; of several processes the steps of all together."""
        self.presence.need(STEPS)
        steps = [step for step in self.trace.steps if step.number == number]
        if steps and self._steps is None:
            absent_is_zero = self.presence.absent_is_zero
            return TraceView(f"{self.name}.step({number})", self.trace, steps, absent_is_zero=absent_is_zero)
        have = ", ".join(dict.fromkeys(str(step.number) for step in self.recorded)) or "none"
        raise ExpressionError(f"{self.name} has no step {number}; its steps are: {have}.")

    @property
    def recorded(self) -> Sequence[Step]:
        """The steps this is about."""
        return self.trace.steps if self._steps is None else self._steps

    @cached_property
    def step_rows(self) -> list[StepRow]:
        """The step table's rows of these steps; one row for the whole trace where it has no steps.

        Raises :class:`ExpressionError` for a step of several processes: each has idle time of its own.
        """
        if self._steps is not None and len(self._steps) > 1:
            processes = ", ".join(str(step.event.lane.pid)[:40] for step in self._steps[:8])
            raise ExpressionError(
                f"{self.name} is {len(self._steps)} steps, of processes {processes}: each has a length and "
                "idle time of its own. Take each rank's own file, or all steps, as in each(idle(x))."
            )
        if not self.trace.steps:
            return [whole_row(self.trace)]
        rows = zip(step_table(self.trace), self.trace.steps, strict=True)
        return [row for row, step in rows if self._steps is None or step is self._steps[0]]

    @cached_property
    def _parts(self) -> list[tuple[str, list[Event]]]:
        """(label, CPU events and GPU activities) of each step; the whole trace where it has no steps.

        A step's own range is not an annotation of the program's, and isn't among them.
        """
        if not self.recorded:
            on_cpu = self.trace.of(Kind.ANNOTATION, Kind.OP, Kind.CALL)
            return [(self.name, [*on_cpu, *self.trace.gpu])]
        parts = []
        for step in self.recorded:
            inside = {id(event): event for top in step.cpu for event in top.walk()}
            events = [*sorted(inside.values(), key=_in_time), *step.gpu]
            parts.append((f"{self.trace.path} step {step.number}", events))
        if self._steps is not None and len(parts) > 1:
            return [(parts[0][0], [event for _, events in parts for event in events])]
        return parts

    def _collection(self, collection: str) -> Selection:
        kinds = COLLECTIONS[collection]
        groups = tuple(
            Group(label, tuple(event for event in events if event.kind in kinds))
            for label, events in self._parts
        )
        return Selection(f"{self.name}.{collection}", collection, groups, self.presence)


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


def _related(event: Event) -> list[Event]:
    """What is launched or called inside a CPU event; the launch and op of a GPU activity."""
    if event.kind.on_gpu:
        return [cause for cause in (event.launch, event.op) if cause is not None]
    around, *inside = event.walk()
    return [*inside, *(activity for each in (around, *inside) for activity in each.activities)]


def _in_time(event: Event) -> tuple[int, int, int]:
    return event.start, -event.dur, event.index
