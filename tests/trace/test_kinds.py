"""Kinds of odd input: each with the value that follows from its text, computed here in another way."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.draw.layout import lay_out
from kinetoscope.draw.viewer_data import trace_data
from kinetoscope.draw.views import VIEWS, choose_rows
from kinetoscope.measure.summary import busy_by_device, summarize
from kinetoscope.trace import Kind, Trace, TraceError, loads
from kinetoscope.trace.fields import POINTS


def codes(trace: Trace) -> dict[str, int]:
    return {finding.code: finding.count for finding in trace.findings}


def read(*entries: Any) -> Trace:
    return loads(json.dumps({"traceEvents": entries}).encode(), "t.json")


def complete(cat: str, name: str, ts: float, dur: float, **more: Any) -> dict[str, Any]:
    args = {key: more.pop(key) for key in ("correlation", "stream", "device") if key in more}
    return {
        "ph": "X",
        "cat": cat,
        "name": name,
        "pid": 1,
        "tid": 1,
        "ts": ts,
        "dur": dur,
        "args": args,
    } | more


def mark(ph: str, name: str, ts: float, **more: Any) -> dict[str, Any]:
    named = {"name": name} if name else {}
    return {"ph": ph, "cat": "cpu_op", "pid": 1, "tid": 1, "ts": ts, **named, **more}


# --- begin and end ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("marks", "ranges", "findings"),
    [
        ("Ba0 Bb1 E3 E9", {"a": 9, "b": 2}, {}),
        ("Ba0 Bb1 Eb3 Ea9", {"a": 9, "b": 2}, {}),
        ("Ba0 Bb1 Ea3 Eb9", {"a": 3, "b": 8}, {"crossing": 1}),
        ("Ea9 Eb3 Bb1 Ba0", {"a": 9, "b": 2}, {}),  # the order in the file does not matter
        ("Ba0 Ea0", {"a": 0}, {}),
        ("Ba0 Bb1 Ea3", {"a": 3, "b": 0}, {"no-end": 1}),
        ("Ba0 Ea3 Ea4 E5", {"a": 3}, {"no-begin": 2}),
        ("Eb0 Ba1 Ea2", {"a": 1}, {"no-begin": 1}),
        ("Ba0", {"a": 0}, {"no-end": 1}),
    ],
)
def test_begin_and_end(marks: str, ranges: dict[str, int], findings: dict[str, int]) -> None:
    trace = read(*(mark(text[0], text[1:-1], int(text[-1])) for text in marks.split()))
    assert {event.name: event.dur for event in trace.events} == {k: v * 1000 for k, v in ranges.items()}
    assert codes(trace) == findings


def test_begin_and_end_belong_to_a_thread_and_their_args_are_put_together() -> None:
    trace = read(
        mark("B", "a", 0, args={"x": 1, "y": 1}),
        mark("B", "a", 1, tid=2),
        mark("E", "", 5, tid="2"),
        mark("E", "a", 7, args={"y": 2}),
        complete("cpu_op", "whole", 2, 1),
    )
    assert [(event.name, event.dur, event.index) for event in trace.events] == [
        ("a", 7000, 0),
        ("a", 4000, 1),
        ("whole", 1000, 4),
    ]
    assert dict(trace.events[0].args) == {"x": 1, "y": 2}
    assert trace.events[2].parent is trace.events[0]
    assert trace.findings == []


# --- times --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dur", "ns", "code"),
    [
        (None, 0, "no-duration"),
        ("", 0, "no-duration"),
        (True, 0, "no-duration"),
        ("nan", 0, "no-duration"),
        (-1, 0, "negative-duration"),
        ("-0.001", 0, "negative-duration"),
        (-(2**63), 0, "negative-duration"),
        (9223372036854775.807, 0, "absurd-duration"),
        (2**64 - 1, 0, "absurd-duration"),
        ("1e400", 0, "absurd-duration"),
        (3.2e13, 0, "absurd-duration"),
        (3.1e13, 31 * 10**15, None),
        (-0.0, 0, None),
        ("-0.0004", 0, None),
    ],
)
def test_a_duration_that_cannot_be_costs_no_event(dur: Any, ns: int, code: str | None) -> None:
    trace = read(complete("kernel", "k", 5, 0) | {"dur": dur}, complete("kernel", "other", 9, 1.5))
    assert [event.dur for event in trace.events] == [ns, 1500]
    assert {each for each in codes(trace) if "duration" in each} == ({code} if code else set())


def test_an_event_whose_duration_is_not_there() -> None:
    event = complete("kernel", "k", 5, 0)
    del event["dur"]
    trace = read(event)
    assert [event.dur for event in trace.kernels] == [0]
    assert codes(trace) == {"no-duration": 1, "no-launch": 1}


_TEXTS = st.one_of(
    st.decimals(-(10**6), 10**15, allow_nan=False, allow_infinity=False).map(lambda value: f"{value:f}"),
    st.from_regex(r"[1-9][0-9]{0,14}\.[0-9]{1,9}(49{1,40}|50{1,40}1?|5)", fullmatch=True),
    st.from_regex(r"[1-9][0-9]{0,2}e-?[0-9]", fullmatch=True),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(_TEXTS, min_size=1, max_size=5), st.sampled_from(["", '"']))
def test_times_are_exact_whatever_stands_beside_them(texts: list[str], quote: str) -> None:
    entries = [f'{{"ph": "X", "ts": {quote}{text}{quote}, "dur": 0}}' for text in texts]
    entries += ['{"ph": "X", "ts": 7.5}']
    trace = loads(f"[{','.join(entries)}]".encode(), "t")
    # 200 digits hold each of them
    context = Context(prec=200, rounding=ROUND_HALF_EVEN)
    ns = [int(context.multiply(Decimal(text), 1000).to_integral_value(context=context)) for text in texts]
    ns.append(7500)
    by_index = sorted(trace.events, key=lambda event: event.index)
    assert [event.start for event in by_index] == [each - min(ns) for each in ns]


def test_sums_that_64_bits_do_not_hold() -> None:
    kernels = [complete("kernel", "k", n, 3.1e13, correlation=n + 1) for n in range(300)]
    calls = [complete("cuda_runtime", "c", n, 1, correlation=n + 1, tid=2) for n in range(300)]
    trace = read(*kernels, *calls)
    assert summarize(trace).kernel_sum_ns == 300 * 31 * 10**15
    [row] = choose_rows(trace, "call").rows
    assert row.device == 300 * 31 * 10**15  # type: ignore[union-attr]


# --- all entries are accounted for --------------------------------------------------------------------------

_PHASES = [*"XXXXXXXXBBBEEEiCMstfbenZ", None]
_ENTRIES = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "ph": st.sampled_from(_PHASES),
            "cat": st.sampled_from(
                ["kernel", "Memcpy", "gpu_memset", "cuda_runtime", "cpu_op", "zork", None]
            ),
            "name": st.sampled_from(["a", "b", "cudaLaunchKernel"]),
            "pid": st.sampled_from([0, 1, "1", "GPU"]),
            "tid": st.sampled_from([7, "stream 7", 8]),
            "ts": st.sampled_from([0, 1, 2.5, "3.001", None, 10**30, -4]),
            "dur": st.sampled_from([0, 1, 2.5, "3.001", None, 10**30, -4]),
            "args": st.fixed_dictionaries(
                {},
                optional={
                    "correlation": st.sampled_from([0, 1, "1", 2, -2, 2.0, None]),
                    "stream": st.sampled_from([7, "7", 8, None, -1]),
                    "device": st.sampled_from([0, 1, None]),
                },
            ),
        },
    ),
    max_size=12,
)


@settings(max_examples=100, deadline=None)
@given(_ENTRIES)
def test_nothing_disappears_silently(entries: list[dict[str, Any]]) -> None:
    trace = read(*entries)
    summary, said = summarize(trace), codes(trace)
    points = sum(entry.get("ph") in POINTS for entry in entries if entry.get("ph"))
    left_out = sum(said.get(code, 0) for code in ("no-time", "no-begin", "unknown-phase", "asynchronous"))
    begins = [entry for entry in entries if entry.get("ph") in ("X", "B")]
    ends = len(entries) - points - left_out - summary.events
    assert 0 <= ends <= sum(entry.get("ph") == "E" for entry in entries)
    assert summary.events <= len(begins) <= summary.events + said.get("no-time", 0)
    gpu = [event for event in trace.events if event.kind.on_gpu]
    assert summary.linked + summary.unlinked == len(gpu)
    assert summary.unlinked == said.get("no-launch", 0) + said.get("ambiguous-launch", 0)
    assert summary.kernel_sum_ns == sum(event.dur for event in trace.kernels)
    moments = sorted({each for event in gpu for each in (event.start, event.end)})
    covered = [
        b - a for a, b in pairwise(moments) if any(event.start <= a and b <= event.end for event in gpu)
    ]
    assert summary.gpu_busy_ns == sum(covered)
    assert sum(busy_by_device(trace).values()) >= summary.gpu_busy_ns
    assert summary.streams == len({(e.lane.pid, e.lane.device, e.lane.stream) for e in gpu})


def test_entries_that_are_no_events_are_told_but_for_points() -> None:
    trace = read({"ph": "b", "ts": 1}, {"ph": "n"}, {"ph": "e"}, {"ph": "Z"}, {}, {"ph": "i"}, {"ph": "C"})
    assert codes(trace) == {"unknown-phase": 2, "asynchronous": 3, "no-events": 1}
    assert [finding.first for finding in trace.findings[:2]] == [
        "entry 3 of traceEvents",
        "entry 0 of traceEvents",
    ]


def test_of_entries_of_an_unknown_phase_the_first_is_told() -> None:
    trace = read(complete("cpu_op", "o", 1, 1), {"ph": "Z"}, {"ph": "i"}, {"ph": "Z"})
    assert [(each.code, each.count, each.first) for each in trace.findings] == [
        ("unknown-phase", 2, "entry 1 of traceEvents")
    ]


def test_what_only_waits_marks_or_runs_on_the_cpu_is_no_kernel() -> None:
    launch = complete("cuda_runtime", "cudaLaunchKernel", 0, 1, correlation=1)
    rows = [
        complete("kernel", "gemm", 3, 5, stream=7, correlation=1),
        *(complete("mtia_ccp_events", name, 20, 50, stream=7) for name in ("event_wait", "event_record")),
        *(complete("cuda_sync", name, 20, 50, stream=7) for name in ("Context Sync", "Stream Wait Event")),
        complete("xpu_sync", "zeEventHostSynchronize", 20, 50, stream=7),
        complete("graph_host_node", "HostNode: free(void*)", 20, 50, stream=7),
        *(
            complete("kernel", name, 20, 50, stream=7)
            for name in (
                *("HostNode", "HostNode: f(std::vector<(a)>)", "cudaLaunchHostFunc", "hipLaunchHostFunc"),
                *("Event Sync", "zeCommandListAppendBarrier", "HIP_EVENT_WAIT"),
            )
        ),
    ]
    trace = read(launch, *rows)
    assert [event.name for event in trace.kernels] == ["gemm"] and codes(trace) == {}
    said = summarize(trace)
    assert (said.kernel_sum_ns, said.gpu_busy_ns, said.gpu_span_ns) == (5000, 5000, 5000)
    assert len(trace.of(Kind.SYNC)) == len(rows) - 1


def test_a_kernel_may_have_such_words_in_its_name() -> None:
    """A name counts only as a whole."""
    names = ["event_wait_kernel", "triton_poi_event_record_0", "my::event_wait(int)", "Sync", "HostNodeCount"]
    trace = read(*(complete("kernel", name, n, 1, stream=7) for n, name in enumerate(names)))
    assert [event.name for event in trace.kernels] == names


def test_copies_of_mtia_are_copies() -> None:
    row = complete("mtia_ccp_events", "dma_request", 1, 8, direction="DEVICE_TO_HOST", size=16, sqid=1)
    trace = read(row, complete("mtia_ccp_events", "pe_exe", 2, 4, stream=112))
    assert [event.name for event in trace.copies] == ["dma_request"]
    assert [event.name for event in trace.kernels] == ["pe_exe"]


def test_events_of_unknown_category_are_counted_and_told() -> None:
    trace = read(complete("zork", "z", 1, 1), complete("Trace", "whole", 0, 9), complete("cpu_op", "o", 1, 1))
    assert codes(trace) == {"unknown-categories": 1}
    assert trace.findings[0].first == "event 0, 'z' of category 'zork'"


# --- text ---------------------------------------------------------------------------------------------------

_A, _B = (json.dumps(complete("cpu_op", name, n, 1)) for n, name in enumerate("ab"))


@pytest.mark.parametrize(
    ("text", "findings"),
    [
        (f'{{"traceEvents": [{_A}, {_B},]}}', {"bad-comma": 1}),
        (f'{{"traceEvents": [{_A} {_B}]}}', {"bad-comma": 1}),
        (f"[{_A},\n{_B},\n", {"cut": 1}),
        (f"[{_A},\n{_B}", {"cut": 1}),
        (f'{{"traceEvents": [{_A}, {_B}]}}\n{{"traceEvents": [{_A}]}}', {"several-documents": 1}),
        (f'{{"traceEvents": [{_A}], "traceEvents": [{_B}]}}', {"several-lists": 1}),
        (f'{{"traceEvents": [{_A}, {_B}]}} more', {"damaged-metadata": 1}),
        (f'{{"x": NaN, "y": [-Infinity], "traceEvents": [{_A}, {_B}]}}', {"not-finite": 2}),
        (f'{{"x": "NaN \n", "traceEvents": [{_A}, {_B}]}}', {"control-character": 1}),
        (f'{{"x": "\x01 \\q", "traceEvents": [{_A}, {_B}]}}', {"control-character": 1, "bad-escape": 1}),
        (f'{{"x": "C:\\dir", "y": inf, "traceEvents": [{_A}, {_B}]}}', {"bad-escape": 1, "not-finite": 1}),
        (f"[{_A.replace('cpu_op', chr(9) + 'cpu_op')}, {_B},]", {"control-character": 1, "bad-comma": 1}),
    ],
)
def test_what_json_does_not_allow_is_told(text: str, findings: dict[str, int]) -> None:
    trace = loads(text.encode(), "t")
    assert [event.name for event in trace.events] == ["a", "b"]
    assert {code: n for code, n in codes(trace).items() if code != "unknown-categories"} == findings


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
def test_other_encodings(encoding: str) -> None:
    trace = loads(f"[{_A}, {_B}]".encode(encoding), "t")
    assert [event.name for event in trace.events] == ["a", "b"]
    assert codes(trace) == ({} if encoding == "utf-8-sig" else {"not-utf8": 1})


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"PK\x03\x04" + b"\0" * 99, "a zip archive; unpack it"),
        (b"\x28\xb5\x2f\xfd" + b"\0" * 99, "compressed with zstd; unpack it"),
        (b"BZh91AY&SY", "compressed with bzip2"),
        (b"\xfd7zXZ\x00\0", "compressed with xz"),
        (b"a" * 257 + b"ustar", "a tar archive"),
        (gzip.compress(gzip.compress(b"[]", mtime=0), mtime=0), "gzipped twice"),
    ],
)
def test_files_of_other_programs_are_named(data: bytes, what: str) -> None:
    with pytest.raises(TraceError, match=what):
        loads(data, "t")


# --- links --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ids", [("7", 7), (-7, -7), (7.0, 7), (2**64 - 5, -5), (2**63 + 5, 2**63 + 5), (" 7 ", "7"), ("-7", -7)]
)
def test_ids_however_they_are_written(ids: tuple[Any, Any]) -> None:
    call, kernel = ids
    trace = read(
        complete("cuda_runtime", "cudaLaunchKernel", 0, 1, correlation=call),
        complete("kernel", "k", 2, 1, correlation=kernel, pid=0, tid=7),
    )
    assert trace.kernels[0].launch is trace.calls[0]
    assert trace.findings == []


@pytest.mark.parametrize("none", [0, -1, None, "", "x", "0", 2**65, [1], True])
def test_ids_that_are_none(none: Any) -> None:
    trace = read(
        complete("cuda_runtime", "cudaLaunchKernel", 0, 1, correlation=none),
        complete("kernel", "k", 2, 1, correlation=none, pid=0, tid=7),
    )
    assert codes(trace) == {"no-launch": 1}


def test_ranks_that_all_call_their_gpu_0_are_told_apart_by_pid() -> None:
    ranks = [
        (
            complete("cuda_runtime", "cudaLaunchKernel", rank, 1, correlation=5, pid=100 + rank),
            complete("kernel", f"k{rank}", 10, 1, correlation=5, stream=7, device=0, pid=rank, tid=7),
        )
        for rank in range(3)
    ]
    trace = read(*(event for rank in ranks for event in rank), complete("cuda_runtime", "x", 0, 1, pid=99))
    assert {k.name: k.launch and k.launch.lane.pid for k in trace.kernels} == {
        "k0": 100,
        "k1": 101,
        "k2": 102,
    }
    assert summarize(trace).streams == 3


def test_a_launch_that_may_be_of_two_processes_is_of_none() -> None:
    calls = [
        complete("cuda_runtime", "cudaLaunchKernel", 4 * pid, 1, correlation=5, pid=pid) for pid in (1, 2)
    ]
    kernel = complete("kernel", "k", 30, 1, correlation=5, stream=7, device=0, pid=0)
    trace = read(*calls, kernel)
    assert trace.kernels[0].launch is None
    assert codes(trace) == {"ambiguous-launch": 1, "lost-activity": 2}
    early = read(*calls, kernel | {"ts": 6})  # process 2 had not launched anything yet
    assert early.kernels[0].launch is early.calls[0]


def test_one_stream_number_on_two_devices_is_two_streams() -> None:
    kernels = [complete("kernel", "k", 5, 10, stream=7, device=device, pid=0) for device in (0, 1)]
    trace = read(*kernels)
    assert summarize(trace).streams == 2
    assert codes(trace) == {"no-launch": 2}
    assert "overlapping-stream" in codes(read(kernels[0], kernels[0]))


def test_an_event_without_a_length_overlaps_nothing() -> None:
    kernels = [complete("kernel", "k", ts, dur, stream=7, device=0) for ts, dur in ((5, 10), (7, 0), (15, 1))]
    assert codes(read(*kernels)) == {"no-launch": 3}


def test_a_launch_whose_activity_is_lost() -> None:
    trace = read(
        *(complete("cuda_runtime", name, n, 1, correlation=n + 1) for n, name in enumerate(
            ["cudaLaunchKernel", "hipExtModuleLaunchKernel", "cudaLaunchHostFunc", "cudaMemsetAsync"]
        )),
        complete("kernel", "k", 9, 1, correlation=1, stream=7, device=0, pid=0),
    )  # fmt: skip
    assert codes(trace) == {"lost-activity": 1}
    assert trace.findings[0].first == "event 1, 'hipExtModuleLaunchKernel'"


def test_of_overlapping_steps_the_last_begun_holds_an_event() -> None:
    trace = read(
        complete("user_annotation", "ProfilerStep#1", 0, 10),
        complete("user_annotation", "ProfilerStep#2", 6, 10, tid=2),
        complete("cpu_op", "first", 5, 1, tid=3),
        complete("cpu_op", "second", 7, 1, tid=3),
    )
    assert [[event.name for event in step.cpu] for step in trace.steps] == [["first"], ["second"]]


def test_an_event_belongs_to_the_steps_of_its_own_process() -> None:
    """Two ranks in one file: their steps run side by side.  A process without steps belongs to both."""
    ranks = [complete("user_annotation", "ProfilerStep#1", 0, 10, pid=pid) for pid in (1, 2)]
    ops = [complete("cpu_op", f"of {pid}", 1, 1, tid=3, pid=pid) for pid in (1, 2, 3)]
    call = complete("cuda_runtime", "cudaLaunchKernel", 4, 1, tid=3, pid=2, correlation=1)
    trace = read(*ranks, *ops, call, complete("kernel", "k", 6, 1, pid=0, stream=7, correlation=1))
    assert [[event.name for event in step.cpu] for step in trace.steps] == [
        ["of 1", "of 3"],
        ["of 2", "of 3", "cudaLaunchKernel"],
    ]
    assert [[event.name for event in step.gpu] for step in trace.steps] == [[], ["k"]]


# --- cost ---------------------------------------------------------------------------------------------------

_SHAPES: dict[str, Callable[[int], list[dict[str, Any]]]] = {
    "nested": lambda n: [complete("cpu_op", "op", i, 2 * n - 2 * i) for i in range(n)],
    "crossing": lambda n: [complete("cpu_op", "op", i, n + 9) for i in range(n)],
    "one id": lambda n: [
        complete(cat, "cudaLaunchKernel", i, 1, correlation=5, stream=7, device=0)
        for i in range(n // 2)
        for cat in ("cuda_runtime", "kernel")
    ],
    "streams": lambda n: [complete("kernel", "k", i, 1, stream=i, device=0) for i in range(n)],
    "threads that launch": lambda n: [
        complete(cat, "cudaLaunchKernel", i, 1, correlation=i + 1, tid=i, **({"stream": i} if at else {}))
        for i in range(n // 2)
        for at, cat in enumerate(("cuda_runtime", "kernel"))
    ],
    "open calls": lambda n: [
        complete("cuda_runtime", "cudaDeviceSynchronize", i / n, n, tid=i) for i in range(n)
    ],
    "calls in calls": lambda n: (
        [
            complete("cuda_runtime", "cudaLaunchKernel", i, 2 * n - 2 * i, correlation=i + 1)
            for i in range(n // 2)
        ]
        + [complete("kernel", "k", 3 * n + i, 1, stream=7, correlation=i + 1) for i in range(n // 2)]
    ),
    "steps in steps": lambda n: (
        [complete("user_annotation", f"ProfilerStep#{i}", i, 2 * n - 2 * i) for i in range(n // 2)]
        + [complete("kernel", "k", 2 * i, 1, stream=7) for i in range(n // 2)]
    ),
    "begins": lambda n: (
        [mark("B", f"a{i % 3}", i) for i in range(n // 2)] + [mark("E", "b", n + i) for i in range(n // 2)]
    ),
    "one External id": lambda n: [
        {
            **complete(cat, "x", n * at + i, 1 + 2 * n * (1 - at), tid=at),
            "args": {"External id": 7, "correlation": i},
        }
        for at, cat in enumerate(("cpu_op", "cuda_runtime"))
        for i in range(n // 2)
    ],
}


@pytest.mark.parametrize("shape", _SHAPES)
def test_the_cost_of_any_shape_is_linear(shape: str) -> None:
    def seconds(size: int) -> float:
        data = json.dumps(_SHAPES[shape](size)).encode()
        begin = time.process_time()
        trace = loads(data, "t")
        summarize(trace)
        busy_by_device(trace)
        for by in VIEWS:
            choose_rows(trace, by)
        trace_data(trace, machine="m", name="n")
        lay_out(trace, width=640)
        return time.process_time() - begin

    few = max(min(seconds(500) for _ in range(2)), 0.004)
    # eight times as many; what is quadratic takes sixty-four times as long
    assert seconds(4000) < 16 * few or seconds(4000) < 16 * few


@pytest.mark.parametrize(
    "exponent", ["99999999999999999999", "+99999999999999999999", "-99999999999999999999"]
)
@pytest.mark.parametrize("after", ["", ", oops"])
def test_exponents_that_no_decimal_has(exponent: str, after: str) -> None:
    """As of others that are too large, or too small to be seen."""
    event = '{{"ph": "X", "cat": "cpu_op", "name": "{}", "pid": 1, "tid": 1, "ts": {}, "dur": {}}}'
    rows = [
        event.format("first", "0.0", "1.0"),
        event.format("ts", f"1e{exponent}", "1.5"),
        event.format("dur", "1.5", f"1e{exponent}"),
        event.format("negative", "2.5", f"-1e{exponent}"),
        event.format("text", f'"1e{exponent}"', '"1.5"'),
        event.format("nothing", f"0e{exponent}", "0.5"),
    ]
    trace = loads(f"[{', '.join(rows)}]{after}".encode(), "t")
    times = {each.name: (each.start, each.dur) for each in trace.events}
    told = {code: n for code, n in codes(trace).items() if code != "damaged-metadata"}
    if exponent.startswith("-"):
        assert times["ts"] == times["text"] == (0, 1500)
        assert told == {}
    else:
        assert not {"ts", "text"} & times.keys()
        assert told == {"no-time": 2, "absurd-duration": 1, "negative-duration": 1}
    assert (times["dur"], times["negative"], times["nothing"]) == ((1500, 0), (2500, 0), (0, 500))


def test_a_number_that_is_none_beside_an_open_quotation_mark() -> None:
    text = f"[{_A}, {_B.replace(chr(34) + 'b' + chr(34), chr(34) + 'b' + chr(34) + 'c' + chr(34))}]"
    text = text.replace('"tid": 1', '"tid": 1, "args": {"dims": [-Infinity]}')
    trace = loads(text.encode(), "t")
    assert [event.name for event in trace.events] == ["a", 'b"c']
    assert {"bad-quote", "not-finite"} <= codes(trace).keys()
