"""Python frames that were still open when the profiler stopped, and were not.

A call into C whose return the profiler missed is written as ending when profiling ends
(pytorch/pytorch#193440): every later frame would seem to lie inside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kinetoscope.trace.columns import NONE, by_lane
from kinetoscope.trace.events import Kind
from kinetoscope.trace.fields import integer
from kinetoscope.trace.records import plain_args

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kinetoscope.trace.columns import Columns
    from kinetoscope.trace.findings import Findings


def cut_unfinished(columns: Columns, findings: Findings) -> None:
    """End a frame where the next one begins that is not its child by ``Python parent id``, and mark it.

    Only frames that all end at one moment, the last of their thread, are looked at.
    """
    frames = columns.where(Kind.PYTHON)
    for there in by_lane(columns, frames):
        thread = frames[there]
        ends = columns.ends(thread)
        _cut(columns, thread[ends == ends.max()])
    marked = np.flatnonzero(columns.unfinished)
    if len(marked):
        findings.add("unfinished", columns.place(int(marked[0])), len(marked))


def _ids(columns: Columns, frames: NDArray[np.intp]) -> tuple[list[int | None], list[int | None]]:
    """The ids of frames, and of those that called them; None where there is none."""
    if columns.frame is not None and columns.frame_parent is not None:
        known = (columns.frame[frames].tolist(), columns.frame_parent[frames].tolist())
        ids, parents = ([None if number == NONE else number for number in column] for column in known)
        return ids, parents
    args = [plain_args(columns.args[at]) for at in frames.tolist()]
    ids, parents = ([integer(found.get(key)) for found in args] for key in ("Python id", "Python parent id"))
    return ids, parents


def _cut(columns: Columns, last: NDArray[np.intp]) -> None:
    """``last``: the frames of a thread that end with it, in order of start."""
    if len(last) < 2:
        return
    ids, parents = _ids(columns, last)
    known = {number for number in ids if number is not None}
    open_frames: list[int] = []
    for n, (parent, number) in enumerate(zip(parents, ids, strict=True)):
        if number is None or (parent is not None and parent not in known):
            continue
        sibling = None
        while open_frames and ids[open_frames[-1]] != parent:
            sibling = open_frames.pop()
            at = last[sibling]
            columns.dur[at] = columns.start[last[n]] - columns.start[at]
            columns.unfinished[at] = True
        if sibling is not None and parents[sibling] == parent:
            # it ends when those do that did not end then
            columns.unfinished[last[n]] = True
        open_frames.append(n)
