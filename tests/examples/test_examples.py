"""The examples, run as a reader runs them: one file in an empty folder; always on the CPU, at small sizes.

`KINETOSCOPE_EXAMPLES` names another folder to take the files from, such as the downloads of a built site.
"""

import ast
import functools
import importlib.util
import io
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import docutils.core
import pytest
from downloaded import (
    HUGE,
    NO_GPU,
    begin_in_notebooks,
    check_refused,
    events,
    named,
    parse_all,
    run,
    source_of,
)

import kinetoscope

# by script: the annotation around each step, and the flags of a small run
SCRIPTS = {
    "01_matmul_add": ("matmul_add", "--size 16"),
    "02_linear": ("linear_fwd", "--batch 8 --in-dim 4 --out-dim 6"),
    "02_strides_and_views": (None, "--size 64"),
    "03_simple_mlp": ("mlp_fwd", "--batch 2 --seq 4 --dim 8 --hidden 16"),
    "03_kernels_mlp": ("kernels_mlp_fwd", "--batch 2 --seq 4 --dim 8 --hidden 17"),
}
ALL = [*SCRIPTS, "04_pointwise_geglu", "04_dual_gemm", "04_fused_mlp", "05_regimes", "05_recompiles"]


# Checks of the files, without running them.


@pytest.mark.parametrize("script", ALL)
def test_header_comes_first_and_parses(script):
    text = source_of(script).read_text(encoding="utf-8")
    header = re.match(r"# /// script\n((?:#(?: .*)?\n)+?)# ///\n\"\"\"", text)
    assert header, "the PEP 723 header is not at the top, or the docstring does not follow it"
    table = tomllib.loads("".join(line[2:] + "\n" for line in header[1].splitlines()))
    assert table["requires-python"] == ">=3.11"
    assert any(dependency.startswith("torch") for dependency in table["dependencies"])


@pytest.mark.parametrize("script", ALL)
def test_imports_only_what_a_reader_can_install(script):
    text = source_of(script).read_text(encoding="utf-8")
    tree = ast.parse(text)
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            modules.add(node.module.split(".")[0])
    others = {"torch", "triton", "liger_kernel", "kernels", "matplotlib", "numpy"}
    assert modules <= set(sys.stdlib_module_names) | others
    assert "sys.exit" not in text
    assert not re.search(r"\bskip", text, re.IGNORECASE), (
        "an example must not skip anything: it says what needs a GPU"
    )


@pytest.mark.parametrize("script", ALL)
def test_prose_is_clean_rest_without_measured_numbers(script):
    from sphinx_gallery.py_source_parser import split_code_and_text_blocks

    _, blocks = split_code_and_text_blocks(str(source_of(script)))
    kinds = [block[0] for block in blocks]
    assert kinds[0] == "text"
    assert kinds.count("text") > 5
    assert kinds.count("code") > 5
    page = "\n".join(block[1] for block in blocks)
    assert "/// script" not in page
    assert "requires-python" not in page
    prose = "\n\n".join(block[1] for block in blocks if block[0] == "text")
    warnings = io.StringIO()
    docutils.core.publish_doctree(prose, settings_overrides={"warning_stream": warnings, "report_level": 1})
    assert warnings.getvalue() == ""
    assert not re.search(r"\d\s*(µs|us|ms|ns|GB/s|TB/s|TFLOP|times as)\b", prose)


def test_names_are_unique_over_all_examples():
    names = []
    for script in ALL:
        text = source_of(script).read_text(encoding="utf-8")
        written = re.findall(r'(?:run|report)\(\s*f?"([a-z][\w{}]+)"', text)
        names += [name.replace("{large}", "4096") for name in written]
    assert len(names) >= 20
    assert len(names) == len(set(names))
    assert all(name.isidentifier() for name in names)


# What a reader sees.


