"""What the GPU waited for: every cause in a trace made by hand, and sums that are exact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.measure.idle_time import CAUSES, _Waits, find_gaps, launch_delays
from kinetoscope.measure.intervals import busy
from kinetoscope.measure.steps import step_table, whole_row

from .made import Made, busy_between

if TYPE_CHECKING:
    from conftest import Read

    from kinetoscope.trace import Trace


def idle(made: Made, number: int = 0) -> dict[str, int]:
    """µs by cause in one step, without those of 0."""
    summary = step_table(made.trace())[number]
    idle = {cause: getattr(summary, f"idle_{cause}") // 1000 for cause in CAUSES}
    assert sum(idle.values()) * 1000 == summary.idle
    return {cause: time for cause, time in idle.items() if time}


def test_before_the_first_launch_is_the_cpus_and_after_the_last_activity_is_the_end() -> None:
    assert idle(Made().step(1, 0, 100).launch((40, 46), (50, 60))) == {"cpu": 40, "launch": 10, "end": 40}


def test_the_call_had_not_begun_when_the_gap_did() -> None:
    made = Made().step(1, 0, 100).launch((0, 5), (8, 20)).launch((30, 35), (38, 100))
    assert idle(made) == {"launch": 8 + 8, "cpu": 10}


def test_the_call_was_running_when_the_gap_began() -> None:
    made = Made().step(1, 0, 40).launch((0, 5), (8, 20)).launch((15, 25), (28, 40))
    assert idle(made) == {"launch": 8 + 8}


def test_what_was_in_the_queue_waits_for_nobody() -> None:
    made = Made().step(1, 0, 50).launch((0, 5), (8, 20)).launch((6, 11), (21, 50))
    assert idle(made) == {"launch": 8, "queued": 1}


def test_an_idle_gpu_that_begins_long_after_the_call_was_held_back_by_something_else() -> None:
    made = Made().step(1, 0, 400).launch((20, 25), (125, 130)).launch((140, 145), (246, 400))
    assert idle(made) == {"cpu": 20 + 10, "launch": 105, "queued": 106}


def test_of_a_graph_only_the_first_waits_for_its_launch() -> None:
    graph = Made().step(1, 0, 50).launch((0, 30), (10, 14), (16, 20), (21, 50), name="cudaGraphLaunch")
    assert idle(graph) == {"launch": 10, "queued": 3}
    assert launch_delays(graph.trace().gpu) == [10_000]


@pytest.mark.parametrize("name", ["cudaDeviceSynchronize", "cudaStreamSynchronize", "hipDeviceSynchronize"])
def test_a_call_in_which_the_stream_ran_dry_is_a_sync_up_to_its_return(name: str) -> None:
    made = Made().step(1, 0, 80).launch((0, 5), (8, 30)).call(name, 6, 34).launch((40, 45), (50, 80))
    assert idle(made) == {"launch": 8 + 10, "sync": 4, "cpu": 6}


def test_the_length_of_a_sync_does_not_matter_only_what_is_after_the_gaps_begin() -> None:
    long = Made().step(1, 0, 80).launch((0, 5), (8, 70)).call("cudaDeviceSynchronize", 6, 72)
    assert idle(long) == {"launch": 8, "sync": 2, "end": 8}


def test_a_sync_that_found_the_stream_dry_is_the_cpus() -> None:
    made = Made().step(1, 0, 60).launch((0, 5), (8, 10)).call("cudaDeviceSynchronize", 20, 25)
    assert idle(made.launch((30, 35), (38, 60))) == {"launch": 8 + 8, "cpu": 20}


def test_a_sync_before_anything_was_launched_is_the_cpus() -> None:
    made = Made().step(1, 0, 40).call("cudaDeviceSynchronize", 0, 6).launch((10, 14), (20, 40))
    assert idle(made) == {"cpu": 10, "launch": 10}


def test_of_two_that_start_together_the_one_launched_first_ends_the_gap() -> None:
    made = Made().step(1, 0, 60).launch((0, 5), (8, 20)).launch((26, 29), (30, 60), stream=9)
    assert idle(made.launch((22, 25), (30, 50))) == {"launch": 8 + 8, "cpu": 2}


@pytest.mark.parametrize(
    "name",
    [
        "cudaStreamIsCapturing",
        "cudaEventQuery",
        "cudaStreamWaitEvent",
        "cudaLaunchKernel",
        "cuModuleLoadData",
    ],
)
def test_a_call_that_returns_at_once_is_no_sync(name: str) -> None:
    made = Made().step(1, 0, 80).launch((0, 5), (8, 30)).call(name, 28, 34).launch((40, 45), (50, 80))
    assert idle(made) == {"launch": 8 + 10, "cpu": 10}


def test_a_launch_that_returns_after_its_kernel_is_no_sync() -> None:
    made = Made().step(1, 0, 40).launch((0, 20), (8, 10)).launch((25, 30), (33, 40))
    assert idle(made) == {"launch": 8 + 8, "cpu": 15}


def test_a_copy_to_the_host_is_a_sync_from_its_end_to_the_calls_return() -> None:
    copy = ("Memcpy DtoH (Device -> Pageable)", "gpu_memcpy")
    made = Made().step(1, 0, 60).launch((0, 20), (8, 15), name="cudaMemcpy", what=copy)
    assert idle(made.launch((30, 35), (40, 60))) == {"launch": 8 + 10, "sync": 5, "cpu": 10}
    inside = ("Memcpy DtoD (Device -> Device)", "gpu_memcpy")
    made = Made().step(1, 0, 60).launch((0, 20), (8, 15), name="cudaMemcpyAsync", what=inside)
    assert idle(made.launch((30, 35), (40, 60))) == {"launch": 8 + 10, "cpu": 15}


@pytest.mark.parametrize("between", [(), ("aten::copy_", "cpu_op", 9, 13)])
def test_a_call_that_holds_the_call_of_a_launch_is_no_sync(between: tuple[Any, ...]) -> None:
    """A runtime call may launch by a driver call inside it, even if an op lies between the two."""
    made = Made().step(1, 0, 80).launch((0, 5), (8, 30)).call("cudaMemcpy", 6, 34)
    assert idle(made.launch((40, 45), (50, 80))) == {"launch": 18, "sync": 4, "cpu": 6}
    if between:
        made._add(*between)
    assert idle(made.launch((10, 12), (14, 28), stream=9)) == {"launch": 18, "cpu": 10}


def test_a_sync_of_another_thread_counts_unless_the_launch_did_not_wait_for_it() -> None:
    def made(returned: int) -> Made:
        first = Made().step(1, 0, 80).launch((0, 5), (8, 30)).call("cudaDeviceSynchronize", 6, returned)
        return first.launch((40, 45), (50, 80), thread=2)

    assert idle(made(34)) == {"launch": 18, "sync": 4, "cpu": 6}
    assert idle(made(60)) == {"launch": 18, "cpu": 10}


def test_a_sync_of_another_process_is_none() -> None:
    made = Made().step(1, 0, 80).launch((0, 5), (8, 30)).call("cudaDeviceSynchronize", 6, 34, pid=2)
    assert idle(made.launch((40, 45), (50, 80))) == {"launch": 18, "cpu": 10}


def test_an_activity_whose_launch_is_not_in_the_file() -> None:
    assert idle(Made().step(1, 0, 60).launch((0, 5), (8, 20)).activity(30, 60)) == {
        "launch": 8,
        "unknown": 10,
    }


def test_a_step_that_launched_nothing_is_idle_to_its_end() -> None:
    made = Made().step(1, 0, 50).step(2, 50, 90).launch((60, 65), (70, 90))
    assert idle(made, 0) == {"end": 50}
    assert idle(made, 1) == {"cpu": 10, "launch": 10}


def test_work_of_the_step_before_is_no_idle_time() -> None:
    made = Made().step(1, 0, 20).step(2, 20, 60).launch((0, 5), (8, 40)).launch((25, 30), (41, 60))
    assert idle(made, 1) == {"queued": 1}


def test_a_gap_across_the_begin_of_a_step_is_told_by_where_it_began() -> None:
    """The call had returned before the step began, but not before the gap did: nothing was in the queue."""
    made = Made().step(1, 0, 20).step(2, 20, 60).launch((0, 5), (8, 12)).launch((11, 18), (24, 60))
    assert idle(made, 1) == {"launch": 4}


def test_before_a_kernel_that_starts_before_its_launch_the_cause_is_unknown() -> None:
    """Two clocks: what one says about the other can't be right."""
    made = Made().step(1, 0, 60).launch((0, 5), (8, 20)).launch((31, 35), (30, 60))
    assert idle(made) == {"launch": 8, "unknown": 10}


