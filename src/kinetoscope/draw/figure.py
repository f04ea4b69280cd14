"""A timeline as a whole figure for a page: two drawings, a legend and a caption."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from kinetoscope.draw.changes import SAID, SIGNS
from kinetoscope.draw.describe import describe, headline
from kinetoscope.draw.layout import lay_out
from kinetoscope.draw.palette import KIND_LABELS
from kinetoscope.draw.svg import svg

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kinetoscope.draw.geometry import Layout
    from kinetoscope.draw.window import Steps
    from kinetoscope.measure.compare import Change
    from kinetoscope.trace.events import Trace

WIDE_PX, NARROW_PX = 640, 340
"""The two widths drawn; the style sheet's container query chooses between them"""


def figure_html(
    trace: Trace,
    *,
    ident: str,
    caption: str = "",
    title: str | None = None,
    name: str = "",
    steps: Steps = None,
    zoom: str | None = None,
    highlight: Sequence[str] = (),
    python: bool = False,
    at_least: int = 0,
    changes: Mapping[int, Change] | None = None,
) -> str:
    """A ``<figure class="ks-timeline">`` that reads well from 340 px to the page's full width.

    ``ident`` becomes the figure's id and must be unique in the page; ``caption`` is HTML, put into
    the ``<figcaption>`` as it is; ``title`` is plain text, by default what the figure covers, after the
    trace's ``name`` if that is given.  The other options are :func:`~kinetoscope.draw.layout.lay_out`'s.

    Raises :class:`~kinetoscope.draw.window.LayoutError` as ``lay_out`` does, and ValueError for an
    ``ident`` that is no HTML id.
    """
    if not re.fullmatch(r"[A-Za-z][\w.:-]*", ident):
        raise ValueError(f"{ident!r} is no id for a figure: use a letter, then letters, digits, . : _ or -")
    wide, narrow = (
        lay_out(
            trace,
            width=w,
            steps=steps,
            zoom=zoom,
            highlight=highlight,
            python=python,
            at_least=at_least,
            changes=changes,
        )
        for w in (WIDE_PX, NARROW_PX)
    )
    title = title or (f"{name}: " if name else "") + headline(trace, wide)
    text = describe(trace, wide)
    window = wide.window
    compared = " ks-compared" if changes is not None else ""
    span = f'data-start="{window.start}" data-end="{window.end}"'
    parts = [
        f'<figure class="ks-timeline{compared}" id="{ident}" {span}>',
        '<div class="ks-frame"><div class="ks-wide">',
        svg(wide, ident=f"{ident}-wide", title=title, description=text),
        '</div><div class="ks-narrow">',
        svg(narrow, ident=f"{ident}-narrow", title=title, description=text),
        "</div></div>",
        legend(wide),
    ]
    if caption:
        parts.append(f"<figcaption>{caption}</figcaption>")
    parts.append("</figure>")
    return "\n".join(part for part in parts if part) + "\n"


def legend(layout: Layout) -> str:
    """A list of what is in the picture, and only that."""
    present = set(layout.kinds)
    entries = [(f"ks-{kind}", label) for kind, label in KIND_LABELS.items() if kind in present]
    if any(lane.id.on_gpu for lane in layout.lanes):
        entries.append(("ks-idle", "stream idle"))
    if layout.arrows:
        entries.append(("ks-launch", "launch"))
    if any(bar.highlighted for bar in layout.bars):
        entries.append(("ks-marked", "highlighted"))
    if any(bar.faded for bar in layout.bars):
        entries.append(("ks-faded", "outside the step"))
    items = "".join(
        f'<li><span class="ks-swatch {css}"></span>{escape(label)}</li>' for css, label in entries
    )
    changes = {change for bar in layout.bars for change in bar.changes}
    items += "".join(
        f'<li><span class="ks-swatch ks-is-{change}">{sign}</span>{escape(SAID[change])}</li>'
        for change, sign in SIGNS.items()
        if change in changes
    )
    return f'<ul class="ks-legend">{items}</ul>' if items else ""
