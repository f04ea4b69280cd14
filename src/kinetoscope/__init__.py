"""Kinetoscope: a Sphinx extension for books about what a GPU did, computed from recordings.

``extensions = ["kinetoscope"]`` in a ``conf.py`` sets it up; ``kinetoscope.load(path)`` reads a trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinetoscope.trace import Trace, TraceError, load

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__version__ = "0.1.0"
__all__ = ["Trace", "TraceError", "load", "setup"]


def setup(app: Sphinx) -> dict[str, Any]:
    """Sphinx's entry point.  Imported here so that reading a trace needs no Sphinx."""
    from kinetoscope.book import setup as set_up_book

    return set_up_book(app)
