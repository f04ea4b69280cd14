"""The configuration values and the modes of a build.  The lists in the documentation are made from these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """One configuration value."""

    name: str
    default: object
    what: str
    rebuild: Literal["", "env"] = ""
    """``env``: a change reads every page again.  Otherwise the recordings tell which pages it concerns"""


VALUES = (
    ConfigValue(
        "kinetoscope_mode",
        "auto",
        "``auto``: record what is stale if torch sees a GPU, then lay out.  ``record``: record everything "
        "first.  ``replay``: only lay out.  ``live``: run the examples on whatever device there is, into a "
        "throw-away recording, and lay that out.",
    ),
    ConfigValue("kinetoscope_only", "", "Record only these examples: file names with commas between them."),
    ConfigValue(
        "kinetoscope_recordings", "recordings", "Where recordings lie, relative to the source folder."
    ),
    ConfigValue(
        "kinetoscope_machine",
        "",
        "The machine whose recording is shown where this one records nothing, and which the book's sentences "
        "are held to.  Empty: the first in the alphabet.",
    ),
    ConfigValue(
        "kinetoscope_switch",
        "all",
        "The machines whose recordings a reader of a page can switch to, besides the one shown: names with "
        "commas between them, or ``all`` that are recorded.  Empty: the pages have no switch.",
    ),
    ConfigValue(
        "kinetoscope_machine_name",
        "",
        "The name to record under, where the GPU's own would be that of another machine's recording.",
    ),
    ConfigValue(
        "kinetoscope_course",
        "",
        "The page whose table of contents lists the chapters of a course. A template finds them, on the "
        "chapters' own pages, as ``ks_course``: of each its title, its uri and whether it is_here.",
    ),
    ConfigValue(
        "kinetoscope_sources",
        {},
        "Who can be quoted: a dictionary from a tag to a title and a web address, which may be empty.",
        rebuild="env",
    ),
)

MODES = {
    "auto": "record what is stale if torch sees a GPU, then lay out",
    "record": "record every example (or those in ``kinetoscope_only``) on this machine's GPU, then lay out",
    "replay": "lay out from the recordings there are; never execute anything",
    "live": "run every example on whatever device there is, into a throw-away recording, and lay that out",
}
