"""What is said about a step: each rule says its sentence where it is right, and nothing where it isn't."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kinetoscope.measure.advice import RULES, advice
from kinetoscope.measure.measured_step import Measured
from kinetoscope.measure.steps import step_table, whole_row
from kinetoscope.trace import Trace, load, loads

from .made import Made

if TYPE_CHECKING:
    from conftest import Read

DATA = Path(__file__).parents[1] / "data"


def sentences(trace: Trace, step: int = -1) -> dict[str, str]:
    """What each rule says of the last step (or of a trace without steps), if it says anything."""
    rows = step_table(trace)
    measured = Measured(trace, rows[step] if rows else whole_row(trace))
    said = {name: rule.sentence(measured) for name, rule in RULES.items()}
    return {name: each.words.format(*each.names) for name, each in said.items() if each is not None}


def said(made: Made) -> dict[str, str]:
    return sentences(made.trace())


def after_a_step() -> Made:
    """A first step whose GPU work ends with it, at 10 µs."""
    return Made().step(1, 0, 10).launch((0, 2), (5, 10))


LOADING = "enumerate(DataLoader)#_{}DataLoaderIter.__next__"
NCCL = ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "kernel")
PAGEABLE = ("Memcpy HtoD (Pageable -> Device)", "gpu_memcpy")


def busy(made: Made, at: int, end: int) -> Made:
    """Two kernels, the second of which is queued, from 5 µs after ``at`` on."""
    middle = (at + end) // 2
    return made.launch((at, at + 2), (at + 5, middle)).launch((at + 2, at + 4), (middle, end))


def flood(launch: int, kernel: int, *, every: int = 20, count: int = 100) -> Made:
    """A step of ``count`` launches of ``launch`` µs, one every ``every`` µs, of kernels of ``kernel`` µs."""
    made = after_a_step()
    for at in range(10, 10 + every * count, every):
        made.launch((at, at + launch), (at + launch + 1, at + launch + 1 + kernel))
    return made.step(2, 10, 10 + every * count)


def test_a_step_full_of_work_is_gpu_bound() -> None:
    words = said(busy(after_a_step(), 10, 110).step(2, 10, 110))
    assert words == {
        "verdict": "GPU-bound: the GPU computes for 95 % of the step. Faster kernels shorten it; a faster "
        "CPU saves 5.0 % at most.",
        "kernel": "On the GPU, look at k first: it takes 100 % of all kernel time.",
    }
    made = Made().step(1, 0, 10).launch((0, 2), (5, 12)).step(2, 10, 110)
    made.launch((10, 11), (12, 60)).launch((11, 12), (60, 110))
    assert said(made)["verdict"].endswith("a faster CPU hardly does.")


@pytest.mark.parametrize("loader", ["SingleProcess", "MultiProcessing"])
def test_a_step_that_waits_for_its_data_loader_is_not_gpu_bound(loader: str) -> None:
    made = after_a_step().op(LOADING.format(loader), 11, 70, "user_annotation")
    words = said(busy(made, 70, 110).step(2, 10, 110))
    assert words["verdict"] == (
        "Overhead-bound (CPU-bound): the GPU waits for the CPU for 65 % of the step. Even if its kernels "
        "took no time, that wait would remain."
    )
    assert words["data-loader"].startswith(
        "For 59 % (59.0 µs) of the step, the GPU was idle while the CPU was in"
    )
    assert ("in the training process" in words["data-loader"]) == (loader == "SingleProcess")
    assert set(words) == {"verdict", "data-loader"}


def test_a_loader_that_the_gpus_work_hides_costs_nothing() -> None:
    made = Made().step(1, 0, 10).launch((0, 2), (5, 70)).op(LOADING.format("SingleProcess"), 11, 60)
    assert "data-loader" not in said(busy(made, 60, 110).step(2, 10, 110))


def test_a_kernel_that_waits_for_its_peers_is_not_slow() -> None:
    made = after_a_step().launch((10, 12), (15, 40)).launch((12, 14), (40, 110), what=NCCL)
    words = said(made.step(2, 10, 110))
    assert set(words) == {"verdict"}
    assert words["verdict"].startswith("Communication-bound: for 70 % of the step, only communication runs.")
    made = after_a_step().launch((10, 12), (15, 70)).launch((12, 14), (70, 110), what=NCCL)
    words = said(made.step(2, 10, 110))
    assert set(words) == {"verdict", "communication", "kernel"}
    assert words["verdict"] == "Mixed: of the step, the GPU computes for 55 %, only communicates for 40 %."
    assert "wait for the other ranks" in words["communication"]
    assert (
        words["kernel"]
        == "On the GPU, look at k first: it takes 100 % of the kernel time without communication."
    )


def test_communication_behind_computing_is_not_spoken_of() -> None:
    made = busy(after_a_step(), 10, 110).launch((14, 16), (20, 110), what=NCCL, stream=8)
    assert set(said(made.step(2, 10, 110))) == {"verdict", "kernel"}


def test_the_verdict_of_a_trace_is_of_what_its_share_is_of() -> None:
    """100 of its 200 µs come before the first launch; of the 82 to the last work the GPU is idle for 42."""
    made = Made().op("aten::to", 0, 100).launch((100, 101), (102, 122)).launch((160, 161), (162, 182))
    assert said(made.op("aten::to", 182, 200))["verdict"].startswith(
        "Overhead-bound (CPU-bound): the GPU waits for the CPU for 51 % of the trace from its first launch"
    )


def test_what_comes_before_the_first_launch_is_told_with_its_limits() -> None:
    def made(first: int) -> Made:
        return busy(Made().op("aten::to", first // 4, first), first, 100).step(1, 0, 100)

    words = said(made(40))
    assert words["verdict"] == "Mixed: of the step, the GPU computes for 55 %, waits for the CPU for 45 %."
    assert words["lead"] == (
        "The first 40 % (40.0 µs) of the step passed before the first launch of the recording. "
        "Meanwhile, the CPU was in aten::to. In a longer run, the GPU may still be at work on the step "
        "before: record more steps."
    )
    assert set(words) == {"verdict", "lead", "kernel"}
    assert "lead" not in said(made(9))
    # In a later step, the same wait is one.
    late = said(busy(after_a_step(), 50, 110).step(2, 10, 110))
    assert "lead" not in late and "late-launches" in late


def test_many_short_gaps_call_for_fewer_launches() -> None:
    words = said(flood(6, 10))
    assert words["late-launches"] == (
        "For 50 % (1.00 ms) of the step, the GPU waited for the CPU to launch work, in 101 gaps of 10.0 "
        "µs at the median. Fewer launches help: fusion (torch.compile), CUDA graphs (its mode "
        "reduce-overhead), or more work in each (larger batches)."
    )
    assert "short-kernels" not in words
    compiled = said(flood(6, 5).op("Torch-Compiled Region: 0/0", 10, 2_010))
    assert "torch.compile" not in compiled["short-kernels"]
    with_a_graph = flood(6, 10).launch((2011, 2012), (2012, 2013), name="cudaGraphLaunch")
    assert "CUDA graphs" not in said(with_a_graph)["late-launches"]
    compiled = said(flood(6, 10).op("Torch-Compiled Region: 0/0", 10, 2_010))["late-launches"]
    assert "help: CUDA graphs (torch.compile's mode reduce-overhead), or more work" in compiled


def test_one_gap_is_told_with_what_the_cpu_did_in_it() -> None:
    words = said(busy(after_a_step().op("aten::nonzero", 20, 60), 65, 110).step(2, 10, 110))
    assert words["late-launches"] == (
        "For 60 % (60.0 µs) of the step, the GPU waited for the CPU to launch work, most of it in one "
        "gap of 60.0 µs, at the start of the step. Meanwhile, the CPU was in aten::nonzero."
    )
    silent = said(busy(after_a_step(), 65, 110).step(2, 10, 110))
    assert "nothing was recorded on the CPU" in silent["late-launches"]
    stacks = busy(after_a_step().op("data.py(3): load", 12, 60, "python_function"), 65, 110)
    assert "Meanwhile, the CPU was in data.py(3): load." in said(stacks.step(2, 10, 110))["late-launches"]


def test_a_long_call_may_be_set_up() -> None:
    made = busy(after_a_step().call("cudaMalloc", 100, 9_000), 9_000, 9_100).step(2, 10, 9_100)
    assert "in cudaMalloc. A call that takes so long is often set-up" in said(made)["late-launches"]
    assert "profiler" not in said(made)


def test_a_server_without_requests_gets_no_verdict() -> None:
    made = Made()
    for at in (0, 50_000, 100_000, 150_000):
        busy(made, at, at + 5_000)
    words = said(made)
    assert set(words) == {"late-launches"}
    assert "half of it in 2 gaps of 45.0 ms or more. The longest is of 45.0 ms" in words["late-launches"]
    assert words["late-launches"].endswith("Python, input and output, or nothing to do.")
    assert "verdict" in said(busy(made, 180_000, 195_000).step(1, 0, 200_000))


def test_a_trace_without_steps_may_begin_and_end_anywhere() -> None:
    """Importing comes before the work and a checkpoint after it; both are nobody's wait."""
    words = said(busy(Made().op("import", 0, 9_900), 10_000, 14_000).op("torch.save", 14_000, 20_000))
    assert words == {
        "verdict": "Mixed: of the trace, the GPU computes for 20 %, is idle before the first launch or "
        "after the last work for 80 %.",
        "kernel": "On the GPU, look at k first: it takes 100 % of all kernel time.",
    }


