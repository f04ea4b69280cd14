"""What a command prints.  It all passes through here, so that no name in a trace can control a terminal."""

from __future__ import annotations

import os
import sys
import unicodedata
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinetoscope.measure.errors import NotMeasured

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator, Sequence

    from kinetoscope.trace import Finding

SILENCE = 0.4
"""Seconds before a spinner appears: most traces are read by then, and importing rich takes a while"""

_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
"""First characters of a cell that a spreadsheet computes, ASCII and fullwidth"""


class Refusal(ValueError):
    """The command cannot do what was asked.  The message is one sentence that says what to do."""


class Strict(ValueError):
    """``--strict`` was given and the trace has findings, which are already printed."""


def prepare_streams() -> None:
    """Makes the standard streams safe to write to.

    A character that the stream's encoding lacks (µ, ×) is written as an escape.  A stream that was closed
    before the program began reads and writes nothing.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def printable(text: str) -> str:
    """``text`` on one line, with U+FFFD for every control and formatting character.

    Those are all of Unicode's "other" characters and line separators: escape sequences, C1 controls,
    characters that change the direction of writing, characters without width.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or unicodedata.category(char) == "Zs" else "\N{REPLACEMENT CHARACTER}"
        for char in text
    )


def say(text: str = "") -> None:
    """Writes lines to standard output."""
    sys.stdout.write("".join(f"{printable(line)}\n" for line in text.split("\n")))


def note(text: str) -> None:
    """Writes one line to standard error."""
    print(f"kinetoscope: {printable(text)}", file=sys.stderr)


def say_json(value: Any) -> None:
    """Writes a value as JSON in ASCII, so that a terminal sees escapes only."""
    import json

    print(json.dumps(value, indent=1))


def say_csv(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Writes rows as CSV.  A cell that a spreadsheet would take for a formula begins with an apostrophe."""
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([[_cell(value) for value in row] for row in rows])


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.lstrip(" \N{REPLACEMENT CHARACTER}")[:1] in _FORMULA else text


def finding_dict(finding: Finding) -> dict[str, object]:
    """A finding as a JSON object."""
    return {
        "code": finding.code,
        "count": finding.count,
        "first": finding.first,
        "meaning": finding.meaning,
    }


def width() -> int | None:
    """Columns of the terminal; None where standard output is not a terminal, and so nothing is cut."""
    if not sys.stdout.isatty():
        return None
    import shutil

    return shutil.get_terminal_size().columns


def complain(error: Exception) -> int:
    """Prints on standard error what went wrong; returns the exit status."""
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else ""
        note(f"{where}{error.strerror or error}; check the path, and that it may be read or written.")
        return 2
    if isinstance(error, MemoryError):
        note("there is not enough memory for this trace; take a smaller one, or a part of it.")
        return 2
    message = " ".join(str(error).split("\n"))
    if isinstance(error, NotMeasured):
        note(message)
        return 4
    # Our own errors are sentences for the user.  Any other is a fault in this program.
    if isinstance(error, ValueError) and type(error).__module__.startswith("kinetoscope."):
        note(message)
        return 2
    note(
        f"a fault of Kinetoscope itself ({type(error).__name__}: {message}). Please report it, with the "
        "traceback that KINETOSCOPE_DEBUG=1 prints."
    )
    return 70


@contextmanager
def spinner(what: str) -> Iterator[None]:
    """Shows ``what`` is being done while the block runs, on a terminal and after :data:`SILENCE`."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    import threading

    done = threading.Event()
    thread = threading.Thread(target=_spin, args=(what, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _spin(what: str, done: threading.Event) -> None:
    # rich spins in a thread of its own, but it cannot start late, and only a late start spares most
    # commands the import of rich.
    if done.wait(SILENCE):
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status(escape(f"{printable(what)} …")):
        done.wait()
