"""What the browser tests share: a browser, a server for a folder, and a window that notes what is wrong."""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    # To ask the test about each request, as a route does, takes as long as all else of opening a page.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


def chromium() -> str | None:
    """The browser to use, if there is one."""
    named = os.environ.get("KINETOSCOPE_CHROMIUM")
    if named:
        return shutil.which(named) or named
    return next(filter(None, map(shutil.which, NAMES)), None)


def unavailable(reason: str) -> None:
    """Skip, or fail where a browser was promised."""
    if os.environ.get("KINETOSCOPE_REQUIRE_BROWSER") == "1":
        pytest.fail(f"KINETOSCOPE_REQUIRE_BROWSER is 1, but {reason}")
    pytest.skip(reason)


class Quiet(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # one connection for many files

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.path == "/favicon.ico":  # which a browser asks for without being told to
            self.send_response(204)
            self.end_headers()
        else:
            super().do_GET()

    def end_headers(self) -> None:
        if self.path.startswith("/_static/"):
            self.send_header("Cache-Control", "max-age=600")
        super().end_headers()


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a folder on this machine."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


class Visit:
    """A window in which pages are opened one after the other, and what was wrong in it."""

    def __init__(
        self, browser, base: str, theme: str, *, javascript: bool = True, touch: bool = False
    ) -> None:
        self.base = base
        self.javascript = javascript
        self.faults: list[str] = []
        self.name = ""
        self.context = browser.new_context(
            color_scheme=theme,
            java_script_enabled=javascript,
            has_touch=touch,
            reduced_motion="reduce",
            service_workers="block",
        )
        self.context.add_init_script(
            f"try {{ localStorage.mode = localStorage.theme = '{theme}' }} catch {{}}"
        )
        self.page = self.context.new_page()
        self.page.on("request", self._asked)
        self.page.on("console", lambda said: said.type == "error" and self.note(f"console: {said.text}"))
        self.page.on("pageerror", lambda error: self.note(f"script: {error}"))
        self.page.on("requestfailed", self._failed)
        self.page.on(
            "response", lambda answer: answer.status >= 400 and self.note(f"{answer.status}: {answer.url}")
        )

    def is_ours(self, url: str) -> bool:
        return url.startswith((self.base, "data:", "blob:"))

    def _failed(self, request) -> None:
        if request.failure == "net::ERR_ABORTED":
            return  # still on its way when the next page was opened; what is not there is answered with 404
        # scripts that were announced and may not run
        if self.javascript or request.resource_type != "script":
            self.note(f"failed: {request.url}: {request.failure}")

    def _asked(self, request) -> None:
        if not self.is_ours(request.url):
            self.note(f"a request left the site: {request.url}")

    def note(self, fault: str) -> None:
        self.faults.append(f"{self.name}: {fault}")

    def open(self, name: str) -> None:
        self.name = name
        self.page.goto(f"{self.base}{name}.html", wait_until="load")

    def __enter__(self) -> Visit:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()
