"""Files that do not parse: what can be read of them is, and what cannot is told."""

from __future__ import annotations

import gzip
import json
import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.trace import CODES, Trace, TraceError, load, load_whole, loads

DATA = Path(__file__).parents[1] / "data"
WHOLE = (DATA / "small" / "22_self_device_counted_twice.json").read_bytes()
REAL = gzip.decompress((DATA / "traces" / "linear_1024_32_64_eager.json.gz").read_bytes())


def codes(trace: Trace) -> dict[str, int]:
    return {finding.code: finding.count for finding in trace.findings}


def event(name: str, ts: int) -> str:
    return json.dumps({"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1, "name": name, "ts": ts, "dur": 1})


def names(data: str | bytes) -> list[str]:
    data = data.encode() if isinstance(data, str) else data
    return [each.name for each in loads(data, "t.json").events]


def test_a_file_cut_in_the_middle_of_an_event() -> None:
    trace = load(DATA / "small" / "06_truncated.json")
    assert len(trace.events) == 5
    assert sum(kernel.dur for kernel in trace.kernels) == 22_000
    assert codes(trace) == {"cut": 1}
    assert trace.findings[0].first == "line 110, column 3, after 7 whole entries"


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.999])
def test_wherever_a_file_is_cut_the_whole_events_before_are_read(share: float) -> None:
    whole = loads(REAL, "t").events
    cut = REAL[: int(len(REAL) * share)]
    trace = loads(cut, "t.json")
    assert codes(trace) == ({"cut": 1} if share < 0.99 else {"damaged-metadata": 1})
    # Kineto closes an event with a line of its own
    written = cut.count(b'"ph": "X"') - (b"}" not in cut[cut.rindex(b'"ph": "X"') :])
    assert 0 <= written - len(trace.events) <= 1
    by_place = {each.index: each.name for each in whole}
    assert all(by_place[each.index] == each.name for each in trace.events)


def test_a_quotation_mark_that_was_not_escaped() -> None:
    trace = load(DATA / "small" / "02_unescaped_quote.json")
    assert sum(kernel.dur for kernel in trace.kernels) == 20_000
    assert [each.name for each in trace.events if '"' in each.name] == ['stage "warm" pass']
    assert codes(trace) == {"bad-quote": 2}


@pytest.mark.parametrize(
    "name",
    [
        'say "hi"',
        '"',
        '""',
        'a", b',
        'a": b',
        '{"x": 1}, {"y": 2}',
        'tail"',
        'C:\\new"dir',
        "x }, {",
        '[1, "]',
    ],
)
def test_any_name_is_recovered_or_left_out_alone(name: str) -> None:
    middle = event("NAME", 2).replace("NAME", name)
    text = f'{{"traceEvents": [{event("before", 1)}, {middle}, {event("after", 3)}]}}'
    read = names(text)
    assert [read[0], read[-1]] == ["before", "after"]
    assert len(read) <= 3


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        ('{"ph": "X", "na', "damaged-event"),  # a record that lost its end
        ("\0\0\0\0, ", "junk"),  # a block that was never written
        ('"ts": 12}, ', "junk"),  # a record that lost its beginning
        ('{"ph": "X", "ts": ' + "[" * 100_000 + "}, ", "damaged-event"),
        ('{"ph": "X", "ts": ' + "1" * 5000 + "}, ", "damaged-event"),
    ],
)
def test_lost_records_cost_only_themselves(damage: str, code: str) -> None:
    trace = loads(f'{{"traceEvents": [{event("a", 1)}, {damage}{event("b", 2)}]}}'.encode(), "t.json")
    assert [each.name for each in trace.events] == ["a", "b"]
    assert codes(trace) == {code: 1}


def test_what_comes_after_the_events_is_found_all_the_same() -> None:
    trace = loads(REAL.replace(b'"name": "aten::t"', b'"name": "aten::"t"', 1), "t.json")
    assert trace.device_names == {0: "NVIDIA H200"}
    assert codes(trace) == {"bad-quote": 1}
    assert len(trace.events) == len(loads(REAL, "t").events)


@pytest.mark.parametrize("path", sorted((DATA / "traces").glob("*.json.gz")), ids=lambda path: path.name)
def test_a_file_with_one_fault_gives_the_same_events_as_a_whole_one(path: Path) -> None:
    """Two decoders, one for whole files and one for faulty ones: they must not differ."""
    text = gzip.decompress(path.read_bytes())
    head, key, tail = text.partition(b'"traceEvents": [')
    assert key
    whole = loads(text, "t")
    faulty = loads(head + b'"x": "C:\\dir",' + key + tail, "t")
    assert codes(faulty) == {"bad-escape": 1}

    def facts(trace: Trace) -> list[tuple[object, ...]]:
        return [
            (
                *(event.name, event.kind, event.start, event.dur, event.lane, dict(event.args), event.index),
                *(event.parent and event.parent.index, event.launch and event.launch.index),
                *(event.op and event.op.index, [child.index for child in event.children]),
            )
            for event in trace.events
        ]

    assert facts(faulty) == facts(whole)


