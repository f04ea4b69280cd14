"""Builders other than ``html``: they lay out, and never execute an example."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("builder", ["text", "gettext", "dummy", "linkcheck", "xml"])
def test_nothing_is_executed(site, builder: str) -> None:
    """Only builds of a site record, so these do not, even on a GPU with an example to record."""
    site.with_gpu("Another GPU")
    one = (site.examples / "one.py").read_text()
    site.write("examples/one.py", one + '\nraise RuntimeError("executed")\n')
    for mode in ("auto", "record", "live"):
        built = site.build(builder=builder, mode=mode)
        assert built.status == 0, built.err
        assert not built.traceback
        assert [text for text in built.warnings if "[kinetoscope.stale]" not in text] == []
        assert not (site.recordings / "another-gpu").exists()


def test_text(laid_out) -> None:
    built = laid_out("text")
    text = (built.outdir / "read.txt").read_text()
    assert "takes 1 kernel" in text
    assert "Test GPU 9000" in text
    assert "The transpose is metadata." in text
    assert "| name " in text  # the column is wider than its heading
    page = (built.outdir / "gallery/one.txt").read_text()
    assert "size 64" in page


@pytest.mark.parametrize("builder", ["text", "man", "texinfo", "latex", "html"])
def test_a_figure_that_an_example_drew(laid_out, builder: str) -> None:
    """Sphinx-Gallery's own node for a figure works only with two of these builders."""
    built = laid_out(builder)
    if builder == "text":
        assert "what was drawn" in (built.outdir / "plain.txt").read_text()
    if builder == "html":
        assert 'alt="what was drawn"' in built.html("plain")


def test_latex_gets_the_picture(laid_out) -> None:
    built = laid_out("latex")
    pictures = sorted(path for path in built.outdir.glob("timeline-*.pdf"))
    # one in the page of two.py, one in that of one.py, and one with highlights in read.md
    assert [path.name.rpartition("-")[0] for path in pictures] == [
        "timeline-geglu_eager",
        "timeline-linear_eager",
        "timeline-linear_eager",
    ]
    assert len({path.read_bytes() for path in pictures}) == 3
    assert all(path.read_bytes().startswith(b"%PDF") for path in pictures)
    [tex] = built.outdir.glob("*.tex")
    assert all(path.stem in tex.read_text() for path in pictures)
    assert "The transpose is metadata." in tex.read_text()


def test_texinfo_gets_a_picture_it_can_show(laid_out) -> None:
    built = laid_out("texinfo")
    assert [path for path in built.outdir.rglob("*.png") if path.name.startswith("timeline-linear_eager-")]


def test_gettext_has_the_prose_and_no_measurement(laid_out) -> None:
    built = laid_out("gettext")
    pot = (built.outdir / "read.pot").read_text()
    assert "One step of the layer takes" in pot
    assert "Recorded on" not in pot


def test_dirhtml(laid_out) -> None:
    built = laid_out("dirhtml")
    assert "takes 1 kernel" in built.text("read/index")
    assert "size 64" in built.text("gallery/one/index")


@pytest.mark.parametrize("builder", ["singlehtml", "epub", "json", "pseudoxml", "man"])
def test_other_builders(laid_out, builder: str) -> None:
    built = laid_out(builder)
    assert [text for text in built.warnings if "kinetoscope" in text.split("/site/")[-1]] == []
