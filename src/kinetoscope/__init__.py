"""Kinetoscope: what a GPU did, from a trace of ``torch.profiler``; and a Sphinx extension for books about it.

``kinetoscope.load(path)`` reads a trace; ``extensions = ["kinetoscope"]`` in a ``conf.py`` sets up the
extension.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

    from kinetoscope.api import NotMeasured, Table, Trace, TraceError, count, load, time, trace_of

__version__ = "0.1.0"
__all__ = ["NotMeasured", "Table", "Trace", "TraceError", "count", "load", "setup", "time", "trace_of"]


def __getattr__(name: str) -> Any:
    """Imports the public names on first use: pytest loads this package whether or not a test uses it."""
    if name in __all__:
        from kinetoscope import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def setup(app: Sphinx) -> dict[str, Any]:
    """Sphinx's entry point.  The book is imported here, so that reading a trace needs no Sphinx."""
    from kinetoscope.book import setup as set_up_book

    return set_up_book(app)


def _get_sg_image_scraper() -> Any:
    """Sphinx-Gallery calls this for ``"image_scrapers": ["kinetoscope"]``."""
    from kinetoscope.record.scraper import scrape

    return scrape
