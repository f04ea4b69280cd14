"""Remove from a recording who made it, on which host, and in which folders.

Of a trace's top level only a short list of fields stays, because on some systems the profiler writes the
whole process environment there. Every string of an event loses absolute paths, host and user names.
"""

from __future__ import annotations

import codecs
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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import msgspec

from kinetoscope.record.folders import without_folders
from kinetoscope.trace import TraceError
from kinetoscope.trace.findings import Findings, refuse_damaged
from kinetoscope.trace.lenient_reader import decode_json, read_text
from kinetoscope.trace.recover import recover
from kinetoscope.trace.unzip import MAX_BYTES, Source, Unusual

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

# Common words are no secret as host or user names, and replacing them would garble kernel names.
_COMMON = frozenset(
    {"root", "user", "users", "home", "localhost", "runner", "python", "cuda", "torch", "linear"}
    | {"true", "false", "null"}
)

_NAMES_SOMEBODY = re.compile(r"(?:host|node|user|log)[_-]?(?:name)?", re.IGNORECASE)
# The same fields in text that does not parse.
_NAMED = re.compile(rf'"{_NAMES_SOMEBODY.pattern}"\s*:\s*"([^"\\]+)"', re.IGNORECASE)
_HOME = re.compile(r"/(?:home|Users)/([^/]+)")

_USER_FIELD = rb"(?i:(?:sudo_)?user|user_?(?:name|domain)|(?:host|computer|log)_?name|login)"
_STRING = rb'"(?:[^"\\]|\\.)*+"'
_FIELD = re.compile(rb'"(%b)":%b' % (_USER_FIELD, _STRING))
_ANY = re.compile(_FIELD.pattern + b"|" + _STRING)
# Outside a string, JSON has none of these characters; where a name may stand, a string has one of them.
_SUSPECT = re.compile(rb'"[^"/\\~=]*(?:[/~=]|\\.)(?:[^"\\]|\\.)*+"')
_SUSPECT_OR_FIELD = re.compile(_FIELD.pattern + b"|" + _SUSPECT.pattern)
_KEYS_END = (b'user"', b'rname"', b'tname"', b'gname"', b'_name"', b'domain"', b'login"')
"""how the keys of :data:`_FIELD` end, in lower case: to look for these is much faster"""
# After an object of a list comes the first key of the next.  A quotation mark that ends a string has a comma,
# a colon or a bracket behind it.
_CUT = re.compile(rb'\},\{"(?=[^,:\]}])')
_PIECE = 2**18
"""bytes that are scrubbed at once, at least"""
_MOST_STRINGS = 2**14
"""strings whose scrubbed form is kept: most occur again and again"""

_MARK = os.urandom(16).hex()
"""stands around a number on its way through ``json``; no trace can have it"""


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
        text = without_folders(text)
        for word in self.words:
            # A whole word, or the end of a folder's name: torchinductor_ada/
            text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)|(?<=_){re.escape(word)}(?=/)", "host", text)
        return text

    def json(self, text: bytes) -> Iterator[bytes]:
        """Scrub every string of the JSON ``text``, keys included, and give it in pieces.

        Numbers keep their text, because a clock in epoch microseconds with three decimals does not fit a
        float.  Without spaces, as ``msgspec`` writes JSON, ``text`` is of any length.
        """
        words = [word.encode() for word in self.words]
        string = lru_cache(_MOST_STRINGS)(self._string)
        for at, end in _cuts(text):
            piece = text[at:end]
            lower = piece.lower()
            if any(word in piece for word in words) or b"%2f" in lower or b"%5c" in lower:
                pattern = _ANY
            elif any(key in lower for key in _KEYS_END):
                pattern = _SUSPECT_OR_FIELD
            elif any(sign in piece for sign in (b"/", b"\\", b"~", b"=")):
                pattern = _SUSPECT
            else:
                yield piece
                continue
            yield pattern.sub(lambda match: string(match[0]), piece)

    def _string(self, literal: bytes) -> bytes:
        """Scrub a string of JSON, or the ``"key":"value"`` of a field that names somebody."""
        if field := _FIELD.fullmatch(literal):
            return b'"%b":"host"' % field[1]
        before = json.loads(literal)
        after = self.text(before)
        if after == before and b"\\" not in literal:
            return literal
        return _utf8(json.dumps(after, ensure_ascii=False))


def scrub_trace(
    data: bytes,
    scrubber: Scrubber,
    path: str,
    *,
    findings: Findings | None = None,
    max_bytes: int = MAX_BYTES,
) -> bytes:
    """Scrub the trace ``data`` as :func:`scrubbed` does, and return it as deterministic gzip."""
    return pack(b"".join(scrubbed(data, scrubber, path, findings=findings, max_bytes=max_bytes)))


