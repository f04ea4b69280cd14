"""Raw records -> columns: one number for each complete ("X") event in each of them.

Positions in the columns go by start, an outer event before an inner one; every other module of this room
speaks of events by position.  Times are integer ns since the earliest event.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np

from kinetoscope.trace.categories import NEITHER, STEP_NAME, kind_of
from kinetoscope.trace.events import GPU_ACTIVITIES, Kind, LaneId
from kinetoscope.trace.fields import LARGEST_US, LONGEST, integer, lane_of, microseconds, nanoseconds
from kinetoscope.trace.phases import note_left_out, pair, phases_of, records
from kinetoscope.trace.records import RawEvent, link_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kinetoscope.trace.events import Event, Trace
    from kinetoscope.trace.findings import Findings

KINDS = tuple(Kind)
"""Kind by its number in :attr:`Columns.kind`"""
CODE = {kind: number for number, kind in enumerate(KINDS)}
ON_GPU = np.array([kind in GPU_ACTIVITIES for kind in KINDS])
"""by number of kind: whether it is a GPU activity"""
_STREAM_KINDS = GPU_ACTIVITIES | {Kind.GPU_ANNOTATION, Kind.SYNC}
ON_STREAM = np.array([kind in _STREAM_KINDS for kind in KINDS])
_WITH_LINK = ON_STREAM | np.array([kind is Kind.CALL for kind in KINDS])

NONE = -1
"""stands for no event, no id"""

# Below this many µs a float with three decimals is exact to the ns: its step is an eighth of one.
_FLOAT_HOLDS = 2.0**40


class InexactTimes(Exception):
    """The times are too large for the floats they were decoded to; decode them as decimals."""


@dataclass(slots=True, eq=False)
class Columns:
    """n complete events."""

    names: list[str]
    """each name once"""
    lanes: list[LaneId]
    name: NDArray[np.int32]
    """(n) into ``names``"""
    kind: NDArray[np.int8]
    """(n) into :data:`KINDS`"""
    lane: NDArray[np.int32]
    """(n) into ``lanes``"""
    start: NDArray[np.int64]
    """(n) ns since the earliest event"""
    dur: NDArray[np.int64]
    """(n) ns"""
    index: NDArray[np.int32]
    """(n) position among the file's entries"""
    correlation: NDArray[np.int64]
    """(n) of calls and GPU activities; NONE elsewhere, and for 0"""
    args: Sequence[Any]
    """n raw ``args``"""
    parent: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    """(n) position of the event that holds it, or NONE"""
    nested: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))
    """positions of the events that can nest, an outer one of two equal ranges before the inner one"""
    op: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    """(n) position of the innermost op it nests in, itself for an op, or NONE; NONE on the GPU"""
    launch: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    """(n) position of the call that started a GPU activity, or NONE"""
    unfinished: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, bool))
    """(n) whether it is a Python frame whose end was missed"""
    named_op: dict[int, int] = field(default_factory=dict)
    """position of the op that the External id names, where nesting gives none"""
    external: NDArray[np.int64] | None = None
    """(n) External ids, NONE for none; None where they have to be read from ``args``; so are the next two"""
    frame: NDArray[np.int64] | None = None
    """(n) ids of Python frames"""
    frame_parent: NDArray[np.int64] | None = None
    """(n) the id of the frame that called it"""

    once: dict[str, Any] = field(default_factory=dict, repr=False)
    """what was computed of all events, and is asked for by several tables"""

    def __len__(self) -> int:
        return len(self.start)

    @property
    def end(self) -> NDArray[np.int64]:
        """(n) ns"""
        return self.start + self.dur

    def ends(self, at: NDArray[np.intp]) -> NDArray[np.int64]:
        """ns at which the events ``at`` end; for a few of many, of which :attr:`end` would add up all"""
        ends: NDArray[np.int64] = self.start[at] + self.dur[at]
        return ends

    @property
    def on_gpu(self) -> NDArray[np.bool_]:
        """(n) whether it is a GPU activity"""
        return ON_GPU[self.kind]

    @property
    def self_dur(self) -> NDArray[np.int64]:
        """(n) ns outside its children; never below 0, and 0 for what is ``unfinished``"""
        if "self_dur" in self.once:
            return cast("NDArray[np.int64]", self.once["self_dur"])
        below = np.zeros(len(self), np.int64)
        inside = self.parent != NONE
        np.add.at(below, self.parent[inside], self.dur[inside])
        own: NDArray[np.int64] = np.maximum(self.dur - below, 0) * ~self.unfinished
        self.once["self_dur"] = own
        return own

    def with_all_below(self, tops: NDArray[np.intp], also: int) -> NDArray[np.intp]:
        """Positions of ``tops``, all that nests in them, and the one event ``also``, in order."""
        there = {also, *tops.tolist()}
        if len(tops):
            started = self.start[self.nested]
            first, behind = np.searchsorted(started, [self.start[tops[0]], self.end[tops].max() + 1])
            below = set(tops.tolist())
            near = self.nested[first:behind]
            for at, parent in zip(near.tolist(), self.parent[near].tolist(), strict=True):
                if parent in below:
                    below.add(at)
            there |= below
        return np.array(sorted(there), np.intp)

    def where(self, *kinds: Kind) -> NDArray[np.intp]:
        """Positions of the events of these kinds."""
        wanted = np.zeros(len(KINDS), bool)
        wanted[[CODE[kind] for kind in kinds]] = True
        return np.flatnonzero(wanted[self.kind])

    def place(self, at: int) -> str:
        """An event as a finding's first place."""
        return f"event {self.index[at]}, {self.names[self.name[at]][:80]!r}"


