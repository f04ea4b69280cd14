"""An example's matplotlib figure, drawn in the page's colors.

A recording refers to its figures with Sphinx-Gallery's ``image-sg``.  Where it has an SVG beside the PNG,
HTML gets the SVG instead.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, ClassVar

from docutils import nodes
from docutils.nodes import Node
from docutils.parsers.rst import directives
from sphinx_gallery.directives import imgsgnode

from kinetoscope.book.build_context import context_of
from kinetoscope.book.directive import NothingToShow, Option, Options, RecordedDirective
from kinetoscope.book.gallery import figure_suffix
from kinetoscope.book.nodes import NodeVisitors, OwnNode, in_place_of
from kinetoscope.book.page_data import note_example
from kinetoscope.draw.plots import themed_svg

if TYPE_CHECKING:
    from sphinx.application import Sphinx

    from kinetoscope.record import ExampleRecording


class plot(OwnNode):
    """A figure.  ``html``: as HTML shows it.  Child: Sphinx-Gallery's node of it, for other builders."""


def use_drawings(app: Sphinx, doctree: nodes.document) -> None:
    """``doctree-read``: replaces a gallery page's pictures by their drawings, where there are any."""
    context = context_of(app.env)
    drawings: dict[str, Path] = {}
    for machine in context.switch:
        if recording := context.example(app.env.docname, machine):
            suffix = figure_suffix(context, machine)
            drawings |= {f"{stem}{suffix}": path for stem, path in recording.drawings.items()}
    for picture in list(doctree.findall(imgsgnode)):
        stem = PurePosixPath(picture["uri"]).stem
        if stem in drawings:
            drawn = _drawn(drawings[stem], f"ks-plot-{stem}", str(picture["alt"] or ""))
            picture.replace_self(drawn)
            drawn += picture


class RecordedFigure(RecordedDirective):
    """``{recorded-figure} NAME``: a figure of the example NAME, or the figure NAME of the bench."""

    option_spec: ClassVar[Options] = {
        "number": Option(directives.positive_int, "which of the example's figures; the first, if not given"),
        **RecordedDirective.option_spec,
    }

    def show(self) -> list[Node]:
        if self.name_asked in self.context.bench.drawings:
            return [self._of_the_bench(self.context.bench.drawings[self.name_asked])]
        stem, machine = self.name_asked, self.machine_asked or self.context.shown
        note_example(self.env, stem)
        recording = self.context.machine(machine).examples.get(stem)
        name = f"sphx_glr_{stem}_{self.options.get('number', 1):03d}"
        if recording is None or name not in recording.drawings:
            there = ", ".join(recording.drawings) if recording is not None else "no recording of it"
            if self.context.is_strict:
                self.warn("name", f"{stem} has no figure {name}; there is: {there or 'none'}")
            raise NothingToShow
        words = _alt_text(recording, name)
        suffix = figure_suffix(self.context, machine)
        drawn = _drawn(recording.drawings[name], self.new_id("plot"), words)
        page = PurePosixPath("/", self.context.docnames[stem])
        drawn += nodes.image(uri=str(page.with_name("images") / f"{name}{suffix}.png"), alt=words)
        return [drawn]

    def _of_the_bench(self, drawing: Path) -> Node:
        note_example(self.env, self.name_asked)
        words = drawing.with_suffix(".txt").read_text(encoding="utf-8").strip()
        drawn = _drawn(drawing, self.new_id("plot"), words)
        folder = drawing.parent.relative_to(self.env.srcdir).as_posix()
        drawn += nodes.image(uri=f"/{folder}/{drawing.stem}.png", alt=words)
        return drawn


def _alt_text(recording: ExampleRecording, name: str) -> str:
    """How the recording describes a figure in words."""
    for rst in recording.outputs.values():
        if alt := re.search(rf"image-sg:: \S*{re.escape(name)}\.png\n +:alt: (.*)", rst):
            return alt[1]
    return ""


def _drawn(drawing: Path, ident: str, words: str) -> plot:
    node = plot()
    # The box can scroll. Its label is the beginning of what the figure shows.
    label = escape(words.partition(":")[0][:80] or "Plot", quote=True)
    node["html"] = (
        f'<figure class="ks-plot" role="group" tabindex="0" aria-label="{label}">'
        f"{themed_svg(drawing.read_text(encoding='utf-8'), ident=ident, label=words)}</figure>\n"
    )
    return node


NODES: NodeVisitors = {plot: in_place_of(lambda node: node["html"])}
