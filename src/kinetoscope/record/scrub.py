"""Remove from a recording who made it, on which host, and in which folders.

Of a trace's top level only a short list of fields stays, because on some systems the profiler writes the
whole process environment there. Every string of an event loses absolute paths, host and user names.
"""

from __future__ import annotations

import contextlib
import getpass
import gzip
import io
import json
import os
import re
import socket
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from kinetoscope.trace import TraceError
from kinetoscope.trace.findings import Findings, refuse_damaged
from kinetoscope.trace.lenient_reader import decode_json, read_text
from kinetoscope.trace.recover import recover
from kinetoscope.trace.unzip import MAX_BYTES

KEPT_METADATA = (
    "schemaVersion",
    "deviceProperties",
    "record_shapes",
    "with_stack",
    "with_flops",
    "profile_memory",
    "cuda_driver_version",
    "cuda_runtime_version",
    "cupti_version",
    "hip_driver_version",
    "hip_runtime_version",
    "roctracer_version",
    "displayTimeUnit",
    "baseTimeNanoseconds",
    "traceEvents",
)

# An absolute path of two or more components, outside all known folders: only its last component stays.
# The first alternative keeps web addresses as they are.
_ABSOLUTE = re.compile(r"https?://\S+|(?<![\w.:/<>~-])/(?:[\w.@+~-]+/)+([\w.@+~-]+)")
# Common words are no secret as host or user names, and replacing them would garble kernel names.
_COMMON = frozenset(
    {"root", "user", "users", "home", "localhost", "runner", "python", "cuda", "torch", "linear"}
)

_NAMES_SOMEBODY = re.compile(r"(?:host|node|user|log)[_-]?(?:name)?", re.IGNORECASE)
# The same fields in text that does not parse.
_NAMED = re.compile(rf'"{_NAMES_SOMEBODY.pattern}"\s*:\s*"([^"\\]+)"', re.IGNORECASE)
_HOME = re.compile(r"/(?:home|Users)/([^/]+)")

# These two private-use characters mark the text of a number on its way through ``json``.
_OPEN, _CLOSE = "\ue000", "\ue001"


@dataclass(frozen=True, slots=True)
class Scrubber:
    """Replaces this machine's folders, host name and user name in text."""

    folders: tuple[tuple[str, str], ...]
    """(absolute folder, its replacement), longest first"""
    words: tuple[str, ...]
    """host and user names, longest first"""

    @classmethod
    def of_this_machine(cls, *own: tuple[Path, str]) -> Scrubber:
        """Return one for this machine; ``own`` adds pairs such as ``(work folder, "")`` to its folders."""
        known = [(str(path), name) for path, name in own]
        known += [(os.path.realpath(path), name) for path, name in known]
        packages = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
        packages += [path for path in sys.path if path.endswith("site-packages")]
        known += [(path, "site-packages") for path in packages]
        known += [(path, "python") for path in (sysconfig.get_path("stdlib"), sys.prefix, sys.base_prefix)]
        known += [(tempfile.gettempdir(), "tmp"), (str(Path.home()), "~")]
        # If a folder is known twice, its first replacement wins.
        folders = {path.rstrip("/"): name for path, name in known[::-1] if path and len(path) > 1}
        words = {socket.gethostname(), socket.getfqdn()}
        with contextlib.suppress(KeyError, OSError):  # In a container, a user may have no name.
            words.add(getpass.getuser())
        longest_first = tuple(sorted(folders.items(), key=lambda item: (-len(item[0]), item[0])))
        return cls(longest_first, ()).knowing(*words)

    def knowing(self, *words: str) -> Scrubber:
        """Return a scrubber that also removes these host and user names, unless they are common words."""
        # A number is a rank, not a name; replacing its digits would change the names of kernels.
        names = {word for word in words if len(word) > 2 and not word.isdecimal()}
        more = {word for word in names if word.lower() not in _COMMON}
        return replace(self, words=tuple(sorted({*self.words, *more}, key=lambda word: (-len(word), word))))

    def text(self, text: str) -> str:
        """Remove this machine's folders and names from ``text``."""
        for folder, name in self.folders:
            if folder in text:
                inside = name + "/" if name else ""
                start = rf"(?<![\w.@+~-]){re.escape(folder)}"
                text = re.sub(f"{start}/", inside, text)
                text = re.sub(rf"{start}(?![\w.@+-])", name or ".", text)
        text = _ABSOLUTE.sub(lambda match: match[1] or match[0], text)
        for word in self.words:
            # A whole word, or the end of a folder's name: torchinductor_ada/
            text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)|(?<=_){re.escape(word)}(?=/)", "host", text)
        return text

    def value(self, value: Any) -> Any:
        """Scrub every string of ``value`` (as parsed from JSON), keys included."""
        if isinstance(value, Decimal):
            return f"{_OPEN}{value}{_CLOSE}"
        if isinstance(value, str):
            return self.text(value).translate({ord(_OPEN): None, ord(_CLOSE): None})
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {self.text(key): self.value(item) for key, item in value.items()}
        return value


def scrub_trace(
    data: bytes,
    scrubber: Scrubber,
    path: str,
    *,
    findings: Findings | None = None,
    max_bytes: int = MAX_BYTES,
) -> bytes:
    """Scrub the trace ``data`` (JSON, gzipped or not) and return it as deterministic gzip.

    Numbers keep their text, because a clock in epoch microseconds with three decimals does not fit a float.
    Repairs are reported to ``findings``; ``max_bytes`` limits the unpacked size of ``data``.
    Raises :class:`kinetoscope.trace.TraceError`, which names ``path``, if the data is not a trace.
    """
    findings = Findings() if findings is None else findings
    text = read_text(data, path, findings, max_bytes)
    names: set[str] = set()
    try:
        document = decode_json(text, path, findings)
    except TraceError:
        recovered = recover(text, findings)
        if recovered is None:
            raise
        document = {"traceEvents": recovered[0], "deviceProperties": recovered[1]}
        names = {match[1] for match in _NAMED.finditer(text)}
    refuse_damaged(findings, path)
    if isinstance(document, list):
        document = {"traceEvents": document}
    if not isinstance(document, dict) or not isinstance(document.get("traceEvents"), list):
        raise TraceError(f"{path}: this is not a trace, it has no list traceEvents")
    scrubber = scrubber.knowing(*names, *_names_in_metadata(document))
    try:
        kept = {key: scrubber.value(document[key]) for key in KEPT_METADATA if key in document}
    except RecursionError as error:
        raise TraceError(
            f"{path}: the JSON is nested too deeply for a trace; check what wrote it."
        ) from error
    clean = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
    clean = re.sub(f'"{_OPEN}([^"]*){_CLOSE}"', r"\1", clean)
    # One event on a line, so that a diff of two unpacked traces can be read.
    return pack(clean.replace('},{"ph"', '},\n{"ph"').encode("utf-8", "replace"))


def _names_in_metadata(document: dict[str, Any]) -> Iterator[str]:
    """Yield the host and user names in a trace's metadata, at any depth."""
    waiting: list[Any] = [{key: value for key, value in document.items() if key != "traceEvents"}]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            for key, inner in value.items():
                if isinstance(inner, str) and _NAMES_SOMEBODY.fullmatch(key):
                    yield inner
                elif isinstance(inner, str) and (home := _HOME.fullmatch(inner)):
                    yield home[1]
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def pack(data: bytes) -> bytes:
    """Compress with gzip, without a time or file name: the same input gives the same bytes."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0, compresslevel=9) as stream:
        stream.write(data)
    return buffer.getvalue()
