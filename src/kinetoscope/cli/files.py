"""Files of a command: a trace that it reads, and a file that it writes whole or not at all."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kinetoscope.cli.console import Refusal, Strict, note, spinner

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from typing import BinaryIO

    from kinetoscope.trace import Finding, Trace

PIPE = "the pipe"
"""What messages call standard input"""


# --- reading ------------------------------------------------------------------------------------------------


def add_trace(parser: argparse.ArgumentParser, name: str = "trace") -> None:
    """Adds the argument that names a trace."""
    parser.add_argument(
        name, metavar=name.upper(), help="a .json or .json.gz file of torch.profiler; - reads a pipe"
    )


def read_trace(options: argparse.Namespace, path: str, *, shows_findings: bool = False) -> Trace:
    """The trace at ``path``.  Prints its findings on standard error, a line each.

    With ``shows_findings`` the command reports them itself: nothing is printed here, and ``--strict`` is left
    to the command.  Raises :class:`~kinetoscope.trace.TraceError` for a file that is not a trace,
    :class:`Refusal` where there is no pipe, :class:`Strict` where findings are errors.
    """
    with spinner(f"reading {path if path != '-' else PIPE}"):
        pipe = read_pipe(path)
        from kinetoscope.trace.load import load, load_open

        limit = limit_of(options)
        trace = load(path, max_bytes=limit) if pipe is None else load_open(pipe, PIPE, max_bytes=limit)
    if not shows_findings:
        report_findings(options, trace.path, trace.findings)
    return trace


def report_findings(options: argparse.Namespace, path: str, findings: Sequence[Finding]) -> None:
    """Prints findings on standard error.  Raises :class:`Strict` where they are errors."""
    for finding in findings:
        note(f"{path}: {finding}")
    if options.strict and findings:
        raise Strict


def limit_of(options: argparse.Namespace) -> int:
    """Bytes of JSON that a trace may hold."""
    from kinetoscope.trace.unzip import MAX_BYTES

    return options.max_bytes or MAX_BYTES


def read_pipe(path: str) -> BinaryIO | None:
    """Standard input if ``path`` is ``-``; None for a file.  Raises :class:`Refusal` at a terminal."""
    if path != "-":
        return None
    if sys.stdin.isatty():
        raise Refusal("nothing comes through a pipe; write `… | kinetoscope COMMAND -`, or name a file.")
    return sys.stdin.buffer


def read_bytes(options: argparse.Namespace, path: str) -> tuple[bytes, str]:
    """The bytes of the file or the pipe at ``path``, not unpacked, and what messages call it.

    Raises :class:`Refusal` where there is no pipe, :class:`~kinetoscope.trace.TraceError` for more than the
    limits allow, ``OSError`` for a file that cannot be read.
    """
    from kinetoscope.trace.unzip import Source

    pipe = read_pipe(path)
    with contextlib.nullcontext(pipe) if pipe else Path(path).open("rb") as file:
        source = Source(file, PIPE if pipe else path, limit_of(options))
        source.survey()
        return source.held(), source.path


# --- writing ------------------------------------------------------------------------------------------------


def add_force(parser: argparse.ArgumentParser) -> None:
    """Adds the option that allows a command to overwrite a file."""
    parser.add_argument("--force", action="store_true", help="overwrite the file if there is one")


def refuse_to_replace(path: Path, trace: str, suffixes: Sequence[str]) -> None:
    """Raises :class:`Refusal` if ``path`` has none of the endings, is the trace that is read or another."""
    if str(path) != "-" and not path.name.lower().endswith(tuple(suffixes)):
        raise Refusal(f"{path}: its name must end in {' or '.join(suffixes)}; choose another name.")
    with contextlib.suppress(OSError):
        if path.samefile(trace):
            raise Refusal(f"{path} is the trace that is read, and would be lost; choose another name.")
    if path.is_file() and _holds_a_trace(path):
        raise Refusal(f"{path} holds a trace, which is never replaced; choose another name.")


def _holds_a_trace(path: Path) -> bool:
    """Whether a file begins as a trace does."""
    from kinetoscope.trace.unzip import Source, Unusual

    with contextlib.suppress(OSError, Unusual, ValueError), path.open("rb") as file:
        start = next(Source(file, str(path)).chunks(2**16), b"").lstrip()
        return start[:1] in (b"{", b"[") and (b'"traceEvents"' in start or b'"ph"' in start)
    return False


def refuse_existing(path: Path, *, force: bool) -> None:
    """Raises :class:`Refusal` if ``path`` exists (unless ``force``) or cannot be written."""
    if str(path) == "-":
        raise Refusal("- is a pipe to read a trace from; to write, give the name of a file.")
    if path.is_dir():
        raise Refusal(f"{path} is a folder; give the name of a file.")
    if not force and (path.exists() or path.is_symlink()):
        raise Refusal(f"{path} exists; choose another name, or --force to overwrite it.")
    if not path.parent.is_dir():
        raise Refusal(f"{path.parent} is not a folder; make it first.")


def write_whole(path: Path, write: Callable[[Path], object], *, force: bool = False) -> None:
    """Calls ``write`` with a temporary file in the same folder, then renames that file to ``path``.

    Raises :class:`Refusal` if ``path`` exists, unless ``force``.
    """
    refuse_existing(path, force=force)
    import tempfile  # takes longer than most imports, and only commands that write need it

    handle, name = tempfile.mkstemp(prefix=f".{path.name[:40]}-", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        temporary.chmod(0o666 & ~_umask())
        if force:
            temporary.replace(path)
        else:
            _rename_to_new(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _rename_to_new(temporary: Path, path: Path) -> None:
    # os.link fails if the name is taken, even if somebody took it a moment ago.
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise Refusal(f"{path} exists; choose another name, or --force to overwrite it.") from None
    except (OSError, NotImplementedError):
        refuse_existing(path, force=False)
        with contextlib.suppress(FileNotFoundError):
            temporary.replace(path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def free_name(path: Path) -> Path:
    """``path``, or the first of ``path-2``, ``path-3``, … that does not exist."""
    free, number = path, 1
    while free.exists() or free.is_symlink():
        number += 1
        free = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return free
