"""``{profiler-table} NAME``: where a trace spent its time, by op, kernel, runtime call or step."""

from __future__ import annotations

from typing import ClassVar

from docutils.nodes import Node
from docutils.parsers.rst import directives

from kinetoscope.book.assets import show_trace
from kinetoscope.book.directive import Option, Options, RecordedDirective, patterns, text_option
from kinetoscope.draw.describe import count_word
from kinetoscope.draw.views import VIEWS, ColumnError, Shown, ViewError, choose_rows
from kinetoscope.measure.tables import Row
from kinetoscope.trace import Trace


class ProfilerTable(RecordedDirective):
    """A table of one trace; sums are over all its recorded steps unless ``:step:`` picks one."""

    option_spec: ClassVar[Options] = {
        "by": Option(
            lambda text: directives.choice(text, tuple(VIEWS)),
            "``op`` (if not given), ``kernel``, ``copy`` (memcpy and memset), ``call`` (runtime and driver), "
            "``annotation``, ``step`` or ``waiting`` (what the GPU waited for, step by step)",
        ),
        "step": Option(directives.nonnegative_int, "the number of the one step to sum over"),
        "sort": text_option(
            "a column, largest first; ``name`` goes from A to Z. If not given: the longest first, and "
            "steps in their order"
        ),
        "rows": Option(
            directives.positive_int, "show this many rows; the caption says how many were left out"
        ),
        "columns": Option(patterns, "the columns, in this order, with commas between them"),
        "highlight": Option(patterns, "patterns: the rows to point out"),
        "caption": text_option("a caption in place of the one that is made"),
        **RecordedDirective.option_spec,
    }

    def show(self) -> list[Node]:
        trace = self.find(self.context.trace)
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
        table = self.table(
            shown.columns,
            shown.rows,
            caption=self.options.get("caption") or self._caption(trace, shown),
            highlight=self.options.get("highlight", ()),
            trace=show_trace(self.env, self.name_asked, self.machine_asked),
        )
        return [table]

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
