"""A trace for a command: from a file or a pipe, with what was found in it said aloud."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kinetoscope.cli.output import Refusal, Strict, note
from kinetoscope.cli.progress import waiting

if TYPE_CHECKING:
    import argparse

    from kinetoscope.trace import Trace

PIPE = "the pipe"
"""What messages call it"""


def add_trace(parser: argparse.ArgumentParser, name: str = "trace") -> None:
    """Adds the argument that names a trace."""
    parser.add_argument(
        name, metavar=name.upper(), help="a .json or .json.gz file of torch.profiler; - reads a pipe"
    )


def read_trace(options: argparse.Namespace, path: str, *, shows_findings: bool = False) -> Trace:
    """The trace at ``path``.  What was found in it goes to standard error, a line each.

    Not so where the command ``shows_findings`` itself.  Raises :class:`~kinetoscope.trace.TraceError` for
    what is no trace, :class:`Refusal` where there is no pipe, :class:`Strict` where findings are errors.
    """
    with waiting(f"reading {path if path != '-' else PIPE}"):
        data = read_bytes(path)
        from kinetoscope.trace import load, loads

        limit = limit_of(options)
        trace = load(path, max_bytes=limit) if data is None else loads(data, PIPE, max_bytes=limit)
    if not shows_findings:
        for finding in trace.findings:
            note(f"{trace.path}: {finding}")
    if options.strict and trace.findings and not shows_findings:
        raise Strict
    return trace


def limit_of(options: argparse.Namespace) -> int:
    """Bytes that a trace may unpack to."""
    from kinetoscope.trace.unzip import MAX_BYTES

    return options.max_bytes or MAX_BYTES


def read_bytes(path: str) -> bytes | None:
    """What comes through the pipe, for ``-``; None for a file.  Raises :class:`Refusal` at a terminal."""
    if path != "-":
        return None
    if sys.stdin.isatty():
        raise Refusal("nothing comes through a pipe; write `… | kinetoscope COMMAND -`, or name a file.")
    return sys.stdin.buffer.read()


def trace_name(trace: Trace) -> str:
    """The file's name without its endings."""
    name = Path(trace.path).name
    for ending in (".gz", ".json", ".pt.trace"):
        name = name.removesuffix(ending)
    return "trace" if trace.path == PIPE or not name else name
