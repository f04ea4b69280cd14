"""What the browser tests share: a browser, a server for a folder, and a window that notes every fault."""

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
    # Nothing but our server can be reached. A route would do the same, but doubles the time to open a page.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


def chromium() -> str | None:
    """Return the path of the browser to use, or None if there is none."""
    named = os.environ.get("KINETOSCOPE_CHROMIUM")
    if named:
        return shutil.which(named) or named
    return next(filter(None, map(shutil.which, NAMES)), None)


def unavailable(reason: str) -> None:
    """Skip the test, or fail if KINETOSCOPE_REQUIRE_BROWSER promises a browser."""
    if os.environ.get("KINETOSCOPE_REQUIRE_BROWSER") == "1":
        pytest.fail(f"KINETOSCOPE_REQUIRE_BROWSER is 1, but {reason}")
    pytest.skip(reason)


class Quiet(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps the connection open for the next file

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.path == "/favicon.ico":  # a browser asks for it even if no page names it
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
    """Serve a folder on a local port; gives its URL."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


class Visit:
    """A window that opens one page after another and notes every fault: errors, failed and outside requests.

    Leaving it fails if there were faults, unless ``expect_faults``.
    """

    def __init__(
        self,
        browser,
        base: str,
        theme: str,
        *,
        javascript: bool = True,
        touch: bool = False,
        expect_faults: bool = False,
    ) -> None:
        self.base = base
        self.expect_faults = expect_faults
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

    def _failed(self, request) -> None:
        if request.failure == "net::ERR_ABORTED":
            return  # the next page was opened before the answer came; a missing file is answered with 404
        # Without JavaScript, the preloaded scripts fail.
        if self.javascript or request.resource_type != "script":
            self.note(f"failed: {request.url}: {request.failure}")

    def _asked(self, request) -> None:
        if not request.url.startswith((self.base, "data:", "blob:")):
            self.note(f"a request left the site: {request.url}")

    def note(self, fault: str) -> None:
        self.faults.append(f"{self.name}: {fault}")

    def open(self, name: str) -> None:
        self.name = name
        self.page.goto(f"{self.base}{name}.html", wait_until="load")

    def __enter__(self) -> Visit:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        faults = [*self.faults]  # closing may break off requests
        self.context.close()
        if error is None and not self.expect_faults:
            assert faults == [], "\n".join(faults)


@contextmanager
def visiting(browser, folder: Path, html: str, *, expect_faults: bool = False) -> Iterator[Visit]:
    """Write ``html`` into a folder, serve that, and open the page."""
    (folder / "x.html").write_text(html, encoding="utf-8")
    with (
        serving(folder) as address,
        Visit(browser, address, "light", expect_faults=expect_faults) as visit,
    ):
        visit.open("x")
        yield visit
