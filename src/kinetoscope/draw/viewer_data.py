"""A whole trace as data for the viewer, the timeline that a reader walks through.

The scripts are classic ones that call ``kinetoscope.data`` and ``kinetoscope.raw``.  A page that was opened
from a disk can load such a script, but nothing else.

The object given to ``kinetoscope.data``, of version 2::

    version, machine, name
    start, end   ns at which the first event begins and the last one ends
    kinds        the palette's keys that occur, in the legend's order; kindLabels: what it calls each
    names        names of events, each once: the name, if it is always written in full; otherwise a list of
                 the name and of the forms it may be written in at a bar, the fullest first
    categories   what the profiler calls events (values of trace.Kind), each once
    lanes        label, brief (for narrow screens), gpu, rows; in the order of the picture
    steps        number, start, end (ns; with what the GPU still had to do), cpuEnd
    details      lists of [label, value], each once
    events       columns of equal length, sorted by start, an event before what is in it:
                 index (among the file's events), name, kind, category, lane, row, start (ns since the
                 start of the event before), dur (ns), parent and launch (places in these columns),
                 detail (into details); -1 where there is none

All text from the trace is clean (:func:`~kinetoscope.draw.names.clean`), so the viewer writes it as it is.
Everything but Python frames, the profiler's own work, and what lies too deep is in the data, on the row where
the static figure has it.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, TypeVar

from kinetoscope.draw.describe import facts
from kinetoscope.draw.layout import drawable, lane_rows
from kinetoscope.draw.names import clean, forms
from kinetoscope.draw.palette import KIND_LABELS, kind_class
from kinetoscope.measure.launch_queue import Queues
from kinetoscope.trace.nest import OUTER_FIRST

if TYPE_CHECKING:
    from kinetoscope.draw.describe import Facts
    from kinetoscope.trace import Event, Trace

VERSION = 2

T = TypeVar("T")


def data_script(trace: Trace, *, machine: str, name: str) -> str:
    """The script with the whole of ``trace``; the same trace gives the same text.

    It may stand in a file or between ``<script>`` tags, because no event's name can end it.
    """
    key = page_json(f"{machine}/{name}")
    return f"kinetoscope.data({key}, {page_json(trace_data(trace, machine=machine, name=name))});\n"


def raw_script(data: bytes, *, machine: str, name: str) -> str:
    """The script with a trace's file as it was recorded (gzip bytes, in base64)."""
    return f'kinetoscope.raw({page_json(f"{machine}/{name}")}, "{base64.b64encode(data).decode("ascii")}");\n'


def trace_data(trace: Trace, *, machine: str, name: str) -> dict[str, Any]:
    """What the data script holds, as this module's documentation lists it."""
    lanes = lane_rows(trace, drawable(trace))
    places = {
        id(event): (number, row)
        for number, lane in enumerate(lanes)
        for event, row in zip(lane.events, lane.rows, strict=True)
    }
    events = _outer_first([event for lane in lanes for event in lane.events])
    positions = {id(event): position for position, event in enumerate(events)}
    kinds = [kind_class(event) for event in events]
    present = set(kinds)
    labels = {kind: label for kind, label in KIND_LABELS.items() if kind in present}
    kind_ids = {kind: number for number, kind in enumerate(labels)}
    # A kernel and a range may have one name, but are not written alike.
    names, name_ids = _numbered([(clean(e.name), *forms(e.name, e.kind)) for e in events])
    categories, category_ids = _numbered([event.kind.value for event in events])
    depths = {id(trace.events[at]): depth for at, depth in Queues(trace.columns).depth.items()}
    details, detail_ids = _numbered([_details(event, trace, depths.get(id(event), 0)) for event in events])
    starts = [event.start for event in events]
    return {
        "version": VERSION,
        "machine": machine,
        "name": name,
        "start": min(starts, default=0),
        "end": max((event.end for event in events), default=0),
        "kinds": list(labels),
        "kindLabels": labels,
        "lanes": [
            {
                "label": clean(lane.label),
                "brief": clean(lane.brief),
                "gpu": lane.id.on_gpu,
                "rows": lane.count,
            }
            for lane in lanes
        ],
        "steps": [
            {"number": step.number, "start": step.start, "end": step.end, "cpuEnd": step.event.end}
            for step in trace.steps
        ],
        "events": {
            "index": [event.index for event in events],
            "name": name_ids,
            "kind": [kind_ids[kind] for kind in kinds],
            "category": category_ids,
            "lane": [places[id(event)][0] for event in events],
            "row": [places[id(event)][1] for event in events],
            "start": [start - before for start, before in zip(starts, [0, *starts], strict=False)],
            "dur": [event.dur for event in events],
            "parent": [positions.get(id(event.parent), -1) for event in events],
            "launch": [positions.get(id(event.launch), -1) for event in events],
            "detail": detail_ids,
        },
        "names": [name[0] if set(name) == {name[0]} else list(name) for name in names],
        "categories": categories,
        "details": details,
    }


def _details(event: Event, trace: Trace, ahead: int) -> Facts:
    """What is known about the event besides its name and times; ``ahead`` of it in its stream's queue."""
    details = facts(event, trace.device_names)
    if event.kind.on_gpu and event.launch is not None:
        details = (*details, ("queue", f"{ahead or 'nothing'} ahead of it when it was launched"))
    return details


def _numbered(values: list[T]) -> tuple[list[T], list[int]]:
    """The distinct values in order of appearance, and the place of each value among them; -1 for ``()``."""
    places: dict[T, int] = {}
    numbers = [-1 if value == () else places.setdefault(value, len(places)) for value in values]
    return list(places), numbers


def _outer_first(events: list[Event]) -> list[Event]:
    """In order of start.  Of events that begin together, the one that holds another comes before it."""
    return sorted(
        events, key=lambda event: (event.start, -event.dur, OUTER_FIRST.get(event.kind, 3), event.index)
    )


def page_json(value: object) -> str:
    """Write JSON that can stand in a page's script element: it holds no ``</script>`` and no ``<!--``."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