def columns(raw: Sequence[Any], findings: Findings) -> Columns:
    """The columns of the complete events among ``raw`` (records, or dictionaries as ``json`` gives them).

    Ranges written as a begin and an end are complete events too.  Raises :class:`InexactTimes` where times
    were decoded to floats that do not hold them.
    """
    phases = phases_of(raw, findings)
    note_left_out(phases, findings)
    index, events, start = _timed(raw, phases, frozenset("X"), findings)
    dur = _durations(events, index, findings)
    if "B" in phases or "E" in phases:
        places, marks, times = _timed(raw, phases, frozenset("BE"), findings)
        ranges = pair(places.tolist(), marks, times, findings)
        events = [*events, *ranges.events]
        index, start, dur = (
            np.concatenate([array, np.array(more, array.dtype)])
            for array, more in ((index, ranges.index), (start, ranges.start), (dur, ranges.dur))
        )
    start = start - start.min() if len(start) else start
    order = np.lexsort((index, -dur, start))
    start, dur, index = start[order], dur[order], index[order]
    events = [events[at] for at in order.tolist()]
    names, name = _numbered([event.name for event in events])
    kind = _kinds(events, names, name)
    _note_unknown(events, kind, index, findings)
    lanes, lane, correlation = _lanes_and_ids(events, kind)
    found = Columns(names, lanes, name, kind, lane, start, dur, index, correlation, [e.args for e in events])
    found.unfinished = np.zeros(len(found), bool)
    return found


def _timed(
    raw: Sequence[Any], phases: list[Any], wanted: frozenset[str], findings: Findings
) -> tuple[NDArray[np.int32], list[RawEvent], NDArray[np.int64]]:
    """Places, records and times (ns) of the entries of the phases ``wanted`` that have a time."""
    places = [n for n, ph in enumerate(phases) if ph in wanted]
    events = records(raw, places, _id)
    index = np.array(places, np.int32)
    start, ok = _times([event.ts for event in events])
    if not ok.all():
        for at in np.flatnonzero(~ok).tolist():
            findings.add("no-time", f"entry {index[at]} of traceEvents")
        kept = np.flatnonzero(ok)
        index, start, events = index[kept], start[kept], [events[at] for at in kept.tolist()]
    return index, events, start


def _id(value: Any) -> int | str:
    if type(value) is int or isinstance(value, str):
        return value
    number = integer(value)
    return str(value) if number is None else number


