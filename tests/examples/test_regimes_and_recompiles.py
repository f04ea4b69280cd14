"""The examples on regimes and recompiles, run as a reader runs them; always on the CPU, at small sizes."""

import ast
import functools
import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from downloaded import HUGE, NO_GPU, check_refused, events, named, parse_all, run, source_of

import kinetoscope

SCRIPTS = ["05_regimes", "05_recompiles"]


# What a reader sees.


@pytest.mark.torch
@pytest.mark.parametrize(
    ("flags", "trace"),
    [
        ("--rows 3", "regime_3_8_16_cpu_eager"),
        ("--rows 3 --dtype fp32 --compile", "regime_3_8_16_fp32_cpu_compiled"),
        ("--rows 3 --compile --mode default", "regime_3_8_16_cpu_compiled"),
    ],
)
def test_one_run_of_regimes(tmp_path, flags, trace):
    done = run(tmp_path, "05_regimes", "--dim", "8", "--hidden", "16", *flags.split())
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines().count(NO_GPU) == 1
    assert done.stdout.count("https://ui.perfetto.dev") == 1
    # the result is checked before anything is timed
    clock = re.search(r"host +\d+\.\d us +\(\d+\.\d to \d+\.\d\)", done.stdout)
    assert done.stdout.index("agrees with float32") < clock.start() < done.stdout.index("Self CPU")
    assert [path.name for path in (tmp_path / "traces").iterdir()] == [f"{trace}.json.gz"]
    path = tmp_path / "traces" / f"{trace}.json.gz"
    assert len(kinetoscope.load(path).steps) == 3
    assert named(path, "mlp_fwd") == 3
    compiled = any("Torch-Compiled Region" in str(event.get("name")) for event in events(path))
    assert compiled == ("--compile" in flags)


@pytest.mark.torch
@pytest.mark.parametrize(
    ("flags", "trace", "graphs"),
    [
        # One graph for the first size and one for all others. The lesson tests a third, for a single row, and
        # the other mode.
        ("--batches 2 2 4 6 2", "recompiles_2_2_4_6_2_8_16_cpu_default", [1, 1, 2, 2, 2]),
        pytest.param(
            "--batches 2 4 6 --mode mark_dynamic --dtype fp32",
            "recompiles_2_4_6_8_16_fp32_cpu_mark_dynamic",
            [1, 1, 1],
            marks=pytest.mark.slow,
        ),
    ],
)
def test_one_run_of_recompiles(tmp_path, flags, trace, graphs):
    done = run(tmp_path, "05_recompiles", "--dim", "8", "--hidden", "16", *flags.split())
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines().count(NO_GPU) == 1
    assert done.stdout.count("https://ui.perfetto.dev") == 1
    calls = re.findall(r"call (\d+) rows +(\d+) +(\d+\.\d+) ms +(\d+) compiled so far", done.stdout)
    assert [int(call[3]) for call in calls] == graphs
    assert done.stdout.index("agrees with float32") < done.stdout.index("compiled so far")
    # every call that compiles takes longer than all that do not
    before = [0, *graphs]
    ms = [float(call[2]) for call in calls]
    costly = [time for time, now, then in zip(ms, graphs, before, strict=False) if now > then]
    cheap = [time for time, now, then in zip(ms, graphs, before, strict=False) if now == then]
    assert min(costly) > max(cheap)
    assert [path.name for path in (tmp_path / "traces").iterdir()] == [f"{trace}.json.gz"]
    path = tmp_path / "traces" / f"{trace}.json.gz"
    assert len(kinetoscope.load(path).steps) == 3
    assert named(path, "mlp_fwd") == 3


@pytest.mark.torch
def test_steps_and_out(tmp_path):
    small = "--dim 8 --hidden 16 --steps 7 --out else/where".split()
    done = run(tmp_path, "05_regimes", *small, "--rows", "2")
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "else" / "where").iterdir()
    assert named(path, "mlp_fwd") == 5
    assert not (tmp_path / "traces").exists()


