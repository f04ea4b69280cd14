"""Reading a trace: a file -> typed, nested and linked events.

The format is the Chrome trace event format as Kineto writes it (``libkineto/src/output_json.cpp``
in pytorch/kineto) and as older and foreign profilers write it: an object with ``traceEvents`` or a
bare list of events, plain or gzipped.
"""

from __future__ import annotations

import os
import stat
from typing import Any

from kinetoscope.trace.categories import Kind
from kinetoscope.trace.columns import Columns, among, distinct
from kinetoscope.trace.events import Trace
from kinetoscope.trace.fast_reader import read_fast
from kinetoscope.trace.fields import NONE
from kinetoscope.trace.findings import Findings, TraceError, refuse, refuse_damaged
from kinetoscope.trace.graphs import recorded_in_graph
from kinetoscope.trace.link import link_launches, link_ops
from kinetoscope.trace.nest import cut_unfinished, nest
from kinetoscope.trace.steps import find_steps
from kinetoscope.trace.unzip import MAX_BYTES, Readable, Source, too_large


def load(path: str | os.PathLike[str], *, strict: bool = False, max_bytes: int = MAX_BYTES) -> Trace:
    """Read the trace file at ``path``, ``.json`` or gzipped (told apart by content, not by name).

    What was repaired, dropped or assumed is in the trace's ``findings``; with ``strict`` any of that is an
    error.  ``max_bytes`` is the most JSON that it may hold, unpacked if it is gzipped; the largest number of
    events, and of bytes without an event, follow from it.

    Raises :class:`TraceError` for a file that is missing, empty, too large or not a trace.
    """
    try:
        with open(path, "rb") as file:  # noqa: PTH123 (pathlib takes 4 ms to be there)
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode) and status.st_size > max_bytes:
                raise too_large(os.fspath(path), max_bytes)
            return load_open(file, os.fspath(path), strict=strict, max_bytes=max_bytes)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise TraceError(
            f"{os.fspath(path)}: cannot be read ({reason}); check the path of the trace."
        ) from error


def loads(data: bytes, path: str, *, strict: bool = False, max_bytes: int = MAX_BYTES) -> Trace:
    """Read a trace from the bytes of its file, as :func:`load` does; ``path`` is used in messages only."""
    return _read_source(Source(data, path, max_bytes), strict=strict)


def load_open(file: Readable, path: str, *, strict: bool = False, max_bytes: int = MAX_BYTES) -> Trace:
    """Read a trace from an open file or pipe, no further than it must; ``path`` is used in messages only."""
    return _read_source(Source(file, path, max_bytes), strict=strict)


def _read_source(source: Source, *, strict: bool) -> Trace:
    findings = Findings()
    columns, device_names = _read(source, findings)
    cut_unfinished(columns, findings)
    nest(columns, findings)
    link_launches(columns, findings)
    link_ops(columns)
    _note_missing(columns, findings)
    steps = find_steps(columns, findings)
    if strict:
        refuse(findings, source.path)
    return Trace(
        path=source.path,
        columns=columns,
        steps_at=steps,
        device_names=device_names,
        findings=list(findings),
    )


def load_whole(path: str | os.PathLike[str]) -> Trace:
    """Like :func:`load`, for a file that must not be damaged: a recording that a book is computed from.

    Raises :class:`TraceError` also where something that was in the file is lost.
    """
    trace = load(path)
    refuse_damaged(trace.findings, trace.path)
    return trace


def _read(source: Source, findings: Findings) -> tuple[Columns, dict[int, str]]:
    """The events, and the GPU names by device number: in pieces if the file has no fault, else as a whole."""
    read = read_fast(source, findings)
    if read is None:
        # Most files have no fault, and these modules take longer to import than a small trace to read.
        from kinetoscope.trace.entries import read_entries
        from kinetoscope.trace.lenient_reader import read_document

        entries, properties = read_document(source, findings)
        return read_entries(entries, findings), _device_names(properties)
    return read[0], _device_names(read[1])


def _device_names(properties: Any) -> dict[int, str]:
    """GPU name by device number, from Kineto's ``deviceProperties``."""
    names: dict[int, str] = {}
    for entry in properties if isinstance(properties, list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("id"), int) and entry.get("name"):
            names[entry["id"]] = str(entry["name"])
    return names


def _note_missing(columns: Columns, findings: Findings) -> None:
    """Report that a trace holds no events, or launches without the activities that they started."""
    if not len(columns):
        findings.add("no-events", "the end of the file")
    calls = columns.where(Kind.CALL)
    names = [n for n in distinct(columns.name[calls]).tolist() if _launches(columns.names[n].lower())]
    launching = calls[among(columns.name[calls], names, len(columns.names))]
    code = "no-gpu-events"
    if columns.on_gpu.any():
        # In every whole trace that we know, each launch started an activity that is in the file.
        code = "lost-activity"
        answered = among(launching, columns.launch[columns.launch != NONE], len(columns))
        could = (columns.correlation[launching] != NONE) & ~columns.lost[launching]
        launching = launching[~answered & could]
        recorded = launching[recorded_in_graph(columns, launching)]
        if len(recorded):
            findings.add("recorded-in-graph", columns.place(int(recorded[0])), len(recorded))
            launching = launching[~among(launching, recorded, len(columns))]
    if len(launching):
        findings.add(code, columns.place(int(launching[0])), len(launching))


def _launches(name: str) -> bool:
    """Whether a call of this name (in lower case) starts something on the GPU."""
    return "launch" in name and "hostfunc" not in name
