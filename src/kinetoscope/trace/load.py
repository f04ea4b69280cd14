"""Reading a trace: a file -> typed, nested and linked events.

The format is the Chrome trace event format as Kineto writes it (``libkineto/src/output_json.cpp``
in pytorch/kineto) and as older and foreign profilers write it: an object with ``traceEvents`` or a
bare list of events, plain or gzipped.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

from kinetoscope.trace.build import build
from kinetoscope.trace.columns import NONE, Columns, among, distinct
from kinetoscope.trace.errors import TraceError
from kinetoscope.trace.events import Kind, Trace
from kinetoscope.trace.findings import Finding, Findings, Severity
from kinetoscope.trace.link import link_launches, link_ops
from kinetoscope.trace.nest import nest
from kinetoscope.trace.parse import parse
from kinetoscope.trace.steps import build_steps, find_steps
from kinetoscope.trace.unfinished import cut_unfinished
from kinetoscope.trace.unzip import MAX_BYTES

__all__ = ["TraceError", "load", "load_whole", "loads"]


def load(path: str | os.PathLike[str], *, strict: bool = False, max_bytes: int = MAX_BYTES) -> Trace:
    """Read the trace file at ``path``, ``.json`` or gzipped (told apart by content, not by name).

    What was repaired, dropped or assumed is in the trace's ``findings``; with ``strict`` any of that is an
    error.  ``max_bytes`` is what a gzipped file may unpack to.

    Raises :class:`TraceError` for a file that is missing, empty, too large or not a trace.
    """
    try:
        with open(path, "rb") as file:  # noqa: PTH123 (pathlib takes 4 ms to be there)
            data = file.read()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise TraceError(
            f"{os.fspath(path)}: cannot be read ({reason}); check the path of the trace."
        ) from error
    return loads(data, os.fspath(path), strict=strict, max_bytes=max_bytes)


def loads(data: bytes, path: str, *, strict: bool = False, max_bytes: int = MAX_BYTES) -> Trace:
    """Read a trace from the bytes of its file, as :func:`load` does; ``path`` is used in messages only."""
    findings = Findings()
    document = parse(data, path, findings, max_bytes)
    found = document.columns
    cut_unfinished(found, findings)
    nest(found, findings)
    link_launches(found, findings)
    link_ops(found)
    _note_missing(found, findings)
    if strict:
        refuse(findings.as_list(), path)
    steps = find_steps(found)
    return Trace(
        path=path,
        events=partial(build, found),
        steps=partial(build_steps, steps),
        device_names=document.device_names,
        findings=findings.as_list(),
        columns=found,
        steps_at=steps,
    )


def load_whole(path: str | os.PathLike[str]) -> Trace:
    """Like :func:`load`, for a file that must not be damaged: a recording that a book is computed from.

    Raises :class:`TraceError` also where something that was in the file is lost.
    """
    trace = load(path)
    refuse_damaged(trace.findings, trace.path)
    return trace


def refuse(findings: Sequence[Finding], path: str) -> None:
    """Raises :class:`TraceError` where there are any."""
    if findings:
        said = " ".join(str(finding) for finding in findings)
        raise TraceError(f"{path}: {said} Record it again, or take a whole copy of it.")


def refuse_damaged(findings: Sequence[Finding], path: str) -> None:
    """Raises :class:`TraceError` where something that was in the file is lost."""
    refuse([finding for finding in findings if finding.severity is Severity.LOST], path)


def _note_missing(found: Columns, findings: Findings) -> None:
    """Say so where a trace holds nothing to show, or launches and nothing that they launched."""
    if not len(found):
        findings.add("no-events", "the end of the file")
    calls = found.where(Kind.CALL)
    names = [n for n in distinct(found.name[calls]).tolist() if _launches(found.names[n].lower())]
    launching = calls[among(found.name[calls], names, len(found.names))]
    code = "no-gpu-events"
    if found.on_gpu.any():
        # Every launch in the whole traces that we know has started something that is in the file.
        code = "lost-activity"
        answered = among(launching, found.launch[found.launch != NONE], len(found))
        launching = launching[~answered & (found.correlation[launching] != NONE)]
    if len(launching):
        findings.add(code, found.place(int(launching[0])), len(launching))


def _launches(name: str) -> bool:
    """Whether a call of this name (in lower case) starts something on the GPU."""
    return "launch" in name and "hostfunc" not in name
