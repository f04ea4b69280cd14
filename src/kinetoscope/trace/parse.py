"""Bytes of a trace file -> the raw event dictionaries, repaired where that is safe.

Numbers with a fraction are kept as :class:`decimal.Decimal`: an absolute time stamp in µs with three
decimals does not fit a float (its step there is 0.25 µs).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from kinetoscope.trace.columns import Columns, InexactTimes, columns
from kinetoscope.trace.errors import TraceError
from kinetoscope.trace.raw import decode_whole
from kinetoscope.trace.recover import place, recover
from kinetoscope.trace.unzip import MAX_BYTES, unzip

if TYPE_CHECKING:
    from kinetoscope.trace.findings import Findings

_RECORD_AGAIN = "record it again, or take a whole copy of it"

_STRING_OR_WORD = re.compile(
    r'"(?P<string>(?:[^"\\]|\\.)*)"|(?P<word>-?(?<![\w.])(?:infinity|inf|nan)\b(?:\(\w*\))?)',
    re.DOTALL | re.IGNORECASE,
)
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\', re.DOTALL)


@dataclass(slots=True)
class Document:
    """What a trace file holds."""

    columns: Columns
    device_names: dict[int, str] = field(default_factory=dict)


def parse(data: bytes, path: str, findings: Findings, max_bytes: int = MAX_BYTES) -> Document:
    """The events and device names of a trace file's bytes; what was repaired or lost goes to ``findings``.

    Raises :class:`TraceError`, naming ``path``, for empty and other files.
    """
    data = unzip(data, path, findings, max_bytes)
    for exact in (False, True):
        whole = decode_whole(data, exact=exact)
        if whole is None:
            break
        held = findings.held()
        try:
            return Document(columns(whole[0], findings), _device_names(whole[1]))
        except InexactTimes:
            findings.back_to(held)
    events, properties = _faulty(_text(data, path, findings), path, findings)
    return Document(columns(events, findings), _device_names(properties))


def _faulty(text: str, path: str, findings: Findings) -> tuple[list[Any], Any]:
    """The events, and the value of ``deviceProperties``, of a document that is not as the format says."""
    try:
        document = decode_json(text, path, findings)
    except TraceError:
        recovered = recover(text, findings)
        if recovered is None:
            raise
        return recovered
    if isinstance(document, list):
        return document, None
    found = document.get("traceEvents") if isinstance(document, dict) else None
    if not isinstance(found, list):
        raise TraceError(
            f"{path}: this is JSON but no trace, it has no list traceEvents; "
            "give a file that export_chrome_trace wrote."
        )
    return found, document.get("deviceProperties")


def read_text(data: bytes, path: str, findings: Findings, max_bytes: int = MAX_BYTES) -> str:
    """The text of a trace file's bytes, unpacked.

    Raises :class:`TraceError`, naming ``path``, where there is none, or more than ``max_bytes`` of it.
    """
    return _text(unzip(data, path, findings, max_bytes), path, findings)


def _text(data: bytes, path: str, findings: Findings) -> str:
    text = _decode(data, findings)
    if text.strip():
        return text
    if any(finding.code.startswith("gzip") for finding in findings):
        raise TraceError(f"{path}: the gzip stream is damaged or cut off at its beginning; {_RECORD_AGAIN}.")
    raise TraceError(
        f"{path}: the file is empty (the profiler had not finished writing it?); {_RECORD_AGAIN}."
    )


def _decode(data: bytes, findings: Findings) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = data.decode("utf-8-sig", errors="replace")
        # A replacement character that was in the file as such is valid UTF-8 and no damage.
        count = text.count("\ufffd") - data.count("\ufffd".encode())
        findings.add("bad-utf8", f"byte {error.start}", count)
        return text


def decode_json(text: str, path: str, findings: Findings) -> Any:
    """The JSON of a document, with backslashes put right and numbers that are not finite left out.

    Raises :class:`TraceError`, naming ``path``, for anything else that does not parse.
    """
    try:
        return _loads(text)
    except RecursionError as error:
        raise TraceError(
            f"{path}: the JSON is nested too deeply for a trace; check what wrote it."
        ) from error
    except ValueError as error:
        problem = error
    repaired, done = _repair(text)
    if repaired != text:
        try:
            document = _loads(repaired)
        except (ValueError, RecursionError) as error:
            problem = error if isinstance(error, ValueError) else problem
        else:
            for code, (count, first) in done.items():
                findings.add(code, partial(place, text, first), count)
            return document
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


def _repair(text: str) -> tuple[str, dict[str, tuple[int, int]]]:
    """Double each backslash that starts no escape (Windows paths, pytorch#98432); inf and nan to null
    (kineto#105: the bandwidth of a copy of length 0).

    Returns the text, and by code of finding how often and where first.
    """
    done: dict[str, tuple[int, int]] = {}

    def count(code: str, match: re.Match[str]) -> None:
        times, first = done.get(code, (0, match.start()))
        done[code] = times + 1, first

    def mend(match: re.Match[str]) -> str:
        if match["word"] is not None:
            count("not-finite", match)
            return "null"
        whole = match[0]
        if "\\" not in whole:
            return whole
        mended = _ESCAPE.sub(lambda escape: "\\\\" if escape[0] == "\\" else escape[0], whole[1:-1])
        if len(mended) == len(whole) - 2:
            return whole
        count("bad-escape", match)
        return f'"{mended}"'

    return _STRING_OR_WORD.sub(mend, text), done


def _device_names(properties: Any) -> dict[int, str]:
    """GPU name by device number, from Kineto's ``deviceProperties``."""
    names: dict[int, str] = {}
    for entry in properties if isinstance(properties, list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("id"), int) and entry.get("name"):
            names[entry["id"]] = str(entry["name"])
    return names
