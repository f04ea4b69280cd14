"""Live profiles of many kinds, compared with torch's own table of the same profile."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from kinetoscope.measure.tables import op_table
from kinetoscope.trace import load

from .torch_table import torch_table

pytestmark = pytest.mark.torch

KINDS: dict[str, dict[str, bool]] = {
    "as it comes": {},
    "shapes": {"record_shapes": True},
    "memory": {"profile_memory": True},
    "flops and modules": {"with_flops": True, "with_modules": True},
}


def train(torch: Any, steps: int) -> None:
    """Ops that call themselves (sum, mean, div), in-place ops, a loop of small ones, and a backward pass."""
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 4))
    better = torch.optim.Adam(model.parameters())
    for _ in range(steps):
        with torch.profiler.record_function("a step"), torch.profiler.record_function("a step"):
            output = model(torch.randn(8, 16))
            ((output - output.mean()) / output.std()).pow(2).sum().backward()
            better.step()
            better.zero_grad()


@pytest.mark.parametrize("threads", [0, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_every_row_of_every_kind_is_that_of_key_averages(kind: str, threads: int, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], **KINDS[kind]) as prof:
        others = [threading.Thread(target=train, args=(torch, 2)) for _ in range(threads)]
        for other in others:
            other.start()
        train(torch, 3)
        for other in others:
            other.join()
    theirs = {row.key: row for row in prof.key_averages()}
    theirs.pop("[memory]", None)  # what was allocated outside any op, and took no time
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = load(tmp_path / "trace.json")
    ours = {row.name: row for row in torch_table(trace)}
    assert ours.keys() == theirs.keys() and len(ours) > 20
    for name, row in ours.items():
        assert row.calls == theirs[name].count, name
        # torch sums floats of µs: off by its own rounding, a nanosecond a call
        assert abs(row.cpu - theirs[name].cpu_time_total * 1000) <= row.calls + 0.1, name
        assert abs(row.self_cpu - theirs[name].self_cpu_time_total * 1000) <= 4 * row.calls + 0.1, name
    for op in op_table(trace):
        assert op.self_cpu == ours[op.name].self_cpu
        assert op.cpu <= ours[op.name].cpu, "nested ones once, which is torch's where it takes them for one"
        assert op.mean <= op.max <= op.cpu
