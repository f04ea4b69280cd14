"""What the walkable timeline consists of: classic scripts, in the order they must run in, and a style sheet.

A page of the book loads them when a figure comes near the screen; a page that stands alone holds them, before
the script that :func:`kinetoscope.draw.data_script` makes.
"""

from __future__ import annotations

import re
from pathlib import Path

STATIC = Path(__file__).with_name("static")
"""Holds the viewer's files"""

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
"""Below :data:`STATIC`, each needing only those before it"""

STYLES = ("timeline.css",)


def viewer_script() -> str:
    """All of :data:`SCRIPTS` as one, without the comments, which are for those who read the files."""
    return "".join(without_comments((STATIC / name).read_text(encoding="utf-8")) for name in SCRIPTS)


def viewer_style() -> str:
    """All of :data:`STYLES` as one."""
    return "".join((STATIC / name).read_text(encoding="utf-8") for name in STYLES)


def key_help() -> list[tuple[str, str]]:
    """The keys of a timeline and what each does, from the script that obeys them."""
    text = (STATIC / "keys.js").read_text(encoding="utf-8")
    listed = text.partition("ks.keyHelp = [")[2].partition("];")[0]
    return re.findall(r'\["([^"]+)", "([^"]+)"\]', listed)


_TRAILING = re.compile(r"(?<=[;,{}]) +// .*$")


def without_comments(script: str) -> str:
    """``script`` without indentation and comments, as far as these are whole lines or end one."""
    kept, inside = [], False
    for line in map(str.strip, script.splitlines()):
        inside = inside or line.startswith("/*")
        if line and not inside and not line.startswith("//"):
            kept.append(_TRAILING.sub("", line) + "\n")
        inside = inside and not line.endswith("*/")
    return "".join(kept)
