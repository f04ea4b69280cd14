"""A table that an example wrote as CSV: rows of settings and measurements."""

from __future__ import annotations

import csv
import io
import re
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

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
    "_bytes_s": ("bytes/ns", Decimal(10) ** -9),
    "_kb_s": ("bytes/ns", Decimal(10) ** -6),
    "_mb_s": ("bytes/ns", Decimal(10) ** -3),
    "_gb_s": ("bytes/ns", Decimal(1)),
    "_tb_s": ("bytes/ns", Decimal(1000)),
    "_mib_s": ("bytes/ns", Decimal(2) ** 20 / 10**9),
    "_gib_s": ("bytes/ns", Decimal(2) ** 30 / 10**9),
    "_flop_s": ("flop/ns", Decimal(10) ** -9),
    "_mflop_s": ("flop/ns", Decimal(10) ** -3),
    "_gflop_s": ("flop/ns", Decimal(1)),
    "_tflop_s": ("flop/ns", Decimal(1000)),
    "_tflops": ("flop/ns", Decimal(1000)),
    "_pflop_s": ("flop/ns", Decimal(10) ** 6),
    "_per_s": ("1/s", Decimal(1)),
    "_per_ms": ("1/s", Decimal(10) ** 3),
    "_per_us": ("1/s", Decimal(10) ** 6),
    "_per_ns": ("1/s", Decimal(10) ** 9),
    "_qps": ("1/s", Decimal(1)),
    "_rps": ("1/s", Decimal(1)),
    "_tps": ("1/s", Decimal(1)),
    "_fps": ("1/s", Decimal(1)),
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
    "_pct": ("share", Decimal("0.01")),
}
"""(unit, factor to it) by the end of a column's name, or by the whole of it; the longest that fits counts."""

# Other ways to write those endings: tokens_per_second, img/s, gb_per_s, and the s of what only a rate counts.
_SPELLINGS = (
    (re.compile(r"(?:_per_|/)(?:s|sec|second)$"), "_per_s"),
    (re.compile(r"(_(?:bytes|[kmgt]b|[mg]ib|[mgtp]?flop))s?(?:_per)?_s$"), r"\1_s"),
    (
        re.compile(r"(_(?:toks|tok|tokens|img|imgs|images|samples|reqs|requests|it|[kmgt]?bits?))_s$"),
        r"\1_per_s",
    ),
)


class ColumnUnit(NamedTuple):
    """What a column's name says about its values."""

    unit: str
    factor: Decimal
    """What a value is multiplied by to be in the unit"""
    what: str
    """The name without its ending; empty where the ending is all of it"""


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
            # A header with semicolons or tabs, and no comma, says what stands between the cells.
            header = text.lstrip().partition("\n")[0]
            between = next((mark for mark in ";\t" if mark in header and "," not in header), ",")
            reader = csv.reader(io.StringIO(text), delimiter=between, skipinitialspace=True)
            lines = [line for line in reader if line]
        except csv.Error as error:
            raise TableError(f"{path}: is no CSV ({error}); run the example that writes it again.") from error
        if not lines:
            raise TableError(f"{path}: the table is empty; run the example that writes it again.")
        columns, *rows = [[text.strip() for text in line] for line in lines]
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


def column_unit(column: str) -> ColumnUnit:
    """What the end of a column's name says; ``number`` if it says nothing."""
    name = f"_{column.lower()}"
    for spelling, usual in _SPELLINGS:
        name = spelling.sub(usual, name)
    fitting = [suffix for suffix in SUFFIXES if name.endswith(suffix)]
    if fitting:
        before = name.removesuffix(max(fitting, key=len))
        # A number per GB is no number of GB, and a column called S alone is as likely a length as a time.
        if not before.endswith("_per") and name != "_s":
            return ColumnUnit(*SUFFIXES[max(fitting, key=len)], column[: max(0, len(before) - 1)])
    return ColumnUnit("number", Decimal(1), column)


def cell(text: str, column: str) -> Cell:
    """The value of a cell: a quantity in the column's unit, or the text if it isn't a number."""
    number = _number(text)
    if number is None:
        return text
    unit, factor, _ = column_unit(column)
    exact = number * factor
    return Quantity(int(exact) if exact == exact.to_integral_value() else float(exact), unit)


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    # In the unit of any column it is still at most LARGEST.  A shape such as 64_128 is no number.
    return number if number.is_finite() and abs(number.adjusted()) < 290 and "_" not in text else None


def _same(text: str, value: object) -> bool:
    if isinstance(value, Quantity):
        value = value.value
    number = _number(text)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and number is not None:
        return float(number) == float(value)
    return text.strip() == str(value)


def _shown(settings: dict[str, object]) -> str:
    return ", ".join(f"{column}={value!r}" for column, value in settings.items())
