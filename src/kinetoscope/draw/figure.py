"""A timeline as SVG: inside a page's figure, or as a file of its own.

In a page the colors are CSS classes only, so that one drawing serves light and dark.  Lengths have at most
one decimal and ids come from the caller, so that the same trace always gives the same bytes.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING

from kinetoscope.draw.describe import describe, facts, headline
from kinetoscope.draw.layout import lay_out
from kinetoscope.draw.names import clean
from kinetoscope.draw.palette import CHANGE_LABELS, CHANGE_SIGNS, DARK, KIND_LABELS, LIGHT
from kinetoscope.draw.viewer import read_static
from kinetoscope.measure.printing import format_time

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kinetoscope.draw.geometry import Arrow, Bar, Label, Layout
    from kinetoscope.draw.layout import TimelineOptions
    from kinetoscope.draw.palette import Theme
    from kinetoscope.trace import Event, Trace

WIDE_PX, NARROW_PX = 640, 340
"""The two widths drawn; the stylesheet's container query chooses between them"""

_IN_TOOLTIP = frozenset({"grid", "block", "registers", "shared memory", "bytes", "stream", "shapes"})
"""Facts that a tooltip of a few lines has room for"""


# --- the figure in a page -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TimelineFigure:
    """A drawn timeline for a page."""

    opening: str
    """HTML of the ``<figure>`` with its drawings and legend.  The element is still open: a caption and
    other parts may follow."""
    description: str
    """The picture in words"""

    def html(self, *parts: str) -> str:
        """Return the whole ``<figure>``, with more ``parts`` (HTML) below the legend."""
        return self.opening + "".join(f"{part}\n" for part in (*parts, "</figure>"))


def draw_figure(
    trace: Trace,
    options: TimelineOptions | None = None,
    *,
    ident: str,
    title: str | None = None,
    name: str = "",
) -> TimelineFigure:
    """Draw a ``<figure class="ks-timeline">`` that reads well from 340 px to the page's full width.

    ``ident`` becomes the figure's id and must be unique in the page.  ``title`` is plain text; if it is not
    given, the title says what the figure covers, after the trace's ``name`` if that is given.

    Raises :class:`~kinetoscope.draw.layout.LayoutError` as ``lay_out`` does, and ValueError for an
    ``ident`` that is no HTML id.
    """
    if not re.fullmatch(r"[A-Za-z][\w.:-]*", ident):
        raise ValueError(f"{ident!r} is not an id: use a letter, then letters, digits, . : _ or -")
    wide, narrow = (lay_out(trace, options, width=width) for width in (WIDE_PX, NARROW_PX))
    title = title or (f"{name}: " if name else "") + headline(trace, wide)
    description = describe(trace, wide)
    compared = " ks-compared" if options is not None and options.changes is not None else ""
    span = f'data-start="{wide.window.start}" data-end="{wide.window.end}"'
    lines = [
        f'<figure class="ks-timeline{compared}" id="{ident}" {span}>',
        '<div class="ks-frame"><div class="ks-wide">',
        svg(wide, ident=f"{ident}-wide", title=title, description=description),
        '</div><div class="ks-narrow">',
        svg(narrow, ident=f"{ident}-narrow", title=title, description=description),
        "</div></div>",
        _legend(wide),
    ]
    return TimelineFigure("".join(f"{line}\n" for line in lines if line), description)


def _legend(layout: Layout) -> str:
    """Return a list of what the picture shows, and nothing else; empty if it shows nothing."""
    kinds = {bar.kind for bar in layout.bars}
    entries = [(f"ks-{kind}", label) for kind, label in KIND_LABELS.items() if kind in kinds]
    if any(lane.id.on_gpu for lane in layout.lanes):
        entries.append(("ks-idle", "stream idle"))
    if layout.arrows:
        entries.append(("ks-launch", "launch"))
    if any(bar.highlighted for bar in layout.bars):
        entries.append(("ks-marked", "highlighted"))
    if any(bar.faded for bar in layout.bars):
        entries.append(("ks-faded", "outside the step"))
    changes = {change for bar in layout.bars for change in bar.changes}
    entries += [(f"ks-is-{change}", CHANGE_LABELS[change]) for change in CHANGE_SIGNS if change in changes]
    return legend_html(entries) if entries else ""


def legend_html(entries: Iterable[tuple[str, str]]) -> str:
    """Return a legend of the class of each swatch and its label; that of a change also holds its sign."""
    signs = {f"ks-is-{change}": sign for change, sign in CHANGE_SIGNS.items()}
    items = "".join(
        f'<li><span class="ks-swatch {css}">{signs.get(css, "")}</span>{escape(label)}</li>'
        for css, label in entries
    )
    return f'<ul class="ks-legend">{items}</ul>'


