"""One Chromium and one server for the tests of a module."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from visiting import ARGUMENTS, chromium, serving, unavailable


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
        started = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def served(built) -> Iterator[str]:
    """The site's address on this machine."""
    with serving(built.html) as address:
        yield address


@pytest.fixture(scope="module")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    named = os.environ.get("KINETOSCOPE_SCREENSHOTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
