"""Queues, the table by step, and the regime of a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given

from kinetoscope.draw.table import cell_texts
from kinetoscope.draw.views import COLUMNS, VIEWS
from kinetoscope.measure.errors import ExpressionError
from kinetoscope.measure.expressions import evaluate
from kinetoscope.measure.launch_queue import Queues
from kinetoscope.measure.quantity import Quantity
from kinetoscope.measure.steps import regime, step_table, typical, whole_row

from .made import Made
from .test_idle_time import any_trace

if TYPE_CHECKING:
    from conftest import Read

    from kinetoscope.trace import Event, Trace


def launched_at(activity: Event) -> int:
    """ns at which the launching call began, at most the activity's own begin."""
    return activity.start if activity.launch is None else min(activity.launch.start, activity.start)


def ahead() -> Made:
    """Three launches within 9 µs, and kernels of 20."""
    made = Made().launch((0, 2), (5, 25)).launch((3, 5), (26, 46))
    return made.launch((7, 9), (47, 67))


def test_depth_is_what_was_launched_before_and_has_not_finished() -> None:
    trace = ahead().trace()
    queues = Queues(trace.columns)
    assert list(queues.depth.values()) == [0, 1, 2]
    # 25, 43 and 60 µs in the queue.
    lane = trace.columns.lanes.index(trace.gpu[0].lane)
    assert queues.mean(lane, 0, 67_000) == pytest.approx((25 + 43 + 60) / 67)
    assert queues.mean(lane, 30_000, 30_000) == 0


def test_a_graph_fills_the_queue_at_once_and_another_stream_is_another_queue() -> None:
    made = Made().launch((0, 4), (5, 9), (9, 12), (12, 15), name="cudaGraphLaunch")
    trace = made.launch((6, 8), (10, 20), stream=9).trace()
    depths = [(trace.events[at].lane.stream, depth) for at, depth in Queues(trace.columns).depth.items()]
    assert sorted(depths) == [(7, 0), (7, 1), (7, 2), (9, 0)]


@given(any_trace())
def test_depth_and_mean_against_counting(trace: Trace) -> None:
    queues = Queues(trace.columns)
    columns = trace.columns
    assert not any(columns.wrong[at] or columns.skewed[at] for at in queues.depth)
    gpu = np.flatnonzero(columns.timed & ~columns.skewed)
    for position in gpu.tolist():
        activity = trace.events[position]
        at = launched_at(activity)
        inside = [event for event in trace.gpu if event.lane == activity.lane and not event.wrong]
        before = [
            e for e in inside if (launched_at(e), e.start, e.index) < (at, activity.start, activity.index)
        ]
        assert queues.depth[position] == sum(event.end > at for event in before)
        area = sum(max(0, min(e.end, 50_000) - max(launched_at(e), 10_000)) for e in inside)
        lane = trace.columns.lanes.index(activity.lane)
        assert queues.mean(lane, 10_000, 50_000) == pytest.approx(area / 40_000)
        assert queues.deepest(np.array([position])) == queues.depth[position]
    assert queues.deepest(gpu) == max(queues.depth.values(), default=None)


def test_a_row_says_all_of_a_step() -> None:
    [step] = step_table(ahead().step(1, 0, 15).trace())
    assert (step.number, step.name, step.span, step.gpu_busy) == (1, "ProfilerStep#1", 67_000, 60_000)
    assert (step.launches, step.launch_delay, step.deepest) == (3, 23_000, 2)
    assert (step.cpu, step.busy, step.kernels) == (15_000, 60_000, 3)
    assert step.share == pytest.approx(60 / 67)
    assert step.mean_queue == pytest.approx((25 + 43 + 60) / 67)
    assert (step.start, step.computing, step.communicating, step.lead) == (0, 60_000, 0, 0)
    assert len(step.events) == 4


def test_a_step_without_launches_has_no_regime() -> None:
    [step] = step_table(Made().step(1, 0, 50).trace())
    assert (step.launches, step.launch_delay, step.deepest, step.mean_queue) == (0, *[None] * 3)
    assert regime(step) is None
    assert regime(step_table(Made().step(1, 0, 50).activity(10, 20).trace())[0]) is None


def kind(made: Made, number: int = -1) -> str:
    """The regime of the last step."""
    of_step = regime(step_table(made.trace())[number])
    assert of_step is not None
    return of_step


def test_regimes() -> None:
    waits = Made().launch((0, 5), (8, 10)).launch((30, 35), (38, 40)).launch((60, 65), (68, 70))
    assert kind(waits.step(1, 0, 70)) == "overhead-bound"
    assert kind(ahead().step(1, 0, 60)) == "gpu-bound"
    half = Made().launch((0, 5), (8, 40)).launch((50, 55), (58, 80))
    assert kind(half.step(1, 0, 80)) == "mixed"


def after_a_step() -> Made:
    """A first step whose GPU work ends with it."""
    return Made().step(1, 0, 10).launch((0, 2), (5, 10))


