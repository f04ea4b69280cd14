"""The one exception of this room."""

from __future__ import annotations


class TraceError(ValueError):
    """A file that cannot be read as a trace.

    The message is one sentence that names the file, says what is wrong with it and what to do next.
    """
