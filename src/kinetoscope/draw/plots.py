"""An example's own matplotlib figure for a page: as SVG, in words, and in the page's light and dark colors.

The recording keeps the figure as SVG in its own colors.  A build replaces them, so that the look of a page
can change without a new recording.
"""

from __future__ import annotations

import colorsys
import io
import re
from html import escape
from typing import TYPE_CHECKING

from kinetoscope.draw.palette import DARK, LIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOR = re.compile(r"#[0-9a-fA-F]{6}\b")
_STYLE = re.compile(r'(?<= style=")[^"]*(?=")')
_ID = re.compile(r'(?<= id=")([^"]+)(?=")')
_REFERENCE = re.compile(r'(url\(#|href="#)([^")]+)')
_GRAY = 24
"""A color is a gray if its largest and smallest channel differ by at most this"""
_CONTRAST = 4.5
"""The contrast that WCAG asks of small text; a line's label often has the color of the line"""
_MOST = 8
"""How many bars or lines are named before the rest is only counted"""


def figure_svg(figure: Figure) -> str:
    """Write the figure as SVG with text as text; the same figure gives the same bytes."""
    from matplotlib import rc_context

    out = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "kinetoscope"}):
        figure.savefig(
            out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    text = out.getvalue()
    # A page needs neither the XML prologue nor the comments that repeat each text.
    text = text[text.index("<svg") :]
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    # This rule would hold for the whole page; the stylesheet has it for plots.
    text = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>\s*", "", text, count=1, flags=re.DOTALL)
    # Most of the file would be precision that nobody sees.
    return re.sub(r"-?\d+\.\d{3,}", lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), text)


def describe_figure(figure: Figure) -> str:
    """Describe the figure in words, computed from what is drawn in it.

    For example: "Time of one call: in µs, naive 17.1, compiled 6.2." or "Time: µs against rows; lines for
    eager and compiled, from 1 to 8192."
    """
    above = figure.get_suptitle()
    parts = [part for axes in figure.axes if (part := _describe_axes(axes))]
    return f"{above}. {' '.join(parts)}" if above else " ".join(parts)


def _describe_axes(axes: Axes) -> str:
    title = next((text for loc in ("left", "center", "right") if (text := axes.get_title(loc=loc))), "")
    what = _bars(axes) or _lines(axes)
    ending = "" if what.endswith(".") or not (title or what) else "."
    return ": ".join(part for part in (title, what) if part) + ending


def _bars(axes: Axes) -> str:
    """Name each bar with its length; empty if there are no bars."""
    from matplotlib.container import BarContainer

    containers = [each for each in axes.containers if isinstance(each, BarContainer)]
    if not containers:
        return ""
    upright = containers[0].orientation == "vertical"
    names = [tick.get_text() for tick in (axes.get_xticklabels() if upright else axes.get_yticklabels())]
    unit = axes.get_ylabel() if upright else axes.get_xlabel()
    bars = [bar for container in containers for bar in container.patches]
    lengths = [bar.get_height() if upright else bar.get_width() for bar in bars]
    listed = [
        f"{names[n] if n < len(names) else n + 1} {length:.3g}" for n, length in enumerate(lengths[:_MOST])
    ]
    if len(lengths) > _MOST:
        listed.append(f"and {len(lengths) - _MOST} more")
    return ", ".join(filter(None, [unit, *listed]))


def _lines(axes: Axes) -> str:
    """Say what is plotted against what, name the lines, and give their range; empty if there are no lines."""
    import numpy as np

    lines = [line for line in axes.get_lines() if np.size(line.get_xdata()) > 1]
    if not lines:
        return ""
    # Lines without a label often have their names written beside them.
    labels = [str(line.get_label()) for line in lines if not str(line.get_label()).startswith("_")]
    names = labels or [text.get_text() for text in axes.texts if text.get_text().strip()]
    values = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in lines])
    places = np.concatenate([np.asarray(line.get_xdata(), dtype=float) for line in lines])
    what = f"{axes.get_ylabel() or 'y'} against {axes.get_xlabel() or 'x'}"
    shown = names[:_MOST] + ([f"{len(names) - _MOST} more"] if len(names) > _MOST else [])
    named = f"; lines: {', '.join(shown)}" if names else f"; {len(lines)} lines"
    return (
        f"{what}{named}; from {places.min():g} to {places.max():g} across, "
        f"and from {values.min():.3g} to {values.max():.3g} in height"
    )


