"""Numbers for assertions: plain integers that remember the events they were counted from.

``assert count(t.kernels) == 4`` compares two integers.  Where it fails, Kinetoscope's pytest plugin lists the
events that were there (:func:`explain`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeGuard, TypeVar

from kinetoscope.api.trace import Events, Steps
from kinetoscope.trace import Event, Kind, Step

if TYPE_CHECKING:
    from collections.abc import Sequence


class _Number(int):
    """An integer, the events it is about, and what to say of them."""

    events: tuple[Event, ...] = ()
    pattern: str | None = None
    noun: str = "events"


class Count(_Number):
    """How many events there are."""


class Time(_Number):
    """Nanoseconds of events, added up."""


_N = TypeVar("_N", bound=_Number)


def count(events: Iterable[Event | Step], pattern: str | None = None) -> Count:
    """How many of ``events`` there are, or how many whose name matches ``pattern`` (``*`` and ``?``).

    A step counts as its ``ProfilerStep#n``.  Raises ``TypeError`` for anything that is not an event, and
    :class:`~kinetoscope.measure.errors.NotMeasured` for a list of a trace that holds nothing of the kind,
    such as the kernels of one that has no GPU activity at all.

    >>> import kinetoscope
    >>> trace = kinetoscope.load("docs/recordings/nvidia-h200/02_linear/linear_eager.json.gz")
    >>> kinetoscope.count(trace.ops, "aten::*mm")
    3
    """
    __tracebackhide__ = True
    _must_be_measured(events)
    return _count(events, pattern)


def _count(events: Iterable[Event | Step], pattern: str | None) -> Count:
    listed = _events(events, "count")
    return _remember(Count(sum(_matching(listed, pattern))), events, listed, pattern)


def time(events: Iterable[Event | Step], pattern: str | None = None) -> Time:
    """Nanoseconds of ``events``: the sum of their own durations, without those that cannot be right.

    Everything else is as in :func:`count`.
    """
    __tracebackhide__ = True
    _must_be_measured(events)
    listed = _events(events, "time")
    matching = zip(listed, _matching(listed, pattern), strict=True)
    return _remember(
        Time(sum(event.dur for event, fits in matching if fits and not event.wrong)), events, listed, pattern
    )


def _remember(number: _N, given: object, events: tuple[Event, ...], pattern: str | None) -> _N:
    number.events, number.pattern = events, pattern
    if isinstance(given, Events):
        number.noun = given.noun
    return number


def _must_be_measured(given: object) -> None:
    __tracebackhide__ = True
    if isinstance(given, Events | Steps):
        given.must_be_measured()


def _events(given: object, function: str) -> tuple[Event, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"{function}() takes events, such as trace.kernels, not {type(given).__name__}")
    events = tuple(each.event if isinstance(each, Step) else each for each in given)
    for event in events:
        if not isinstance(event, Event):
            raise TypeError(
                f"{function}() takes events, such as trace.kernels, not {type(event).__name__} in a list"
            )
    return events


def _matching(events: Sequence[Event], pattern: str | None) -> list[bool]:
    """For each event, whether its name matches."""
    if pattern is None:
        return [True] * len(events)
    if not isinstance(pattern, str):
        raise TypeError(f"a pattern is text, such as 'aten::*mm', not {type(pattern).__name__}")
    from kinetoscope.measure.selection import matches

    return [matches(event.name, pattern) for event in events]


# --- what pytest shows where an assertion fails -------------------------------------------------------------

_LINES, _ALL_LINES = 8, 43
"""Lines of an explanation that pytest shows, and with ``-vv``"""
_NAME, _LONG_NAME = 56, 80
"""Characters of a name, and with ``-vv``"""


def explain(left: object, right: object, op: str, *, whole: bool = False) -> list[str] | None:
    """Lines for an assertion ``left op right`` that failed; None if neither side was counted from events.

    As many lines as pytest shows; with ``whole`` as many as it shows with ``-vv``.
    """
    pattern = left if op in ("in", "not in") and isinstance(left, str) else None
    numbers = [number for side in (left, right) if (number := _as_number(side, pattern)) is not None]
    if not numbers:
        return None
    room = ((_ALL_LINES if whole else _LINES) - 1) // len(numbers)
    lists = [line for number in numbers for line in _listed(number, room, whole)]
    return [f"{_side(left)} {op} {_side(right)}", *lists]


def _as_number(side: object, pattern: str | None) -> _Number | None:
    if isinstance(side, _Number):
        return side
    if not _is_list_of_events(side):
        return None
    # A list of a trace knows what its events are called.
    return _count(side if isinstance(side, Events) else [e for e in side if isinstance(e, Event)], pattern)


def _is_list_of_events(side: object) -> TypeGuard[list[object]]:
    # A list of a trace may be empty.  Of any other list, its first element decides.
    return isinstance(side, Events) or (isinstance(side, list) and isinstance(next(iter(side), None), Event))


def _side(side: object) -> str:
    """One side of the comparison, in a few words."""
    if isinstance(side, Time):
        from kinetoscope.measure.printing import printed

        return f"{int(side)} ns ({printed(int(side), 'ns')})"
    if isinstance(side, Count):
        return f"{int(side)}"
    if _is_list_of_events(side):
        return f"{len(side)} {side.noun if isinstance(side, Events) else 'events'}"
    return f"{side!r:.100}"


def _listed(number: _Number, room: int, whole: bool) -> list[str]:
    """The events by name, in at most ``room`` lines: those that match first, otherwise in order of start."""
    from kinetoscope.measure.printing import printed

    pattern = None if number.pattern is None else f"{number.pattern!r:.50}"
    if not number.events:
        return [
            f"no {number.noun} were there" + ("" if pattern is None else f", so none that fits {pattern}")
        ]
    by_name: dict[tuple[str, Kind], tuple[bool, list[int]]] = {}
    for event, matches in zip(number.events, _matching(number.events, number.pattern), strict=True):
        by_name.setdefault((event.name, event.kind), (matches, []))[1].append(event.dur)
    kinds = sorted({event.kind.value for event in number.events})
    about = ""
    if pattern is not None:
        any_matches = any(matches for matches, _ in by_name.values())
        about = f", of which {pattern} fits " + ("those marked with >" if any_matches else "none")
    lines = [f"{len(number.events)} events were there ({', '.join(kinds)[:60]}){about}:"]
    most = room - 1 if len(by_name) < room else room - 2
    for (name, kind), (matches, durations) in sorted(by_name.items(), key=lambda item: not item[1][0])[:most]:
        mark = ">" if pattern is not None and matches else " "
        total = printed(sum(durations), "ns")
        lines.append(f"{mark} {len(durations):>4}×  {total:>8}  {_name(name, kind, whole)}")
    if len(by_name) > most:
        lines.append(f"  and {len(by_name) - most} more names" + ("" if whole else " (-vv lists more)"))
    return lines


def _name(name: str, kind: Kind, whole: bool) -> str:
    from kinetoscope.draw.names import clean, short_name

    full, longest = clean(name), _LONG_NAME if whole else _NAME
    if len(full) <= longest:
        return full
    short = short_name(name, kind)[:longest]
    return f"{short}  ({full[:longest]}…)" if whole else short
