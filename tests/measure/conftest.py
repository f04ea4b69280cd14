"""Sample traces and small inputs, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from kinetoscope.trace import Trace, load

DATA = Path(__file__).parents[1] / "data"
Read = Callable[[str], Trace]


@pytest.fixture(scope="session")
def sample() -> Read:
    """The H200 sample of a name."""
    return cache(lambda name: load(DATA / "traces" / f"{name}.json.gz"))


@pytest.fixture(scope="session")
def small() -> Read:
    """The corpus input of a number."""

    def read(number: str) -> Trace:
        [path] = (DATA / "small").glob(f"{number}_*")
        return load(path)

    return read
