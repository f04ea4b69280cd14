"""Which CPU event encloses which, per thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kinetoscope.trace.categories import Kind
from kinetoscope.trace.columns import CODE, KINDS, by_lane, groups
from kinetoscope.trace.fields import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kinetoscope.trace.columns import Columns
    from kinetoscope.trace.findings import Findings

OVERRUN = 1000
"""ns by which a child may end after its parent.

A file in whole µs has start and duration cut off separately, so that an end may be up to 1 µs late
(pytorch#101861).  Two events that overlap by more are siblings.
"""

OUTER_FIRST = {Kind.ANNOTATION: 0, Kind.OP: 1, Kind.CALL: 2, Kind.PYTHON: 0}
"""The kinds that nest; of two events of the same range the one with the lower number is outside."""

_FEW = 100
"""Threads with at most so many events are faster nested one by one."""
_MOST_ROUNDS, _MOST_LOOKS = 200, 16
"""Real threads take up to 50 rounds, and 4 to 9 looks per event."""


def cut_unfinished(columns: Columns, findings: Findings) -> None:
    """End Python frames whose return the profiler missed where the next frame begins, and mark them.

    A call into C whose return was missed is written as ending when profiling ends (pytorch/pytorch#193440),
    so that every later frame would seem to lie inside it.  A frame is cut where the next frame begins that is
    not its child by ``Python parent id``.  Only frames that all end at the last moment of their thread are
    looked at.
    """
    frames = columns.where(Kind.PYTHON)
    for on_thread in by_lane(columns, frames):
        thread = frames[on_thread]
        ends = columns.ends(thread)
        _cut(columns, thread[ends == ends.max()])
    marked = np.flatnonzero(columns.unfinished)
    if len(marked):
        findings.add("unfinished", columns.place(int(marked[0])), len(marked))


def _cut(columns: Columns, last: NDArray[np.intp]) -> None:
    """``last``: the frames of a thread that end with it, in order of start."""
    if len(last) < 2:
        return
    ids, parents = columns.frame[last].tolist(), columns.frame_parent[last].tolist()
    known = {NONE, *ids}
    open_frames: list[int] = []
    for n, (parent, number) in enumerate(zip(parents, ids, strict=True)):
        if number == NONE or parent not in known:
            continue
        sibling = None
        while open_frames and ids[open_frames[-1]] != parent:
            sibling = open_frames.pop()
            at = last[sibling]
            columns.dur[at] = columns.start[last[n]] - columns.start[at]
            columns.unfinished[at] = True
        if sibling is not None and parents[sibling] == parent:
            # It ends with the frames whose end was missed.
            columns.unfinished[last[n]] = True
        open_frames.append(n)


def nest(columns: Columns, findings: Findings) -> None:
    """Set ``parent`` of annotations, ops and calls, and apart from them of Python frames.

    Also sets what follows from it: ``nested``, ``first``, ``behind`` and ``op``.  Frames are kept apart
    because calls into C that are never closed would swallow the ops after them (pytorch#193440).  Adds to
    ``findings``: ``crossing``, for ops, annotations and calls.

    An op returns before the op around it does, so one that crosses another is marked as ``wrong``, unless
    that one is wrong itself.  No real trace that we have seen has such ops.  Annotations and calls that
    cross do occur: asynchronous ranges of ``hccl`` end on another thread, and fibers share a thread.
    """
    ranks = np.array([OUTER_FIRST.get(kind, NONE) for kind in KINDS], np.int8)
    rank = ranks[columns.kind]
    nests = np.flatnonzero((rank != NONE) & ~columns.lost)
    order = nests[np.lexsort((columns.index[nests], rank[nests], -columns.dur[nests], columns.start[nests]))]
    is_frame = columns.kind[order] == CODE[Kind.PYTHON]
    threads = groups(columns.lane[order] * 2 + is_frame)
    columns.parent = np.full(len(columns), NONE, np.int32)
    crossing: list[tuple[int, int]] = []
    """pairs of positions: the event that crosses, and the one that it crosses"""
    for thread in threads:
        at = order[thread]
        start, end = columns.start[at], columns.ends(at)
        outer = parents_at_once(start, end) if len(at) > _FEW else None
        if outer is None:
            in_turn, crosses = parents_in_turn(start.tolist(), end.tolist())
            outer = np.array(in_turn, np.intp)
            if crosses and not is_frame[thread[0]]:
                crossing += [tuple(pair) for pair in at[np.array(crosses)].tolist()]
        columns.parent[at] = np.where(outer == NONE, NONE, at[outer])
    is_op = columns.kind == CODE[Kind.OP]
    for late, early in crossing:
        columns.wrong[late] |= is_op[late] and is_op[early] and not columns.wrong[early]
    if crossing:
        # The first that is wrong; if none is, the first.
        culprit = min((not columns.wrong[late], late) for late, _ in crossing)[1]
        findings.add("crossing", columns.place(culprit), len(crossing))
    columns.nested = order[np.concatenate(threads)].astype(np.int32) if threads else columns.nested
    _set_ranges(columns)
    columns.op = columns.innermost(is_op)


def _set_ranges(columns: Columns) -> None:
    """Set ``first`` and ``behind``.

    What is inside an event follows it in ``nested`` without a gap, up to the last child of its last child and
    so on.  Every event looks at its last child first, and then where that one looks: the distance doubles.
    """
    count = len(columns.nested)
    columns.first, columns.behind = np.zeros((2, len(columns)), np.int32)
    columns.first[columns.nested] = np.arange(count)
    parent = columns.parent[columns.nested]
    inside = np.flatnonzero(parent != NONE)
    last = np.arange(count, dtype=np.int32)
    last[columns.first[parent[inside]]] = inside  # of several children the assignment that stays is the last
    looking = np.flatnonzero(last != np.arange(count))
    while len(looking):
        further = last[last[looking]]
        is_further = further != last[looking]
        looking = looking[is_further]
        last[looking] = further[is_further]
    columns.behind[columns.nested] = last + 1


def parents_at_once(start: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.intp] | None:
    """(n) the parent (0 for the first event) of each event of a thread, or NONE; they are given in order.

    None where two overlap and neither holds the other, and where it would take long to find out.

    The parent is the last event before that has not ended.  Every event looks at the one before it first.
    If that one has ended, it looks on from where *that* one looks now: what lies between ended earlier
    still.  So the distance doubles, and a row of n siblings takes log n rounds.  After m nested events that
    end together, the next event takes m rounds.
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
        # A zero-length event at the very end is inside; an event with a length comes after.
        ended = (begin > until) | ((begin == until) & (end[looking] != until))
        looking = looking[ended]
        outer[looking] = outer[at[ended]]
        looking = looking[outer[looking] != NONE]
    inside = np.flatnonzero(outer != NONE)
    holds = end[inside] <= end[outer[inside]] + OVERRUN
    return outer if holds.all() else None


def parents_in_turn(start: list[int], end: list[int]) -> tuple[list[int], list[tuple[int, int]]]:
    """The parents of the events of a thread as :func:`parents_at_once`, and which event crosses which."""
    parent, crossing = [NONE] * len(start), []
    # the open events, outermost first
    open_events: list[int] = []
    for n, (begin, until) in enumerate(zip(start, end, strict=True)):
        while open_events:
            outer_end = end[open_events[-1]]
            if begin < outer_end:
                if until <= outer_end + OVERRUN:
                    parent[n] = open_events[-1]
                    break
                crossing.append((n, open_events[-1]))
            elif begin == outer_end == until:
                # A zero-length event at the very end is inside; an event with a length comes after.
                parent[n] = open_events[-1]
                break
            open_events.pop()
        open_events.append(n)
    return parent, crossing
