"""The reference pages are generated from tables in the code, and every snippet on them works."""

from __future__ import annotations

import base64
import dataclasses
import re
import subprocess
import sys
from collections.abc import Iterable
from html import unescape
from pathlib import Path
from typing import get_args
from unittest.mock import MagicMock

import pytest

from kinetoscope import cli
from kinetoscope.book import DIRECTIVES, setup
from kinetoscope.book.claims import Outcome, Verdict
from kinetoscope.book.config import MODES, VALUES
from kinetoscope.book.directive import Option
from kinetoscope.book.messages import SUBTYPES
from kinetoscope.book.reference_tables import (
    CHANGES,
    CLAIM_FIELDS,
    LISTS,
    SEVERITIES,
    TABLES,
    VERDICTS,
    inline,
)
from kinetoscope.cli import verdicts
from kinetoscope.draw.palette import CHANGE_LABELS, CHANGE_SIGNS
from kinetoscope.draw.views import CHANGE_COLUMNS, COLUMNS, VIEWS
from kinetoscope.measure.compare import TOLERANCE, Change
from kinetoscope.measure.csvtable import SUFFIXES
from kinetoscope.measure.printing import printed
from kinetoscope.measure.summary import Summary
from kinetoscope.measure.vocabulary import OPERATORS, VOCABULARY
from kinetoscope.record.provenance import Machine, Provenance
from kinetoscope.record.script import read_script
from kinetoscope.record.store import BlockOutput, write_example, write_machine
from kinetoscope.trace import CODES, Severity

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
# The documented example of kinetoscope_sources, which the snippets quote.
CONF += re.findall(
    r"^```python\n(.*?)^```$",
    (REFERENCE / "configuration.md").read_text(encoding="utf-8"),
    re.DOTALL | re.MULTILINE,
)[0]
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
DRAWING = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9" fill="#1b7f74"/></svg>'
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
)
EXAMPLE = '"""\nSamples\n=======\n"""\nprint(1)\n'


def make_site(folder: Path, files: dict[str, str], samples: dict[str, str] = SAMPLES) -> Path:
    """Write a site with one recorded example, which wrote ``samples`` (by NAME, files in tests/data)."""
    gallery = {"examples/GALLERY_HEADER.rst": "Examples\n========\n", "examples/03_kernels_mlp.py": EXAMPLE}
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
        files={
            **traces,
            "pointwise_geglu.csv": POINTWISE.encode(),
            f"sphx_glr_{path.stem}_001.svg": DRAWING.encode(),
            f"sphx_glr_{path.stem}_001.png": PIXEL,
        },
    )
    write_machine(machine, PROVENANCE)
    return folder


def build(folder: Path, *options: str) -> tuple[int, str]:
    """Build without recording; return the exit status and the warnings."""
    run = subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", "-q", "-c", ".", "-D", "kinetoscope_mode=replay"),
            *(*options, "docs", "out"),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "", "NO_COLOR": "1", "HOME": str(folder)},
    )
    return run.returncode, run.stderr


