"""Progress of work that takes long: on a terminal only, and only once it has taken a while."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kinetoscope.cli.output import on_terminal, printable

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
    status = _Status(what)
    timer = threading.Timer(_AFTER, status.begin)
    timer.daemon = True
    timer.start()
    try:
        yield status.say
    finally:
        timer.cancel()
        status.end()


class _Status:
    """rich's spinner, from the moment the timer begins it."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.Lock()
        self._over = False
        self._shown: object = None

    def begin(self) -> None:
        from rich.console import Console
        from rich.status import Status

        with self._lock:
            if not self._over:
                self._shown = Status(self._text(), console=Console(stderr=True))
                self._shown.start()

    def say(self, what: str) -> None:
        from rich.status import Status

        with self._lock:
            self._what = what
            if isinstance(self._shown, Status):
                self._shown.update(self._text())

    def end(self) -> None:
        with self._lock:
            self._over = True
            if self._shown is not None:
                self._shown.stop()  # type: ignore[attr-defined]

    def _text(self) -> str:
        from rich.markup import escape

        return escape(f"{printable(self._what)} …")
