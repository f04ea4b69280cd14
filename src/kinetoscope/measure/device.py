"""How much GPU time each CPU event caused."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetoscope.trace import Kind
from kinetoscope.trace.columns import CODE, KINDS, NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kinetoscope.trace.columns import Columns


def device_times(columns: Columns, gpu: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """GPU time (ns) that the activities at positions ``gpu`` give to each event: own and total, (n) each.

    A GPU activity is owned by the innermost op or annotation around its launch, as in
    ``torch.autograd.profiler_util``; where nesting gives none, by the op that its External id names.
    An event's own time is of the activities that it owns, its total also of those that it holds.
    """
    call = np.where(columns.launch[gpu] == NONE, NONE, columns.parent[columns.launch[gpu]])
    at = call
    for _ in range(_LEVELS):
        inside = (at != NONE) & (columns.kind[at] == CODE[Kind.CALL])
        if not inside.any():
            break
        at = np.where(inside, columns.parent[at], at)
    else:
        at = np.where(at == NONE, NONE, _outside_calls(columns)[at])
    if columns.named_op:
        loose = (at == NONE) | (columns.kind[at] == CODE[Kind.ANNOTATION])
        for n in np.flatnonzero(loose).tolist():
            at[n] = _named(columns, int(gpu[n]), int(at[n]))
    time = columns.dur[gpu]
    own = sums(time, at, len(columns))
    total = np.zeros(len(columns), np.int64)
    for _ in range(_LEVELS):
        there = at != NONE
        if not there.any():
            return own, total
        at, time = at[there], time[there]
        total = total + sums(time, at, len(columns))
        at = columns.parent[at]
    return own, total + _handed_up(columns, sums(time, at, len(columns)))


_LEVELS = 64
"""To which depth all events are looked at together, level by level; what is deeper goes one by one, since
a trace may be as deep as it is long"""


def _outside_calls(columns: Columns) -> NDArray[np.int64]:
    """(n) the event itself, or for a call the innermost event around it that is none; NONE without one."""
    found, parent = list(range(len(columns))), columns.parent.tolist()
    is_call = (columns.kind == CODE[Kind.CALL]).tolist()
    for at in columns.nested.tolist():
        if is_call[at]:
            found[at] = NONE if parent[at] == NONE else found[parent[at]]
    return np.array(found, np.int64)


def _handed_up(columns: Columns, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n) the sum of ``values`` over each event and all below it."""
    total, parent = values.tolist(), columns.parent.tolist()
    for at in reversed(columns.nested.tolist()):
        if total[at] and parent[at] != NONE:
            total[parent[at]] += total[at]
    return np.array(total, values.dtype)


def in_its_like(columns: Columns, at: NDArray[np.intp]) -> NDArray[np.bool_]:
    """(len(at)) which of these CPU events lie, however deep, in another of them of their name and kind."""
    found, asked = np.zeros(len(columns), bool), np.zeros(len(columns), bool)
    asked[at] = True
    looking, around = at, columns.parent[at]
    for _ in range(_LEVELS):
        there = around != NONE
        looking, around = looking[there], around[there]
        if not len(looking):
            return found[at]
        same = asked[around] & (columns.name[looking] == columns.name[around])
        same &= columns.kind[looking] == columns.kind[around]
        found[looking[same]] = True
        looking, around = looking[~same], columns.parent[around[~same]]
    return _in_its_like_one_by_one(columns, asked)[at]


def _in_its_like_one_by_one(columns: Columns, asked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(n) the same of all events, of those around them only what is ``asked``."""
    found = np.zeros(len(columns), bool)
    parent, lane = columns.parent.tolist(), columns.lane.tolist()
    like = (columns.name.astype(np.int64) * len(KINDS) + columns.kind).tolist()
    open_on: dict[int, list[int]] = defaultdict(list)
    count_on: dict[int, Counter[int]] = defaultdict(Counter)
    # An outer one comes before what is in it; those that do not nest in each other are apart by kind.
    is_frame = (columns.kind == CODE[Kind.PYTHON]).tolist()
    for event in columns.nested.tolist():
        thread = 2 * lane[event] + is_frame[event]
        opened, count = open_on[thread], count_on[thread]
        while opened and opened[-1] != parent[event]:
            gone = opened.pop()
            count[like[gone]] -= int(asked[gone])
        found[event] = count[like[event]] > 0
        opened.append(event)
        count[like[event]] += int(asked[event])
    return found


def op_of(columns: Columns, gpu: NDArray[np.intp]) -> NDArray[np.int32]:
    """The innermost op that each GPU activity was launched in, or NONE, as :attr:`Event.op`."""
    launch = columns.launch[gpu]
    op = np.where(launch == NONE, NONE, columns.op[launch])
    if columns.named_op:
        for n in np.flatnonzero(op == NONE).tolist():
            op[n] = _named(columns, int(gpu[n]), NONE)
    return op.astype(np.int32)


def _named(columns: Columns, activity: int, otherwise: int) -> int:
    """The op that the External id of an activity's call names, or its own."""
    found = columns.named_op.get(int(columns.launch[activity]))
    return columns.named_op.get(activity, otherwise) if found is None else found


def sums(values: NDArray[np.int64], group: NDArray[np.integer[Any]], groups: int) -> NDArray[np.int64]:
    """(groups) exact sums of values by the number of their group; NONE is none.

    Of Python's integers where those of 64 bits might not hold them: three hundred events of a year.
    """
    found = np.zeros(groups, np.int64 if _fits(values) else object)
    kept = group != NONE
    np.add.at(found, group[kept], values[kept])
    return found


def total(values: NDArray[np.int64]) -> int:
    """The exact sum."""
    return int(values.sum()) if _fits(values) else sum(values.tolist())


def _fits(values: NDArray[np.int64]) -> bool:
    return not len(values) or int(np.abs(values).max()) < 2**63 // len(values)
