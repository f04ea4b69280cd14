"""Matplotlib figures of examples: recorded as SVG, shown in the colors of the page."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("matplotlib")

PLOT = '''\
"""
A plot
======

Some words about a plot.
"""

import shutil
from pathlib import Path

import matplotlib.pyplot as plt

Path("traces").mkdir(exist_ok=True)
shutil.copyfile("{data}/traces/linear_1024_32_64_eager.json.gz", "traces/plotted.json.gz")

# %%
# Drawn here.

figure, axes = plt.subplots()
axes.barh(["slow", "fast"], [20, 4.25], color=["#1b7f74", "#123456"])
axes.set_xlabel("time in µs")
axes.set_title("One < call & more")
'''
COLORS = re.compile(r"#[0-9a-f]{6}")


@pytest.fixture
def plotted(site):
    """A book with an example that draws a figure, and its first build."""
    site.write("examples/three.py", PLOT)
    site.with_gpu("Test GPU 9000")
    built = site.build_clean("-D", "kinetoscope_only=three", mode="record")
    return site, built


def test_a_figure_is_recorded_as_png_and_svg_and_shown_in_the_colors_of_the_page(plotted) -> None:
    site, built = plotted
    folder = site.recordings / "test-gpu-9000/three"
    assert {path.name for path in folder.glob("sphx*")} == {
        "sphx_glr_three_001.png",
        "sphx_glr_three_001.svg",
    }
    drawing = (folder / "sphx_glr_three_001.svg").read_text("utf-8")
    assert drawing.startswith("<svg")
    assert "<text" in drawing, "text stays text"
    assert not re.search(r"<dc:date|matplotlib.org|DOCTYPE", drawing)
    page = built.html("gallery/three")
    [shown] = re.findall(r'<figure class="ks-plot".*?</figure>', page, re.DOTALL)
    # palette colors, black and white become variables of the page; any other color gets a dark variant
    assert "fill: var(--ks-kernel)" in shown
    assert "var(--ks-surface)" in shown
    assert set(COLORS.findall(shown)) - {"#123456"}, "the dark theme has a lighter color"
    [light, dark] = re.findall(r"--ks-own-1:(#\w+);", shown)
    assert light == "#123456" != dark
    assert not COLORS.search(re.sub(r"<style>.*?</style>", "", shown, flags=re.DOTALL))
    assert "<img" not in shown
    ids = re.findall(r' id="([^"]+)"', shown)
    assert ids
    assert all(ident.startswith("ks-plot-sphx_glr_three_001") for ident in ids)
    assert set(re.findall(r'(?:url\(#|href="#)([^")]+)', shown)) <= set(ids)


def test_other_builders_show_the_picture_or_its_description(plotted) -> None:
    site, built = plotted
    assert 'aria-label="One &lt; call &amp; more: time in µs, slow 20, fast 4.25."' in built.html(
        "gallery/three"
    )
    latex = site.build_clean(builder="latex")
    [tex] = latex.outdir.glob("*.tex")
    assert "sphx_glr_three_001" in tex.read_text()
    words = site.build("-W", builder="text")
    assert "slow 20, fast 4.25" in " ".join((words.outdir / "gallery/three.txt").read_text().split())
    # old recordings have no SVG; the page shows the PNG
    folder = site.recordings / "test-gpu-9000/three"
    (folder / "sphx_glr_three_001.svg").unlink()
    example = folder / "example.json"
    text = example.read_text("utf-8").replace('"sphx_glr_three_001.svg"', '"plotted.json.gz"')
    example.write_text(text, "utf-8")
    older = site.build_clean()
    assert 'class="ks-plot"' not in older.html("gallery/three")
    assert "sphx_glr_three_001.png" in older.html("gallery/three")
