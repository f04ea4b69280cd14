"""Events out of text that is not JSON: cut off, with quotation marks that are not escaped, with holes.

Each event is read by itself.  An event that cannot be read is mended if what was meant can be told, and else
left out.  The time this takes is linear in the length of the text.
"""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kinetoscope.trace.fields import exactly

if TYPE_CHECKING:
    from kinetoscope.trace.findings import Findings

_constants: list[str] = []
_DECODER = json.JSONDecoder(parse_float=exactly, parse_constant=_constants.append)
_LENIENT = json.JSONDecoder(parse_float=exactly, parse_constant=_constants.append, strict=False)

CONTROL = re.compile(r"[\x00-\x1f]")
"""Characters that a string of JSON may hold only as an escape"""

_LIST = re.compile(r'"traceEvents"\s*:\s*\[')
_DEVICES = re.compile(r'"deviceProperties"\s*:\s*')
_FIRST = re.compile(r'\{\s*"ph"\s*:')
_BETWEEN = re.compile(r"[\s,]*")
# Where an event begins: Kineto writes "ph" first; after the end of an event any key of the format will do.
_NEXT = re.compile(
    r'\{\s*"ph"\s*:|(?<=[}\]])\s*,?\s*\{\s*"(?:name|cat|pid|tid|ts|dur|id|bp|args|s)"\s*:', re.DOTALL
)
_LARGEST = 2**12
"""Characters of the longest event that is read although another one seems to begin in it"""
_LONGEST = 2**22
"""Characters of the longest event that is mended"""
_DEEPEST = 300
"""Levels of what is kept of an event in which the decoder met too many; no profiler writes more than ten"""

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
_LEGAL_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_PLAIN = re.compile(r'[^"\\]+')
_OUTSIDE = re.compile(r'[^"{}\[\]a-zA-Z]+')
_WORD = re.compile(r"[a-zA-Z]+(?:\(\w*\))?")
_NOT_FINITE = re.compile(r"-?\s*(?:infinity|inf|nan)(?:\(\w*\))?$", re.IGNORECASE)
# What follows the quotation mark that ends a key, an item of a list, a value of an object.
_AFTER_KEY = re.compile(r"\s*:")
_AFTER_ITEM = re.compile(r'\s*(?:,\s*["\d\[{\-tfn]|\])')
_AFTER_VALUE = re.compile(r'\s*(?:,\s*"[^"\\]{0,64}"\s*:|\}\s*(?:[,\]}]|$))')


def recover(text: str, findings: Findings) -> tuple[list[Any], Any] | None:
    """The events that can be read of the document ``text``, and the value of ``deviceProperties``.

    None if there is no event, and for other text in which some events are quoted.  Adds to ``findings``:
    ``cut``, ``damaged-event``, ``deep-args``, ``junk``, ``damaged-metadata``, ``several-documents``,
    ``bad-comma``, ``bad-quote``, ``bad-escape``, ``not-finite``, ``control-character``.
    """
    if text.lstrip()[:1] == "[":
        begin = text.index("[") + 1
    elif list_start := _LIST.search(text):
        begin = list_start.end()
    elif first_event := _FIRST.search(text):
        begin = first_event.start()
        findings.add("damaged-metadata", partial(place, text, begin))
    else:
        return None
    before = len(list(findings))
    events, end = _events(text, begin, findings)
    junk = sum(finding.count for finding in findings if finding.code == "junk")
    is_json = text.lstrip()[:1] in ("{", "[")
    if not events or (not is_json and (2 * (end - begin) < len(text) or 2 * junk > len(events))):
        return None
    if (another := _LIST.search(text, end)) is not None:
        findings.add("several-documents", partial(place, text, another.start()))
    elif len(list(findings)) == before:
        # The events are whole, so the fault that the decoder met is elsewhere.
        findings.add("damaged-metadata", partial(place, text, end))
    return events, _devices(text)


def _devices(text: str) -> Any:
    key = _DEVICES.search(text)
    if key is None:
        return None
    try:
        return _DECODER.raw_decode(text, key.end())[0]
    except (ValueError, RecursionError):
        return None


def _events(text: str, at: int, findings: Findings) -> tuple[list[Any], int]:
    """The events from ``at`` on, and where their list ends."""
    events: list[Any] = []
    after_event = False
    following: re.Match[str] | None = None
    is_searched = False
    while True:
        between = _BETWEEN.match(text, at)
        assert between is not None
        commas, at = between[0].count(","), between.end()
        if at >= len(text):
            findings.add("cut", f"the end, after {len(events)} whole entries")
            return events, at
        if commas != (0 if text[at] == "]" or not after_event else 1):
            findings.add("bad-comma", partial(place, text, at))
        after_event = False
        if text[at] == "]":
            return events, at
        # It may be far away, or nowhere: so it is looked for once.
        if not is_searched or (following and following.start() <= at):
            following, is_searched = _NEXT.search(text, at + 1), True
        end = text.rindex("{", at, following.end()) if following else len(text)
        if text[at] != "{":
            if following is None:
                findings.add("cut", partial(_after, text, at, len(events)))
                return events, at
            findings.add("junk", partial(place, text, at))
            at = end
            continue
        event = _read(text, at, end)
        if event is None and end < at + _LARGEST and '"name"' in text[at:end]:
            # Another event seems to begin in the name of this one.
            event = _read(text, at, at + _LARGEST)
        event = event or _mend(text, at, end)
        if event is not None:
            events.append(event.value)
            for code, count in event.repairs.items():
                findings.add(code, partial(place, text, at), count)
            end = event.end
            after_event = True
        elif following is None:
            closed = _closing(text, at)
            if closed is None:
                findings.add("cut", partial(_after, text, at, len(events)))
                return events, at
            findings.add("damaged-event", partial(place, text, at))
            end = closed
        else:
            findings.add("damaged-event", partial(place, text, at))
        at = end