# --- gzip ---------------------------------------------------------------------------------------------------


def test_several_members_are_one_file() -> None:
    data = gzip.compress(WHOLE[:300]) + gzip.compress(WHOLE[300:])
    assert len(loads(data, "t").events) == 4
    assert loads(data + b"\0" * 512, "t").findings == []
    assert codes(loads(data + b"more", "t")) == {"gzip-trailing": 4}


@pytest.mark.parametrize("share", [0.3, 0.7, 0.99])
def test_a_cut_gzip_stream(share: float) -> None:
    packed = gzip.compress(REAL)
    trace = loads(packed[: int(len(packed) * share)], "t")
    told = codes(trace)
    assert told["gzip-cut"] == 1
    assert len(trace.events) > (share - 0.3) * 0.9 * len(loads(REAL, "t").events)
    with pytest.raises(TraceError, match="The gzip stream ends before its end"):
        loads(packed[: int(len(packed) * share)], "t", strict=True)


def test_a_damaged_gzip_stream_is_read_up_to_the_fault() -> None:
    packed = bytearray(gzip.compress(REAL))
    at = len(packed) * 2 // 3
    packed[at : at + 8] = b"\xff" * 8
    trace = loads(bytes(packed), "t")
    assert codes(trace).keys() >= {"gzip-damaged"}
    assert len(trace.events) > 0.4 * len(loads(REAL, "t").events)


def test_a_small_file_that_unpacks_to_very_much_is_refused() -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    begin = time.process_time()
    with pytest.raises(TraceError, match=r"unpacks to more than 1 MiB.*raise the limit"):
        loads(bomb, "t", max_bytes=2**20)
    assert time.process_time() - begin < 1
    with pytest.raises(TraceError, match="MiB of it hold no event"):
        loads(bomb, "t", max_bytes=2**26)


# --- strictness ---------------------------------------------------------------------------------------------


def test_strict_refuses_what_is_repaired_or_assumed_and_a_recording_what_is_lost(tmp_path: Path) -> None:
    orphan = DATA / "small" / "25_orphan_kernel.json"
    with pytest.raises(TraceError, match=r"no-launch \(1×, first at event 5, 'toy_orphan'\)"):
        load(orphan, strict=True)
    assert len(load_whole(orphan).kernels) == 2
    with pytest.raises(TraceError, match="The file is cut off"):
        load_whole(DATA / "small" / "06_truncated.json")


def test_every_code_says_what_it_means() -> None:
    assert all(code.meaning.endswith(".") for code in CODES.values())


# --- whatever comes -----------------------------------------------------------------------------------------


@settings(max_examples=150)
@given(st.data())
def test_a_mutated_trace_is_read_or_refused_with_one_clear_error(data: st.DataObject) -> None:
    text = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(text) - 1))
        length = data.draw(st.integers(0, 40))
        text[at : at + length] = data.draw(st.binary(max_size=8))
    try:
        trace = loads(bytes(text), "some/where.json")
    except TraceError as error:
        assert str(error).startswith("some/where.json: ")
        return
    assert all(event.dur >= 0 and event.start >= 0 for event in trace.events)
    assert all(each.code in CODES and each.count > 0 and each.first for each in trace.findings)


@pytest.mark.parametrize(
    "piece",
    ['{"ph": "X", "name": "', '{"ph":', '"', "\\", '{"a": "', "[", '{"ph": "X", "args": {', "nan,", "}, {"],
)
def test_the_cost_of_damage_is_linear(piece: str) -> None:
    def seconds(times: int) -> float:
        data = ('{"traceEvents": [' + event("a", 1) + "," + piece * times).encode()
        begin = time.process_time()
        loads(data, "t")
        return time.process_time() - begin

    few = min(seconds(2_000) for _ in range(3))
    assert seconds(32_000) < 16 * 6 * max(few, 0.002)


def test_shuffled_damage_finds_no_crash() -> None:
    random.seed(0)
    lines = REAL.splitlines(keepends=True)
    for _ in range(20):
        dropped = set(random.sample(range(len(lines)), 25))
        loads(b"".join(line for n, line in enumerate(lines) if n not in dropped), "t.json")


@pytest.mark.parametrize("entry", ["{},", '{"a":1},', '{"a":"b"c"},'])
def test_entries_without_a_key_of_the_format_are_read_in_linear_time(entry: str) -> None:
    begin = time.process_time()
    assert names('{"traceEvents":[' + event("a", 1) + "," + entry * 30_000 + "{]}") == ["a"]
    assert time.process_time() - begin < 3
