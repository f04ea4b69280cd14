"""A trace at a glance: parts that add up, and sentences that follow from them."""

from __future__ import annotations

import json
from typing import Any

from kinetoscope.draw.overview import overview, overview_html
from kinetoscope.draw.page import page_html
from kinetoscope.draw.table import Column, fitting, text_table
from kinetoscope.trace import Trace, loads


def event(cat: str, name: str, ts: int, dur: int, **args: Any) -> dict[str, Any]:
    gpu = cat in ("kernel", "gpu_memcpy")
    place = {"pid": 0, "tid": 7} if gpu else {"pid": 1, "tid": 1}
    args |= {"stream": 7, "device": 0} if gpu else {}
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "args": args, **place}


def made(*events: dict[str, Any]) -> Trace:
    return loads(json.dumps({"traceEvents": events}).encode(), "made")


def test_parts_add_up_and_the_largest_cause_has_a_sentence() -> None:
    trace = made(
        event("cpu_op", "aten::mm", 0, 100),
        event("cuda_runtime", "cudaLaunchKernel", 60, 10, correlation=1),
        event("kernel", "gemm", 80, 20, correlation=1),
    )
    seen = overview(trace)
    assert sum(part.ns for part in seen.parts) == seen.span == 100_000
    assert [(part.busy, part.ns) for part in seen.parts] == [
        (True, 20_000),
        (False, 60_000),
        (False, 20_000),
    ]
    assert any(note.startswith("For 20 % (20.0 µs) of the trace, the GPU waited") for note in seen.notes)
    assert [row.name for row in seen.top] == ["gemm"]
    html = overview_html(seen, trace="trace/made")
    assert 'data-events="2"' in html and "60 %" in html


def test_a_step_that_launched_nothing_is_not_looked_at() -> None:
    step = event("user_annotation", "ProfilerStep#1", 0, 100)
    call = event("cuda_runtime", "cudaLaunchKernel", 60, 10, correlation=1)
    kernel = event("kernel", "gemm", 80, 20, correlation=1)
    empty = event("user_annotation", "ProfilerStep#2", 100, 10)
    assert overview(made(step, call, kernel, empty)).scope == "step 1, the only one of 2 that launched work"
    assert overview(made(step, empty)).scope == "step 2, of median length among 2"


def test_work_that_an_earlier_step_left_in_the_queue_is_apart() -> None:
    steps = [event("user_annotation", f"ProfilerStep#{n}", 10 * n, 10) for n in range(3)]
    calls = [event("cuda_runtime", "cudaLaunchKernel", 10 * n + 5, 2, correlation=n + 1) for n in range(3)]
    work = [event("kernel", "k", 10 + 100 * n, 100, correlation=n + 1) for n in range(3)]
    seen = overview(made(*steps, *calls, *work))
    assert seen.scope.startswith("step 1") and sum(part.ns for part in seen.parts) == seen.span == 200_000
    assert [(part.busy, part.ns) for part in seen.parts] == [(True, 100_000), (True, 100_000)]


def test_names_in_sentences_are_short_and_escaped() -> None:
    name = "void <script>" + "x" * 200 + "(int)"
    calls = [event("cuda_runtime", "cudaLaunchKernel", k, 1, correlation=k + 1) for k in range(2)]
    work = [event("kernel", name, 5 + 50 * k, 50, correlation=k + 1) for k in range(2)]
    seen = overview(made(*calls, *work))
    (note,) = (note for note in seen.notes if note.startswith("On the GPU"))
    assert len(note) < 150 and "<script>" not in overview_html(seen, trace="trace/made")


def test_without_a_gpu_it_tells_of_the_cpu_and_of_what_it_does_not_know() -> None:
    # The queue between two threads of Ascend's is known, and of no kind.
    foreign = [event("npu_kernel", "MatMul", 10 * k, 5) for k in range(7)] + [event("enqueue", "q", 90, 1)]
    seen = overview(made(event("cpu_op", "aten::mm", 0, 100), *foreign))
    assert not seen.parts and [row.name for row in seen.top] == ["aten::mm"]
    (note,) = seen.notes
    assert note.startswith("7 events are of a category that is not known here")
    (note,) = overview(made(event("cpu_op", "aten::mm", 0, 100))).notes
    assert note.startswith("There is no GPU activity")
    launched = made(event("cuda_runtime", "cudaLaunchKernel", 0, 5, correlation=1))
    assert "ProfilerActivity.CUDA" in overview(launched).notes[0]


def test_a_page_names_the_gpu_that_did_something() -> None:
    def lead(gpus: dict[int, str], *events: dict[str, Any]) -> str:
        properties = [{"id": number, "name": name} for number, name in gpus.items()]
        data = {"deviceProperties": properties, "traceEvents": events}
        page = page_html(loads(json.dumps(data).encode(), "made"), name="x")
        return page.split('<p class="ks-lead">')[1].split("</p>")[0]

    kernel = event("kernel", "k", 0, 10)
    assert lead({0: "A", 1: "B"}, kernel) == "10.0 µs on A"
    # A rank of ROCm's lists its GPU as 0, and its kernels ran on GPU 2.
    assert lead({1: "A"}, kernel) == "10.0 µs on A"
    assert lead({}, kernel) == "10.0 µs; the trace names no device"
    alone = lead({0: "A", 1: "A"}, event("cpu_op", "aten::mm", 0, 10))
    assert alone == "10.0 µs; the file names A, and shows no work of it"


def test_annotations_have_no_gpu_time_of_other_threads_and_say_so() -> None:
    ahead = event("user_annotation", "train", 0, 100)
    call = event("cuda_runtime", "cudaLaunchKernel", 10, 5, correlation=1)
    behind = event("cuda_runtime", "cudaLaunchKernel", 50, 5, correlation=2) | {"tid": 2}
    work = [event("kernel", "k", 20, 10, correlation=1), event("kernel", "k", 60, 10, correlation=2)]
    says = "GPU time is what its own thread launched"
    assert says in page_html(made(ahead, call, behind, *work), name="x")
    assert says not in page_html(made(ahead, call, *work), name="x")


def test_columns_that_do_not_fit_are_left_out_before_names_are_cut_short() -> None:
    columns = [Column("name", "name"), *(Column(key, key, "count") for key in ("calls", "least", "most"))]
    rows = [{"name": "a_name_of_thirty_letters_and_on", "calls": 12345, "least": 12345, "most": 12345}]
    assert [column.key for column in fitting(columns, rows, 80)] == ["name", "calls", "least", "most"]
    kept = fitting(columns, rows, 36)
    assert [column.key for column in kept] == ["name", "calls", "least"]
    lines = text_table(kept, rows, width=36).splitlines()
    assert lines[2].startswith("a_name_of_thirty_") and all(len(line) <= 36 for line in lines)


def test_to_see_what_fits_reads_each_cell_once() -> None:
    """There may be 100,000 rows, and ten columns that go one after the other."""
    read: list[str] = []

    class Row(dict[str, int]):
        def __getitem__(self, key: str) -> int:
            read.append(key)
            return 10**9

    columns = [Column("name", "name"), *(Column(key, key, "count") for key in "abcdef")]
    assert len(fitting(columns, [Row()], 24)) < 5
    assert sorted(read) == [*"abcdef", "name"]
