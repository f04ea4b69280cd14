"""What a trace lacks as a whole is not measured; what it has none of by that name is 0."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kinetoscope.measure.assertions import check, measure
from kinetoscope.measure.csvtable import CsvTable
from kinetoscope.measure.errors import ExpressionError, NotMeasured
from kinetoscope.measure.expressions import evaluate
from kinetoscope.trace import Trace, load

from .made import Made

if TYPE_CHECKING:
    from conftest import Read

DATA = Path(__file__).parents[1] / "data"

ASKS_FOR_THE_GPU = [
    "count(kernels) <= 12",
    "count(copies) == 0",
    '"x" not in kernels',
    'count(kernels.like("x")) == 0',
    'count(kernels["*gemm*"]) == 0',
    "names(kernels) == names(copies)",
    "same_names(kernels, copies)",
    'share(kernels["x"]) < 0.5',
    "share(time(kernels), time(ops)) < 0.5",
    "max(kernels) < us(3)",
    "span(kernels) == 0",
    'count(ops["aten::linear"].kernels) == 0',
    'time(ops["aten::linear"].copies) == 0',
    "count(step(1).kernels) == 0",
    "launch_delay(kernels) < us(3)",
    "launch_delay(ops) < us(3)",
    "busy(trace) == 0",
    "busy(step(2)) == 0",
    "busy(steps) == 0",
    "idle(trace) > 0",
    'idle(steps, "unknown") == 0',
    'idle(trace, "sync") == 0',
    "queue_depth(trace) == 0",
    'regime(trace) == "mixed"',
    # A condition that needs it is not measured as a whole, unless the rest decides before it.
    "count(kernels) <= 12 or count(ops) == 12",
    "count(ops) == 12 and count(kernels) <= 12",
    "not count(kernels) > 12",
    "(count(kernels) if count(ops) == 12 else 1) == 1",
]


@pytest.fixture(scope="module")
def cpu_only() -> Trace:
    """Two steps of a CPU's, as torch records them without CUDA."""
    return load(DATA / "small" / "second" / "cpu_only.json")


@pytest.mark.parametrize("expression", ASKS_FOR_THE_GPU)
def test_a_trace_of_the_cpu_says_nothing_of_the_gpu(cpu_only: Trace, expression: str) -> None:
    question = r"^no GPU activity in the file: was `ProfilerActivity.CUDA` on\?$"
    with pytest.raises(NotMeasured, match=question):
        check(cpu_only, expression)


@pytest.mark.parametrize(
    "expression",
    [
        "count(ops) == 12 and count(steps) == 2",
        'count(annotations) == 1 and "none such" not in annotations',
        "span(trace) > 0 and busy(ops) > 0 and idle(ops) >= 0",
        # As in Python, the rest is not asked for where the answer is known.
        "count(ops) == 12 or count(kernels) <= 12",
        "not (count(ops) == 1 and count(kernels) == 1)",
        "(1 if count(ops) == 12 else count(kernels)) == 1",
    ],
)
def test_what_a_trace_of_the_cpu_measures(cpu_only: Trace, expression: str) -> None:
    assert check(cpu_only, expression).holds


def test_runtime_calls_are_not_measured_without_any(cpu_only: Trace) -> None:
    with pytest.raises(NotMeasured, match="no runtime or driver call in the file"):
        check(cpu_only, '"cudaMalloc" not in calls')


def test_who_means_it_counts_what_is_absent_as_0(cpu_only: Trace) -> None:
    for expression in ASKS_FOR_THE_GPU[:4]:
        assert check(cpu_only, expression, absent_is_zero=True).holds
    for expression in ("busy(trace)", "count(step(1).kernels)", 'time(ops["aten::linear"].kernels)'):
        assert f"{measure(cpu_only, expression, absent_is_zero=True)}" in ("0", "0 ns")
    assert f"{measure(load(DATA / 'small/32_gpu_only.json'), 'count(steps)', absent_is_zero=True)}" == "0"
    with pytest.raises(ExpressionError, match="launched nothing"):
        measure(cpu_only, "regime(trace)", absent_is_zero=True)


