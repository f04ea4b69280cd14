"""What scrubbing removes from a trace, and what it must keep to the last digit."""

from __future__ import annotations

import getpass
import gzip
import json
import os
import socket
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.record import scrub
from kinetoscope.record.scrub import Scrubber, pack, scrub_trace
from kinetoscope.trace import TraceError, load

SMALL = Path(__file__).parents[1] / "data/small"
TRACES = Path(__file__).parents[1] / "data/traces"
SCRUBBER = Scrubber(
    (("/scratch/run/work", ""), ("/opt/venv/lib/site-packages", "site-packages"), ("/home/ada", "~")),
    ("gpu-node-17.example.org", "gpu-node-17", "ada"),
)


def unpacked(data: bytes) -> dict:
    return json.loads(gzip.decompress(data))


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        ("/scratch/run/work/02_linear.py(30): forward", "02_linear.py(30): forward"),
        ("/scratch/run/work", "."),
        ("/opt/venv/lib/site-packages/torch/nn/modules/linear.py(125): forward",
         "site-packages/torch/nn/modules/linear.py(125): forward"),
        ("at /home/ada/secret/plan.txt:", "at ~/secret/plan.txt:"),
        ("/home/adam/x/y", "y"),
        ("/var/home/ada/x", "x"),
        ("/data/projects/secret/model.bin", "model.bin"),
        ("/dev/shm/torchinductor_ada/ab/x.py", "x.py"),
        ("~/torchinductor_ada/ab/x.py", "~/torchinductor_host/ab/x.py"),
        ("triton_ada_kernel", "triton_ada_kernel"),
        ("on gpu-node-17.example.org as ada", "on host as host"),
        ("ada's", "host's"),
        ("cascada and adapt", "cascada and adapt"),
        ("https://ui.perfetto.dev/#!/viewer/of", "https://ui.perfetto.dev/#!/viewer/of"),
        ("1024 GB/s and a/b/c", "1024 GB/s and a/b/c"),
        ("aten::linear", "aten::linear"),
        ("void kernel<float, 4>(float*)", "void kernel<float, 4>(float*)"),
    ],
)  # fmt: skip
def test_text(text: str, scrubbed: str) -> None:
    assert SCRUBBER.text(text) == scrubbed


SOMEBODY = "someuser"
HOMES = [
    "/home/someuser",
    "/Users/someuser",
    "/var/home/someuser",
    "/export/home/someuser",
    "/data/home/someuser",
    "/usr/local/google/home/someuser",
    "/mnt/c/Users/someuser",
    "/cygdrive/c/users/someuser",
    "file:///home/someuser",
    "file:///C:/Users/someuser",
    "file:///home/jane%20someuser",
    "%2Fhome%2Fsomeuser",
    "C%3A%5CUsers%5Csomeuser",
    r"C:\Users\someuser",
    r"c:\users\someuser",
    "C:/Users/someuser",
    r"C:/Users\someuser",
    r"C:\\Users\\someuser",
    r"\/home\/someuser",
    r"\Users\someuser",
    r"C:\Documents and Settings\someuser",
    r"\\server\home\someuser",
    r"\\server\share\someuser",
    "//server/home/someuser",
    r"\\?\C:\Users\someuser",
    r"\\?\UNC\server\home\someuser",
    r"\\wsl$\Ubuntu\home\someuser",
    r"\\wsl.localhost\Ubuntu\home\someuser",
    "s3://bucket/home/someuser",
    "/home/jane.someuser",
    "/home/Jane Someuser",
    r"C:\Users\Jane Someuser",
    "/home/o'someuser",
]
PLACES = {
    "a file": "{}{}proj{}train.py(4): main",
    "the end": "at {}",
    "all": "{}",
    "a folder": "{}{}",
    "in quotes": 'open("{}")',
    "two": "{0}{1}a.py, {0}{1}b.py",
    "an environment": "TERM=xterm HOME={} USER=someuser PATH=/usr/bin:{}{}bin LANG=C",
    "json": '{{"HOME": "{}", "USER": "someuser"}}',
    "python": "{{'LOGNAME': 'someuser', 'PWD': '{}{}proj'}}",
    "an option": "-I{}{}include",
}


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("place", PLACES)
def test_nobody_is_named(home: str, place: str) -> None:
    assert SOMEBODY not in Scrubber((), ()).text(text_with(home, place)).lower()


