"""Numbers for assertions: plain integers that remember what they were counted from.

``assert count(t.kernels) == 4`` compares two integers; where it fails, Kinetoscope's pytest plugin lists the
events that were there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kinetoscope.trace import Event


class Count(int):
    """How many events there are."""

    events: tuple[Event, ...] = ()
    pattern: str | None = None


class Time(int):
    """Nanoseconds of events, added up."""

    events: tuple[Event, ...] = ()
    pattern: str | None = None


def count(events: Iterable[Event], pattern: str | None = None) -> Count:
    """How many of ``events`` there are, or how many whose name fits ``pattern`` (``*`` and ``?``).

    >>> import kinetoscope
    >>> trace = kinetoscope.load("docs/recordings/nvidia-h200/02_linear/linear_eager.json.gz")
    >>> kinetoscope.count(trace.ops, "aten::*mm")
    3
    """
    there = tuple(events)
    found = Count(sum(_fits(there, pattern)))
    found.events, found.pattern = there, pattern
    return found


def time(events: Iterable[Event], pattern: str | None = None) -> Time:
    """Nanoseconds of ``events``, each event's own duration added up; ``pattern`` as in :func:`count`."""
    there = tuple(events)
    fits = _fits(there, pattern)
    found = Time(sum(event.dur for event, fit in zip(there, fits, strict=True) if fit))
    found.events, found.pattern = there, pattern
    return found


def _fits(events: tuple[Event, ...], pattern: str | None) -> list[bool]:
    if pattern is None:
        return [True] * len(events)
    from kinetoscope.draw.names import matches

    return [matches(event.name, pattern) for event in events]


def explain(left: object, right: object, op: str) -> list[str] | None:
    """Lines for an assertion that failed; None where neither side was counted from events."""
    for side in (left, right):
        if isinstance(side, Count | Time):
            return [f"{_said(left)} {op} {_said(right)}", *_listed(side)]
        if isinstance(side, list) and side and _is_event(side[0]):
            found = count(side)
            return [f"{len(side)} events {op} {right if side is left else left!r:.100}", *_listed(found)]
    return None


def _said(side: object) -> str:
    if isinstance(side, Time):
        from kinetoscope.measure import printed

        return f"{int(side)} ns ({printed(int(side), 'ns')})"
    return f"{int(side)}" if isinstance(side, Count) else repr(side)


def _listed(found: Count | Time) -> list[str]:
    """The events by name, in order of appearance; what the pattern fits is marked."""
    from kinetoscope.draw.names import clean, short_name
    from kinetoscope.measure import printed

    if not found.events:
        return ["no events were there"]
    names: dict[str, list[int]] = {}
    fit: dict[str, bool] = {}
    for event, fits in zip(found.events, _fits(found.events, found.pattern), strict=True):
        entry = names.setdefault(event.name, [0, 0])
        entry[0] += 1
        entry[1] += event.dur
        fit[event.name] = fits
    kinds = sorted({event.kind.value for event in found.events})
    about = f", of which {found.pattern!r} fits those marked with >" if found.pattern is not None else ""
    lines = [f"{len(found.events)} events were there ({', '.join(kinds)}){about}:"]
    for name, (calls, dur) in list(names.items())[:_MOST]:
        mark = ">" if found.pattern is not None and fit[name] else " "
        whole = clean(name)
        short = whole if len(whole) <= _LONGEST else f"{short_name(name)[:_LONGEST]}  ({whole[:_LONGEST]}…)"
        lines.append(f"{mark} {calls:>4}×  {printed(dur, 'ns'):>8}  {short}")
    if len(names) > _MOST:
        lines.append(f"  and {len(names) - _MOST} more names")
    return lines


_MOST, _LONGEST = 40, 80


def _is_event(value: object) -> bool:
    from kinetoscope.trace import Event

    return isinstance(value, Event)
