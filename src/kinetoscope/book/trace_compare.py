"""``{trace-compare} BEFORE AFTER``: two timelines on one scale, and what changed between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from docutils.nodes import Node
from docutils.parsers.rst import directives

from kinetoscope.book.nodes import recorded_table, timeline
from kinetoscope.book.recorded import RecordedDirective
from kinetoscope.draw import Column, cell_texts, describe, figure_html, html_table, lay_out
from kinetoscope.measure.compare import Change, Pair, compare
from kinetoscope.trace import Kind, Trace

_COLUMNS = (
    Column("name", "name"),
    Column("said", "what happened", "text"),
    Column("calls_before", "calls", "count"),
    Column("calls_after", "calls then", "count"),
    Column("before", "time", "time"),
    Column("after", "time then", "time"),
    Column("ratio", "ratio", "ratio"),
)
_SAID: dict[Change, str] = {
    "kept": "kept",
    "slower": "kept its name, slower",
    "faster": "kept its name, faster",
    "gone": "gone",
    "new": "new",
}


class TraceCompare(RecordedDirective):
    """Kernels and copies paired by name; ``:by: op`` pairs the ops instead."""

    required_arguments = 2
    has_content = True
    option_spec: ClassVar[dict[str, Callable[[str], object]]] = {
        **RecordedDirective.option_spec,
        "by": lambda text: directives.choice(text, ("kernel", "op")),
        "no-timelines": directives.flag,
    }

    def show(self) -> list[Node]:
        found = []
        for name in self.arguments:
            self.asked = name
            trace = self.find(self.book.trace)
            if trace is None:
                return self.nothing_to_show()
            found.append(trace)
        before, after = found
        figures = [] if "no-timelines" in self.options else self._figures(before, after)
        return [*figures, self._table(before, after), *self.caption()]

    @property
    def name_asked(self) -> str:
        return getattr(self, "asked", str(self.arguments[0]))

    def _figures(self, before: Trace, after: Trace) -> list[Node]:
        # One scale: both windows are as long as the longer of the two.
        longest = max(lay_out(trace, width=640).window.dur for trace in (before, after))
        figures: list[Node] = []
        for name, trace in zip(self.arguments, (before, after), strict=True):
            self.asked = name
            view: dict[str, Any] = {"at_least": longest}
            ident = self.new_id("timeline")
            node = timeline("", ids=[ident])
            node["html"] = (
                figure_html(trace, ident=ident, title=name, **view).rstrip().removesuffix("</figure>")
            )
            node["alt"], node["view"] = describe(trace, lay_out(trace, width=640, **view)), view
            node["trace"], node["machine"] = name, self.machine_asked
            self.set_source_info(node)
            figures.append(node)
        return figures

    def _table(self, before: Trace, after: Trace) -> Node:
        kinds = (Kind.OP,) if self.options.get("by") == "op" else ()
        rows = [_row(pair) for pair in compare(before, after, *kinds)]
        caption = f"From {self.arguments[0]} to {self.arguments[1]}, a step each"
        node = recorded_table()
        node["html"] = html_table(_COLUMNS, rows, caption=caption)
        node["head"], node["body"] = [column.heading for column in _COLUMNS], cell_texts(_COLUMNS, rows)
        self.set_source_info(node)
        return node


def _row(pair: Pair) -> dict[str, object]:
    return {
        "name": pair.name,
        "said": _SAID[pair.change],
        "calls_before": pair.calls_before,
        "calls_after": pair.calls_after,
        "before": pair.before if pair.change != "new" else None,
        "after": pair.after if pair.change != "gone" else None,
        "ratio": pair.ratio,
    }
