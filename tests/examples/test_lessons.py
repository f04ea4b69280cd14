"""The whole lesson of each example, run once: a script without flags, on the CPU, at small sizes.

tests/site/test_downloads.py runs one more as a notebook.
"""

import csv
import importlib.util
import re
from pathlib import Path

import pytest
from downloaded import events, named, run_lesson, traces_in


def table(path: Path) -> list[dict[str, str]]:
    """The rows of a table."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        "01_matmul_add",
        "02_strides_and_views",
        "03_simple_mlp",
        "04_pointwise_geglu",
        "04_dual_gemm",
        "04_fused_mlp",
    ],
)
def test_lesson(tmp_path, script):
    done = run_lesson(tmp_path, script)
    assert traces_in(tmp_path, done.stdout)


@pytest.mark.torch
@pytest.mark.slow
def test_lesson_on_kernels(tmp_path):
    done = run_lesson(tmp_path, "03_kernels_mlp")
    assert "Liger's kernel needs a GPU" in done.stdout
    files = sorted(path.name for path in (tmp_path / "traces").iterdir())
    assert files == [
        "geglu_pointwise.json.gz",
        "geglu_triton.json.gz",
        "pointwise_geglu.csv",
        "pointwise_geglu.png",
    ]
    header, *rows = (tmp_path / "traces" / "pointwise_geglu.csv").read_text().splitlines()
    assert header == "variant,rows,hidden,median_us,low_us,high_us,bytes"
    assert {row.split(",")[0] for row in rows} == {"eager", "compiled"}


@pytest.mark.torch
@pytest.mark.slow
def test_lesson_on_regimes(tmp_path):
    done = run_lesson(tmp_path, "05_regimes")
    assert "Without a GPU: " in done.stdout
    traces = tmp_path / "traces"
    assert sorted(path.name for path in traces.iterdir()) == [
        "launch_cost.csv",
        "launch_tiny.json.gz",
        "regime_rows_16_compiled.json.gz",
        "regime_rows_16_eager.json.gz",
        "regime_rows_64_compiled.json.gz",
        "regime_rows_64_eager.json.gz",
        "regimes.csv",
        "regimes.png",
        "rungs.csv",
        "spread_100.json.gz",
        "spread_100_small.json.gz",
    ]
    clocks = ["host_us", "host_low_us", "host_high_us", "gpu_us", "gpu_low_us", "gpu_high_us"]
    rows = table(traces / "regimes.csv")
    assert list(rows[0]) == ["variant", "rows", *clocks]
    assert [(row["variant"], row["rows"]) for row in rows] == [
        (variant, count) for count in ("1", "16", "64") for variant in ("eager", "compiled")
    ]
    rungs = table(traces / "rungs.csv")
    assert list(rungs[0]) == ["rung", "variant", *clocks]
    names = ["matmul_add_64", "matmul_add_256", "linear", "linear_256", "relu", "geglu"]
    assert [(row["rung"], row["variant"]) for row in rungs] == [
        (name, variant) for name in names for variant in ("eager", "compiled")
    ]
    for row in rows + rungs:
        assert 0 < float(row["host_low_us"]) <= float(row["host_us"]) <= float(row["host_high_us"])
        assert row["gpu_us"] == row["gpu_low_us"] == row["gpu_high_us"] == "", "there is no GPU"
    rows = table(traces / "launch_cost.csv")
    assert list(rows[0]) == ["profiler", "launches", "host_us", "host_low_us", "host_high_us"]
    assert [row["profiler"] for row in rows] == ["never", "attached", "attached_shapes", "detached"]
    for name in ("spread_100", "spread_100_small"):
        assert named(traces / f"{name}.json.gz", "linear_fwd") == 100
    adds = sum(event.get("name") == "aten::add" for event in events(traces / "launch_tiny.json.gz"))
    assert adds == 3 * 20
    assert named(traces / "regime_rows_16_compiled.json.gz", "mlp_fwd") == 3


@pytest.mark.torch
@pytest.mark.slow
def test_lesson_on_recompiles(tmp_path):
    done = run_lesson(tmp_path, "05_recompiles")
    assert "Liger's kernel needs a GPU" in done.stdout
    traces = tmp_path / "traces"
    assert sorted(path.name for path in traces.iterdir()) == [
        "full_bias_compiled.json.gz",
        "full_bias_eager.json.gz",
        "recompiles.csv",
        "stride_guard.csv",
    ]
    rows = table(traces / "recompiles.csv")
    assert list(rows[0]) == ["mode", "call", "rows", "host_ms", "graphs"]
    graphs = {}
    for row in rows:
        graphs.setdefault(row["mode"], []).append(int(row["graphs"]))
    assert graphs == {
        "eager": [0] * 8,
        "start": [1],
        "default": [1, 1, 2, 2, 2, 2, 3, 3],
        "dynamic": [1, 1, 1, 1, 1, 1, 2, 2],
        "mark_dynamic": [1, 1, 1, 1, 1, 1, 2, 2],
    }
    # Other strides give the right result and another compilation. There is an error only where the example
    # asks for one, or misinforms the compiler.
    for what, count in (("as compiled", 1), ("other input", 2), ("other weight", 3)):
        assert f"{what}: agrees with float32" in done.stdout
        assert re.search(rf"^{what}: strides: .*; {count} compiled so far$", done.stdout, re.MULTILINE)
    assert "RuntimeError: Detected recompile when torch.compile stance is 'fail_on_recompile'." in done.stdout
    assert "stride mismatch at index 0" in done.stdout
    assert "AssertionError: expected size 64==64, stride 1==64 at dim=0" in done.stdout
    assert "No error." not in done.stdout
    assert str(Path(torch_folder()).parent) not in done.stdout
    for name in ("full_bias_eager", "full_bias_compiled"):
        path = traces / f"{name}.json.gz"
        assert named(path, "addmm") == 3
        copies = sum(event.get("name") == "aten::copy_" for event in events(path))
        assert copies == 3, "the bias is copied, eager and compiled"


def torch_folder() -> str:
    """Return the path of torch, which no page may print."""
    return importlib.util.find_spec("torch").origin