def themed_svg(drawing: str, *, ident: str, label: str) -> str:
    """Put a drawing of :func:`figure_svg` into the page's colors, as SVG for its HTML.

    Black, white and grays become mixtures of the page's text and background.  A color of the palette becomes
    the palette's variable.  Any other color stays, and is lightened for the dark page until it can be seen.
    ``ident`` must be unique in the page; screen readers read ``label``, which is plain text.
    """
    known = _palette()
    others: dict[str, str] = {}

    def color(match: re.Match[str]) -> str:
        value = match[0].lower()
        if value in known:
            return f"var(--ks-{known[value]})"
        if (share := _gray(value)) is not None:
            return f"color-mix(in srgb, var(--ks-text) {share:.0f}%, var(--ks-surface))"
        name = others.setdefault(value, f"--ks-own-{len(others) + 1}")
        return f"var({name})"

    drawing = _STYLE.sub(lambda style: _COLOR.sub(color, style[0]), drawing)
    drawing = re.sub(r"'?DejaVu Sans'?(?:, [^;\"]*)?", "var(--ks-plot-font)", drawing)
    drawing = _ID.sub(lambda match: f"{ident}-{match[1]}", drawing)
    drawing = _REFERENCE.sub(lambda match: f"{match[1]}{ident}-{match[2]}", drawing)
    attributes = f' id="{ident}" class="ks-plot-svg" role="img" aria-label="{escape(label, quote=True)}"'
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawing)
    opening = re.sub(r'\s(?:width|height|version)="[^"]*"', "", drawing[: drawing.index(">")])
    # At most as large as it was drawn, at 96 px to the inch.
    width = f' width="{float(size[1]) * 96 / 72:.0f}"' if size else ""
    opening = opening.replace("<svg", f"<svg{attributes}{width}", 1)
    return f"{opening}>{_own_colors(ident, others)}{drawing[drawing.index('>') + 1 :]}"


def _own_colors(ident: str, others: dict[str, str]) -> str:
    if not others:
        return ""
    light = "".join(f"{name}:{value};" for value, name in others.items())
    dark = "".join(f"{name}:{_for_dark(value)};" for value, name in others.items())
    return f'<style>#{ident}{{{light}}}@media screen{{html[data-theme="dark"] #{ident}{{{dark}}}}}</style>'


def _palette() -> dict[str, str]:
    """Map each color of the light palette to its name; a color of several uses is named after the fill."""
    names = {value: name for name, value in LIGHT.plain.items()}
    names |= {each.edge: f"{kind}-edge" for kind, each in LIGHT.kinds.items()}
    names |= {each.fill: kind for kind, each in LIGHT.kinds.items()}
    # Most grays of a figure have nothing to do with the palette.
    return {
        value: name for value, name in names.items() if _gray(value) is None or name in ("muted", "arrow")
    }


def _gray(value: str) -> float | None:
    """Return how dark a gray is in %, from white (0) to black (100); ``None`` for any other color."""
    channels = _channels(value)
    if max(channels) - min(channels) > _GRAY:
        return None
    return 100 * (1 - sum(channels) / (3 * 255))


def _for_dark(value: str) -> str:
    """Lighten a color until it stands out from the dark page's background."""
    ground = _luminance(DARK.plain["surface"])
    hue, light, saturation = colorsys.rgb_to_hls(*(channel / 255 for channel in _channels(value)))
    while light < 0.95 and (_luminance(value) + 0.05) / (ground + 0.05) < _CONTRAST:
        light += 0.02
        rgb: Sequence[float] = colorsys.hls_to_rgb(hue, light, saturation)
        value = "#" + "".join(f"{round(255 * channel):02x}" for channel in rgb)
    return value


def _channels(value: str) -> tuple[int, int, int]:
    return int(value[1:3], 16), int(value[3:5], 16), int(value[5:7], 16)


def _luminance(value: str) -> float:
    """Return the relative luminance (https://www.w3.org/TR/WCAG22/#dfn-relative-luminance)."""
    linear = [
        part / 12.92 if (part := channel / 255) <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for channel in _channels(value)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
