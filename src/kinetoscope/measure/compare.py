"""Two traces side by side: what kept its name, what is gone, what is new, what takes longer or shorter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from kinetoscope.measure.device import sums
from kinetoscope.measure.errors import NotMeasured
from kinetoscope.measure.presence import Presence, need_of
from kinetoscope.trace import Event, Kind, Trace
from kinetoscope.trace.columns import CODE, KINDS, among, groups
from kinetoscope.trace.events import EventsAt

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kinetoscope.trace import StepAt
    from kinetoscope.trace.columns import Columns

Change = Literal["kept", "slower", "faster", "gone", "new"]

DEFAULT_KINDS = (Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET)

TOLERANCE = 0.05
"""A change of at most this share of the time is no change: kernels vary as much from step to step."""


@dataclass(frozen=True, slots=True)
class Pair:
    """All events of one name in both traces; counts and times are medians over the recorded steps."""

    name: str
    kind: Kind
    change: Change
    calls_before: float
    calls_after: float
    before: float
    """ns a step, summed over the events of this name; 0 if there are none"""
    after: float
    events_before: Sequence[Event] = ()
    """of all recorded steps"""
    events_after: Sequence[Event] = ()

    @property
    def ratio(self) -> float | None:
        """after / before; None if either is missing"""
        return self.after / self.before if self.before and self.after else None


def compare(before: Trace, after: Trace, *kinds: Kind) -> list[Pair]:
    """The events of these kinds (by default kernels and copies), paired by name.

    Pairs that are gone come first, then new ones, then the rest; in each group the most time first.
    """
    kinds = kinds or DEFAULT_KINDS
    old, new = _by_name(before, kinds), _by_name(after, kinds)
    pairs = []
    for kind, name in {**old, **new}:
        one, other = old.get((kind, name), _Named()), new.get((kind, name), _Named())
        pairs.append(
            Pair(
                name=name,
                kind=kind,
                change=_change(one, other),
                calls_before=one.calls,
                calls_after=other.calls,
                before=one.time,
                after=other.time,
                events_before=one.events,
                events_after=other.events,
            )
        )
    order = {"gone": 0, "new": 1}
    return sorted(
        pairs, key=lambda pair: (order.get(pair.change, 2), -max(pair.before, pair.after), pair.name)
    )


def must_be_comparable(before: Trace, after: Trace, *kinds: Kind) -> None:
    """Raises :class:`NotMeasured`, naming the trace, where one of them did not measure these kinds at all.

    Each event of the other one would be called new, or gone.
    """
    for trace in (before, after):
        try:
            Presence(trace).need(need_of(kinds))
        except NotMeasured as error:
            raise NotMeasured(f"{trace.path}: {error}") from None


def changes(pairs: Iterable[Pair]) -> tuple[dict[int, Change], dict[int, Change]]:
    """The change of each event by its index, in the trace before and in the trace after."""
    before: dict[int, Change] = {}
    after: dict[int, Change] = {}
    for pair in pairs:
        before.update((event.index, pair.change) for event in pair.events_before)
        after.update((event.index, pair.change) for event in pair.events_after)
    return before, after


class _Named(NamedTuple):
    """The events of one name in one trace, or none."""

    calls: float = 0.0
    """a step"""
    time: float = 0.0
    """ns a step"""
    events: Sequence[Event] = ()


def _change(before: _Named, after: _Named) -> Change:
    if not before.calls:
        return "new"
    if not after.calls:
        return "gone"
    if abs(after.time - before.time) <= TOLERANCE * before.time:
        return "kept"
    return "slower" if after.time > before.time else "faster"


def _by_name(trace: Trace, kinds: Sequence[Kind]) -> dict[tuple[Kind, str], _Named]:
    """By kind and name, the medians over all steps; a step without the name counts as 0."""
    columns = trace.columns
    parts = [_of_step(columns, step) for step in trace.steps_at] or [np.arange(len(columns))]
    at = np.concatenate(parts)
    step = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    wanted = among(columns.kind[at], [CODE[kind] for kind in kinds], len(KINDS))
    at, step = at[wanted], step[wanted]
    pair = columns.name[at].astype(np.int64) * len(KINDS) + columns.kind[at]
    # A row for each step that has events of a name and kind: most may be in few of many steps.
    row, of_row = np.unique(pair * len(parts) + step, return_inverse=True)
    calls = np.bincount(of_row, minlength=len(row)).tolist()
    times = sums(columns.dur[at] * ~columns.wrong[at], of_row, len(row)).tolist()
    named = {}
    for rows, there in zip(groups(row // len(parts)), groups(pair), strict=True):
        count = _median([calls[n] for n in rows.tolist()], len(parts))
        if count:
            time = _median([times[n] for n in rows.tolist()], len(parts))
            name, kind = divmod(int(pair[there[0]]), len(KINDS))
            named[KINDS[kind], columns.names[name]] = _Named(count, time, EventsAt(trace, at[there]))
    return named


def _of_step(columns: Columns, step: StepAt) -> NDArray[np.intp]:
    on_cpu = columns.with_all_below(step.cpu, step.event)
    return np.concatenate([on_cpu[on_cpu != step.event], step.gpu])


def _median(values: list[int], count: int) -> float:
    """The median of ``count`` numbers, of which those that are not given are 0."""
    zeros, values = count - len(values), sorted(values)
    middle = [values[n - zeros] if n >= zeros else 0 for n in ((count - 1) // 2, count // 2)]
    return sum(middle) / 2
