"""A layout as a matplotlib figure: for PDF and PNG, and for the gallery's thumbnails.

The geometry and the colours are those of the page.  matplotlib is imported only when something is
drawn, through its Agg classes, so that the program's own backend is left alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinetoscope.draw.geometry import Style
from kinetoscope.draw.layout import lay_out
from kinetoscope.draw.names import clean
from kinetoscope.draw.palette import DARK, LIGHT

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from kinetoscope.draw.geometry import Arrow, Bar, Label, Layout
    from kinetoscope.draw.palette import Theme
    from kinetoscope.trace.events import Trace

PX_PER_INCH = 96
"""A px of the layout is a px of CSS"""
THUMBNAIL = (400, 280)
"""px"""


def draw(layout: Layout, *, dark: bool = False) -> Figure:
    """The picture as a figure of its own size; the caller saves it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size = (layout.width / PX_PER_INCH, layout.height / PX_PER_INCH)
    figure = Figure(figsize=size, dpi=PX_PER_INCH)
    FigureCanvasAgg(figure)
    theme = DARK if dark else LIGHT
    figure.set_facecolor(theme.plain["surface"])
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, layout.width)
    axes.set_ylim(layout.height, 0)
    if layout.note:
        _text(axes, layout.width / 2, layout.height / 2, layout.note, layout, theme.plain["muted"], "center")
        return figure
    _ground(axes, layout, theme)
    for arrow in layout.arrows:
        _arrow(axes, arrow, theme)
    for bar in layout.bars:
        _bar(axes, bar, layout, theme)
    if layout.style.heading:
        for lane in layout.lanes:
            x, y, plain = layout.style.side, lane.label_y - 4, theme.plain
            _text(axes, x, y, lane.label, layout, plain["muted"], "left", halo=plain["band"])
    return figure


def save(layout: Layout, path: Path | str, *, dark: bool = False, dpi: int = 192) -> None:
    """Write the picture to ``path``, as what its suffix says (``.png`` or ``.pdf``).

    The same layout gives the same bytes: no date and no version goes into the file.
    """
    from matplotlib import rc_context

    nameless: dict[str, dict[str, str | None]] = {
        "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
        "png": {"Software": None},
    }
    kind = str(path).rpartition(".")[2].lower()
    if kind not in nameless:
        raise ValueError(f"{path}: a timeline is saved as .png or .pdf")
    # Type 42 keeps the text of a PDF searchable.
    with rc_context({"pdf.fonttype": 42}):
        draw(layout, dark=dark).savefig(path, format=kind, dpi=dpi, metadata=nameless[kind])


def thumbnail(trace: Trace, path: Path | str) -> None:
    """Write the gallery's 400 x 280 px picture of ``trace``.

    Galleries show it at less than half that, so the names are large, and left out where rows are many.
    """
    style = Style(font=21, row=30, gap=3, side=8, pad=6, heading=0, between=4, fan=36, axis=10, least=4)
    layout = lay_out(trace, width=THUMBNAIL[0], style=style)
    rows = sum(lane.rows for lane in layout.lanes)
    if layout.height > THUMBNAIL[1]:
        row = max(4.0, style.row - (layout.height - THUMBNAIL[1]) / rows)
        style = Style(
            font=min(21, row - 4), row=row, gap=min(3, row / 6), side=8, pad=6, heading=0, between=4, fan=36,
            axis=10, least=4,
        )  # fmt: skip
        layout = lay_out(trace, width=THUMBNAIL[0], style=style)
    figure = draw(layout)
    figure.set_size_inches(THUMBNAIL[0] / PX_PER_INCH, THUMBNAIL[1] / PX_PER_INCH)
    # More rows than can be told apart are cut off at the bottom; fewer stand in the middle.
    spare = max(0.0, (THUMBNAIL[1] - layout.height) / 2)
    figure.axes[0].set_ylim(THUMBNAIL[1] - spare, -spare)
    figure.savefig(path, format="png", dpi=PX_PER_INCH, metadata={"Software": None})


def _ground(axes: Axes, layout: Layout, theme: Theme) -> None:
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
    colour = theme.plain["arrow"]
    points = [(x1, arrow.y1), (x1, turn), (x1, turn + reach), (x2, level - reach), (x2, level), (x2, y2 - 4)]
    codes = [Path.MOVETO, Path.LINETO, Path.CURVE4, Path.CURVE4, Path.CURVE4, Path.LINETO]
    axes.add_patch(PathPatch(Path(points, codes), fill=False, ec=colour, lw=0.8, alpha=alpha, zorder=2))
    head = [(x2 - 3, y2 - 5), (x2 + 3, y2 - 5), (x2, y2)]
    axes.add_patch(Polygon(head, closed=True, color=colour, lw=0, alpha=alpha, zorder=2))


FADED = 0.32
"""Opacity of what belongs to another step; the style sheet's ``.ks-faded`` has the same"""


def _bar(axes: Axes, bar: Bar, layout: Layout, theme: Theme) -> None:
    from matplotlib.patches import FancyBboxPatch

    colour = theme.kinds[bar.kind]
    edge, width = (theme.plain["highlight"], 1.9) if bar.highlighted else (colour.edge, 0.55)
    dashes = "-"
    if not bar.highlighted and (bar.changes == ("gone",) or bar.changes == ("new",)):
        edge, width = theme.plain["text"], 1.5
        dashes = "--" if bar.changes == ("gone",) else "-"
    # Rounding makes the box larger, so it shrinks by as much first.
    round_by = min(2.0, bar.w / 2, bar.h / 2)
    axes.add_patch(
        FancyBboxPatch(
            (bar.x, bar.y), bar.w, bar.h, boxstyle=f"round,pad=0,rounding_size={round_by}",
            fc=colour.fill, ec=edge, lw=width, ls=dashes, alpha=FADED if bar.faded else 1,
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
    axes: Axes, x: float, y: float, text: str, layout: Layout, colour: str, align: str, *, halo: str = ""
) -> None:
    """Text with its middle at ``y``; a dollar sign is a dollar sign, not mathematics."""
    from matplotlib.patheffects import withStroke

    axes.text(
        x, y, clean(text), color=colour, ha=align, va="center_baseline", parse_math=False, zorder=5,
        family="DejaVu Sans", fontsize=layout.style.font * 72 / PX_PER_INCH,
        path_effects=[withStroke(linewidth=3, foreground=halo)] if halo else None,
    )  # fmt: skip
