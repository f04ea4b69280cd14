"""``{timeline} NAME``: lanes, bars, launch arrows of one trace."""

from __future__ import annotations

from typing import ClassVar

from docutils.nodes import Node

from kinetoscope.book.assets import show_trace
from kinetoscope.book.directive import Option, Options, RecordedDirective, patterns, text_option
from kinetoscope.book.nodes import timeline
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
    option_spec: ClassVar[Options] = {
        "step": Option(
            steps,
            "the number of a step as in ``ProfilerStep#3``; several, ``2, 3``; or ``all`` for the whole "
            "trace. If not given: the step of median length, the one that medians in sentences describe",
        ),
        "zoom": text_option(
            "a pattern: from the start of the first op, annotation or call with such a name to the end of "
            "what it started"
        ),
        "highlight": Option(patterns, "patterns: the bars to point out"),
        "title": text_option("the text over the figure"),
        **RecordedDirective.option_spec,
    }

    def show(self) -> list[Node]:
        trace = self.find(self.context.trace)
        options = TimelineOptions(
            steps=self.options.get("step"),
            zoom=self.options.get("zoom"),
            highlight=self.options.get("highlight", ()),
        )
        try:
            node = timeline_node(self, trace, options, title=self.options.get("title"))
        except LayoutError as error:
            raise self.refuse("option", f"{self.name_asked}: {error}") from error
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
