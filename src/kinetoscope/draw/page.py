"""The page of ``kinetoscope show``: the timeline with its viewer, all tables, and the findings in the file.

The page loads nothing.  Its Content-Security-Policy forbids to load anything, and to run any script but its
own, whose digest it names.  The trace is JSON in a script element that is never run.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from html import escape
from itertools import count as counting
from typing import TYPE_CHECKING

from kinetoscope.draw.figure import draw_figure
from kinetoscope.draw.layout import TimelineOptions, typical_step
from kinetoscope.draw.names import clean
from kinetoscope.draw.overview import overview, overview_html
from kinetoscope.draw.table import html_table
from kinetoscope.draw.viewer import figure_style, read_static, viewer_script, viewer_style, without_comments
from kinetoscope.draw.viewer_data import page_json, trace_data
from kinetoscope.draw.views import VIEWS, choose_rows
from kinetoscope.measure.printing import printed
from kinetoscope.measure.summary import kind_counts, summarize, summary_lines
from kinetoscope.trace import Kind
from kinetoscope.trace.columns import distinct
from kinetoscope.trace.fields import NONE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kinetoscope.draw.layout import StepChoice
    from kinetoscope.measure.summary import Summary
    from kinetoscope.trace import Trace

HEADINGS = {
    "kernel": "Kernels",
    "copy": "Copies",
    "op": "Ops",
    "call": "Runtime calls",
    "step": "Steps",
    "waiting": "What the GPU waited for",
    "annotation": "Annotations",
}
"""The headings of a page's tables by their views, in the page's order"""

MOST_ROWS = 400
"""Rows of a table in a page; the command line shows all"""

_MACHINE = "trace"
"""Takes the place of a machine in the key of the trace"""

PACKED = 100_000
"""A trace whose JSON has more characters than this is gzipped"""

_idents = counting(1)


def page_html(trace: Trace, *, name: str, steps: StepChoice = None, version: str = "") -> str:
    """Return the whole page.  ``name`` is its title; the timeline opens at ``steps``.

    Raises :class:`~kinetoscope.draw.layout.LayoutError` for a step that is not there.
    """
    name = clean(name)
    key = f"{_MACHINE}/{name}"
    of = escape(key, quote=True)
    style = figure_style() + viewer_style() + read_static("page.css", "summary.css")
    script = viewer_script() + without_comments(read_static("page.js"))
    # First, since no event has been built yet: the figure needs them.
    media_type, data = _packed(page_json(trace_data(trace, machine=_MACHINE, name=name)))
    figure = draw_figure(
        trace, TimelineOptions(steps=steps), ident="timeline", title=f"Timeline of {name}"
    ).html(
        f"<figcaption>{_figure_caption(trace, steps)}</figcaption>",
        f'<div class="ks-tools" data-trace="{of}"></div>',
    )
    summary = summarize(trace)
    tables = list(_tables(trace, key))
    links = "".join(
        f'<li><a href="#{ident}">{escape(heading)}</a></li>'
        for ident, heading in (("timeline", "Timeline"), *((f"by-{by}", HEADINGS[by]) for by, _ in tables))
    )
    body = [
        f'<header>\n<h1>{escape(name)}</h1>\n<p class="ks-lead">{_lead(trace)}</p>\n</header>',
        f'<nav aria-label="On this page"><ul>{links}</ul></nav>',
        _findings(summary) if summary.findings else "",
        overview_html(overview(trace), trace=key),
        "<section>\n<h2>Timeline</h2>",
        figure,
        "</section>",
        "<section>\n<h2>The whole trace in numbers</h2>",
        _numbers(trace, summary),
        "" if summary.findings else _findings(summary),
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
            f'<script type="{media_type}" class="ks-data" data-trace="{of}">{data}</script>',
            f"<script>{script}</script>\n</body>\n</html>\n",
        ]
    )


def fragment(trace: Trace) -> str:
    """Return the drawn timeline and the numbers for a notebook's cell, with their style and no script."""
    summary = summarize(trace)
    style = figure_style() + read_static("summary.css")
    figure = draw_figure(trace, ident=f"kinetoscope-{next(_idents)}")
    return f"<style>{style}</style>\n{figure.html()}{_numbers(trace, summary)}\n{_findings(summary)}\n"


