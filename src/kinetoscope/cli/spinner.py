"""A line on the terminal that tells what is being done: rich's spinner."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from kinetoscope.cli.output import printable

if TYPE_CHECKING:
    from rich.status import Status


class Spinner:
    """Begins to show itself ``after`` some seconds, from a thread of its own."""

    def __init__(self, what: str, after: float) -> None:
        self._what = what
        self._lock = threading.Lock()
        self._over = False
        self._shown: Status | None = None
        self._timer = threading.Timer(after, self._begin)
        self._timer.daemon = True
        self._timer.start()

    def say(self, what: str) -> None:
        """Tells what is done from now on."""
        with self._lock:
            self._what = what
            if self._shown is not None:
                self._shown.update(self._text())

    def end(self) -> None:
        """Takes the line away."""
        self._timer.cancel()
        with self._lock:
            self._over = True
            if self._shown is not None:
                self._shown.stop()

    def _begin(self) -> None:
        from rich.console import Console
        from rich.status import Status

        with self._lock:
            if not self._over:
                self._shown = Status(self._text(), console=Console(stderr=True))
                self._shown.start()

    def _text(self) -> str:
        from rich.markup import escape

        return escape(f"{printable(self._what)} …")
