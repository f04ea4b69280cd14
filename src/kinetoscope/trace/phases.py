"""The phases (``ph``) of the Chrome trace event format, and ranges written as a begin and an end.

Source: "Trace Event Format" (the document of Chromium's trace viewer).  Kineto writes X, i, C, M, s and
f; other programs whose traces are merged with Kineto's write B and E.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetoscope.trace.fields import lane_of
from kinetoscope.trace.records import RawEvent, plain_args

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from kinetoscope.trace.findings import Findings

POINTS = frozenset("iIRCMstfPNODvVc()")
"""Phases without a length: instants, counters, metadata, flows, samples, objects, dumps, marks.

They are no events here, and that is no finding: a trace has a flow for each launch, and an instant for each
allocation."""
ASYNCHRONOUS = frozenset("bneSTpF")
"""Phases of ranges that belong to no thread"""


@dataclass(slots=True)
class Ranges:
    """Ranges that were written as a begin (B) and an end (E)."""

    index: list[int] = field(default_factory=list)
    """of each, the place of its begin among the file's entries"""
    events: list[RawEvent] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    """ns"""
    dur: list[int] = field(default_factory=list)
    """ns; 0 for one that has no end"""


def note_left_out(phases: Sequence[Any], findings: Findings) -> None:
    """Say which entries are no events, but for :data:`POINTS`.  ``phases``: of each entry; None for none."""
    counts = Counter(phases)
    codes = {ph: "asynchronous" if ph in ASYNCHRONOUS else "unknown-phase" for ph in counts}
    for ph in counts.keys() - POINTS - {"X", "B", "E"}:
        if ph is not _NO_OBJECT:
            first = phases.index(ph)
            findings.add(codes[ph], f"entry {first} of traceEvents", counts[ph])


_NO_OBJECT = object()
"""The phase of an entry that is no object, which is another finding"""


def pair(
    places: Sequence[int],
    marks: Sequence[RawEvent],
    times: NDArray[np.int64],
    findings: Findings,
) -> Ranges:
    """The ranges of the begins and ends ``marks``, at ``times`` (ns) and ``places`` among the file's entries.

    An end belongs to the last open begin of its thread that has its name, or to the last one if it has no
    name; so ranges may cross, as they may where they are written whole.  Adds to ``findings``:
    ``no-begin``, ``no-end``.
    """
    found = Ranges()
    threads: dict[Any, _Open] = defaultdict(_Open)
    # In order of time; what stands first in the file of those at one time is first.
    for at in np.argsort(times, kind="stable").tolist():
        mark = marks[at]
        thread = threads[lane_of(mark.pid, mark.tid)]
        if mark.ph == "B":
            thread.begin(len(found.events), mark.name)
            found.index.append(places[at])
            found.events.append(mark)
            found.start.append(int(times[at]))
            found.dur.append(0)
            continue
        number = thread.end(mark.name)
        if number is None:
            findings.add("no-begin", f"entry {places[at]} of traceEvents")
            continue
        found.dur[number] = int(times[at]) - found.start[number]
        if said := plain_args(mark.args):
            found.events[number].args = {**plain_args(found.events[number].args), **said}
    for number in sorted(number for thread in threads.values() for number in thread.left()):
        findings.add("no-end", f"entry {found.index[number]} of traceEvents")
    return found


class _Open:
    """The begins of one thread that have no end yet."""

    def __init__(self) -> None:
        self._all: list[tuple[int, str]] = []
        self._named: dict[str, list[int]] = defaultdict(list)
        self._ended: set[int] = set()

    def begin(self, number: int, name: str) -> None:
        self._all.append((number, name))
        self._named[name].append(number)

    def end(self, name: str) -> int | None:
        """The begin that ends; None where there is none."""
        while self._all and self._all[-1][0] in self._ended:
            self._ended.discard(self._all.pop()[0])
        if not self._all:
            return None
        if not name:
            number, name = self._all.pop()
            self._named[name].pop()
            return number
        if not self._named[name]:
            return None
        number = self._named[name].pop()
        self._ended.add(number)
        return number

    def left(self) -> list[int]:
        """Those that were never ended."""
        return [number for number, _ in self._all if number not in self._ended]


def phases_of(raw: Sequence[Any], findings: Findings) -> list[Any]:
    """The phase of each entry; one that is no object has none, and is a finding."""
    if not raw or isinstance(raw[0], RawEvent):
        return [event.ph for event in raw]
    phases: list[Any] = []
    for n, entry in enumerate(raw):
        if isinstance(entry, dict):
            ph = entry.get("ph")
            phases.append(ph if isinstance(ph, str) else None)
        else:
            findings.add("no-object", f"entry {n} of traceEvents")
            phases.append(_NO_OBJECT)
    return phases


def records(raw: Sequence[Any], places: Sequence[int], as_id: Callable[[Any], int | str]) -> list[RawEvent]:
    """The entries at ``places``: records as they are, dictionaries made into records."""
    if not raw or isinstance(raw[0], RawEvent):
        return [raw[n] for n in places]
    found = []
    for n in places:
        entry = raw[n]
        cat = entry.get("cat")
        found.append(
            RawEvent(
                entry["ph"],
                None if cat is None else str(cat),
                str(entry.get("name", "")),
                as_id(entry.get("pid", 0)),
                as_id(entry.get("tid", 0)),
                entry.get("ts"),
                entry.get("dur"),
                entry.get("args"),
            )
        )
    return found
