"""The reference pages: made from the code's own tables, and every snippet on them works."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from html import unescape
from pathlib import Path

import pytest

from kinetoscope.book.config import VALUES
from kinetoscope.book.messages import SUBTYPES
from kinetoscope.book.profiler_table import COLUMNS
from kinetoscope.book.reference_tables import LISTS, TABLES, inline
from kinetoscope.book.stage import MODES
from kinetoscope.measure.csvtable import SUFFIXES
from kinetoscope.measure.vocabulary import OPERATORS, VOCABULARY
from kinetoscope.record.provenance import Machine, Provenance
from kinetoscope.record.script import read_script
from kinetoscope.record.store import BlockOutput, write_example, write_machine

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs/reference"
TRACES = ROOT / "tests/data/traces"

CONF = """
extensions = ["kinetoscope", "sphinx_gallery.gen_gallery", "myst_parser"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["recordings", "gallery/sg_execution_times.rst"]
myst_enable_extensions = ["deflist"]
html_theme = "basic"
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "write_computation_times": False,
}
"""
POINTWISE = "variant,rows,hidden,median_us,low_us,high_us,bytes\neager,512,3072,14.4,11.3,18.6,9437184\n"
PROVENANCE = Provenance(
    machine=Machine(gpu="NVIDIA H200", gpu_arch="sm_90", driver="580", cuda="13.0", cpu="a CPU"),
    python="3.12.3",
    libraries={"torch": "2.11.0"},
    recorded="2026-11-29",
)


SAMPLES = {
    "linear_eager": "linear_1024_32_64_eager",
    "geglu_eager": "geglu_eager",
    "geglu_compiled": "geglu_compiled",
}
EXAMPLE = '"""\nSamples\n=======\n"""\nprint(1)\n'


def make_site(folder: Path, files: dict[str, str], samples: dict[str, str] = SAMPLES) -> Path:
    """A site whose one example was recorded and wrote ``samples`` (file in tests/data by NAME)."""
    gallery = {"examples/GALLERY_HEADER.rst": "Examples\n========\n", "examples/samples.py": EXAMPLE}
    given = {"conf.py": CONF, **({} if "examples/first.py" in files else gallery), **files}
    for name, text in given.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (path,) = (folder / "examples").glob("*.py")
    machine = folder / "docs/recordings/nvidia-h200"
    traces = {
        f"{name}.json.gz": (TRACES / f"{sample}.json.gz").read_bytes() for name, sample in samples.items()
    }
    shown = "".join(f"\n.. timeline:: {name}\n" for name in samples)
    write_example(
        machine,
        path.stem,
        blocks=[BlockOutput(block.code, block.before, shown) for block in read_script(path).blocks],
        run_time=1,
        provenance=PROVENANCE,
        code_objects={},
        files={**traces, "pointwise_geglu.csv": POINTWISE.encode()},
    )
    write_machine(machine, PROVENANCE)
    return folder


def build(folder: Path, *options: str) -> tuple[int, str]:
    """Exit status and warnings of a build that only lays out."""
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "-q",
            "-c",
            ".",
            "-D",
            "kinetoscope_mode=replay",
            *options,
            "docs",
            "out",
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "", "NO_COLOR": "1", "HOME": str(folder)},
    )
    return run.returncode, run.stderr


def literals(html: str) -> set[str]:
    """What a page shows as code."""
    found = re.findall(r"<code[^>]*>(.*?)</code>", html, re.DOTALL)
    return {unescape(re.sub(r"<[^>]+>", "", code)) for code in found}


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The code on each of our reference pages that is made from tables."""
    pages = {f"docs/{name}.md": _page(name) for name in ("expressions", "configuration", "warnings")}
    every = "\n".join(f"```{{reference-table}} {name}\n```\n" for name in (*LISTS, *TABLES))
    pages["docs/index.md"] = f"# All\n\n{every}\n{_toctree(pages)}"
    folder = make_site(tmp_path_factory.mktemp("reference"), pages)
    assert build(folder) == (0, "")
    return {path.stem: literals(path.read_text(encoding="utf-8")) for path in (folder / "out").glob("*.html")}


def _toctree(pages: Iterable[str]) -> str:
    listed = "\n".join(Path(page).stem for page in pages)
    return f"```{{toctree}}\n{listed}\ngallery/index\n```\n"


def _page(name: str) -> str:
    """A reference page, its links to other pages as text."""
    text = (REFERENCE / f"{name}.md").read_text(encoding="utf-8")
    return re.sub(r"\[([^\]\n]*)\]\([./\w-]+\.md\)", r"\1 page", text)


def test_every_configuration_value_and_mode_is_on_its_page(reference: dict[str, set[str]]) -> None:
    assert {value.name for value in VALUES} <= reference["configuration"]
    assert set(MODES) <= reference["configuration"]


def test_every_warning_is_on_its_page(reference: dict[str, set[str]]) -> None:
    assert {f"kinetoscope.{subtype}" for subtype in SUBTYPES} <= reference["warnings"]


