"""One trace as a page that needs nothing else: the walkable timeline, all tables, what was found in the file.

The page loads nothing, and its Content-Security-Policy lets it load nothing and run only what was put into
it: the digest of its script is in it.  The trace itself is in a script element of JSON, which is never run.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from html import escape
from itertools import count as counting
from pathlib import Path
from typing import TYPE_CHECKING

from kinetoscope.draw.figure import figure_html
from kinetoscope.draw.names import clean
from kinetoscope.draw.overview import glance, glance_html
from kinetoscope.draw.table import html_table
from kinetoscope.draw.viewer import viewer_script, viewer_style, without_comments
from kinetoscope.draw.viewer_data import walk_data
from kinetoscope.draw.views import VIEWS, choose_rows
from kinetoscope.draw.window import typical_step
from kinetoscope.measure.printing import printed
from kinetoscope.measure.summary import kind_counts, summarise
from kinetoscope.trace.events import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kinetoscope.draw.window import Steps
    from kinetoscope.measure.summary import Summary
    from kinetoscope.trace import Trace

PICTURE_STYLE = Path(__file__).parents[1] / "book" / "static" / "kinetoscope.css"
"""The site's own style sheet: a timeline and a table look the same there and here"""
_SITE_ONLY = "/* What the recording says of itself"
_NOTEBOOK_TOO = "/* ---- numbers and findings, in a notebook too ---- */"

HEADINGS = {
    "kernel": "Kernels",
    "copy": "Copies",
    "op": "Ops",
    "call": "Runtime calls",
    "step": "Steps",
    "waiting": "What the GPU waited for",
    "annotation": "Annotations",
}
"""The tables of a page, in its order, by their views"""

SCRIPT = Path(__file__).with_suffix(".js")
"""Sorts and sifts the tables, unpacks the data, and brings the figure to life"""

MOST_ROWS = 400
"""rows of a table in a page; the command line has all of them"""

_MACHINE = "trace"

PACKED = 100_000
"""Characters of JSON from which on the trace is gzipped: unpacked in a blink, and less to send"""

_idents = counting(1)


def page_html(trace: Trace, *, name: str, steps: Steps = None, version: str = "") -> str:
    """The whole page.  ``name`` is its title; ``steps`` what the timeline opens at, as for a figure.

    Raises :class:`~kinetoscope.draw.window.LayoutError` for a step that is not there.
    """
    name = clean(name)
    key = f"{_MACHINE}/{name}"
    style = picture_style() + viewer_style() + _page_style()
    script = viewer_script() + without_comments(SCRIPT.read_text(encoding="utf-8"))
    figure = figure_html(
        trace, ident="timeline", steps=steps, title=f"Timeline of {name}", caption=_shown(trace, steps)
    )
    of = escape(key, quote=True)
    tools = f'<div class="ks-tools" data-trace="{of}"></div>\n</figure>'
    figure = tools.join(figure.rsplit("</figure>", 1))
    kind, data = _held(_json(walk_data(trace, machine=_MACHINE, name=name)))
    found = summarise(trace)
    tables = list(_tables(trace, key))
    links = "".join(
        f'<li><a href="#{ident}">{escape(heading)}</a></li>'
        for ident, heading in (("timeline", "Timeline"), *((f"by-{by}", HEADINGS[by]) for by, _ in tables))
    )
    body = [
        f'<header>\n<h1>{escape(name)}</h1>\n<p class="ks-lead">{_lead(trace)}</p>\n</header>',
        f'<nav aria-label="On this page"><ul>{links}</ul></nav>',
        _findings(found) if found.findings else "",
        glance_html(glance(trace), trace=key),
        "<section>\n<h2>Timeline</h2>",
        figure,
        "</section>",
        "<section>\n<h2>The whole trace in numbers</h2>",
        _sums(found),
        "" if found.findings else _findings(found),
        "</section>",
        *(
            f'<section id="by-{by}">\n<h2>{escape(HEADINGS[by])}</h2>\n{html}</section>'
            for by, html in tables
        ),
        f"<footer><p>Kinetoscope {escape(version)}. It holds the trace and loads nothing.</p></footer>",
    ]
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_policy([script], [style])}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">',
            f"<title>{escape(name)} · Kinetoscope</title>",
            f"<style>{style}</style>\n</head>",
            '<body data-theme="auto">\n<main class="ks-page">',
            *(part for part in body if part),
            "</main>",
            f'<script type="{kind}" class="ks-data" data-trace="{of}">{data}</script>',
            f"<script>{script}</script>\n</body>\n</html>\n",
        ]
    )


def fragment(trace: Trace) -> str:
    """The drawn timeline and the numbers for a notebook's cell, with their style; no script."""
    ident = f"kinetoscope-{next(_idents)}"
    found = summarise(trace)
    style = picture_style() + _page_style().partition(_NOTEBOOK_TOO)[2]
    return f"<style>{style}</style>\n{figure_html(trace, ident=ident)}{_sums(found)}\n{_findings(found)}\n"


def picture_style() -> str:
    """What the site's style sheet says of timelines and tables."""
    whole = PICTURE_STYLE.read_text(encoding="utf-8")
    style, _, rest = whole.partition(_SITE_ONLY)
    print_and_forced = rest[rest.index("@media print") : rest.index("/* A sentence with its verdict")]
    return style + print_and_forced


