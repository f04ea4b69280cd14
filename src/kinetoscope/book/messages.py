"""Every warning this extension gives, with its type: ``suppress_warnings = ["kinetoscope.stale"]`` works.

The table in the documentation is :data:`SUBTYPES` itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sphinx.util import logging

if TYPE_CHECKING:
    from docutils import nodes

LOGGER = logging.getLogger("kinetoscope")

SUBTYPES: dict[str, str] = {
    "stale": "A block's code, or code before it, changed since it was recorded, or is no Python: its output "
    "is not shown.",
    "example": "An example could not be recorded: it raised, left its work out, or wrote no trace.",
    "recording": "A recorded trace or table is damaged or missing.",
    "name": "A directive or role names a trace, table, machine or column that does not exist.",
    "expression": "An expression cannot be computed from the recording.",
    "claim": "A claim does not hold on the machine the book is held to, or is not written as one.",
    "option": "A directive has an option it cannot use.",
}


class KinetoscopeError(Exception):
    """Stops the build: there is nothing to lay out, or it was asked for something that cannot be."""


def warn(subtype: str, message: str, location: str | tuple[str, int] | nodes.Node | None) -> None:
    """Gives one typed warning.  ``location``: ``(document, line)``, ``"file:line"`` or a node."""
    assert subtype in SUBTYPES, subtype
    LOGGER.warning("%s", message, type="kinetoscope", subtype=subtype, location=location)


def at(path: Path, line: int, root: Path) -> str:
    """``examples/02_linear.py:40``: a location in a file that is no document; line 1 if it is about no line.

    Without a line Sphinx would take it for the name of a document.
    """
    return f"{shown(path, root)}:{line or 1}"


def shown(path: Path, root: Path) -> str:
    """``path`` as messages name it: relative to ``root`` if it lies in there."""
    try:
        return path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return path.as_posix()
