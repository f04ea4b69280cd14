"""An example's matplotlib figure: the drawing itself, in the page's colours.

What a recording says is Sphinx-Gallery's own ``image-sg``; where an SVG was kept beside its PNG, HTML gets
that.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes
from docutils.nodes import Node
from docutils.parsers.rst import directives
from sphinx_gallery.directives import imgsgnode

from kinetoscope.book.build_context import book_of
from kinetoscope.book.dependencies import note_page
from kinetoscope.book.gallery import figure_suffix, gallery_dir
from kinetoscope.book.machine_variants import reading_for
from kinetoscope.book.recorded import RecordedDirective
from kinetoscope.draw.plots import themed_svg

if TYPE_CHECKING:
    from sphinx.application import Sphinx

    from kinetoscope.record import ExampleRecording


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
        made = _drawn(drawings[stem], f"ks-plot-{stem}", str(picture["alt"] or ""))
        picture.replace_self(made)
        made += picture


class RecordedFigure(RecordedDirective):
    """``{recorded-figure} EXAMPLE``: a figure of an example, on a page of the book's own.

    Or one of the bench's, by its name.
    """

    option_spec: ClassVar[dict[str, Callable[[str], object]]] = {
        **RecordedDirective.option_spec,
        "number": directives.positive_int,
    }

    def show(self) -> list[Node]:
        if self.name_asked in self.book.bench.drawings:
            return [self._of_the_bench(self.book.bench.drawings[self.name_asked])]
        stem, machine = self.name_asked, self.machine_asked or self.book.shown
        note_page(self.env, self.book, stem)
        recording = self.book.machine(machine).examples.get(stem)
        name = f"sphx_glr_{stem}_{self.options.get('number', 1):03d}"
        if recording is None or name not in recording.drawings:
            there = ", ".join(recording.drawings) if recording is not None else "no recording of it"
            if self.book.is_strict:
                return self.refuse("name", f"{stem} has no figure {name}; there is: {there or 'none'}")
            return self.nothing_to_show()
        words = _words(recording, name)
        suffix = figure_suffix(self.book, machine)
        drawn = _drawn(recording.drawings[name], self.new_id("plot"), words)
        drawn += nodes.image(uri=f"/{gallery_dir(self.env.app)}/images/{name}{suffix}.png", alt=words)
        return [drawn]

    def _of_the_bench(self, drawing: Path) -> Node:
        note_page(self.env, self.book, self.name_asked)
        words = drawing.with_suffix(".txt").read_text(encoding="utf-8").strip()
        drawn = _drawn(drawing, self.new_id("plot"), words)
        folder = drawing.parent.relative_to(self.env.srcdir).as_posix()
        drawn += nodes.image(uri=f"/{folder}/{drawing.stem}.png", alt=words)
        return drawn


def _words(recording: ExampleRecording, name: str) -> str:
    """What the recording says of a figure in words."""
    for text in recording.outputs.values():
        found = re.search(rf"image-sg:: \S*{re.escape(name)}\.png\n +:alt: (.*)", text)
        if found:
            return found[1]
    return ""


def _drawn(drawing: Path, ident: str, words: str) -> plot:
    made = plot()
    named = escape(_title(words), quote=True)
    made["html"] = (
        f'<figure class="ks-plot" role="group" tabindex="0" aria-label="{named}">'
        f"{themed_svg(drawing.read_text(encoding='utf-8'), ident=ident, label=words)}</figure>\n"
    )
    return made


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
    app.add_directive("recorded-figure", RecordedFigure)
    app.connect("doctree-read", use_drawings)
