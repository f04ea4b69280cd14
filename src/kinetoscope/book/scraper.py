"""The gallery scrapers: one finds the traces and tables a block wrote, one its matplotlib figures.

Named in ``conf.py`` by their dotted strings, ``"kinetoscope.book.scraper.scrape"``, which answers with
directives, and ``"kinetoscope.book.scraper.figures"`` (in place of Sphinx-Gallery's ``"matplotlib"``):
strings are what a worker process can be told.  How a trace or figure looks is decided when the page is laid
out.
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
    """reST for the traces this block exported under ``traces/``, in the order they were written."""
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


def figures(block: tuple[str, str, int], block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
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
