"""A whole trace as data for the viewer, the timeline that a reader walks through.

The scripts are classic ones that call ``kinetoscope.data`` and ``kinetoscope.raw``.  A page that was opened
from a disk can load such a script, but nothing else.

The object given to ``kinetoscope.data``, of version 3::

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
                 step (into steps), detail (into details); -1 where there is none

All text from the trace is clean (:func:`~kinetoscope.draw.names.clean`), so the viewer writes it as it is.
Everything but Python frames, the profiler's own work, and what lies too deep is in the data, on the row where
the static figure has it.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np

from kinetoscope.draw.describe import facts_of, tells_facts
from kinetoscope.draw.layout import lane_rows
from kinetoscope.draw.names import clean, forms
from kinetoscope.draw.palette import KIND_LABELS, class_of
from kinetoscope.measure.launch_queue import Queues
from kinetoscope.trace import COPIES
from kinetoscope.trace.columns import KINDS
from kinetoscope.trace.fields import NONE, plain_args
from kinetoscope.trace.nest import OUTER_FIRST

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from kinetoscope.draw.describe import Facts
    from kinetoscope.trace import Trace
    from kinetoscope.trace.columns import Columns

VERSION = 3

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
    """What the data script holds, as this module's documentation lists it; columns are arrays."""
    columns = trace.columns
    lanes = lane_rows(trace)
    drawn = np.concatenate([np.empty(0, np.intp), *(each.at for each in lanes)])
    lane, row = np.full((2, len(columns)), NONE, np.int32)
    for number, each in enumerate(lanes):
        lane[each.at], row[each.at] = number, each.rows
    at = drawn[_outer_first(columns, drawn)]
    position = np.full(len(columns) + 1, NONE, np.int32)  # one more, for what NONE points at
    position[at] = np.arange(len(at))
    # What is drawn of an event follows from its name and kind.
    pairs, pair = _numbered_at(columns.name[at].astype(np.int64) * len(KINDS) + columns.kind[at])
    known = [(columns.names[each // len(KINDS)], KINDS[each % len(KINDS)]) for each in pairs]
    classes = [class_of(kind, text) for text, kind in known]
    labels = {kind: label for kind, label in KIND_LABELS.items() if kind in classes}
    # A kernel and a range may have one name, but are not written alike.
    names, name_ids = _numbered((clean(text), *forms(text, kind)) for text, kind in known)
    categories, category_ids = _numbered(kind.value for _, kind in known)
    details, detail_ids = _details(trace, at)
    start = columns.start[at]
    step_of = np.full(len(columns), NONE, np.int32)
    for number, step in enumerate(trace.steps_at):
        step_of[columns.with_all_below(step.cpu, step.event)] = number
        step_of[step.gpu] = number
    return {
        "version": VERSION,
        "machine": machine,
        "name": name,
        "start": int(start[0]) if len(at) else 0,
        "end": int(columns.ends(at).max(initial=0)),
        "kinds": list(labels),
        "kindLabels": labels,
        "lanes": [
            {
                "label": clean(each.label),
                "brief": clean(each.brief),
                "gpu": each.id.on_gpu,
                "rows": each.count,
            }
            for each in lanes
        ],
        "steps": _steps(trace),
        "events": {
            "index": columns.index[at],
            "name": name_ids[pair],
            "kind": np.array([list(labels).index(each) for each in classes], np.int32)[pair],
            "category": category_ids[pair],
            "lane": lane[at],
            "row": row[at],
            "start": np.diff(start, prepend=0),
            "dur": columns.dur[at],
            "parent": position[columns.parent[at]],
            "launch": position[columns.launch[at]],
            "step": step_of[at],
            "detail": detail_ids,
        },
        "names": [each[0] if set(each) == {each[0]} else list(each) for each in names],
        "categories": categories,
        "details": details,
    }


def _steps(trace: Trace) -> list[dict[str, int]]:
    columns, steps = trace.columns, []
    for step in trace.steps_at:
        start, cpu_end = int(columns.start[step.event]), int(columns.ends(np.array([step.event]))[0])
        gpu = step.gpu[~columns.wrong[step.gpu]]
        end = int(columns.ends(gpu).max(initial=cpu_end))
        steps.append({"number": step.number, "start": start, "end": end, "cpuEnd": cpu_end})
    return steps


def _details(trace: Trace, at: NDArray[np.intp]) -> tuple[list[Facts], NDArray[np.intp]]:
    """What is known about the events besides their names and times, each once; and the place of each (n).

    The args are read in the file's order, and are not kept: a trace may have a million of them.
    """
    columns, depth = trace.columns, Queues(trace.columns).depth
    tells = np.flatnonzero(np.array([tells_facts(kind) for kind in KINDS])[columns.kind[at]])
    tells = tells[np.argsort(columns.index[at[tells]])]
    known: dict[tuple[object, ...], Facts] = {}
    numbers: dict[Facts, int] = {}
    place = np.full(len(at), NONE, np.int64)
    fields = (
        column[at[tells]].tolist() for column in (columns.kind, columns.lane, columns.dur, columns.launch)
    )
    events = zip(at[tells].tolist(), *fields, columns.args_in_turn(at[tells]), strict=True)
    for n, (event, code, lane, dur, launch, args) in zip(tells.tolist(), events, strict=True):
        kind = KINDS[code]
        key = (code, lane, dur if kind in COPIES else 0, _without_ids(args))
        details = known.get(key) if key[-1] is not None else None
        if details is None:
            details = facts_of(kind, columns.lanes[lane], dur, plain_args(args), trace.device_names)
            if len(known) < _MOST_KNOWN:
                known[key] = details
        if launch != NONE and kind.on_gpu:
            ahead = depth.get(event, 0)
            details = (*details, ("queue", f"{ahead or 'nothing'} ahead of it when it was launched"))
        if details:
            place[n] = numbers.setdefault(details, len(numbers))
    # In the order in which the events appear.
    there = place != NONE
    order, place[there] = _numbered_at(place[there])
    by_number = list(numbers)
    return [by_number[number] for number in order], place


_MOST_KNOWN = 2**14
"""Args whose facts are kept: most events have those of many others, but for ids"""
_ID = re.compile(
    rb'"(?:correlation|[Ee]xternal id|Ev Idx|Record function id|Sequence number)"\s*:\s*-?\d+\s*,?'
)


def _without_ids(args: Any) -> bytes | None:
    """The JSON of args without ids, which tell no facts; None if they are not JSON."""
    return _ID.sub(b"", bytes(args)) if isinstance(args, msgspec.Raw) else None


def _numbered(values: Iterable[T]) -> tuple[list[T], NDArray[np.int32]]:
    """The distinct values in order of appearance, and the place of each value among them."""
    places: dict[T, int] = {}
    numbers = np.fromiter((places.setdefault(value, len(places)) for value in values), np.int32)
    return list(places), numbers


def _numbered_at(values: NDArray[np.int64]) -> tuple[list[int], NDArray[np.intp]]:
    """As :func:`_numbered`, for (n) numbers."""
    distinct, first, number = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), np.intp)
    place[order] = np.arange(len(order))
    return distinct[order].tolist(), place[number]


def _outer_first(columns: Columns, at: NDArray[np.intp]) -> NDArray[np.intp]:
    """In order of start.  Of events that begin together, the one that holds another comes before it."""
    rank = np.array([OUTER_FIRST.get(kind, 3) for kind in KINDS])[columns.kind[at]]
    return np.lexsort((columns.index[at], rank, -columns.dur[at], columns.start[at]))


def page_json(value: object) -> str:
    """Write JSON that can stand in a page's script element: it holds no ``</script>`` and no ``<!--``."""
    # Python's own would hold a string for each number of an array.
    text = msgspec.json.encode(value, enc_hook=_listed).decode()
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _listed(column: Any) -> list[int]:
    numbers: list[int] = column.tolist()
    return numbers