def _closing(text: str, at: int) -> int | None:
    """Where the object that begins at ``at`` ends, by its brackets; None if it does not end."""
    depth = 0
    for token in _TOKEN.finditer(text, at):
        if token[0][0] != '"':
            depth += 1 if token[0] in "{[" else -1
            if not depth:
                return token.end()
    return None


def _after(text: str, at: int, events: int) -> str:
    return f"{place(text, at)}, after {events} whole entries"


def place(text: str, at: int) -> str:
    """Line and column, both from 1, of a position in a text."""
    line = text.count("\n", 0, at) + 1
    return f"line {line}, column {at - text.rfind(chr(10), 0, at)}"


class _Event(NamedTuple):
    value: Any
    end: int
    """where it ends in the text"""
    repairs: dict[str, int]
    """by code of a finding how often JSON does not allow what stands there"""


def _read(text: str, at: int, end: int) -> _Event | None:
    """The event that begins at ``at`` and ends no later than ``end``; None if the decoder refuses it."""
    # A slice, because an error of the decoder counts the lines of all the text that it was given.
    size = _LARGEST
    while at + size < end and _closing(text[at : at + size], 0) is None:
        size *= 16
    piece = text[at : min(at + size, end)]
    _constants.clear()
    try:
        value, length = _DECODER.raw_decode(piece)
        control = 0
    except RecursionError:
        shallow, length, dropped = _shallow(piece)
        event = _read(shallow, 0, len(shallow)) if dropped else None
        return event and _Event(event.value, at + length, {**event.repairs, "deep-args": dropped})
    except ValueError as error:
        if not isinstance(error, json.JSONDecodeError) or not error.msg.startswith("Invalid control"):
            return None
        _constants.clear()
        try:
            value, length = _LENIENT.raw_decode(piece)
        except (ValueError, RecursionError):
            return None
        strings = _STRING.finditer(piece, 0, length)
        control = sum(CONTROL.search(string[0]) is not None for string in strings)
    return _Event(value, at + length, {"control-character": control, "not-finite": len(_constants)})


def _shallow(text: str) -> tuple[str, int, int]:
    """The object at the start of ``text`` with null for deep values, its length there, and their number."""
    out: list[str] = []
    depth = deepest = kept = begin = dropped = end = 0
    for token in _TOKEN.finditer(text):
        if token[0] in ("{", "["):
            depth += 1
            deepest = max(deepest, depth)
            if depth == 2:
                begin, deepest = token.start(), 2
        elif token[0] in ("}", "]"):
            depth -= 1
            end = token.end()
            if depth == 1 and deepest > _DEEPEST:
                out += [text[kept:begin], "null"]
                kept, dropped = end, dropped + 1
            elif not depth:
                break
    return "".join((*out, text[kept:end])), end, dropped


def _mend(text: str, at: int, end: int) -> _Event | None:
    """The event that begins at ``at`` and ends no later than ``end``, with its strings repaired."""
    out: list[str] = []
    counts = {"bad-quote": 0, "bad-escape": 0, "not-finite": 0}
    nesting: list[str] = []
    is_key = False
    end = min(end, at + _LONGEST)
    while at < end:
        char = text[at]
        if char == '"':
            after = _AFTER_KEY if is_key else _AFTER_VALUE if nesting[-1:] == ["{"] else _AFTER_ITEM
            string, at = _string(text, at + 1, end, after, counts)
            if string is None:
                return None
            out.append(string)
            is_key = False
        elif char in "{[":
            nesting.append(char)
            out.append(char)
            is_key = char == "{"
            at += 1
        elif char in "}]":
            if not nesting or nesting.pop() != {"}": "{", "]": "["}[char]:
                return None
            out.append(char)
            at += 1
            is_key = False
            if not nesting:
                try:
                    counts["control-character"] = sum(
                        part.startswith('"') and CONTROL.search(part) is not None for part in out
                    )
                    return _Event(_LENIENT.decode("".join(out)), at, counts)
                except (ValueError, RecursionError):
                    return None
        elif word := _WORD.match(text, at, end):
            if _NOT_FINITE.match(word[0]):
                if out and out[-1].endswith("-"):
                    out[-1] = out[-1][:-1]
                out.append("null")
                counts["not-finite"] += 1
            else:
                out.append(word[0])
            at = word.end()
        else:
            plain = _OUTSIDE.match(text, at, end)
            assert plain is not None
            out.append(plain[0])
            if nesting[-1:] == ["{"] and "," in plain[0]:
                is_key = True
            at = plain.end()
    return None


def _string(
    text: str, at: int, end: int, after: re.Pattern[str], counts: dict[str, int]
) -> tuple[str | None, int]:
    """The string whose text begins at ``at``, as JSON, and where it ends; None if it does not end.

    ``after`` is what follows a quotation mark that ends it; any other one is part of the string.
    """
    out = ['"']
    while at < end:
        if plain := _PLAIN.match(text, at, end):
            out.append(plain[0])
            at = plain.end()
        elif text[at] == "\\":
            escape = _LEGAL_ESCAPE.match(text, at, end)
            out.append(escape[0] if escape else "\\\\")
            counts["bad-escape"] += escape is None
            at = escape.end() if escape else at + 1
        elif after.match(text, at + 1):
            out.append('"')
            return "".join(out), at + 1
        else:
            out.append('\\"')
            counts["bad-quote"] += 1
            at += 1
    return None, end
