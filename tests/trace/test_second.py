"""Steps, records that cannot be right, and graphs: what a sum can't show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kinetoscope.api.loading import load
from kinetoscope.api.trace import PublicTrace
from kinetoscope.draw.figure import standalone_svg
from kinetoscope.draw.layout import TimelineOptions, lay_out
from kinetoscope.measure.errors import ExpressionError
from kinetoscope.measure.steps import step_table, whole_row
from kinetoscope.measure.summary import summarize, summary_lines
from kinetoscope.measure.tables import WRONG, kernel_table, op_table
from kinetoscope.trace import Trace, loads

SECOND = Path(__file__).parents[1] / "data" / "small" / "second"
EPOCH = 1_700_000_000_000_000


def second(name: str) -> PublicTrace:
    return load(SECOND / f"{name}.json")


def found(trace: Trace) -> dict[str, int]:
    return {finding.code: finding.count for finding in trace.findings}


def call(ts: float, correlation: int, name: str = "cudaLaunchKernel", pid: Any = 100) -> dict[str, Any]:
    args = {"correlation": correlation}
    return {"cat": "cuda_runtime", "name": name, "pid": pid, "tid": pid, "ts": ts, "dur": 3, "args": args}


def kernel(ts: float, dur: float, correlation: int, name: str = "k", pid: Any = 0) -> dict[str, Any]:
    args = {"device": 0, "stream": 7, "correlation": correlation}
    return {"cat": "kernel", "name": name, "pid": pid, "tid": 7, "ts": ts, "dur": dur, "args": args}


def step(number: int, ts: float, dur: float, pid: Any = 100) -> dict[str, Any]:
    name = f"ProfilerStep#{number}"
    return {"cat": "user_annotation", "name": name, "pid": pid, "tid": pid, "ts": ts, "dur": dur}


def read(*events: dict[str, Any]) -> PublicTrace:
    data = json.dumps({"traceEvents": [{"ph": "X", **event} for event in events]}).encode()
    return PublicTrace.from_trace(loads(data, "made.json"))


# --- steps --------------------------------------------------------------------------------------------------


def test_what_was_launched_before_the_recording_is_in_no_step() -> None:
    trace = second("unlaunched_in_steps")
    assert [row.kernels for row in step_table(trace)] == [1, 1, 1]
    assert str(trace.measure("count(kernels)")) == "1"
    assert found(trace) == {"no-launch": 8}


def test_a_picture_of_a_step_fades_what_is_in_no_step() -> None:
    picture = lay_out(second("unlaunched_in_steps"), TimelineOptions(steps=2), width=640)
    kernels = {bar.event.name: bar.faded for bar in picture.bars if bar.event.kind.on_gpu}
    assert kernels["warm"] and not all(kernels.values())


def test_ids_that_start_again_and_a_launch_that_is_lost_in_the_middle() -> None:
    steps = [step(1, 0, 100), step(2, 100, 100)]
    calls = [call(10, 5), call(20, 8), call(110, 10), kernel(30, 1, 5), kernel(40, 1, 8), kernel(120, 1, 10)]
    of = lambda *more: [row.kernels for row in step_table(read(*steps, *calls, *more))]  # noqa: E731
    assert of() == [2, 1]
    assert of(kernel(130, 1, 7)) == [3, 1], "its id lies between two calls of step 1"
    assert of(kernel(15, 1, 2**32 - 9)) == [2, 1], "ids of 32 bits started again at 0"
    trace = read(*steps, *calls, kernel(130, 1, 9))  # launched in one step or the other
    assert [row.kernels for row in step_table(trace)] == [2, 2]
    assert found(trace) == {"no-launch": 1, "step-by-time": 1}


def test_each_process_has_its_own_smallest_id() -> None:
    ranks = [
        event
        for pid, first in (("[0] 9", 50), ("[1] 9", 10))
        for event in (
            step(1, 0, 100, pid),
            call(10, first, pid=pid),
            kernel(20, 5, first, pid=pid[:3]),
            kernel(40, 5, 30, "old or not", pid=pid[:3]),
        )
    ]
    assert [row.kernels for row in step_table(read(*ranks))] == [1, 2]


def test_steps_of_two_processes() -> None:
    trace = second("two_ranks_steps")
    rows = step_table(trace)
    assert [(row.busy, row.idle) for row in rows[:2]] == [(10_000, 90_000), (30_000, 70_000)]
    assert [row.name for row in rows[:2]] == [
        "ProfilerStep#3 (process [TP00] 501)",
        "ProfilerStep#3 (process [TP01] 777)",
    ]
    [row] = trace.table("kernel", step=3)
    assert (row.calls, row.device) == (2, 40_000)
    assert [row.calls for row in trace.table("annotation", step=3)] == [2]
    assert len(trace.table("step", step=3)) == 2
    assert str(trace.measure("count(step(3).kernels)")) == "2"
    assert trace.measure("time(step(3).kernels) == us(40)") is True
    with pytest.raises(ExpressionError, match=r"is 2 steps, of processes \[TP00\] 501, \[TP01\] 777"):
        trace.measure("idle(step(3))")
    assert len(lay_out(trace, TimelineOptions(steps=3), width=800).window.steps) == 2
    assert ("steps", "4", "number 3 of 2 processes, 4 of 2 processes") in summary_lines(
        trace, summarize(trace)
    )


# --- records that cannot be right ---------------------------------------------------------------------------


def test_a_lost_record() -> None:
    trace = second("lost_record_epoch")
    summary = summarize(trace)
    assert (summary.kernels, summary.kernel_sum_ns, summary.gpu_span_ns) == (2, 20_000, 20_000)
    assert found(trace) == {"lost-record": 1}
    assert trace.findings[0].first == "event 3, 'toy_lost'"
    assert whole_row(trace).launch_delay == 20_000 and trace.end == 47_000
    assert [row.name for row in kernel_table(trace)] == ["toy_gemm", WRONG]


@pytest.mark.parametrize(
    "lost",
    [kernel(0, 0, 2), kernel(0, 15, 2), {**call(0, 9), "cat": "cpu_op"}, call(0, 2), kernel(-EPOCH, 0, 2)],
    ids=["kernel", "kernel with a length", "op", "launch", "0 less a base"],
)
def test_whatever_is_lost_is_out_of_all_statistics(lost: dict[str, Any]) -> None:
    trace = read(
        call(EPOCH, 1), kernel(EPOCH + 20, 30, 1), call(EPOCH + 60, 3), kernel(EPOCH + 80, 10, 3), lost
    )
    row = whole_row(trace)
    assert (row.start, row.span, row.busy, row.idle, row.launch_delay) == (0, 90_000, 40_000, 50_000, 20_000)
    assert found(trace)["lost-record"] == 1 and summarize(trace).gpu_span_ns == 70_000


def test_a_lost_launch_is_the_launch_of_nothing() -> None:
    trace = read(call(0, 2), kernel(EPOCH + 20, 5, 2), call(EPOCH, 1), kernel(EPOCH + 10, 5, 1))
    assert whole_row(trace).launch_delay == 10_000
    assert found(trace) == {"lost-record": 1, "no-launch": 1}


def test_a_clock_that_begins_at_0_loses_nothing() -> None:
    trace = read(call(0, 1), kernel(5, 5, 1))
    assert found(trace) == {} and not trace.columns.wrong.any()
    trace = read(call(10, 1), kernel(0, 0, 1))
    assert found(trace) == {"lost-record": 1}


def test_a_kernel_before_its_launch_has_no_delay() -> None:
    trace = second("skew_in_launch_delay")
    row = whole_row(trace)
    assert (row.launch_delay, row.deepest, row.idle_unknown) == (20_000, 0, 72_500 + 95_000)
    assert str(trace.measure("launch_delay(kernels)")) == "20.0 µs"
    assert summarize(trace).kernel_sum_ns == summarize(trace).gpu_busy_ns == 15_000
    assert found(trace) == {"before-its-launch": 2}
    layout = lay_out(trace, TimelineOptions(), width=900)
    assert standalone_svg(layout, title="t", description="d").count("the clocks of CPU and GPU differ") == 2


@pytest.mark.parametrize(("dur", "at"), [(500, 20), (10_000_000_000, 60)], ids=["over others", "at the end"])
def test_a_length_that_the_file_does_not_allow(dur: int, at: int) -> None:
    good = [event for n in range(3) for event in (call(20 * n, n + 1), kernel(20 * n + 5, 10, n + 1, "good"))]
    trace = read(*good, call(at, 9), kernel(at + 17, dur, 9, "bad"))
    row, summary = whole_row(trace), summarize(trace)
    assert found(trace) == {"impossible-length": 1}
    assert trace.findings[0].first == "event 7, 'bad'"
    assert (row.busy, row.launch_delay, summary.gpu_span_ns) == (30_000, 5_000, 50_000)
    assert (summary.kernels, summary.kernel_sum_ns) == (4, 30_000 + 1000 * dur)
    said = {label: what for label, _, what in summary_lines(trace, summary)}
    assert "of it are of 1 whose times cannot be right" in said["kernel sum"]
    assert [(row.name, row.share) for row in kernel_table(trace)] == [("good", 1.0), (WRONG, 0.0)]
    assert trace.measure("time(kernels) == us(30) and max(kernels) == us(10) and count(kernels) == 4") is True


def test_an_activity_that_reaches_over_a_later_one_is_not_impossible() -> None:
    """As where a recording's kernels are made twice as long: less than half lies behind the later one."""
    events = [call(0, 1), call(4, 2), kernel(10, 40, 1, "matmul"), kernel(30, 10, 2, "add")]
    trace = read(*events)
    assert found(trace) == {"overlapping-stream": 1}
    assert str(trace.measure('time(kernels["matmul"])')) == "40.0 µs"


