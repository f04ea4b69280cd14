"""Two traces side by side: what kept its name, what is gone, what is new, what takes longer or shorter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from kinetoscope.trace import Event, Kind, Trace

Change = Literal["kept", "slower", "faster", "gone", "new"]

TOLERANCE = 0.05
"""A change of time smaller than this share is no change: kernels differ by as much from step to step."""


@dataclass(frozen=True, slots=True)
class Pair:
    """All events of one name in both traces, a step each (medians over the recorded steps)."""

    name: str
    kind: Kind
    change: Change
    calls_before: float
    calls_after: float
    before: float
    """ns a step, summed over the events of this name; 0 where there is none"""
    after: float

    @property
    def ratio(self) -> float | None:
        """after / before; ``None`` where either is missing"""
        return self.after / self.before if self.before and self.after else None


def compare(before: Trace, after: Trace, *kinds: Kind) -> list[Pair]:
    """The events of these kinds (kernels and copies if none are named) paired by name.

    What is gone comes first, then what is new, then what both have, the most time first in each group.
    """
    kinds = kinds or (Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET)
    old, new = _by_name(before, kinds), _by_name(after, kinds)
    pairs = [_pair(key, old.get(key), new.get(key)) for key in {**old, **new}]
    order = {"gone": 0, "new": 1}
    return sorted(
        pairs, key=lambda pair: (order.get(pair.change, 2), -max(pair.before, pair.after), pair.name)
    )


def _pair(key: tuple[Kind, str], old: tuple[float, float] | None, new: tuple[float, float] | None) -> Pair:
    calls_before, before = old or (0.0, 0.0)
    calls_after, after = new or (0.0, 0.0)
    change: Change
    if old is None:
        change = "new"
    elif new is None:
        change = "gone"
    elif abs(after - before) <= TOLERANCE * before:
        change = "kept"
    else:
        change = "slower" if after > before else "faster"
    return Pair(key[1], key[0], change, calls_before, calls_after, before, after)


def _by_name(trace: Trace, kinds: Sequence[Kind]) -> dict[tuple[Kind, str], tuple[float, float]]:
    """(calls, ns) a step by kind and name: medians over the steps in which a name may be missing."""
    steps = [_events(step_events, kinds) for step_events in _steps(trace)]
    keys = dict.fromkeys((event.kind, event.name) for events in steps for event in events)
    found = {}
    for key in keys:
        of_step = [[e for e in events if (e.kind, e.name) == key] for events in steps]
        calls = median(len(events) for events in of_step)
        time = median(sum(event.dur for event in events) for events in of_step)
        if calls:
            found[key] = (float(calls), float(time))
    return found


def _steps(trace: Trace) -> list[list[Event]]:
    if not trace.steps:
        return [trace.events]
    return [[*[e for top in step.cpu for e in top.walk()], *step.gpu] for step in trace.steps]


def _events(events: Sequence[Event], kinds: Sequence[Kind]) -> list[Event]:
    return [event for event in events if event.kind in kinds]