def _page_style() -> str:
    return Path(__file__).with_suffix(".css").read_text(encoding="utf-8")


def _tables(trace: Trace, key: str) -> Iterator[tuple[str, str]]:
    """View and HTML of each table that has a row."""
    for by in HEADINGS:
        shown = choose_rows(trace, by, limit=MOST_ROWS)
        if not shown.rows:
            continue
        caption = _caption(trace, by)
        if shown.left_out:
            caption += f"; {shown.left_out} more rows not shown, `kinetoscope table --by {by}` has them"
        yield by, html_table(shown.columns, shown.rows, caption=caption, label=HEADINGS[by], trace=key)


def _caption(trace: Trace, by: str) -> str:
    view = VIEWS[by]
    caption = f"By {view.noun}"
    if trace.steps_at and by not in ("step", "waiting"):
        number = len(trace.steps_at)
        parts = f"{number} steps and what is between them" if number > 1 else "a step and what is around it"
        caption += f"; sums over the whole trace, {parts}"
    return caption


def _lead(trace: Trace) -> str:
    used = {lane.device for lane in {event.lane for event in trace.gpu}}
    names = [name for number, name in sorted(trace.device_names.items()) if number in used or not used]
    devices = ", ".join(dict.fromkeys(clean(name) for name in names))
    length = printed(trace.end, "ns")
    there = f"{length} on {devices}" if devices else f"{length}; the trace names no device"
    numbers = [step.number for step in trace.steps_at]
    if numbers:
        there += f" \N{MIDDLE DOT} {len(numbers)} {'step' if len(numbers) == 1 else 'steps'}"
        there += f" ({numbers[0]} to {numbers[-1]})" if len(numbers) > 1 else f" ({numbers[0]})"
    return escape(there)


def _shown(trace: Trace, steps: Steps) -> str:
    """What the timeline opens at, and what it leaves out."""
    text = "It opens at "
    if steps is None and trace.steps:
        number = typical_step(trace.steps).number
        text += f"step {number}, {'that of median length' if len(trace.steps) > 1 else 'the only one'}; "
        text += "All shows the whole trace. "
    else:
        text += "what was asked for; All shows the whole trace. " if trace.steps else "the whole trace. "
    counts = kind_counts(trace)
    left = [f"{label} ({counts[kind]:,})" for kind, label in _NOT_DRAWN.items() if kind in counts]
    if left:
        text += f"Not drawn: {', '.join(left)}."
    return escape(text.strip())


_NOT_DRAWN = {
    Kind.PYTHON: "Python frames",
    Kind.GPU_ANNOTATION: "annotations repeated on the GPU",
    Kind.SYNC: "stream synchronizations",
    Kind.OVERHEAD: "the profiler's own work",
    Kind.OTHER: "events that are no work of the CPU or the GPU",
}
"""What the timeline leaves out, as the page says it"""


def _sums(found: Summary) -> str:
    busy = printed(found.gpu_busy_ns / found.gpu_span_ns, "share") if found.gpu_span_ns else "–"
    entries = [
        (f"{found.events:,}", "events"),
        (f"{found.kernels:,}", "kernels"),
        (printed(found.kernel_sum_ns, "ns"), "kernel time, durations added up"),
        (printed(found.gpu_busy_ns, "ns"), "GPU busy: kernels and copies, what overlaps counted once"),
        (busy, f"of the {printed(found.gpu_span_ns, 'ns')} from the first to the last of them"),
        (f"{found.linked:,} of {found.linked + found.unlinked:,}", "kernels and copies with a known launch"),
        (f"{found.steps:,}", "steps"),
        (f"{found.streams:,}", "streams"),
    ]
    inside = "".join(
        f"<div><dt>{escape(label)}</dt><dd>{escape(value)}</dd></div>" for value, label in entries
    )
    return f'<dl class="ks-sums">{inside}</dl>'


def _findings(found: Summary) -> str:
    if not found.findings:
        return (
            '<section class="ks-findings ks-none"><h2>Nothing wrong with the file</h2>'
            "<p>Nothing in it had to be repaired, left out or assumed.</p></section>"
        )
    items = "".join(
        f'<li><span class="ks-severity ks-{finding.severity.value}">{finding.severity.value}</span>'
        f"<strong>{finding.count:,}×</strong> {escape(finding.meaning)}"
        f' <span class="ks-where">First at {escape(clean(finding.first))}.'
        f" <code>{finding.code}</code></span></li>"
        for finding in found.findings
    )
    return f'<section class="ks-findings"><h2>What was found in the file</h2><ul>{items}</ul></section>'


def _policy(scripts: list[str], styles: list[str]) -> str:
    """Nothing but these scripts and styles, told by their digests."""
    return (
        f"default-src 'none'; script-src {_digests(scripts)}; style-src {_digests(styles)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _digests(texts: list[str]) -> str:
    made = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in made)


def _held(data: str) -> tuple[str, str]:
    """Type and text of the script element that holds JSON."""
    if len(data) < PACKED:
        return "application/json", data
    # The same trace gives the same page: no time stands in the stream.
    packed = gzip.compress(data.encode(), compresslevel=6, mtime=0)
    return "application/gzip", base64.b64encode(packed).decode("ascii")


def _json(value: object) -> str:
    """JSON that can stand in a page: no ``</script>`` and no ``<!--`` is in it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
