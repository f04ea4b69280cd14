"""How much GPU time each CPU event caused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kinetoscope.trace import Kind
from kinetoscope.trace.columns import CODE, KINDS
from kinetoscope.trace.fields import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kinetoscope.trace.columns import Columns


def device_times(columns: Columns, gpu: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """GPU time (ns) that the activities at positions ``gpu`` give to each event: own and total, (n) each.

    A GPU activity is owned by the innermost op or annotation around its launch, as in
    ``torch.autograd.profiler_util``; where nesting gives none, by the op that its External id names.
    An event's own time is of the activities that it owns, its total also of those that it holds.
    """
    launch = columns.launch[gpu]
    around = np.where(launch == NONE, NONE, columns.parent[launch])
    outside_calls = columns.innermost(columns.kind != CODE[Kind.CALL])
    at = np.where(around == NONE, NONE, outside_calls[around])
    if columns.named_op:
        loose = (at == NONE) | (columns.kind[at] == CODE[Kind.ANNOTATION])
        for n in np.flatnonzero(loose).tolist():
            at[n] = _named(columns, int(gpu[n]), int(at[n]))
    own = sums(columns.dur[gpu], at, len(columns))
    return own, columns.sum_below(own)


def in_its_like(columns: Columns, at: NDArray[np.intp]) -> NDArray[np.bool_]:
    """(len(at)) which of these CPU events lie, however deep, in another of them of their name and kind."""
    if not len(at):
        return np.zeros(0, bool)
    like = columns.name[at].astype(np.int64) * len(KINDS) + columns.kind[at]
    first, behind = columns.first[at], columns.behind[at]
    order = np.lexsort((first, like))
    # Events of the same name and kind are neighbors now, an outer event before the inner ones.  Each name and
    # kind gets its own stretch of numbers, so that its events end before those of the next begin.
    stretch = np.cumsum(np.append(0, np.diff(like[order]) != 0)) * (len(columns.nested) + 1)
    ends = np.maximum.accumulate(behind[order] + stretch)
    inside = np.zeros(len(at), bool)
    inside[order[1:]] = (first[order] + stretch)[1:] < ends[:-1]
    return inside


def op_of(columns: Columns, gpu: NDArray[np.intp]) -> NDArray[np.int32]:
    """The innermost op that each GPU activity was launched in, or NONE, as :attr:`Event.op`."""
    launch = columns.launch[gpu]
    op = np.where(launch == NONE, NONE, columns.op[launch])
    if columns.named_op:
        for n in np.flatnonzero(op == NONE).tolist():
            op[n] = _named(columns, int(gpu[n]), NONE)
    return op.astype(np.int32)


def _named(columns: Columns, activity: int, otherwise: int) -> int:
    """The op that the External id of an activity's call names, else the op that its own names."""
    by_call = columns.named_op.get(int(columns.launch[activity]))
    return columns.named_op.get(activity, otherwise) if by_call is None else by_call


def sums(values: NDArray[np.int64], group: NDArray[np.integer[Any]], groups: int) -> NDArray[np.int64]:
    """(groups) exact sums of values by the number of their group; values of the group NONE are left out.

    They are Python's integers where 64 bits might not hold them, as for three hundred events of a year each.
    """
    by_group = np.zeros(groups, np.int64 if _fits(values) else object)
    kept = group != NONE
    np.add.at(by_group, group[kept], values[kept])
    return by_group


def total(values: NDArray[np.int64]) -> int:
    """The exact sum."""
    return int(values.sum()) if _fits(values) else sum(values.tolist())


def _fits(values: NDArray[np.int64]) -> bool:
    return not len(values) or int(np.abs(values).max()) < 2**63 // len(values)
