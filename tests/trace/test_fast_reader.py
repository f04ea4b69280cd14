"""A trace without a fault is read in pieces; it is the same trace as when it is read whole."""

from __future__ import annotations

import gzip
import importlib
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from kinetoscope.trace import Trace, loads
from kinetoscope.trace import chunked_reader as splitting
from kinetoscope.trace.fast_reader import read_fast
from kinetoscope.trace.fields import plain_args
from kinetoscope.trace.findings import Findings, TraceError
from kinetoscope.trace.unzip import Source

# In the package `load` is the function.
loading = importlib.import_module("kinetoscope.trace.load")

DATA = Path(__file__).parents[1] / "data"
FILES = [*sorted((DATA / "small").rglob("*.json*")), *sorted((DATA / "traces").glob("*.json.gz"))]
COLUMNS = [
    *"name kind lane start dur index correlation external frame frame_parent".split(),
    *"parent nested first behind op launch unfinished".split(),
]


@pytest.fixture(params=[300, 2**18], ids=["small pieces", "pieces"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(splitting, "SIZE", request.param)
    return int(request.param)


def whole(data: bytes) -> Trace:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "read_fast", lambda *_: None)
        return loads(data, "t")


def is_read_fast(data: bytes, max_bytes: int = 2**30) -> bool:
    return read_fast(Source(data, "t", max_bytes), Findings()) is not None


def same(data: bytes) -> None:
    one, other = loads(data, "t"), whole(data)
    assert one.columns is not None and other.columns is not None
    for name in COLUMNS:
        assert getattr(one.columns, name).tolist() == getattr(other.columns, name).tolist(), name
    for name in ("names", "lanes", "named_op"):
        assert getattr(one.columns, name) == getattr(other.columns, name)
    assert (one.findings, one.device_names) == (other.findings, other.device_names)
    for at in range(len(one.columns)):
        assert plain_args(one.columns.read_args(at)) == plain_args(other.columns.read_args(at))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_pieces_are_the_whole(path: Path, size: int) -> None:
    data = path.read_bytes()
    if len(data) < 100:
        pytest.skip("no trace")
    if path.suffix == ".gz":
        assert is_read_fast(data)
    same(data)


def event(**more: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2, **more}


TRICKY = {
    "a cut in a name": [event(name="}, {"), event(name='"}, {"'), event(name="\\\\")],
    "a cut in args": [event(args={"a": [{"b": 1}, {"c": [{}, {}]}]})],
    "an end in args": [event(args={"a": [{"b": 1}]}), event(args={"a": [{}]})],
    "the key in args": [event(args={"traceEvents": [{"ph": "X"}]})],
    "no args, and none": [event(args=None), event()],
    "ids in many ways": [
        event(cat="kernel", args={"correlation": n, "stream": 7}) for n in (1, "2", 3.0, -4)
    ],
    "streams in many ways": [
        event(cat="kernel", args={"stream": stream, "device": device})
        for stream, device in ((7, 0), ("7", "0"), (9.0, 0), (7, 1.0))
    ],
    "ids of frames beyond 64 bits": [
        event(cat="python_function", args={"Python id": n, "Python parent id": 1}) for n in (1, 2**63, 10**30)
    ],
}


@pytest.mark.parametrize("what", TRICKY)
@pytest.mark.parametrize("around", [{}, {"deviceProperties": [{"id": 0, "name": "}, {"}, {"id": 1}]}])
def test_what_looks_like_a_cut(what: str, around: dict[str, Any], size: int) -> None:
    events = TRICKY[what] * 40
    for document in ({**around, "traceEvents": events}, {"traceEvents": events, **around}, events):
        same(json.dumps(document).encode())


def test_a_list_of_the_same_name_elsewhere_is_not_the_trace(size: int) -> None:
    other = {"metadata": {"traceEvents": [event(name="no")]}, "traceEvents": [event(name="yes")]}
    assert [each.name for each in loads(json.dumps(other).encode(), "t").events] == ["yes"]


def test_members_and_large_numbers_of_events(size: int) -> None:
    text = json.dumps({"traceEvents": [event(ts=n, name=f"n{n % 7}") for n in range(3000)]}).encode()
    members = gzip.compress(text[:1000]) + gzip.compress(text[1000:])
    assert is_read_fast(members)
    same(members)
    with pytest.raises(TraceError, match="more than 1000 bytes"):
        is_read_fast(members, 1000)


@pytest.mark.parametrize("ts", ["3999999999999999.999", "1.5", "123456789.01", "0.001"])
@pytest.mark.parametrize("dur", ["0.001", "2.25", "31535999999999.9"])
def test_times_with_a_point_are_exact(ts: str, dur: str) -> None:
    """The earliest is left out, so that what is seen is the difference."""
    event = '{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": %s, "dur": %s}'
    data = f"[{event % ('0.0', '1.0')}, {event % (ts, dur)}]".encode()
    assert is_read_fast(data)
    last = loads(data, "t").events[-1]
    assert (last.start, last.dur) == (int(Decimal(ts) * 1000), int(Decimal(dur) * 1000))


@pytest.mark.parametrize(
    "ts", ["4000000000000000.0", "9223372036854775.9", "9300000000000000.5", "9999999999999999.999"]
)
def test_a_time_beyond_what_64_bits_hold_is_none(ts: str) -> None:
    """Nanoseconds of it would wrap around to another time."""
    data = f"[{json.dumps(event())}, {json.dumps(event(name='late'))}]".replace('"ts": 1', f'"ts": {ts}', 1)
    trace = loads(data.encode(), "t")
    assert [(each.name, each.start) for each in trace.events] == [("late", 0)]
    assert [finding.code for finding in trace.findings] == ["no-time"]
    same(data.encode())


@pytest.mark.parametrize("cat", ["CPU_OP", "Kernel", "KERNEL", "Trace", "zork", "", None])
def test_a_file_of_any_category_is_read_fast(cat: str | None, size: int) -> None:
    """Categories are compared in lower case; of unknown ones the first in time is told."""
    events = [event(cat=cat, name=f"n{n}", ts=10 - n) for n in range(9)]
    events += [event(ts=30), event(cat=cat, pid="CUDA functions", args={"stream": 7})]
    if cat is None:
        events += [{key: value for key, value in event(ts=40).items() if key != "cat"}]
    data = json.dumps({"traceEvents": events}).encode()
    assert is_read_fast(data)
    same(data)
    unknown = [finding for finding in loads(data, "t").findings if finding.code == "unknown-categories"]
    if cat in ("zork", ""):
        assert [(finding.count, finding.first) for finding in unknown] == [
            (10, f"event 10, 'a' of category {cat!r}")
        ]
    elif cat is None:
        assert [(finding.count, finding.first) for finding in unknown] == [
            (10, "event 8, 'n8' of no category")
        ]
    else:
        assert unknown == []
