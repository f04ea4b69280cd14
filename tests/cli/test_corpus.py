"""Every input of the corpus through ``kinetoscope summary --json``: exact values and findings.

Traces from other people's machines are read where ``../shared/corpus/real`` is beside the checkout.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Run

REAL = Path(__file__).parents[3] / "shared" / "corpus" / "real"
KEYS = [
    *("events", "kernels", "kernel_sum_ns", "gpu_busy_ns", "gpu_span_ns"),
    *("linked", "unlinked", "steps", "streams", "findings"),
]

# number: (events, kernels, ns of kernels, busy ns, linked, unlinked, steps, streams), findings
SMALL: dict[str, tuple[tuple[int, ...], dict[str, int]]] = {
    "01": ((4, 1, 20_000, 20_000, 1, 0, 0, 1), {"bad-escape": 1}),
    "02": ((4, 1, 20_000, 20_000, 1, 0, 0, 1), {"bad-quote": 2}),
    "04": ((4, 1, 20_000, 20_000, 1, 0, 0, 1), {"bad-utf8": 3}),
    "05": ((7, 2, 22_000, 22_000, 3, 0, 0, 1), {"not-finite": 2}),
    "06": ((5, 2, 22_000, 22_000, 2, 0, 0, 1), {"cut": 1}),
    "09": ((2, 1, 3_000, 3_000, 0, 1, 0, 1), {"no-launch": 1}),
    "10": ((2, 0, 0, 0, 0, 0, 0, 0), {}),
    "11": ((3, 0, 0, 0, 0, 0, 0, 0), {}),
    "12": ((3, 1, 20_000, 20_000, 1, 0, 0, 1), {}),
    "14": ((4, 2, 17_000, 15_000, 2, 0, 0, 1), {"overlapping-stream": 1}),
    "17": ((6, 0, 0, 0, 0, 0, 0, 0), {"unfinished": 3}),
    "19": ((3, 0, 0, 0, 0, 0, 1, 0), {}),
    "20": ((7, 2, 25_000, 25_000, 2, 0, 0, 1), {}),
    "21": ((10, 2, 120_000, 120_000, 2, 0, 2, 1), {}),
    "22": ((4, 1, 40_000, 40_000, 1, 0, 0, 1), {}),
    "24": ((6, 5, 50_000, 50_000, 5, 0, 0, 1), {}),
    "25": ((4, 2, 50_000, 50_000, 1, 1, 0, 1), {"no-launch": 1}),
    "27": ((6, 2, 40_000, 20_000, 2, 0, 0, 2), {}),
    "28": ((3, 1, 20_000, 20_000, 1, 0, 0, 1), {}),
    "30": ((5, 1, 20_000, 20_000, 1, 0, 0, 1), {"crossing": 1}),
    "31": ((0, 0, 0, 0, 0, 0, 0, 0), {"no-events": 1}),
    "32": ((2, 1, 20_000, 20_000, 1, 0, 0, 1), {}),
    "34": ((2, 0, 0, 0, 0, 0, 0, 0), {"no-gpu-events": 1}),
    "35": ((5, 2, 20_000, 20_000, 2, 0, 0, 1), {}),
    "36": ((3, 1, 20_000, 20_000, 1, 0, 0, 1), {}),
    "38": ((4, 1, 20_000, 20_000, 1, 0, 0, 1), {}),
    "41": ((3, 1, 1_760, 1_760, 1, 0, 0, 1), {}),
    "42": ((11, 5, 30_000, 30_000, 5, 0, 0, 1), {}),
}


def numbers(summary: dict[str, int]) -> tuple[int, ...]:
    return tuple(summary[key] for key in KEYS if key not in ("gpu_span_ns", "findings"))


@pytest.mark.parametrize("number", SMALL)
def test_small_inputs(run: Run, small: Callable[[str], Path], number: str) -> None:
    done = run("summary", "--json", small(number))
    assert (done.status, done.err) == (0, "")
    summary = json.loads(done.out)
    assert list(summary) == KEYS
    values, findings = SMALL[number]
    assert numbers(summary) == values
    assert {finding["code"]: finding["count"] for finding in summary["findings"]} == findings
    assert all(set(each) == {"code", "count", "first", "meaning"} for each in summary["findings"])
    strict = run("summary", "--json", "--strict", small(number))
    assert strict.status == (3 if findings else 0)
    assert strict.out == done.out


def test_every_small_input_is_tried(small: Callable[[str], Path]) -> None:
    there = {path.name[:2] for path in small("01").parent.glob("[0-9]*")}
    assert there == set(SMALL) | {"07"}


# number, view, row (by place or name), and some of its values
ROWS = [
    ("12", "kernel", 0, {"launched_by": ["aten::addmm"], "device_ns": 20_000}),
    ("14", "kernel", 0, {"calls": 1}),
    ("19", "annotation", "ProfilerStep*", {"self_cpu_ns": 80_000}),
    ("20", "kernel", 0, {"device_ns": 20_000}),
    ("24", "call", "cudaGraphLaunch", {"calls": 1, "device_ns": 50_000}),
    ("25", "kernel", "toy_orphan", {"launched_by": ["(no launch in trace)"], "device_ns": 30_000}),
    ("27", "op", 0, {"device_ns": 40_000}),
    ("28", "kernel", 0, {"launched_by": ["aten::addmm"]}),
    ("30", "kernel", 0, {"device_ns": 20_000}),
    ("41", "kernel", 0, {"calls": 1, "device_ns": 1_760}),
]


@pytest.mark.parametrize(("number", "by", "which", "values"), ROWS)
def test_rows_of_small_inputs(
    run: Run, small: Callable[[str], Path], number: str, by: str, which: int | str, values: dict[str, object]
) -> None:
    rows = json.loads(run("table", "--json", "--by", by, small(number)).out)["rows"]
    row = rows[which] if isinstance(which, int) else next(row for row in rows if row["name"] == which)
    assert {key: row[key] for key in values} == values


@pytest.mark.parametrize(
    ("number", "says"), [("07", "the file is empty"), ("23", "this is JSON but no trace")]
)
def test_what_is_no_trace_is_refused_in_one_line(
    run: Run, small: Callable[[str], Path], number: str, says: str
) -> None:
    done = run("summary", small(number))
    assert (done.status, done.out) == (2, "")
    assert says in done.err
    assert done.err.count("\n") == 1


# kernels, their ns, busy ns
REAL_VALUES: dict[str, tuple[int, ...]] = {
    "01_kineto2021_v100_resnet50_stacks_mem": (8772, 591_532_000, 603_558_000),
    "03_hta2022_v100_memory_54MB": (19370, 977_859_000, 1_000_613_000),
    "05_hta2024_v100_absolute_ns": (4350, 468_153_602, 472_454_441),
    "08_hta_rocm62_mi250_minitoy": (14, 110_881, 149_042),
    "09_hta_cpu_only_w300": (0, 0, 0),
    "10_hta2023_a100_cupti_ranges": (0, 0, 0),
    "13_tl_b200_vllm_eager_pdl_overlap": (768, 10_862_916, 11_596_482),
    "15_param_dlrm_8xV100_rank0": (245, 6_832_000, 6_590_000),
    "17_tl_h100_bertsmall_1MB": (60, 307_197, 309_437),
    "18_ascend_npu_string_ts": (0, 0, 0),
    "20_hta_triton_kernel_driver_launch": (1, 1_760, 1_760),
}

REAL_FINDINGS = {
    "10": {"no-gpu-events": 77},
    "13": {"overlapping-stream": 74},
    # The events of the NPU have no category.
    "18": {"unknown-categories": 1205},
}


@pytest.mark.skipif(
    not REAL.is_dir(), reason=f"the corpus of real traces is not beside the checkout ({REAL})"
)
@pytest.mark.parametrize("name", REAL_VALUES)
def test_real_traces(run: Run, name: str) -> None:
    done = run("summary", "--json", REAL / f"{name}.json.gz")
    summary = json.loads(done.out)
    assert (summary["kernels"], summary["kernel_sum_ns"], summary["gpu_busy_ns"]) == REAL_VALUES[name]
    assert summary["unlinked"] == 0
    assert summary["gpu_span_ns"] >= summary["gpu_busy_ns"]
    told = {finding["code"]: finding["count"] for finding in summary["findings"]}
    assert told == REAL_FINDINGS.get(name[:2], {})
    if name.startswith("03_"):
        assert (summary["linked"], summary["steps"]) == (22_290, 5)
