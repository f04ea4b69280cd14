"""Entries of ``traceEvents``, as ``json`` gives them -> columns, whatever is odd about an entry.

This reads what :mod:`~kinetoscope.trace.fast_reader` does not: ranges that are written as a begin and an end,
times and durations that are missing or cannot be, entries of unknown phases.  Source of the phases (``ph``):
"Trace Event Format", the document of Chromium's trace viewer.  Kineto writes X, i, C, M, s and f; other
programs whose traces are merged with Kineto's write B and E.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from kinetoscope.trace.categories import NO_KIND, Kind, kind_of
from kinetoscope.trace.columns import CODE, HAS_CORRELATION, ON_STREAM, Columns, in_order, note_unknown
from kinetoscope.trace.fields import (
    LARGEST_US,
    LONGEST,
    NONE,
    POINTS,
    LaneId,
    id_of,
    integer,
    lane_of,
    microseconds,
    nanoseconds,
    plain_args,
    process_or_thread,
)

if TYPE_CHECKING:
    from kinetoscope.trace.findings import Findings

_ASYNCHRONOUS = frozenset("bneSTpF")
"""Phases of ranges that belong to no thread"""
_ON_STREAM, _HAS_CORRELATION, _PYTHON = ON_STREAM.tolist(), HAS_CORRELATION.tolist(), CODE[Kind.PYTHON]


class _Range(msgspec.Struct, gc=False):
    """A complete event (X), or a begin (B) or an end (E) with a ``dur`` of 0."""

    index: int
    """place among the file's entries"""
    cat: str | None
    name: str
    pid: int | str
    tid: int | str
    start: int
    """ns of the file's clock"""
    dur: int
    """ns"""
    args: Any
    wrong: bool = False
    """whether its length is not what the file says, or not known"""


def read_entries(entries: Sequence[Any], findings: Findings) -> Columns:
    """The columns of the complete events among ``entries``, and of ranges written as a begin and an end."""
    phases = _phases(entries, findings)
    events = _ranges(entries, [n for n, ph in enumerate(phases) if ph == "X"], findings)
    for event in events:
        event.dur = _duration(entries[event.index].get("dur"), event, findings)
    marks = _ranges(entries, [n for n, ph in enumerate(phases) if ph in ("B", "E")], findings)
    events += _pair(marks, phases, findings)
    events.sort(key=lambda event: event.index)
    return _columns(events, findings)


def _phases(entries: Sequence[Any], findings: Findings) -> list[str | None]:
    """The phase of each entry.  Reports the entries that are neither events nor :data:`POINTS`."""
    phases: list[str | None] = []
    for n, entry in enumerate(entries):
        if isinstance(entry, dict):
            ph = entry.get("ph")
            phases.append(ph if isinstance(ph, str) else None)
        else:
            findings.add("no-object", f"entry {n} of traceEvents")
            phases.append("M")  # like metadata it is not an event, and it is reported already
    counts = Counter(phases)
    # In order of appearance, so that the place of a finding is the first.
    for ph, count in counts.items():
        if ph not in POINTS | {"X", "B", "E"}:
            code = "asynchronous" if ph in _ASYNCHRONOUS else "unknown-phase"
            findings.add(code, f"entry {phases.index(ph)} of traceEvents", count)
    return phases


def _ranges(entries: Sequence[Any], places: list[int], findings: Findings) -> list[_Range]:
    """The entries at ``places`` that have a time."""
    ranges = []
    for place in places:
        entry = entries[place]
        start, cat = nanoseconds(entry.get("ts")), entry.get("cat")
        if start is None:
            findings.add("no-time", f"entry {place} of traceEvents")
            continue
        ranges.append(
            _Range(
                index=place,
                cat=None if cat is None else str(cat),
                name=str(entry.get("name", "")),
                pid=process_or_thread(entry.get("pid", 0)),
                tid=process_or_thread(entry.get("tid", 0)),
                start=start,
                dur=0,
                args=entry.get("args"),
            )
        )
    return ranges


def _duration(value: Any, event: _Range, findings: Findings) -> int:
    """A duration in µs, as the file has it, in ns; 0, and a finding, for what is none or cannot be."""
    us, code = microseconds(value), None
    ns = None if us is None else nanoseconds(us)
    if us is None:
        code = "no-duration"
    elif us >= LARGEST_US or (ns is not None and ns > LONGEST):
        code = "absurd-duration"
    elif ns is None or ns < 0:
        code = "negative-duration"
    if code is not None:
        findings.add(code, f"event {event.index}, {event.name[:80]!r}")
        event.wrong = True
        return 0
    return ns or 0


