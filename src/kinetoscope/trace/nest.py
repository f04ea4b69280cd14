"""Which CPU event encloses which, per thread."""

from __future__ import annotations

from collections import defaultdict
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
    thread = (columns.lane[order] * 2 + frames).tolist()
    start, end = columns.start[order].tolist(), columns.end[order].tolist()
    is_op = (columns.kind[order] == CODE[Kind.OP]).tolist()
    parent, op = [NONE] * len(columns), [NONE] * len(columns)
    # (position, end, innermost op) of the events that are open, outermost first
    stacks: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for n, at in enumerate(order.tolist()):
        stack = stacks[thread[n]]
        begin, until, own = start[n], end[n], NONE
        while stack:
            outer, outer_end, own = stack[-1]
            # a zero-length event at the very end is inside; one that lasts has come after it
            if (until <= outer_end + OVERRUN and begin < outer_end) or (begin == outer_end == until):
                parent[at] = outer
                break
            stack.pop()
            own = NONE
            if begin < outer_end and thread[n] % 2 == 0:
                findings.add("crossing", columns.place(at))
        if is_op[n]:
            own = at
        op[at] = own
        stack.append((at, until, own))
    columns.parent = np.array(parent, np.int32)
    columns.nested = order
    columns.op = np.array(op, np.int32)
