"""Without torch, the tests that run an example fail and say what to install."""

import pytest
from downloaded import require_torch


@pytest.fixture(autouse=True)
def _torch(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("torch"):
        require_torch()