def test_kernels_shorter_than_their_launches() -> None:
    words = said(flood(6, 5))
    assert words["short-kernels"].startswith(
        "99 % of 101 kernels take less time than the CPU needs to launch them (6.00 µs"
    )
    assert "short-kernels" not in said(flood(6, 6))
    assert "short-kernels" not in said(flood(6, 5, count=98))
    # They don't matter where the GPU does not wait.
    queued = Made()
    for n in range(200):
        queued.launch((7 * n, 7 * n + 6), (1400 + 5 * n, 1405 + 5 * n))
    assert "short-kernels" not in said(queued.step(1, 1400, 2400))


def test_short_kernels_of_graphs_are_launched_together() -> None:
    def graphs(kernels: int) -> Made:
        made = after_a_step()
        for at in range(10, 4010, 40):
            work = [(at + 13 + 2 * n, at + 15 + 2 * n) for n in range(kernels)]
            made.launch((at, at + 12), *work, name="cudaGraphLaunch")
        return made.step(2, 10, 4010)

    assert "short-kernels" in said(graphs(1))
    words = said(graphs(8))
    assert "late-launches" in words and "short-kernels" not in words


def test_the_kernels_of_a_graph_share_its_launch() -> None:
    """200 kernels of 5 µs by one launch of 300 µs: each has 1.5 µs of it."""
    words = sentences(load(DATA / "small" / "second" / "graph_advice.json"))
    assert not any("Fus" in each or "launches help" in each for each in words.values())
    assert words["verdict"] == "Mixed: of the step, the GPU computes for 50 %, waits for the CPU for 40 %."


