"""One Chromium and one server for the tests of a module."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from visiting import ARGUMENTS, chromium, serving, unavailable

# The longest wait for something that must happen. A busy machine needs many times as long as a quiet one.
PATIENCE_MS = 180_000


def patient(new: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function that makes a page or a context, so that what it makes has our timeout."""

    def make(**options: object) -> Any:
        made = new(**options)
        made.set_default_timeout(PATIENCE_MS)
        return made

    return make


@pytest.fixture(scope="module")
def browser() -> Iterator:
    program = chromium()
    if program is None:
        unavailable("there is no Chromium or Chrome: install one, or set KINETOSCOPE_CHROMIUM")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        unavailable("playwright is not installed (pip install playwright)")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=ARGUMENTS, timeout=PATIENCE_MS)
        started.new_context = patient(started.new_context)
        started.new_page = patient(started.new_page)
        yield started
        started.close()


@pytest.fixture(scope="module")
def served(built) -> Iterator[str]:
    """The URL of the site on a local server."""
    with serving(built.html) as address:
        yield address


@pytest.fixture(scope="module")
def screenshots() -> Path | None:
    """The folder for screenshots, or None if nobody asked for any."""
    named = os.environ.get("KINETOSCOPE_SCREENSHOTS")
    if not named:
        return None
    folder = Path(named)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
