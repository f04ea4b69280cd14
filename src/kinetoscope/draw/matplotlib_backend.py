"""Timelines, ladders and cards as matplotlib figures: PDF and PNG for paper, thumbnails and other sites.

The geometry and the colors are those of the page.  matplotlib is imported only when something is drawn, and
only its Agg classes are used, so that the program's own backend stays as it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kinetoscope.draw.geometry import Style
from kinetoscope.draw.ladder import CPU_HEIGHT, CPU_TOP, GPU_HEIGHT, GPU_TOP, HEIGHT, common_scale
from kinetoscope.draw.layout import LayoutError, lay_out
from kinetoscope.draw.names import clean
from kinetoscope.draw.palette import DARK, LIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from kinetoscope.draw.geometry import Arrow, Bar, Label, Layout
    from kinetoscope.draw.ladder import Scale, Strip
    from kinetoscope.draw.palette import Theme
    from kinetoscope.trace import Trace

PX_PER_INCH = 96
"""A px of the layout is a px of CSS"""
THUMBNAIL = (400, 280)
"""px"""
CARD = (1200, 630)
"""px, the size that sites ask for that show a card of a page"""
MOST_PX = 20_000
"""the most px that a picture may be high: matplotlib draws no 2**16 pixels, and two to a px"""
FADED = 0.32
"""Opacity of work of another step; the stylesheet's ``.ks-faded`` has the same"""
_FONT = "DejaVu Sans"
_NAMELESS: dict[str, dict[str, str | None]] = {
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "png": {"Software": None},
}
"""Metadata by file type that leave out the date and the version"""


