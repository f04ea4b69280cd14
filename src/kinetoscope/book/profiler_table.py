"""``{profiler-table} NAME``: what a trace spent its time on, by op, kernel, runtime call or step."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from docutils.nodes import Node
from docutils.parsers.rst import directives

from kinetoscope.book.nodes import recorded_table
from kinetoscope.book.recorded import RecordedDirective, patterns
from kinetoscope.book.trace_assets import show_trace
from kinetoscope.draw.describe import count_word
from kinetoscope.draw.table import cell_texts, html_table
from kinetoscope.draw.views import VIEWS, AnyRow, View, columns_of_view, shown_column, sort_key
from kinetoscope.measure.tables import Row
from kinetoscope.trace import StepAt, Trace


def by(text: str) -> str:
    """Raises ``ValueError`` for a way of grouping that is not in :data:`VIEWS`."""
    return directives.choice(text, tuple(VIEWS))


class ProfilerTable(RecordedDirective):
    """A table of one trace; sums are over all its recorded steps unless ``:step:`` picks one."""

    option_spec: ClassVar[dict[str, Callable[[str], object]]] = {
        **RecordedDirective.option_spec,
        "by": by,
        "step": directives.nonnegative_int,
        "sort": directives.unchanged_required,
        "rows": directives.positive_int,
        "columns": patterns,
        "highlight": patterns,
        "caption": directives.unchanged_required,
    }

    def show(self) -> list[Node]:
        trace = self.find(self.book.trace)
        if trace is None:
            return self.nothing_to_show()
        view = VIEWS[self.options.get("by", "op")]
        wanted = self.options.get("columns", ())
        sort = self.options.get("sort")
        there = columns_of_view(view)
        unknown = [name for name in (*wanted, *([sort] if sort else ())) if name not in there]
        if unknown:
            return self.refuse(
                "name", f"no column {unknown[0]!r} in a table by {view.noun}; there are: {', '.join(there)}"
            )
        step = self._step(trace)
        if step is None and "step" in self.options:
            steps = ", ".join(str(item.number) for item in trace.steps_at) or "none"
            return self.refuse(
                "option", f"{self.name_asked} has no step {self.options['step']}; there are: {steps}"
            )
        rows: list[AnyRow] = list(view.rows(trace, step))
        if sort:
            rows.sort(key=lambda row: sort_key(row, str(sort)), reverse=sort != "name")
        left_out = 0
        if "rows" in self.options:
            left_out = max(0, len(rows) - self.options["rows"])
            rows = rows[: self.options["rows"]]
        columns = [shown_column(name, view) for name in wanted or view.shown(rows)]
        caption = self.options.get("caption") or self._caption(view, trace, step, left_out)
        node = recorded_table()
        node["html"] = html_table(
            columns,
            rows,
            caption=caption,
            highlight=self.options.get("highlight", ()),
            trace=show_trace(self.env, self.name_asked, self.machine_asked),
        )
        node["head"], node["body"] = [column.heading for column in columns], cell_texts(columns, rows)
        self.set_source_info(node)
        return [node]

    def _step(self, trace: Trace) -> StepAt | None:
        number = self.options.get("step")
        return next((step for step in trace.steps_at if step.number == number), None)

    def _caption(self, view: View, trace: Trace, step: StepAt | None, left_out: int) -> str:
        caption = f"{self.name_asked} by {view.noun}"
        if view.row is Row:
            if step is not None:
                caption += f", step {step.number}"
            elif trace.steps_at:
                caption += f", sums over {count_word(len(trace.steps_at), 'step')}"
        if left_out:
            caption += f"; {count_word(left_out, 'more row')} not shown"
        return caption
