"""Nesting, links and steps."""

from __future__ import annotations

import ast
import tracemalloc
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kinetoscope.trace
from kinetoscope.measure.device import device_times, in_its_like
from kinetoscope.trace import Kind
from kinetoscope.trace.columns import CODE
from kinetoscope.trace.nest import parents_at_once, parents_in_turn

if TYPE_CHECKING:
    from conftest import Made, Named, Small


def test_a_child_may_outlive_its_parent_by_rounding(small: Small, named: Named) -> None:
    trace = small("19")
    assert named(trace, "child").parent is named(trace, "parent")
    assert trace.steps[0].event.self_dur == 80_000
    assert named(trace, "parent").self_dur == 4_000


def test_events_that_overlap_are_siblings(made: Made, named: Named) -> None:
    trace = made({"name": "a", "ts": 0, "dur": 10}, {"name": "b", "ts": 5, "dur": 10})
    assert named(trace, "b").parent is None


@pytest.mark.parametrize(("ts", "dur", "inside"), [(10, 0, True), (10, 1, False), (0, 10, True)])
def test_what_begins_at_an_edge(made: Made, named: Named, ts: int, dur: int, inside: bool) -> None:
    trace = made({"name": "a", "ts": 0, "dur": 10}, {"name": "b", "ts": ts, "dur": dur})
    assert (named(trace, "b").parent is named(trace, "a")) is inside


def test_of_two_equal_ranges_the_call_is_inside(made: Made, named: Named) -> None:
    trace = made(
        {"name": "call", "cat": "cuda_runtime", "ts": 0, "dur": 10}, {"name": "op", "ts": 0, "dur": 10}
    )
    assert named(trace, "call").parent is named(trace, "op")


def test_threads_and_python_frames_do_not_nest_into_each_other(made: Made, named: Named) -> None:
    trace = made(
        {"name": "frame", "cat": "python_function", "ts": 1, "dur": 3},
        {"name": "inner frame", "cat": "python_function", "ts": 2, "dur": 1},
        {"name": "op", "ts": 0, "dur": 10},
        {"name": "inner", "ts": 2, "dur": 1},
        {"name": "elsewhere", "tid": 2, "ts": 2, "dur": 1},
    )
    assert named(trace, "inner").parent is named(trace, "op")
    assert named(trace, "inner frame").parent is named(trace, "frame")
    assert named(trace, "frame").parent is None
    assert named(trace, "elsewhere").parent is None


def test_unclosed_frames_swallow_no_op_and_no_frame(small: Small) -> None:
    trace = small("17")
    assert [op.parent for op in trace.ops] == [None] * 3
    assert [op.self_dur for op in trace.ops] == [6000] * 3
    frames = trace.of(Kind.PYTHON)
    assert [(frame.parent, frame.self_dur, frame.unfinished) for frame in frames] == [(None, 0, True)] * 3
    assert [frame.dur for frame in frames] == [10_000, 10_000, 980_000]
    assert [(finding.code, finding.count) for finding in trace.findings] == [("unfinished", 3)]


def test_callers_that_are_open_when_the_profiler_stops_are_no_fault(made: Made, named: Named) -> None:
    def frame(name: str, ts: int, number: int, parent: int | None) -> dict[str, Any]:
        args = {"Python id": number, "Python parent id": parent}
        return {"name": name, "cat": "python_function", "ts": ts, "dur": 100 - ts, "args": args}

    trace = made(frame("main", 0, 1, None), frame("run", 10, 2, 1), frame("inner", 20, 3, 2))
    assert trace.findings == []
    assert named(trace, "inner").parent is named(trace, "run")
    missed = made(frame("main", 0, 1, None), frame("c", 10, 2, 1), frame("next", 20, 3, 1))
    assert [each.code for each in missed.findings] == ["unfinished"]
    assert (named(missed, "c").dur, named(missed, "c").unfinished) == (10_000, True)
    assert named(missed, "next").parent is named(missed, "main")
    assert not named(missed, "main").unfinished


def test_one_graph_launch_owns_all_its_kernels(small: Small) -> None:
    trace = small("24")
    [launch] = [call for call in trace.calls if call.activities]
    assert len(launch.activities) == 5
    assert launch.activities == sorted(launch.activities, key=lambda kernel: kernel.start)


def test_a_kernel_without_a_launch_stays(small: Small) -> None:
    trace = small("25")
    assert [kernel.launch is None for kernel in trace.kernels].count(True) == 1
    assert sum(kernel.dur for kernel in trace.kernels) == 50_000


def test_merged_ranks_do_not_cross(small: Small) -> None:
    links = {kernel.name: kernel.launch.lane.pid for kernel in small("27").kernels if kernel.launch}
    assert links == {"toy_gemm_64x64_rank0": 100, "toy_gemm_64x64_rank1": 101}


