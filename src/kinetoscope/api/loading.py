"""``kinetoscope.load``: a trace from a file, from bytes, or from a profiler that has recorded."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from kinetoscope.api.traces import Trace
from kinetoscope.trace import TraceError, loads
from kinetoscope.trace import load as load_file
from kinetoscope.trace.unzip import MAX_BYTES

if TYPE_CHECKING:
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


def load(source: Source, *, strict: bool = False, max_bytes: int = MAX_BYTES) -> Trace:
    """Read a trace: the path of a ``.json`` or gzipped file, an open file, its bytes, or a profiler.

    What was repaired, dropped or assumed is in the trace's ``findings``; with ``strict`` any of that is an
    error.  ``max_bytes`` is what a gzipped trace may unpack to.  A profiler (``torch.profiler.profile``) is
    exported to a temporary file; torch does that once only.

    Raises :class:`TraceError`, one sentence that says what to do, for what is no trace; ``TypeError`` for a
    source that is none of these.

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
        _refuse_text(os.fspath(source))
        return Trace.reading(load_file(source, strict=strict, max_bytes=max_bytes))
    if isinstance(source, bytes | bytearray | memoryview):
        return _loads(bytes(source), "(bytes)", strict, max_bytes)
    if type(source).__name__ == "EventList":
        raise TypeError(
            "load() takes the profiler itself, not its EventList: load(prof), not load(prof.key_averages())"
        )
    if _is_profile(source):
        return _loads(_exported(source), "(profile)", strict, max_bytes)
    if hasattr(source, "read"):
        held = _read(source)
        data = held.encode("utf-8", "surrogatepass") if isinstance(held, str) else bytes(held)
        name = getattr(source, "name", None)
        return _loads(data, name if isinstance(name, str) else "(file)", strict, max_bytes)
    raise TypeError(
        f"load() takes a path, an open file, bytes or a torch.profiler.profile, not {type(source).__name__}"
    )


_LONGEST_PATH = 4096
"""Characters: no system takes a longer path"""


def _refuse_text(path: str | bytes) -> None:
    """Raises :class:`TraceError` where a path should be and is none: for the text of a trace."""
    begin = path[:200]
    held = begin.decode("utf-8", "replace") if isinstance(begin, bytes) else begin
    if held.lstrip().startswith(('{"', "{\n", "{\r", "{ ", "{}", "[{", "[\n", "[ {", "[]")) and (
        len(path) > _LONGEST_PATH or not os.path.exists(path)  # noqa: PTH110 (pathlib takes 4 ms to be there)
    ):
        raise TraceError(
            f"{held[:40]!r}…: this is JSON text, and load() takes text for a path; give it the bytes: "
            "load(text.encode())."
        )
    if len(path) > _LONGEST_PATH:
        raise TraceError(f"{held[:80]!r}…: too long for a path ({len(path)} characters); check it.")
    if "\0" in held:
        raise TraceError(
            f"{held[:40]!r}…: no path holds a null character; give load() a file's content as bytes."
        )


def _read(source: Any) -> bytes | str:
    name = f"{getattr(source, 'name', None) or '(file)'!s:.200}"
    try:
        held: bytes | str = source.read()
    except UnicodeDecodeError as error:
        raise TraceError(
            f"{name}: it was opened as text and holds none, as a gzipped trace does not; open it with mode "
            '"rb", or give load() its path.'
        ) from error
    except (ValueError, OSError) as error:
        closed = getattr(source, "closed", False) is True
        said = "the file is closed" if closed else f"it cannot be read ({error})"
        raise TraceError(
            f"{name}: {said}; load it while it is open for reading, or give its path."
        ) from error
    return held


def _is_profile(source: object) -> TypeGuard[Profile]:
    return hasattr(source, "export_chrome_trace")


def _loads(data: bytes, path: str, strict: bool, max_bytes: int) -> Trace:
    return Trace.reading(loads(data, path, strict=strict, max_bytes=max_bytes))


def _exported(profile: Profile) -> bytes:
    # torch.profiler.profile keeps the profiler that recorded here, autograd's is one itself.
    if getattr(profile, "profiler", profile) is None:
        raise TraceError(
            "(profile): it has not recorded anything; run the code inside `with profile(...) as prof:` (with "
            "a schedule: until a step is active), and load prof after the block."
        )
    if _is_lost(getattr(profile, "profiler", profile)):
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
            raise TraceError(f"(profile): {_reason(error, profile)}") from error
        return path.read_bytes()


def _is_lost(inner: Any) -> bool:
    """Whether torch has no trace behind the results: to export those ends the process."""
    began = getattr(getattr(inner, "kineto_results", None), "trace_start_ns", None)
    return began is not None and began() == 0


def _reason(error: Exception, profile: Any) -> str:
    if "already saved" in str(error):
        return (
            "torch exports a profile once, and it has been exported; load the file that was written, or call "
            "prof.export_chrome_trace(path) yourself and load(path) as often as you like."
        )
    inner = getattr(profile, "profiler", profile)
    if getattr(inner, "kineto_results", True) is None:
        return "it is still recording; load it after the `with profile(...)` block has ended."
    return (
        f"torch could not export it ({error}); export it yourself with export_chrome_trace and load the file."
    )
