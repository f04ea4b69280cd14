"""Every warning this extension gives, with its type: ``suppress_warnings = ["kinetoscope.stale"]`` works.

The list in the documentation is made from :data:`SUBTYPES`.
"""

from __future__ import annotations

from pathlib import Path

from sphinx.util import logging

LOGGER = logging.getLogger("kinetoscope")

SUBTYPES: dict[str, str] = {
    "stale": "A block's code, or code before it, changed since it was recorded, or is not valid Python: its "
    "output is not shown.",
    "example": "An example could not be recorded: it raised, left its work out, or wrote no trace.",
    "recording": "A recorded trace or table is damaged or missing.",
    "name": "A directive or role names a trace, table, machine or column that does not exist.",
    "expression": "An expression cannot be computed from the recording.",
    "claim": "A claim does not hold on the machine the book is held to, or is not written as one.",
    "option": "A directive has an option it cannot use.",
}


class KinetoscopeError(Exception):
    """Stops the build: there is nothing to lay out, or the configuration asks for something impossible."""


def warn(subtype: str, message: str, location: str | None) -> None:
    """Gives one typed warning.  ``location``: ``"file:line"``."""
    assert subtype in SUBTYPES, subtype
    LOGGER.warning("%s", message, type="kinetoscope", subtype=subtype, location=location)


def file_location(path: Path, line: int, root: Path) -> str:
    """``examples/02_linear.py:40``: a location in a file that is not a document.

    ``line`` 0 becomes 1: Sphinx would take a location without a line for the name of a document.
    """
    return f"{shown_path(path, root)}:{line or 1}"


def shown_path(path: Path, root: Path) -> str:
    """``path`` as messages name it: relative to ``root`` if it lies in there."""
    try:
        return path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return path.as_posix()