@pytest.mark.torch
@pytest.mark.parametrize(
    ("script", "flags", "traces"),
    [
        ("01_matmul_add", "--size 16", ["matmul_add_16_cpu_cold_eager"]),
        ("01_matmul_add", "--size 16 --warmup --dtype fp32", ["matmul_add_16_fp32_cpu_eager"]),
        ("01_matmul_add", "--size 16 --warmup --compile", ["matmul_add_16_cpu_compiled"]),
        ("02_linear", "--batch 8 --in-dim 4 --out-dim 6", ["linear_8_4_6_cpu_eager"]),
        ("02_linear", "--batch 8 --in_dim 4 --out_dim 6 --compile", ["linear_8_4_6_cpu_compiled"]),
        ("02_strides_and_views", "--size 64", ["strides_64_cpu_views_eager", "strides_64_cpu_copies_eager"]),
        (
            "02_strides_and_views",
            "--size 64 --compile",
            ["strides_64_cpu_views_compiled", "strides_64_cpu_copies_compiled"],
        ),
        ("03_simple_mlp", "--batch 2 --seq 4 --dim 8 --hidden 16", ["geglu_2_4_8_16_cpu_eager"]),
        ("03_simple_mlp", "--batch 2 --seq 4 --dim 8 --hidden 16 --compile", ["geglu_2_4_8_16_cpu_compiled"]),
        ("03_simple_mlp", "--kind relu --batch 4 --hidden 16 --dtype fp16", ["relu_4_16_fp16_cpu_eager"]),
        ("03_kernels_mlp", "--batch 2 --seq 4 --dim 8 --hidden 17", ["geglu_ours_2_4_8_17_cpu_eager"]),
    ],
)
def test_one_run(tmp_path, script, flags, traces):
    done = run(tmp_path, script, *flags.split())
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines().count(NO_GPU) == 1
    assert done.stdout.count("https://ui.perfetto.dev") == 1
    # the result is checked before anything is timed
    agreed = re.search(r"agrees with|shares? the input's memory", done.stdout)
    assert agreed
    assert agreed.start() < done.stdout.index("Self CPU")
    assert "compiled agrees" in done.stdout or "--compile" not in flags or script == "02_strides_and_views"
    assert sorted(path.name for path in (tmp_path / "traces").iterdir()) == sorted(
        f"{name}.json.gz" for name in traces
    )
    for name in traces:
        path = tmp_path / "traces" / f"{name}.json.gz"
        assert f"Trace: {Path('traces') / path.name}" in done.stdout
        trace = kinetoscope.load(path)
        assert len(trace.steps) == 3
        assert trace.ops
        bar = SCRIPTS[script][0] or name.split("_")[3]
        assert named(path, bar) == 3
        compiled = any("Torch-Compiled Region" in str(event.get("name")) for event in events(path))
        assert compiled == ("--compile" in flags)


@pytest.mark.torch
def test_steps_and_out(tmp_path):
    done = run(tmp_path, "02_linear", "--batch", "2", "--steps", "7", "--out", "else/where")
    assert done.returncode == 0, done.stderr
    path = tmp_path / "else" / "where" / "linear_2_32_64_cpu_eager.json.gz"
    assert named(path, "linear_fwd") == 5
    assert not (tmp_path / "traces").exists()


@pytest.mark.torch
def test_views_have_a_bar_each(tmp_path):
    assert run(tmp_path, "02_strides_and_views", "--size", "64").returncode == 0
    views = tmp_path / "traces" / "strides_64_cpu_views_eager.json.gz"
    copies = tmp_path / "traces" / "strides_64_cpu_copies_eager.json.gz"
    assert named(views, "transpose") == named(copies, "reshape_of_transposed") == 3
    assert not any(event.get("name") == "aten::copy_" for event in events(views))
    assert sum(event.get("name") == "aten::copy_" for event in events(copies)) == 4 * 3


