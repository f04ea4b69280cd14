"""Traces that other people's machines wrote: exact kernel time and busy time.

They are not copied into the project; the tests run where ``../shared/corpus/real`` lies beside the checkout.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kinetoscope.measure.intervals import busy
from kinetoscope.trace import load

REAL = Path(__file__).parents[3] / "shared" / "corpus" / "real"

pytestmark = pytest.mark.skipif(
    not REAL.is_dir(), reason=f"the corpus of real traces is not beside the checkout ({REAL})"
)

# name, kernels, their summed ns, ns of the union of all GPU activities, steps
EXPECTED = [
    ("01_kineto2021_v100_resnet50_stacks_mem", 8772, 591_532_000, 603_558_000, 6),
    ("03_hta2022_v100_memory_54MB", 19370, 977_859_000, 1_000_613_000, 5),
    ("05_hta2024_v100_absolute_ns", 4350, 468_153_602, 472_454_441, 5),
    ("08_hta_rocm62_mi250_minitoy", 14, 110_881, 149_042, 2),
    ("09_hta_cpu_only_w300", 0, 0, 0, 1),
    ("10_hta2023_a100_cupti_ranges", 0, 0, 0, 0),
    ("13_tl_b200_vllm_eager_pdl_overlap", 768, 10_862_916, 11_596_482, 0),
    ("15_param_dlrm_8xV100_rank0", 245, 6_832_000, 6_590_000, 1),
    ("17_tl_h100_bertsmall_1MB", 60, 307_197, 309_437, 1),
    ("18_ascend_npu_string_ts", 0, 0, 0, 1),
    ("20_hta_triton_kernel_driver_launch", 1, 1_760, 1_760, 1),
]


@pytest.mark.parametrize(("name", "kernels", "time", "union", "steps"), EXPECTED)
def test_real_traces(name: str, kernels: int, time: int, union: int, steps: int) -> None:
    trace = load(REAL / f"{name}.json.gz")
    assert len(trace.kernels) == kernels
    assert sum(kernel.dur for kernel in trace.kernels) == time
    assert busy(trace.gpu) == union
    assert len(trace.steps) == steps
    assert all(activity.launch is not None for activity in trace.gpu)


def test_ops_on_differently_numbered_threads_are_found_by_external_id() -> None:
    trace = load(REAL / "01_kineto2021_v100_resnet50_stacks_mem.json.gz")
    assert all(activity.op is not None for activity in trace.gpu)
