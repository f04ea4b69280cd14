"""``{recorded-table} NAME``: a table an example measured itself and wrote as CSV."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from docutils.nodes import Node
from docutils.parsers.rst import directives

from kinetoscope.book.nodes import recorded_table
from kinetoscope.book.recorded import RecordedDirective, patterns
from kinetoscope.draw.table import Column, cell_texts, html_table
from kinetoscope.measure.csvtable import Cell, CsvTable
from kinetoscope.measure.quantity import Quantity


class RecordedTable(RecordedDirective):
    """Shows a CSV; a column called ``median_us`` is headed “median” and written with its unit."""

    option_spec: ClassVar[dict[str, Callable[[str], object]]] = {
        **RecordedDirective.option_spec,
        "columns": patterns,
        "caption": directives.unchanged_required,
    }

    def show(self) -> list[Node]:
        table = self.find(self.book.table)
        if table is None:
            return self.nothing_to_show()
        names = self.options.get("columns", table.columns)
        unknown = [name for name in names if name not in table.columns]
        if unknown:
            return self.refuse(
                "name",
                f"{self.name_asked} has no column {unknown[0]!r}; there are: {', '.join(table.columns)}",
            )
        columns = _told_apart([_column(table, name) for name in names])
        rows = _rows(table, names)
        node = recorded_table()
        node["html"] = html_table(columns, rows, caption=self.options.get("caption") or self.name_asked)
        node["head"], node["body"] = [column.heading for column in columns], cell_texts(columns, rows)
        self.set_source_info(node)
        return [node]


def _column(table: CsvTable, name: str) -> Column:
    """How a CSV's column is headed and written, from its values' unit."""
    values = [value for value in table.column(name) if isinstance(value, Quantity)]
    heading = name.rpartition("_")[0].replace("_", " ") if values and values[0].unit != "number" else name
    if not values:
        return Column(name, heading.replace("_", " "))
    unit = values[0].unit
    if unit == "ns":
        return Column(name, heading, "time")
    if unit == "ratio":
        return Column(name, heading, "ratio")
    if unit == "share":
        return Column(name, heading, "share")
    if unit in ("bytes", "flop", "bytes/ns", "flop/ns"):
        return Column(name, heading or name, "quantity", unit)
    if all(float(value.value).is_integer() for value in values):
        return Column(name, heading or name, "count")
    return Column(name, heading or name)


def _told_apart(columns: list[Column]) -> list[Column]:
    """Of columns with one heading, a ratio beside a time, what is no time has its unit in its heading."""
    headings = [column.heading for column in columns]
    return [
        replace(column, heading=column.key.replace("_", " "))
        if headings.count(column.heading) > 1 and column.kind != "time"
        else column
        for column in columns
    ]


def _rows(table: CsvTable, names: list[str]) -> list[dict[str, object]]:
    """The cells by column; an empty one was not measured."""
    columns = {name: table.column(name) for name in names}
    return [
        {name: _plain(values[number]) for name, values in columns.items()}
        for number in range(len(table.rows))
    ]


def _plain(value: Cell) -> object:
    if isinstance(value, Quantity):
        return value.value
    return value or None