@pytest.mark.parametrize("number", ["12", "28"])
def test_the_op_of_a_kernel(small: Small, number: str) -> None:
    [kernel] = small(number).kernels
    assert kernel.op is not None
    assert kernel.op.name == "aten::addmm"


def test_launches_are_linked_whatever_their_name(small: Small) -> None:
    assert sum(kernel.launch is not None for kernel in small("42").kernels) == 5


def test_an_external_id_that_repeats_the_correlation_names_no_op(made: Made, named: Named) -> None:
    trace = made(
        {"name": "op", "ts": 0, "dur": 10, "args": {"External id": 7}},
        {"name": "call", "cat": "cuda_runtime", "tid": 2, "ts": 1, "dur": 1}
        | {"args": {"External id": 7, "correlation": 7}},
    )
    assert named(trace, "call").op is None


def test_steps_hold_what_was_launched_inside_them(made: Made) -> None:
    step: dict[str, Any] = {"cat": "user_annotation"}
    gpu: dict[str, Any] = {"cat": "kernel", "pid": 0, "tid": 7}
    call: dict[str, Any] = {"cat": "cuda_runtime"}
    trace = made(
        {"name": "ProfilerStep#1", "ts": 0, "dur": 10, **step},
        {"name": "ProfilerStep#2", "ts": 10, "dur": 10, **step},
        {"name": "ProfilerStep#1", "ts": 12, "dur": 9, "cat": "gpu_user_annotation", "pid": 0, "tid": 7},
        {"name": "op", "ts": 2, "dur": 5},
        {"name": "other thread", "tid": 2, "ts": 3, "dur": 5},
        {"name": "launch", "ts": 3, "dur": 1, "args": {"correlation": 1}, **call},
        {"name": "late", "ts": 12, "dur": 9, "args": {"correlation": 1}, **gpu},
        {"name": "orphan", "ts": 13, "dur": 1, "args": {"correlation": 2}, **gpu},
    )
    first, second = trace.steps
    assert [event.name for event in first.cpu] == ["op", "other thread"]
    assert [event.name for event in first.gpu] == ["late"]
    assert [event.name for event in second.gpu] == ["orphan"]
    assert (first.start, first.end, second.end) == (0, 21_000, 20_000)
    assert trace.kernels[0].launch_delay == 9_000


def test_steps_of_2021_are_annotations(made: Made) -> None:
    trace = made({"name": "ProfilerStep#3", "cat": "Operator", "ts": 0, "dur": 10})
    assert [event.kind for event in trace.events] == [Kind.ANNOTATION]
    assert trace.steps[0].number == 3


def test_an_event_is_a_view_that_takes_little_memory(made: Made) -> None:
    """A picture of a whole trace looks at every event, of which there may be a million."""
    trace = made(*({"name": "a", "ts": n, "dur": 1} for n in range(10_000)))
    tracemalloc.start()
    sum(event.dur + len(event.children) + len(event.activities) for event in trace.events)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150 * len(trace.events)
    assert trace.events[7] is trace.events[7] and trace.events[7].args is trace.events[7].args


_RANGES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=12)


@given(_RANGES)
def test_nesting_invariants(made: Made, ranges: list[tuple[int, int]]) -> None:
    """A child begins inside its parent and ends at most 1 µs after it; parents and children agree."""
    trace = made(*({"name": str(n), "ts": ts, "dur": dur} for n, (ts, dur) in enumerate(ranges)))
    for event in trace.events:
        assert event.self_dur >= 0
        assert all(child.parent is event for child in event.children)
        if event.parent is not None:
            assert event.parent.start <= event.start <= event.parent.end
            assert event.end <= event.parent.end + 1000
            assert event in event.parent.children


_CLOSE = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4)), min_size=1, max_size=12)


@given(_CLOSE, st.sampled_from([1, 500, 1000]))
def test_all_at_once_or_in_turn(ranges: list[tuple[int, int]], unit: int) -> None:
    """The two ways to nest agree; and what overlaps is left to the one that can tell which."""
    ranges = sorted(((ts * unit, dur * unit) for ts, dur in ranges), key=lambda each: (each[0], -each[1]))
    starts, ends = [ts for ts, _ in ranges], [ts + dur for ts, dur in ranges]
    parents, crossing = parents_in_turn(starts, ends)
    outer = parents_at_once(np.array(starts), np.array(ends))
    assert (outer is None) == bool(crossing)
    assert outer is None or outer.tolist() == parents