def test_any_gpu_activity_measures_all_of_the_gpu() -> None:
    copies = Made().launch((0, 1), (2, 3), what=("Memcpy HtoD", "gpu_memcpy")).trace()
    assert check(copies, 'count(kernels) == 0 and "x" not in kernels and count(copies) == 1').holds
    kernels = Made().launch((0, 1), (2, 3)).trace()
    assert check(kernels, 'count(copies) == 0 and count(kernels.like("x")) == 0').holds


def test_calls_that_gave_the_gpu_no_work_measured_it() -> None:
    """A program that makes views alone, recorded with CUDA: torch synchronizes at the end."""
    views = Made().step(1, 0, 9).call("cudaDeviceSynchronize", 10, 11).trace()
    assert check(views, "count(kernels) == 0 and count(copies) == 0 and busy(trace) == 0").holds
    for name in ("cudaMemcpyAsync", "hipExtModuleLaunchKernel"):
        with pytest.raises(NotMeasured, match="no GPU activity"):
            check(Made().step(1, 0, 9).call(name, 10, 11).trace(), "count(copies) == 0")


def test_a_step_without_kernels_in_a_trace_with_some_is_measured() -> None:
    trace = Made().step(1, 0, 10).step(2, 10, 20).launch((1, 2), (3, 4)).trace()
    assert check(trace, "count(step(2).kernels) == 0 and busy(step(2)) == 0").holds


@pytest.mark.parametrize(
    ("expression", "question"),
    [
        ("count(ops) == 0", "no op in the file: was `ProfilerActivity.CPU` on"),
        ('"aten::copy_" not in ops', "no op in the file"),
        ('kernels["*"].ops.like("x") == 0', "no op in the file"),
        ("count(annotations) == 0", "no op and no annotation in the file"),
        ("count(steps) == 0", "no step in the file: did the profiler have a `schedule`"),
        ("time(steps) == 0", "no step in the file"),
        ("count(step(3).kernels) == 0", "no step in the file"),
        ("count(calls) == 0", "no runtime or driver call in the file"),
        ("launch_delay(kernels) < us(1)", "no runtime or driver call in the file"),
        ('idle(trace, "sync") == 0', "no runtime or driver call in the file"),
        ("queue_depth(trace) == 0", "no runtime or driver call in the file"),
    ],
)
def test_a_trace_of_the_gpu_says_nothing_of_the_cpu(expression: str, question: str) -> None:
    trace = Made().activity(0, 5).activity(7, 9).trace()
    assert check(trace, 'count(kernels) == 2 and idle(trace, "unknown") == us(2)').holds
    with pytest.raises(NotMeasured, match=question):
        check(trace, expression)


def test_launches_without_their_kernels_measured_no_kernel(small: Read) -> None:
    with pytest.raises(NotMeasured, match="no GPU activity"):
        check(small("34"), "count(kernels) == 0")
    assert check(small("34"), "count(calls) == 1").holds


def test_what_stands_in_a_stream_and_is_no_work_shows_no_gpu_activity() -> None:
    trace = Made().activity(0, 5, what=("event_wait", "mtia_ccp_events")).trace()
    with pytest.raises(NotMeasured, match="no GPU activity"):
        check(trace, "count(kernels) == 0")


def test_an_empty_cell_is_not_measured() -> None:
    table = CsvTable.parse("rows,gpu_us\n1,\n2,3\n", "sweep")
    assert f"{evaluate('sweep.at(rows=2).gpu_us', {'sweep': table})}" == "3.00 µs"
    with pytest.raises(NotMeasured, match=r"sweep.at\(rows=1\).gpu_us is an empty cell"):
        evaluate("sweep.at(rows=1).gpu_us", {"sweep": table})


def test_a_name_that_is_wrong_is_wrong_in_any_trace(cpu_only: Trace) -> None:
    for expression in ("count(kernles) == 1", "count(kernels", "step(9) == 1"):
        with pytest.raises(ExpressionError) as caught:
            check(cpu_only, expression)
        assert not isinstance(caught.value, NotMeasured)


def test_events_that_are_not_known_are_named() -> None:
    """Another vendor's device may have worked, so it is not asked whether CUDA was on."""
    made = Made().op("aten::mm", 1, 6)
    made.op("MatMul", 2, 4, cat="npu_task").op("MatMul", 4, 6, cat="npu_task")
    with pytest.raises(NotMeasured, match=r"^no GPU activity in the file that is known here, but 2 events"):
        check(made.trace(), "count(kernels) == 0")
