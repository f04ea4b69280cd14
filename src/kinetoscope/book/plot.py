"""An example's matplotlib figure on its page: the drawing itself, in the page's colours.

What a recording says is Sphinx-Gallery's own ``image-sg``; where an SVG was kept beside its PNG, HTML gets
that.
"""

from __future__ import annotations

from html import escape
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx_gallery.directives import imgsgnode

from kinetoscope.book.book import book_of
from kinetoscope.book.gallery import figure_suffix
from kinetoscope.book.switch import reading_for
from kinetoscope.draw.plots import themed_svg

if TYPE_CHECKING:
    from sphinx.application import Sphinx


class plot(nodes.General, nodes.Element):
    """A figure.  Child: Sphinx-Gallery's own node of it, for builders other than HTML.  ``html``."""


def use_drawings(app: Sphinx, doctree: nodes.document) -> None:
    """``doctree-read``: puts the drawing in place of the picture, where a gallery page has one."""
    book = book_of(app.env)
    drawings: dict[str, Path] = {}
    for machine in book.switch:
        with reading_for(app.env, machine) as shown:
            recording = shown.example(app.env.docname)
        kept = recording.drawings if recording is not None else {}
        drawings |= {f"{stem}{figure_suffix(book, machine)}": path for stem, path in kept.items()}
    for picture in list(doctree.findall(imgsgnode)):
        stem = PurePosixPath(picture["uri"]).stem
        if stem not in drawings:
            continue
        drawing = drawings[stem].read_text(encoding="utf-8")
        words = str(picture["alt"] or "")
        made = plot()
        named = escape(_title(words), quote=True)
        made["html"] = (
            f'<figure class="ks-plot" role="group" tabindex="0" aria-label="{named}">'
            f"{themed_svg(drawing, ident=f'ks-plot-{stem}', label=words)}</figure>\n"
        )
        picture.replace_self(made)
        made += picture


def _title(words: str) -> str:
    """What the box that may scroll is called: the beginning of what is in it."""
    return words.partition(":")[0][:80] or "Plot"


def visit_plot_html(translator: Any, node: plot) -> None:
    """The figure as it was drawn."""
    translator.body.append(node["html"])
    raise nodes.SkipNode


def setup_plot(app: Sphinx) -> None:
    """Registers the node and what makes it."""
    app.add_node(plot, html=(visit_plot_html, None))
    app.connect("doctree-read", use_drawings)
