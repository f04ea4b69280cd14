"""The configuration values.  The table in the documentation is made from :data:`VALUES`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx


@dataclass(frozen=True, slots=True)
class Value:
    """One configuration value."""

    name: str
    default: str
    what: str


VALUES = (
    Value(
        "kinetoscope_mode",
        "auto",
        "``auto``: record what is stale if torch sees a GPU, then lay out.  ``record``: record everything "
        "first.  ``replay``: only lay out.  ``live``: run the examples on whatever device there is, into a "
        "throw-away recording, and lay that out.",
    ),
    Value("kinetoscope_only", "", "Record only these examples: file names with commas between them."),
    Value("kinetoscope_recordings", "recordings", "Where recordings lie, relative to the source folder."),
    Value(
        "kinetoscope_machine",
        "",
        "The machine whose recording is shown where this one records nothing, and which the book's sentences "
        "are held to.  Empty: the first in the alphabet.",
    ),
    Value(
        "kinetoscope_switch",
        "all",
        "The machines whose recordings a reader of a page can switch to, besides the one shown: names with "
        "commas between them, or ``all`` that are recorded.  Empty: the pages have no switch.",
    ),
    Value(
        "kinetoscope_machine_name",
        "",
        "The name to record under, where the GPU's own would be that of another machine's recording.",
    ),
    Value(
        "kinetoscope_course",
        "",
        "The page whose table of contents lists the chapters of a course. A template finds them, on the "
        "chapters' own pages, as ``ks_course``: of each its title, its uri and whether it is_here.",
    ),
)


SOURCES = Value(
    "kinetoscope_sources",
    "{}",
    "Who can be quoted: a dictionary from a tag to a title and a web address, which may be empty.",
)


def setup_config(app: Sphinx) -> None:
    """Registers every one of :data:`VALUES`, and :data:`SOURCES`."""
    app.add_config_value(SOURCES.name, {}, "env", types=frozenset({dict}))
    # Rebuild "": which pages a change concerns is worked out from the recordings themselves.
    for value in VALUES:
        app.add_config_value(value.name, value.default, "", types=frozenset({str}))
