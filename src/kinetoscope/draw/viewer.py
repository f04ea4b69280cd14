"""The stylesheets and scripts of timelines: for the drawn figure, and for the viewer that takes its place.

A page of the book loads the viewer when a figure comes near the screen; the page of ``kinetoscope show``
holds it.
"""

from __future__ import annotations

import re
from pathlib import Path

from kinetoscope.draw.palette import css
from kinetoscope.draw.text_metrics import metrics_script

STATIC = Path(__file__).with_name("static")
"""Holds the stylesheets and scripts"""

FIGURE_STYLE = "kinetoscope-figures.css"
"""What a site calls the text of :func:`figure_style`"""

SCRIPTS = (
    "text.js",
    "model.js",
    "view.js",
    "layout.js",
    "labels.js",
    "painter.js",
    "figure.js",
    "gestures.js",
    "keys.js",
    "panel.js",
    "tape.js",
    "tools.js",
    "perfetto.js",
    "find.js",
    "tree.js",
    "links.js",
    "address.js",
    "compare.js",
)
"""The viewer's classic scripts below :data:`STATIC`, in the order in which they must run"""


def read_static(*names: str) -> str:
    """Return the files below :data:`STATIC` as one text."""
    return "".join((STATIC / name).read_text(encoding="utf-8") for name in names)


def figure_style() -> str:
    """Return the stylesheet of timelines and tables, which every page with one of them needs."""
    return css() + read_static("drawing.css", "figures.css")


def viewer_style() -> str:
    """Return the viewer's own stylesheet."""
    return read_static("viewer.css")


def viewer_script() -> str:
    """Return :data:`SCRIPTS` as one script without comments, behind the widths of text that they need."""
    return metrics_script() + without_comments(read_static(*SCRIPTS))


def key_help() -> list[tuple[str, str]]:
    """Return the keys of a timeline and what each does, as the script that obeys them lists them."""
    listed = read_static("keys.js").partition("ks.keyHelp = [")[2].partition("];")[0]
    return re.findall(r'\["([^"]+)", "([^"]+)"\]', listed)


_TRAILING = re.compile(r"(?<=[;,{}]) +// .*$")


def without_comments(script: str) -> str:
    """Remove indentation, and comments that take whole lines or stand at the end of one."""
    kept, inside = [], False
    for line in map(str.strip, script.splitlines()):
        inside = inside or line.startswith("/*")
        if line and not inside and not line.startswith("//"):
            kept.append(_TRAILING.sub("", line) + "\n")
        inside = inside and not line.endswith("*/")
    return "".join(kept)
