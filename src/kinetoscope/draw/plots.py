"""An example's own matplotlib figure for a page: as SVG, in words, and in the page's light and dark colors.

The recording keeps the figure as SVG in its own colors.  A build replaces them, so that the look of a page
can change without a new recording.
"""

from __future__ import annotations

import colorsys
import io
import re
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kinetoscope.draw.palette import DARK, LIGHT
from kinetoscope.measure.printing import printed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

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

    For example: "Time of one call: in µs, naive 17.1, compiled 6.2." or "Time: µs against rows; lines: eager,
    compiled; from 1 to 8192 across, and from 6.2 to 17.1 in height."  What is drawn in another way is only
    called what it is.
    """
    above = figure.get_suptitle()
    parts = [part for axes in figure.axes if (part := _describe_axes(axes))]
    return f"{above}. {' '.join(parts)}" if above else " ".join(parts)


def _describe_axes(axes: Axes) -> str:
    title = next((text for loc in ("left", "center", "right") if (text := axes.get_title(loc=loc))), "")
    try:
        what = _contents(axes)
    except Exception:
        # Nothing that an example can draw may fail it for want of a description.
        what = "a plot"
    ending = "" if what.endswith(".") or not (title or what) else "."
    return ": ".join(part for part in (title, what) if part) + ending


def _contents(axes: Axes) -> str:
    from matplotlib.container import BarContainer
    from matplotlib.patches import Wedge

    if axes.get_label() == "<colorbar>" or not axes.has_data():
        return ""
    if axes.name == "3d":
        return _lines_in_space(axes) or "a plot in three dimensions"
    if axes.name != "rectilinear":
        return f"a {axes.name} plot"
    if bars := [each for each in axes.containers if isinstance(each, BarContainer) and each.patches]:
        return _bars(axes, bars)
    if wedges := [patch for patch in axes.patches if isinstance(patch, Wedge)]:
        return _listed(
            f"{_label(each)} {printed((each.theta2 - each.theta1) / 360, 'share')}".strip() for each in wedges
        )
    if axes.images:
        return f"an image of {' by '.join(map(str, axes.images[0].get_size()))} values"
    return _lines(axes) or f"a plot of {_against(axes)}"


def _bars(axes: Axes, containers: Sequence[BarContainer]) -> str:
    """Name each bar with its length, and each set of bars with its label if there is more than one."""
    upright = containers[0].orientation == "vertical"
    sets = []
    for container in containers:
        # (left or lower edge, width, length) of each bar
        bars = [
            (bar.get_x(), bar.get_width(), bar.get_height())
            if upright
            else (bar.get_y(), bar.get_height(), bar.get_width())
            for bar in container.patches
        ]
        sets.append((_label(container), bars))
    middles = [[x + width / 2 for x, width, _ in bars] for _, bars in sets]
    name = _namer(axes.xaxis if upright else axes.yaxis, middles)
    unit = axes.get_ylabel() if upright else axes.get_xlabel()
    if len(sets) == 1 and name is _number and _touch(sets[0][1]):
        (left, _, _), (x, width, _) = sets[0][1][0], sets[0][1][-1]
        counts = _listed(f"{count:.3g}" for _, _, count in sets[0][1])
        return _after(unit, f"bins with {counts}, from {left:g} to {x + width:g}")
    named = [
        (
            label,
            [f"{name(at)} {_three_digits(length)}" for at, (_, _, length) in zip(places, bars, strict=True)],
        )
        for (label, bars), places in zip(sets, middles, strict=True)
    ]
    return _after(unit, _sets(named))


def _touch(bars: Sequence[tuple[float, float, float]]) -> bool:
    """Tell whether each bar begins where the one before it ends, as the bins of a histogram do."""
    return len(bars) > 1 and all(
        abs(x + width - following) <= 1e-6 * abs(width) for (x, width, _), (following, _, _) in pairwise(bars)
    )


def _lines(axes: Axes) -> str:
    """Describe lines, or scattered points if there are none; empty without either.

    A few points whose places have names are listed.  Else say what is plotted against what, name the lines,
    and give their range.
    """
    import numpy as np
    from matplotlib.collections import PathCollection
    from matplotlib.container import ErrorbarContainer, StemContainer

    # Lines that are no data: the caps of error bars, what stems stand on, and lines across the whole plot.
    aside: set[object] = set()
    labels: dict[object, str] = {}
    for container in axes.containers:
        if isinstance(container, ErrorbarContainer):
            line, caps, _ = container.lines
            aside.update(caps)
            labels[line] = _label(container)
        elif isinstance(container, StemContainer):
            aside.add(container.baseline)
            labels[container.markerline] = _label(container)
    drawn = [
        (labels.get(line) or _label(line), _finite(line.get_xydata()))
        for line in axes.get_lines()
        if line not in aside
        and np.size(line.get_xdata()) > 1
        and all(line.get_transform().contains_branch_seperately(axes.transData))
    ]
    what, one = "lines", "a line"
    if not drawn:
        scattered = [each for each in axes.collections if isinstance(each, PathCollection)]
        drawn = [(_label(each), _finite(each.get_offsets())) for each in scattered]
        what, one = "points", "points"
    if not drawn:
        return ""
    places, values = np.concatenate([points for _, points in drawn]).T
    if not places.size:
        return f"{_against(axes)}, without values"
    across = _namer(axes.xaxis, [points[:, 0] for _, points in drawn])
    height = _namer(axes.yaxis, [points[:, 1] for _, points in drawn], number=_three_digits)
    if across is not _number and places.size <= _MOST:
        named = [(label, [f"{across(x)} {height(y)}" for x, y in points]) for label, points in drawn]
        return _after(axes.get_ylabel(), _sets(named))
    # Lines without a label often have their names written beside them.
    names = [label for label, _ in drawn if label] or [
        text.get_text() for text in axes.texts if text.get_text().strip()
    ]
    count = f"{what}: {_listed(names)}" if names else one if len(drawn) == 1 else f"{len(drawn)} {what}"
    return (
        f"{_against(axes)}; {count}; from {across(places.min())} to {across(places.max())} across, "
        f"and from {height(values.min())} to {height(values.max())} in height"
    )


def _lines_in_space(axes: Axes) -> str:
    """Give the range of lines in each of three dimensions; empty without lines."""
    import numpy as np

    drawn: Iterable[Any] = axes.get_lines()
    lines = [np.column_stack(line.get_data_3d()) for line in drawn]
    points = _finite(np.concatenate(lines)) if lines else np.empty(0)
    if not points.size:
        return ""
    what = "a line" if len(lines) == 1 else f"{len(lines)} lines"
    ranges = [
        f"{getattr(axes, f'get_{axis}label')() or axis} from {of.min():g} to {of.max():g}"
        for axis, of in zip("xyz", points.T, strict=True)
    ]
    return f"{what} in three dimensions; {', '.join(ranges)}"


def _finite(points: Any) -> NDArray[Any]:
    """Return those of the points, a row each, of which every coordinate has a value."""
    import numpy as np

    rows: NDArray[Any] = np.ma.filled(np.ma.asarray(points, dtype=float), np.nan)
    finite: NDArray[Any] = rows[np.isfinite(rows).all(axis=1)]
    return finite


def _label(artist: Any) -> str:
    """Return what a legend calls it; empty if it is in no legend."""
    label = str(artist.get_label() or "")
    return "" if label.startswith("_") else label


def _against(axes: Axes) -> str:
    return f"{axes.get_ylabel() or 'y'} against {axes.get_xlabel() or 'x'}"


def _number(value: float) -> str:
    return f"{value:g}"


def _three_digits(value: float) -> str:
    return "no value" if value != value else f"{value:.3g}"


def _namer(
    axis: Axis, sets: Sequence[Iterable[float]], number: Callable[[float], str] = _number
) -> Callable[[float], str]:
    """Return what calls a place on the axis by its category, label or date; ``number`` if it has none.

    ``sets`` are the places that will be asked for, those of a line or a set of bars together.
    """
    from matplotlib import dates
    from matplotlib.category import StrCategoryFormatter
    from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter

    formatter, locator = axis.get_major_formatter(), axis.get_major_locator()
    if isinstance(formatter, StrCategoryFormatter):
        return lambda place: formatter(place) or number(place)
    if isinstance(locator, FixedLocator) and isinstance(formatter, (FixedFormatter, FuncFormatter)):
        ticks = axis.get_majorticklocs().tolist()
        if labels := {
            at: text for at, text in zip(ticks, formatter.format_ticks(ticks), strict=True) if text
        }:
            # Bars of a group stand beside their label, but nearer to it than to their neighbors of a set.
            near = min(_distance(places) for places in [*sets, list(labels)]) / 2

            def labeled(place: float) -> str:
                tick = min(labels, key=lambda tick: abs(tick - place))
                return labels[tick] if abs(tick - place) < near else number(place)

            return labeled
    frequency = getattr(axis, "freq", None)  # pandas draws dates as the number of a period
    if frequency or isinstance(locator, dates.DateLocator):

        def day_of(place: float) -> Any:
            if not frequency:
                return dates.num2date(place)  # type: ignore[no-untyped-call]
            import pandas

            return pandas.Period(ordinal=round(place), freq=frequency).to_timestamp()

        days = [day_of(place) for places in sets for place in places]
        year = " %Y" if len({day.year for day in days}) > 1 else ""
        clock = " %H:%M:%S" if any(day.second for day in days) else " %H:%M"
        clock = clock if any(day.hour or day.minute or day.second for day in days) else ""
        return lambda place: f"{day_of(place).day} {day_of(place).strftime(f'%B{year}{clock}')}"
    return number


def _distance(places: Iterable[float]) -> float:
    """Return the smallest distance between two of the places; infinite if there are no two."""
    ordered = sorted(places)
    return min((b - a for a, b in pairwise(ordered)), default=float("inf"))


def _sets(named: Sequence[tuple[str, Sequence[str]]]) -> str:
    """List the texts of each set; with several sets, each after its label."""
    if len(named) == 1 or not any(label for label, _ in named):
        return _listed(text for _, texts in named for text in texts)
    left, listed = _MOST, []
    for label, texts in named:
        if shown := ", ".join(texts[: max(0, left)]):
            listed.append(f"{label}: {shown}" if label else shown)
        left -= len(texts)
    return "; ".join(listed) + (f", and {-left} more" if left < 0 else "")


def _listed(texts: Iterable[str]) -> str:
    every = list(texts)
    rest = [f"and {len(every) - _MOST} more"] if len(every) > _MOST else []
    return ", ".join([*every[:_MOST], *rest])


def _after(unit: str, text: str) -> str:
    return f"{unit}, {text}" if unit else text


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
