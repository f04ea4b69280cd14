"""A trace of one call, for a test or a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinetoscope.api.loading import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from kinetoscope.api.traces import Trace


def trace_of(function: Callable[..., object], /, *args: Any, warmup: int = 1, **kwargs: Any) -> Trace:
    """The trace of one call of ``function(*args, **kwargs)``, on the CPU and, if torch sees one, the GPU.

    ``warmup`` calls come before it, so that what happens once (compiling, choosing a kernel, the first
    allocation) is not in it.  The GPU has finished when the trace ends.  For a function with an argument
    ``warmup`` of its own write ``trace_of(lambda: function(warmup=3))``.

    Raises ``ImportError`` where there is no torch, and whatever the function raises.
    """
    import torch
    from torch.profiler import ProfilerActivity, profile

    on_gpu = torch.cuda.is_available()
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    for _ in range(warmup):
        function(*args, **kwargs)
    if on_gpu:
        torch.cuda.synchronize()
    with profile(activities=activities) as recorded:
        function(*args, **kwargs)
        if on_gpu:
            torch.cuda.synchronize()
    return load(recorded)
