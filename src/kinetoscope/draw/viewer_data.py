"""A whole trace as data for a timeline that a reader walks into.

The scripts are classic ones that call ``kinetoscope.data`` and ``kinetoscope.raw``, so that a page opened
from a disk can load them too: a browser lets it add a script, and nothing else.

The object given to ``kinetoscope.data``, of version 1::

    version, machine, name
    start, end   ns at which the first event begins and the last one ends
    kinds        the palette's keys that occur, in the legend's order; kindLabels: what it calls each
    names        names of events, each once
    categories   what the profiler calls events (values of trace.Kind), each once
    lanes        label, brief (for narrow screens), gpu, rows; in the order of the picture
    steps        number, start, end (ns; with what the GPU still had to do), cpuEnd
    details      lists of [label, value], each once
    events       columns of equal length, sorted by start, an event before what is in it:
                 index (among the file's events), name, kind, category, lane, row, start (ns since the
                 start of the event before), dur (ns), parent and launch (places in these columns),
                 detail (into details); -1 where there is none

Everything but Python frames and the profiler's own work is in it, on the row where the static figure has it.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from kinetoscope.draw.describe import facts
from kinetoscope.draw.layout import drawable, lane_rows
from kinetoscope.draw.names import clean
from kinetoscope.draw.palette import KIND_LABELS, kind_class
from kinetoscope.measure.launch_queue import Queues

if TYPE_CHECKING:
    from kinetoscope.draw.describe import Facts
    from kinetoscope.trace.events import Event, Trace

VERSION = 1


def data_script(trace: Trace, *, machine: str, name: str) -> str:
    """The script with the whole of ``trace``; the same trace gives the same text.

    It may stand in a file or between ``<script>`` tags: no name of an event can end it.
    """
    key = _js(f"{machine}/{name}")
    return f"kinetoscope.data({key}, {_js(walk_data(trace, machine=machine, name=name))});\n"


def raw_script(data: bytes, *, machine: str, name: str) -> str:
    """The script with a trace's file as it was recorded (gzip bytes, in base64)."""
    return f'kinetoscope.raw({_js(f"{machine}/{name}")}, "{base64.b64encode(data).decode("ascii")}");\n'


def walk_data(trace: Trace, *, machine: str, name: str) -> dict[str, Any]:
    """What the data script holds, as this module's documentation lists it."""
    drawn = drawable(trace)
    events = _outer_first(drawn)
    lanes = lane_rows(trace, drawn)
    steps = [{"number": s.number, "start": s.start, "end": s.end, "cpuEnd": s.event.end} for s in trace.steps]
    present = {kind_class(event) for event in events}
    labels = {kind: label for kind, label in KIND_LABELS.items() if kind in present}
    columns = _Columns(trace, events, list(labels))
    for number, lane in enumerate(lanes):
        for event, row in zip(lane.events, lane.rows, strict=True):
            columns.place[id(event)] = (number, row)
    return {
        "version": VERSION,
        "machine": machine,
        "name": name,
        "start": min((event.start for event in events), default=0),
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
        "steps": steps,
        "events": columns.made(),
        # after the columns, which fill them
        "names": list(columns.names),
        "categories": list(columns.categories),
        "details": list(columns.details),
    }


class _Columns:
    """The events as columns, and the tables of what they have in common."""

    def __init__(self, trace: Trace, events: list[Event], kinds: list[str]) -> None:
        self.events = events
        self.kinds = {kind: number for number, kind in enumerate(kinds)}
        self.names: dict[str, int] = {}
        self.categories: dict[str, int] = {}
        self.details: dict[Facts, int] = {}
        self.place: dict[int, tuple[int, int]] = {}
        """lane and row by the id of an event"""
        self._devices = trace.device_names
        self._queues = Queues(trace.gpu)
        self._at = {id(event): number for number, event in enumerate(events)}

    def made(self) -> dict[str, list[int]]:
        events, before = self.events, [0, *(event.start for event in self.events)]
        places = [self.place[id(event)] for event in events]
        return {
            "index": [event.index for event in events],
            "name": [_number(self.names, clean(event.name)) for event in events],
            "kind": [self.kinds[kind_class(event)] for event in events],
            "category": [_number(self.categories, event.kind.value) for event in events],
            "lane": [lane for lane, _ in places],
            "row": [row for _, row in places],
            "start": [event.start - before[number] for number, event in enumerate(events)],
            "dur": [event.dur for event in events],
            "parent": [self._position(event.parent) for event in events],
            "launch": [self._position(event.launch) for event in events],
            "detail": [self._detail(event) for event in events],
        }

    def _position(self, event: Event | None) -> int:
        return -1 if event is None else self._at.get(id(event), -1)

    def _detail(self, event: Event) -> int:
        found = facts(event, self._devices)
        if event.kind.on_gpu and event.launch is not None:
            ahead = self._queues.depth(event)
            found = (*found, ("queue", f"{ahead or 'nothing'} ahead of it when it was launched"))
        return _number(self.details, found) if found else -1


def _outer_first(events: list[Event]) -> list[Event]:
    """In order of start; of those that begin together, what holds another is before it."""
    depths: dict[int, int] = {}
    for event in events:
        above = [event]
        while above[-1].parent is not None and id(above[-1]) not in depths:
            above.append(above[-1].parent)
        depth = depths.get(id(above[-1]), 0)
        for steps, inner in enumerate(reversed(above)):
            depths[id(inner)] = depth + steps
    return sorted(events, key=lambda event: (event.start, -event.dur, depths[id(event)], event.index))


def _number(table: dict[Any, int], key: object) -> int:
    """The place of ``key`` in a table, where it is put if it is new."""
    return table.setdefault(key, len(table))


def _js(value: object) -> str:
    """A value as JavaScript that can stand in a page: no ``</script>`` and no ``<!--`` is in it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
