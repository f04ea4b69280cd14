"""Reading a trace: a file -> typed, nested and linked events.

The format is the Chrome trace event format as Kineto writes it (``libkineto/src/output_json.cpp``
in pytorch/kineto) and as older and foreign profilers write it: an object with ``traceEvents`` or a
bare list of events, plain or gzipped.
"""

from __future__ import annotations

import os
from pathlib import Path

from kinetoscope.trace.errors import TraceError
from kinetoscope.trace.events import Kind, Trace
from kinetoscope.trace.link import link_launches, link_ops
from kinetoscope.trace.nest import nest
from kinetoscope.trace.parse import parse
from kinetoscope.trace.steps import find_steps
from kinetoscope.trace.typed import typed_events

__all__ = ["TraceError", "load", "loads"]


def load(path: str | os.PathLike[str]) -> Trace:
    """Read the trace file at ``path``, ``.json`` or gzipped (told apart by content, not by name).

    Raises :class:`TraceError` for a file that is missing, empty, cut off or not a trace.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise TraceError(
            f"{os.fspath(path)}: cannot be read ({reason}); check the path of the trace."
        ) from error
    return loads(data, os.fspath(path))


def loads(data: bytes, path: str) -> Trace:
    """Read a trace from the bytes of its file; ``path`` is used in messages only.

    Raises :class:`TraceError` for bytes that are empty, cut off or not a trace.
    """
    document = parse(data, path)
    notes = document.notes
    events = typed_events(document.events, notes)
    nest(events)
    link_launches(events)
    link_ops(events)
    _note_missing(events_kinds={event.kind for event in events}, trace_events=len(events), notes=notes)
    calls = sum(event.kind is Kind.CALL and "launch" in event.name.lower() for event in events)
    if calls and not any(event.kind.on_gpu for event in events):
        noun = "launch" if calls == 1 else "launches"
        notes.append(f"{calls} {noun}, 0 GPU events: the profiler (CUPTI, roctracer) did not record the GPU.")
    return Trace(
        path=path,
        events=events,
        steps=find_steps(events),
        device_names=document.device_names,
        notes=notes,
    )


def _note_missing(events_kinds: set[Kind], trace_events: int, notes: list[str]) -> None:
    """Say so where a trace holds nothing to show."""
    if not trace_events:
        notes.append("The trace holds no events.")
    elif events_kinds <= {Kind.OTHER}:
        notes.append("The trace holds no events of a category that is known here.")