def text_with(home: str, place: str) -> str:
    """A text with a home folder in one of :data:`PLACES`."""
    separator = "/" if "/" in home or home.startswith("~") else "%2F" if "%" in home else "\\"
    parts = {"the end": [home], "all": [home]}.get(place, [home, separator, separator, separator])
    return PLACES[place].format(*([home, home, separator] if place == "an environment" else parts))


@pytest.mark.parametrize("home", HOMES)
def test_nobody_is_named_in_any_string(home: str) -> None:
    """As a name, a key, a value, in the metadata, in JSON within a string."""
    text = "; ".join(text_with(home, place) for place in PLACES)
    args = {"path": text, text: 1, "all": [{"inner": text}], "escaped": json.dumps({"cwd": text})}
    event = {"ph": "X", "cat": text, "name": text, "ts": 1, "dur": 1, "pid": text, "tid": 1, "args": args}
    named = {"ph": "M", "name": "process_labels", "args": {"labels": text, "user": SOMEBODY}}
    document = {"deviceProperties": [{"id": 0, "name": text}], "traceEvents": [event, named]}
    for data in (json.dumps(document), json.dumps(document, ensure_ascii=False, indent=1)):
        clean = gzip.decompress(scrub_trace(data.encode(), Scrubber((), ()), "x")).decode().lower()
        assert SOMEBODY not in clean
        assert len(json.loads(clean)["traceevents"]) == 2


def test_the_home_of_somebody_by_a_tilde() -> None:
    assert Scrubber((), ()).text("~someuser/a.py PATH=~someuser/bin:/bin") == "~/a.py PATH=~/bin:/bin"
    assert Scrubber((), ()).text("~someuser") == "~"


@pytest.mark.parametrize(
    "text",
    [
        "C::Users",
        "C::Users::f(int)",
        "ns::home/x",
        "foo::~Bar()",
        "~Tensor",
        "/home",
        "/usr/lib",
        "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
        "/usr/lib/python3.12/json/decoder.py(3): f",
        r"C:\Windows\System32\nvcuda.dll",
        r"C:\Program Files\NVIDIA Corporation\x.dll",
        "a // b/c",
        "cuda:0/x",
        "model/user/embedding",
        "est. achieved occupancy %",
        "memory bandwidth (GB/s)",
        "void at::native::k<4, a::b>(int, char const*) [clone /x]",
        "x = y / z",
        "nn.Module: Users",
    ],
)
def test_what_is_no_home_stays(text: str) -> None:
    assert Scrubber((), ()).text(text) == text


def test_windows_paths() -> None:
    data = (SMALL / "second" / "windows_paths.json").read_bytes()
    events = unpacked(scrub_trace(data, Scrubber((), ()), "x"))["traceEvents"]
    assert [event["name"] for event in events] == ["train.py(4): f", "w.py(3): e", "train.py(12): main"]


