"""Reading: every kind of file of the corpus, whole and damaged."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.trace import Kind, Trace, TraceError, load, loads

if TYPE_CHECKING:
    from conftest import Made, Named, Small

DATA = Path(__file__).parents[1] / "data"
SMALL = DATA / "small"
TRACES = sorted((DATA / "traces").glob("*.json.gz"))


def kernel_us(trace: Trace) -> float:
    return sum(event.dur for event in trace.kernels) / 1000


def codes(trace: Trace) -> dict[str, int]:
    return {finding.code: finding.count for finding in trace.findings}


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_samples_are_read_whole(path: Path) -> None:
    trace = load(path)
    assert trace.findings == []
    assert trace.device_names == {0: "NVIDIA H200"}
    assert [step.number for step in trace.steps] == [2, 3, 4]
    assert all(activity.launch is not None and activity.op is not None for activity in trace.gpu)
    assert sum(len(step.gpu) for step in trace.steps) == len(trace.gpu) > 0


@pytest.mark.parametrize(
    ("number", "time"),
    [
        *[("01", 20), ("04", 20), ("05", 22), ("09", 3), ("12", 20), ("14", 17), ("20", 25), ("21", 120)],
        *[("22", 40), ("24", 50), ("25", 50), ("28", 20), ("30", 20), ("32", 20), ("41", 1.76), ("42", 30)],
    ],
)
def test_kernel_time_of_the_small_inputs(small: Small, number: str, time: float) -> None:
    assert kernel_us(small(number)) == time


def test_gzip_is_known_by_content_not_by_name(tmp_path: Path) -> None:
    whole = (SMALL / "22_self_device_counted_twice.json").read_bytes()
    (tmp_path / "a.json").write_bytes(gzip.compress(whole))
    (tmp_path / "a.json.gz").write_bytes(b" \n" + whole)
    assert kernel_us(load(tmp_path / "a.json")) == kernel_us(load(tmp_path / "a.json.gz")) == 40


def test_an_absolute_clock_keeps_every_nanosecond(small: Small, named: Named) -> None:
    trace = small("11")
    outer = named(trace, "outer")
    assert [child.name for child in outer.children] == ["inner_a", "inner_b"]
    assert [child.dur for child in outer.children] == [90, 60]
    assert (outer.dur, outer.self_dur) == (300, 150)


def test_text_time_stamps_are_exact(small: Small) -> None:
    trace = small("10")
    assert [event.start for event in trace.events] == [0, 1007]


@pytest.mark.parametrize("ts", ["1e3", 1000, "1000.000", 1000.0])
def test_a_time_may_be_written_in_any_way(made: Made, named: Named, ts: Any) -> None:
    trace = made({"name": "a", "ts": 999, "dur": 5}, {"name": "b", "ts": ts, "dur": "1.5"})
    assert (named(trace, "b").start, named(trace, "b").dur) == (1000, 1500)


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1712195495519761.132", 1712195495519761132),
        ("1712195495519761", 1712195495519761000),
        ("1099511627776.5005", 1099511627776500),  # rounded to the even one
        ("36.7895", 36790),
        ("0.0005", 0),
        ("5.0015", 5002),
        ("1e-3", 1),
        ("-3.25", -3250),
    ],
)
@pytest.mark.parametrize("quote", ["", '"'])
def test_times_are_read_from_their_text(text: str, ns: int, quote: str) -> None:
    data = f'[{{"ph": "X", "ts": 0}}, {{"ph": "X", "ts": {quote}{text}{quote}}}]'.encode()
    first, second = loads(data, "t").events
    assert second.start - first.start == abs(ns)


@given(st.lists(st.decimals(-(10**14), 10**14, places=3), min_size=1, max_size=8))
def test_every_time_with_three_decimals_is_exact(times: list[Decimal]) -> None:
    entries = [f'{{"ph": "X", "ts": {time:f}, "dur": {abs(time):f}}}' for time in times]
    trace = loads(f"[{','.join(entries)}]".encode(), "t")
    by_index = sorted(trace.events, key=lambda event: event.index)
    first = min(times)
    assert [event.start for event in by_index] == [int((time - first) * 1000) for time in times]
    longest = 365 * 24 * 3600 * 10**6
    assert [event.dur for event in by_index] == [
        int(abs(t) * 1000) if abs(t) <= longest else 0 for t in times
    ]


@pytest.mark.parametrize("ts", [None, "soon", True, [1], "1e400", 10**30, "nan"])
def test_an_event_without_a_time_is_left_out_and_counted(made: Made, ts: Any) -> None:
    trace = made({"name": "a", "ts": 1, "dur": 5}, {"name": "b", "ts": ts, "dur": 1})
    assert [event.name for event in trace.events] == ["a"]
    assert codes(trace) == {"no-time": 1}
    assert trace.findings[0].first == "entry 1 of traceEvents"


def test_repairs_are_noted(small: Small, named: Named) -> None:
    windows = small("01")
    assert named(windows, r"pkg\util\init.py(7): go").kind is Kind.PYTHON
    assert codes(windows) == {"bad-escape": 1}
    assert codes(small("04")) == {"bad-utf8": 3}
    infinite = small("05")
    assert codes(infinite) == {"not-finite": 2}
    assert infinite.copies[0].args["memory bandwidth (GB/s)"] is None


def test_a_repair_leaves_good_strings_alone() -> None:
    text = r'{"traceEvents": [{"ph": "X", "ts": 1, "name": "inf \"nan\" \u00b5 \\ \d", "args": {"x": -inf}}]}'
    [event] = loads(text.encode(), "t.json").events
    assert event.name == r'inf "nan" µ \ \d'
    assert event.args == {"x": None}


def test_python_spelling_of_infinity_is_missing_too() -> None:
    [event] = loads(b'[{"ph": "X", "ts": 1, "args": {"x": Infinity, "y": NaN, "z": 1e999}}]', "t").events
    assert event.args == {"x": None, "y": None, "z": None}


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (b"\x1f\x8bnot gzip at all", "gzip stream is damaged"),
        (b'{"schemaVersion": 1, "tr', "cut off"),
        (b'{"schemaVersion": }', "invalid at line 1, column 19"),
        (b'{"rows": []}', "no list traceEvents"),
        (b'{"traceEvents": {}}', "no list traceEvents"),
        (b"3", "no list traceEvents"),
        (b"[[1726077563878112, 1726077563891027], [[0, 512], [0, 1024]]]", "none of its entries is an event"),
        (b'[{"id": 1, "timestamps": [{"name": "RECV_START", "ns": 1}]}]', "none of its entries is an event"),
        (b'{"a": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' + b"1" * 5000 + b"}", "cannot be read"),
    ],
)
def test_damaged_files_are_one_clear_error(data: bytes, what: str) -> None:
    with pytest.raises(TraceError, match=what) as caught:
        loads(data, "some/where.json")
    message = str(caught.value)
    assert message.startswith("some/where.json: ")
    assert message.endswith(".")
    assert "\n" not in message


def test_a_missing_file_is_a_trace_error(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"nowhere\.json: cannot be read \(no such file or directory\)"):
        load(tmp_path / "nowhere.json")


def test_kinds_come_from_the_category(small: Small) -> None:
    triton = small("41")
    assert [event.kind for event in triton.events if event.name == "triton_toy_fused_0"] == [
        Kind.OP,
        Kind.KERNEL,
    ]
    old = small("12")
    assert [event.kind for event in old.events] == [Kind.OP, Kind.CALL, Kind.KERNEL]
    assert old.kernels[0].lane.stream == 7
    legacy = small("09")
    assert [event.kind for event in legacy.events] == [Kind.OP, Kind.KERNEL]
    assert legacy.kernels[0].lane.on_gpu


def test_sync_and_gpu_annotations_are_no_activities(small: Small) -> None:
    assert [event.kind for event in small("30").gpu] == [Kind.KERNEL]
    assert len(small("20").gpu) == 2


def test_what_is_missing_is_noted(small: Small) -> None:
    assert codes(small("31")) == {"no-events": 1}
    assert codes(small("34")) == {"no-gpu-events": 1}
    assert codes(small("38")) == {}
    assert codes(small("25")) == {"no-launch": 1}
    assert codes(small("14")) == {"overlapping-stream": 1}


def test_no_other_metadata_is_kept(small: Small) -> None:
    trace = small("36")
    secrets = json.loads((SMALL / "36_secret_in_metadata.json").read_text())
    kept = repr([(event.name, event.args) for event in trace.events]) + repr(trace.device_names)
    for key in secrets.keys() - {"traceEvents", "deviceProperties", "schemaVersion"}:
        assert key not in kept
