"""The recipes of docs/reference/extending.md, followed in a copy of this checkout.

Each step of a recipe begins with a file's name.  Its block is a ``diff`` of that file, or all of a new one.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/extending.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))
STEP = re.compile(r"^\d+\. `(\S+)`:[^`\n].*?\n( +)(`{3,})(\w+)\n(.*?)\n\2\3$", re.DOTALL | re.MULTILINE)


def follow(recipe: str, tree: Path) -> None:
    """Make each of the recipe's changes in ``tree``."""
    steps = STEP.findall(RECIPES[recipe])
    assert steps, f"no step in {recipe!r}"
    for name, indent, _, language, body in steps:
        file = tree / name
        body = re.sub(f"^{indent}", "", body, flags=re.MULTILINE)
        if language == "diff":
            file.write_text(patched(file.read_text(encoding="utf-8"), body, name), encoding="utf-8")
        else:
            assert not file.exists(), f"{name} is there already: its step should be a diff"
            file.write_text(f"{body}\n", encoding="utf-8")


def patched(text: str, diff: str, name: str = "") -> str:
    """``text`` with the hunks of ``diff`` applied.  A line ``@@`` stands between two hunks."""
    for hunk in re.split(r"^@@$\n?", diff, flags=re.MULTILINE):
        lines = hunk.splitlines()
        old = "".join(f"{line[1:]}\n" for line in lines if line[:1] != "+")
        new = "".join(f"{line[1:]}\n" for line in lines if line[:1] != "-")
        if not old:  # only new lines: append them
            text += new
            continue
        assert text.count(old) == 1, f"{name} has this {text.count(old)} times, not once:\n{old}"
        text = text.replace(old, new)
    return text


def test_rooms_stand_in_the_order_in_which_they_may_use_each_other() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = (c["layers"] for c in project["tool"]["importlinter"]["contracts"] if "layers" in c)
    rooms = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    levels = [level for room in rooms for level, layer in enumerate(layers) if room in layer.split(" | ")]
    assert levels == sorted(levels, reverse=True)
    assert {*rooms, "pytest_plugin"} == {room for layer in layers for room in layer.split(" | ")}


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout in which all recipes have been followed."""
    tree = tmp_path_factory.mktemp("extended")
    made = shutil.ignore_patterns("_build", "gallery", "__pycache__")
    for name in ("docs", "examples", "src", "tests"):
        shutil.copytree(ROOT / name, tree / name, ignore=made)
    for name in ("conf.py", "pyproject.toml"):
        shutil.copyfile(ROOT / name, tree / name)
    for recipe in RECIPES:
        follow(recipe, tree)
    return tree


def test_a_recipe_that_no_longer_fits_is_noticed() -> None:
    assert patched("a\nb\nc\n", " a\n-b\n+B\n@@\n+d") == "a\nB\nc\nd\n"
    with pytest.raises(AssertionError, match=r"f\.py has this 0 times"):
        patched("a\nb\n", " b\n a\n+c", "f.py")


def run(tree: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the copy, with the copy's package."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "CUDA_VISIBLE_DEVICES": "", "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, *command], cwd=tree, env=environment, capture_output=True, text=True, check=False
    )


def test_the_tests_of_what_was_added_pass(extended: Path) -> None:
    """These include the tests of the reference, which read the new option's sentence and try the option."""
    done = run(
        extended,
        *("-m", "pytest", "-v", "-p", "no:cacheprovider", "-p", "no:xdist"),
        *("tests/measure/test_tables.py", "tests/trace/test_kinds.py", "tests/book/test_reference.py"),
        *("tests/examples/test_examples.py", "-k"),
        "test_the_spread or test_kernels_of_my_gpu or option or 06_softmax",
    )
    assert done.returncode == 0, done.stdout[-3000:]
    for name in ("the_spread", "kernels_of_my_gpu", "each_is_tried", "[06_softmax]"):
        assert re.search(rf"{re.escape(name)}\S* PASSED", done.stdout), done.stdout


@pytest.mark.torch
@pytest.mark.slow
def test_the_example_and_its_claim_are_on_their_pages(extended: Path) -> None:
    """The example runs on this CPU. Other pages and examples take too long and are left out."""
    for folder in ("lookup", "use", "reference"):
        shutil.rmtree(extended / "docs" / folder)
    for path in (*(extended / "docs/read").glob("*.md"), *(extended / "examples").glob("*.py")):
        if path.stem not in ("index", "linear", "02_linear", "06_softmax"):
            path.unlink()
    live = ("-D", "kinetoscope_mode=live", "-D", "kinetoscope_only=06_softmax")
    done = run(extended, "-m", "sphinx", "-q", "-c", ".", *live, "docs", "site")
    assert done.returncode == 0, done.stderr[-3000:]
    assert "aten::softmax" in (extended / "site/gallery/06_softmax.html").read_text(encoding="utf-8")
    verdicts = json.loads((extended / "site/claims.json").read_text(encoding="utf-8"))
    (verdict,) = [each for each in verdicts if each["id"] == "one-op-for-a-softmax"]
    assert verdict["verdict"] == "holds"
