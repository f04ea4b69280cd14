"""A trace for your own Python: ``kinetoscope.load`` reads one, ``kinetoscope.trace_of`` records one.

torch is imported by ``trace_of`` only.  The flags and attributes of torch that are read here are private to
it; the tests in tests/api/test_profiler.py notice when they change.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol

from kinetoscope.api.trace import PublicTrace
from kinetoscope.trace import TraceError, loads
from kinetoscope.trace.load import load as load_file
from kinetoscope.trace.load import load_open
from kinetoscope.trace.unzip import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias


class Readable(Protocol):
    """An open file."""

    def read(self) -> bytes | str:
        """All that it holds."""


class Profile(Protocol):
    """A ``torch.profiler.profile`` (or ``torch.autograd.profiler.profile``)."""

    def export_chrome_trace(self, path: str) -> object:
        """Writes the trace."""


Source: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | Readable | Profile"

_LONGEST_PATH = 4096
"""Characters: no operating system takes a longer path"""


# --- load ---------------------------------------------------------------------------------------------------


def load(
    source: Source, *, strict: bool = False, max_bytes: int = MAX_BYTES, absent_is_zero: bool = False
) -> PublicTrace:
    """Read a trace: the path of a ``.json`` or gzipped file, an open file, its bytes, or a profiler.

    The trace's ``findings`` say what was repaired, dropped or assumed; with ``strict`` any of that is an
    error.  ``max_bytes`` is the most JSON that a trace may hold, unpacked if it is gzipped.  A profiler
    (``torch.profiler.profile``) is exported to a temporary file; torch does that only once.

    To count what the trace holds nothing of (the kernels of one that was recorded on the CPU alone) raises
    ``NotMeasured``; with ``absent_is_zero`` there are 0 of them.

    Raises :class:`TraceError`, one sentence that says what to do, for a source that holds no trace;
    ``TypeError`` for a source that is none of these.

    >>> import kinetoscope
    >>> trace = kinetoscope.load("docs/recordings/nvidia-h200/02_linear/linear_eager.json.gz")
    >>> [step.number for step in trace.steps]
    [2, 3, 4]
    >>> trace.kernels[0].op.name
    'aten::addmm'
    >>> trace.findings
    []
    """
    if type(max_bytes) is not int:
        kind = type(max_bytes).__name__
        raise TypeError(f"max_bytes is a number of bytes, such as 2**30, not {kind} ({max_bytes!r:.60})")
    if isinstance(source, str | os.PathLike):
        path = os.fsdecode(source)
        _refuse_text(path)
        read = load_file(path, strict=strict, max_bytes=max_bytes)
        return PublicTrace.from_trace(read, absent_is_zero=absent_is_zero)
    if isinstance(source, bytes | bytearray | memoryview):
        data, name = bytes(source), "(bytes)"
    elif type(source).__name__ == "EventList":
        raise TypeError(
            "load() takes the profiler itself, not its EventList: load(prof), not load(prof.key_averages())"
        )
    elif hasattr(source, "export_chrome_trace"):
        data, name = _exported(source), "(profile)"
    elif hasattr(source, "read"):
        given = getattr(source, "name", None)
        name = given if isinstance(given, str) else "(file)"
        trace = load_open(_Open(source, name), name, strict=strict, max_bytes=max_bytes)
        return PublicTrace.from_trace(trace)
    else:
        raise TypeError(
            "load() takes a path, an open file, bytes or a torch.profiler.profile, not "
            f"{type(source).__name__}"
        )
    read = loads(data, name, strict=strict, max_bytes=max_bytes)
    return PublicTrace.from_trace(read, absent_is_zero=absent_is_zero)


def _refuse_text(path: str) -> None:
    """Raises :class:`TraceError` for the text of a trace, given where a path belongs."""
    start = path[:200]
    if start.lstrip().startswith(('{"', "{\n", "{\r", "{ ", "{}", "[{", "[\n", "[ {", "[]")) and (
        len(path) > _LONGEST_PATH or not os.path.exists(path)  # noqa: PTH110 (pathlib takes 4 ms to import)
    ):
        raise TraceError(
            f"{start[:40]!r}…: this is JSON text, and load() takes text for a path; give it the bytes: "
            "load(text.encode())."
        )
    if len(path) > _LONGEST_PATH:
        raise TraceError(f"{start[:80]!r}…: too long for a path ({len(path)} characters); check it.")
    if "\0" in start:
        raise TraceError(
            f"{start[:40]!r}…: no path holds a null character; give load() a file's content as bytes."
        )


class _Open:
    """An open file that may give text, or all that it holds at once."""

    def __init__(self, file: Any, name: str) -> None:
        self._file, self._name = file, f"{name:.200}"
        self._is_read = False

    def read(self, size: int, /) -> bytes:
        """About ``size`` bytes.  Raises :class:`TraceError` where the file cannot be read."""
        if self._is_read:
            return b""
        try:
            content = self._read(size)
        except UnicodeDecodeError as error:
            raise TraceError(
                f"{self._name}: it was opened as text and holds none, as a gzipped trace does; open it with "
                'mode "rb", or give load() its path.'
            ) from error
        except (ValueError, OSError) as error:
            closed = getattr(self._file, "closed", False) is True
            why = "the file is closed" if closed else f"it cannot be read ({error})"
            raise TraceError(
                f"{self._name}: {why}; load it while it is open for reading, or give its path."
            ) from error
        return content.encode("utf-8", "surrogatepass") if isinstance(content, str) else bytes(content)

    def _read(self, size: int) -> Any:
        try:
            return self._file.read(size) or b""
        except TypeError:
            self._is_read = True
            return self._file.read()


def _exported(profile: Any) -> bytes:
    """The JSON that a profiler exports.  Raises :class:`TraceError` where it cannot."""
    # torch.profiler.profile keeps the profiler that recorded in this attribute; autograd's is one itself.
    inner = getattr(profile, "profiler", profile)
    if inner is None:
        raise TraceError(
            "(profile): it has not recorded anything; run the code inside `with profile(...) as prof:` (with "
            "a schedule: until a step is active), and load prof after the block."
        )
    # Zero where another profiler took the results away: to export those would end the process.
    began = getattr(getattr(inner, "kineto_results", None), "trace_start_ns", None)
    if began is not None and began() == 0:
        raise TraceError(
            "(profile): a second profiler was started while it recorded, which ended it, and torch keeps "
            "nothing of it; use one profiler at a time, and load the inner one."
        )
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory(prefix="kinetoscope-") as folder:
        path = Path(folder) / "trace.json"
        try:
            profile.export_chrome_trace(str(path))
        except (RuntimeError, AttributeError, AssertionError) as error:
            if "already saved" in str(error):
                reason = (
                    "torch exports a profile only once, and that has been done; load the file that was "
                    "written, or call prof.export_chrome_trace(path) yourself and load(path) as often as you "
                    "like."
                )
            elif getattr(inner, "kineto_results", True) is None:
                reason = "it is still recording; load it after the `with profile(...)` block has ended."
            else:
                reason = (
                    f"torch could not export it ({error}); export it yourself with export_chrome_trace and "
                    "load the file."
                )
            raise TraceError(f"(profile): {reason}") from error
        return path.read_bytes()


# --- trace_of -----------------------------------------------------------------------------------------------

_INNER = (
    "trace_of(): the function runs a profiler itself, and torch has one at a time; give a function that does "
    "only the work, or load(prof) what its own profiler recorded."
)
_AWAITED = (
    "trace_of(): the function only made a coroutine, which nobody awaited, so nothing ran; give a plain "
    "function, such as `lambda: asyncio.run(f(x))`."
)


def trace_of(
    function: Callable[..., object],
    /,
    *args: Any,
    warmup: int = 1,
    absent_is_zero: bool = False,
    **kwargs: Any,
) -> PublicTrace:
    """The trace of one call of ``function(*args, **kwargs)``, on the CPU and, if torch sees one, the GPU.

    ``warmup`` calls come first, so that what happens only once (compiling, choosing a kernel, the first
    allocation) is not in the trace.  The GPU has finished when the trace ends.  ``absent_is_zero`` is as in
    :func:`load`.  For a function with an argument ``warmup`` of its own write
    ``trace_of(lambda: function(warmup=3))``.  torch records the ops of the calling thread, not those of
    threads that the function starts.

    Raises ``ImportError`` where there is no torch; :class:`TraceError` if a profiler is already running, or
    if the function starts one or returns something to await; ``TypeError`` and ``ValueError`` for a
    ``warmup`` that is not a number of calls; and whatever the function raises.
    """
    _check(function, warmup)
    import torch
    from torch.profiler import ProfilerActivity, profile

    _refuse_nesting("trace_of() starts one of its own: call it after that one has ended")
    on_gpu = torch.cuda.is_available()
    for _ in range(warmup):
        _call(function, args, kwargs)
    _refuse_nesting("the function left one running: end it in there, or trace what it does without it")
    if on_gpu:
        torch.cuda.synchronize()
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    profiler = profile(activities=activities)
    profiler.start()
    is_whole = False
    try:
        _call(function, args, kwargs)
        if on_gpu:
            torch.cuda.synchronize()
        # A profiler that the function started ended ours and cleared the flag of the thread; one that it
        # started in another thread cleared that of the process.
        is_whole = _flags() == (True, True)
    except RuntimeError as error:
        if "already enabled" in str(error):  # what torch before 2.9 says to a second profiler
            raise TraceError(_INNER) from error
        raise
    finally:
        _stop(profiler)
    if not is_whole:
        raise TraceError(_INNER)
    return load(profiler, absent_is_zero=absent_is_zero)


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


def _refuse_nesting(advice: str) -> None:
    if any(_flags()) or _is_one_warming_up():
        raise TraceError(f"trace_of(): a torch profiler is running, and torch has one at a time; {advice}.")


def _flags() -> tuple[bool, bool]:
    """Whether torch records in this thread, and whether it does in this process."""
    import torch

    of_thread = bool(torch.autograd._profiler_enabled())
    return of_thread, bool(getattr(torch.autograd.profiler, "_is_profiler_enabled", of_thread))


def _is_one_warming_up() -> bool:
    """Whether a profiler with a schedule is warming up: it is prepared, and no flag of torch's says so."""
    import gc

    from torch.profiler import ProfilerAction, profile

    return any(
        tracked.current_action is ProfilerAction.WARMUP
        and tracked.profiler is not None
        and tracked.profiler.kineto_results is None
        for tracked in gc.get_objects()
        if issubclass(type(tracked), profile)
    )


def _stop(profiler: Any) -> None:
    """Ends the recording, even if another profiler ended it before, which torch before 2.9 refuses."""
    if _flags() == (True, False):
        # A profiler of another thread took the session that torch would now look for: give it a new one.
        profiler.profiler._prepare_trace()
    try:
        profiler.stop()
    except RuntimeError as error:
        if "not running" not in str(error):
            raise
