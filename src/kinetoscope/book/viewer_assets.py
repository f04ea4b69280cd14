"""The timeline viewer in a site: one script and one stylesheet, loaded when a figure is near the screen."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinetoscope.book.build_setup import SITES
from kinetoscope.draw.viewer import viewer_script, viewer_style

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SCRIPT, STYLE = "kinetoscope-timeline.js", "kinetoscope-timeline.css"
"""In the site's ``_static``"""


def _files() -> dict[str, str]:
    return {STYLE: viewer_style(), SCRIPT: viewer_script()}


def add_viewer_loader(app: Sphinx) -> None:
    """Register the loader; an attribute of its script element names the viewer's files and their versions."""
    names = " ".join(f"{name}?v={zlib.crc32(text.encode()):08x}" for name, text in _files().items())
    attributes: dict[str, Any] = {"loading_method": "defer", "data-viewer": names}
    app.add_js_file("kinetoscope.js", **attributes)


def write_viewer(app: Sphinx, exception: Exception | None) -> None:
    """``build-finished``: Sphinx has copied the other static files by then."""
    if exception is not None or app.builder.name not in SITES:
        return
    folder = Path(app.outdir) / "_static"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in _files().items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8", newline="\n")
