"""Traces for the tests: small inputs of the corpus, and ones made up on the spot."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kinetoscope.trace import Event, Trace, load, loads

Small = Callable[[str], Trace]
Made = Callable[..., Trace]
Named = Callable[[Trace, str], Event]


@pytest.fixture(scope="session")
def small() -> Small:
    """The corpus input of a number."""

    def read(number: str) -> Trace:
        [path] = (Path(__file__).parents[1] / "data" / "small").glob(f"{number}_*")
        return load(path)

    return read


@pytest.fixture(scope="session")
def made() -> Made:
    """A trace of events given by hand; cat defaults to cpu_op, pid and tid to 1."""

    def make(*events: dict[str, Any]) -> Trace:
        whole = [{"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1, **event} for event in events]
        return loads(json.dumps({"traceEvents": whole}).encode(), "made.json")

    return make


@pytest.fixture(scope="session")
def named() -> Named:
    """The one event of a name."""

    def find(trace: Trace, name: str) -> Event:
        [event] = [event for event in trace.events if event.name == name]
        return event

    return find