def test_what_may_overlap_on_a_stream() -> None:
    """The next kernel begins early (programmatic dependent launch), those of a graph run side by side."""
    early = read(call(0, 1), call(5, 2), kernel(10, 20, 1), kernel(25, 20, 2))
    graph = read(call(0, 1, "cudaGraphLaunch"), kernel(10, 20, 1), kernel(15, 5, 1))
    for trace in (early, graph):
        assert found(trace) == {"overlapping-stream": 1} and not trace.columns.wrong.any()
    long = read(call(0, 1), kernel(10, 900_000, 1))
    assert found(long) == {}, "nothing in the file ends after a long kernel, and that is no fault"


def op(name: str, ts: float, dur: float, cat: str = "cpu_op") -> dict[str, Any]:
    return {"cat": cat, "name": name, "pid": 100, "tid": 100, "ts": ts, "dur": dur}


def test_an_op_that_crosses_another_is_in_no_statistic() -> None:
    """``bad`` begins in ``a`` and ends in ``c``, which is right: nothing but ``bad`` speaks against it."""
    loop = op("loop", 0, 100, "user_annotation")
    trace = read(loop, op("a", 0, 20), op("bad", 10, 60), op("b", 30, 10), op("c", 60, 30), op("a", 95, 5))
    assert found(trace) == {"crossing": 2} and trace.findings[0].first == "event 2, 'bad'"
    assert [each.name for each in trace.events if each.wrong] == ["bad"]
    assert [(row.name, row.self_cpu) for row in op_table(trace)][::3] == [("c", 30_000), (WRONG, 50_000)]
    assert trace.measure("max(ops) == us(30) and count(ops) == 5") is True
    [outer] = trace.annotations
    assert outer.self_dur == int(trace.columns.self_dur[0]) == 45_000, "100 less a, c and a"
    alone = read(op("a", 0, 20), op("bad", 10, 5000))
    assert (whole_row(alone).span, alone.end) == (20_000, 20_000)