def scrubbed(
    data: bytes,
    scrubber: Scrubber,
    path: str,
    *,
    findings: Findings | None = None,
    max_bytes: int = MAX_BYTES,
) -> Iterator[bytes]:
    """Scrub the trace ``data`` (JSON, gzipped or not); its JSON in pieces, an event on a line.

    Repairs are reported to ``findings``; ``max_bytes`` limits the unpacked size of ``data``.
    Raises :class:`kinetoscope.trace.TraceError`, which names ``path``, if the data is not a trace: before
    the first piece.
    """
    findings = Findings() if findings is None else findings
    fields, names = _fields(data, path, findings, max_bytes)
    refuse_damaged(findings, path)
    if not fields.get("traceEvents", b"").startswith(b"["):
        raise TraceError(f"{path}: this is not a trace, it has no list traceEvents")
    try:
        for key, value in fields.items():
            if key != "traceEvents":
                names += _names_in({key: json.loads(value, parse_int=str)})
    except RecursionError as error:
        raise TraceError(_TOO_DEEP.format(path)) from error
    return _written(fields, scrubber.knowing(*names))


def _written(fields: dict[str, bytes], scrubber: Scrubber) -> Iterator[bytes]:
    kept = [key for key in KEPT_METADATA if key in fields]
    for key in kept:
        yield b'%b"%b":' % (b"{" if key == kept[0] else b",", key.encode())
        # One event on a line, so that a diff of two unpacked traces can be read.
        for piece in scrubber.json(fields.pop(key)):
            begins = b"\n" if piece.startswith(b'{"ph"') and key == "traceEvents" else b""
            yield begins + piece.replace(b'},{"ph"', b'},\n{"ph"')
    yield b"}"


_TOO_DEEP = "{}: the JSON is nested too deeply for a trace; check what wrote it."


def _fields(data: bytes, path: str, findings: Findings, max_bytes: int) -> tuple[dict[str, bytes], list[str]]:
    """The JSON of each field of a trace, without spaces; and names that stand where it does not parse."""
    source = Source(data, path, max_bytes)
    source.survey()
    # It may be damaged, or not as profilers write it.
    with contextlib.suppress(Unusual, msgspec.DecodeError, RecursionError, ValueError):
        text = b"".join(source.chunks(_PIECE))
        if text.startswith(b"["):
            text = b'{"traceEvents":%b}' % text
        if text.count(b'"traceEvents"') == 1:
            return _parted(text), []
    names: list[str] = []
    whole = read_text(data, path, findings, max_bytes)
    try:
        document = decode_json(whole, path, findings)
    except TraceError:
        recovered = recover(whole, findings)
        if recovered is None:
            raise
        document = {"traceEvents": recovered[0], "deviceProperties": recovered[1]}
        names = [match[1] for match in _NAMED.finditer(whole)]
    if isinstance(document, list):
        document = {"traceEvents": document}
    if not isinstance(document, dict):
        return {}, []
    try:
        return {key: _encoded(value) for key, value in document.items()}, names
    except RecursionError as error:
        raise TraceError(_TOO_DEEP.format(path)) from error


def _parted(text: bytes) -> dict[str, bytes]:
    """The JSON of each field of a document without a fault.  Raises an error of ``msgspec`` for any other."""
    if not text.isascii():  # msgspec does not check what it does not decode
        decoder = codecs.getincrementaldecoder("utf-8")()
        for at in range(0, len(text), _PIECE):
            decoder.decode(text[at : at + _PIECE], final=at + _PIECE >= len(text))
    fields = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    return {key: msgspec.json.format(value, indent=-1) for key, value in fields.items()}


def _encoded(value: Any) -> bytes:
    """JSON without spaces of what ``decode_json`` gives; a decimal as it was written."""
    text = json.dumps(
        value, default=lambda number: f"{_MARK}{number}{_MARK}", ensure_ascii=False, separators=(",", ":")
    )
    return _utf8(re.sub(f'"{_MARK}([^"]*){_MARK}"', r"\1", text))


def _utf8(text: str) -> bytes:
    """The bytes of JSON; half a surrogate pair, which UTF-8 lacks, as JSON writes it."""
    return text.encode("utf-8", "backslashreplace")


def _cuts(text: bytes) -> Iterator[tuple[int, int]]:
    """Where pieces of JSON without spaces begin and end: between two objects of a list."""
    at = 0
    while at < len(text):
        cut = _CUT.search(text, at + _PIECE)
        end = cut.start() + 2 if cut else len(text)
        yield at, end
        at = end


def _names_in(metadata: Any) -> Iterator[str]:
    """Yield the host and user names in a trace's metadata, at any depth."""
    waiting = [metadata]
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
    """Compress with gzip as small as it gets; the same input gives the same bytes."""
    buffer = io.BytesIO()
    write_gzip(buffer, [data], level=9)
    return buffer.getvalue()


def write_gzip(file: IO[bytes], pieces: Iterable[bytes], *, level: int) -> None:
    """Write the pieces as one gzip stream, without a time or file name."""
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=level) as stream:
        stream.writelines(pieces)
