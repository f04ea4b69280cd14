"""The headings of a table that an example wrote."""

from __future__ import annotations

from pathlib import Path

from kinetoscope.book.tables import _column, _rows, _told_apart
from kinetoscope.draw.table import cell_texts
from kinetoscope.measure.csvtable import CsvTable


def test_a_ratio_with_the_name_of_a_time_is_headed_ratio(tmp_path) -> None:
    path = tmp_path / "cells.csv"
    path.write_text("model,gpu_us,gpu_ratio,host_us,busy_share\nmlp,9.5,1.17,65.2,0.5\n", encoding="utf-8")
    table = CsvTable.read(path)
    columns = _told_apart([_column(table, name) for name in table.columns])
    assert [column.heading for column in columns] == ["model", "gpu", "gpu ratio", "host", "busy"]
    assert [column.kind for column in columns] == ["name", "time", "ratio", "time", "share"]


def shown(table: CsvTable) -> tuple[list[str], list[list[str]]]:
    columns = _told_apart([_column(table, name) for name in table.columns])
    return [column.heading for column in columns], cell_texts(columns, _rows(table, table.columns))


def test_a_rate_and_a_cell_of_two_lines() -> None:
    second = Path(__file__).parents[1] / "data/small/second"
    assert shown(CsvTable.read(second / "throughput.csv")) == (
        ["engine", "batch", "tokens", "p99"],
        [["a", "1", "1500/s", "12.500 ms"], ["b", "8", "9000/s", "40.000 ms"]],
    )
    headings, [row] = shown(CsvTable.read(second / "newline_in_cell.csv"))
    assert (headings, row) == (["name", "note", "time"], ["a, b", "line one line two", "3.0 µs"])


def test_words_among_numbers_stay_words() -> None:
    text = 'rows,time_us,speed_gb_s,"of\nall_ratio",ms\n1,out of memory,n/a,-,\n2,3,4,5,6\n'
    headings, rows = shown(CsvTable.parse(text, "t"))
    assert headings == ["rows", "time", "speed", "of all", "ms"]
    assert rows == [
        ["1", "out of memory", "n/a", "-", "–"],
        ["2", "3.0 µs", "4 GB/s", "5.00×", "6000.0 µs"],
    ]
