"""One Chromium and one server for the tests of a module."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from visiting import ARGUMENTS, chromium, serving, unavailable

# How long to wait for what has to come. A busy machine takes many times as long as a quiet one.
PATIENCE_MS = 180_000


def patient(new: Callable[..., Any]) -> Callable[..., Any]:
    """A window, or what holds windows, that waits as long as a busy machine may take."""

    def made(**options: object) -> Any:
        made = new(**options)
        made.set_default_timeout(PATIENCE_MS)
        return made

    return made


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
    """The site's address on this machine."""
    with serving(built.html) as address:
        yield address


@pytest.fixture(scope="module")
def screenshots() -> Path | None:
    """Where pictures of the pages are kept, if somebody wants them."""
    named = os.environ.get("KINETOSCOPE_SCREENSHOTS")
    if not named:
        return None
    folder = Path(named)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