def _times(values: list[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Times in µs as ns, and which of them are times at all."""
    found = _all_numbers(values)
    if found is not None:
        return found, np.ones(len(values), bool)
    each = [nanoseconds(Decimal(repr(v)) if type(v) is float else v) for v in values]
    ok = np.array([ns is not None for ns in each], bool)
    return np.array([ns or 0 for ns in each], np.int64), ok


def _durations(events: list[RawEvent], index: NDArray[np.int32], findings: Findings) -> NDArray[np.int64]:
    """Durations in ns, with 0 for what is none or cannot be; ``index`` is the place of each event."""
    values = [event.dur for event in events]
    ns = _all_numbers(values)
    missing, endless = np.zeros(len(values), bool), np.zeros(len(values), bool)
    if ns is None:
        ns = np.zeros(len(values), np.int64)
        for at, value in enumerate(values):
            us = microseconds(Decimal(repr(value)) if type(value) is float else value)
            if us is None:
                missing[at] = True
            elif us >= LARGEST_US:
                endless[at] = True
            else:
                ns[at] = -1 if us <= -LARGEST_US else nanoseconds(us) or 0
    codes = (
        ("no-duration", missing),
        ("negative-duration", ns < 0),
        ("absurd-duration", endless | (ns > LONGEST)),
    )
    for code, wrong in codes:
        if wrong.any():
            at = int(np.argmax(wrong))
            place = f"event {index[at]}, {events[at].name[:80]!r}"
            findings.add(code, place, int(wrong.sum()))
            ns[wrong] = 0
    return ns


def _all_numbers(values: list[Any]) -> NDArray[np.int64] | None:
    """Times in µs as ns where all are numbers of a usual size, else None.

    Raises :class:`InexactTimes` where floats do not say which ns was written.
    """
    kinds = set(map(type, values))
    if not kinds <= {int, float}:
        if float in kinds:
            _split(np.array([value for value in values if type(value) is float]), True)
        return None
    try:
        us = np.array(values, np.float64)
    except OverflowError:
        return None
    whole, ns = _split(us, float in kinds)
    if len(us) and not np.abs(us).max() < LARGEST_US:
        return None
    return whole.astype(np.int64) * 1000 + ns.astype(np.int64)


def _split(us: NDArray[np.float64], floats: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Whole µs below, and the ns above them."""
    largest = float(np.abs(us).max()) if len(us) else 0.0
    if floats and not largest < _FLOAT_HOLDS:
        raise InexactTimes
    whole = np.floor(us)
    fraction = (us - whole) * 1000
    # A float is not its text: near the middle between two ns the text has to say which.
    doubt = 0.001 + 1000 * float(np.spacing(largest))
    if floats and (np.abs(fraction % 1 - 0.5) < doubt).any():
        raise InexactTimes
    return whole, np.rint(fraction)


def _numbered(texts: list[str]) -> tuple[list[str], NDArray[np.int32]]:
    """Each text once, and the number of each."""
    numbers: dict[str, int] = {}
    each = [numbers.setdefault(text, len(numbers)) for text in texts]
    return list(numbers), np.array(each, np.int32)


def _kinds(events: list[RawEvent], names: list[str], name: NDArray[np.int32]) -> NDArray[np.int8]:
    cats = [event.cat for event in events]
    codes = {cat: CODE[kind_of(cat, 0)] for cat in set(cats)}
    kind = np.array([codes[cat] for cat in cats], np.int8)
    if None in codes:
        for at, event in enumerate(events):
            if event.cat is None:
                kind[at] = CODE[kind_of(None, event.pid)]
    # Two profilers give them the category of ops (Kineto of 2021, Ascend).
    steps = [
        n for n, text in enumerate(names) if text.startswith("ProfilerStep#") and STEP_NAME.fullmatch(text)
    ]
    kind[among(name, steps, len(names)) & (kind == CODE[Kind.OP])] = CODE[Kind.ANNOTATION]
    return kind


def _note_unknown(
    events: list[RawEvent], kind: NDArray[np.int8], index: NDArray[np.int32], findings: Findings
) -> None:
    other = np.flatnonzero(kind == CODE[Kind.OTHER]).tolist()
    unknown = [at for at in other if (events[at].cat or "").lower() not in NEITHER]
    if unknown:
        first = events[unknown[0]]
        cat = "no category" if first.cat is None else f"category {first.cat[:80]!r}"
        findings.add(
            "unknown-categories", f"event {index[unknown[0]]}, {first.name[:80]!r} of {cat}", len(unknown)
        )


def _lanes_and_ids(
    events: list[RawEvent], kind: NDArray[np.int8]
) -> tuple[list[LaneId], NDArray[np.int32], NDArray[np.int64]]:
    lanes: dict[LaneId, int] = {}
    seen: dict[tuple[Any, ...], int] = {}
    lane: list[int] = []
    correlation = np.full(len(events), NONE, np.int64)
    with_link, on_stream = _WITH_LINK[kind].tolist(), ON_STREAM[kind].tolist()
    for at, event in enumerate(events):
        key: tuple[Any, ...] = (event.pid, event.tid)
        if with_link[at]:
            link = link_of(event.args)
            correlation[at] = wrapped(link.correlation)
            if on_stream[at]:
                key = (event.pid, event.tid, integer(link.stream), integer(link.device))
        found = seen.get(key)
        if found is None:
            found = seen[key] = lanes.setdefault(lane_of(*key), len(lanes))
        lane.append(found)
    return list(lanes), np.array(lane, np.int32), correlation


def wrapped(value: Any) -> int:
    """An id of 64 bits, which some read as signed and some do not; NONE for 0, and for what is none."""
    number = integer(value)
    if not number or abs(number) >= 2**64:  # 0 is CUPTI's for none, -1 others'
        return NONE
    return (number + 2**63) % 2**64 - 2**63


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """Each value once, in order.

    ``np.unique``, unless it counts as well, loads numpy's masked arrays: as long as a small trace takes.
    """
    found: NDArray[Any] = np.unique(values, return_counts=True)[0]
    return found


def among(
    numbers: NDArray[Any], chosen: Sequence[int] | NDArray[np.integer[Any]], count: int
) -> NDArray[np.bool_]:
    """(n) which of ``numbers`` are ``chosen``; all are from 0 to below ``count``."""
    is_chosen = np.zeros(count, bool)
    is_chosen[np.asarray(chosen, np.intp)] = True
    found: NDArray[np.bool_] = is_chosen[numbers]
    return found


def by_lane(columns: Columns, at: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """For each lane of the events ``at`` which of them (0 for the first) are on it, in their order."""
    lane = columns.lane[at]
    order = np.argsort(lane, kind="stable")
    bounds = np.flatnonzero(np.diff(lane[order])) + 1
    return np.split(order, bounds) if len(at) else []


def columns_of(trace: Trace) -> Columns:
    """The columns of a trace that was read.  Raises ``ValueError`` for one that was made of events."""
    if trace.columns is None:
        raise ValueError(f"{trace.path} was not read from a file: it has events and no columns")
    return trace.columns


class EventsAt(Sequence["Event"]):
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
