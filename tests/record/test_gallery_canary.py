"""The private functions of Sphinx-Gallery that we use have not changed.

If a test fails after an update, read the function's new code, adapt ``record/worker.py``, then change the pin
in ``pyproject.toml``.
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import sphinx_gallery
from sphinx_gallery import backreferences, gen_gallery, gen_rst, py_source_parser, scrapers

from kinetoscope.book import gallery

ROOT = Path(__file__).parents[2]


def test_the_version_is_pinned() -> None:
    pins = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["sphinx"]
    assert f"sphinx-gallery=={sphinx_gallery.__version__}" in pins


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (gen_rst.execute_script, ["script_blocks", "script_vars", "gallery_conf", "file_conf"]),
        (gen_gallery._fill_gallery_conf_defaults, ["sphinx_gallery_conf", "app", "check_keys"]),
        (py_source_parser.split_code_and_text_blocks, ["source_file", "return_node"]),
        (backreferences.identify_names, ["script_blocks", "ref_regex", "global_variables", "node"]),
        (backreferences._make_ref_regex, ["default_role"]),
        (scrapers.ImagePathIterator, ["image_path"]),
        (gen_gallery.get_subsections, ["srcdir", "examples_dir", "gallery_conf", "check_for_header"]),
    ],
)
def test_signatures(function: Callable[..., object], parameters: list[str]) -> None:
    assert list(inspect.signature(function).parameters) == parameters


def test_pages_are_written_as_the_parser_expects() -> None:
    header = gen_rst.RST_BLOCK_HEADER.format(12, 34)
    assert gallery._HEADER.match(header.splitlines()[0])[1] == "12"
    footer = gen_rst.DOWNLOAD_LINKS_HEADER.format("x").splitlines()
    assert any(line.startswith(gallery._FOOTER) for line in footer)
    labels = [
        line for line in gen_rst.EXAMPLE_HEADER.format("x.py", "x.py", "").splitlines() if line[:3] == ".. "
    ]
    assert gallery._TITLE_LABEL.match(labels[-1])


def test_it_executes_and_returns_a_string_for_each_block(tmp_path: Path) -> None:
    script = tmp_path / "x.py"
    script.write_text('"""\nT\n=\n"""\nprint("first")\n\n# %%\n# Text\n\nprint("second")\n')
    file_conf, blocks = py_source_parser.split_code_and_text_blocks(str(script))
    assert [(kind, line) for kind, _, line in blocks] == [("text", 1), ("code", 5), ("text", 8), ("code", 9)]
    conf = gen_gallery._fill_gallery_conf_defaults({"capture_repr": ()}, app=None, check_keys=False)
    conf["src_dir"] = str(tmp_path)
    variables = {
        "execute_script": True,
        "image_path_iterator": scrapers.ImagePathIterator(str(tmp_path / "x_{0:03}.png")),
        "src_file": str(script),
        "target_file": str(script),
    }
    outputs, seconds = gen_rst.execute_script(blocks, variables, conf, file_conf)
    assert ["first" in output for output in outputs] == [False, True, False, False]
    assert ["second" in output for output in outputs] == [False, False, False, True]
    assert seconds < 10