def _pair(marks: list[_Range], phases: list[str | None], findings: Findings) -> list[_Range]:
    """The ranges of begins and ends; a begin without an end lasts 0 ns.

    An end belongs to the last open start of its thread that has its name, or to the last one if it has no
    name; so ranges may cross, as they may where they are written whole.  Adds to ``findings``:
    ``no-begin``, ``no-end``.
    """
    threads: dict[LaneId, _OpenBegins] = defaultdict(_OpenBegins)
    begins = []
    # Of marks at the same time the one that stands first in the file is first.
    for mark in sorted(marks, key=lambda mark: mark.start):
        thread = threads[lane_of(mark.pid, mark.tid)]
        if phases[mark.index] == "B":
            thread.open(mark)
            begins.append(mark)
            continue
        begin = thread.close(mark.name)
        if begin is None:
            findings.add("no-begin", f"entry {mark.index} of traceEvents")
            continue
        begin.dur = mark.start - begin.start
        if args := plain_args(mark.args):
            begin.args = {**plain_args(begin.args), **args}
    never_closed = {begin.index for thread in threads.values() for begin in thread.left()}
    for begin in begins:
        if begin.index in never_closed:
            findings.add("no-end", f"entry {begin.index} of traceEvents")
            begin.wrong = True
    return begins


class _OpenBegins:
    """The begins of one thread that have no end yet."""

    def __init__(self) -> None:
        self._all: list[_Range] = []
        self._named: dict[str, list[_Range]] = defaultdict(list)
        self._closed: set[int] = set()
        """indices of closed begins that are still in ``_all``"""

    def open(self, begin: _Range) -> None:
        self._all.append(begin)
        self._named[begin.name].append(begin)

    def close(self, name: str) -> _Range | None:
        """The begin that an end of this name closes; None if there is none."""
        while self._all and self._all[-1].index in self._closed:
            self._closed.discard(self._all.pop().index)
        if not self._all:
            return None
        if not name:
            begin = self._all.pop()
            self._named[begin.name].pop()
            return begin
        if not self._named[name]:
            return None
        begin = self._named[name].pop()
        self._closed.add(begin.index)
        return begin

    def left(self) -> list[_Range]:
        """The begins that were never closed."""
        return [begin for begin in self._all if begin.index not in self._closed]


def _columns(events: list[_Range], findings: Findings) -> Columns:
    """``events`` are in the file's order."""
    kind_by_category: dict[Any, int] = {}
    kinds, names, lanes = [], dict[str, int](), dict[LaneId, int]()
    lane_by_fields: dict[tuple[Any, ...], int] = {}
    name, lane, ids = [], [], []
    for event in events:
        key = event.pid if event.cat is None else (event.cat,)
        kind = kind_by_category.get(key)
        if kind is None:
            kind = kind_by_category[key] = CODE[kind_of(event.cat, event.pid)]
        kinds.append(kind)
        name.append(names.setdefault(event.name, len(names)))
        args = event.args if isinstance(event.args, Mapping) else {}
        fields: tuple[Any, ...] = (event.pid, event.tid)
        if _ON_STREAM[kind]:
            fields += (integer(args.get("stream")), integer(args.get("device")))
        number = lane_by_fields.get(fields)
        if number is None:
            number = lane_by_fields[fields] = lanes.setdefault(lane_of(*fields), len(lanes))
        lane.append(number)
        external = args.get("External id")
        ids.append(
            (
                id_of(args.get("correlation")) if _HAS_CORRELATION[kind] else NONE,
                id_of(args.get("external id") if external is None else external),
                _frame_id(args.get("Python id")) if kind == _PYTHON else NONE,
                _frame_id(args.get("Python parent id")) if kind == _PYTHON else NONE,
            )
        )
    columns = in_order(
        list(names),
        list(lanes),
        iter(
            [
                np.array([event.start for event in events], np.int64),
                np.array([event.dur for event in events], np.int64),
                np.array([event.index for event in events], np.int32),
                np.array(name, np.int32),
                np.array(kinds, np.int8),
                np.array(lane, np.int32),
                *np.array(ids, np.int64).reshape(-1, 4).T,
            ]
        ),
        findings,
    )
    columns.wrong |= np.isin(columns.index, [event.index for event in events if event.wrong])
    args_of, index_at = {event.index: event.args for event in events}, columns.index
    columns.read_args = lambda at: args_of[int(index_at[at])]
    unknown = {
        event.index: event.cat
        for event, kind in zip(events, kinds, strict=True)
        if kind == CODE[Kind.OTHER] and (event.cat or "").lower() not in NO_KIND
    }
    note_unknown(columns, unknown, findings)
    return columns


def _frame_id(value: Any) -> int:
    number = integer(value)
    return NONE if number is None or abs(number) >= 2**63 else number
