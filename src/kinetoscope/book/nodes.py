"""The nodes that the directives put into a document, and how each builder shows them.

HTML shows what was drawn when the page was read.  Paper shows the same layout, drawn by matplotlib, and
document tables.  Builders without pictures show the description in words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.nodes import Node
from sphinx.addnodes import pending_xref
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx_gallery.directives import imgsgnode

from kinetoscope.book.assets import tools_html
from kinetoscope.book.build_context import context_of
from kinetoscope.draw.figure import WIDE_PX
from kinetoscope.draw.layout import lay_out
from kinetoscope.draw.matplotlib_backend import save_timeline

if TYPE_CHECKING:
    from sphinx.environment import BuildEnvironment

Visitors = tuple[Callable[[Any, Any], None], Callable[[Any, Any], None] | None]
"""A visit and a depart function, as for ``app.add_node(node, html=...)``"""
NodeVisitors = dict[type[nodes.Element], Visitors]
Markup = str | Callable[[Any], str]
"""HTML, or a function that makes it from a node"""


def around(before: Markup, after: Markup) -> Visitors:
    """Writes ``before``, the node's children, ``after``."""

    def write(markup: Markup) -> Callable[[Any, Any], None]:
        return lambda translator, node: translator.body.append(_written(markup, node))

    return write(before), write(after)


def in_place_of(markup: Markup) -> Visitors:
    """Writes ``markup``, and nothing of the node's children."""

    def visit(translator: Any, node: nodes.Element) -> None:
        translator.body.append(_written(markup, node))
        raise nodes.SkipNode

    return visit, None


def _written(markup: Markup, node: nodes.Element) -> str:
    return markup(node) if callable(markup) else markup


class OwnNode(nodes.General, nodes.Element):
    """A node that only HTML knows."""

    def for_paper(self, env: BuildEnvironment) -> Sequence[Node]:
        """What other builders get in its place."""
        return self.children


class timeline(OwnNode):
    """A timeline figure.  Children: its caption.

    ``html``: the figure up to its caption; ``alt``: the picture in words; ``trace``, ``machine`` and
    ``options``: what to draw again for paper; ``key``: the trace's key in
    :mod:`kinetoscope.book.assets`.
    """

    def for_paper(self, env: BuildEnvironment) -> list[Node]:
        context = context_of(env)
        if not context.picture:
            return [nodes.paragraph(text=self["alt"]), *self.children]
        layout = lay_out(context.trace(self["trace"], self["machine"]), self["options"], width=WIDE_PX)
        shown = (self["machine"], self["trace"], self["options"])
        name = f"timeline-{self['trace']}"
        figure = paper_figure(env, name, shown, lambda path: save_timeline(layout, path), self["alt"])
        if self.children:
            figure += nodes.caption("", "", *self.children[0].children)
        return [figure, *self.children[1:]]


class recorded_table(OwnNode):
    """A table computed from a recording.  ``html``; ``head`` and ``body``: its cells as text."""

    def for_paper(self, env: BuildEnvironment) -> list[Node]:
        return [document_table(self["head"], self["body"])]


class of_trace(nodes.inline):
    """Words about some events of one trace: ``trace``, its key; ``events``, their indexes in the file.

    Pointing at them lights up these events.
    """


def _open_timeline(translator: Any, node: timeline) -> None:
    translator.body.append(node["html"])
    translator.body.append(tools_html(translator.builder, translator.builder.current_docname, node["key"]))
    if node.children:
        translator.body.append("<figcaption>")


def _close_timeline(translator: Any, node: timeline) -> None:
    if node.children:
        translator.body.append("</figcaption>")
    translator.body.append("</figure>\n")


def _open_of_trace(node: of_trace) -> str:
    classes, trace = " ".join(node["classes"]), escape(node["trace"], quote=True)
    return f'<span class="{classes}" data-events="{node["events"]}" data-trace="{trace}">'


NODES: NodeVisitors = {
    timeline: (_open_timeline, _close_timeline),
    recorded_table: in_place_of(lambda node: node["html"]),
    of_trace: around(_open_of_trace, "</span>"),
}


class ForPaper(SphinxPostTransform):
    """Turns our nodes into what builders other than HTML know: figures, tables, paragraphs."""

    default_priority = 400

    def run(self, **kwargs: Any) -> None:
        context = context_of(self.env)
        if context.is_html:
            return
        for node in list(self.document.findall(OwnNode)):
            node.replace_self(node.for_paper(self.env))
        # Only HTML and LaTeX know Sphinx-Gallery's figures, and LaTeX is the builder that shows PDFs.
        for figure in list(self.document.findall(imgsgnode)) if context.picture != "pdf" else ():
            figure.replace_self(nodes.paragraph(text=figure["alt"] or ""))


def page_link(env: BuildEnvironment, target: str, words: str = "") -> pending_xref:
    """The node of a ``doc`` role: a link with these words, or with the title of the page."""
    return pending_xref(
        "", nodes.inline("", words or target), refdoc=env.docname, refdomain="std", reftype="doc",
        reftarget=target, refexplicit=bool(words), refwarn=True,
    )  # fmt: skip


def paper_figure(
    env: BuildEnvironment, name: str, shown: object, save: Callable[[Path], None], alt: str
) -> nodes.figure:
    """Makes a figure of the picture that ``save`` writes.

    ``shown``: what the picture shows; its ``repr`` tells pictures of one ``name`` apart, since on paper all
    documents are one.
    """
    folder = Path(env.doctreedir) / "kinetoscope-paper"
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(repr(shown).encode()).hexdigest()[:8]
    path = folder / f"{name}-{digest}.{context_of(env).picture}"
    save(path)
    env.images.add_file(env.docname, str(path))
    return nodes.figure("", nodes.image(uri=str(path), candidates={"*": str(path)}, alt=alt))


def _as_text(cell: str) -> Iterable[Node]:
    return [nodes.Text(cell)]


def document_table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    inline: Callable[[str], Iterable[Node]] = _as_text,
) -> nodes.table:
    """Make a table that every builder knows; a column is as wide as its longest cell, up to a limit.

    ``inline`` turns a cell into nodes.
    """

    def row(cells: Sequence[str]) -> nodes.row:
        return nodes.row("", *[nodes.entry("", nodes.paragraph("", "", *inline(cell))) for cell in cells])

    group = nodes.tgroup(cols=len(head))
    group += [
        nodes.colspec(colwidth=min(60, max(map(len, cells)))) for cells in zip(head, *rows, strict=True)
    ]
    group += nodes.thead("", row(head))
    group += nodes.tbody("", *[row(cells) for cells in rows])
    return nodes.table("", group)
