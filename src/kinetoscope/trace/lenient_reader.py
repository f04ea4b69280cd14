"""Bytes of a trace file, whatever is wrong with it -> entries, repaired where that is safe.

Numbers with a fraction are kept as :class:`decimal.Decimal`: an absolute time stamp in µs with three
decimals does not fit a float (its step there is 0.25 µs).
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from kinetoscope.trace.fields import exactly
from kinetoscope.trace.findings import TraceError
from kinetoscope.trace.other_formats import LOOKED_AT, refuse_other_formats
from kinetoscope.trace.recover import CONTROL, place, recover
from kinetoscope.trace.unzip import MAX_BYTES, Source, Unusual, unzip

if TYPE_CHECKING:
    from kinetoscope.trace.findings import Findings

_COSTS = 64
"""Only this part of the limit on bytes is read here: 32 MiB of JSON took 0.6 GB as Kineto writes it."""
_SMALLEST = 64
"""bytes of JSON to an object; traces have 96 or more. 32 MiB of ``{},`` took 1.3 GB."""

_RECORD_AGAIN = "record it again, or take a whole copy of it"

_STRING_OR_WORD = re.compile(
    r'"(?P<string>(?:[^"\\]|\\.)*)"|(?P<word>-?(?<![\w.])(?:infinity|inf|nan)\b(?:\(\w*\))?)',
    re.DOTALL | re.IGNORECASE,
)
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\', re.DOTALL)


def read_document(source: Source, findings: Findings) -> tuple[list[Any], Any]:
    """The entries of a file's ``traceEvents``, and the value of its ``deviceProperties``.

    Raises :class:`TraceError`, naming the file, if it is empty, no trace, or too large to be read so.
    """
    text, path = _text_of(source, findings), source.path
    try:
        document = decode_json(text, path, findings)
    except TraceError:
        recovered = recover(text, findings)
        if recovered is None:
            raise
        return recovered
    if isinstance(document, list):
        if document and not any(isinstance(entry, dict) and "ph" in entry for entry in document):
            raise TraceError(
                f"{path}: this is a JSON list and no trace, none of its entries is an event "
                "(export_memory_timeline writes such a list); give a file that export_chrome_trace wrote."
            )
        return document, None
    entries = document.get("traceEvents") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise TraceError(
            f"{path}: this is JSON but no trace, it has no list traceEvents; "
            "give a file that export_chrome_trace wrote."
        )
    return entries, document.get("deviceProperties")


def read_text(data: bytes, path: str, findings: Findings, max_bytes: int = MAX_BYTES) -> str:
    """The text of a trace file's bytes, unpacked.

    Raises :class:`TraceError`, naming ``path``, where there is none, or too much to be read so.
    """
    return _text_of(Source(data, path, max_bytes), findings)


def _text_of(source: Source, findings: Findings) -> str:
    start = b""
    with suppress(Unusual):
        start = next(source.chunks(LOOKED_AT), b"")
    refuse_other_formats(start, source.path)
    source.survey()
    text = _decode(_as_utf8(unzip(source.held(), findings), findings), findings)
    if not text.strip():
        if any(finding.code.startswith("gzip") for finding in findings):
            raise TraceError(
                f"{source.path}: the gzip stream is damaged or cut off at its beginning; {_RECORD_AGAIN}."
            )
        raise TraceError(
            f"{source.path}: the file is empty (the profiler had not finished writing it?); {_RECORD_AGAIN}."
        )
    size = max(len(text), text.count("{") * _SMALLEST)
    if size > source.max_bytes // _COSTS:
        raise TraceError(
            f"{source.path}: is damaged or not as profilers write it, and to read so large a file event by "
            f"event may take {_COSTS} times its size in memory; {_RECORD_AGAIN}, or raise the limit "
            f"(max_bytes, --max-bytes) to {-(-size * _COSTS // 2**30)} GiB."
        )
    return text


def _as_utf8(data: bytes, findings: Findings) -> bytes:
    """A document's bytes as UTF-8.  UTF-16, which PowerShell's ``>`` writes, is known by its first bytes."""
    encoding = json.detect_encoding(data[:4]) if data[:1] else "utf-8"
    if encoding.startswith("utf-8"):
        return data
    text = data.decode(encoding, errors="replace")
    findings.add("not-utf8", f"byte 0 ({encoding.upper()})")
    if damaged := text.count("\ufffd"):
        findings.add("bad-utf8", f"character {text.index(chr(0xFFFD))}", damaged)
    return text.removeprefix("\ufeff").encode("utf-8", "surrogatepass")


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
    """The value of a JSON document, with backslashes repaired and None for numbers that are not finite.

    Raises :class:`TraceError`, naming ``path``, for anything else that does not parse.
    """
    try:
        document, constants = _loads(text, findings)
        if constants:
            done = _repair(text)[1]
            count, first = done.get("not-finite", (constants, 0))
            findings.add("not-finite", partial(place, text, first), count)
        return document
    except RecursionError as error:
        raise TraceError(
            f"{path}: the JSON is nested too deeply for a trace; check what wrote it."
        ) from error
    except ValueError as error:
        problem = error
    repaired, done = _repair(text)
    if repaired != text:
        try:
            document, _ = _loads(repaired, findings)
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


def _loads(text: str, findings: Findings) -> tuple[Any, int]:
    """The value, and how often NaN, Infinity or -Infinity stands in it, as Python writes them."""
    constants: list[str] = []
    several: list[int] = []

    def with_all_events(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs) and "traceEvents" in value:
            lists = [value for key, value in pairs if key == "traceEvents" and isinstance(value, list)]
            if len(lists) > 1:
                several.append(len(lists) - 1)
                value["traceEvents"] = [event for each in lists for event in each]
        return value

    options: dict[str, Any] = {
        "parse_float": exactly,
        "parse_constant": constants.append,
        "object_pairs_hook": with_all_events if text.count('"traceEvents"') > 1 else None,
    }
    try:
        value = json.loads(text, **options)
    except json.JSONDecodeError as error:
        # torch writes control characters in names without an escape
        if not error.msg.startswith("Invalid control character"):
            raise
        constants.clear()
        several.clear()
        value = json.loads(text, strict=False, **options)
        strings = [match for match in _STRING_OR_WORD.finditer(text) if CONTROL.search(match[0])]
        findings.add("control-character", partial(place, text, strings[0].start()), len(strings))
    if several:
        findings.add("several-lists", "the second traceEvents", sum(several))
    return value, len(constants)


def _repair(text: str) -> tuple[str, dict[str, tuple[int, int]]]:
    """Double each backslash that starts no escape, and write null for inf and nan.

    Such backslashes come from Windows paths (pytorch#98432), and inf is the bandwidth of a copy of length 0
    (kineto#105).  Returns the text, and for each code of a finding how often it was repaired and where first.
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
