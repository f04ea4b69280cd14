"""``{ladder}`` and its ``{rung}``\\ s: the chapters of a book, each with one step of what it is about.

All steps are drawn on one time scale; each rung leads to its page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from docutils import nodes
from docutils.nodes import Node

from kinetoscope.book.build_context import context_of
from kinetoscope.book.directive import BookDirective, Options, RecordedDirective, text_option
from kinetoscope.book.machine_variants import for_each_copy, for_each_machine
from kinetoscope.book.measured import compute, measured_node
from kinetoscope.book.nodes import NodeVisitors, OwnNode, around, page_link, paper_figure
from kinetoscope.draw.describe import describe
from kinetoscope.draw.figure import WIDE_PX
from kinetoscope.draw.ladder import Strip, axis_html, common_scale, ladder_legend, strip, strip_svg
from kinetoscope.draw.layout import lay_out
from kinetoscope.draw.matplotlib_backend import save_ladder
from kinetoscope.measure.presence import GPU, has

if TYPE_CHECKING:
    from sphinx.environment import BuildEnvironment

    from kinetoscope.trace import Trace


class ladder(OwnNode):
    """The figure.  Children: its caption, then its :class:`rungs`.  ``strips``: of all rungs, in order."""

    def for_paper(self, env: BuildEnvironment) -> list[Node]:
        """A picture, if the builder shows any, and a list of the rungs."""
        has_pictures = bool(context_of(env).picture)
        out: list[Node] = []
        if has_pictures:
            strips = self["strips"]
            alt = " ".join(each["alt"] for each in self.findall(frame))
            out.append(paper_figure(env, "ladder", strips, lambda path: save_ladder(strips, path), alt))
        items = nodes.enumerated_list("", enumtype="arabic", prefix="", suffix=".")
        for chapter in self.findall(rung):
            item = nodes.list_item("", *[child for child in chapter if not isinstance(child, frame)])
            for each in chapter.findall(frame):
                item += each.children
                if not has_pictures:
                    item += nodes.paragraph(text=each["alt"])
            items += item
        return [*out, *self.children[:-1], items]


class rungs(nodes.General, nodes.Element):
    """The list of rungs.  ``html``: the axis and the legend, which stand under it."""


class rung(nodes.General, nodes.Element):
    """One chapter.  Children: a paragraph with the link, its words, and a :class:`frame` for each trace."""


class frame(nodes.General, nodes.Element):
    """One step of a trace, as a strip.  Child: the line above it.

    ``strip``: what is drawn; ``alt``: in words; ``html``: as SVG, once the scale is known.
    """


class Rung(RecordedDirective):
    """One chapter of a :class:`Ladder`: the NAMEs drawn, the page it leads to, and what that is about."""

    has_content = True
    final_argument_whitespace = True
    option_spec: ClassVar[Options] = {
        "doc": text_option("the page that the rung leads to, as in a ``doc`` role; it must be given"),
        "title": text_option("the words of the link, in place of the page's own title"),
    }

    def run(self) -> list[Node]:
        # Other directives show once for each machine. The ladder copies its rungs for each machine instead.
        made = rung("")
        self.set_source_info(made)
        if "doc" not in self.options:
            self.name_asked = self.arguments[0]
            self.warn("option", f"rung {self.name_asked}: say where it leads, as in :doc: read/linear")
            return self.nothing_to_show()
        link = page_link(self.env, self.options["doc"], self.options.get("title", ""))
        self.set_source_info(link)
        made += nodes.paragraph("", "", link, classes=["ks-rung-title"])
        made += self.parse_content_to_nodes()
        for name in self.arguments[0].split():
            self.name_asked = name
            made += for_each_machine(self.env, self.shown)
        return [made]

    def show(self) -> list[Node]:
        trace = self.find(self.context.trace)
        drawn = frame("", self._line(trace))
        drawn["strip"] = strip(trace, self.name_asked)
        drawn["alt"] = f"{self.name_asked}. {describe(trace, lay_out(trace, width=WIDE_PX))}"
        return [drawn]

    def _line(self, trace: Trace) -> Node:
        line = nodes.paragraph(
            "", "", nodes.literal(self.name_asked, self.name_asked), classes=["ks-frame-name"]
        )
        if not trace.kernels:
            said = "no kernel" if has(trace, GPU) else "GPU not measured here"
            line += nodes.inline("", said, classes=["ks-frame-number"])
            return line
        number = nodes.inline(classes=["ks-frame-number"])
        for expression, after in (
            (f"count({self.name_asked}.kernels)", " kernel(s), "),
            (f"time({self.name_asked}.kernels)", " on the GPU"),
        ):
            computed = compute(self.env, expression, self.get_location)
            if computed is None:
                return line
            value = measured_node(expression, computed)
            noun = "kernel" if value.astext() == "1" else "kernels"
            number += [value, nodes.Text(after.replace("kernel(s)", noun))]
        line += number
        return line


class Ladder(BookDirective):
    """Draws its rungs on one time scale.  Whatever else is in its content becomes the caption."""

    has_content = True

    def run(self) -> list[Node]:
        parts = for_each_copy(self.env, self.parse_content_to_nodes(), self.state.document)
        return for_each_machine(self.env, lambda: self._draw(parts[self.context.shown]))

    def _draw(self, content: list[Node]) -> list[Node]:
        chapters = [node for node in content if isinstance(node, rung)]
        if not chapters:
            self.warn("option", "a ladder needs rungs: put {rung} directives into it")
            return content
        frames = [each for chapter in chapters for each in chapter.findall(frame)]
        strips: list[Strip] = [each["strip"] for each in frames]
        scale = common_scale(strips)
        for each in frames:
            each["html"] = strip_svg(each["strip"], scale, label=each["alt"])
        listed = rungs("", *chapters)
        listed["html"] = axis_html(scale) + ladder_legend(strips)
        made = ladder("", *[node for node in content if not isinstance(node, rung)], listed)
        made["strips"] = strips
        self.set_source_info(made)
        return [made]


def _has_caption(node: ladder) -> bool:
    return len(node) > 1


def _before_frame(node: frame) -> str:
    """The words of a rung end before its first frame."""
    first = next(child for child in node.parent if isinstance(child, frame))
    return '</div><div class="ks-frames">\n' if node is first else ""


NODES: NodeVisitors = {
    ladder: around(
        lambda node: '<figure class="ks-ladder">\n' + "<figcaption>" * _has_caption(node), "</figure>\n"
    ),
    rungs: around(
        lambda node: (
            "</figcaption>\n" * _has_caption(node.parent) + '<div class="ks-film"><ol class="ks-rungs">\n'
        ),
        lambda node: f"</ol>\n{node['html']}</div>\n",
    ),
    rung: around('<li class="ks-rung"><div class="ks-rung-words">\n', "</div></li>\n"),
    frame: around(_before_frame, lambda node: node["html"] + "\n"),
}
