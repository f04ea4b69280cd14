"""``{timeline} NAME``: lanes, bars, launch arrows of one trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from docutils.nodes import Node
from docutils.parsers.rst import directives

from kinetoscope.book.nodes import timeline
from kinetoscope.book.recorded import RecordedDirective, patterns
from kinetoscope.book.trace_assets import show_trace
from kinetoscope.draw.describe import describe
from kinetoscope.draw.figure import figure_html
from kinetoscope.draw.layout import lay_out
from kinetoscope.draw.window import LayoutError


def steps(text: str) -> int | tuple[int, ...] | str:
    """``3``, ``2, 3`` or ``all``.  Raises ``ValueError`` for anything else."""
    if text.strip() == "all":
        return "all"
    numbers = tuple(int(part) for part in text.split(","))
    return numbers[0] if len(numbers) == 1 else numbers


class Timeline(RecordedDirective):
    """Draws one step of a trace (a typical one unless ``:step:`` says which)."""

    has_content = True
    option_spec: ClassVar[dict[str, Callable[[str], object]]] = {
        **RecordedDirective.option_spec,
        "step": steps,
        "zoom": directives.unchanged_required,
        "highlight": patterns,
        "title": directives.unchanged_required,
    }

    def show(self) -> list[Node]:
        trace = self.find(self.book.trace)
        if trace is None:
            return self.nothing_to_show()
        view: dict[str, Any] = {
            "steps": self.options.get("step"),
            "zoom": self.options.get("zoom"),
            "highlight": self.options.get("highlight", ()),
        }
        ident = self.new_id("timeline")
        try:
            title = self.options.get("title")
            html = figure_html(trace, ident=ident, title=title, name=self.name_asked, **view)
            alt = describe(trace, lay_out(trace, width=640, **view))
        except LayoutError as error:
            return self.refuse("option", f"{self.name_asked}: {error}")
        node = timeline("", *self.caption(), ids=[ident])
        node["html"] = html.rstrip().removesuffix("</figure>")
        node["alt"], node["view"] = alt, view
        node["trace"], node["machine"] = self.name_asked, self.machine_asked
        node["key"] = show_trace(self.env, self.name_asked, self.machine_asked)
        self.set_source_info(node)
        return [node]