def test_a_step_that_waits_for_its_data_is_not_gpu_bound() -> None:
    made = after_a_step().step(2, 10, 110).launch((70, 72), (75, 90)).launch((73, 75), (90, 110))
    assert kind(made) == "overhead-bound"
    made = after_a_step().step(2, 10, 110).launch((50, 52), (55, 80)).launch((53, 55), (80, 110))
    assert kind(made) == "mixed"


def test_work_of_the_step_before_is_no_wait() -> None:
    made = Made().step(1, 0, 10).launch((0, 2), (5, 65)).launch((3, 5), (65, 70)).step(2, 10, 110)
    assert kind(made.launch((50, 52), (71, 110))) == "gpu-bound"


def test_what_comes_before_the_first_launch_of_the_file_accuses_and_acquits_nobody() -> None:
    """In a longer run the GPU may still work on the step before."""
    made = Made().step(1, 0, 100).launch((60, 62), (65, 80)).launch((63, 65), (80, 100))
    [step] = step_table(made.trace())
    assert (regime(step), step.lead, step.idle_cpu) == ("mixed", 60_000, 60_000)
    assert kind(Made().step(1, 0, 100).launch((60, 62), (65, 70))) == "overhead-bound"


def test_a_long_sync_changes_nothing_and_a_long_end_does() -> None:
    def made(sync: int, end: int) -> Made:
        first = Made().step(1, 0, end).launch((0, 2), (5, 25)).launch((3, 5), (26, 46))
        return first.call("cudaDeviceSynchronize", 6, 6 + sync)

    assert kind(made(20, 46)) == kind(made(41, 46)) == "gpu-bound"
    assert kind(made(41, 100)) == "overhead-bound"


NCCL = ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "kernel")


def test_communication_is_no_work_of_ones_own() -> None:
    """The GPU is busy all the time, but a kernel of NCCL also runs while it waits for its peers."""
    alone = Made().step(1, 0, 100).launch((0, 2), (3, 40)).launch((3, 5), (41, 100), what=NCCL)
    [step] = step_table(alone.trace())
    assert (regime(step), step.computing, step.communicating) == ("communication-bound", 37_000, 59_000)
    hidden = alone.launch((6, 8), (41, 99), stream=8)
    [step] = step_table(hidden.trace())
    assert (regime(step), step.computing, step.communicating) == ("gpu-bound", 95_000, 1_000)


def test_copies_from_the_host_are_no_computing() -> None:
    copy = ("Memcpy HtoD (Pinned -> Device)", "gpu_memcpy")
    made = Made().step(1, 0, 100).launch((0, 2), (3, 60), what=copy).launch((3, 5), (61, 100))
    [step] = step_table(made.trace())
    assert (regime(step), step.computing, step.gpu_busy) == ("mixed", 39_000, 96_000)


def test_a_gpu_that_is_never_behind_is_not_all_that_is_waited_for() -> None:
    """Each kernel is long, but the CPU waits for it before it launches the next."""
    made = Made()
    for at in (0, 100, 200):
        made.launch((at, at + 3), (at + 5, at + 95)).call("cudaStreamSynchronize", at + 4, at + 97)
    [step] = step_table(made.step(1, 0, 300).trace())
    assert (regime(step), step.deepest, step.gpu_busy) == ("mixed", 0, 270_000)


def test_short_kernels_one_after_the_other_do_not_wait_for_the_cpu() -> None:
    """A graph of kernels so short that the GPU is idle for most of it: nobody is late."""
    kernels = [(10 + 3 * n, 11 + 3 * n) for n in range(30)]
    assert kind(Made().step(1, 0, 98).launch((0, 5), *kernels, name="cudaGraphLaunch")) == "mixed"


REAL = {
    "linear_1024_32_64_eager": ("overhead-bound", 0, 0.04),
    "linear_1024_32_64_compiled": ("overhead-bound", 0, 0.02),
    "relu_mlp_1024_eager": ("overhead-bound", 0, 0.11),
    "relu_mlp_1024_compiled": ("overhead-bound", 0, 0.08),
    "linear_4096_4096_4096_eager": ("gpu-bound", 1, 0.85),
    "matmul_add_4096_eager": ("gpu-bound", 4, 0.98),
    "geglu_eager": ("gpu-bound", 4, 0.96),
    "geglu_compiled": ("mixed", 2, 0.54),
    "geglu_cudagraph": ("gpu-bound", 7, 0.96),
    "geglu_liger": ("mixed", 2, 0.64),
}


@pytest.mark.parametrize("name", REAL)
def test_regimes_of_real_steps(sample: Read, name: str) -> None:
    step = typical(step_table(sample(name)))
    assert (regime(step), step.deepest, round(step.gpu_busy / step.span, 2)) == REAL[name]


def test_every_step_of_the_small_linear_waits_for_the_cpu(sample: Read) -> None:
    for step in step_table(sample("linear_1024_32_64_eager")):
        assert regime(step) == "overhead-bound"
        assert step.idle_cpu > step.idle_launch > step.gpu_busy and step.idle_queued == 0


def test_the_typical_step_is_one_that_happened(sample: Read) -> None:
    steps = step_table(sample("geglu_eager"))
    assert typical(steps).span == sorted(step.span for step in steps)[1]
    assert typical(steps[:2]).span == min(step.span for step in steps[:2])


