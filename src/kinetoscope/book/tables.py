"""The tables of a page.

``{profiler-table} NAME``: where a trace spent its time, by op, kernel, runtime call or step.
``{recorded-table} NAME``: a CSV of an example.  ``{kernel-name} NAME``: kernel names taken apart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

from docutils import nodes
from docutils.nodes import Node
from docutils.parsers.rst import directives

from kinetoscope.book.assets import show_trace
from kinetoscope.book.directive import (
    NothingToShow,
    Option,
    Options,
    RecordedDirective,
    patterns,
    text_option,
)
from kinetoscope.draw.describe import count_word
from kinetoscope.draw.table import Column
from kinetoscope.draw.views import VIEWS, ColumnError, Shown, ViewError, choose_rows
from kinetoscope.kernel_names import KernelName, decode
from kinetoscope.measure.csvtable import Cell, CsvTable, column_unit
from kinetoscope.measure.presence import GPU, Presence
from kinetoscope.measure.quantity import Quantity
from kinetoscope.measure.selection import matches
from kinetoscope.measure.tables import Row
from kinetoscope.trace import Kind, Trace

_PART_COLUMNS = (
    Column("name", "part"),
    Column("field", "what it is", "text"),
    Column("meaning", "what it says", "text"),
)

_KINDS: dict[str, Literal["time", "count", "ratio", "share"]] = {
    "ns": "time",
    "count": "count",
    "ratio": "ratio",
    "share": "share",
}
"""How the values of a CSV's column are written, by their unit; any other unit is a quantity"""


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
        if self.options.get("by") in ("kernel", "copy", "waiting"):
            Presence(trace).need(GPU)
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
            raise self.refuse("name", str(error)) from error
        except ViewError as error:
            raise self.refuse("option", f"{self.name_asked}: {error}") from error
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


class RecordedTable(RecordedDirective):
    """A CSV; a column called ``median_us`` gets the heading “median”, and its values their unit."""

    option_spec: ClassVar[Options] = {
        "columns": Option(
            patterns, "the columns, in this order, with commas between them; all, if not given"
        ),
        "caption": text_option("a caption in place of the NAME"),
        **RecordedDirective.option_spec,
    }

    def show(self) -> list[Node]:
        table = self.find(self.context.table)
        names = self.options.get("columns", table.columns)
        unknown = [name for name in names if name not in table.columns]
        if unknown:
            raise self.refuse(
                "name",
                f"{self.name_asked} has no column {unknown[0]!r}; there are: {', '.join(table.columns)}",
            )
        columns = _told_apart([_column(table, name) for name in names])
        rows = _rows(table, names)
        return [self.table(columns, rows, caption=self.options.get("caption") or self.name_asked)]


class KernelNameTable(RecordedDirective):
    """Every kernel of a trace, or those that ``:kernel:`` matches, each name once."""

    option_spec: ClassVar[Options] = {
        "kernel": text_option("a pattern: only the kernels with such names"),
        **RecordedDirective.option_spec,
    }

    def show(self) -> list[Node]:
        trace = self.find(self.context.trace)
        Presence(trace).need(GPU)
        pattern = self.options.get("kernel", "*")
        names = [name for name in dict.fromkeys(k.name for k in trace.kernels) if matches(name, pattern)]
        if not names:
            if self.context.is_strict:
                self.warn("name", f"{self.name_asked} has no kernel called {pattern!r}")
            raise NothingToShow
        return [node for name in names for node in self._parts(decode(name))]

    def _parts(self, kernel: KernelName) -> list[Node]:
        """What the kernel does, and the parts of its name."""
        rows = [
            {
                "name": part.text,
                "kind": Kind.KERNEL,
                "field": part.field if part.known else "not documented",
                "meaning": part.meaning or "–",
            }
            for part in kernel.parts
        ]
        caption = kernel.name if kernel.maker == "unknown" else f"{kernel.maker}: {kernel.name}"
        table = self.table(_PART_COLUMNS, rows, caption=caption, css="ks-parts")
        return [nodes.paragraph("", kernel.what, classes=["ks-kernel-what"]), table]


def _column(table: CsvTable, name: str) -> Column:
    """The heading and format of a CSV's column, from the unit of its values."""
    values = [value for value in table.column(name) if isinstance(value, Quantity)]
    unit, _, what = column_unit(name)
    if not values:
        return Column(name, _line(name.replace("_", " ")))
    if unit == "number":
        is_whole = all(float(value.value).is_integer() for value in values)
        return Column(name, _line(name), "count" if is_whole else "name")
    heading = _line(what.replace("_", " ")) or name
    return Column(name, heading, _KINDS[unit]) if unit in _KINDS else Column(name, heading, "quantity", unit)


def _told_apart(columns: list[Column]) -> list[Column]:
    """Adds the unit to the headings of columns that share one, such as a ratio beside a time.

    The column of times keeps its heading.
    """
    headings = [column.heading for column in columns]
    return [
        replace(column, heading=column.key.replace("_", " "))
        if headings.count(column.heading) > 1 and column.kind != "time"
        else column
        for column in columns
    ]


def _rows(table: CsvTable, names: list[str]) -> list[dict[str, object]]:
    """The cells by column; an empty one was not measured."""
    columns = [[_plain(cell) for cell in table.column(name)] for name in names]
    return [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]


def _plain(cell: Cell) -> object:
    return cell.value if isinstance(cell, Quantity) else _line(cell) or None


def _line(text: str) -> str:
    """``text`` on one line: a cell and a heading of a CSV may have several."""
    return " ".join(text.split())