def test_two_streams_have_one_timeline() -> None:
    made = Made().step(1, 0, 60).launch((0, 5), (8, 30)).launch((6, 9), (12, 20), stream=9)
    assert idle(made.launch((10, 15), (35, 60), stream=9)) == {"launch": 8, "queued": 5}


TIMES = st.integers(0, 60)
RANGES = st.tuples(TIMES, st.integers(0, 12))


@st.composite
def any_trace(draw: st.DrawFn) -> Trace:
    """Calls, waits and activities anywhere, even before their launch; steps of any length, or none."""
    made = Made().call("cudaGetDeviceCount", 0, 0)
    for start, dur in draw(st.lists(RANGES, max_size=6)):
        begun = [(at, at + length) for at, length in draw(st.lists(RANGES, max_size=3))]
        stream, thread = draw(st.sampled_from([7, 9])), draw(st.sampled_from([1, 2]))
        made.launch((start, start + dur), *begun, stream=stream, thread=thread)
    for start, dur in draw(st.lists(RANGES, max_size=4)):
        made.call("cudaDeviceSynchronize", start, start + dur, thread=3)
    for start, dur in draw(st.lists(RANGES, max_size=2)):
        made.activity(start, start + dur)
    at = 0
    for number, length in enumerate(draw(st.lists(st.integers(1, 30), max_size=3))):
        made.step(number, at, at + length)
        at += length
    return made.trace()