@pytest.mark.torch
def test_says_so_where_there_is_no_compiler(tmp_path):
    fresh = {"CXX": str(tmp_path / "no-such-compiler"), "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    flags = "--batch 1 --seq 2 --dim 8 --hidden 16 --compile".split()
    done = run(tmp_path, "03_simple_mlp", *flags, **fresh)
    assert done.returncode not in (0, 2)
    assert done.stderr.splitlines()[-1] == "torch.compile found no compiler: install one, or set CXX"
    assert "Traceback" not in done.stderr


# Bad arguments.

BAD = {
    "01_matmul_add": [
        ("--size 0", "is not a whole number above zero"),
        (f"--size {HUGE}", f"--size {HUGE}: needs about"),
    ],
    "02_linear": [
        ("--batch 0", "is not a whole number above zero"),
        ("--in_dim many", "'many' is not a whole number above zero"),
        ("--out-dim 2.5", "'2.5' is not a whole number above zero"),
        (f"--batch {HUGE * 30}", "use smaller sizes"),
    ],
    "02_strides_and_views": [
        ("--size 1", "--size: at least 2"),
        (f"--size {HUGE}", "use a smaller --size"),
    ],
    "03_simple_mlp": [
        ("--kind swiglu", "invalid choice"),
        ("--kind relu --seq 4", "--seq and --dim belong to --kind geglu"),
        (f"--hidden {HUGE}", "use smaller sizes"),
    ],
    "03_kernels_mlp": [
        ("--source elsewhere", "invalid choice"),
        ("--source package", "Liger's kernel needs a GPU"),
        ("--source ours --compile", "needs a GPU"),
        ("--hub-path .", "--hub-path belongs to --source hub"),
        ("--source hub --hub-path no-such-folder", "no-such-folder: no such folder"),
        (f"--batch {HUGE}", "use smaller sizes"),
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


@pytest.mark.torch
def test_a_notebook_has_no_flags_of_ours(tmp_path):
    """In a notebook sys.argv belongs to the kernel, so an example does its whole lesson."""
    begin_in_notebooks(tmp_path, [*SCRIPTS, "05_regimes", "05_recompiles"])


# Our kernel in Triton's interpreter: the example checks it, and notices when it is wrong.

SMALL = "--batch 1 --seq 2 --dim 8 --hidden 16 --dtype fp32".split()


@pytest.mark.torch
def test_our_kernel_agrees_with_float32(tmp_path):
    done = run(tmp_path, "03_kernels_mlp", *SMALL, "--source", "ours")
    assert done.returncode == 0, done.stderr
    for shape in ("(1, 1)", "(3, 5)", "(7, 1000)", "(33, 3071)"):
        assert f"our kernel agrees with float32, {shape}" in done.stdout
    assert "our kernel agrees with eager" in done.stdout


@pytest.mark.torch
@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        ("result.to(out_ptr.dtype.element_ty), mask=inside", "result, mask=offsets < count + 1", "behind"),
        ("inside = offsets < count  #", "inside = offsets < count - 1  #", "NOT so"),
        ("0.044715 * gate", "0.04 * gate", "NOT so"),
    ],
)
def test_a_wrong_kernel_is_found(tmp_path, right, wrong, complaint):
    text = source_of("03_kernels_mlp").read_text(encoding="utf-8")
    assert text.count(right) == 1
    (tmp_path / "03_kernels_mlp.py").write_text(text.replace(right, wrong), encoding="utf-8")
    done = run(tmp_path, "03_kernels_mlp", *SMALL, "--source", "ours")
    assert done.returncode == 1
    assert "AssertionError" in done.stderr.splitlines()[-1]
    assert complaint in done.stderr.splitlines()[-1]
    assert not list((tmp_path / "traces").glob("*.json.gz")), "a wrong kernel was timed"


# A kernel in a local folder, in the layout of the kernels library.

LAYERS = """
import torch.nn as nn
from torch.nn.functional import gelu

class LigerGEGLUMLP(nn.Module):
    def forward(self, x):
        return self.down_proj(gelu(self.gate_proj(x), approximate="tanh") * self.up_proj(x) * {factor})
"""
STUB = """
import importlib.util, sys

def get_kernel(repo_id, *, version):
    raise OSError(f"{repo_id} version {version}: no network")

def get_local_kernel(repo_path):
    spec = importlib.util.spec_from_file_location("hub_kernel", repo_path / "build/torch-cpu/__init__.py")
    module = sys.modules["hub_kernel"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
"""


def hub_folder(folder: Path, factor: float = 1) -> Path:
    """A kernel repository with one variant, for the CPU."""
    variant = folder / "build" / "torch-cpu"
    variant.mkdir(parents=True)
    metadata = {
        "name": "liger-kernels",
        "id": "_liger_kernels_cpu_0000000",
        "version": 1,
        "license": "BSD-3-Clause",
        "python-depends": [],
        "backend": {"type": "cpu"},
    }
    (variant / "metadata.json").write_text(json.dumps(metadata))
    (variant / "__init__.py").write_text("from . import layers\n")
    (variant / "layers.py").write_text(LAYERS.format(factor=factor))
    return folder


def hub_run(tmp_path: Path, library: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """Run with --source hub, with the installed kernels library or a stand-in for it."""
    if library == "stand-in":
        (tmp_path / "library").mkdir(exist_ok=True)
        (tmp_path / "library" / "kernels.py").write_text(STUB)
        path = str(tmp_path / "library")
    else:
        spec = importlib.util.find_spec("kernels")
        if spec is None:
            pytest.skip("the kernels library is not installed (pip install kernels)")
        path = str(Path(spec.origin).parents[1])
    return run(
        tmp_path, "03_kernels_mlp", *SMALL, "--source", "hub", *flags, PYTHONPATH=path, HF_HUB_OFFLINE="1"
    )


@pytest.mark.torch
@pytest.mark.parametrize("library", ["stand-in", "installed"])
def test_hub_with_a_local_folder(tmp_path, library):
    done = hub_run(tmp_path, library, "--hub-path", str(hub_folder(tmp_path / "kernel")))
    assert done.returncode == 0, done.stderr
    assert "hub's kernel agrees with eager" in done.stdout
    assert named(tmp_path / "traces" / "geglu_hub_1_2_8_16_fp32_cpu_eager.json.gz", "kernels_mlp_fwd") == 3


@pytest.mark.torch
def test_a_wrong_kernel_from_the_hub_is_found(tmp_path):
    done = hub_run(tmp_path, "stand-in", "--hub-path", str(hub_folder(tmp_path / "kernel", factor=1.01)))
    assert done.returncode == 1
    assert "hub's kernel agrees with eager: NOT so" in done.stderr


@pytest.mark.torch
@pytest.mark.parametrize("library", ["stand-in", "installed"])
@pytest.mark.parametrize("flags", ["", "--hub-path empty"])
def test_an_unreachable_hub_is_reported_in_one_line(tmp_path, library, flags):
    (tmp_path / "empty").mkdir()
    done = hub_run(tmp_path, library, *flags.split())
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("--source hub: no kernel for cpu from ")
    assert "Traceback" not in done.stderr


@pytest.mark.torch
def test_hub_without_the_library(tmp_path):
    (tmp_path / "kernels.py").write_text("raise ImportError('not installed')")
    done = run(tmp_path, "03_kernels_mlp", *SMALL, "--source", "hub")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("needs the kernels library (pip install kernels)")


@pytest.mark.torch
@pytest.mark.parametrize(("missing", "flags"), [("triton", "--source ours"), ("triton", "--source hub")])
def test_a_missing_library_is_named(tmp_path, missing, flags):
    (tmp_path / f"{missing}.py").write_text("raise ImportError('not installed')")
    more = ["--hub-path", str(hub_folder(tmp_path / "kernel"))] if "hub" in flags else []
    (tmp_path / "kernels.py").write_text(STUB)
    done = run(tmp_path, "03_kernels_mlp", *SMALL, *flags.split(), *more)
    assert "Triton is not installed (pip install triton): the parts with our kernel need it." in done.stdout
    if "ours" in flags:
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1].endswith("--source ours: needs Triton (pip install triton)")
    else:
        assert done.returncode == 0, done.stderr
