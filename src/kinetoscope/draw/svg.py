"""A layout as inline SVG for a page.

Colours are CSS classes only, so that one drawing serves light and dark.  Numbers have one decimal
and ids come from the caller, so that the same trace always gives the same bytes.
"""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from kinetoscope.draw.changes import SAID
from kinetoscope.draw.event_details import facts
from kinetoscope.draw.names import clean
from kinetoscope.measure.printing import format_time

if TYPE_CHECKING:
    from kinetoscope.draw.geometry import Arrow, Bar, Label, Layout


def svg(layout: Layout, *, ident: str, title: str, description: str) -> str:
    """The picture as one ``<svg>`` element.

    ``ident`` must be unique in the page; ``title`` and ``description`` are plain text for those who
    do not see the picture.  Every bar carries ``data-event``, its event's index in the trace.
    """
    width, height = _n(layout.width), _n(layout.height)
    opening = (
        f'<svg class="ks-svg" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        f' role="img" aria-labelledby="{_a(ident)}-title" aria-describedby="{_a(ident)}-desc"'
        f' font-size="{_n(layout.style.font)}">'
    )
    out = [
        opening,
        f'<title id="{_a(ident)}-title">{_t(title)}</title>',
        f'<desc id="{_a(ident)}-desc">{_t(description)}</desc>',
    ]
    if layout.note:
        middle = _n(layout.height / 2)
        note = f'<text class="ks-note" x="{_n(layout.width / 2)}" y="{middle}">{_t(layout.note)}</text>'
        return "\n".join([*out, note, "</svg>"])
    out += _ground(layout)
    out += [_arrow(arrow) for arrow in layout.arrows]
    out += [_bar(bar, layout) for bar in layout.bars]
    for lane in layout.lanes:
        if layout.style.heading:
            x = _n(layout.style.side)
            out.append(f'<text class="ks-lane" x="{x}" y="{_n(lane.label_y)}">{_t(lane.label)}</text>')
    out.append("</svg>")
    return "\n".join(out)


def _ground(layout: Layout) -> list[str]:
    """Step bands, grid, the streams' tracks and the axis: all that lies behind the bars."""
    bottom = layout.height - layout.style.axis
    out = []
    for band in layout.bands:
        out.append(
            f'<rect class="ks-band" x="{_n(band.x)}" y="0" width="{_n(band.w)}" height="{_n(bottom)}">'
            f"<title>step {band.number}</title></rect>"
        )
    for lane in layout.lanes:
        if lane.id.on_gpu:
            x, wide = _n(layout.style.side), _n(layout.width - 2 * layout.style.side)
            out.append(
                f'<rect class="ks-idle" x="{x}" y="{_n(lane.y)}" width="{wide}" height="{_n(lane.height)}"/>'
            )
    marks = "".join(f"M{_n(tick.x)} 0V{_n(bottom + 3)}" for tick in layout.ticks)
    out.append(f'<path class="ks-grid" d="{marks}"/>')
    if layout.style.axis:
        y = _n(bottom + layout.style.font + 4)
        for tick in layout.ticks:
            if tick.label:
                out.append(f'<text class="ks-tick" x="{_n(tick.label_x)}" y="{y}">{_t(tick.label)}</text>')
    return out


def _bar(bar: Bar, layout: Layout) -> str:
    classes = f"ks-bar ks-{bar.kind}"
    classes += " ks-on-gpu" if layout.lanes[bar.lane].id.on_gpu else ""
    classes += " ks-faded" if bar.faded else ""
    classes += " ks-marked" if bar.highlighted else ""
    classes += "".join(f" ks-is-{change}" for change in bar.changes)
    base = _n(bar.y + bar.h / 2 + layout.style.font * 0.36)
    text = _label(bar.label, base) if bar.label else ""
    more = f' data-more="{" ".join(str(event.index) for event in bar.merged)}"' if bar.merged else ""
    return (
        f'<g class="{classes}" data-event="{bar.event.index}"{more}>'
        f'<rect x="{_n(bar.x)}" y="{_n(bar.y)}" width="{_n(bar.w)}" height="{_n(bar.h)}" rx="2"/>{text}'
        f"<title>{_t(tooltip(bar, layout.window.start))}</title></g>"
    )