# --- the drawing --------------------------------------------------------------------------------------------


def svg(layout: Layout, *, ident: str, title: str, description: str) -> str:
    """Draw the picture as one ``<svg>`` element.

    ``ident`` must be unique in the page.  Screen readers read ``title`` and ``description``, which are plain
    text.  Every bar carries ``data-event``, its event's index in the trace.
    """
    width, height = _length(layout.width), _length(layout.height)
    ident = escape(clean(ident), quote=True)
    opening = (
        f'<svg class="ks-svg" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        f' role="img" aria-labelledby="{ident}-title" aria-describedby="{ident}-desc"'
        f' font-size="{_length(layout.style.font)}">'
    )
    out = [
        opening,
        f'<title id="{ident}-title">{_text(title)}</title>',
        f'<desc id="{ident}-desc">{_text(description)}</desc>',
    ]
    if layout.note:
        x, y = _length(layout.width / 2), _length(layout.height / 2)
        return "\n".join(
            [*out, f'<text class="ks-note" x="{x}" y="{y}">{_text(layout.note)}</text>', "</svg>"]
        )
    out += _background(layout)
    out += [_arrow(arrow) for arrow in layout.arrows]
    out += [_bar(bar, layout) for bar in layout.bars]
    for lane in layout.lanes:
        if layout.style.heading:
            x, y = _length(layout.style.side), _length(lane.label_y)
            out.append(f'<text class="ks-lane" x="{x}" y="{y}">{_text(lane.label)}</text>')
    out.append("</svg>")
    return "\n".join(out)


def _background(layout: Layout) -> list[str]:
    """Draw what lies behind the bars: step bands, grid, the streams' tracks and the axis."""
    bottom = layout.height - layout.style.axis
    out = []
    for band in layout.bands:
        out.append(
            f'<rect class="ks-band" x="{_length(band.x)}" y="0" width="{_length(band.w)}"'
            f' height="{_length(bottom)}"><title>step {band.number}</title></rect>'
        )
    x, width = _length(layout.style.side), _length(layout.width - 2 * layout.style.side)
    for lane in layout.lanes:
        if lane.id.on_gpu:
            y, height = _length(lane.y), _length(lane.height)
            out.append(f'<rect class="ks-idle" x="{x}" y="{y}" width="{width}" height="{height}"/>')
    marks = "".join(f"M{_length(tick.x)} 0V{_length(bottom + 3)}" for tick in layout.ticks)
    out.append(f'<path class="ks-grid" d="{marks}"/>')
    if layout.style.axis:
        y = _length(bottom + layout.style.font + 4)
        for tick in layout.ticks:
            if tick.label:
                x = _length(tick.label_x)
                out.append(f'<text class="ks-tick" x="{x}" y="{y}">{_text(tick.label)}</text>')
    return out


def _bar(bar: Bar, layout: Layout) -> str:
    classes = f"ks-bar ks-{bar.kind}"
    classes += " ks-on-gpu" if layout.lanes[bar.lane].id.on_gpu else ""
    classes += " ks-faded" if bar.faded else ""
    classes += " ks-marked" if bar.highlighted else ""
    classes += "".join(f" ks-is-{change}" for change in bar.changes)
    label = _label(bar.label, _length(bar.y + bar.h / 2 + layout.style.font * 0.36)) if bar.label else ""
    more = f' data-more="{" ".join(str(event.index) for event in bar.merged)}"' if bar.merged else ""
    x, y, width, height = map(_length, (bar.x, bar.y, bar.w, bar.h))
    return (
        f'<g class="{classes}" data-event="{bar.event.index}"{more}>'
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="2"/>{label}'
        f"<title>{_text(_tooltip(bar, layout.window.start))}</title></g>"
    )


def _label(label: Label, baseline: str) -> str:
    if label.place == "inside":
        name = f'<text x="{_length(label.start)}" y="{baseline}">{_text(label.name)}</text>'
        if not label.time:
            return name
        x = _length(label.end)
        return f'{name}<text class="ks-time" x="{x}" y="{baseline}">{_text(label.time)}</text>'
    x = _length(label.start if label.place == "right" else label.end)
    time = f" <tspan>{_text(label.time)}</tspan>" if label.time else ""
    return f'<text class="ks-beside ks-{label.place}" x="{x}" y="{baseline}">{_text(label.name)}{time}</text>'


