"""The headings of a table that an example wrote."""

from __future__ import annotations

from kinetoscope.book.tables import _column, _told_apart
from kinetoscope.measure.csvtable import CsvTable


def test_a_ratio_with_the_name_of_a_time_is_headed_ratio(tmp_path) -> None:
    path = tmp_path / "cells.csv"
    path.write_text("model,gpu_us,gpu_ratio,host_us,busy_share\nmlp,9.5,1.17,65.2,0.5\n", encoding="utf-8")
    table = CsvTable.read(path)
    columns = _told_apart([_column(table, name) for name in table.columns])
    assert [column.heading for column in columns] == ["model", "gpu", "gpu ratio", "host", "busy"]
    assert [column.kind for column in columns] == ["name", "time", "ratio", "time", "share"]