def literals(html: str) -> set[str]:
    """Return the texts that a page shows as code."""
    codes = re.findall(r"<code[^>]*>(.*?)</code>", html, re.DOTALL)
    return {unescape(re.sub(r"<[^>]+>", "", code)) for code in codes}


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The texts shown as code on each reference page that has generated tables; ``index`` has all tables."""
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
    """Return the source of a reference page, with links to other pages as plain text."""
    text = (REFERENCE / f"{name}.md").read_text(encoding="utf-8")
    return re.sub(r"\[([^\]\n]*)\]\([./\w-]+\.md(?:#[\w-]+)?\)", r"\1 page", text)


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


def test_an_unknown_table_is_a_warning_with_its_line_in_every_build(tmp_path: Path) -> None:
    pages = {
        "docs/index.md": f"# T\n\ntext\n\n```{{reference-table}} warning\n```\n\n{_toctree(['page'])}",
        "docs/page.rst": "T\n=\n\ntext\n\n.. reference-table:: warning\n",
    }
    folder = make_site(tmp_path, pages)
    what = "WARNING: no reference table 'warning'; did you mean 'warnings'? [kinetoscope.name]"
    for _ in ("a first build", "a second one, with nothing changed"):
        status, warnings = build(folder, "-W", "--keep-going")
        assert status == 1
        assert f"index.md:5: {what}" in warnings and f"page.rst:6: {what}" in warnings


def test_every_change_verdict_and_field_is_in_its_list(reference: dict[str, set[str]]) -> None:
    assert set(CHANGES) == set(CHANGE_SIGNS) == set(CHANGE_LABELS) == set(get_args(Change))
    assert all(printed(TOLERANCE, "share") in CHANGES[change] for change in ("kept", "slower", "faster"))
    assert set(VERDICTS) == set(get_args(Outcome)) == set(verdicts.MARKS)
    assert set(CLAIM_FIELDS) == {field.name for field in dataclasses.fields(Verdict)}
    assert {*CHANGES, *VERDICTS, *CLAIM_FIELDS} <= reference["index"]


PAGES = [(REFERENCE / name).read_text(encoding="utf-8") for name in ("directives.md", "sentences.md")]
MYST_SNIPPET = re.compile(r"^````markdown\n(.*?)\n````$", re.DOTALL | re.MULTILINE)
REST_SNIPPET = re.compile(r"^```rst\n(.*?)\n```$", re.DOTALL | re.MULTILINE)
SECTIONS = {
    name: section
    for page in PAGES
    for name, section in re.findall(r"^## `([\w-]+)`\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
}
MYST = [text for page in PAGES for text in MYST_SNIPPET.findall(page)]
REST = [text for page in PAGES for text in REST_SNIPPET.findall(page)]


def test_each_documented_example_works_in_both_languages_and_shows_the_same(tmp_path: Path) -> None:
    assert len(MYST) == len(REST) >= len(SECTIONS)
    # each language gets its own site, because a claim's id must be unique in a book
    bodies = []
    for title, kind, texts in (("# Example", "md", MYST), ("Example\n=======", "rst", REST)):
        pages = {f"docs/page{n}.{kind}": f"{title}\n\n{text}\n" for n, text in enumerate(texts)}
        pages["docs/index.md"] = f"# All\n\n{_toctree(list(pages))}"
        folder = make_site(tmp_path / kind, pages)
        assert build(folder, "-n") == (0, "")
        bodies.append([_body(folder / f"out/page{number}.html") for number in range(len(texts))])
    for text, myst, rest in zip(MYST, *bodies, strict=True):
        assert myst == rest, text
        assert "ks-unmeasured" not in myst, text


def _body(path: Path) -> str:
    body = re.search(r'<div class="body".*?</section>', path.read_text(encoding="utf-8"), re.DOTALL)
    assert body is not None
    return body[0]


def test_what_is_shown_beside_an_example_is_that_example() -> None:
    for text in MYST:
        # A {reported} beside its source would count as one of the book's own.
        if not text.startswith(("```{machines}", "```{reported}")):
            assert any(f"::::\n\n{text}\n" in page for page in PAGES), text


def _registered() -> tuple[dict[str, set[str]], set[str]]:
    """Return the options of each directive and the roles, as the extension registers them."""
    app = MagicMock()
    setup(app)
    directives = {call.args[0]: set(call.args[1].option_spec or ()) for call in app.add_directive.mock_calls}
    return directives, {call.args[0] for call in app.add_role.mock_calls}


def test_every_directive_and_role_is_documented_and_no_other() -> None:
    directives, roles = _registered()
    assert {"timeline", "claim", "guess"} <= set(directives) and {"measured", "published"} <= roles
    assert set(SECTIONS) == {*directives, *roles}
    for name in directives:
        assert any(f"{{{name}}}" in text for text in MYST_SNIPPET.findall(SECTIONS[name])), name
        assert any(f".. {name}::" in text for text in REST_SNIPPET.findall(SECTIONS[name])), name
    for name in roles:
        assert any(f"{{{name}}}`" in text for text in MYST_SNIPPET.findall(SECTIONS[name])), name
        assert any(f":{name}:`" in text for text in REST_SNIPPET.findall(SECTIONS[name])), name


def test_all_options_are_documented_and_each_is_tried() -> None:
    for name, options in _registered()[0].items():
        assert (f"```{{reference-table}} {name}-options\n```" in SECTIONS[name]) == bool(options), name
        tried = {
            option
            for text in MYST_SNIPPET.findall(SECTIONS[name])
            for option in re.findall(r"^:([\w-]+):", text, re.MULTILINE)
        }
        assert options - {"machine"} <= tried, name
    assert all(f"``{by}``" in DIRECTIVES["profiler-table"].option_spec["by"].what for by in VIEWS)
    assert all(f"*{column.heading}*" in SECTIONS["trace-compare"] for column in CHANGE_COLUMNS)
    own = [name for name in (*LISTS, *TABLES) if name.removesuffix("-options") not in DIRECTIVES]
    assert all(f"`{table}`" in SECTIONS["reference-table"] for table in own)


def test_every_option_has_a_sentence_which_the_reference_shows(reference: dict[str, set[str]]) -> None:
    """The test above checks that each list is on the page of its directive."""
    for name, directive in DIRECTIVES.items():
        options = directive.option_spec
        assert all(isinstance(option, Option) and option.what for option in options.values()), name
        shown = LISTS[f"{name}-options"] if options else []
        assert [(f"``{option}``", "", options[option].what) for option in options] == list(shown)
        assert set(options) <= reference["index"]


def test_every_command_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    page = (REFERENCE / "command-line.md").read_text(encoding="utf-8")
    sections = dict(
        re.findall(r"^## `kinetoscope ([\w-]+)[^`]*`\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    )
    assert list(sections) == list(cli.COMMANDS)
    assert f"`{verdicts.SITE.as_posix()}`" in page
    marks = dict(re.findall(r"^\| `(\S)` \| `([\w ]+)` \|$", page, re.MULTILINE))
    assert marks == {mark: outcome for outcome, mark in verdicts.MARKS.items()}
    both = {"--strict", "--max-bytes"}
    for command, section in sections.items():
        with pytest.raises(SystemExit):
            cli.main([command, "--help"])
        shown = capsys.readouterr().out
        given = set(re.findall(r"--[a-z][\w-]*", shown)) - {"--help"}
        assert command == "claims" or both <= given
        documented = set(re.findall(r"(?<=`)--[a-z][\w-]*", section))
        assert documented == given - both, command
    assert all(f"`{option}" in page for option in both) and "kinetoscope --version" in page


def test_every_exit_status_is_documented() -> None:
    page = (REFERENCE / "command-line.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\d+)` \| (.*) \|$", page, re.MULTILINE)
    assert {int(status): what for status, what in rows} == cli.EXIT_STATUSES


def test_the_keys_of_a_summary_and_the_views_are_documented() -> None:
    page = (REFERENCE / "command-line.md").read_text(encoding="utf-8")
    keys = re.findall(r"^\| `([a-z_]+)` \|", page.partition("## `kinetoscope table")[0], re.MULTILINE)
    assert keys == [field.name for field in dataclasses.fields(Summary)]
    assert all(f"`{by}`" in page for by in VIEWS)


def test_every_finding_is_in_its_list(reference: dict[str, set[str]]) -> None:
    assert set(CODES) <= reference["index"]
    assert set(SEVERITIES) == set(Severity)


def test_the_documented_gallery_builds_as_written(tmp_path: Path) -> None:
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
