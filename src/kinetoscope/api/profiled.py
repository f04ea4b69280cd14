"""A trace of one call, for a test or a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinetoscope.api.loading import load
from kinetoscope.trace import TraceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kinetoscope.api.traces import Trace


def trace_of(function: Callable[..., object], /, *args: Any, warmup: int = 1, **kwargs: Any) -> Trace:
    """The trace of one call of ``function(*args, **kwargs)``, on the CPU and, if torch sees one, the GPU.

    ``warmup`` calls come before it, so that what happens once (compiling, choosing a kernel, the first
    allocation) is not in it.  The GPU has finished when the trace ends.  For a function with an argument
    ``warmup`` of its own write ``trace_of(lambda: function(warmup=3))``.  torch records the ops of the thread
    that calls, not those of threads that the function starts.

    Raises ``ImportError`` where there is no torch; :class:`TraceError` where a profiler runs already, or
    where the function starts one or returns something to await; ``TypeError`` and ``ValueError`` for a
    ``warmup`` that is no number of calls; and whatever the function raises.
    """
    _check(function, warmup)
    from torch.profiler import ProfilerActivity, profile

    _refuse_nesting("trace_of() starts one of its own: call it after that one has ended")
    wait = _waiting_for_gpu()
    for _ in range(warmup):
        _call(function, args, kwargs)
    _refuse_nesting("the function left one running: end it in there, or trace what it does without it")
    wait()
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if wait is not _nothing else [])]
    recorded = profile(activities=activities)
    recorded.start()
    is_whole = False
    try:
        _call(function, args, kwargs)
        wait()
        is_whole = _still_recording()
    except RuntimeError as error:
        if "already enabled" in str(error):  # what torch before 2.9 says to a second profiler
            raise TraceError(_INNER) from error
        raise
    finally:
        _stop(recorded)
    if not is_whole:
        raise TraceError(_INNER)
    return load(recorded)


_INNER = (
    "trace_of(): the function runs a profiler itself, and torch has one at a time; give a function that does "
    "the work alone, or load(prof) what its own profiler recorded."
)
_AWAITED = (
    "trace_of(): the function only made a coroutine, which nobody awaited, so nothing ran; give a plain "
    "function, such as `lambda: asyncio.run(f(x))`."
)


def _check(function: object, warmup: object) -> None:
    if not callable(function):
        raise TypeError(
            f"trace_of() takes a function and its arguments, as in trace_of(model, x), not the result "
            f"of a call ({type(function).__name__})"
        )
    if not isinstance(warmup, int) or isinstance(warmup, bool):
        raise TypeError(
            f"trace_of(): warmup is a number of calls, not {type(warmup).__name__} ({warmup!r:.60})"
        )
    if warmup < 0:
        raise ValueError(f"trace_of(): warmup is a number of calls, 0 or more, not {warmup}")


def _call(function: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    import inspect

    result = function(*args, **kwargs)
    if inspect.iscoroutine(result):
        result.close()
        raise TraceError(_AWAITED)


def _waiting_for_gpu() -> Callable[[], None]:
    """What waits for the GPU, or does nothing where torch sees none."""
    import torch

    wait: Callable[[], None] = torch.cuda.synchronize if torch.cuda.is_available() else _nothing
    return wait


def _nothing() -> None:
    """Nothing has to be waited for."""


def _still_recording() -> bool:
    """Whether the profiler that was started is the one that runs.

    torch has two flags: of this thread, and of the process.  One that was started inside ended ours, and
    clears the first; one of another thread the second only.
    """
    import torch

    of_thread, of_process = _flags(torch)
    return of_thread and of_process


def _refuse_nesting(advice: str) -> None:
    import torch

    if any(_flags(torch)) or _is_one_warming_up():
        raise TraceError(f"trace_of(): a torch profiler is running, and torch has one at a time; {advice}.")


def _flags(torch: Any) -> tuple[bool, bool]:
    of_thread = bool(torch.autograd._profiler_enabled())
    return of_thread, bool(getattr(torch.autograd.profiler, "_is_profiler_enabled", of_thread))


def _is_one_warming_up() -> bool:
    """Whether a profiler with a schedule is warming up: prepared, which no flag tells."""
    import gc

    from torch.profiler import ProfilerAction, profile

    return any(
        found.current_action is ProfilerAction.WARMUP
        and found.profiler is not None
        and found.profiler.kineto_results is None
        for found in gc.get_objects()
        if issubclass(type(found), profile)
    )


def _stop(recorded: Any) -> None:
    """End the recording; where another one ended it before, torch before 2.9 refuses to."""
    import torch

    if _flags(torch) == (True, False):
        # A profiler of another thread took the session away, and torch would look for it: give it a new one.
        recorded.profiler._prepare_trace()
    try:
        recorded.stop()
    except RuntimeError as error:
        if "not running" not in str(error):
            raise
