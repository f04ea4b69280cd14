"""A table that an example wrote as CSV: rows of settings and measurements."""

from __future__ import annotations

import csv
import io
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING

from kinetoscope.measure.errors import ExpressionError, NotMeasured, TableError, suggestion
from kinetoscope.measure.quantity import Quantity

if TYPE_CHECKING:
    import os

Cell = Quantity | str

SUFFIXES: dict[str, tuple[str, Decimal]] = {
    "_ns": ("ns", Decimal(1)),
    "_us": ("ns", Decimal(10) ** 3),
    "_ms": ("ns", Decimal(10) ** 6),
    "_s": ("ns", Decimal(10) ** 9),
    "_gb_s": ("bytes/ns", Decimal(1)),
    "_tb_s": ("bytes/ns", Decimal(1000)),
    "_gflop_s": ("flop/ns", Decimal(1)),
    "_tflop_s": ("flop/ns", Decimal(1000)),
    "_tflops": ("flop/ns", Decimal(1000)),
    "_flop": ("flop", Decimal(1)),
    "_bytes": ("bytes", Decimal(1)),
    "_kb": ("bytes", Decimal(10) ** 3),
    "_mb": ("bytes", Decimal(10) ** 6),
    "_gb": ("bytes", Decimal(10) ** 9),
    "_mib": ("bytes", Decimal(2) ** 20),
    "_gib": ("bytes", Decimal(2) ** 30),
    "_count": ("count", Decimal(1)),
    "_ratio": ("ratio", Decimal(1)),
    "_share": ("share", Decimal(1)),
    "_percent": ("share", Decimal("0.01")),
}
"""(unit, factor to it) by the end of a column's name, or by the whole of it; the longest that fits counts."""


class CsvTable:
    """The rows of a CSV file.  The end of a column's name is its unit: ``time_us``, ``bandwidth_gb_s``."""

    def __init__(self, name: str, columns: list[str], rows: list[list[str]]) -> None:
        self.name = name
        self.columns = columns
        self.rows = rows

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> CsvTable:
        """The table in a CSV file (UTF-8, with a header line), named by the file's stem.

        Raises :class:`TableError` for a file that is missing, empty or ragged.
        """
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8-sig")
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise TableError(f"{path}: cannot be read ({reason}); check the path of the table.") from error
        except UnicodeDecodeError as error:
            raise TableError(f"{path}: is not UTF-8; run the example that writes it again.") from error
        return cls.parse(text, path.stem, str(path))

    @classmethod
    def parse(cls, text: str, name: str, path: str = "table") -> CsvTable:
        """The table in the text of a CSV file; ``path`` is for messages."""
        try:
            lines = [line for line in csv.reader(io.StringIO(text)) if line]
        except csv.Error as error:
            raise TableError(f"{path}: is no CSV ({error}); run the example that writes it again.") from error
        if not lines:
            raise TableError(f"{path}: the table is empty; run the example that writes it again.")
        columns, *rows = lines
        if len(set(columns)) != len(columns):
            raise TableError(f"{path}: two columns have the same name; rename one.")
        for number, row in enumerate(rows, start=1):
            if len(row) != len(columns):
                raise TableError(
                    f"{path}: row {number} has {len(row)} cells, the header {len(columns)}; write it again."
                )
        return cls(name, columns, rows)

    def __repr__(self) -> str:
        return self.name

    def __bool__(self) -> bool:
        raise ExpressionError(f"{self.name} is a table, neither true nor false; ask for a cell of it.")

    def where(self, **settings: object) -> CsvTable:
        """The rows in which each named column has the given value; maybe none."""
        wanted = [(self.position(column), value) for column, value in settings.items()]
        rows = [row for row in self.rows if all(_same(row[at], value) for at, value in wanted)]
        return CsvTable(f"{self.name}.where({_shown(settings)})", self.columns, rows)

    def at(self, **settings: object) -> TableRow:
        """The one row in which each named column has the given value.

        Raises :class:`ExpressionError` if there is no such row, or more than one.
        """
        rows = self.where(**settings).rows
        if len(rows) == 1:
            return TableRow(self, f"{self.name}.at({_shown(settings)})", rows[0])
        if rows:
            raise ExpressionError(
                f"{self.name}.at({_shown(settings)}) fits {len(rows)} rows; "
                f"name more of the columns {', '.join(self.columns)}."
            )
        have = [
            f"{column} {', '.join(dict.fromkeys(row[self.position(column)] for row in self.rows))}"
            for column in settings
        ]
        raise ExpressionError(f"{self.name}.at({_shown(settings)}) fits no row; it has {'; '.join(have)}.")

    def column(self, name: str) -> tuple[Cell, ...]:
        """The values of one column, a row each."""
        at = self.position(name)
        return tuple(cell(row[at], name) for row in self.rows)

    def position(self, column: str) -> int:
        """Which column has this name, from 0.  Raises :class:`ExpressionError` where none has."""
        if column not in self.columns:
            raise ExpressionError(f"{self.name} has no column {column!r}; {suggestion(column, self.columns)}")
        return self.columns.index(column)


class TableRow:
    """One row of a table; each column is an attribute of it."""

    def __init__(self, table: CsvTable, source: str, cells: list[str]) -> None:
        self.table = table
        self.source = source
        self.cells = cells

    def __repr__(self) -> str:
        return self.source

    def __bool__(self) -> bool:
        raise ExpressionError(f"{self.source} is a row, neither true nor false; ask for a column of it.")

    def get(self, column: str) -> Cell:
        """The value in ``column``, with its unit if it is a number.

        Raises :class:`NotMeasured` for an empty cell.
        """
        text = self.cells[self.table.position(column)]
        if not text.strip():
            raise NotMeasured(f"{self.source}.{column} is an empty cell: what was measured on this machine?")
        return cell(text, column)


def _column_unit(column: str) -> tuple[str, Decimal]:
    """(unit, factor to it) that a column's name ends in; ``number`` if it ends in none."""
    fitting = [suffix for suffix in SUFFIXES if f"_{column.lower()}".endswith(suffix)]
    return SUFFIXES[max(fitting, key=len)] if fitting else ("number", Decimal(1))


def cell(text: str, column: str) -> Cell:
    """The value of a cell: a quantity in the column's unit, or the text if it isn't a number."""
    number = _number(text)
    if number is None:
        return text
    unit, factor = _column_unit(column)
    exact = number * factor
    return Quantity(int(exact) if exact == exact.to_integral_value() else float(exact), unit)


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    # In the unit of any column it is still at most LARGEST.
    return number if number.is_finite() and abs(number.adjusted()) < 290 else None


def _same(text: str, value: object) -> bool:
    if isinstance(value, Quantity):
        value = value.value
    number = _number(text)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and number is not None:
        return float(number) == float(value)
    return text.strip() == str(value)


def _shown(settings: dict[str, object]) -> str:
    return ", ".join(f"{column}={value!r}" for column, value in settings.items())
