"""``{profiler-table} NAME``: what a trace spent its time on, by op, kernel, runtime call or step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from docutils.nodes import Node
from docutils.parsers.rst import directives

from kinetoscope.book.nodes import recorded_table
from kinetoscope.book.recorded import RecordedDirective, patterns
from kinetoscope.book.walkable import show_trace
from kinetoscope.draw import Column, cell_texts, count_word, html_table
from kinetoscope.measure import (
    annotation_table,
    call_table,
    copy_table,
    kernel_table,
    op_table,
    step_table,
)
from kinetoscope.measure.regime import StepSummary, step_summaries
from kinetoscope.measure.tables import Row, StepRow
from kinetoscope.trace import Step, Trace

COLUMNS: dict[str, Column] = {
    column.key: column
    for column in (
        Column("name", "name"),
        Column("calls", "calls", "count"),
        Column("self_cpu", "self CPU", "time"),
        Column("cpu", "total CPU", "time"),
        Column("self_device", "self GPU", "time"),
        Column("device", "total GPU", "time"),
        Column("share", "share", "share"),
        Column("mean", "mean", "time"),
        Column("median", "median", "time"),
        Column("min", "min", "time"),
        Column("max", "max", "time"),
        Column("span", "span", "time"),
        Column("busy", "own GPU work", "time"),
        Column("idle", "GPU idle", "time"),
        Column("kernels", "kernels", "count"),
        Column("launches", "launches", "count"),
        Column("gpu_busy", "GPU busy", "time"),
        Column("idle_cpu", "for the CPU", "time"),
        Column("idle_launch", "for the launch", "time"),
        Column("idle_sync", "for a sync", "time"),
        Column("idle_queued", "queued", "time"),
        Column("idle_end", "at the end", "time"),
        Column("idle_unknown", "unknown", "time"),
        Column("launch_delay", "launch delay", "time"),
        Column("deepest", "deepest queue", "count"),
        Column("launched_by", "launched by"),
    )
}
"""every column a table can have, by the name an author gives"""


@dataclass(frozen=True, slots=True)
class View:
    """One way to group a trace."""

    noun: str
    rows: Callable[[Trace, Step | None], Sequence[Row] | Sequence[StepRow] | Sequence[StepSummary]]
    columns: tuple[str, ...]
    """those shown unless the author names others"""
    share: str
    """what the share is of"""
    row: type[Row] | type[StepRow] | type[StepSummary] = Row
    """what its rows are, and so which columns there can be"""


VIEWS: dict[str, View] = {
    "op": View(
        "op", op_table, ("name", "calls", "self_cpu", "cpu", "self_device", "device", "share"), "of self CPU"
    ),
    "kernel": View(
        "kernel",
        kernel_table,
        ("name", "launched_by", "calls", "device", "share", "median", "min", "max"),
        "of kernels",
    ),
    "copy": View(
        "copy", copy_table, ("name", "calls", "device", "share", "median", "min", "max"), "of copies"
    ),
    "call": View(
        "runtime call", call_table, ("name", "calls", "cpu", "share", "median", "min", "max"), "of calls"
    ),
    "annotation": View(
        "annotation", annotation_table, ("name", "calls", "self_cpu", "cpu", "device"), "of self CPU"
    ),
    "step": View(
        "step",
        lambda trace, step: [row for row in step_table(trace) if step is None or row.number == step.number],
        ("name", "cpu", "span", "busy", "idle", "kernels", "launches"),
        "own work of span",
        StepRow,
    ),
    "waiting": View(
        "step and cause of waiting",
        lambda trace, step: [
            row for row in step_summaries(trace) if step is None or row.number == step.number
        ],
        (
            "name",
            "span",
            "gpu_busy",
            "idle",
            "idle_cpu",
            "idle_launch",
            "idle_sync",
            "idle_queued",
            "idle_end",
            "launches",
            "deepest",
        ),
        "busy of span",
        StepSummary,
    ),
}


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

    def run(self) -> list[Node]:
        trace = self.find(self.book.trace)
        if trace is None:
            return self.nothing_to_show()
        view = VIEWS[self.options.get("by", "op")]
        wanted = self.options.get("columns", view.columns)
        sort = self.options.get("sort")
        there = [name for name in COLUMNS if name in view.row.__slots__]
        unknown = [name for name in (*wanted, *([sort] if sort else ())) if name not in there]
        if unknown:
            return self.refuse(
                "name", f"no column {unknown[0]!r} in a table by {view.noun}; there are: {', '.join(there)}"
            )
        step = self._step(trace)
        if step is None and "step" in self.options:
            steps = ", ".join(str(item.number) for item in trace.steps) or "none"
            return self.refuse(
                "option", f"{self.name_asked} has no step {self.options['step']}; there are: {steps}"
            )
        rows = list(view.rows(trace, step))
        if sort:
            rows.sort(key=lambda row: _sort_key(row, str(sort)), reverse=sort != "name")
        left_out = 0
        if "rows" in self.options:
            left_out = max(0, len(rows) - self.options["rows"])
            rows = rows[: self.options["rows"]]
        columns = [_column(name, view) for name in wanted]
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

    def _step(self, trace: Trace) -> Step | None:
        number = self.options.get("step")
        return next((step for step in trace.steps if step.number == number), None)

    def _caption(self, view: View, trace: Trace, step: Step | None, left_out: int) -> str:
        caption = f"{self.name_asked} by {view.noun}"
        if view.row is Row:
            if step is not None:
                caption += f", step {step.number}"
            elif trace.steps:
                caption += f", sums over {count_word(len(trace.steps), 'step')}"
        if left_out:
            caption += f"; {count_word(left_out, 'more row')} not shown"
        return caption


def _sort_key(row: object, column: str) -> tuple[bool, object]:
    """A step that launched nothing has no launch delay: it is below all others."""
    value = getattr(row, column)
    return value is not None, value


def _column(name: str, view: View) -> Column:
    column = COLUMNS[name]
    return Column(name, view.share, "share") if name == "share" else column
