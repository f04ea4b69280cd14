"""What reading a trace may cost, and what a file that is no trace is called."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kinetoscope.trace import TraceError, load, loads
from kinetoscope.trace.load import load_open
from kinetoscope.trace.unzip import Source

ROOT = Path(__file__).parents[2]
SECOND = ROOT / "tests/data/small/second"
EVENT = b'{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1,"args":{"stream":7}}'


class Endless:
    """A pipe that never ends.  Raises ``AssertionError`` once far too much of it is read."""

    def __init__(self, begin: bytes, more: bytes) -> None:
        self._begin, self._more, self.given = begin, more, 0

    def read(self, size: int, /) -> bytes:
        begin, self._begin = self._begin, b""
        self.given += size
        assert self.given < 2**28
        return (begin + self._more * (size // len(self._more)))[:size]


@pytest.mark.parametrize(
    ("begin", "more"),
    [
        (b"", b"\0"),
        (b"", b" "),
        (b"", b"{\n"),
        (b"", b"["),
        (b'{"traceEvents":[' + EVENT, b" "),
        (b'{"traceEvents":[{"ph":"X","ts":', b"1"),
        (b'{"traceEvents":[{"ph":"X","name":"', b"a"),
        (b'{"traceEvents":[', b'{"a":'),
        (b'{"traceEvents":[' + EVENT + b"],", b" "),
    ],
)
def test_what_never_ends_and_holds_no_event_is_refused(
    begin: bytes, more: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinetoscope.trace.unzip._STRETCH", 2**24)
    pipe = Endless(begin, more)
    with pytest.raises(TraceError, match="16 MiB of it hold no event"):
        load_open(pipe, "t", max_bytes=2**30)
    assert pipe.given < 2**26


def test_empty_gzip_without_end_is_refused() -> None:
    pipe = Endless(b"", gzip.compress(b""))
    with pytest.raises(TraceError, match="hold no event"):
        load_open(pipe, "t")
    assert pipe.given < 2**22


def test_gzip_that_stores_is_read() -> None:
    events = b'{"traceEvents":[' + b",".join([EVENT] * 20_000) + b"]}"
    assert len(loads(gzip.compress(events, 0), "t").events) == 20_000


def test_events_without_end_are_refused_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinetoscope.trace.unzip._EVENTS", 1000)
    for begin in (b'{"traceEvents":[', b'{"damaged traceEvents":['):
        with pytest.raises(TraceError, match="more than 65,536 events"):
            load_open(Endless(begin, EVENT + b","), "t", max_bytes=2**24)
        with pytest.raises(TraceError, match="more than 1 MiB"):
            load_open(Endless(begin, b" " * 2000 + EVENT + b","), "t", max_bytes=2**20)


def test_a_damaged_file_has_a_lower_limit() -> None:
    data = b'{"traceEvents":[' + (EVENT + b",") * 300 + b'{"ph":"X"'
    with pytest.raises(TraceError, match=r"damaged .*--max-bytes\) to 1 GiB"):
        loads(data, "t", max_bytes=2**20)
    assert len(loads(data, "t", max_bytes=2**23).events) == 300
    objects = data[:-9] + b"{}," * 2000
    with pytest.raises(TraceError, match=r"damaged .*--max-bytes\) to 1 GiB"):
        loads(objects, "t", max_bytes=2**23)
    assert len(loads(objects, "t", max_bytes=2**24).events) == 300


def test_an_option_raises_every_limit() -> None:
    source = Source(b"", "t", 2**40)
    assert (source.most_events, source.stretch) == (2**32, 2**33)


def test_a_large_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    with path.open("wb") as file:
        file.truncate(2**33)
    with pytest.raises(TraceError, match="holds more than 4 GiB"):
        load(path)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_a_bomb_of_valid_events_is_refused_within_300_mb(tmp_path: Path) -> None:
    begin = gzip.compress(b'{"traceEvents":[' + (EVENT + b",") * 10)
    path = tmp_path / "t.json.gz"
    path.write_bytes(begin + gzip.compress((EVENT + b",") * 20_000) * 170 + gzip.compress(EVENT + b"]}"))
    code = (
        "import re, sys, time\n"
        "from kinetoscope.trace import load\n"
        "begin = time.process_time()\n"
        "try: load(sys.argv[1])\n"
        "except ValueError as error: print(error)\n"
        "seconds = time.process_time() - begin\n"
        # What getrusage calls the maximum may be that of the process that started this one.
        "print(seconds, re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    told = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True, env=env
    )
    said, numbers = told.stdout.splitlines()
    assert "unpacks to more than 100 times its size" in said
    seconds, kilobytes = map(float, numbers.split())
    assert seconds < 2 and kilobytes < 300_000


@pytest.mark.parametrize(
    ("start", "what"),
    [
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 3\n",
            "a pointer of Git LFS.*git lfs pull",
        ),
        (
            b'{\n  "schema": "1.1.1-chakra.0.0.4", "pid": 1, "start_ts": 1,\n  "nodes": [{}]}',
            "an execution trace",
        ),
        (b"SQLite format 3\0" + bytes(80), "SQLite database.*nsys"),
        (b'{"data":["x"]}\n{"Type":48,"CudaEvent":{"startNs":"1"}}\n', "Nsight Systems"),
        (b"NVR\0" + bytes(80), "Nsight Compute"),
        (b"NVIDIA Tegra Profiler Report 2026@4@1@191-264138605071v0.\n\x0b", "Nsight Systems"),
        (b"\x80\x04\x95" + bytes(80), "a pickle"),
        (b"\n\x0b0\x01\x02" + bytes(80), "Perfetto"),
        (b"<!DOCTYPE html><html>", "HTML"),
        (b"PK\x03\x04" + bytes(80), "a zip archive"),
        (b"\x28\xb5\x2f\xfd" + bytes(80), "zstd"),
        (b"\xfd7zXZ\0" + bytes(80), "xz"),
        (b"\x18" + bytes(11) + b"\x09" + bytes(8) + b"\x1a\rbrain.Event:2", "TensorBoard"),
    ],
)
def test_other_formats_are_named(start: bytes, what: str) -> None:
    for data in (start, gzip.compress(start)):
        with pytest.raises(TraceError, match=what):
            loads(data, "t")


def test_the_end_of_a_name_tells_a_report_too() -> None:
    with pytest.raises(TraceError, match="Nsight Systems"):
        loads(b"\x01\x02\x03", "a.nsys-rep")


@pytest.mark.parametrize(
    "text",
    [
        b"# no trace, no JSON\nx = b'{\"traceEvents\":['\n",
        b"import zlib\nev=',%b'\n# more text, and more\n" % EVENT * 3,
    ],
)
def test_text_that_quotes_events_is_no_trace(text: bytes) -> None:
    with pytest.raises(TraceError, match="the JSON is invalid"):
        loads(text, "t")


def test_args_nested_too_deeply_cost_only_themselves() -> None:
    trace = load(SECOND / "deep_args_called_cut.json")
    assert sum(kernel.dur for kernel in trace.kernels) == 6_000
    assert [finding.code for finding in trace.findings if finding.severity.value == "lost"] == ["deep-args"]
    assert dict(trace.kernels[1].args) == {}


def test_a_whole_file_is_not_called_cut() -> None:
    bad = EVENT.replace(b'"ts":1', b'"ts":' + b"1" * 5000)
    trace = loads(b'{"traceEvents":[%b,%b]}' % (EVENT, bad), "t")
    assert [finding.code for finding in trace.findings if finding.severity.value == "lost"] == [
        "damaged-event"
    ]


def test_a_file_object_is_read_no_further_than_it_must() -> None:
    import kinetoscope

    with pytest.raises(TraceError, match="holds more than 1 MiB"):
        kinetoscope.load(io.BytesIO(b"[" + (EVENT + b",") * 20_000), max_bytes=2**20)