WAITS = st.lists(st.tuples(TIMES, st.integers(0, 60), st.integers(0, 2)), max_size=12)


@given(WAITS, WAITS)
def test_the_last_return_is_that_of_looking_at_every_wait(
    waits: list[tuple[int, int, int]], asked: list[tuple[int, int, int]]
) -> None:
    begin, length, process = np.array(waits, np.int64).reshape(-1, 3).T
    at, more, number = np.array(sorted(asked), np.int64).reshape(-1, 3).T
    returns = _Waits(begin, begin + length, process).last_returns(at, at + more, number)
    assert returns == [
        max([s, *(b + dur for b, dur, q in waits if q == p and b < s < b + dur <= s + room)])
        for s, room, p in sorted(asked)
    ]


@given(any_trace())
def test_the_causes_add_up_to_the_idle_time_exactly(trace: Trace) -> None:
    for row in step_table(trace) or [whole_row(trace)]:
        parts = [getattr(row, f"idle_{cause}") for cause in CAUSES]
        assert sum(parts) == row.idle
        assert min(parts) >= 0
        assert row.gpu_busy + row.idle == row.span
        start = row.events[0].start
        gpu = [event for event in trace.gpu if not event.wrong]
        assert row.gpu_busy == busy_between(gpu, start, start + row.span)
        own = [event for event in row.events if event.kind.on_gpu]
        assert row.busy == busy(event for event in own if not event.wrong)
        assert row.launches == len({id(event.launch) for event in own if event.launch is not None})
        assert row.start == start
        computing = [event for event in gpu if "HtoD" not in event.name and "DtoH" not in event.name]
        assert row.computing == busy_between(computing, start, start + row.span)
        assert row.communicating == 0 <= row.lead <= row.idle_cpu + row.idle_end


@given(any_trace(), TIMES, TIMES)
def test_they_do_between_any_two_times(trace: Trace, one: int, other: int) -> None:
    start, end = sorted((one * 1000, other * 1000))
    inside = min(end, trace.end) - min(start, trace.end)
    idle = find_gaps(trace).idle(start, end)
    gpu = [event for event in trace.gpu if not event.wrong]
    assert sum(idle.values()) == inside - busy_between(gpu, start, min(end, trace.end))


@given(any_trace())
def test_gaps_are_what_activities_leave(trace: Trace) -> None:
    reached = 0
    gaps = find_gaps(trace)
    for parts in map(gaps.parts, range(len(gaps))):
        start, end = parts[0][0], parts[-1][1]
        assert start >= reached
        assert all(begin < end for begin, end, _ in parts)
        assert [end for _, end, _ in parts[:-1]] == [begin for begin, _, _ in parts[1:]]
        assert busy_between([event for event in trace.gpu if not event.wrong], start, end) == 0
        reached = end


@pytest.mark.parametrize("name", ["geglu_eager", "geglu_cudagraph", "linear_1024_32_64_eager", "geglu_liger"])
def test_real_sums(sample: Read, name: str) -> None:
    trace = sample(name)
    for row in step_table(trace):
        assert sum(getattr(row, f"idle_{cause}") for cause in CAUSES) == row.idle
        assert row.idle == row.span - busy_between(
            trace.gpu, row.events[0].start, row.events[0].start + row.span
        )
        assert row.idle_unknown == 0
