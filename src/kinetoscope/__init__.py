"""Kinetoscope: what a GPU did, from a trace of ``torch.profiler``; and a Sphinx extension for books about it.

``kinetoscope.load(path)`` reads a trace; ``extensions = ["kinetoscope"]`` in a ``conf.py`` sets up the
extension.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

    from kinetoscope.api import Table, Trace, count, load, time, trace_of
    from kinetoscope.trace import TraceError

__version__ = "0.1.0"
__all__ = ["Table", "Trace", "TraceError", "count", "load", "setup", "time", "trace_of"]

# Looked up when they are asked for: pytest loads its plugins whether or not a test uses them.
_HOMES = {
    "Table": "kinetoscope.api",
    "Trace": "kinetoscope.api",
    "TraceError": "kinetoscope.trace",
    "count": "kinetoscope.api",
    "load": "kinetoscope.api",
    "time": "kinetoscope.api",
    "trace_of": "kinetoscope.api",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def setup(app: Sphinx) -> dict[str, Any]:
    """Sphinx's entry point.  Imported here so that reading a trace needs no Sphinx."""
    from kinetoscope.book import setup as set_up_book

    return set_up_book(app)


def _get_sg_image_scraper() -> Any:
    """What Sphinx-Gallery calls for ``"image_scrapers": ["kinetoscope"]``."""
    from kinetoscope.record.scraper import scrape

    return scrape
