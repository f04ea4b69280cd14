"""Without torch, the tests that run an example fail and say what to install."""

import importlib.util

import pytest


@pytest.fixture(autouse=True)
def _torch(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("torch") and importlib.util.find_spec("torch") is None:
        pytest.fail("torch is not installed: install it (pip install torch), or run pytest -m 'not torch'")