def _label(label: Label, base: str) -> str:
    if label.place == "inside":
        name = f'<text x="{_n(label.start)}" y="{base}">{_t(label.name)}</text>'
        if not label.time:
            return name
        return f'{name}<text class="ks-time" x="{_n(label.end)}" y="{base}">{_t(label.time)}</text>'
    x = label.start if label.place == "right" else label.end
    time = f" <tspan>{_t(label.time)}</tspan>" if label.time else ""
    return f'<text class="ks-beside ks-{label.place}" x="{_n(x)}" y="{base}">{_t(label.name)}{time}</text>'


def _arrow(arrow: Arrow) -> str:
    x1, x2, y2, turn = arrow.x1, arrow.x2, arrow.y2, arrow.turn
    level = arrow.level
    reach = (level - turn) * 0.7
    faded = " ks-faded" if arrow.faded else ""
    return (
        f'<g class="ks-launch{faded}" data-from="{arrow.call.index}" data-to="{arrow.activity.index}">'
        f'<path d="M{_n(x1)} {_n(arrow.y1)}V{_n(turn)}'
        f'C{_n(x1)} {_n(turn + reach)} {_n(x2)} {_n(level - reach)} {_n(x2)} {_n(level)}V{_n(y2 - 4)}"/>'
        f'<path class="ks-head" d="M{_n(x2 - 3)} {_n(y2 - 5)}h6L{_n(x2)} {_n(y2)}z"/></g>'
    )


_TOLD = frozenset({"grid", "block", "registers", "shared memory", "bytes", "stream", "shapes"})
"""Facts that a tooltip of a few lines has room for"""


def tooltip(bar: Bar, origin: int) -> str:
    """Everything known about a bar as lines of plain text; times count from ``origin`` (ns)."""
    event = bar.event
    if bar.changes and not bar.merged:
        told = f"{SAID[bar.changes[0]]}\n"
        return told + tooltip(replace(bar, changes=()), origin)
    if bar.merged:
        names = list(dict.fromkeys(clean(e.name) for e in (event, *bar.merged)))
        more = f" and {len(names) - 3} other names" if len(names) > 3 else ""
        total = format_time(sum(e.dur for e in (event, *bar.merged)))
        count = 1 + len(bar.merged)
        return f"{count} events too close to tell apart, {total} in all\n{', '.join(names[:3])}{more}"
    lines = [clean(event.name), f"starts at {signed_time(event.start - origin)}"]
    if event.kind.on_gpu:
        lines.append(f"takes {format_time(event.dur)}")
        if event.launch_delay is not None and event.launch is not None:
            delay = format_time(event.launch_delay)
            lines.append(f"launched by {clean(event.launch.name)}, {delay} before it starts")
    else:
        lines.append(f"total {format_time(event.dur)}, self {format_time(event.self_dur)}")
    return "\n".join([*lines, *(f"{label} {value}" for label, value in facts(event, {}) if label in _TOLD)])


def signed_time(ns: int) -> str:
    """A time that may lie before the window."""
    return f"\N{MINUS SIGN}{format_time(-ns)}" if ns < 0 else format_time(ns)


def _n(value: float) -> str:
    """A length with at most one decimal, always the same text for the same number."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def _t(text: str) -> str:
    return escape(clean_lines(text), quote=False)


def _a(text: str) -> str:
    return escape(clean(text), quote=True)


def clean_lines(text: str) -> str:
    """:func:`~kinetoscope.draw.names.clean` for text of several lines."""
    return "\n".join(clean(line) for line in text.split("\n"))
