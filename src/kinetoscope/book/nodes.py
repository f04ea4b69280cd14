"""What the directives put into a document, and how each builder shows it.

HTML shows what was drawn when the page was read.  Paper shows the same layout, drawn by matplotlib, and
document tables.  Builders without pictures show the description in words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx_gallery.directives import imgsgnode

from kinetoscope.book import claims, ladder, plot
from kinetoscope.book.build_context import context_of
from kinetoscope.book.measured import measured
from kinetoscope.book.trace_assets import tools_html
from kinetoscope.draw.figure import WIDE_PX
from kinetoscope.draw.layout import lay_out
from kinetoscope.draw.matplotlib_backend import save_timeline

if TYPE_CHECKING:
    from sphinx.application import Sphinx


class timeline(nodes.General, nodes.Element):
    """A timeline figure.  Children: its caption.

    ``html``: the figure up to its caption; ``alt``: the picture in words; ``trace``, ``machine`` and
    ``options``: what to draw again for paper; ``key``: the trace's key in
    :mod:`kinetoscope.book.trace_assets`.
    """


class recorded_table(nodes.General, nodes.Element):
    """A table computed from a recording.  ``html``; ``head`` and ``body``: its cells as text."""


class of_trace(nodes.inline):
    """Words about some events of one trace: ``trace``, its key; ``events``, their indexes in the file."""


def visit_timeline_html(translator: Any, node: timeline) -> None:
    """Write the figure up to its caption."""
    translator.body.append(node["html"])
    translator.body.append(tools_html(translator.builder, translator.builder.current_docname, node["key"]))
    if node.children:
        translator.body.append("<figcaption>")


def depart_timeline_html(translator: Any, node: timeline) -> None:
    """Close what :func:`visit_timeline_html` opened."""
    if node.children:
        translator.body.append("</figcaption>")
    translator.body.append("</figure>\n")


def visit_table_html(translator: Any, node: recorded_table) -> None:
    """Write the table as it was drawn."""
    translator.body.append(node["html"])
    raise nodes.SkipNode


def visit_measured_html(translator: Any, node: measured) -> None:
    """Open a number; pointing at it shows what it was computed from."""
    title = escape(node["expression"], quote=True)
    events = f' data-events="{escape(node["events"], quote=True)}"' if node["events"] else ""
    translator.body.append(f'<span class="{" ".join(node["classes"])}" title="{title}"{events}>')


def visit_of_trace_html(translator: Any, node: of_trace) -> None:
    """Open words; pointing at them lights up the events they are about."""
    places = {"data-trace": node["trace"], "data-events": node["events"]}
    translator.body.append(translator.starttag(node, "span", "", **places))


def close_span(translator: Any, node: nodes.Element) -> None:
    """Close the number or the words."""
    translator.body.append("</span>")


def nothing(translator: Any, node: nodes.Element) -> None:
    """Write nothing: builders other than HTML show the text inside and no more."""


class ForPaper(SphinxPostTransform):
    """Turns our nodes into what builders other than HTML know: figures, tables, paragraphs."""

    default_priority = 400

    def run(self, **kwargs: Any) -> None:
        if context_of(self.env).is_html:
            return
        for node in list(self.document.findall(timeline)):
            node.replace_self(self._figure(node))
        for table in list(self.document.findall(recorded_table)):
            table.replace_self(document_table(table["head"], table["body"]))
        for rungs in list(self.document.findall(ladder.ladder)):
            rungs.replace_self(ladder.for_paper(self.env, rungs))
        for number in list(self.document.findall(measured)):
            number.replace_self(nodes.inline("", number.astext()))
        for drawn in list(self.document.findall(plot.plot)):
            drawn.replace_self(drawn.children)
        for words in list(self.document.findall(of_trace)):
            words.replace_self(words.children)
        for asked in list(self.document.findall(claims.judged_by)):
            asked.replace_self(asked.children)
        # Only HTML and LaTeX know Sphinx-Gallery's figures, and LaTeX is the builder that shows PDFs.
        for figure in list(self.document.findall(imgsgnode)) if context_of(self.env).picture != "pdf" else ():
            figure.replace_self(nodes.paragraph(text=figure["alt"] or ""))

    def _figure(self, node: timeline) -> list[nodes.Node]:
        caption = node.children
        context = context_of(self.env)
        if not context.picture:
            return [nodes.paragraph(text=node["alt"]), *caption]
        layout = lay_out(context.trace(node["trace"], node["machine"]), node["options"], width=WIDE_PX)
        folder = Path(self.env.doctreedir) / "kinetoscope-paper"
        folder.mkdir(parents=True, exist_ok=True)
        # The name says what it shows: on paper all documents are one, and two may show the same trace.
        shown = repr((node["machine"], node["trace"], node["options"]))
        digest = hashlib.sha256(shown.encode()).hexdigest()[:8]
        path = folder / f"timeline-{node['trace']}-{digest}.{context.picture}"
        save_timeline(layout, path)
        self.env.images.add_file(self.env.docname, str(path))
        image = nodes.image(uri=str(path), candidates={"*": str(path)}, alt=node["alt"])
        figure = nodes.figure("", image)
        if caption:
            figure += nodes.caption("", "", *caption[0].children)
        return [figure, *caption[1:]]


def document_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> nodes.table:
    """Make a table that every builder knows; a column is as wide as its longest cell, up to a limit."""
    group = nodes.tgroup(cols=len(head))
    group += [
        nodes.colspec(colwidth=min(60, max(map(len, cells)))) for cells in zip(head, *rows, strict=True)
    ]
    group += nodes.thead("", _row(head))
    group += nodes.tbody("", *[_row(row) for row in rows])
    return nodes.table("", group)


def _row(cells: Sequence[str]) -> nodes.row:
    return nodes.row("", *[nodes.entry("", nodes.paragraph(text=cell)) for cell in cells])


def setup_nodes(app: Sphinx) -> None:
    """Register the nodes, and what turns them into document elements for other builders."""
    app.add_node(timeline, html=(visit_timeline_html, depart_timeline_html))
    app.add_node(recorded_table, html=(visit_table_html, None))
    app.add_node(measured, html=(visit_measured_html, close_span), text=(nothing, nothing))
    app.add_node(of_trace, html=(visit_of_trace_html, close_span), text=(nothing, nothing))
    app.add_post_transform(ForPaper)