def _arrow(arrow: Arrow) -> str:
    reach = (arrow.level - arrow.turn) * 0.7
    x1, x2, y1, turn, level = map(_length, (arrow.x1, arrow.x2, arrow.y1, arrow.turn, arrow.level))
    bend1, bend2 = _length(arrow.turn + reach), _length(arrow.level - reach)
    left, top = _length(arrow.x2 - 3), _length(arrow.y2 - 5)
    faded = " ks-faded" if arrow.faded else ""
    return (
        f'<g class="ks-launch{faded}" data-from="{arrow.call.index}" data-to="{arrow.activity.index}">'
        f'<path d="M{x1} {y1}V{turn}C{x1} {bend1} {x2} {bend2} {x2} {level}V{_length(arrow.y2 - 4)}"/>'
        f'<path class="ks-head" d="M{left} {top}h6L{x2} {_length(arrow.y2)}z"/></g>'
    )


def _tooltip(bar: Bar, origin: int) -> str:
    """Return what is known about a bar as lines of plain text; times count from ``origin`` (ns)."""
    event, events = bar.event, bar.events
    if len(events) > 1:
        names = list(dict.fromkeys(clean(event.name) for event in events))
        more = f" and {len(names) - 3} other names" if len(names) > 3 else ""
        total = format_time(sum(event.dur for event in events))
        return f"{len(events)} events too close to tell apart, {total} in all\n{', '.join(names[:3])}{more}"
    lines = [CHANGE_LABELS[bar.changes[0]]] if bar.changes else []
    # An event may have begun before the window.
    start = event.start - origin
    sign = "\N{MINUS SIGN}" if start < 0 else ""
    lines += [clean(event.name), f"starts at {sign}{format_time(abs(start))}"]
    if event.kind.on_gpu:
        lines.append(f"takes {format_time(event.dur)}")
        if event.launch is not None:
            lines.append(f"launched by {clean(event.launch.name)}{_when(event, event.launch)}")
    else:
        lines.append(f"total {format_time(event.dur)}, self {format_time(event.self_dur)}")
    lines += [f"{label} {value}" for label, value in facts(event, {}) if label in _IN_TOOLTIP]
    return "\n".join(lines)


def _when(activity: Event, call: Event) -> str:
    """Say how long after its launch an activity starts, or why that is not known."""
    if activity.start < call.start:
        return " after it starts: the clocks of CPU and GPU differ"
    if activity.launch_delay is None:
        return f", with {len(call.activities) - 1} more"
    return f", {format_time(activity.launch_delay)} before it starts"


def _length(value: float) -> str:
    """Write a length with at most one decimal."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def _text(text: str) -> str:
    """Escape text for an element, keeping its line breaks."""
    return escape("\n".join(clean(line) for line in text.split("\n")), quote=False)


# --- a file of its own --------------------------------------------------------------------------------------

_FONT = """\
.ks-svg { font-family: system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; }
"""


def standalone_svg(layout: Layout, *, title: str, description: str, dark: bool = False) -> str:
    """Return the text of an SVG file, ``layout.width`` by ``layout.height`` px.

    It holds what a page's stylesheet would say, with the colors written out: Inkscape, librsvg and LaTeX's
    converters know no CSS variables.  A browser also follows the reader's dark theme, unless ``dark`` asks
    for the dark picture everywhere.
    """
    drawing = svg(layout, ident="timeline", title=title, description=description)
    opening, _, rest = drawing.partition(">")
    size = f' width="{layout.width:g}" height="{layout.height:g}"'
    rules = _FONT + _rules(DARK if dark else LIGHT)
    if not dark:
        rules += f"@media (prefers-color-scheme:dark){{\n{_rules(DARK)}}}\n"
    ground = '<rect class="ks-surface" width="100%" height="100%"/>'
    # Screen readers look for title and desc first, so the style comes after them.
    head, desc, body = rest.partition("</desc>")
    return f"{opening}{size}>{head}{desc}\n<style>{rules}</style>\n{ground}{body}\n"


def _rules(theme: Theme) -> str:
    """Return the rules of ``drawing.css``, one to a line there, with a theme's colors for the variables."""
    rules = [f".ks-surface {{ fill: {theme.plain['surface']}; }}"]
    for rule in read_static("drawing.css").splitlines():
        if "{" not in rule:  # a line of a comment
            continue
        if "--ks-fill" in rule or "--ks-ink" in rule:
            rules += [
                _colored(rule.replace(".ks-bar", f".ks-{kind}"), asdict(color))
                for kind, color in theme.kinds.items()
            ]
        else:
            rules.append(_colored(rule, theme.plain))
    return "\n".join(rules) + "\n"


def _colored(rule: str, colors: dict[str, str]) -> str:
    return re.sub(r"var\(--ks-(\w+)\)", lambda variable: colors[variable[1]], rule)
