"""``{dispatch-chain} NAME``: the nesting of one step as a tree, down to what the GPU ran."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from docutils import nodes
from docutils.nodes import Node
from docutils.parsers.rst import directives

from kinetoscope.book.assets import show_trace
from kinetoscope.book.directive import Option, Options, RecordedDirective, text_option
from kinetoscope.book.nodes import of_trace
from kinetoscope.draw.layout import typical_step
from kinetoscope.draw.names import short_name
from kinetoscope.measure.printing import printed
from kinetoscope.measure.selection import matches
from kinetoscope.trace import Event, Kind


class DispatchChain(RecordedDirective):
    """A nested list of one typical step (``:step:`` picks another); ``:from:`` starts at an op."""

    option_spec: ClassVar[Options] = {
        "step": Option(
            directives.nonnegative_int,
            "the number of a step as in ``ProfilerStep#3``. If not given: the step of median length, the "
            "one that medians in sentences describe",
        ),
        "from": text_option("a pattern: begin at the first event with such a name, not at the step"),
        **RecordedDirective.option_spec,
    }

    def show(self) -> list[Node]:
        trace = self.find(self.context.trace)
        if not trace.steps:
            raise self.refuse("option", f"{self.name_asked} has no steps; a chain is that of one step")
        numbers = {item.number: item for item in trace.steps}
        asked = self.options.get("step")
        step = typical_step(trace.steps) if asked is None else numbers.get(asked)
        if step is None:
            there = ", ".join(map(str, numbers))
            raise self.refuse("option", f"{self.name_asked} has no step {asked}; it has: {there}")
        top: Iterable[Event] = [step.event]
        if pattern := self.options.get("from"):
            top = [event for event in step.event.walk() if matches(event.name, pattern)][:1]
            if not top:
                nothing = f"nothing in step {step.number} of {self.name_asked} is called {pattern!r}"
                raise self.refuse("option", nothing)
        key = show_trace(self.env, self.name_asked, self.machine_asked)
        tree = nodes.bullet_list("", *[_item(event, key) for event in top], classes=["ks-chain"])
        self.set_source_info(tree)
        return [tree]


def _item(event: Event, key: str) -> nodes.list_item:
    """An event with those below it.  ``key``: its trace, as :func:`show_trace` returns it."""
    line = of_trace(classes=["ks-chain-line"])
    line["trace"], line["events"] = key, str(event.index)
    line += nodes.literal("", short_name(event.name, event.kind), classes=[f"ks-chain-{event.kind.value}"])
    line += nodes.Text(f" {printed(event.dur, 'ns')}")
    if event.kind.on_gpu and event.launch_delay is not None:
        line += nodes.Text(f", {printed(event.launch_delay, 'ns')} after the start of its launch")
    below = [*(child for child in event.children if child.kind is not Kind.PYTHON), *event.activities]
    item = nodes.list_item("", nodes.paragraph("", "", line))
    if below:
        item += nodes.bullet_list("", *[_item(child, key) for child in below])
    return item