def test_ranges_and_calls_may_cross() -> None:
    """Real ones do: asynchronous ranges end on another thread (``hccl``), and fibers share a thread."""
    for first, second in (("cpu_op", "user_annotation"), ("cuda_runtime", "cuda_runtime")):
        trace = read(op("a", 0, 20, first), op("b", 10, 60, second))
        assert found(trace) == {"crossing": 1} and not trace.columns.wrong.any()
    both = read(
        op("r", 0, 9, "user_annotation"), op("s", 4, 9, "user_annotation"), op("a", 20, 9), op("b", 25, 9)
    )
    assert both.findings[0].first == "event 3, 'b'", "the one that is wrong, not the first that crosses"


# --- graphs -------------------------------------------------------------------------------------------------


def test_launches_recorded_into_a_graph() -> None:
    trace = second("graph_capture")
    assert found(trace) == {"recorded-in-graph": 2}
    assert summarize(trace).kernel_sum_ns == 14_000
    [launch] = [each for each in trace.calls if each.activities]
    assert launch.name == "cudaGraphLaunch" and [k.launch_delay for k in launch.activities] == [15_000, None]


@pytest.mark.parametrize("kept", [("EndCapture",), ("Instantiate",), (), ("BeginCapture",)])
def test_a_file_may_lack_the_begin_or_the_end_of_a_capture(kept: tuple[str, ...]) -> None:
    events = json.loads((SECOND / "graph_capture.json").read_text())["traceEvents"]
    marks = ("BeginCapture", "EndCapture", "Instantiate")
    left = [e for e in events if not any(m in e["name"] for m in marks) or any(m in e["name"] for m in kept)]
    assert found(read(*left)) == {"recorded-in-graph": 2}


def test_a_lost_record_is_not_in_a_graph() -> None:
    before = [call(0, 49), kernel(1, 1, 49), call(4, 50)]
    after = [call(200, 51), kernel(210, 1, 51), call(300, 52)]
    events = json.loads((SECOND / "graph_capture.json").read_text())["traceEvents"]
    for event in events:
        event["ts"] += 10
    trace = read(*events, *({**event, "pid": 9} for event in (*before, *after)))
    assert found(trace) == {"recorded-in-graph": 2, "lost-activity": 2}


def test_the_kernels_of_a_graph_share_one_launch() -> None:
    trace = second("graph_advice")
    assert np.count_nonzero(trace.columns.delay >= 0) == 1
    assert step_table(trace)[0].launch_delay == 90_000