def test_every_word_of_the_vocabulary_is_on_its_page(reference: dict[str, set[str]]) -> None:
    shown = reference["expressions"]
    for entry in (*VOCABULARY.values(), *OPERATORS.values()):
        assert all(part in shown for part in re.split(r"(?<=\)), ", entry.signature)), entry.signature
    assert set(OPERATORS) <= shown


def test_every_column_and_unit_is_in_its_table(reference: dict[str, set[str]]) -> None:
    assert set(COLUMNS) <= reference["index"]
    assert set(SUFFIXES) <= reference["index"]


def test_a_table_holds_code_and_wildcards_as_they_are() -> None:
    cells = [node.astext() for node in inline('``a*`` and *b*, as selection["pattern"] or us(37)')]
    assert cells == ["a*", " and *b*, as ", 'selection["pattern"]', " or ", "us(37)"]


@pytest.mark.parametrize(
    ("page", "line", "text"),
    [
        ("index.md", 5, "# T\n\ntext\n\n```{reference-table} warning\n```\n"),
        ("index.rst", 6, "T\n=\n\ntext\n\n.. reference-table:: warning\n"),
    ],
)
def test_an_unknown_table_is_a_warning_with_its_line(tmp_path: Path, page: str, line: int, text: str) -> None:
    status, warnings = build(make_site(tmp_path, {f"docs/{page}": text}), "-W")
    assert status == 1
    what = "WARNING: no reference table 'warning'; did you mean 'warnings'? [kinetoscope.name]"
    assert f"{page}:{line}: {what}" in warnings


DIRECTIVES = (REFERENCE / "directives.md").read_text(encoding="utf-8")
MYST = re.findall(r"^````markdown\n(.*?)\n````$", DIRECTIVES, re.DOTALL | re.MULTILINE)
REST = re.findall(r"^```rst\n(.*?)\n```$", DIRECTIVES, re.DOTALL | re.MULTILINE)


def test_each_documented_example_works_in_both_languages_and_shows_the_same(tmp_path: Path) -> None:
    assert len(MYST) == len(REST) >= 8
    pages = {f"docs/myst{n}.md": f"# Example\n\n{text}\n" for n, text in enumerate(MYST)}
    pages |= {f"docs/rest{n}.rst": f"Example\n=======\n\n{text}\n" for n, text in enumerate(REST)}
    pages["docs/index.md"] = f"# All\n\n{_toctree(list(pages))}"
    folder = make_site(tmp_path, pages)
    assert build(folder, "-n") == (0, "")
    for number in range(len(MYST)):
        myst, rest = (_body(folder / f"out/{kind}{number}.html") for kind in ("myst", "rest"))
        assert myst == rest, MYST[number]


def _body(path: Path) -> str:
    body = re.search(r'<div class="body".*?</section>', path.read_text(encoding="utf-8"), re.DOTALL)
    assert body is not None
    return body[0]


def test_what_is_shown_beside_an_example_is_that_example() -> None:
    for text in MYST:
        if text != "```{machines}\n```":
            assert f"::::\n\n{text}\n" in DIRECTIVES, text


def test_the_options_that_are_documented_are_those_there_are() -> None:
    from kinetoscope.book.profiler_table import VIEWS, ProfilerTable
    from kinetoscope.book.recorded_table import RecordedTable
    from kinetoscope.book.timeline import Timeline

    sections = dict(re.findall(r"^## `([\w-]+)`\n(.*?)(?=^## |\Z)", DIRECTIVES, re.DOTALL | re.MULTILINE))
    for name, directive in (
        ("timeline", Timeline),
        ("profiler-table", ProfilerTable),
        ("recorded-table", RecordedTable),
    ):
        assert set(re.findall(r"^\| `([\w-]+)` \|", sections[name], re.MULTILINE)) == set(
            directive.option_spec
        )
    assert all(f"`{by}`" in sections["profiler-table"] for by in VIEWS)
    assert all(f"`{table}`" in sections["reference-table"] for table in (*LISTS, *TABLES))


def test_the_gallery_of_ones_own_builds_as_it_is_written(tmp_path: Path) -> None:
    text = (REFERENCE / "extension.md").read_text(encoding="utf-8")
    files = {
        name: body
        for name, _, body in re.findall(
            r"^<!-- (.+?) -->\n(`{3,})\w+\n(.*?)\n\2$", text, re.DOTALL | re.MULTILINE
        )
    }
    assert set(files) == {"conf.py", "docs/index.md", "examples/GALLERY_HEADER.rst", "examples/first.py"}
    folder = make_site(
        tmp_path, {name: f"{body}\n" for name, body in files.items()}, {"my_product": "matmul_add_4096_eager"}
    )
    assert build(folder) == (0, "")
    page = (folder / "out/index.html").read_text(encoding="utf-8")
    assert "NVIDIA H200" in page and "ks-unmeasured" not in page
    assert "ks-timeline" in (folder / "out/gallery/first.html").read_text(encoding="utf-8")
