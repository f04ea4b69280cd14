"""Raw records -> columns: one number for each complete ("X") event in each of them.

Positions in the columns go by start, an outer event before an inner one; every other module of this room
speaks of events by position.  Times are integer ns since the earliest event.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from kinetoscope.trace.categories import STEP_NAME, kind_of
from kinetoscope.trace.events import GPU_ACTIVITIES, Kind, LaneId
from kinetoscope.trace.fields import LARGEST_US, LONGEST, integer, lane_of, nanoseconds
from kinetoscope.trace.raw import RawEvent, link_of

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
_ON_STREAM = np.array([kind in _STREAM_KINDS for kind in KINDS])
_WITH_LINK = _ON_STREAM | np.array([kind is Kind.CALL for kind in KINDS])

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
    args: list[Any]
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

    def __len__(self) -> int:
        return len(self.start)

    @property
    def end(self) -> NDArray[np.int64]:
        """(n) ns"""
        return self.start + self.dur

    @property
    def on_gpu(self) -> NDArray[np.bool_]:
        """(n) whether it is a GPU activity"""
        return ON_GPU[self.kind]

    @property
    def self_dur(self) -> NDArray[np.int64]:
        """(n) ns outside its children; never below 0, and 0 for what is ``unfinished``"""
        below = np.zeros(len(self), np.int64)
        inside = self.parent != NONE
        np.add.at(below, self.parent[inside], self.dur[inside])
        own: NDArray[np.int64] = np.maximum(self.dur - below, 0) * ~self.unfinished
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

    Raises :class:`InexactTimes` where times were decoded to floats that do not hold them.
    """
    index, events = _complete(raw, findings)
    start, start_ok = _times([event.ts for event in events])
    dur, dur_ok = _times([event.dur for event in events])
    if not (ok := start_ok & dur_ok).all():
        for at in np.flatnonzero(~ok).tolist():
            findings.add("no-time", f"entry {index[at]} of traceEvents")
        kept = np.flatnonzero(ok)
        start, dur, index = start[kept], dur[kept], index[kept]
        events = [events[at] for at in kept]
    start = start - start.min() if len(start) else start
    order = np.lexsort((index, -dur, start))
    start, dur, index = start[order], dur[order], index[order]
    events = [events[at] for at in order.tolist()]
    names, name = _numbered([event.name for event in events])
    kind = _kinds(events, names, name)
    lanes, lane, correlation = _lanes_and_ids(events, kind)
    found = Columns(names, lanes, name, kind, lane, start, dur, index, correlation, [e.args for e in events])
    found.unfinished = np.zeros(len(found), bool)
    _mend_durations(found, findings)
    return found


def _complete(raw: Sequence[Any], findings: Findings) -> tuple[NDArray[np.int32], list[RawEvent]]:
    if not raw or isinstance(raw[0], RawEvent):
        index = np.array([n for n, event in enumerate(raw) if event.ph == "X"], np.int32)
        return index, [event for event in raw if event.ph == "X"]
    places, events = [], []
    for n, entry in enumerate(raw):
        if not isinstance(entry, dict):
            findings.add("no-object", f"entry {n} of traceEvents")
        elif entry.get("ph") == "X":
            places.append(n)
            cat = entry.get("cat")
            events.append(
                RawEvent(
                    "X",
                    None if cat is None else str(cat),
                    str(entry.get("name", "")),
                    _id(entry.get("pid", 0)),
                    _id(entry.get("tid", 0)),
                    entry.get("ts"),
                    entry.get("dur", 0),
                    entry.get("args"),
                )
            )
    return np.array(places, np.int32), events


def _id(value: Any) -> int | str:
    return value if type(value) is int else str(value)


def _times(values: list[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Times in µs as ns, and which of them are times at all."""
    kinds = set(map(type, values))
    if kinds <= {int, float}:
        try:
            us = np.array(values, np.float64)
        except OverflowError:
            us = np.full(len(values), np.inf)
        if len(us) and float in kinds and np.abs(us).max() >= _FLOAT_HOLDS:
            raise InexactTimes
        if not len(us) or np.abs(us).max() < LARGEST_US:
            whole = np.floor(us)
            fraction = (us - whole) * 1000
            ns = whole.astype(np.int64) * 1000 + np.rint(fraction).astype(np.int64)
            # A float is not its text: what lies near the middle between two ns is read again.
            for at in np.flatnonzero(np.abs(fraction % 1 - 0.5) < 0.01).tolist():
                ns[at] = nanoseconds(Decimal(repr(values[at]))) or 0
            return ns, np.ones(len(values), bool)
    found = [nanoseconds(Decimal(repr(v)) if type(v) is float else v) for v in values]
    ok = np.array([ns is not None for ns in found], bool)
    return np.array([ns or 0 for ns in found], np.int64), ok


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
    kind[np.isin(name, steps) & (kind == CODE[Kind.OP])] = CODE[Kind.ANNOTATION]
    return kind


def _lanes_and_ids(
    events: list[RawEvent], kind: NDArray[np.int8]
) -> tuple[list[LaneId], NDArray[np.int32], NDArray[np.int64]]:
    lanes: dict[LaneId, int] = {}
    seen: dict[tuple[Any, ...], int] = {}
    lane: list[int] = []
    correlation = np.full(len(events), NONE, np.int64)
    with_link, on_stream = _WITH_LINK[kind].tolist(), _ON_STREAM[kind].tolist()
    for at, event in enumerate(events):
        key: tuple[Any, ...] = (event.pid, event.tid)
        if with_link[at]:
            link = link_of(event.args)
            number = integer(link.correlation)
            if number and abs(number) < 2**63:  # 0 is CUPTI's for none
                correlation[at] = number
            if on_stream[at]:
                key = (event.pid, event.tid, integer(link.stream), integer(link.device))
        found = seen.get(key)
        if found is None:
            found = seen[key] = lanes.setdefault(lane_of(*key), len(lanes))
        lane.append(found)
    return list(lanes), np.array(lane, np.int32), correlation


def _mend_durations(found: Columns, findings: Findings) -> None:
    for code, wrong in (("negative-duration", found.dur < 0), ("absurd-duration", found.dur > LONGEST)):
        for at in np.flatnonzero(wrong).tolist():
            findings.add(code, found.place(at))
            found.dur[at] = 0


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
