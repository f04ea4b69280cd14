"""The gallery scraper: it finds the traces, tables and figures that a block of an example made.

``conf.py`` names it ``"kinetoscope"``; Sphinx-Gallery finds it through ``kinetoscope._get_sg_image_scraper``.
For traces and tables it returns directives, not pictures: how they look is decided when the page is laid out.
It also takes matplotlib's figures, with their drawing and a description; where ``"matplotlib"`` stands before
it in the list, Sphinx-Gallery's own scraper has taken them already.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx_gallery.scrapers import matplotlib_scraper

from kinetoscope.draw.plots import describe_figure, figure_svg
from kinetoscope.record.run import written

_SEEN = "kinetoscope_seen"
_SHOWN = """
.. timeline:: {name}

.. profiler-table:: {name}
   :by: kernel

.. profiler-table:: {name}
   :by: op
   :rows: 12
"""


def scrape(block: tuple[str, str, int], block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """reST for all that the block made: figures first, then traces and tables in the order of writing."""
    return _figures(block, block_vars, gallery_conf) + _traces(block_vars)


def _traces(block_vars: dict[str, Any]) -> str:
    seen: dict[str, int] = block_vars.setdefault(_SEEN, {})
    rst = []
    for path in written(Path(block_vars["src_file"]).parent / "traces"):
        stamp = path.stat().st_mtime_ns
        if seen.get(path.name) == stamp:
            continue
        seen[path.name] = stamp
        if path.suffix != ".csv":
            name = path.name.partition(".")[0]
            rst.append(_SHOWN.format(name=name))
        else:
            rst.append(f"\n.. recorded-table:: {path.stem}\n")
    return "\n".join(rst)


def _figures(block: tuple[str, str, int], block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Sphinx-Gallery's own reST for matplotlib's figures, with words computed from what is in each.

    Beside each PNG, which paper and the gallery's index show, its SVG is written.
    """
    import matplotlib.pyplot as plt

    drawn = [plt.figure(number) for number in plt.get_fignums()]
    kept = [(figure_svg(figure), describe_figure(figure)) for figure in drawn]
    # It closes the figures, so what is kept of them must be kept before.
    rst = str(matplotlib_scraper(block, block_vars, gallery_conf))
    paths = block_vars["image_path_iterator"].paths[-len(kept) :] if kept else []
    for path, (drawing, words) in zip(paths, kept, strict=True):
        picture = Path(path)
        picture.with_suffix(".svg").write_text(drawing, encoding="utf-8")
        rst = _with_alt(rst, picture.name, " ".join(words.split()))
    return rst


def _with_alt(rst: str, picture: str, words: str) -> str:
    """``rst`` with the words for one of its pictures in place of what Sphinx-Gallery takes for them."""
    lines = rst.splitlines()
    inside = False
    for number, line in enumerate(lines):
        if line.lstrip().startswith(".. image"):
            inside = picture in line
        elif inside and line.lstrip().startswith(":alt:") and words:
            lines[number] = f"{line[: line.index(':')]}:alt: {words}"
    return "\n".join(lines) + "\n"
