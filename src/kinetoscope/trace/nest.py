"""Which CPU event encloses which, per thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kinetoscope.trace.columns import CODE, KINDS, NONE
from kinetoscope.trace.events import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kinetoscope.trace.columns import Columns
    from kinetoscope.trace.findings import Findings

_OUTER_FIRST = {Kind.ANNOTATION: 0, Kind.OP: 1, Kind.CALL: 2, Kind.PYTHON: 0}
"""What lies outside where two events have the same range."""

OVERRUN = 1000
"""ns by which a child may end after its parent.

A file in whole µs has start and duration cut off separately, so that an end may be up to 1 µs late
(pytorch#101861).  Beyond that two events overlap and neither is the other's child.
"""


_FEW = 100
"""Events of a thread that are sooner taken one by one"""
_MOST_ROUNDS, _MOST_LOOKS = 200, 16
"""Real threads take up to 50 rounds, and 4 to 9 looks an event"""


def nest(columns: Columns, findings: Findings) -> None:
    """Set ``parent`` of annotations, ops and calls, and apart from them of Python frames; and ``op``.

    Frames are kept apart because C-call frames that are never closed would swallow the ops after them
    (pytorch#193440).  ``findings``: ops, annotations and calls that overlap and neither holds the other.
    """
    ranks = np.array([_OUTER_FIRST.get(kind, NONE) for kind in KINDS], np.int8)
    rank = ranks[columns.kind]
    there = np.flatnonzero(rank != NONE)
    order = there[np.lexsort((columns.index[there], rank[there], -columns.dur[there], columns.start[there]))]
    frames = columns.kind[order] == CODE[Kind.PYTHON]
    thread = columns.lane[order] * 2 + frames
    by_thread = np.argsort(thread, kind="stable")
    bounds = np.flatnonzero(np.diff(thread[by_thread])) + 1
    parent, op = np.full(len(columns), NONE, np.int32), np.full(len(columns), NONE, np.int32)
    crossing: list[int] = []
    for inside in np.split(by_thread, bounds) if len(order) else ():
        at = order[inside]
        start, end, is_op = columns.start[at], columns.ends(at), columns.kind[at] == CODE[Kind.OP]
        outer = _outer(start, end) if len(at) > _FEW else None
        if outer is not None:
            parent[at], op[at] = _at(at, outer), _at(at, _innermost(outer, is_op))
            continue
        parent[at], op[at], crosses = _nest(start.tolist(), end.tolist(), at.tolist(), is_op.tolist())
        if crosses and not frames[inside[0]]:
            crossing += inside[crosses].tolist()
    if crossing:
        findings.add("crossing", columns.place(int(order[min(crossing)])), len(crossing))
    columns.parent, columns.nested, columns.op = parent, order, op


def _at(at: NDArray[np.intp], which: NDArray[np.intp]) -> NDArray[np.intp]:
    """``at[which]``, and NONE where that is NONE."""
    return np.where(which == NONE, NONE, at[which])


def _outer(start: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.intp] | None:
    """(n) for the events of a thread, in order, which of them each one's parent is, or NONE.

    None where two overlap and neither holds the other, and where it would take long to find out.

    The parent is the last event before that has not ended.  All look at the one before first; whoever finds
    that one ended looks on from where *that* one looks now: what lies between ended earlier still.  So the
    distance doubles, and a row of n siblings takes log n rounds.  Out of m nested ones that end together the
    next takes m.
    """
    outer = np.arange(-1, len(start) - 1)
    looking = np.arange(1, len(start))
    rounds, looks = 0, 0
    while len(looking):
        rounds, looks = rounds + 1, looks + len(looking)
        if rounds > _MOST_ROUNDS or looks > _MOST_LOOKS * len(start):
            return None
        at = outer[looking]
        begin, until = start[looking], end[at]
        # a zero-length event at the very end is inside; one that lasts has come after it
        ended = (begin > until) | ((begin == until) & (end[looking] != until))
        looking = looking[ended]
        outer[looking] = outer[at[ended]]
        looking = looking[outer[looking] != NONE]
    inside = np.flatnonzero(outer != NONE)
    holds = end[inside] <= end[outer[inside]] + OVERRUN
    return outer if holds.all() else None


def _innermost(outer: NDArray[np.intp], wanted: NDArray[np.bool_]) -> NDArray[np.intp]:
    """(n) the innermost that is ``wanted`` of each event and those around it, or NONE."""
    found = np.where(wanted, np.arange(len(outer)), outer)
    looking = np.flatnonzero(~wanted & (outer != NONE))
    while len(looking):
        at = found[looking]
        looking, at = looking[~wanted[at]], at[~wanted[at]]
        found[looking] = found[at]
        looking = looking[found[looking] != NONE]
    return found


def _nest(
    start: list[int], end: list[int], at: list[int], is_op: list[bool]
) -> tuple[list[int], list[int], list[int]]:
    """For the n events of a thread, in order: their parents, their ops, and which cross others (n or more).

    ``at``: the positions that parents and ops are given as.  An event is among those that cross once for
    each that it overlaps.
    """
    parent, op, crossing = [NONE] * len(at), [NONE] * len(at), []
    # those that are open, outermost first
    ends: list[int] = []
    outers: list[int] = []
    for n, begin in enumerate(start):
        until = end[n]
        own = NONE
        while ends:
            outer_end = ends[-1]
            if begin < outer_end:
                if until <= outer_end + OVERRUN:
                    outer = outers[-1]
                    parent[n], own = at[outer], op[outer]
                    break
                crossing.append(n)
            elif begin == outer_end == until:
                # a zero-length event at the very end is inside; one that lasts has come after it
                outer = outers[-1]
                parent[n], own = at[outer], op[outer]
                break
            ends.pop()
            outers.pop()
        op[n] = at[n] if is_op[n] else own
        ends.append(until)
        outers.append(n)
    return parent, op, crossing
