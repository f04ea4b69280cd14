"""Bytes of a trace file -> the raw event dictionaries, repaired where that is safe.

Numbers with a fraction are kept as :class:`decimal.Decimal`: an absolute time stamp in µs with three
decimals does not fit a float (its step there is 0.25 µs).
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from kinetoscope.trace.errors import TraceError

_GZIP_MAGIC = b"\x1f\x8b"
_RECORD_AGAIN = "record it again, or take a whole copy of it"

_STRING_OR_WORD = re.compile(
    r'"(?P<string>(?:[^"\\]|\\.)*)"|(?P<word>-?(?<![\w.])(?:infinity|inf|nan)\b(?:\(\w*\))?)',
    re.DOTALL | re.IGNORECASE,
)
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\', re.DOTALL)


@dataclass(slots=True)
class Document:
    """What a trace file holds, before its events are typed."""

    events: list[Any]
    device_names: dict[int, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """what was repaired, a sentence each"""


def parse(data: bytes, path: str) -> Document:
    """The events and device names of a trace file's bytes.

    Raises :class:`TraceError`, naming ``path``, for empty, cut off or other files.
    """
    notes: list[str] = []
    document = read_json(data, path, notes)
    if isinstance(document, list):
        return Document(document, notes=notes)
    events = document.get("traceEvents") if isinstance(document, dict) else None
    if not isinstance(events, list):
        raise TraceError(
            f"{path}: this is JSON but no trace, it has no list traceEvents; "
            "give a file that export_chrome_trace wrote."
        )
    return Document(events, _device_names(document.get("deviceProperties")), notes)


def read_json(data: bytes, path: str, notes: list[str]) -> Any:
    """The JSON of a trace file's bytes; what was repaired is added to ``notes``, a sentence each.

    Raises :class:`TraceError`, naming ``path``, for empty, cut off or other files.
    """
    text = _decode(_unzip(data, path), notes)
    if not text.strip():
        raise TraceError(
            f"{path}: the file is empty (the profiler had not finished writing it?); {_RECORD_AGAIN}."
        )
    return _decode_json(text, path, notes)


def _unzip(data: bytes, path: str) -> bytes:
    if not data.startswith(_GZIP_MAGIC):
        return data
    try:
        return gzip.decompress(data)
    except EOFError as error:
        raise TraceError(f"{path}: the gzip stream is cut off before its end; {_RECORD_AGAIN}.") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise TraceError(f"{path}: the gzip stream is damaged ({error}); {_RECORD_AGAIN}.") from error


def _decode(data: bytes, notes: list[str]) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("utf-8-sig", errors="replace")
        # A replacement character that was in the file as such is valid UTF-8 and no damage.
        count = text.count("\ufffd") - data.count("\ufffd".encode())
        notes.append(f"{_counted(count, 'sequence')} of bytes that are not UTF-8 replaced by U+FFFD.")
        return text


def _decode_json(text: str, path: str, notes: list[str]) -> Any:
    try:
        return _loads(text)
    except RecursionError as error:
        raise TraceError(
            f"{path}: the JSON is nested too deeply for a trace; check what wrote it."
        ) from error
    except ValueError as error:
        problem = error
    repaired = _repair(text, notes)
    if repaired != text:
        try:
            return _loads(repaired)
        except (ValueError, RecursionError) as error:
            problem = error if isinstance(error, ValueError) else problem
    if not isinstance(problem, json.JSONDecodeError):
        raise TraceError(f"{path}: the JSON cannot be read ({problem}); {_RECORD_AGAIN}.") from problem
    where = f"line {problem.lineno}, column {problem.colno}"
    if problem.pos >= len(problem.doc.rstrip()) or problem.msg.startswith("Unterminated string"):
        raise TraceError(
            f"{path}: the JSON is cut off or has an unclosed string at {where}; {_RECORD_AGAIN}."
        )
    raise TraceError(f"{path}: the JSON is invalid at {where} ({problem.msg}); {_RECORD_AGAIN}.")


def _loads(text: str) -> Any:
    # strict=False: torch writes control characters in names as they are.
    return json.loads(text, parse_float=Decimal, parse_constant=lambda _: None, strict=False)


def _repair(text: str, notes: list[str]) -> str:
    """Double each backslash that starts no escape (Windows paths, pytorch#98432); inf and nan to null
    (kineto#105: the bandwidth of a copy of length 0).
    """
    strings = numbers = 0

    def mend(match: re.Match[str]) -> str:
        nonlocal strings, numbers
        if match["word"] is not None:
            numbers += 1
            return "null"
        whole = match[0]
        if "\\" not in whole:
            return whole
        mended = _ESCAPE.sub(lambda escape: "\\\\" if escape[0] == "\\" else escape[0], whole[1:-1])
        if len(mended) == len(whole) - 2:
            return whole
        strings += 1
        return f'"{mended}"'

    repaired = _STRING_OR_WORD.sub(mend, text)
    if strings:
        notes.append(f"{_counted(strings, 'string')} with an unescaped backslash repaired.")
    if numbers:
        notes.append(f"{_counted(numbers, 'number')} written as inf or nan read as missing.")
    return repaired


def _device_names(properties: Any) -> dict[int, str]:
    """GPU name by device number, from Kineto's ``deviceProperties``."""
    names: dict[int, str] = {}
    for entry in properties if isinstance(properties, list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("id"), int) and entry.get("name"):
            names[entry["id"]] = str(entry["name"])
    return names


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
