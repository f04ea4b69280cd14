"""What a site has beside its pages, so that readers can move in their timelines: the viewer and the traces.

The viewer is one script and one stylesheet, loaded when a figure is near the screen.  The pages themselves
hold only the figures.  Each trace that some page shows is in the site once, as a whole::

    _kinetoscope/MACHINE/NAME.js        the trace as data (see kinetoscope.draw.viewer_data)
    _kinetoscope/MACHINE/NAME.raw.js    its file as it was recorded, in a script
    _kinetoscope/MACHINE/NAME.json.gz   its file as it was recorded
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sphinx.util.osutil import relative_uri

from kinetoscope.book.build_context import BuildContext, UnknownName, context_of
from kinetoscope.book.build_setup import SITES
from kinetoscope.book.page_data import pages, this_page
from kinetoscope.draw.viewer import viewer_script, viewer_style
from kinetoscope.draw.viewer_data import data_script, raw_script
from kinetoscope.trace import TraceError

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.builders import Builder
    from sphinx.environment import BuildEnvironment

FOLDER = "_kinetoscope"
"""of the traces, in the site"""


def _viewer_files() -> dict[str, str]:
    """The viewer's files by name, in the site's ``_static``."""
    return {"kinetoscope-timeline.css": viewer_style(), "kinetoscope-timeline.js": viewer_script()}


def add_viewer_loader(app: Sphinx) -> None:
    """Register the loader; an attribute of its script element names the viewer's files and their versions."""
    names = " ".join(f"{name}?v={zlib.crc32(text.encode()):08x}" for name, text in _viewer_files().items())
    attributes: dict[str, Any] = {"loading_method": "defer", "data-viewer": names}
    app.add_js_file("kinetoscope.js", **attributes)


def show_trace(env: BuildEnvironment, name: str, machine: str | None = None) -> str:
    """Notes that the page being read shows a trace, so that the site gets its files.

    Returns its key, ``MACHINE/NAME``, which is what pages and scripts call the trace.
    """
    key = f"{machine or context_of(env).shown}/{name}"
    this_page(env).traces[key] = None
    return key


def tools_html(builder: Builder, docname: str, key: str) -> str:
    """The box with the link to a trace's file and the addresses of its scripts; empty where no site is built.

    ``docname``: the page that the box is on, to which the addresses are relative.
    """
    if builder.name not in SITES:
        return ""
    page = builder.get_target_uri(docname)
    src, raw, file = (
        relative_uri(page, f"{FOLDER}/{quote(key)}{end}") for end in (".js", ".raw.js", ".json.gz")
    )
    key = escape(key, quote=True)
    # A list of twenty links needs twenty different names.
    label = f"Download trace {key.partition('/')[2]}"
    return (
        f'<div class="ks-tools" data-trace="{key}" data-src="{src}" data-raw="{raw}">'
        f'<a class="ks-download" href="{file}" download aria-label="{label}">Download trace</a></div>\n'
    )


def write_assets(app: Sphinx, exception: Exception | None) -> None:
    """``build-finished``: writes what is new or has changed, and removes traces that no page shows any more.

    Sphinx has copied the other static files by then.
    """
    if exception is not None or app.builder.name not in SITES:
        return
    for name, text in _viewer_files().items():
        _write_if_changed(Path(app.outdir, "_static", name), text.encode())
    folder = Path(app.outdir) / FOLDER
    written = set()
    for key in dict.fromkeys(key for page in pages(app.env).values() for key in page.traces):
        for path, content in _files(context_of(app.env), folder, key):
            written.add(path)
            _write_if_changed(path, content)
    for path in [*sorted(folder.rglob("*"), reverse=True), folder]:
        if path.is_file() and path not in written:
            path.unlink()
        elif path.is_dir() and not any(path.iterdir()):
            path.rmdir()


def _write_if_changed(path: Path, content: bytes) -> None:
    if not path.is_file() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _files(context: BuildContext, folder: Path, key: str) -> Iterator[tuple[Path, bytes]]:
    machine, _, name = key.partition("/")
    try:
        recorded = context.file(name, machine).read_bytes()
        data = data_script(context.trace(name, machine), machine=machine, name=name)
    except (UnknownName, TraceError):
        return  # the build has warned about it
    place = folder / machine
    yield place / f"{name}.js", data.encode()
    yield place / f"{name}.raw.js", raw_script(recorded, machine=machine, name=name).encode()
    yield place / f"{name}.json.gz", recorded
