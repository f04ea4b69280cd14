"""Progress of work that takes long: on a terminal only, and only once it has taken a while."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from kinetoscope.cli.output import on_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_AFTER = 0.4
"""Seconds of silence; most traces are read by then, and rich takes a while to load"""


@contextmanager
def waiting(what: str) -> Iterator[Callable[[str], None]]:
    """Shows that something is being done; the function it gives says what is done next."""
    if not on_terminal():
        yield lambda text: None
        return
    # Loaded only where somebody looks: threads and rich.
    from kinetoscope.cli.spinner import Spinner

    spinner = Spinner(what, _AFTER)
    try:
        yield spinner.say
    finally:
        spinner.end()
