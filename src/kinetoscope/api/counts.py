"""Numbers for assertions: plain integers that remember what they were counted from.

``assert count(t.kernels) == 4`` compares two integers; where it fails, Kinetoscope's pytest plugin lists the
events that were there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from kinetoscope.trace import Event
    from kinetoscope.trace.events import Step


class Count(int):
    """How many events there are."""

    events: tuple[Event, ...] = ()
    pattern: str | None = None
    noun: str = "events"
    why_none: str = ""


class Time(int):
    """Nanoseconds of events, added up."""

    events: tuple[Event, ...] = ()
    pattern: str | None = None
    noun: str = "events"
    why_none: str = ""


def count(events: Iterable[Event | Step], pattern: str | None = None) -> Count:
    """How many of ``events`` there are, or how many whose name fits ``pattern`` (``*`` and ``?``).

    A step counts as its ``ProfilerStep#n``.  Raises ``TypeError`` for what are no events.

    >>> import kinetoscope
    >>> trace = kinetoscope.load("docs/recordings/nvidia-h200/02_linear/linear_eager.json.gz")
    >>> kinetoscope.count(trace.ops, "aten::*mm")
    3
    """
    there = _events(events, "count")
    return _remember(Count(sum(_fits(there, pattern))), events, there, pattern)


def time(events: Iterable[Event | Step], pattern: str | None = None) -> Time:
    """Nanoseconds of ``events``, each event's own duration added up; all else as in :func:`count`."""
    there = _events(events, "time")
    fits = _fits(there, pattern)
    found = Time(sum(event.dur for event, fit in zip(there, fits, strict=True) if fit))
    return _remember(found, events, there, pattern)


_Number = TypeVar("_Number", Count, Time)


def _remember(found: _Number, given: object, there: tuple[Event, ...], pattern: str | None) -> _Number:
    from kinetoscope.api.selections import Events

    found.events, found.pattern = there, pattern
    if isinstance(given, Events):
        found.noun = given.noun
        found.why_none = "" if there else given.why_none()
    return found


def _events(given: object, asked: str) -> tuple[Event, ...]:
    from kinetoscope.trace.events import Event, Step

    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"{asked}() takes events, such as trace.kernels, not {type(given).__name__}")
    there = tuple(each.event if isinstance(each, Step) else each for each in given)
    for each in there:
        if not isinstance(each, Event):
            raise TypeError(
                f"{asked}() takes events, such as trace.kernels, not {type(each).__name__} in a list"
            )
    return there


def _fits(events: tuple[Event, ...], pattern: str | None) -> list[bool]:
    if pattern is None:
        return [True] * len(events)
    if not isinstance(pattern, str):
        raise TypeError(f"a pattern is text, such as 'aten::*mm', not {type(pattern).__name__}")
    from kinetoscope.measure.selection import matches

    return [matches(event.name, pattern) for event in events]


_LINES, _ALL, _NAME, _LONG_NAME = 8, 43, 56, 80
"""Lines and widths that pytest shows, and with -vv"""


def explain(left: object, right: object, op: str, *, whole: bool = False) -> list[str] | None:
    """Lines for an assertion that failed; None where neither side was counted from events.

    As many lines as pytest shows; more of them with ``whole``.
    """
    pattern = left if op in ("in", "not in") and isinstance(left, str) else None
    sides = [found for side in (left, right) if (found := _counted(side, pattern)) is not None]
    if not sides:
        return None
    room = ((_ALL if whole else _LINES) - 1) // len(sides)
    lists = [line for side in sides for line in _listed(side, room, whole)]
    return [f"{_said(left)} {op} {_said(right)}", *lists]


def _counted(side: object, pattern: str | None) -> Count | Time | None:
    if isinstance(side, Count | Time):
        return side
    from kinetoscope.api.selections import Events

    if isinstance(side, Events) or (isinstance(side, list) and side and _is_event(side[0])):
        return count([each for each in side if _is_event(each)] if type(side) is list else side, pattern)
    return None


def _said(side: object) -> str:
    from kinetoscope.api.selections import Events

    if isinstance(side, Time):
        from kinetoscope.measure.printing import printed

        return f"{int(side)} ns ({printed(int(side), 'ns')})"
    if isinstance(side, Count):
        return f"{int(side)}"
    if isinstance(side, Events) or (isinstance(side, list) and side and _is_event(side[0])):
        return f"{len(side)} {side.noun if isinstance(side, Events) else 'events'}"
    return f"{side!r:.100}"


def _listed(found: Count | Time, room: int, whole: bool) -> list[str]:
    """The events by name, on ``room`` lines: first what the pattern fits, then the others, as they came."""
    from kinetoscope.measure.printing import printed

    pattern = None if found.pattern is None else f"{found.pattern!r:.50}"
    if not found.events:
        said = f"no {found.noun} were there" + ("" if pattern is None else f", so none that fits {pattern}")
        return [said, *([found.why_none] if found.why_none else [])]
    names: dict[str, list[int]] = {}
    fit: dict[str, bool] = {}
    for event, fits in zip(found.events, _fits(found.events, found.pattern), strict=True):
        entry = names.setdefault(event.name, [0, 0])
        entry[0] += 1
        entry[1] += event.dur
        fit[event.name] = fits
    kinds = sorted({event.kind.value for event in found.events})
    about = ""
    if pattern is not None:
        about = f", of which {pattern} fits " + ("those marked with >" if any(fit.values()) else "none")
    lines = [f"{len(found.events)} events were there ({', '.join(kinds)[:60]}){about}:"]
    most = room - 1 if len(names) < room else room - 2
    for name, (calls, dur) in sorted(names.items(), key=lambda item: not fit[item[0]])[:most]:
        mark = ">" if pattern is not None and fit[name] else " "
        lines.append(f"{mark} {calls:>4}×  {printed(dur, 'ns'):>8}  {_shown(name, whole)}")
    if len(names) > most:
        lines.append(f"  and {len(names) - most} more names" + ("" if whole else " (-vv lists more)"))
    return lines


def _shown(name: str, whole: bool) -> str:
    from kinetoscope.draw.names import clean, short_name

    full, longest = clean(name), _LONG_NAME if whole else _NAME
    if len(full) <= longest:
        return full
    short = short_name(name)[:longest]
    return f"{short}  ({full[:longest]}…)" if whole else short


def _is_event(value: object) -> bool:
    from kinetoscope.trace import Event

    return isinstance(value, Event)