def test_the_profiler_slows_what_it_watches() -> None:
    assert said(flood(6, 10))["profiler"].startswith("A profiler slows the CPU")
    stacks = flood(6, 10).op("train.py(3): step", 10, 2_010, "python_function")
    assert "without with_stack" in said(stacks)["profiler"]
    assert "profiler" not in said(busy(after_a_step(), 10, 110).step(2, 10, 110))


def items(wait: bool) -> Made:
    """Three times: a kernel, the CPU waits for it (or does something else), then works for 40 µs."""
    made = after_a_step()
    for at in (10, 110, 210):
        made.launch((at, at + 2), (at + 5, at + 50)).op("aten::_local_scalar_dense", at + 3, at + 60)
        made.call("cudaStreamSynchronize" if wait else "cudaEventQuery", at + 4, at + 55)
    return made.launch((310, 312), (315, 320)).step(2, 10, 320)


def test_a_wait_for_the_gpu_leaves_the_queue_empty() -> None:
    words = said(items(wait=True))
    assert words["synchronization"] == (
        "For 53 % (165 µs) of the step, the GPU was idle after the CPU had waited for it (the longest "
        "time in cudaStreamSynchronize of aten::_local_scalar_dense): when such a wait ends, nothing is "
        "queued. Look for .item(), .cpu(), print or torch.cuda.synchronize(), and do it less often."
    )
    assert "late-launches" not in words
    assert set(said(items(wait=False))) == {"verdict", "late-launches", "profiler"}


def test_a_short_wait_does_not_explain_a_long_gap() -> None:
    """A compiler runs for 2 ms after the CPU has waited for 5 µs."""
    made = after_a_step().launch((10, 12), (15, 50)).call("cudaStreamSynchronize", 47, 52)
    words = said(made.op("compile", 60, 2_050).launch((2_052, 2_054), (2_055, 2_100)).step(2, 10, 2_100))
    assert "synchronization" not in words
    assert (
        "most of it in one gap of 2.00 ms" in words["late-launches"] and "compile" in words["late-launches"]
    )


def test_a_wait_at_the_end_of_the_recording_is_the_profilers() -> None:
    made = busy(after_a_step(), 10, 70).call("cudaDeviceSynchronize", 20, 71).step(2, 10, 110)
    assert "synchronization" not in said(made)


def test_hand_overs_and_what_holds_a_queue() -> None:
    kernels = [(10 + 5 * n, 13 + 5 * n) for n in range(20)]
    words = said(Made().launch((0, 6), *kernels, name="cudaGraphLaunch").step(1, 0, 108))
    assert "it handed over 19 times from one activity to the next, in 2.00 µs" in words["queued"]
    held = Made().launch((0, 2), (5, 30)).launch((2, 4), (70, 100)).step(1, 0, 100)
    assert said(held)["queued"] == (
        "For 40 % (40.0 µs) of the step, the GPU was idle although the next activity was queued, for up "
        "to 40.0 µs. Its stream waited for another one, or for something that isn't in the trace."
    )