@pytest.mark.torch
@pytest.mark.parametrize(
    ("script", "flags"), [("05_regimes", "--rows 2 --compile"), ("05_recompiles", "--batches 2")]
)
def test_says_so_where_there_is_no_compiler(tmp_path, script, flags):
    fresh = {"CXX": str(tmp_path / "no-such-compiler"), "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    done = run(tmp_path, script, "--dim", "8", "--hidden", "16", *flags.split(), **fresh)
    assert done.returncode not in (0, 2)
    assert done.stderr.splitlines()[-1] == "torch.compile found no compiler: install one, or set CXX"
    assert "Traceback" not in done.stderr


@pytest.mark.torch
@pytest.mark.parametrize(
    ("script", "flags"),
    [
        ("05_regimes", "--rows 2"),
        pytest.param("05_recompiles", "--batches 2 --mode dynamic", marks=pytest.mark.slow),
    ],
)
def test_a_wrong_network_is_found_before_it_is_timed(tmp_path, script, flags):
    text = source_of(script).read_text(encoding="utf-8")
    right = 'return self.down_proj(F.gelu(gate, approximate="tanh") * up)'
    assert text.count(right) == 1
    # wrong in bfloat16 only, as a kernel for one data type may be
    wrong = right.replace("* up)", "* up * (1.1 if x.dtype == torch.bfloat16 else 1.0))")
    (tmp_path / f"{script}.py").write_text(text.replace(right, wrong), encoding="utf-8")
    done = run(tmp_path, script, "--dim", "8", "--hidden", "16", *flags.split())
    assert done.returncode == 1
    assert "AssertionError" in done.stderr
    assert "agrees with float32: NOT so" in done.stderr
    assert not re.search(r"\d (us|ms)\b", done.stdout), "a wrong network was timed"
    assert not list((tmp_path / "traces").iterdir())


# Bad arguments.

BAD = {
    "05_regimes": [
        ("--rows 0", "is not a whole number above zero"),
        ("--rows 2.5", "'2.5' is not a whole number above zero"),
        ("--mode default", "--mode belongs to --compile"),
        ("--compile --mode max-autotune", "invalid choice"),
        ("--compile --mode reduce-overhead", "--mode reduce-overhead: needs a GPU"),
        (f"--rows {HUGE}", "use smaller sizes"),
    ],
    "05_recompiles": [
        ("--batches", "expected at least one argument"),
        ("--batches 8 0", "'0' is not a whole number above zero"),
        ("--mode static", "invalid choice"),
        (f"--batches 8 {HUGE}", "use smaller sizes"),
        (f"--hidden {HUGE * 30}", "use smaller sizes"),
    ],
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> Callable[[], dict[str, list[tuple[int, str]]]]:
    """The answers of all scripts, from one process that starts when a test first asks."""
    return functools.cache(lambda: parse_all(tmp_path_factory.mktemp("bad-arguments"), BAD))


@pytest.mark.torch
@pytest.mark.parametrize("script", SCRIPTS)
def test_bad_arguments(answers, script):
    check_refused(BAD[script], answers()[script])


# The labels of the picture must not overlap, whatever was measured.


def test_labels_of_the_picture_stay_apart():
    tree = ast.parse(source_of("05_regimes").read_text(encoding="utf-8"))
    (function,) = (n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "spread_labels")
    names: dict = {}
    exec("from itertools import pairwise\n" + ast.unparse(function), names)
    for heights in ([100, 100, 100, 100, 100], [100, 103, 24, 17, 16.5], [1, 1e6, 1], [5.0]):
        moved = names["spread_labels"](heights, 1.2)
        ordered = sorted(moved)
        assert all(above / below > 1.19 for below, above in pairwise(ordered))
        assert [heights[i] for i in sorted(range(len(moved)), key=moved.__getitem__)] == sorted(heights)
