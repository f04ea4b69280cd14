"""Which CPU event encloses which, per thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kinetoscope.trace.columns import CODE, KINDS, NONE
from kinetoscope.trace.events import Kind

if TYPE_CHECKING:
    from kinetoscope.trace.columns import Columns
    from kinetoscope.trace.findings import Findings

_OUTER_FIRST = {Kind.ANNOTATION: 0, Kind.OP: 1, Kind.CALL: 2, Kind.PYTHON: 0}
"""What lies outside where two events have the same range."""

OVERRUN = 1000
"""ns by which a child may end after its parent.

A file in whole µs has start and duration cut off separately, so that an end may be up to 1 µs late
(pytorch#101861).  Beyond that two events overlap and neither is the other's child.
"""


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
        is_op = columns.kind[at] == CODE[Kind.OP]
        outer, own, crosses = _nest(
            columns.start[at].tolist(), columns.end[at].tolist(), at.tolist(), is_op.tolist()
        )
        parent[at], op[at] = outer, own
        if crosses and not frames[inside[0]]:
            crossing += inside[crosses].tolist()
    if crossing:
        findings.add("crossing", columns.place(int(order[min(crossing)])), len(crossing))
    columns.parent, columns.nested, columns.op = parent, order, op


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
