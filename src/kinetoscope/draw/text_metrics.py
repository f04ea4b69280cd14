"""How wide text is, without a browser or a font at hand.

The widths are those of DejaVu Sans, in thousandths of the font size.  It is among the widest fonts that a
browser may choose for a page's ``system-ui, sans-serif``, so what fits here fits there.
"""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING

from kinetoscope.draw.names import forms

if TYPE_CHECKING:
    from kinetoscope.trace import Kind

_CHARS = {
    275: "'", 278: "ijl", 295: "IJ", 318: " ,.·", 337: "/:;\\|", 352: "f", 361: "-", 390: "()[]",
    392: "t", 401: "!", 411: "r", 460: '"', 500: "*_`", 521: "s", 525: "z", 531: "?", 550: "c",
    557: "L", 575: "F", 579: "k", 592: "vxy", 603: "P", 611: "TY", 612: "o", 613: "a", 615: "e",
    632: "E", 634: "hnu", 635: "Sbdgpq", 636: "$0123456789{}µ", 656: "K", 684: "AV", 685: "XZ",
    686: "B", 695: "R", 698: "C", 732: "U", 748: "N", 752: "H", 770: "D", 775: "G", 780: "&",
    787: "OQ", 818: "w", 838: "#+<=>^~×−", 863: "M", 950: "%", 974: "m", 989: "W", 1000: "@…▲▼",
}  # fmt: skip
"""Characters by their width"""
_OTHER = 1400
"""Width of any other character: as wide as an emoji"""
_WIDTHS = {char: width for width, chars in _CHARS.items() for char in chars}
_SAFETY = 1.03

LEAST = 4
"""Characters of a cut name that must fit, or it is not written at all"""

TELLING = 12
"""Characters of a cut name that tell one kernel from another"""


def metrics_script() -> str:
    """The same widths and limits for the viewer's scripts, as ``kinetoscope.metrics``."""
    metrics = {"chars": _CHARS, "other": _OTHER, "safety": _SAFETY, "least": LEAST, "telling": TELLING}
    text = json.dumps(metrics, ensure_ascii=False, separators=(",", ":"))
    return f"(globalThis.kinetoscope ??= {{}}).metrics = {text};\n"


def text_width(text: str, font: float) -> float:
    """Upper estimate, in px, of the width of ``text`` in a sans-serif font of ``font`` px."""
    return sum(_WIDTHS.get(char, _OTHER) for char in text) * font * _SAFETY / 1000


def fit(name: str, kind: Kind, room: float, font: float) -> str:
    """The fullest form of the name of an event that fits into ``room`` px; ``""`` if none does."""
    ways = forms(name, kind)
    for way in ways:
        if text_width(way, font) <= room:
            return way
    return truncate(ways[-1], room, font)


def truncate(text: str, room: float, font: float) -> str:
    """``text`` cut to ``room`` px with an ellipsis; ``""`` if fewer than :data:`LEAST` characters fit."""
    if text_width(text, font) <= room:
        return text
    kept, width = 0, text_width("…", font)
    for char in text:
        width += text_width(char, font)
        if width > room:
            break
        kept += 1
    return text[:kept].rstrip(" _:-") + "…" if kept >= LEAST else ""


# --- in a terminal ------------------------------------------------------------------------------------------


def terminal_width(text: str) -> int:
    """Columns of a terminal that ``text`` takes: two for each wide character (UAX #11), none for a mark."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def terminal_head(text: str, size: int) -> str:
    """The beginning of ``text`` that fits into ``size`` columns of a terminal; at least one character."""
    if text.isascii():
        return text[:size]
    kept = room = 0
    for char in text:
        room += _cells(char)
        if room > size and kept:
            break
        kept += 1
    return text[:kept]
