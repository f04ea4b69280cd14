"""Tables that an example wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kinetoscope.measure.csvtable import SUFFIXES, CsvTable, cell, column_unit
from kinetoscope.measure.errors import ExpressionError, TableError, UnitError
from kinetoscope.measure.expressions import evaluate
from kinetoscope.measure.quantity import Quantity

TEXT = """\
rows,variant,median_us,bandwidth_gb_s,note
8192,eager,37.25,3200,a
8192,liger,20,3300,
4096,eager,9.5,3000,b
"""
TABLE = CsvTable.parse(TEXT, "geglu")
SECOND = Path(__file__).parents[1] / "data/small/second"


def test_a_cell_has_its_columns_unit() -> None:
    row = TABLE.at(rows=8192, variant="eager")
    time, bandwidth = row.get("median_us"), row.get("bandwidth_gb_s")
    assert isinstance(time, Quantity)
    assert (time.value, time.unit, str(time)) == (37_250, "ns", "37.2 µs")
    assert str(bandwidth) == "3.20 TB/s"
    assert (row.get("variant"), row.get("note")) == ("eager", "a")
    rows = row.get("rows")
    assert isinstance(rows, Quantity)
    assert (rows.value, rows.unit) == (8192, "number")


@pytest.mark.parametrize("suffix", sorted(SUFFIXES))
def test_every_suffix(suffix: str) -> None:
    value = cell("2.5", f"x{suffix}")
    assert isinstance(value, Quantity)
    unit, factor = SUFFIXES[suffix]
    assert (value.unit, value.value) == (unit, pytest.approx(float(factor) * 2.5))


def test_decimals_become_exact_nanoseconds() -> None:
    value = cell("5116539898126.249", "start_us")
    assert isinstance(value, Quantity)
    assert value.value == 5116539898126249


@pytest.mark.parametrize("value", [8192, 8192.0, "8192", Quantity(8192, "number")])
def test_a_setting_may_be_a_number_or_text(value: Any) -> None:
    assert TABLE.at(rows=value, variant="liger").get("median_us") == Quantity(20_000, "ns")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rows": 8192}, "fits 2 rows; name more of the columns rows, variant"),
        ({"rows": 1}, "fits no row; it has rows 8192, 4096"),
        ({"row": 8192}, "has no column 'row'; did you mean 'rows'"),
    ],
)
def test_not_exactly_one_row(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        TABLE.at(**settings)


def test_unknown_columns() -> None:
    with pytest.raises(ExpressionError, match="did you mean 'median_us'"):
        TABLE.at(rows=4096).get("median_ms")
    with pytest.raises(ExpressionError, match="no column 'x'"):
        TABLE.column("x")


def test_where_and_column() -> None:
    assert [str(value) for value in TABLE.where(variant="eager").column("median_us")] == [
        "37.2 µs",
        "9.50 µs",
    ]
    assert TABLE.where(variant="none").column("rows") == ()


@pytest.mark.parametrize("text", ["nan", "inf", "1e999999", "", "12 µs", "64_128"])
def test_what_is_no_number_stays_text(text: str) -> None:
    assert cell(text, "time_us") == text


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"a,b\n1,2,3\n", "row 1 has 3 cells, the header 2"),
        (b"a,a\n1,2\n", "two columns have the same name"),
        (b"a\n\xff\n", "is not UTF-8"),
        (b"a\n" + b"x" * 200_000, "is no CSV"),
    ],
)
def test_damaged_files_name_themselves(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "sweep.csv"
    path.write_bytes(data)
    with pytest.raises(TableError, match=message) as caught:
        CsvTable.read(path)
    assert str(path) in str(caught.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="cannot be read"):
        CsvTable.read(tmp_path / "no.csv")


@pytest.mark.parametrize(
    ("column", "value", "unit", "what"),
    [
        ("tokens_per_s", 1500, "1/s", "tokens"),
        ("samples_per_sec", 1500, "1/s", "samples"),
        ("output_tokens_per_second", 1500, "1/s", "output_tokens"),
        ("img/s", 1500, "1/s", "img"),
        ("tok_s", 1500, "1/s", "tok"),
        ("requests_per_ms", 1_500_000, "1/s", "requests"),
        ("qps", 1500, "1/s", ""),
        ("bandwidth_gb_s", 1500, "bytes/ns", "bandwidth"),
        ("bandwidth_mb_per_s", 1.5, "bytes/ns", "bandwidth"),
        ("GB/s", 1500, "bytes/ns", ""),
        ("achieved_flops_per_second", 1.5e-6, "flop/ns", "achieved"),
        ("link_gbit_s", 1500, "1/s", "link_gbit"),
        # The whole of the name counts, not its last letters.
        ("first_token_s", 1500 * 10**9, "ns", "first_token"),
        ("tokens_per_gb", 1500, "number", "tokens_per_gb"),
        ("us_per_token", 1500, "number", "us_per_token"),
        ("tokens_per_s_per_gpu", 1500, "number", "tokens_per_s_per_gpu"),
        ("params", 1500, "number", "params"),
        ("S", 1500, "number", "S"),
    ],
)
def test_what_the_end_of_a_columns_name_says(column: str, value: float, unit: str, what: str) -> None:
    number = cell("1500", column)
    assert isinstance(number, Quantity)
    assert (number.value, number.unit, column_unit(column).what) == (value, unit, what)


def test_a_rate_is_printed_as_one() -> None:
    table = CsvTable.read(SECOND / "throughput.csv")
    assert [str(rate) for rate in table.column("tokens_per_s")] == ["1500/s", "9000/s"]
    slow, fast = table.column("tokens_per_s")
    assert fast > evaluate("per_s(1500)", {}) == slow
    with pytest.raises(UnitError, match=r"a rate \(1500/s\).* write the number with its unit, as in per_s"):
        assert slow < 2000


@pytest.mark.parametrize(
    "text",
    [
        'note,time_us\n"a\nb",3\n',
        '\ufeffnote,time_us\r\n"a\nb",3\r\n',
        'note; time_us\n"a\nb"; 3\n',
        'note\ttime_us \n"a\nb"\t3\n\n',
        'note, time_us\n"a\nb", 3',
    ],
)
def test_ways_to_write_a_csv(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_bytes(text.encode())
    table = CsvTable.read(tmp_path / "t.csv")
    assert table.columns == ["note", "time_us"]
    assert table.at(note="a\nb").get("time_us") == Quantity(3000, "ns")


def test_a_column_called_by_its_unit_alone_has_it() -> None:
    table = CsvTable.parse("rows,bytes\n1,150994944\n", "t")
    assert str(table.at(rows=1).get("bytes")) == "151 MB"
