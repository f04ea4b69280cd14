"""A warning on a gallery page names the line of the ``.py`` that the text came from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sphinx_gallery.gen_gallery import _fill_gallery_conf_defaults
from sphinx_gallery.gen_rst import rst_blocks, save_rst_example
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

from kinetoscope.book.gallery import UNRECORDED, recorded_output, with_outputs
from kinetoscope.record.provenance import Machine, Provenance
from kinetoscope.record.script import read_script
from kinetoscope.record.store import BlockOutput, ExampleRecording

ROOT = Path(__file__).parents[2]


def page_with(page, path: Path, recorded: ExampleRecording | None):
    """Return the page with the recorded outputs."""
    return with_outputs(page, read_script(path), lambda block: recorded_output(block, recorded, "A GPU"))


SHAPES = {
    "usual": '"""\nTitle\n=====\n\nWords\nmore words\n"""\n\nx = 1\n\n'
    "# %%\n# Text one\n# text two\n\ny = 2\n",
    "title in the first line": '"""Title\n=====\n\nWords\n"""\nx = 1\n# %%\n# Text\ny = 2\n',
    "blank lines before the title": '"""\n\n\n\nTitle\n=====\n\nWords\n"""\nx = 1\n',
    "a raw string": 'r"""\nTitle\n=====\n\nWords \\alpha\n"""\nx = 1\n',
    "after a header": "#!/usr/bin/env python\n# /// script\n# dependencies = []\n# ///\n"
    '"""\nTitle\n=====\n\nWords\n"""\n\n\n\nx = 1\n',
    "single quotes": "'''\nTitle\n=====\n\nWords\n'''\nx = 1\n",
    "hashes": '"""\nTitle\n=====\n"""\n' + "#" * 30 + "\n# Text one\n#\n# Text two\n\nx = 1\n",
    "empty comment lines first": '"""\nTitle\n=====\n"""\n# %%\n#\n#\n# Text one\n#\n# Text two\n\nx = 1\n',
    "two texts in a row": '"""\nTitle\n=====\n"""\n# %%\n# Text one\n\n# %%\n# Text two\n\n'
    "x = 1\n\n# %%\n# Text three\n",
    "text last": '"""\nTitle\n=====\n"""\nx = 1\n\n# %%\n# Text one\n#\n# .. note::\n#\n#    Text two\n',
    "code before a text with no blank line": '"""\nTitle\n=====\n"""\nx = 1\n# %%\n# Text one\n'
    "y = 2\n# a comment\nz = 3\n",
}


def page_of(path: Path, folder: Path) -> list[str]:
    """Return the page that Sphinx-Gallery writes for a script that it does not execute."""
    conf = _fill_gallery_conf_defaults({"show_signature": False}, app=None, check_keys=False)
    conf["src_dir"] = str(folder)
    file_conf, blocks = split_code_and_text_blocks(str(path))
    rst = rst_blocks(blocks, ["" for _ in blocks], file_conf, conf)
    target = folder / "gallery" / path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    save_rst_example(rst, target, 0.0, 0.0, conf)
    return target.with_suffix(".rst").read_text().splitlines()


def check(path: Path, folder: Path) -> int:
    """Check the line number of each line of text and code; return how many were checked."""
    source = path.read_text().splitlines()
    texts = {line.lstrip("# ").rstrip() for line in source}
    checked = 0
    body = False
    for text, line in page_with(page_of(path, folder), path, None):
        body = (body or bool(re.match(r"\.\. _sphx_glr_gallery", text))) and "_sphx_glr_download_" not in text
        bare = text.strip()
        if body and bare in texts and bare and "_sphx_glr" not in bare:
            assert 1 <= line <= len(source)
            assert bare in source[line - 1], f"{bare!r} is not in line {line}: {source[line - 1]!r}"
            checked += 1
    return checked


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(shape: str, tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text(SHAPES[shape])
    words = len(
        [line for line in SHAPES[shape].splitlines() if re.search("Title|Words|words|Text|text", line)]
    )
    assert check(path, tmp_path) >= words + SHAPES[shape].count(" = ") - SHAPES[shape].count("dependencies")


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_the_examples_of_the_book(path: Path, tmp_path: Path) -> None:
    assert check(path, tmp_path) > len(path.read_text().splitlines()) / 2


def recording(folder: Path, path: Path, said: list[str]) -> ExampleRecording:
    blocks = read_script(path).blocks
    outputs = [BlockOutput(block.code, block.before, text) for block, text in zip(blocks, said, strict=True)]
    return ExampleRecording(folder, path.stem, tuple(outputs), 1.0, Provenance(Machine("A GPU"), "3"))


def test_output_stands_after_its_code_and_is_reported_at_its_last_line(tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text('"""\nT\n=\n"""\nx = 1\nprint(x)\n\n# %%\n# Text\n\nprint(2)\n')
    page = page_of(path, tmp_path)
    shown = list(page_with(page, path, recording(tmp_path, path, ["OUT1\nOUT2", "OUT3"])))
    texts = [text for text, _ in shown]
    lines = dict(shown)
    assert lines["OUT1"] == lines["OUT2"] == 6
    assert lines["OUT3"] == 11
    assert texts.index("    print(x)") < texts.index("OUT1") < texts.index("Text") < texts.index("OUT3")
    assert texts.index("OUT3") < next(
        n for n, text in enumerate(texts) if "_sphx_glr_download_" in text and n > 20
    )
    assert [text for text in texts if not text.startswith("OUT")].count("") >= page.count("")


def test_a_page_of_two_blocks_has_its_output_after_the_code_too(tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text('"""\nT\n=\n"""\nprint(1)\n')
    texts = [text for text, _ in page_with(page_of(path, tmp_path), path, recording(tmp_path, path, ["OUT"]))]
    assert texts.index("    print(1)") < texts.index("OUT")


def test_the_same_code_twice_has_each_its_own_output(tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text('"""\nT\n=\n"""\nx = 1\n\n# %%\n# A\n\nprint(x)\n\n# %%\n# B\n\nprint(x)\n')
    shown = page_with(page_of(path, tmp_path), path, recording(tmp_path, path, ["0", "OUT1", "OUT2"]))
    assert [text for text, _ in shown if text in ("A", "B", "OUT1", "OUT2")] == ["A", "OUT1", "B", "OUT2"]


def test_the_page_says_why_an_output_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text('"""\nT\n=\n"""\nx = 1\n\n# %%\n# A\n\nprint(x)\n')
    old = recording(tmp_path, path, ["OUT1", "OUT2"])
    path.write_text(path.read_text().replace("x = 1", "x = 2"))
    shown = "\n".join(text for text, _ in page_with(page_of(path, tmp_path), path, old))
    assert UNRECORDED.splitlines()[0] in shown
    assert shown.index("This code has changed since it was recorded on A GPU") < shown.index(
        "Code before this block has changed since it was recorded on A GPU"
    )
    assert "OUT" not in shown
