"""The gallery scraper: it shows the traces, tables and figures that a block of an example made.

``conf.py`` names it ``"kinetoscope"``; Sphinx-Gallery finds it through ``kinetoscope._get_sg_image_scraper``.
For traces and tables it returns directives, not pictures, so the page's layout decides how they look.
It also takes matplotlib's figures, with their drawing and a description. If ``"matplotlib"`` stands before
it in the list, Sphinx-Gallery's own scraper has taken the figures already.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx_gallery.scrapers import matplotlib_scraper

from kinetoscope.draw.plots import describe_figure, figure_svg
from kinetoscope.record.store import name_of, result_files

_SEEN = "kinetoscope_seen"
_TRACE_RST = """
.. timeline:: {name}

.. profiler-table:: {name}
   :by: kernel

.. profiler-table:: {name}
   :by: op
   :rows: 12
"""


def scrape(block: tuple[str, str, int], block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Return reST for what the block made: figures first, then traces and tables in the order of writing."""
    return _figures(block, block_vars, gallery_conf) + _results(block_vars)


def _results(block_vars: dict[str, Any]) -> str:
    """Return directives for the traces and tables that are new since the last block."""
    seen: dict[str, int] = block_vars.setdefault(_SEEN, {})
    rst = []
    for path in result_files(Path(block_vars["src_file"]).parent / "traces"):
        stamp = path.stat().st_mtime_ns
        if seen.get(path.name) == stamp:
            continue
        seen[path.name] = stamp
        if path.suffix == ".csv":
            rst.append(f"\n.. recorded-table:: {name_of(path)}\n")
        else:
            rst.append(_TRACE_RST.format(name=name_of(path)))
    return "\n".join(rst)


def _figures(block: tuple[str, str, int], block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Return Sphinx-Gallery's own reST for matplotlib's figures, with a description computed from each.

    Paper and the gallery's index show a figure's PNG; its SVG is written beside that, for the page.
    """
    import matplotlib.pyplot as plt

    figures = [plt.figure(number) for number in plt.get_fignums()]
    # Sphinx-Gallery's scraper closes the figures, so draw and describe them first.
    drawings = [(figure_svg(figure), describe_figure(figure)) for figure in figures]
    rst = str(matplotlib_scraper(block, block_vars, gallery_conf))
    paths = block_vars["image_path_iterator"].paths[-len(drawings) :] if drawings else []
    for path, (svg, description) in zip(paths, drawings, strict=True):
        picture = Path(path)
        picture.with_suffix(".svg").write_text(svg, encoding="utf-8")
        alt = " ".join(description.split())
        theirs = re.search(rf"{re.escape(picture.name)}\n +:alt:(.*)", rst)
        if alt and theirs:
            rst = f"{rst[: theirs.start(1)]} {alt}{rst[theirs.end(1) :]}"
    return rst
