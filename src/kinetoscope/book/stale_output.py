"""Takes out of a built site what no page shows any more.

Sphinx writes, and never deletes: the page of an example that is gone, its pictures and its downloads would
stay in the site, to be found by whoever kept the address.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

# What the build before had published, from the time its environment was read to the end of this build
_BEFORE: WeakKeyDictionary[BuildEnvironment, set[Path]] = WeakKeyDictionary()


def note_published(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """``env-get-outdated``: notes what is published, before Sphinx forgets the documents that are gone."""
    _BEFORE[env] = _published(app, env)
    return []


def unpublish(app: Sphinx, exception: Exception | None) -> None:
    """``build-finished``: removes what the build before published and this one does not."""
    before = _BEFORE.pop(app.env, set())
    if exception is not None:
        return
    for path in before - _published(app, app.env):
        path.unlink(missing_ok=True)
        # dirhtml has a folder for each page, downloads have one for each file
        with contextlib.suppress(OSError):
            path.parent.rmdir()


def _published(app: Sphinx, env: BuildEnvironment) -> set[Path]:
    """The files of a site that belong to its documents; none where no site is built."""
    builder = app.builder
    if builder.format != "html":
        return set()
    outdir = Path(app.outdir)
    pictures = {outdir / builder.imagedir / name for _, name in env.images.values()}
    downloads = {outdir / "_downloads" / str(name) for _, name in env.dlfiles.values()}
    pages = {Path(builder.get_outfilename(docname)) for docname in env.all_docs}  # type: ignore[attr-defined]
    link = app.config.html_sourcelink_suffix
    endings = [suffix if suffix == link else suffix + link for suffix in app.config.source_suffix]
    sources = {outdir / "_sources" / f"{docname}{ending}" for docname in env.all_docs for ending in endings}
    return pictures | downloads | pages | sources
