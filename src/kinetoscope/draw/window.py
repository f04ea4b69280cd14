"""Which span of a trace a figure shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from kinetoscope.measure.selection import matches
from kinetoscope.trace.events import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kinetoscope.trace.events import Event, Step, Trace

Steps: TypeAlias = "int | tuple[int, ...] | Literal['all'] | None"
"""A step's number, several of them, the whole trace, or (None) one typical step"""


class LayoutError(ValueError):
    """What was asked for is not in the trace; the message says what is."""


@dataclass(frozen=True, slots=True)
class Window:
    """A span of the trace, and the steps it was chosen for."""

    start: int
    """ns"""
    end: int
    """ns; always after ``start``"""
    steps: tuple[Step, ...] = ()
    """the steps asked for; empty when the span is not a matter of steps"""
    zoom: Event | None = None
    """the op that was zoomed to"""

    @property
    def dur(self) -> int:
        """ns"""
        return self.end - self.start


DRAWN = frozenset({Kind.OP, Kind.ANNOTATION, Kind.CALL, Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET})
"""Kinds that get a bar (and :attr:`Kind.PYTHON` when asked)"""


def drawable(trace: Trace, *, python: bool = False) -> list[Event]:
    """The events that get bars, in the trace's order."""
    kinds = DRAWN | {Kind.PYTHON} if python else DRAWN
    return [event for event in trace.events if event.kind in kinds]


def typical_step(steps: list[Step]) -> Step:
    """The step of median length, so that a figure shows the step the numbers beside it speak of.

    Of an even number the shorter of the two in the middle, so that it is one that happened.
    """
    by_length = sorted(steps, key=lambda step: (step.end - step.start, step.number))
    return by_length[(len(by_length) - 1) // 2]


def choose(trace: Trace, steps: Steps, zoom: str | None, events: list[Event]) -> Window:
    """The window for these options.

    Raises :class:`LayoutError` for a step that is not there and a ``zoom`` that matches no op.
    """
    chosen = _steps(trace, steps)
    if chosen:
        start, end = min(s.start for s in chosen), max(s.end for s in chosen)
    else:
        start = min((event.start for event in events), default=0)
        end = max((event.end for event in events), default=0)
    if zoom is not None:
        return _zoomed(trace, zoom, chosen)
    return Window(start, max(end, start + 1), chosen)


def _steps(trace: Trace, steps: Steps) -> tuple[Step, ...]:
    if steps == "all" or (steps is None and not trace.steps):
        return ()
    if steps is None:
        return (typical_step(trace.steps),)
    wanted = (steps,) if isinstance(steps, int) else steps
    by_number = {step.number: step for step in trace.steps}
    missing = [number for number in wanted if number not in by_number]
    if missing or not wanted:
        there = ", ".join(map(str, by_number)) or "none"
        asked = ", ".join(map(str, missing)) or "(nothing)"
        raise LayoutError(f"{trace.path}: no step {asked}; the trace has steps: {there}")
    return tuple(by_number[number] for number in sorted(set(wanted)))


def _zoomed(trace: Trace, pattern: str, chosen: tuple[Step, ...]) -> Window:
    named = [e for e in trace.of(Kind.OP, Kind.ANNOTATION, Kind.CALL) if matches(e.name, pattern)]
    inside = [e for e in named if any(s.start <= e.start < s.event.end for s in chosen)]
    if not (found := (inside or named)):
        raise LayoutError(f"{trace.path}: nothing is called {pattern!r}; {_names(trace.ops)}")
    event = found[0]
    end = max([event.end, *(a.end for below in event.walk() for a in below.activities)])
    steps = chosen if inside else tuple(s for s in trace.steps if s.start <= event.start < s.event.end)
    return Window(event.start, max(end, event.start + 1), steps, event)


def _names(ops: Iterable[Event]) -> str:
    names = list(dict.fromkeys(op.name for op in ops))
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return f"the ops are {', '.join(names[:8])}{more}" if names else "the trace has no ops"