def _empty_figure(width: float, height: float, theme: Theme) -> tuple[Figure, Axes]:
    """Return a figure of this size in px, and axes that cover it: a unit is a px, y grows downwards."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / PX_PER_INCH, height / PX_PER_INCH), dpi=PX_PER_INCH)
    FigureCanvasAgg(figure)
    figure.set_facecolor(theme.plain["surface"])
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    return figure, axes


def _write(figure: Figure, path: Path | str, noun: str, dpi: int) -> None:
    """Write the figure; the same figure gives the same bytes.  Raises ValueError for neither PNG nor PDF."""
    from matplotlib import rc_context

    file_type = str(path).rpartition(".")[2].lower()
    if file_type not in _NAMELESS:
        raise ValueError(f"{path}: a {noun} is saved as .png or .pdf")
    # Type 42 keeps the text of a PDF searchable.
    with rc_context({"pdf.fonttype": 42}):
        figure.savefig(path, format=file_type, dpi=dpi, metadata=_NAMELESS[file_type])


# --- timelines ----------------------------------------------------------------------------------------------


def draw_timeline(layout: Layout, *, dark: bool = False) -> Figure:
    """Draw the picture as a figure of its own size."""
    theme = DARK if dark else LIGHT
    figure, axes = _empty_figure(layout.width, layout.height, theme)
    if layout.note:
        _text(axes, layout.width / 2, layout.height / 2, layout.note, layout, theme.plain["muted"], "center")
        return figure
    _background(axes, layout, theme)
    for arrow in layout.arrows:
        _arrow(axes, arrow, theme)
    for bar in layout.bars:
        _bar(axes, bar, layout, theme)
    if layout.style.heading:
        for lane in layout.lanes:
            x, y, plain = layout.style.side, lane.label_y - 4, theme.plain
            _text(axes, x, y, lane.label, layout, plain["muted"], "left", halo=plain["band"])
    return figure


def save_timeline(layout: Layout, path: Path | str, *, dark: bool = False, dpi: int = 192) -> None:
    """Write the picture to ``path`` as what its suffix says; the same layout gives the same bytes.

    Raises ValueError for a suffix other than ``.png`` and ``.pdf``, and
    :class:`~kinetoscope.draw.layout.LayoutError` for a picture that matplotlib cannot hold.
    """
    if layout.height > MOST_PX or layout.width * layout.height > MOST_PX * 1500:
        raise LayoutError(
            f"the picture would be {layout.width:.0f} px wide and {layout.height:.0f} px high, for it has "
            f"{len(layout.lanes)} lanes; choose one step or a zoom, or write an .svg file."
        )
    _write(draw_timeline(layout, dark=dark), path, "timeline", dpi)


def thumbnail(trace: Trace, path: Path | str) -> None:
    """Write the gallery's 400 x 280 px picture of ``trace``, a PNG.

    Galleries show it at less than half that size, so names are large, or left out if there are many rows.
    """
    style = Style(font=21, row=30, gap=3, side=8, pad=6, heading=0, between=4, fan=36, axis=10, least=4)
    layout = lay_out(trace, width=THUMBNAIL[0], style=style)
    rows = sum(lane.rows for lane in layout.lanes)
    if layout.height > THUMBNAIL[1]:
        row = max(4.0, style.row - (layout.height - THUMBNAIL[1]) / rows)
        style = replace(style, font=min(21, row - 4), row=row, gap=min(3, row / 6))
        layout = lay_out(trace, width=THUMBNAIL[0], style=style)
    figure = draw_timeline(layout)
    figure.set_size_inches(THUMBNAIL[0] / PX_PER_INCH, THUMBNAIL[1] / PX_PER_INCH)
    # A picture that is too high is cut off at the bottom; a lower one stands in the middle.
    spare = max(0.0, (THUMBNAIL[1] - layout.height) / 2)
    figure.axes[0].set_ylim(THUMBNAIL[1] - spare, -spare)
    _write(figure, path, "thumbnail", PX_PER_INCH)


def _background(axes: Axes, layout: Layout, theme: Theme) -> None:
    from matplotlib.patches import Rectangle

    plain, style = theme.plain, layout.style
    bottom = layout.height - style.axis
    for band in layout.bands:
        axes.add_patch(Rectangle((band.x, 0), band.w, bottom, color=plain["band"], lw=0, zorder=0))
    for lane in layout.lanes:
        if lane.id.on_gpu:
            wide = layout.width - 2 * style.side
            track = Rectangle((style.side, lane.y), wide, lane.height, color=plain["idle"], lw=0, zorder=1)
            axes.add_patch(track)
    for tick in layout.ticks:
        axes.plot([tick.x, tick.x], [0, bottom + 3], color=plain["grid"], lw=0.75, zorder=1.5)
        if tick.label and style.axis > style.font:
            _text(axes, tick.label_x, bottom + style.font, tick.label, layout, plain["muted"], "center")


def _arrow(axes: Axes, arrow: Arrow, theme: Theme) -> None:
    from matplotlib.patches import PathPatch, Polygon
    from matplotlib.path import Path

    x1, x2, y2, turn, level = arrow.x1, arrow.x2, arrow.y2, arrow.turn, arrow.level
    reach = (level - turn) * 0.7
    alpha = FADED if arrow.faded else 1
    color = theme.plain["arrow"]
    points = [(x1, arrow.y1), (x1, turn), (x1, turn + reach), (x2, level - reach), (x2, level), (x2, y2 - 4)]
    codes = [Path.MOVETO, Path.LINETO, Path.CURVE4, Path.CURVE4, Path.CURVE4, Path.LINETO]
    axes.add_patch(PathPatch(Path(points, codes), fill=False, ec=color, lw=0.8, alpha=alpha, zorder=2))
    head = [(x2 - 3, y2 - 5), (x2 + 3, y2 - 5), (x2, y2)]
    axes.add_patch(Polygon(head, closed=True, color=color, lw=0, alpha=alpha, zorder=2))


def _bar(axes: Axes, bar: Bar, layout: Layout, theme: Theme) -> None:
    from matplotlib.patches import FancyBboxPatch

    color = theme.kinds[bar.kind]
    edge, width = (theme.plain["highlight"], 1.9) if bar.highlighted else (color.edge, 0.55)
    dashes = "-"
    if not bar.highlighted and (bar.changes == ("gone",) or bar.changes == ("new",)):
        edge, width = theme.plain["text"], 1.5
        dashes = "--" if bar.changes == ("gone",) else "-"
    # Rounding makes the box larger, so it shrinks by as much first.
    round_by = min(2.0, bar.w / 2, bar.h / 2)
    axes.add_patch(
        FancyBboxPatch(
            (bar.x, bar.y), bar.w, bar.h, boxstyle=f"round,pad=0,rounding_size={round_by}",
            fc=color.fill, ec=edge, lw=width, ls=dashes, alpha=FADED if bar.faded else 1,
            zorder=3 + bar.highlighted,
        )
    )  # fmt: skip
    if bar.label:
        _label(axes, bar, bar.label, layout, theme)


def _label(axes: Axes, bar: Bar, label: Label, layout: Layout, theme: Theme) -> None:
    middle = bar.y + bar.h / 2
    if label.place == "inside":
        ink = theme.kinds[bar.kind].ink
        _text(axes, label.start, middle, label.name, layout, ink, "left")
        if label.time:
            _text(axes, label.end, middle, label.time, layout, ink, "right")
        return
    text = f"{label.name}  {label.time}" if label.time else label.name
    x, side = (label.start, "left") if label.place == "right" else (label.end, "right")
    ground = theme.plain["idle" if layout.lanes[bar.lane].id.on_gpu else "band"]
    _text(axes, x, middle, text, layout, theme.plain["text"], side, halo=ground)


def _text(
    axes: Axes, x: float, y: float, text: str, layout: Layout, color: str, align: str, *, halo: str = ""
) -> None:
    """Write text with its middle at ``y``; a dollar sign in it does not start mathematics."""
    from matplotlib.patheffects import withStroke

    axes.text(
        x, y, clean(text), color=color, ha=align, va="center_baseline", parse_math=False, zorder=5,
        family=_FONT, fontsize=layout.style.font * 72 / PX_PER_INCH,
        path_effects=[withStroke(linewidth=3, foreground=halo)] if halo else None,
    )  # fmt: skip


# --- ladders and cards --------------------------------------------------------------------------------------


def save_ladder(strips: Sequence[Strip], path: Path | str, *, width: float = 640, dpi: int = 192) -> None:
    """Write the strips below each other, with their names and the axis.

    ``width`` is in px of CSS.  The same strips give the same bytes.  Raises ValueError for a suffix other
    than ``.png`` and ``.pdf``.
    """
    each = HEIGHT + 22
    height = each * len(strips) + 26
    figure, axes = _empty_figure(width, height, LIGHT)
    scale = common_scale(strips)
    for number, strip in enumerate(strips):
        top = number * each
        axes.text(4, top + 12, strip.name, fontsize=8, family="DejaVu Sans Mono", color=LIGHT.plain["muted"])
        _draw_strip(axes, strip, scale, (4, top + 18), width - 8, LIGHT)
    for at, text in scale.ticks:
        axes.text(
            min(4 + at * (width - 8), width - 30), height - 8, text, fontsize=8,
            family=_FONT, color=LIGHT.plain["muted"],
        )  # fmt: skip
    _write(figure, path, "ladder", dpi)


def save_card(strips: Sequence[Strip], path: Path | str, *, title: str, below: str) -> None:
    """Write a PNG of 1200 x 630 px: ``title``, the strips without words, and a line ``below`` them."""
    from textwrap import wrap

    wide, high = CARD
    theme = DARK
    figure, axes = _empty_figure(wide, high, theme)
    lines = wrap(title, 34)[:2]
    for number, line in enumerate(lines):
        axes.text(
            72, 112 + 66 * number, line, fontsize=39, weight="bold", family=_FONT,
            color=theme.plain["text"], parse_math=False,
        )  # fmt: skip
    axes.text(72, high - 48, below, fontsize=18, family=_FONT, color=theme.plain["muted"], parse_math=False)
    top = 112 + 66 * len(lines) - 24
    room = high - 96 - top
    # On a card, strips beyond these would be a few pixels high.
    shown = strips[:7]
    each = room / max(len(shown), 1)
    scale = common_scale(shown)
    for number, strip in enumerate(shown):
        _draw_strip(axes, strip, scale, (72, top + number * each), wide - 144, theme, tall=each * 0.82)
    _write(figure, path, "card", PX_PER_INCH)


def _draw_strip(
    axes: Axes, strip: Strip, scale: Scale, corner: tuple[float, float], width: float, theme: Theme,
    *, tall: float = HEIGHT,
) -> None:  # fmt: skip
    """Draw one strip with its upper left at ``corner`` (px, y downwards)."""
    from matplotlib.patches import Rectangle

    left, top = corner
    factor = tall / HEIGHT

    def bar(start: float, end: float, y: float, h: float, color: str, alpha: float, order: float) -> None:
        x, w = left + start / scale.length * width, max((end - start) / scale.length * width, 1.5)
        axes.add_patch(
            Rectangle((x, top + y * factor), w, h * factor, color=color, alpha=alpha, lw=0, zorder=order)
        )

    bar(0, strip.cpu_end, 0, HEIGHT, theme.plain["band"], 1, 0)
    bar(0, strip.end, GPU_TOP, GPU_HEIGHT, theme.plain["idle"], 1, 1)
    for mark in strip.marks:
        y, h = (GPU_TOP, GPU_HEIGHT) if mark.on_gpu else (CPU_TOP, CPU_HEIGHT)
        bar(mark.start, mark.end, y, h, theme.kinds[mark.kind].fill, FADED if mark.faded else 1, 2)
