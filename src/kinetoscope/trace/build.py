"""Columns -> :class:`~kinetoscope.trace.events.Event` objects, for whoever walks from one to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinetoscope.trace.columns import KINDS, NONE
from kinetoscope.trace.events import Event
from kinetoscope.trace.records import Args

if TYPE_CHECKING:
    from kinetoscope.trace.columns import Columns


def build(columns: Columns) -> list[Event]:
    """The events, in the columns' order, nested and linked."""
    names, lanes = columns.names, columns.lanes
    events = [
        Event(names[name], KINDS[kind], start, dur, lanes[lane], Args(args), index, number)
        for name, kind, start, dur, lane, args, index, number in zip(
            columns.name.tolist(),
            columns.kind.tolist(),
            columns.start.tolist(),
            columns.dur.tolist(),
            columns.lane.tolist(),
            columns.args,
            columns.index.tolist(),
            [None if number == NONE else number for number in columns.correlation.tolist()],
            strict=True,
        )
    ]
    parent = columns.parent.tolist()
    for at in columns.nested[columns.parent[columns.nested] != NONE].tolist():
        child, outer = events[at], events[parent[at]]
        child.parent = outer
        outer.children.append(child)
    for at in (columns.launch != NONE).nonzero()[0].tolist():
        activity, call = events[at], events[columns.launch[at]]
        activity.launch = call
        call.activities.append(activity)
    for at in columns.unfinished.nonzero()[0].tolist():
        events[at].unfinished = True
    for at, op in columns.named_op.items():
        events[at].named_op = events[op]
    return events