_NAMED_RANGES = st.lists(
    st.fixed_dictionaries(
        {
            "ts": st.integers(0, 12),
            "dur": st.integers(0, 12),
            "name": st.sampled_from("ab"),
            "tid": st.sampled_from([1, 2]),
            "cat": st.sampled_from(
                ["cpu_op", "cuda_runtime", "user_annotation", "python_function", "kernel"]
            ),
        }
    ),
    min_size=1,
    max_size=14,
)


@given(_NAMED_RANGES)
def test_what_is_below_an_event_and_around_it(made: Made, ranges: list[dict[str, Any]]) -> None:
    """The same as by walking from one event to the next."""
    trace = made(*ranges)
    columns, at = trace.columns, {id(event): n for n, event in enumerate(trace.events)}
    like = {
        n: is_in
        for kind in Kind
        for n, is_in in zip(
            columns.where(kind).tolist(), in_its_like(columns, columns.where(kind)), strict=True
        )
    }
    nested = set(columns.nested.tolist())
    total = columns.sum_below(columns.dur)
    annotation = columns.innermost(columns.kind == CODE[Kind.ANNOTATION])
    for n, event in enumerate(trace.events):
        below = [at[id(each)] for each in event.walk()] if n in nested else []
        assert columns.nested[columns.first[n] : columns.behind[n]].tolist() == below
        assert total[n] == sum(trace.events[each].dur for each in below)
        around = [event]
        while around[-1].parent is not None:
            around.append(around[-1].parent)
        annotations = [at[id(each)] for each in around if each.kind is Kind.ANNOTATION]
        assert annotation[n] == (annotations or [-1])[0]
        assert columns.op[n] == ([at[id(each)] for each in around if each.kind is Kind.OP] or [-1])[0]
        assert like[n] == any((each.name, each.kind) == (event.name, event.kind) for each in around[1:])
    tops = columns.nested[:3].astype(np.intp)
    inside = {
        n for top in tops.tolist() for n in columns.nested[columns.first[top] : columns.behind[top]].tolist()
    }
    assert columns.with_all_below(tops, 0).tolist() == sorted(inside | {0})


def test_a_stack_of_calls_that_is_very_deep(made: Made) -> None:
    """No limit of depth, and no recursion."""
    deep = 3000
    trace = made(
        *({"name": "op", "ts": n, "dur": 3 * deep - 2 * n} for n in range(deep)),
        {"name": "launch", "cat": "cuda_runtime", "ts": deep, "dur": 1, "args": {"correlation": 1}},
        {
            "name": "k",
            "cat": "kernel",
            "pid": 0,
            "tid": 7,
            "ts": 4 * deep,
            "dur": 5,
            "args": {"correlation": 1},
        },
    )
    columns = trace.columns
    own, total = device_times(columns, np.flatnonzero(columns.on_gpu))
    assert own.tolist() == [*([0] * (deep - 1)), 5000, 0, 0]
    assert total.tolist() == [*([5000] * deep), 0, 0]
    assert in_its_like(columns, columns.where(Kind.OP)).tolist() == [False, *([True] * (deep - 1))]


@pytest.mark.parametrize(
    ("name", "is_fast"), [("a tree", True), ("deep, and then a row", False), ("a deep one alone", True)]
)
def test_a_thread_that_would_take_long_at_once_is_nested_in_turn(name: str, is_fast: bool) -> None:
    deep = [(n, 9000 - n) for n in range(4000)]
    ranges = {
        "a tree": [pair for n in range(1000) for pair in ((9 * n, 9 * n + 9), (9 * n + 1, 9 * n + 2))],
        "deep, and then a row": [*deep, *((9001 + n, 9002 + n) for n in range(4000))],
        "a deep one alone": deep,
    }[name]
    starts, ends = map(list, zip(*ranges, strict=True))
    outer = parents_at_once(np.array(starts), np.array(ends))
    parents, crossing = parents_in_turn(starts, ends)
    assert not crossing
    assert (outer is not None) == is_fast
    assert outer is None or outer.tolist() == parents


# --- the room -----------------------------------------------------------------------------------------------


def test_no_module_of_the_room_needs_itself() -> None:
    """Imports form no circle; those that only types need count too."""
    imports: dict[str, set[str]] = {}
    for path in Path(kinetoscope.trace.__file__).parent.glob("[!_]*.py"):
        nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        modules = [(node.module or "").removeprefix("kinetoscope.trace.") for node in nodes]
        imports[path.stem] = {module for module in modules if path.with_stem(module).exists()}
    assert len(imports) > 10 and imports["load"] and "columns" in imports["events"]
    # CycleError names the circle
    order = list(TopologicalSorter(imports).static_order())
    assert order.index("fields") < order.index("columns") < order.index("events") < order.index("load")
