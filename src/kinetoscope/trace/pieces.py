"""The events of a document without a fault, piece by piece: never is more than a piece of it unpacked.

A document is cut where one event ends and the next begins, by looks: ``}``, ``,``, ``{``.  That a cut is one
is known when what lies between two cuts can be decoded as a list: a string or a list that was cut through
would end unclosed.  What stands around the list is decoded with a mark in its place.  Anything unusual is
:class:`Unusual`, and whoever asked reads the document as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

_zlib: Any
try:
    # In a third of zlib's time, which is a seventh of what reading a trace takes.
    from isal import isal_zlib as _zlib
except ImportError:
    import zlib as _zlib

SIZE = 2**18
"""bytes of a piece: what is decoded from it fits the caches of a processor"""
LARGEST = 2**23
"""bytes without a cut, or before the first event"""

_INPUT = 2**14
_MAGIC, _GZIP = b"\x1f\x8b", 31
_HEAD = re.compile(rb'\A\s*\[|"traceEvents"\s*:\s*\[')
_END = re.compile(rb"\}\s*\]")
_EMPTY = re.compile(rb"\A\s*\]")
_SPACE = b" \t\r\n"
_NEAR = 48  # bytes in which to look for the end of the event before
_TRIES = 4
_MARK = b'"traceEvents are read"'


class Unusual(Exception):
    """The document is not as profilers write it; it may be whole or not."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some events, one after the other."""

    start: int
    """where it begins in the unpacked document"""
    end: int
    events: list[Any]


class _Around(msgspec.Struct, gc=False):
    traceEvents: list[Any]  # noqa: N815 (the format's name)
    deviceProperties: Any = None  # noqa: N815


_AROUND = msgspec.json.Decoder(_Around)
_AROUND_LIST = msgspec.json.Decoder(list[Any])


class Pieces:
    """Iterates over the pieces of a file's bytes; then ``properties`` is its ``deviceProperties``.

    Raises :class:`Unusual` while it is iterated over.
    """

    def __init__(self, data: bytes, decoder: msgspec.json.Decoder[list[Any]], max_bytes: int) -> None:
        self.properties: Any = None
        self._chunks = chunks(data, max_bytes)
        self._decoder = decoder

    def __iter__(self) -> Iterator[Piece]:
        head, buffer = self._head()
        at = len(head)
        least = SIZE
        while True:
            while len(buffer) < least and (chunk := next(self._chunks, b"")):
                buffer += chunk
            found = self._cut(buffer) if len(buffer) >= least else None
            if found is not None:
                events, behind, following = found
                yield Piece(at, at + behind, events)
                buffer, at, least = buffer[following:], at + following, SIZE
                continue
            last = self._last(buffer)
            if last is not None:
                events, behind, following = last
                yield Piece(at, at + behind, events)
                self._decode_around(head, b"".join((buffer[following:], *self._chunks)))
                return
            if len(buffer) < least or least >= LARGEST:
                raise Unusual
            least *= 2

    def _head(self) -> tuple[bytes, bytes]:
        """What is before the first event, and what is known of what follows."""
        buffer = b""
        for chunk in self._chunks:
            buffer += chunk
            if match := _HEAD.search(buffer):
                return buffer[: match.end()], buffer[match.end() :]
            if len(buffer) > LARGEST:
                break
        raise Unusual

    def _cut(self, buffer: bytes) -> tuple[list[Any], int, int] | None:
        """Events from the begin of ``buffer`` on, where they end, and where the next one begins."""
        at, tries = len(buffer), 0
        for _ in range(500):
            at = buffer.rfind(b"{", 0, at)
            if at <= 0 or tries == _TRIES:
                return None
            near = buffer[max(0, at - _NEAR) : at].rstrip(_SPACE)
            if not near.endswith(b","):
                continue
            near = near[:-1].rstrip(_SPACE)
            if not near.endswith(b"}"):
                continue
            behind = max(0, at - _NEAR) + len(near)
            tries += 1
            if (events := self._decode(buffer, behind)) is not None:
                return events, behind, at
        return None

    def _last(self, buffer: bytes) -> tuple[list[Any], int, int] | None:
        """The events up to the end of the list, where they end, and where its bracket is."""
        if match := _EMPTY.match(buffer):
            return [], 0, match.end() - 1
        for tries, match in enumerate(_END.finditer(buffer)):
            if tries == _TRIES:
                break
            if (events := self._decode(buffer, match.start() + 1)) is not None:
                return events, match.start() + 1, match.end() - 1
        return None

    def _decode(self, buffer: bytes, behind: int) -> list[Any] | None:
        """The events up to a place, None if they are not whole.  Raises :class:`Unusual` for odd ones."""
        try:
            return self._decoder.decode(checked(b"".join((b"[", memoryview(buffer)[:behind], b"]"))))
        except msgspec.ValidationError as error:
            raise Unusual from error
        except msgspec.DecodeError:
            return None
        except (RecursionError, ValueError) as error:
            raise Unusual from error

    def _decode_around(self, head: bytes, tail: bytes) -> None:
        whole = checked(head + _MARK + tail)
        is_list = head.lstrip().startswith(b"[")
        try:
            if is_list:
                found, self.properties = _AROUND_LIST.decode(whole), None
            else:
                document = _AROUND.decode(whole)
                found, self.properties = document.traceEvents, document.deviceProperties
        except (msgspec.DecodeError, RecursionError, ValueError) as error:
            raise Unusual from error
        if found != [_MARK[1:-1].decode()]:
            raise Unusual  # what was read is some other list of this name


def checked(text: bytes) -> bytes:
    """The same.  Raises :class:`Unusual` for what is no UTF-8: msgspec does not look at what it skips."""
    if not text.isascii():
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise Unusual from error
    return text


def chunks(data: bytes, max_bytes: int) -> Iterator[bytes]:
    """A file's bytes in chunks, unpacked.  Raises :class:`Unusual` for faults of gzip, or too much of it."""
    if not data.startswith(_MAGIC):
        for at in range(0, len(data), SIZE):
            yield data[at : at + SIZE]
        return
    member, size = _zlib.decompressobj(_GZIP), 0
    for at in range(0, len(data), _INPUT):
        rest = data[at : at + _INPUT]
        while rest:
            if member.eof:
                member = _zlib.decompressobj(_GZIP)
            try:
                chunk = member.decompress(rest, SIZE)
            except _zlib.error as error:
                raise Unusual from error
            size += len(chunk)
            if size > max_bytes:
                raise Unusual
            if chunk:
                yield chunk
            rest = member.unused_data if member.eof else member.unconsumed_tail
    while not member.eof:
        # what is unpacked of the last input, and does not fit a chunk
        chunk = member.decompress(member.unconsumed_tail, SIZE)
        size += len(chunk)
        if not chunk or size > max_bytes:
            raise Unusual
        yield chunk
