"""Takes out of a recording what it must not tell: who ran it, on which host, and from which folders.

What stays of a trace's top level is a short list of fields (the profiler writes, on some systems, the
whole process environment there); every string of an event loses absolute paths, host and user names.
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
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from kinetoscope.trace import TraceError
from kinetoscope.trace.findings import Findings
from kinetoscope.trace.load import refuse_damaged
from kinetoscope.trace.parse import decode_json, read_text

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

# An absolute path of two components or more that no known folder explains: only its end is kept.
# What looks like one inside a web address is none.
_ABSOLUTE = re.compile(r"https?://\S+|(?<![\w.:/<>~-])/(?:[\w.@+~-]+/)+([\w.@+~-]+)")
# Names that are words everyone uses are no secret, and replacing them would garble kernel names.
_COMMON = frozenset(
    {"root", "user", "users", "home", "localhost", "runner", "python", "cuda", "torch", "linear"}
)

# Number text goes through json untouched between these two private-use characters.
_OPEN, _CLOSE = "\ue000", "\ue001"


@dataclass(frozen=True, slots=True)
class Scrubber:
    """Replaces this machine's folders, host name and user name in text."""

    folders: tuple[tuple[str, str], ...]
    """(absolute folder, what stands for it), longest first"""
    words: tuple[str, ...]
    """host and user names"""

    @classmethod
    def of_this_machine(cls, *own: tuple[Path, str]) -> Scrubber:
        """``own``: folders to name in a particular way, such as ``(work folder, "")``."""
        known = [(str(path), name) for path, name in own]
        known += [(os.path.realpath(path), name) for path, name in known]
        for key in ("purelib", "platlib"):
            known.append((sysconfig.get_path(key), "site-packages"))
        known += [(path, "site-packages") for path in sys.path if path.endswith("site-packages")]
        known += [
            (sysconfig.get_path("stdlib"), "python"),
            (sys.prefix, "python"),
            (sys.base_prefix, "python"),
        ]
        known += [(tempfile.gettempdir(), "tmp"), (str(Path.home()), "~")]
        folders = {path.rstrip("/"): name for path, name in known[::-1] if path and len(path) > 1}
        words = {socket.gethostname(), socket.getfqdn()}
        with contextlib.suppress(KeyError, OSError):  # a container user without a name has none to leak
            words.add(getpass.getuser())
        return cls(
            tuple(sorted(folders.items(), key=lambda item: (-len(item[0]), item[0]))),
            tuple(
                sorted((w for w in words if len(w) > 2 and w.lower() not in _COMMON), key=len, reverse=True)
            ),
        )

    def text(self, text: str) -> str:
        """``text`` without this machine's folders and names."""
        for folder, name in self.folders:
            if folder in text:
                inside = name + "/" if name else ""
                start = rf"(?<![\w.@+~-]){re.escape(folder)}"
                text = re.sub(f"{start}/", inside, text)
                text = re.sub(rf"{start}(?![\w.@+-])", name or ".", text)
        text = _ABSOLUTE.sub(lambda match: match[1] or match[0], text)
        for word in self.words:
            # a word of its own, or the end of a folder's name: torchinductor_ada/
            text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)|(?<=_){re.escape(word)}(?=/)", "host", text)
        return text

    def value(self, value: Any) -> Any:
        """``value`` (as parsed from JSON) with every string scrubbed, keys included."""
        if isinstance(value, Decimal):
            return f"{_OPEN}{value}{_CLOSE}"
        if isinstance(value, str):
            return self.text(value).translate({ord(_OPEN): None, ord(_CLOSE): None})
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {self.text(key): self.value(item) for key, item in value.items()}
        return value


def scrub_trace(data: bytes, scrubber: Scrubber, path: str) -> bytes:
    """The trace ``data`` (JSON, gzipped or not) scrubbed, as deterministic gzip.

    Number text is carried over digit by digit: a clock in epoch microseconds with three decimals does not
    fit a float.  Raises :class:`kinetoscope.trace.TraceError`, naming ``path``, where the data is no trace.
    """
    findings = Findings()
    document = decode_json(read_text(data, path, findings), path, findings)
    refuse_damaged(findings.as_list(), path)
    if isinstance(document, list):
        document = {"traceEvents": document}
    if not isinstance(document, dict) or not isinstance(document.get("traceEvents"), list):
        raise TraceError(f"{path}: this is no trace, it has no list traceEvents")
    kept = {key: scrubber.value(document[key]) for key in KEPT_METADATA if key in document}
    text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
    text = re.sub(f'"{_OPEN}([^"]*){_CLOSE}"', r"\1", text)
    # One event a line: a changed recording then reads as a diff once unpacked.
    return pack(text.replace('},{"ph"', '},\n{"ph"').encode("utf-8", "replace"))


def pack(data: bytes) -> bytes:
    """Gzip without time, name or operating system in it: the same input gives the same bytes."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0, compresslevel=9) as stream:
        stream.write(data)
    return buffer.getvalue()
