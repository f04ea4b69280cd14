"""``{timeline} NAME``: lanes, bars, launch arrows of one trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from docutils.nodes import Node
from docutils.parsers.rst import directives

from kinetoscope.book.nodes import timeline
from kinetoscope.book.recorded import RecordedDirective, patterns
from kinetoscope.book.trace_assets import show_trace
from kinetoscope.draw.figure import draw_figure
from kinetoscope.draw.layout import LayoutError, TimelineOptions
from kinetoscope.trace import Trace


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
        options = TimelineOptions(
            steps=self.options.get("step"),
            zoom=self.options.get("zoom"),
            highlight=self.options.get("highlight", ()),
        )
        try:
            node = timeline_node(self, trace, options, title=self.options.get("title"))
        except LayoutError as error:
            return self.refuse("option", f"{self.name_asked}: {error}")
        node += self.caption()
        return [node]


def timeline_node(
    directive: RecordedDirective, trace: Trace, options: TimelineOptions, *, title: str | None = None
) -> timeline:
    """Draw the trace that the directive asks for, without a caption; its page then shows that trace.

    Raises :class:`LayoutError` if the trace does not have what ``options`` ask for.
    """
    name, machine = directive.name_asked, directive.machine_asked
    ident = directive.new_id("timeline")
    figure = draw_figure(trace, options, ident=ident, title=title, name=name)
    node = timeline("", ids=[ident])
    node["html"], node["alt"] = figure.opening, figure.description
    node["trace"], node["machine"], node["options"] = name, machine, options
    node["key"] = show_trace(directive.env, name, machine)
    directive.set_source_info(node)
    return node
