"""What a page needs so that its timelines can be walked into, and where it is put.

The pages themselves hold the drawn figure only.  The whole of each trace that some page shows lies once in
the site, for the viewer to fetch and the reader to keep::

    _kinetoscope/MACHINE/NAME.js        the trace as data (see kinetoscope.draw.viewer_data)
    _kinetoscope/MACHINE/NAME.raw.js    its file as it was recorded, in a script
    _kinetoscope/MACHINE/NAME.json.gz   its file as it was recorded
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from sphinx.util.osutil import relative_uri

from kinetoscope.book.build_context import Book, UnknownName, book_of
from kinetoscope.book.build_setup import SITES
from kinetoscope.draw.viewer_data import data_script, raw_script
from kinetoscope.trace import TraceError

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.builders import Builder
    from sphinx.environment import BuildEnvironment

FOLDER = "_kinetoscope"
"""in the site"""


def trace_key(book: Book, name: str, machine: str | None = None) -> str:
    """``MACHINE/NAME``, by which pages and scripts call a trace."""
    return f"{machine or book.shown}/{name}"


def show_trace(env: BuildEnvironment, name: str, machine: str | None = None) -> str:
    """Notes that the page being read shows a trace, which so becomes part of the site; its key."""
    key = trace_key(book_of(env), name, machine)
    _shown(env).setdefault(env.docname, {})[key] = None
    return key


def tools_html(builder: Builder, docname: str, key: str) -> str:
    """The box with the link to a trace's file and the addresses of its scripts; empty where no site is built.

    ``docname``: the page it stands on, to which the addresses are relative.
    """
    if builder.name not in SITES:
        return ""
    page = builder.get_target_uri(docname)
    src, raw, file = (
        relative_uri(page, f"{FOLDER}/{quote(key)}{end}") for end in (".js", ".raw.js", ".json.gz")
    )
    key = escape(key, quote=True)
    # Twenty links called the same would tell a list of links nothing.
    label = f"Download trace {key.partition('/')[2]}"
    return (
        f'<div class="ks-tools" data-trace="{key}" data-src="{src}" data-raw="{raw}">'
        f'<a class="ks-download" href="{file}" download aria-label="{label}">Download trace</a></div>\n'
    )


def publish(app: Sphinx, exception: Exception | None) -> None:
    """``build-finished``: writes what is new or has changed, and removes what no page shows any more."""
    if exception is not None or app.builder.name not in SITES:
        return
    folder = Path(app.outdir) / FOLDER
    wanted = set()
    for key in dict.fromkeys(key for keys in _shown(app.env).values() for key in keys):
        for path, content in _files(book_of(app.env), folder, key):
            wanted.add(path)
            if not path.is_file() or path.read_bytes() != content:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
    for path in [*sorted(folder.rglob("*"), reverse=True), folder]:
        if path.is_file() and path not in wanted:
            path.unlink()
        elif path.is_dir() and not any(path.iterdir()):
            path.rmdir()


def _files(book: Book, folder: Path, key: str) -> Iterator[tuple[Path, bytes]]:
    machine, _, name = key.partition("/")
    try:
        recorded = book.file(name, machine).read_bytes()
        data = data_script(book.trace(name, machine), machine=machine, name=name)
    except (UnknownName, TraceError):
        return  # the page that shows it has been warned about
    place = folder / machine
    yield place / f"{name}.js", data.encode()
    yield place / f"{name}.raw.js", raw_script(recorded, machine=machine, name=name).encode()
    yield place / f"{name}.json.gz", recorded


def purge(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """``env-purge-doc``"""
    _shown(env).pop(docname, None)


def merge(app: Sphinx, env: BuildEnvironment, docnames: Iterable[str], other: BuildEnvironment) -> None:
    """``env-merge-info``"""
    for docname in docnames:
        if docname in _shown(other):
            _shown(env)[docname] = _shown(other)[docname]


def _shown(env: BuildEnvironment) -> dict[str, dict[str, None]]:
    """The keys of the traces each document shows, in its order; kept in the pickled environment."""
    if not hasattr(env, "kinetoscope_shown"):
        env.kinetoscope_shown = {}  # type: ignore[attr-defined]
    return env.kinetoscope_shown  # type: ignore[attr-defined, no-any-return]
