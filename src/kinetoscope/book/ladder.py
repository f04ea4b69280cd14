"""``{ladder}`` and its ``{rung}``\\ s: the chapters of a book, each with one step of what it is about.

All steps are drawn on one time scale; each rung leads to its page.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes
from docutils.nodes import Node
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

from kinetoscope.book.build_context import book_of
from kinetoscope.book.dependencies import note_fault
from kinetoscope.book.evaluate import compute
from kinetoscope.book.machine_variants import for_each_copy, for_each_machine
from kinetoscope.book.measured import measured_node
from kinetoscope.book.messages import warn
from kinetoscope.book.recorded import RecordedDirective
from kinetoscope.draw.describe import describe
from kinetoscope.draw.ladder import Strip, axis_html, common_scale, ladder_legend, strip, strip_svg
from kinetoscope.draw.layout import lay_out
from kinetoscope.draw.matplotlib_backend import save_ladder

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment


class ladder(nodes.General, nodes.Element):
    """The figure.  Children: its caption, then its :class:`rungs`.  ``strips``: of all rungs, in order."""


class rungs(nodes.General, nodes.Element):
    """The list of rungs.  ``html``: what stands under it."""


class rung(nodes.General, nodes.Element):
    """One chapter.  Children: a paragraph with the link, its words, and a :class:`frame` for each trace."""


class frame(nodes.General, nodes.Element):
    """One step of a trace, as a strip.  Child: the line above it.  ``strip``, ``alt``, ``html``."""


class Rung(RecordedDirective):
    """One chapter of a :class:`Ladder`: the NAMEs drawn, the page it leads to, and what that is about."""

    has_content = True
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Callable[[str], object]]] = {
        "doc": directives.unchanged_required,
        "title": directives.unchanged_required,
    }
    _name = ""

    @property
    def name_asked(self) -> str:
        return self._name

    def run(self) -> list[Node]:
        # not as the others: its ladder sees to it that each machine has one of its own
        made = rung("")
        self.set_source_info(made)
        if "doc" not in self.options:
            self._name = self.arguments[0]
            return self.refuse("option", f"rung {self._name}: say where it leads, as in :doc: read/linear")
        made += nodes.paragraph("", "", self._link(), classes=["ks-rung-title"])
        made += self.parse_content_to_nodes()
        for name in self.arguments[0].split():
            self._name = name
            made += for_each_machine(self.env, self.show)
        return [made]

    def show(self) -> list[Node]:
        trace = self.find(self.book.trace)
        if trace is None:
            return self.nothing_to_show()
        drawn = frame("", self._line(bool(trace.kernels)))
        drawn["strip"] = strip(trace, self._name)
        drawn["alt"] = f"{self._name}. {describe(trace, lay_out(trace, width=640))}"
        return [drawn]

    def _link(self) -> Node:
        """The way to the page: by its own title, or by the one given."""
        title = self.options.get("title", "")
        target = self.options["doc"]
        link = addnodes.pending_xref(
            "", nodes.inline(title or target, title or target, classes=["xref", "std", "std-doc"]),
            refdoc=self.env.docname, refdomain="std", reftype="doc", reftarget=target,
            refexplicit=bool(title), refwarn=True,
        )  # fmt: skip
        self.set_source_info(link)
        return link

    def _line(self, has_kernels: bool) -> Node:
        line = nodes.paragraph("", "", nodes.literal(self._name, self._name), classes=["ks-frame-name"])
        if not has_kernels:
            line += nodes.inline("", "no kernel", classes=["ks-frame-number"])
            return line
        number = nodes.inline(classes=["ks-frame-number"])
        for expression, after in (
            (f"count({self._name}.kernels)", " kernel(s), "),
            (f"time({self._name}.kernels)", " on the GPU"),
        ):
            found = compute(self.env, expression, self.get_location)
            if found is None:
                return line
            shown = measured_node(expression, found)
            one = "kernel" if shown.astext() == "1" else "kernels"
            number += [shown, nodes.Text(after.replace("kernel(s)", one))]
        line += number
        return line


class Ladder(SphinxDirective):
    """Draws its rungs on one time scale.  What is neither a rung becomes the caption."""

    has_content = True

    def run(self) -> list[Node]:
        parts = for_each_copy(self.env, self.parse_content_to_nodes(), self.state.document)
        return for_each_machine(self.env, lambda: self._draw(parts[book_of(self.env).shown]))

    def _draw(self, content: list[Node]) -> list[Node]:
        steps = [node for node in content if isinstance(node, rung)]
        if not steps:
            if book_of(self.env).is_default:
                warn("option", "a ladder needs rungs: put {rung} directives into it", self.get_location())
                note_fault(self.env)
            return content
        frames = [each for step in steps for each in step.findall(frame)]
        strips: list[Strip] = [each["strip"] for each in frames]
        scale = common_scale(strips)
        for each in frames:
            each["html"] = strip_svg(each["strip"], scale, label=each["alt"])
        listed = rungs("", *steps)
        listed["html"] = axis_html(scale) + ladder_legend(strips)
        made = ladder("", *[node for node in content if not isinstance(node, rung)], listed)
        made["strips"] = strips
        self.set_source_info(made)
        return [made]


def visit_ladder(translator: Any, node: ladder) -> None:
    """The figure, and its caption, if any, opened."""
    translator.body.append('<figure class="ks-ladder">\n')
    if len(node) > 1:
        translator.body.append("<figcaption>")


def depart_ladder(translator: Any, node: ladder) -> None:
    """The figure closed."""
    translator.body.append("</figure>\n")


def visit_rungs(translator: Any, node: rungs) -> None:
    """The caption, if any, closed, and the list opened."""
    if node.parent is not None and len(node.parent) > 1:
        translator.body.append("</figcaption>\n")
    translator.body.append('<div class="ks-film"><ol class="ks-rungs">\n')


def depart_rungs(translator: Any, node: rungs) -> None:
    """The list closed; the axis and the legend."""
    translator.body.append(f"</ol>\n{node['html']}</div>\n")


def visit_rung(translator: Any, node: rung) -> None:
    """A rung: first its words, then its frames; both are opened and closed here by what comes first."""
    translator.body.append('<li class="ks-rung"><div class="ks-rung-words">\n')
    if not any(isinstance(child, frame) for child in node):
        return
    first = next(child for child in node if isinstance(child, frame))
    first["opens"] = True


def depart_rung(translator: Any, node: rung) -> None:
    """The end of a rung."""
    translator.body.append("</div></li>\n")


def visit_frame(translator: Any, node: frame) -> None:
    """Before a rung's first frame its words end."""
    if node.get("opens"):
        translator.body.append('</div><div class="ks-frames">\n')


