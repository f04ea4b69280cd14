"""Tables as HTML and as text, and how times are written."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from xml.etree import ElementTree

import pytest

from kinetoscope.draw.table import Column, cell_texts, html_table, text_table
from kinetoscope.draw.text_metrics import terminal_width
from kinetoscope.trace import Kind

LONG = "void at::native::vectorized_elementwise_kernel<8, at::native::Gelu>(int, at::native::Gelu)"
COLUMNS = [
    Column("name", "Kernel"),
    Column("calls", "Calls", "count"),
    Column("total", "Total", "time"),
    Column("share", "Share", "share"),
    Column("times", "Against eager", "ratio"),
]


@dataclass
class Row:
    name: str
    calls: float | None = 3
    total: float = 37_312
    share: float = 0.5
    times: float = 1.875
    kind: Kind = Kind.KERNEL


def body(html: str) -> list[list[str]]:
    root = ElementTree.fromstring(html)
    return [["".join(cell.itertext()) for cell in row] for row in root.find("table/tbody")]


def test_values_carry_units_and_line_up() -> None:
    rows = [Row("a"), Row("b", None, 768, 0.00001, 12), Row("c", 2.5, 9_999_900)]
    html = html_table(COLUMNS, rows)
    assert [line[1:] for line in body(html)] == [
        ["3", "37.3\xa0µs", "50.0\xa0%", "1.88×"],
        ["–", "0.8\xa0µs", "<0.1\xa0%", "12.00×"],
        ["2.5", "9999.9\xa0µs", "50.0\xa0%", "1.88×"],
    ]
    assert text_table(COLUMNS, rows).splitlines()[2] == ("a           3    37.3 µs  50.0 %          1.88×")


def test_cells_as_text() -> None:
    assert cell_texts(COLUMNS, [Row(LONG)]) == [[LONG, "3", "37.3 µs", "50.0 %", "1.88×"]]


def test_one_unit_a_column() -> None:
    column = [Column("total", "Total", "time")]
    assert body(html_table(column, [Row("a", total=20_000_000), Row("b")])) == [
        ["20.000\xa0ms"],
        ["0.037\xa0ms"],
    ]
    assert body(html_table([Column("total", "T", "time", "ns")], [Row("b")])) == [["37312\xa0ns"]]
    with pytest.raises(ValueError, match="a time is written in ns, µs, ms, s"):
        Column("total", "T", "time", "us")


def test_the_box_and_the_heads() -> None:
    html = html_table(COLUMNS, [Row("nvjet_1"), Row("other")], caption='A "&" <b>', highlight=["nvjet*"])
    root = ElementTree.fromstring(html)
    assert root.attrib == {"class": "ks-table", "role": "group", "tabindex": "0", "aria-label": 'A "&" <b>'}
    assert [th.get("scope") for th in root.find("table/thead/tr")] == ["col"] * 5
    rows = root.findall("table/tbody/tr")
    assert [row.get("class") for row in rows] == ["ks-marked", None]
    assert rows[0][0].tag == "th" and rows[0][0].get("scope") == "row"


def test_long_names_are_shortened_and_kept_whole() -> None:
    root = ElementTree.fromstring(html_table(COLUMNS, [Row(LONG)]))
    details = root.find("table/tbody/tr/th/details")
    assert details.find("summary").get("title") == LONG
    assert details.find("summary/code").text == "vectorized_elementwise_kernel<…>"
    assert details.find("code").text == LONG
    assert "vectorized_elementwise_kernel<…>" in text_table(COLUMNS, [Row(LONG)])


def test_names_are_text() -> None:
    name = "|`\"'<script>\x01\n" + "x" * 800
    html = html_table(COLUMNS, [Row(name)])
    assert "<script" not in html and "\x01" not in html
    assert ElementTree.fromstring(html) is not None
    lines = text_table(COLUMNS, [Row(name)], width=80).splitlines()
    assert len(lines) == 3 and max(map(len, lines)) == 80


def test_rows_may_be_mappings_and_carry_their_events(make) -> None:
    from kinetoscope.trace import Kind

    events = [make.add("a", Kind.OP, 0, 1), make.add("a", Kind.OP, 2, 1)]
    html = html_table([Column("name", "Op")], [{"name": "a", "events": events}])
    assert '<tr class="ks-kind ks-op" data-events="0 1">' in html
    # a row with events of several kinds has no color
    mixed = [*events, make.add("b", Kind.KERNEL, 4, 1)]
    html = html_table([Column("name", "Op")], [{"name": "a", "events": mixed}])
    assert '<tr data-events="0 1 2">' in html
    with pytest.raises(KeyError):
        html_table([Column("nope", "Op")], [{"name": "a"}])
    with pytest.raises(KeyError, match="a Row has no 'nope'"):
        html_table([Column("nope", "Op")], [Row("a")])
    assert "Nothing was recorded." in html_table([Column("name", "Op")], [])


def test_text_is_neither_shortened_nor_set_as_code() -> None:
    sentence = "a sentence of more than sixty characters, which nobody wants to have to unfold to read"
    html = html_table(
        [Column("what", "what", "name"), Column("says", "says", "text")], [{"what": "x", "says": sentence}]
    )
    assert f'<td class="ks-text">{sentence}</td>' in html
    assert sentence in text_table([Column("says", "says", "text")], [{"says": sentence}])


def test_a_column_of_words_is_no_wider_than_they_are() -> None:
    """Names of kernels break anywhere and get room to; `eager` beside a number needs none of it."""
    columns = [Column("name", "way"), Column("kernel", "kernel"), Column("said", "said", "text")]
    rows = [{"name": "eager", "kernel": LONG, "said": "yes"}, {"name": None, "kernel": "k", "said": LONG}]
    root = ElementTree.fromstring(html_table(columns, rows))
    for line in root.iter("tr"):
        assert [cell.get("class") for cell in line] == ["ks-word", None, "ks-text"]


def test_a_narrow_table_goes_on_with_text_and_cuts_a_kernel() -> None:
    columns = [Column("name", "name"), Column("calls", "calls", "count")]
    name = "FSDP::all_gather (layers.0) of the second rank"
    text = text_table(columns, [{"name": name, "kind": Kind.ANNOTATION, "calls": 1}], width=30)
    assert "".join(line[:23].strip(" -") for line in text.splitlines()[2:]).replace(" ", "") == name.replace(
        " ", ""
    )
    kernel = text_table(columns, [{"name": "k" * 60, "kind": Kind.KERNEL, "calls": 1}], width=30)
    assert len(kernel.splitlines()) == 3 and "…" in kernel
    assert name in html_table(columns, [{"name": name, "kind": Kind.ANNOTATION, "calls": 1}])


def test_names_in_chinese_keep_columns_straight() -> None:
    columns = [Column("name", "name"), Column("calls", "calls", "count")]
    names = ["矩阵乘法的注释", "ascii name", "한국어", "e\u0301 🚀", "层" * 30]
    rows = [{"name": name, "kind": Kind.ANNOTATION, "calls": 1} for name in names]

    def at(line: str) -> int:
        return sum(
            0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")
            for char in line
        )

    text = text_table(columns, rows, width=30).splitlines()
    assert {at(line) for line in text if line.endswith("1")} == {30}
    assert max(map(at, text)) == 30
    assert "".join(text).count("层") == 30
    kernel = text_table(columns, [{"name": "核" * 59, "kind": Kind.KERNEL, "calls": 1}], width=30)
    assert [at(line) for line in kernel.splitlines()] == [30, 30, 30] and "…" in kernel


def test_narrow_text_is_as_wide_as_it_is_long() -> None:
    assert terminal_width("37.3 µs × – …") == 13