def test_names_beyond_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long trace is scrubbed in pieces, whose ends may look as if they were in a string."""
    monkeypatch.setattr(scrub, "_PIECE", 1)
    odd = ' },{ "},{" a},{'
    events = [{"ph": "X", "name": f"/home/someuser/{i}.py{odd}", "ts": i} for i in range(40)]
    data = json.dumps({"traceEvents": events}).encode()
    text = gzip.decompress(scrub_trace(data, Scrubber((), ()), "x")).decode()
    kept = json.loads(text)["traceEvents"]
    assert [event["ts"] for event in kept] == list(range(40)) and SOMEBODY not in text
    assert [event["name"] for event in kept] == [e["name"].removeprefix("/home/someuser/") for e in events]
    assert text.count("\n") == 39


def test_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "node-of-ada")
    monkeypatch.setattr(socket, "getfqdn", lambda: "node-of-ada.example.org")
    monkeypatch.setattr(getpass, "getuser", lambda: "ada-lovelace")
    scrubber = Scrubber.of_this_machine((tmp_path, ""))
    text = (
        f"{tmp_path}/x.py on node-of-ada.example.org by ada-lovelace, {tempfile.gettempdir()}/y, "
        f"{os.__file__}, {pytest.__file__}, {Path.home()}/z"
    )
    scrubbed = scrubber.text(text)
    assert scrubbed.startswith("x.py on host by host, tmp/y, ")
    assert "site-packages/pytest/__init__.py" in scrubbed
    assert scrubbed.endswith(", ~/z")
    assert "/" + "opt" not in scrubbed
    assert not [word for word in scrubbed.replace(",", "").split() if word.startswith("/")]


def test_common_names_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "root")
    monkeypatch.setattr(socket, "gethostname", lambda: "localhost")
    monkeypatch.setattr(socket, "getfqdn", lambda: "localhost")
    assert Scrubber.of_this_machine().text("root of localhost") == "root of localhost"


def test_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 12345")

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert Scrubber.of_this_machine().text("x") == "x"


def test_the_environment_at_the_top_of_a_trace_goes() -> None:
    """Some profilers write the whole environment there, with its tokens."""
    data = (SMALL / "36_secret_in_metadata.json").read_bytes()
    assert set(json.loads(data)) - set(scrub.KEPT_METADATA)
    extra = {
        "env": {"HF_TOKEN": "hf_secret"},
        "hostName": "node",
        "trace_name": "/home/ada/x.json",
        "username": "a",
    }
    data = json.dumps({**json.loads(data), **extra, "schemaVersion": 1}).encode()
    kept = unpacked(scrub_trace(data, SCRUBBER, "x"))
    assert kept.keys() <= set(scrub.KEPT_METADATA)
    assert kept["schemaVersion"] == 1
    assert "hf_secret" not in json.dumps(kept)


def test_strings_of_events_keys_and_nested_values_are_scrubbed() -> None:
    args = {"file": "/home/ada/x/y.py", "list": ["on gpu-node-17", {"/home/ada/k": "ada"}], "n": 1, "b": True}
    event = {
        "ph": "X",
        "cat": "cpu_op",
        "name": "/data/a/b",
        "ts": 1,
        "dur": 1,
        "pid": 1,
        "tid": 1,
        "args": args,
    }
    [kept] = unpacked(scrub_trace(json.dumps([event]).encode(), SCRUBBER, "x"))["traceEvents"]
    assert kept["name"] == "b"
    assert kept["args"] == {"file": "~/x/y.py", "list": ["on host", {"~/k": "host"}], "n": 1, "b": True}


@pytest.mark.parametrize("depth", [500, 700, 900, 100_000])
def test_metadata_nested_too_deeply_are_scrubbed_or_refused(depth: int) -> None:
    """How deep is too deep depends on Python; an error of its own would be a fault of ours."""
    data = f'{{"traceEvents": [], "deviceProperties": {"[" * depth}{"]" * depth}}}'.encode()
    try:
        scrub_trace(data, SCRUBBER, "x")
    except TraceError as error:
        assert str(error).startswith("x: ")


NUMBERS = [
    "6139457120394.115",
    "1700000000000123.456",
    "1234567890123456789",
    "0.100",
    "1.0",
    "-0.0",
    "12345678901234567.890",
    "9" * 5000,  # more digits than Python's int takes from a text
]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:20])
def test_numbers_are_kept_digit_by_digit(number: str) -> None:
    data = f'{{"baseTimeNanoseconds": {number}, "traceEvents": [{{"ph":"X","ts": {number}}}]}}'.encode()
    text = gzip.decompress(scrub_trace(data, SCRUBBER, "x")).decode()
    assert f'"ts":{number}}}' in text
    assert f'"baseTimeNanoseconds":{number},' in text


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**18), max_value=10**18))
def test_any_number(number) -> None:
    text = gzip.decompress(
        scrub_trace(f'{{"traceEvents": [{{"ts": {number}}}]}}'.encode(), SCRUBBER, "x")
    ).decode()
    assert f'"ts":{number}}}' in text


@pytest.mark.parametrize("name", ["\ue0001\ue001", "a\ud800b", "a\udfffb"])
def test_names_that_no_utf_8_or_no_mark_may_change_are_kept(name: str) -> None:
    """With a decimal and half a surrogate pair beside it, the trace is not read as most are."""
    data = json.dumps({"traceEvents": [{"name": name, "ts": 1.5}, {"name": "\ud801"}]}).encode()
    events = [{"name": name, "ts": 1.5}, {"name": "\ud801"}]
    assert unpacked(scrub_trace(data, SCRUBBER, "x"))["traceEvents"] == events


@pytest.mark.parametrize("path", sorted(TRACES.glob("*.json.gz")), ids=lambda path: path.name)
def test_a_scrubbed_sample_reads_as_before(path: Path, tmp_path: Path) -> None:
    scrubbed = tmp_path / path.name
    scrubbed.write_bytes(scrub_trace(path.read_bytes(), Scrubber.of_this_machine(), str(path)))
    before, after = load(path), load(scrubbed)
    assert [(e.kind, e.start, e.dur) for e in after.events] == [
        (e.kind, e.start, e.dur) for e in before.events
    ]
    assert [e.name for e in after.events if e.kind.on_gpu] == [e.name for e in before.events if e.kind.on_gpu]
    assert not [e.name for e in after.events if e.name.startswith("/")]
    assert after.device_names == before.device_names


@pytest.mark.parametrize(
    "path",
    [p for p in sorted(SMALL.glob("*.json*")) if p.name[:2] not in ("06", "07")],
    ids=lambda path: path.name,
)
def test_every_readable_trace_can_be_scrubbed(path: Path, tmp_path: Path) -> None:
    """The profiler has written unescaped backslashes, ``inf`` and control characters."""
    scrubbed = tmp_path / "x.json.gz"
    scrubbed.write_bytes(scrub_trace(path.read_bytes(), SCRUBBER, str(path)))
    assert [(e.kind, e.start, e.dur) for e in load(scrubbed).events] == [
        (e.kind, e.start, e.dur) for e in load(path).events
    ]


@pytest.mark.parametrize("number", ["06", "07"])
def test_a_damaged_trace(number: str) -> None:
    [path] = SMALL.glob(f"{number}_*")
    with pytest.raises(TraceError, match=path.name):
        scrub_trace(path.read_bytes(), SCRUBBER, str(path))


def test_a_damaged_trace_has_the_limit_of_the_reader() -> None:
    """Events are read one by one here too, which takes many times the size of the file in memory."""
    data = b'{"traceEvents": [%b{"name": "\\x"}]}' % (b'{"ph": "X"},' * 100)
    scrub_trace(data, SCRUBBER, "x", max_bytes=2**20)
    with pytest.raises(TraceError, match="event by event"):
        scrub_trace(data, SCRUBBER, "x", max_bytes=2**16)


def test_scrubbing_twice_changes_nothing() -> None:
    once = scrub_trace((TRACES / "geglu_eager.json.gz").read_bytes(), SCRUBBER, "x")
    assert scrub_trace(once, SCRUBBER, "x") == once


def test_the_same_input_gives_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pack(b"abc" * 1000)
    monkeypatch.setattr("time.time", lambda: 1.0)
    assert pack(b"abc" * 1000) == data
    assert data[4:8] == b"\0\0\0\0"  # no time
    assert gzip.decompress(data) == b"abc" * 1000
