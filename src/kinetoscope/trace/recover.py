"""Events out of JSON that does not parse: cut off, with quotation marks not escaped, with holes.

Only for files that the JSON decoder has refused.  Each event is read by itself; one that cannot be is
mended if what was meant can be told, and else left out.  The cost is linear in the text.
"""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any

from kinetoscope.trace.fields import exactly

if TYPE_CHECKING:
    from kinetoscope.trace.findings import Findings

_constants: list[str] = []
_DECODER = json.JSONDecoder(parse_float=exactly, parse_constant=_constants.append)
_LENIENT = json.JSONDecoder(parse_float=exactly, parse_constant=_constants.append, strict=False)

CONTROL = re.compile(r"[\x00-\x1f]")
"""In a string of JSON it has to be escaped"""

_LIST = re.compile(r'"traceEvents"\s*:\s*\[')
_DEVICES = re.compile(r'"deviceProperties"\s*:\s*')
_FIRST = re.compile(r'\{\s*"ph"\s*:')
_BETWEEN = re.compile(r"[\s,]*")
# An event begins: Kineto writes "ph" first; after the end of another any key of the format will do.
_NEXT = re.compile(
    r'\{\s*"ph"\s*:|(?<=[}\]])\s*,?\s*\{\s*"(?:name|cat|pid|tid|ts|dur|id|bp|args|s)"\s*:', re.DOTALL
)
_LARGEST = 2**12
"""characters of the longest event that is read although another seems to begin in it"""

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_LEGAL_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_PLAIN = re.compile(r'[^"\\]+')
_OUTSIDE = re.compile(r'[^"{}\[\]a-zA-Z]+')
_WORD = re.compile(r"[a-zA-Z]+(?:\(\w*\))?")
_NOT_FINITE = re.compile(r"-?\s*(?:infinity|inf|nan)(?:\(\w*\))?$", re.IGNORECASE)
# What follows the quotation mark that ends a key, a member of a list, a member of an object.
_AFTER_KEY = re.compile(r"\s*:")
_AFTER_ITEM = re.compile(r'\s*(?:,\s*["\d\[{\-tfn]|\])')
_AFTER_VALUE = re.compile(r'\s*(?:,\s*"[^"\\]{0,64}"\s*:|\}\s*(?:[,\]}]|$))')


def recover(text: str, findings: Findings) -> tuple[list[Any], Any] | None:
    """The events that can be read, and the value of ``deviceProperties``; None where there is no such list.

    ``text`` is the whole document.  Adds to ``findings``: ``cut``, ``damaged-event``, ``junk``,
    ``damaged-metadata``, ``several-documents``, ``bad-comma``, ``bad-quote``, ``bad-escape``, ``not-finite``,
    ``control-character``.
    """
    if text.lstrip()[:1] == "[":
        begin = text.index("[") + 1
    elif found := _LIST.search(text):
        begin = found.end()
    elif found := _FIRST.search(text):
        begin = found.start()
        findings.add("damaged-metadata", partial(place, text, begin))
    else:
        return None
    before = len(findings.as_list())
    events, end = _events(text, begin, findings)
    if (another := _LIST.search(text, end)) is not None:
        findings.add("several-documents", partial(place, text, another.start()))
    elif len(findings.as_list()) == before:
        # the events are whole, so the fault that the decoder met lies elsewhere
        findings.add("damaged-metadata", partial(place, text, end))
    return events, _devices(text)


def _devices(text: str) -> Any:
    found = _DEVICES.search(text)
    if found is None:
        return None
    try:
        return _DECODER.raw_decode(text, found.end())[0]
    except (ValueError, RecursionError):
        return None


def _events(text: str, at: int, findings: Findings) -> tuple[list[Any], int]:
    """The events from ``at`` on, and where their list ends."""
    events: list[Any] = []
    after_event = False
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
        following = _NEXT.search(text, at + 1)
        end = text.rindex("{", at, following.end()) if following else len(text)
        if text[at] != "{":
            if following is None:
                findings.add("cut", partial(_after, text, at, len(events)))
                return events, len(text)
            findings.add("junk", partial(place, text, at))
            at = end
            continue
        # A slice, because an error of the decoder counts the lines of all it was given.  The second is for
        # an event in whose name another seems to begin.
        pieces = [text[at:end]]
        if '"name"' in pieces[0] and end < at + _LARGEST:
            pieces.append(text[at : at + _LARGEST])
        for piece in pieces:
            if (read := _read(piece)) is not None:
                break
        if read is not None:
            events.append(read.event)
            for code, count in read.counts.items():
                findings.add(code, partial(place, text, at), count)
            at += read.end
            after_event = True
            continue
        mended = _mend(text, at, end)
        if mended is not None:
            events.append(mended.event)
            for code, count in mended.counts.items():
                findings.add(code, partial(place, text, at), count)
            end = mended.end
            after_event = True
        elif following is None:
            findings.add("cut", partial(_after, text, at, len(events)))
            return events, len(text)
        else:
            findings.add("damaged-event", partial(place, text, at))
        at = end


def _after(text: str, at: int, events: int) -> str:
    return f"{place(text, at)}, after {events} whole entries"


def place(text: str, at: int) -> str:
    """Line and column, both from 1, of a position in a text."""
    line = text.count("\n", 0, at) + 1
    return f"line {line}, column {at - text.rfind(chr(10), 0, at)}"


class _Mended:
    def __init__(self, event: Any, end: int, counts: dict[str, int]) -> None:
        self.event, self.end, self.counts = event, end, counts


def _read(piece: str) -> _Mended | None:
    """The value at the begin of ``piece``, and what JSON does not allow in it; None where there is none."""
    _constants.clear()
    try:
        event, length = _DECODER.raw_decode(piece)
        control = 0
    except (ValueError, RecursionError) as error:
        if not isinstance(error, json.JSONDecodeError) or not error.msg.startswith("Invalid control"):
            return None
        _constants.clear()
        try:
            event, length = _LENIENT.raw_decode(piece)
        except (ValueError, RecursionError):
            return None
        control = sum(CONTROL.search(found[0]) is not None for found in _STRING.finditer(piece, 0, length))
    return _Mended(event, length, {"control-character": control, "not-finite": len(_constants)})


def _mend(text: str, at: int, end: int) -> _Mended | None:
    """The event that begins at ``at`` and ends no later than ``end``, its strings put right."""
    out: list[str] = []
    counts = {"bad-quote": 0, "bad-escape": 0, "not-finite": 0}
    nesting: list[str] = []
    is_key = False
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
                    return _Mended(json.loads("".join(out), cls=_Exact, strict=False), at, counts)
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


class _Exact(json.JSONDecoder):
    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "parse_float": exactly, "parse_constant": lambda _: None})


def _string(
    text: str, at: int, end: int, after: re.Pattern[str], counts: dict[str, int]
) -> tuple[str | None, int]:
    """A string from behind its first quotation mark on, as JSON, and where what follows it begins."""
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
