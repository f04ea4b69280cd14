"""The pytest plugin: the trace of what a test runs, and failures that list the events behind a number.

pytest loads it wherever Kinetoscope is installed, so it imports nothing until a test needs it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from kinetoscope.api import Trace


@pytest.fixture(scope="session")
def trace_of() -> Callable[..., Trace]:
    """``trace_of(fn, *args, warmup=1, **kwargs)``: what one call does, recorded by torch's profiler."""
    from kinetoscope.api import trace_of

    return trace_of


def pytest_assertrepr_compare(config: pytest.Config, op: str, left: Any, right: Any) -> list[str] | None:
    """Lists the events behind ``count(t.kernels) == 4`` where it fails."""
    # No test has counted anything if nobody has imported this.
    api = sys.modules.get("kinetoscope.api")
    if api is None:
        return None
    whole = config.get_verbosity(pytest.Config.VERBOSITY_ASSERTIONS) > 1
    lines: list[str] | None = api.explain(left, right, op, whole=whole)
    return lines