def _tables(trace: Trace, key: str) -> Iterator[tuple[str, str]]:
    """Yield the view and the HTML of each table that has a row."""
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
    if by == "annotation" and _launching_threads(trace) > 1:
        caption += "; GPU time is what its own thread launched (autograd launches a backward pass on another)"
    return caption


def _launching_threads(trace: Trace) -> int:
    columns = trace.columns
    launch = columns.launch[columns.on_gpu]
    return len(distinct(columns.lane[launch[launch != NONE]]))


def _lead(trace: Trace) -> str:
    named = trace.device_names
    columns = trace.columns
    used = {columns.lanes[n].device for n in distinct(columns.lane[columns.on_gpu]).tolist()}
    # ROCm numbers the GPUs that it lists and those that its kernels ran on in different ways.
    names = [name for number, name in sorted(named.items()) if number in used] or [*named.values()]
    devices = ", ".join(dict.fromkeys(clean(name) for name in names))
    there = printed(trace.end, "ns")
    if not devices:
        there += "; the trace names no device"
    else:
        there += f" on {devices}" if used else f"; the file names {devices}, and shows no work of it"
    numbers = [step.number for step in trace.steps_at]
    if numbers:
        there += f" \N{MIDDLE DOT} {len(numbers)} {'step' if len(numbers) == 1 else 'steps'}"
        there += f" ({numbers[0]} to {numbers[-1]})" if len(numbers) > 1 else f" ({numbers[0]})"
    return escape(there)


def _figure_caption(trace: Trace, steps: StepChoice) -> str:
    """Say what the timeline opens at, and what it leaves out."""
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
    Kind.SYNC: "waits and marks on streams",
    Kind.OVERHEAD: "the profiler's own work",
    Kind.OTHER: "events that are no work of the CPU or the GPU",
}
"""Kinds of events that the timeline leaves out, and the words for them"""


def _numbers(trace: Trace, summary: Summary) -> str:
    entries = "".join(
        f"<div><dt>{escape(f'{label}: {what}' if what else label)}</dt><dd>{escape(value)}</dd></div>"
        for label, value, what in summary_lines(trace, summary)
    )
    return f'<dl class="ks-sums">{entries}</dl>'


def _findings(summary: Summary) -> str:
    if not summary.findings:
        return (
            '<section class="ks-findings ks-none"><h2>Nothing wrong with the file</h2>'
            "<p>Nothing in it had to be repaired, left out or assumed.</p></section>"
        )
    items = "".join(
        f'<li><span class="ks-severity ks-{finding.severity.value}">{finding.severity.value}</span>'
        f"<strong>{finding.count:,}×</strong> {escape(finding.meaning)}"
        f' <span class="ks-where">First at {escape(clean(finding.first))}.'
        f" <code>{finding.code}</code></span></li>"
        for finding in summary.findings
    )
    return f'<section class="ks-findings"><h2>What was found in the file</h2><ul>{items}</ul></section>'


def _policy(scripts: list[str], styles: list[str]) -> str:
    """Return a policy that allows nothing but these scripts and styles, by their digests."""
    return (
        f"default-src 'none'; script-src {_digests(scripts)}; style-src {_digests(styles)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _digests(texts: list[str]) -> str:
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in digests)


def _packed(data: str) -> tuple[str, str]:
    """Return the type and the text of the script element that holds the JSON."""
    if len(data) < PACKED:
        return "application/json", data
    # No time goes into the stream, so that the same trace gives the same page.
    packed = gzip.compress(data.encode(), compresslevel=6, mtime=0)
    return "application/gzip", base64.b64encode(packed).decode("ascii")
