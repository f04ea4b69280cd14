"""``{profiler-table} NAME``: where a trace spent its time, by op, kernel, runtime call or step."""

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
from kinetoscope.draw.views import VIEWS, ColumnError, Shown, ViewError, choose_rows
from kinetoscope.measure.tables import Row
from kinetoscope.trace import Trace


def by(text: str) -> str:
    """Return the key of a view.  Raises ``ValueError`` if :data:`VIEWS` has no such key."""
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
        try:
            shown = choose_rows(
                trace,
                self.options.get("by", "op"),
                step=self.options.get("step"),
                sort=self.options.get("sort"),
                limit=self.options.get("rows"),
                columns=self.options.get("columns", ()),
            )
        except ColumnError as error:
            return self.refuse("name", str(error))
        except ViewError as error:
            return self.refuse("option", f"{self.name_asked}: {error}")
        node = recorded_table()
        node["html"] = html_table(
            shown.columns,
            shown.rows,
            caption=self.options.get("caption") or self._caption(trace, shown),
            highlight=self.options.get("highlight", ()),
            trace=show_trace(self.env, self.name_asked, self.machine_asked),
        )
        node["head"] = [column.heading for column in shown.columns]
        node["body"] = cell_texts(shown.columns, shown.rows)
        self.set_source_info(node)
        return [node]

    def _caption(self, trace: Trace, shown: Shown) -> str:
        caption = f"{self.name_asked} by {shown.view.noun}"
        if shown.view.row is Row:
            if "step" in self.options:
                caption += f", step {self.options['step']}"
            elif trace.steps_at:
                caption += f", sums over {count_word(len(trace.steps_at), 'step')}"
        if shown.left_out:
            caption += f"; {count_word(shown.left_out, 'more row')} not shown"
        return caption
