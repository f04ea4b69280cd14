"""The downloads of the built book, run as a reader runs them: one file in an empty folder, on the CPU.

tests/examples tests the scripts' flags, messages and bad arguments.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from downloaded import environment, require_torch, traces_in

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))
HEADER = re.compile(r"^# /// script\n(?:#(?: .*)?\n)+?# ///\n")

# This lesson runs as a notebook; tests/examples/test_lessons.py runs the others as scripts.
NOTEBOOK = "02_linear"


@pytest.fixture
def _torch() -> None:
    require_torch()


def run(folder: Path, file: str, *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, file, *flags],
        cwd=folder,
        env=environment(PYTHONIOENCODING="utf-8"),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=900,
        check=False,
    )


# --- what the pages offer -----------------------------------------------------------------------------------


def test_each_lesson_runs_here_or_as_a_script() -> None:
    scripts = (ROOT / "tests/examples/test_lessons.py").read_text(encoding="utf-8")
    assert [name for name in EXAMPLES if f'"{name}"' not in scripts] == [NOTEBOOK]


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_page_offers_script_notebook_and_both_in_a_zip(website, name: str) -> None:
    given = website.downloads(f"gallery/{name}")
    assert sorted(given) == [f"{name}.ipynb", f"{name}.py", f"{name}.zip"]
    assert given[f"{name}.py"].read_bytes() == (ROOT / "examples" / f"{name}.py").read_bytes()
    with zipfile.ZipFile(given[f"{name}.zip"]) as archive:
        assert archive.testzip() is None
        inside = {Path(member).name: archive.read(member) for member in archive.namelist()}
    assert inside == {file: path.read_bytes() for file, path in given.items() if not file.endswith(".zip")}


@pytest.mark.parametrize(("file", "suffix"), [("gallery_python.zip", "py"), ("gallery_jupyter.zip", "ipynb")])
def test_the_gallery_offers_all_in_one_zip(website, tmp_path, file: str, suffix: str) -> None:
    given = website.downloads("gallery/index")
    assert sorted(given) == ["gallery_jupyter.zip", "gallery_python.zip"]
    with zipfile.ZipFile(given[file]) as archive:
        archive.extractall(tmp_path)
    unpacked = {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    single = {
        f"{name}.{suffix}": website.downloads(f"gallery/{name}")[f"{name}.{suffix}"].read_bytes()
        for name in EXAMPLES
    }
    assert {name: unpacked.get(name) for name in single} == single
    others = set(unpacked) - set(single)
    assert not others, f"{file} holds {others} besides the examples"


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_header_is_in_the_script_and_not_on_the_page(website, name: str) -> None:
    script = website.downloads(f"gallery/{name}")[f"{name}.py"].read_text(encoding="utf-8")
    assert HEADER.match(script)
    page = website.page(f"gallery/{name}")
    for words in ("/// script", "requires-python"):
        assert words in script
        assert words not in page.text


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_notebook_has_the_same_code(website, name: str) -> None:
    given = website.downloads(f"gallery/{name}")
    script = ast.parse(given[f"{name}.py"].read_text(encoding="utf-8"))
    cells = ast.parse(code_of(given[f"{name}.ipynb"]))
    assert isinstance(script.body.pop(0), ast.Expr)
    assert ast.dump(cells) == ast.dump(script)
    words = "".join("".join(cell["source"]) for cell in cells_of(given[f"{name}.ipynb"], "markdown"))
    assert len(words) > 1000
    assert "requires-python" not in words


def cells_of(path: Path, kind: str) -> list[dict]:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


def code_of(path: Path) -> str:
    """Return a notebook's code, cell after cell."""
    cells = ["".join(cell["source"]) for cell in cells_of(path, "code")]
    assert len(cells) > 4
    return "\n\n".join(cells) + "\n"


# --- running the downloads ----------------------------------------------------------------------------------


@pytest.mark.torch
@pytest.mark.usefixtures("_torch")
def test_a_script_runs_in_an_empty_folder(website, tmp_path) -> None:
    """One is enough: the tests above compare the downloads with the files that tests/examples runs."""
    shutil.copy(website.downloads("gallery/02_linear")["02_linear.py"], tmp_path)
    done = run(tmp_path, "02_linear.py", *"--batch 8 --in-dim 4 --out-dim 6".split())
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("No GPU found: running on the CPU") == 1
    (trace,) = traces_in(tmp_path, done.stdout)
    assert len(trace.steps) == 3
    assert trace.ops


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.usefixtures("_torch")
def test_a_notebook_runs_in_an_empty_folder(website, tmp_path) -> None:
    """All cells, one after the other. A notebook has no flags, so this is the whole lesson."""
    notebook = website.downloads(f"gallery/{NOTEBOOK}")[f"{NOTEBOOK}.ipynb"]
    (tmp_path / "cells.py").write_text(code_of(notebook), encoding="utf-8")
    done = run(tmp_path, "cells.py")
    assert done.returncode == 0, done.stderr[-3000:]
    assert traces_in(tmp_path, done.stdout)
