"""What a command writes.  Everything passes through here, so that nothing in a trace can steer a terminal."""

from __future__ import annotations

import os
import sys
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kinetoscope.trace import Finding


class Refusal(ValueError):
    """What was asked for cannot be done; the message is one sentence that says what to do."""


class Strict(ValueError):
    """``--strict``, and the trace has findings, which have been said."""


def printable(text: str) -> str:
    """``text`` on one line, with U+FFFD for every control and formatting character.

    That is all of Unicode's "other" and line separators: escape sequences, C1 controls, what turns the
    direction of writing, what has no width.
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
    """Writes a value as JSON; whatever is not ASCII as an escape, so that a terminal sees none of it."""
    import json

    print(json.dumps(value, indent=1))


def say_csv(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Writes rows as CSV.  What a spreadsheet would take for a formula gets an apostrophe before it."""
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([[_cell(value) for value in row] for row in rows])


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.lstrip(" \N{REPLACEMENT CHARACTER}")[:1] in _FORMULA else text


_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
"""What a cell begins with that a spreadsheet computes, in either width"""


def width() -> int | None:
    """Characters to a line of the terminal; None where standard output is none, and nothing is cut."""
    if not sys.stdout.isatty():
        return None
    import shutil

    return shutil.get_terminal_size().columns


def complain(error: Exception) -> int:
    """Says on standard error what went wrong; returns the exit status."""
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else ""
        note(f"{where}{error.strerror or error}; check the path, and that it may be read or written.")
        return 2
    if isinstance(error, MemoryError):
        note("there is not enough memory for this trace; take a smaller one, or a part of it.")
        return 2
    message = " ".join(str(error).split("\n"))
    # Our own errors are sentences for whoever runs the command; any other is a fault in this program.
    if isinstance(error, ValueError) and type(error).__module__.startswith("kinetoscope."):
        note(message)
        return 2
    note(
        f"a fault of its own ({type(error).__name__}: {message}); KINETOSCOPE_DEBUG=1 says where. Report it."
    )
    return 70


def finding_dict(finding: Finding) -> dict[str, object]:
    """A finding as an object of JSON."""
    return {
        "code": finding.code,
        "count": finding.count,
        "first": finding.first,
        "meaning": finding.meaning,
    }


def prepare_streams() -> None:
    """Lets a stream of another encoding than UTF-8 take µ and × as escapes, in place of an error.

    One that was closed before we began is as one that goes nowhere.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def on_terminal() -> bool:
    """Whether someone watches standard error, so that progress can be shown."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