def test_there_is_no_row_without_steps(small: Read) -> None:
    assert step_table(small("31")) == step_table(small("10")) == []


def test_step_rows(sample: Read) -> None:
    trace = sample("geglu_cudagraph")
    rows = step_table(trace)
    assert [row.number for row in rows] == [2, 3, 4]
    assert [row.kernels for row in rows] == [5, 5, 5]
    for row, step in zip(rows, trace.steps, strict=True):
        assert row.cpu == step.event.dur
        assert row.span == step.end - step.start >= row.cpu
        assert 0 < row.busy <= row.span
        assert row.busy == sum(event.dur for event in step.gpu)  # one stream, nothing overlaps
        assert row.share == row.busy / row.span
        assert 0 <= row.idle <= row.span - row.busy
        assert row.launches == len({id(event.launch) for event in step.gpu}) < len(step.gpu)


def test_idle_knows_of_work_of_the_step_before(sample: Read) -> None:
    """Where the CPU runs ahead, the GPU still works on the last step when the next one begins."""
    rows = step_table(sample("geglu_eager"))
    assert any(row.idle < row.span - row.busy for row in rows)


def test_a_trace_without_steps_is_one(small: Read) -> None:
    row = whole_row(small("14"))
    assert (row.name, row.gpu_busy, row.busy) == ("(whole trace)", 15_000, 15_000)
    assert (row.kernels, row.launches) == (2, 2)
    assert row.idle + row.gpu_busy == row.span
    assert whole_row(small("31")).mean_queue is None


@pytest.mark.parametrize(
    "expression",
    [
        'regime(linear) == "overhead-bound" and regime(eager) == "gpu-bound"',
        'regime(linear.step(3)) == regime(linear.steps) == "overhead-bound"',
        "queue_depth(linear) == 0 and queue_depth(eager) >= 2",
        "queue_depth(eager.step(3)) == max(queue_depth(eager.step(3)))",
        'idle(linear, "cpu") + idle(linear, "launch") + idle(linear, "end") <= idle(linear)',
        'idle(linear, "cpu") > idle(linear, "launch") > busy(linear)',
        'idle(linear, "sync") == 0 and idle(eager.steps, "queued") > us(1)',
        'share(idle(linear, "cpu"), span(linear)) > percent(50)',
    ],
)
def test_words(sample: Read, expression: str) -> None:
    names = {"linear": sample("linear_1024_32_64_eager"), "eager": sample("geglu_eager")}
    assert evaluate(expression, names) is True


def test_a_depth_knows_its_steps_and_events(sample: Read) -> None:
    value = evaluate("queue_depth(eager)", {"eager": sample("geglu_eager")})
    assert isinstance(value, Quantity)
    assert (value.unit, len(value.per_step), str(value)) == ("count", 3, "3")
    assert value.events


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ('idle(x, "cpus")', "idle knows no cause 'cpus'; did you mean 'cpu'"),
        ("idle(x, 3)", "idle knows no cause 3"),
        ('idle(x.kernels, "cpu")', "idle with a cause needs a trace or a step"),
        ("regime(x.kernels)", "regime needs a trace or a step"),
        ("queue_depth(3)", "queue_depth needs a trace or a step"),
        ("regime(unlaunched)", "regime: unlaunched launched nothing on the GPU"),
        ("queue_depth(unlaunched)", "queue_depth: unlaunched launched nothing on the GPU"),
        ("regime(flat.steps)", "no step in the file"),
    ],
)
def test_what_has_no_value(sample: Read, small: Read, expression: str, message: str) -> None:
    names = {
        "x": sample("geglu_eager"),
        "unlaunched": Made().step(1, 0, 50).call("cudaStreamSynchronize", 1, 2).activity(3, 4).trace(),
        "flat": small("14"),
    }
    with pytest.raises(ExpressionError, match=message):
        evaluate(expression, names)


def test_the_view_shows_what_was_waited_for() -> None:
    trace = Made().step(1, 0, 100).step(2, 100, 150).launch((40, 46), (50, 60)).trace()
    view = VIEWS["waiting"]
    rows = view.rows(trace, None)
    first, second = cell_texts([COLUMNS[name] for name in view.shown(rows)], rows)
    assert first[1:] == [
        *(f"{time}.0 µs" for time in (100, 10, 90, 40, 10, 0, 0, 40)),
        "1",
        "0",
    ]
    assert second[-2:] == ["0", "–"]
    assert [row.number for row in view.rows(trace, trace.steps_at[1])] == [2]


def test_a_share_is_of_the_steps_own_work_or_of_all_work_on_the_gpu() -> None:
    """The kernel of the first step still runs in the second."""
    made = Made().step(1, 0, 20).step(2, 20, 60).launch((0, 5), (8, 40)).launch((25, 30), (41, 60))
    trace = made.trace()
    own, waiting = (VIEWS[by].rows(trace, trace.steps_at[1])[0] for by in ("step", "waiting"))
    assert (own.share, waiting.share) == (19 / 40, 39 / 40)