def depart_frame(translator: Any, node: frame) -> None:
    """The strip itself, under its line."""
    translator.body.append(node["html"] + "\n")


def for_paper(env: BuildEnvironment, node: ladder) -> list[Node]:
    """What every builder knows: a picture where the builder shows some, and a list of the rungs."""
    book = book_of(env)
    out: list[Node] = []
    frames = list(node.findall(frame))
    if book.picture:
        folder = Path(env.doctreedir) / "kinetoscope-paper"
        folder.mkdir(parents=True, exist_ok=True)
        what = hashlib.sha256(repr(node["strips"]).encode()).hexdigest()[:8]
        path = folder / f"ladder-{what}.{book.picture}"
        save_ladder(node["strips"], path)
        env.images.add_file(env.docname, str(path))
        alt = " ".join(each["alt"] for each in frames)
        out.append(nodes.figure("", nodes.image(uri=str(path), candidates={"*": str(path)}, alt=alt)))
    items = nodes.enumerated_list("", enumtype="arabic", prefix="", suffix=".")
    for step in node.findall(rung):
        item = nodes.list_item("", *[child for child in step if not isinstance(child, frame)])
        for each in step.findall(frame):
            item += each.children
            if not book.picture:
                item += nodes.paragraph(text=each["alt"])
        items += item
    return [*out, *node.children[:-1], items]


def setup_ladder(app: Sphinx) -> None:
    """Registers the two directives and their nodes."""
    app.add_node(ladder, html=(visit_ladder, depart_ladder))
    app.add_node(rungs, html=(visit_rungs, depart_rungs))
    app.add_node(rung, html=(visit_rung, depart_rung))
    app.add_node(frame, html=(visit_frame, depart_frame))
    app.add_directive("ladder", Ladder)
    app.add_directive("rung", Rung)
