"""A ladder as a matplotlib figure: for paper, and for the card that other sites show of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinetoscope.draw.ladder import (
    CPU_HEIGHT,
    CPU_TOP,
    GPU_HEIGHT,
    GPU_TOP,
    HEIGHT,
    common_scale,
)
from kinetoscope.draw.matplotlib_backend import FADED, PX_PER_INCH
from kinetoscope.draw.palette import DARK, LIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from kinetoscope.draw.ladder import Scale, Strip
    from kinetoscope.draw.palette import Theme

CARD = (1200, 630)
"""px, what sites that show a card ask for"""
_NAMELESS: dict[str, dict[str, str | None]] = {
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "png": {"Software": None},
}


def save_ladder(strips: Sequence[Strip], path: Path | str, *, width: float = 640, dpi: int = 192) -> None:
    """Write the strips under each other with their names and the axis, as ``.png`` or ``.pdf``.

    ``width`` is in px of CSS.  The same strips give the same bytes.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    kind = str(path).rpartition(".")[2].lower()
    if kind not in _NAMELESS:
        raise ValueError(f"{path}: a ladder is saved as .png or .pdf")
    each = HEIGHT + 22
    height = each * len(strips) + 26
    figure = Figure(figsize=(width / PX_PER_INCH, height / PX_PER_INCH), dpi=PX_PER_INCH)
    FigureCanvasAgg(figure)
    axes = _plain_axes(figure.add_axes((0, 0, 1, 1)), width, height)
    scale = common_scale(strips)
    for number, strip in enumerate(strips):
        top = number * each
        axes.text(4, top + 12, strip.name, fontsize=8, family="DejaVu Sans Mono", color=LIGHT.plain["muted"])
        draw_strip(axes, strip, scale, (4, top + 18), width - 8, LIGHT)
    for at, text in scale.ticks:
        axes.text(
            min(4 + at * (width - 8), width - 30), height - 8, text, fontsize=8,
            family="DejaVu Sans", color=LIGHT.plain["muted"],
        )  # fmt: skip
    # Type 42 keeps the text of a PDF searchable.
    with rc_context({"pdf.fonttype": 42}):
        figure.savefig(path, format=kind, dpi=dpi, metadata=_NAMELESS[kind])


def save_card(strips: Sequence[Strip], path: Path | str, *, title: str, below: str) -> None:
    """Write a card of 1200 x 630 px: ``title``, the strips without words, and a line ``below`` them (PNG)."""
    from textwrap import wrap

    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    wide, high = CARD
    figure = Figure(figsize=(wide / PX_PER_INCH, high / PX_PER_INCH), dpi=PX_PER_INCH)
    FigureCanvasAgg(figure)
    theme = DARK
    figure.set_facecolor(theme.plain["surface"])
    axes = _plain_axes(figure.add_axes((0, 0, 1, 1)), wide, high)
    lines = wrap(title, 34)[:2]
    for number, line in enumerate(lines):
        axes.text(
            72, 112 + 66 * number, line, fontsize=39, weight="bold", family="DejaVu Sans",
            color=theme.plain["text"], parse_math=False,
        )  # fmt: skip
    axes.text(
        72, high - 48, below, fontsize=18, family="DejaVu Sans", color=theme.plain["muted"], parse_math=False
    )
    top = 112 + 66 * len(lines) - 24
    room = high - 96 - top
    shown = strips[:7]
    # What the shortest strips show would be a few pixels of a card.
    each = room / max(len(shown), 1)
    scale = common_scale(shown)
    for number, strip in enumerate(shown):
        draw_strip(axes, strip, scale, (72, top + number * each), wide - 144, theme, tall=each * 0.82)
    figure.savefig(path, format="png", dpi=PX_PER_INCH, metadata=_NAMELESS["png"])


def draw_strip(
    axes: Axes, strip: Strip, scale: Scale, corner: tuple[float, float], width: float, theme: Theme,
    *, tall: float = HEIGHT,
) -> None:  # fmt: skip
    """Draw one strip with its upper left at ``corner`` (px, y downwards)."""
    from matplotlib.patches import Rectangle

    left, top = corner
    factor = tall / HEIGHT

    def bar(start: float, end: float, y: float, h: float, colour: str, alpha: float, order: float) -> None:
        x, w = left + start / scale.length * width, max((end - start) / scale.length * width, 1.5)
        axes.add_patch(
            Rectangle((x, top + y * factor), w, h * factor, color=colour, alpha=alpha, lw=0, zorder=order)
        )

    bar(0, strip.cpu_end, 0, HEIGHT, theme.plain["band"], 1, 0)
    bar(0, strip.end, GPU_TOP, GPU_HEIGHT, theme.plain["idle"], 1, 1)
    for mark in strip.marks:
        y, h = (GPU_TOP, GPU_HEIGHT) if mark.on_gpu else (CPU_TOP, CPU_HEIGHT)
        bar(mark.start, mark.end, y, h, theme.kinds[mark.kind].fill, FADED if mark.faded else 1, 2)


def _plain_axes(axes: Axes, width: float, height: float) -> Axes:
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    return axes
