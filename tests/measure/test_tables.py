"""Tables by op, kernel, copy and call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kinetoscope.measure.tables import (
    NO_LAUNCH,
    NO_OP,
    annotation_table,
    call_table,
    copy_table,
    kernel_table,
    op_table,
)
from kinetoscope.trace import Kind, load, loads

if TYPE_CHECKING:
    from conftest import Read

NAMES = ["geglu_eager", "geglu_cudagraph", "matmul_add_4096_compiled", "linear_1024_32_64_eager"]


def test_kernel_rows(sample: Read) -> None:
    rows = kernel_table(sample("geglu_eager"))
    assert sum(row.calls for row in rows) == 15
    assert sum(row.device for row in rows) == 693_179
    assert sum(row.share for row in rows) == pytest.approx(1)
    assert [row.device for row in rows] == sorted((row.device for row in rows), reverse=True)
    for row in rows:
        durations = sorted(event.dur for event in row.events)
        assert (row.min, row.max, row.calls) == (durations[0], durations[-1], len(durations))
        assert row.mean == pytest.approx(sum(durations) / len(durations))
        assert row.device == row.self_device == sum(durations)
        assert row.cpu == row.self_cpu == 0
        assert all(name.startswith("aten::") for name in row.launched_by)


def test_the_median_is_of_the_events(sample: Read) -> None:
    [row] = kernel_table(sample("linear_1024_32_64_eager"))
    assert (row.median, row.min, row.max) == (2720, 2720, 2753)


@pytest.mark.parametrize("name", NAMES)
def test_steps_add_up_to_the_trace(sample: Read, name: str) -> None:
    trace = sample(name)
    for table in (op_table, kernel_table, copy_table):
        whole = {
            row.name: (row.calls, row.self_cpu, row.cpu, row.self_device, row.device) for row in table(trace)
        }
        summed: dict[str, tuple[int, ...]] = {}
        for step in trace.steps_at:
            for row in table(trace, step):
                got = (row.calls, row.self_cpu, row.cpu, row.self_device, row.device)
                before = summed.get(row.name, (0,) * 5)
                summed[row.name] = tuple(a + b for a, b in zip(before, got, strict=True))
        assert summed == whole


def test_copies_are_no_kernels(sample: Read) -> None:
    trace = sample("matmul_add_4096_compiled")
    assert {row.kind for row in kernel_table(trace)} == {Kind.KERNEL}
    assert {row.name.split()[0] for row in copy_table(trace)} == {"Memcpy", "Memset"}


def test_ops_and_their_device_time(small: Read) -> None:
    rows = {row.name: row for row in op_table(small("22"))}
    assert (rows["aten::addmm"].self_device, rows["aten::addmm"].device) == (40_000, 40_000)
    assert (rows["aten::linear"].self_device, rows["aten::linear"].device) == (0, 40_000)
    assert sum(row.share for row in rows.values()) == pytest.approx(1)


def test_gpu_annotations_are_in_no_sum(small: Read) -> None:
    assert sum(row.device for row in kernel_table(small("20"))) == 25_000
    steps = small("21")
    assert sum(row.device for row in kernel_table(steps)) == 120_000
    [row] = annotation_table(steps)
    assert (row.name, row.calls, row.device) == ("ProfilerStep*", 2, 120_000)


def test_a_kernel_says_who_launched_it(small: Read) -> None:
    assert {name for row in kernel_table(small("25")) for name in row.launched_by} >= {NO_LAUNCH}
    assert {name for row in kernel_table(small("24")) for name in row.launched_by} == {NO_OP}
    assert [row.launched_by for row in kernel_table(small("28"))] == [("aten::addmm",)]


def test_calls_count_what_they_started(small: Read) -> None:
    [row] = [row for row in call_table(small("24")) if row.device]
    assert (row.name, row.calls, row.device, row.self_device) == ("cudaGraphLaunch", 1, 50_000, 0)


def test_tables_of_nothing_are_empty(small: Read) -> None:
    for number in ("31", "10"):
        trace = small(number)
        assert kernel_table(trace) == copy_table(trace) == []
    assert op_table(small("32")) == []


def test_a_driver_call_inside_a_runtime_call_belongs_to_the_op() -> None:
    names = [("op", "cpu_op", 0, 9), ("cudaLaunch", "cuda_runtime", 1, 5), ("cuLaunch", "cuda_driver", 2, 3)]
    events = [
        {"ph": "X", "name": name, "cat": cat, "pid": 1, "tid": 1, "ts": ts, "dur": dur}
        for name, cat, ts, dur in names
    ]
    events[2]["args"] = {"correlation": 5}
    kernel = {"ph": "X", "name": "k", "cat": "kernel", "pid": 0, "tid": 7, "ts": 20, "dur": 4}
    trace = loads(json.dumps([*events, {**kernel, "args": {"correlation": 5}}]).encode(), "made.json")
    [row] = op_table(trace)
    assert (row.self_device, row.device, row.self_cpu) == (4_000, 4_000, 4_000)


def test_an_op_inside_its_like_is_counted_and_not_summed_twice() -> None:
    """`x.sum()` calls `aten::sum` inside `aten::sum`; another op may lie between the two, or beside."""
    cpu = {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1}
    launch = {"ph": "X", "cat": "cuda_runtime", "pid": 1, "tid": 1, "name": "launch", "dur": 1}
    kernel = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "dur": 3}
    events = [
        {**cpu, "name": "sum", "ts": 0, "dur": 100},
        {**cpu, "name": "view", "ts": 5, "dur": 80},
        {**cpu, "name": "sum", "ts": 10, "dur": 60},
        {**launch, "ts": 20, "args": {"correlation": 1}},
        {**kernel, "ts": 30, "args": {"correlation": 1, "stream": 7, "device": 0}},
        {**cpu, "name": "sum", "ts": 75, "dur": 1},
        {**cpu, "name": "sum", "ts": 200, "dur": 10},
        {**cpu, "name": "sum", "tid": 2, "ts": 210, "dur": 7},
    ]
    trace = loads(json.dumps(events).encode(), "t")
    rows = {row.name: row for row in op_table(trace)}
    sums = rows["sum"]
    assert (sums.calls, sums.cpu, sums.self_cpu) == (5, 117_000, 97_000)
    assert (sums.device, sums.self_device) == (3000, 3000)
    assert (sums.max, sums.min, sums.mean) == (100_000, 1_000, 178_000 / 5)
    assert (rows["view"].cpu, rows["view"].self_cpu, rows["view"].device) == (80_000, 19_000, 3000)


def test_an_annotation_is_a_row_under_its_whole_name() -> None:
    trace = load(Path(__file__).parents[1] / "data" / "small" / "second" / "annotation_names.json")
    rows = annotation_table(trace)
    names = [
        "execute_context_1(512)_generation_3(3)",
        "execute_context_0(0)_generation_4(4)",
        "execute_context_2(900)_generation_4(4)",
        "FSDP::all_gather (layers.0)",
        "FSDP::all_gather (layers.1)",
    ]
    assert {row.name: row.device for row in rows} == {
        name: 10_000 * number for number, name in enumerate(names, 1)
    }
