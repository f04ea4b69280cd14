"""A gallery as others have one: figures of any data, a sub-gallery, and Sphinx-Gallery's own settings."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

GALLERY = Path(__file__).parents[1] / "data/small/second/gallery"

CONF = """
suppress_warnings = ["config.cache"]
sphinx_gallery_conf |= {
    "filename_pattern": "/plot_",
    "image_srcset": ["2x"],
    "expected_failing_examples": ["../examples/plot_fails.py"],
}
"""

PRINTS_AND_DRAWS = f"""
print("Net(\\n  (skip): Identity()\\n)\\n.. timeline:: no_such_trace")

import sys
sys.path.insert(0, {str(GALLERY)!r})
import plots

for figure in vars(plots).values():
    if getattr(figure, "__module__", "") == "plots":
        figure()
"""


def test_a_gallery_of_every_kind(new_site) -> None:
    """One build has all of them, because each takes seconds."""
    site = new_site("gallery").with_gpu("Test GPU 1")
    for folder in ("docs", "examples"):
        shutil.rmtree(site.root / folder)
    shutil.copytree(GALLERY / "base", site.root, dirs_exist_ok=True)
    conf, first = site.root / "conf.py", site.examples / "first.py"
    conf.write_text(conf.read_text("utf-8") + CONF, "utf-8")
    code = first.read_text("utf-8")
    first.unlink()
    site.write(
        "examples/plot_fails.py", code.replace('trace("my_product")', "raise ValueError('as expected')")
    )
    site.write("examples/left_out.py", code.replace("my_product", "left_out"))
    site.write("examples/more/GALLERY_HEADER.rst", "More\n====\n")
    site.write("examples/more/plot_nested.py", code + PRINTS_AND_DRAWS)
    built = site.build_clean(mode="record")

    recordings = site.recordings / "test-gpu-1"
    assert {path.name for path in recordings.glob("*/")} == {"plot_fails", "plot_nested"}
    page = built.html("gallery/more/plot_nested")
    described = re.findall(r'class="ks-plot-svg" role="img" aria-label="([^"]*)"', page)
    assert described == [
        "eager 3, compiled 2.",
        "1 January 3, 2 January 2.",
        "16 1, 64 2, 256 3.",
        "eager: small 1, large 2; compiled: small 3, large 4.",
        "bins with 1, 2, 3, from 1 to 3.",
        "y against x; a line; from 2 to 3 across, and from 2 to 4 in height.",
        "a line in three dimensions; x from 1 to 2, y from 3 to 4, z from 5 to 6.",
    ]
    assert len(list(recordings.glob("plot_nested/*_2_00x.png"))) == len(described)
    pages = ("plot_fails", "left_out", "more/plot_nested")
    shows = dict(zip(pages, (built.text(f"gallery/{page}") for page in pages), strict=True))
    assert "Net(\n  (skip): Identity()\n)\n.. timeline:: no_such_trace" in shows["more/plot_nested"]
    assert "ValueError: as expected" in shows["plot_fails"]
    assert "my_product.js" in page
    assert not [page for page, text in shows.items() if "Not recorded" in text]
