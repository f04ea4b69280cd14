"""``kinetoscope.load``: its sources, the trace it returns, and that its documentation is true."""

from __future__ import annotations

import doctest
import importlib
import io
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import kinetoscope
from kinetoscope.api import explain

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "tests/data/traces/geglu_eager.json.gz"
SMALL = ROOT / "tests/data/small"
CPU_ONLY = SMALL / "second/cpu_only.json"


@pytest.fixture(scope="module")
def trace() -> kinetoscope.Trace:
    return kinetoscope.load(SAMPLE)


@pytest.mark.parametrize("name", ["api", "api.trace", "api.loading", "api.counts"])
def test_examples_in_docstrings(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    failed, tried = doctest.testmod(importlib.import_module(f"kinetoscope.{name}"))
    assert failed == 0 < tried


@pytest.mark.parametrize("page", ["python-api"])
def test_examples_of_the_reference(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    failed, tried = doctest.testfile(str(ROOT / f"docs/reference/{page}.md"), module_relative=False)
    assert failed == 0 < tried


def sources() -> Iterator[tuple[object, str]]:
    data = SAMPLE.read_bytes()
    yield SAMPLE, str(SAMPLE)
    yield str(SAMPLE), str(SAMPLE)
    yield data, "(bytes)"
    yield bytearray(data), "(bytes)"
    yield memoryview(data), "(bytes)"
    yield io.BytesIO(data), "(file)"


def test_whatever_one_has(trace: kinetoscope.Trace) -> None:
    for source, path in sources():
        read = kinetoscope.load(source)
        assert (read.path, len(read.events), len(read.kernels)) == (path, len(trace.events), 15)
        assert isinstance(read, kinetoscope.Trace)
    with SAMPLE.open("rb") as file:
        assert kinetoscope.load(file).path == str(SAMPLE)
    with (SMALL / "22_self_device_counted_twice.json").open(encoding="utf-8") as text:
        assert len(kinetoscope.load(text).kernels) == 1


def test_strict_and_limits_reach_every_source() -> None:
    cut = (SMALL / "06_truncated.json").read_bytes()
    sample = SAMPLE.read_bytes()
    for source in (lambda: SMALL / "06_truncated.json", lambda: cut, lambda: io.BytesIO(cut)):
        assert [finding.code for finding in kinetoscope.load(source()).findings] == ["cut"]
        with pytest.raises(kinetoscope.TraceError, match="The file is cut off"):
            kinetoscope.load(source(), strict=True)
    for large in (SAMPLE, sample, io.BytesIO(sample)):
        with pytest.raises(kinetoscope.TraceError, match="raise the limit"):
            kinetoscope.load(large, max_bytes=1000)


@pytest.mark.parametrize("source", [None, 3, ["a"], {"traceEvents": []}])
def test_what_cannot_be_loaded(source: object) -> None:
    with pytest.raises(TypeError, match=r"load\(\) takes a path, an open file, bytes or a torch"):
        kinetoscope.load(source)  # type: ignore[arg-type]


def test_a_missing_name_of_the_package() -> None:
    with pytest.raises(AttributeError, match="no attribute 'no_such'"):
        _ = kinetoscope.no_such
    assert all(getattr(kinetoscope, name) for name in kinetoscope.__all__)


# --- tables -------------------------------------------------------------------------------------------------


def test_rows_are_plain(trace: kinetoscope.Trace) -> None:
    table = trace.table("kernel")
    assert isinstance(table, list)
    assert sum(row.device for row in table) == 693_179
    assert trace.table("kernel", step=3)[0].calls == 2
    assert [row.name for row in trace.table("op", sort="name", limit=2)] == [
        "aten::_unsafe_view",
        "aten::as_strided",
    ]
    dicts = table.to_dicts()
    assert list(dicts[0])[:2] == ["name", "calls"] and "device_ns" in dicts[0] and "events" not in dicts[0]
    assert str(table).splitlines()[0].split()[:2] == ["name", "launched"]
    assert "<table>" in table._repr_html_()


@pytest.mark.parametrize(
    ("asked", "says"),
    [({"by": "colour"}, "there are: op, kernel"), ({"step": 9}, "2, 3, 4"), ({"sort": "x"}, "calls")],
)
def test_a_table_that_is_not_there(trace: kinetoscope.Trace, asked: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        trace.table(**asked)  # type: ignore[arg-type]


def test_a_data_frame_where_there_is_pandas(trace: kinetoscope.Trace) -> None:
    pandas = pytest.importorskip("pandas")
    frame = trace.table("kernel").to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["device_ns"].sum() == 693_179
    empty = kinetoscope.load(SMALL / "31_metadata_only.json").table("kernel").to_pandas()
    assert list(empty.columns) == list(frame.columns) and len(empty) == 0


def test_what_pandas_is_given(trace: kinetoscope.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    class DataFrame:
        def __init__(self, rows: list[dict[str, object]], columns: list[str]) -> None:
            self.rows, self.columns = rows, columns

    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(DataFrame=DataFrame))
    frame = trace.table("kernel").to_pandas()
    assert frame.rows == trace.table("kernel").to_dicts()
    assert list(frame.rows[0]) == frame.columns


def test_without_pandas_it_says_what_to_do(trace: kinetoscope.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas`, or take to_dicts"):
        trace.table().to_pandas()


def test_a_notebook_shows_the_timeline_and_nothing_runs(trace: kinetoscope.Trace) -> None:
    html, again = trace._repr_html_(), trace._repr_html_()
    assert html.count("<figure") == html.count("<dl") == 1
    assert "<script" not in html and "--ks-surface" in html and ".ks-sums {" in html
    ids = [text.partition('id="')[2].partition('"')[0] for text in (html, again)]
    assert ids[0] != ids[1]
    assert ".ks-page {" not in html


def test_numbers(trace: kinetoscope.Trace) -> None:
    assert repr(trace) == f"<Trace {str(SAMPLE)!r}: 140 events, 15 kernels, 3 steps>"
    assert trace.summary().kernel_sum_ns == 693_179
    assert str(trace.measure("count(kernels)")) == "5"
    with pytest.raises(ValueError, match="did you mean 'kernels'"):
        trace.measure("count(kernles)")


# --- counts -------------------------------------------------------------------------------------------------


def test_counts_are_integers(trace: kinetoscope.Trace) -> None:
    assert kinetoscope.count(trace.kernels) == 15
    assert kinetoscope.count(trace.kernels, "nvjet*") == 9
    assert kinetoscope.count(trace.kernels, "nvjet") == 0
    assert kinetoscope.time(trace.kernels) == 693_179
    assert kinetoscope.time(trace.kernels, "*gelu*") < kinetoscope.time(trace.kernels, "*Gelu*") == 93_279


def test_a_failure_lists_what_was_there(trace: kinetoscope.Trace) -> None:
    lines = explain(kinetoscope.count(trace.kernels, "nvjet*"), 4, "==")
    assert lines is not None
    assert lines[:2] == [
        "9 == 4",
        "15 events were there (kernel), of which 'nvjet*' fits those marked with >:",
    ]
    assert lines[2].split() == [">", "6×", "335", "µs", "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"]
    assert lines[3].split()[:2] == [">", "3×"] and lines[4].split()[0] == "3×" and "vectorized_" in lines[4]
    assert explain(4, kinetoscope.time(trace.kernels), ">")[0] == "4 > 693179 ns (693 µs)"  # type: ignore[index]
    assert explain(kinetoscope.count([]), 1, "==") == ["0 == 1", "no events were there"]
    assert explain(trace.kernels, [], "==")[0] == "15 kernels == []"  # type: ignore[index]
    assert explain(3, 4, "==") is None


def test_a_name_is_in_or_not(trace: kinetoscope.Trace) -> None:
    assert "aten::mm" in trace.ops and "aten::*mm" in trace.ops and trace.ops[0] in trace.ops
    assert "aten::copy_" not in trace.ops and trace.ops[0] not in trace.kernels
    with pytest.raises(TypeError, match="a name, a pattern or an event, not int"):
        _ = 3 in trace.kernels
    lines = explain("aten::copy_", trace.ops, "in")
    assert lines is not None and lines[0] == f"'aten::copy_' in {len(trace.ops)} ops"
    assert "of which 'aten::copy_' fits none" in lines[1]
    lines = explain("aten::mm", trace.ops, "not in")
    assert lines is not None and lines[2].startswith(">") and lines[2].endswith("aten::mm")


def test_a_failure_fits_what_pytest_shows(trace: kinetoscope.Trace) -> None:
    every = kinetoscope.count(trace.events, "*gelu*"), kinetoscope.count(trace.ops)
    for sides in ((every[0], 1), every):
        lines = explain(*sides, "==")
        assert lines is not None and len(lines) <= 8 and sum(map(len, lines)) <= 640
        assert any("more names (-vv lists more)" in line for line in lines)
        whole = explain(*sides, "==", whole=True)
        assert whole is not None and len(whole) > len(lines)
    lines = explain(*every, "==")
    assert lines is not None and sum("events were there" in line for line in lines) == 2
    assert lines[2].startswith(">")


def test_none_says_what_was_looked_for() -> None:
    empty = kinetoscope.load(CPU_ONLY, absent_is_zero=True)
    lines = explain(kinetoscope.count(empty.kernels, "*gemm*"), 1, "==")
    assert lines == ["0 == 1", "no kernels were there, so none that fits '*gemm*'"]


NO_GPU = r"no GPU activity in the file: was `ProfilerActivity.CUDA` on\?"


def test_what_is_not_in_the_trace_cannot_be_counted() -> None:
    trace = kinetoscope.load(CPU_ONLY)
    asked: list[Callable[[], object]] = [
        lambda: kinetoscope.count(trace.kernels),
        lambda: kinetoscope.count(trace.copies, "Memcpy*"),
        lambda: kinetoscope.time(trace.gpu) < 5,
        lambda: kinetoscope.count(trace.steps[0].gpu),
        lambda: "*gemm*" in trace.kernels,
        lambda: trace.measure("count(kernels) <= 12"),
    ]
    for ask in asked:
        with pytest.raises(kinetoscope.NotMeasured, match=NO_GPU):
            ask()
    assert kinetoscope.count(trace.ops) == 24 and kinetoscope.count(trace.steps) == 2
    assert kinetoscope.count(trace.annotations, "none such") == 0
    assert trace.ops[0] not in trace.kernels
    assert repr(trace).endswith("28 events, no GPU activity, 2 steps>")
    # A comparison of the lists that fails is shown without counting them.
    assert explain(trace.kernels, [trace.ops[0]], "==") is not None
    of_gpu = kinetoscope.load(SMALL / "32_gpu_only.json")
    for ask in (lambda: kinetoscope.count(of_gpu.ops), lambda: "aten::copy_" in of_gpu.ops):
        with pytest.raises(kinetoscope.NotMeasured, match="no op in the file"):
            ask()
    with pytest.raises(kinetoscope.NotMeasured, match="no step in the file"):
        kinetoscope.count(of_gpu.steps)


def test_who_means_it_counts_what_is_absent_as_0() -> None:
    for trace in (
        kinetoscope.load(CPU_ONLY, absent_is_zero=True),
        kinetoscope.load(CPU_ONLY.read_bytes(), absent_is_zero=True),
    ):
        assert kinetoscope.count(trace.kernels) == kinetoscope.time(trace.steps[0].gpu) == 0
        assert "*gemm*" not in trace.kernels and trace.measure("count(kernels) == 0") is True


def test_what_cannot_be_counted(trace: kinetoscope.Trace) -> None:
    assert kinetoscope.count(trace.steps, "Profiler*") == 3
    for wrong in ("abc", [1], 3):
        with pytest.raises(TypeError, match=r"count\(\) takes events"):
            kinetoscope.count(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a pattern is text"):
        kinetoscope.count(trace.ops, 3)  # type: ignore[arg-type]


# --- what is given by mistake -------------------------------------------------------------------------------


def test_mistakes_with_a_source_are_told_shortly(tmp_path: Path) -> None:
    closed = SAMPLE.open("rb")
    closed.close()
    text = '{"traceEvents": [' + " " * 300_000 + "]}"
    with SAMPLE.open(encoding="utf-8") as as_text:
        for source, says in (
            (text, "this is JSON text.*encode"),
            ("x" * 300_000, "too long for a path"),
            (as_text, 'opened as text.*"rb"'),
            (closed, "the file is closed"),
        ):
            with pytest.raises(kinetoscope.TraceError, match=says) as raised:
                kinetoscope.load(source)
            assert len(str(raised.value)) < 400
    with pytest.raises(TypeError, match=r"number of bytes, such as 2\*\*30, not str \('1G'\)"):
        kinetoscope.load(SAMPLE, max_bytes="1G")  # type: ignore[arg-type]
    with pytest.raises(kinetoscope.TraceError, match="more than 100 bytes"):
        kinetoscope.load(SAMPLE, max_bytes=100)
    with pytest.raises(TypeError, match=r"the profiler itself, not its EventList"):
        kinetoscope.load(type("EventList", (list,), {"export_chrome_trace": None})())


def test_mistakes_with_a_table(trace: kinetoscope.Trace) -> None:
    for limit in (-1, 0, 1.5):
        with pytest.raises(ValueError, match="limit is a number of rows, 1 or more"):
            trace.table(limit=limit)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"step is the number of a step, such as 3, not str \('3'\)"):
        trace.table(step="3")  # type: ignore[arg-type]


def test_a_step_is_shown_in_a_line(trace: kinetoscope.Trace) -> None:
    assert repr(trace.steps[0]).startswith("<Step 2: ") and len(repr(trace.steps)) < 400
    assert repr(trace.kernels[0]).startswith("<Event ") and "(kernel): " in repr(trace.kernels[0])
    assert max(len(repr(event)) for event in trace.events) < 200


def test_types_are_said_to_be_there() -> None:
    assert (Path(kinetoscope.__file__).parent / "py.typed").exists()