def test_a_kernel_is_named_only_where_it_decides(sample: Read) -> None:
    assert "kernel" not in sentences(sample("relu_mlp_1024_eager"))
    large = sentences(sample("matmul_add_4096_eager"))["kernel"]
    assert "coopA_NNT (launched by aten::mm) first: it takes 88 %" in large
    # Half of the kernel time, but hardly any of the step.
    assert "kernel" not in said(Made().launch((0, 2), (5, 8)).launch((3, 5), (90, 93)).step(1, 0, 100))


def copied(size: int | None, call: int, what: tuple[str, str] = PAGEABLE) -> dict[str, str]:
    made = after_a_step().launch((10, call), (15, 60), what=what)
    if size is not None:
        made.events[-1]["args"]["bytes"] = size
    return said(made.launch((call + 1, call + 3), (call + 5, 110)).step(2, 10, 110))


def test_a_large_pageable_copy_that_the_cpu_waits_for_is_better_pinned() -> None:
    words = copied(1_000_000, 62)["pageable-copies"]
    assert words.startswith(
        "For 45 % (45.0 µs) of the step, the CPU waited for Memcpy HtoD (Pageable -> Device). Let"
    )
    assert "pageable-copies" not in copied(65_536, 62)  # staged
    assert "pageable-copies" not in copied(1_000_000, 14)  # the CPU went on
    assert "pageable-copies" not in copied(1_000_000, 62, ("Memcpy HtoD (Pinned -> Device)", "gpu_memcpy"))
    back = copied(1_000_000, 62, ("Memcpy DtoH (Device -> Pageable)", "gpu_memcpy"))["pageable-copies"]
    assert "synchronize before you read it" in back and "pin_memory" not in back


def over_another(what: tuple[str, str]) -> Made:
    """A step of work, and an activity that ends long after a later one on its stream, as none can."""
    made = busy(after_a_step(), 20, 110).launch((11, 100), (13, 9_000), stream=9, what=what)
    return made.launch((101, 102), (103, 104), stream=9).step(2, 10, 110)


def test_no_rule_rests_on_times_that_cannot_be_right() -> None:
    assert said(over_another(("bad", "kernel")))["kernel"].startswith("On the GPU, look at k first: it takes")
    assert "pageable-copies" not in said(over_another(PAGEABLE))
    crossing = busy(after_a_step().op("a", 12, 16).op("bad", 14, 60), 65, 110).step(2, 10, 110)
    assert "nothing was recorded on the CPU" in said(crossing)["late-launches"]
    loader = busy(after_a_step().op("a", 12, 16).op(LOADING.format("SingleProcess"), 14, 60), 70, 110)
    assert "data-loader" not in said(loader.step(2, 10, 110))


def test_without_a_gpu_the_cpu_is_all_there_is() -> None:
    assert said(Made().op("aten::mm", 0, 100)) == {
        "no-gpu": "There is no GPU activity in the file, so what is here tells of the CPU alone."
    }
    calls = Made().call("cudaLaunchKernel", 0, 5)
    calls.events[-1]["args"]["correlation"] = 1
    assert said(calls)["no-gpu"].startswith("Kernels were launched, and none was recorded. Was Profiler")
    foreign = Made().op("aten::mm", 0, 100).op("MatMul", 0, 5, "npu_kernel").op("MatMul", 9, 9, "npu_kernel")
    assert said(foreign)["no-gpu"].startswith("2 events are of a category that is not known here")


def test_work_whose_launches_are_not_in_the_file_is_judged_by_nobody() -> None:
    words = said(Made().activity(0, 10).activity(50, 60).op("aten::mm", 0, 90))
    assert words.keys() == {"verdict"}
    assert words["verdict"].startswith("No launch of the trace's GPU work is in the file")


def test_names_of_a_trace_are_no_part_of_the_words() -> None:
    made = Made().launch((0, 2), (5, 60), what=("{0.__class__}", "kernel")).launch((3, 5), (60, 99))
    rows = step_table(made.step(1, 0, 100).trace())
    [kernel] = [each for each in advice(made.trace(), rows[0]) if "On the GPU" in each.words]
    assert kernel.names == ("{0.__class__}",) and kernel.words.count("{}") == 1


def test_a_trace_of_nothing() -> None:
    assert sentences(loads(json.dumps([]).encode(), "empty")).keys() == {"no-gpu"}


def test_every_rule_has_a_source_and_a_test() -> None:
    assert all(rule.source.startswith("https://") for rule in RULES.values())
    assert set(RULES) == {
        *("verdict", "communication", "lead", "data-loader", "late-launches", "short-kernels", "profiler"),
        *("synchronization", "queued", "kernel", "pageable-copies", "no-gpu"),
    }
