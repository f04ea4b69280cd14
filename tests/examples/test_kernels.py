"""The kernels of the 04 examples in Triton's interpreter: they are right, and a wrong one is noticed."""

import re
import subprocess
from pathlib import Path

import pytest
from downloaded import HUGE, NO_GPU, check_refused, named, parse_all, run, run_file, source_of

SCRIPTS = ["04_pointwise_geglu", "04_dual_gemm", "04_fused_mlp"]
DRIVER = Path(__file__).with_name("interpreted.py")


def interpreted(folder: Path, script: str, *changes: tuple[str, str]) -> subprocess.CompletedProcess[str]:
    """Test an example's kernels in the interpreter, with changes made in its source first."""
    text = source_of(script).read_text(encoding="utf-8")
    for right, wrong in changes:
        assert text.count(right) >= 1, f"{script} no longer has {right!r}"
        text = text.replace(right, wrong)
    (folder / f"{script}.py").write_text(text, encoding="utf-8")
    return run_file(folder, str(DRIVER), f"{script}.py")


@pytest.mark.torch
@pytest.mark.parametrize(
    ("script", "tests"), [("04_pointwise_geglu", 2), ("04_dual_gemm", 3), ("04_fused_mlp", 5)]
)
def test_kernels_agree_with_float64(tmp_path, script, tests):
    done = interpreted(tmp_path, script)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("passed: ") == tests
    # what the example itself prints and writes
    assert "agrees with float64" in done.stdout
    assert list((tmp_path / "out").glob("*_cpu*.json.gz"))


@pytest.mark.torch
@pytest.mark.parametrize(
    ("script", "right", "wrong"),
    [
        ("04_pointwise_geglu", "inside = columns < hidden", "inside = columns < hidden - 1"),
        ("04_dual_gemm", "first + within % height", "first + within % GROUP"),
        (
            "04_fused_mlp",
            "inside = (m[:, None] < rows) & (n[None, :] < hidden)",
            "inside = m[:, None] < rows + 1",
        ),
    ],
)
def test_a_wrong_kernel_is_found(tmp_path, script, right, wrong):
    done = interpreted(tmp_path, script, (right, wrong))
    assert done.returncode != 0
    assert re.search(r"AssertionError|IndexError", done.stderr)


@pytest.mark.torch
def test_flags_of_the_dual_gemm(tmp_path):
    done = run(tmp_path, "04_dual_gemm", *"--step tma --rows 5 --dim 8 --hidden 12".split())
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines().count(NO_GPU) == 1
    assert done.stdout.index("tma (5, 8, 12): agrees with float64") < done.stdout.index("Self CPU")
    assert named(tmp_path / "traces" / "dual_tma_5_8_12_cpu.json.gz", "dual_gemm") == 3


@pytest.mark.torch
@pytest.mark.parametrize("script", SCRIPTS)
def test_bad_arguments(tmp_path, script):
    bad = {
        "04_pointwise_geglu": [("--rows 0", "above zero"), (f"--rows {HUGE}", "use smaller sizes")],
        "04_dual_gemm": [
            ("--step slow", "invalid choice"),
            ("--step pingpong", "needs a GPU of the Hopper generation"),
            ("--dtype bf16", "interpreter multiplies it wrongly"),
            ("--dim 6", "multiples of 16 bytes"),
            ("--counters", "--counters: needs a GPU"),
            (f"--rows {HUGE}", "use smaller sizes"),
        ],
        "04_fused_mlp": [
            ("--quack", "--quack: needs a GPU of the Hopper"),
            (f"--rows {HUGE}", "use smaller sizes"),
        ],
    }
    check_refused(bad[script], parse_all(tmp_path, {script: bad[script]})[script])


def test_the_module_has_the_lessons_kernel():
    """04_fused_mlp says that it copies these functions from 04_dual_gemm word for word."""
    lesson, module = (source_of(script).read_text(encoding="utf-8") for script in SCRIPTS[1:])
    for name in ("gelu_times_gluon", "tile_at_gluon", "fetch", "finish", "multiply_by_turns"):
        function = re.compile(rf"    @gluon\.jit\n    def {name}\(.*?(?=\n\n(?:    \S|\S))", re.DOTALL)
        assert function.search(lesson)[0] == function.search(module)[0], name
