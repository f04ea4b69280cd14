"""The events of a document without a fault, piece by piece, so that only one piece at a time is unpacked.

A document is cut where ``}``, ``,`` and ``{`` look like the end of one event and the start of the next.  The
cut is right if the text between it and the cut before can be decoded as a list: if it went through a string
or a list, the text would end inside it.  The text around the list of events is decoded with a mark in place
of the events.  Anything unusual raises :class:`Unusual`, and the caller reads the document as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec

from kinetoscope.trace.unzip import Source, Unusual

SIZE = 2**18
"""bytes of a piece; what is decoded from it fits the caches of a processor"""
LARGEST = 2**23
"""most bytes without a cut, and most bytes before the first event"""

_HEAD = re.compile(rb'\A\s*\[|"traceEvents"\s*:\s*\[')
_END = re.compile(rb"\}\s*\]")
_EMPTY = re.compile(rb"\A\s*\]")
_SPACE = b" \t\r\n"
_KEY = 64
"""bytes before a chunk in which the key of the list may begin"""
_NEAR = 48
"""bytes before an event in which the end of the event before is looked for"""
_TRIES = 4
"""places that look like a cut, and are tried before more of the document is unpacked"""
_MARK = b'"traceEvents are read"'


class Piece(NamedTuple):
    """Some events that follow each other."""

    start: int
    """byte of the unpacked document at which the piece begins"""
    end: int
    events: list[Any]


class _Buffer:
    """The bytes that are unpacked and not yet decoded, always in the same memory.

    New memory costs more than a copy.  A bracket stands before the bytes, so that one byte behind makes any
    part of them a list.
    """

    def __init__(self, rest: bytes) -> None:
        self._bytes = bytearray(b"[") + rest + bytes(2 * SIZE)
        self.size = len(rest)

    def add(self, chunk: bytes) -> None:
        """Hold ``chunk`` as well."""
        end = 1 + self.size
        if end + len(chunk) >= len(self._bytes):
            self._bytes += bytes(len(self._bytes) + len(chunk))
        self._bytes[end : end + len(chunk)] = chunk
        self.size += len(chunk)

    def drop(self, behind: int) -> None:
        """Drop the bytes before the place ``behind``."""
        self.size -= behind
        self._bytes[1 : 1 + self.size] = self._bytes[1 + behind : 1 + behind + self.size]

    def held(self) -> bytes:
        """A copy of all bytes that are held."""
        return bytes(memoryview(self._bytes)[1 : 1 + self.size])

    def last_brace(self, before: int) -> int:
        """The place of the last opening brace before a place, or -1."""
        return max(-1, self._bytes.rfind(b"{", 1, 1 + before) - 1)

    def near(self, at: int) -> bytes:
        """The few bytes before a place."""
        return bytes(self._bytes[1 + max(0, at - _NEAR) : 1 + at])

    @contextmanager
    def closed(self, behind: int) -> Iterator[memoryview]:
        """The bytes up to the place ``behind``, as a list.  Raises :class:`Unusual` if they are no UTF-8."""
        end = 1 + behind
        following, self._bytes[end] = self._bytes[end], ord("]")
        try:
            with memoryview(self._bytes) as whole, whole[: end + 1] as part:
                if not self._bytes.isascii():
                    check(part)
                yield part
        finally:
            self._bytes[end] = following


class _Around(msgspec.Struct, gc=False):
    traceEvents: list[Any]  # noqa: N815 (the format's name)
    deviceProperties: Any = None  # noqa: N815


_AROUND = msgspec.json.Decoder(_Around)
_AROUND_LIST = msgspec.json.Decoder(list[Any])


class Pieces:
    """Iterates over the pieces of a file; after the last, ``properties`` is its ``deviceProperties``.

    The iteration raises :class:`Unusual`.
    """

    def __init__(self, source: Source, decoder: msgspec.json.Decoder[list[Any]]) -> None:
        self.properties: Any = None
        self._chunks = source.chunks(SIZE)
        self._stretch = source.stretch
        self._decoder = decoder

    def __iter__(self) -> Iterator[Piece]:
        head, rest = self._head()
        buffer = _Buffer(rest)
        at, least = len(head), SIZE
        while True:
            while buffer.size < least and (chunk := next(self._chunks, b"")):
                buffer.add(chunk)
            piece = self._cut(buffer) if buffer.size >= least else None
            if piece is not None:
                events, behind, following = piece
                yield Piece(at, at + behind, events)
                buffer.drop(following)
                at, least = at + following, SIZE
                continue
            last = self._last(buffer)
            if last is not None:
                events, behind, following = last
                yield Piece(at, at + behind, events)
                self._decode_around(head, self._rest(buffer.held()[following:]))
                return
            if buffer.size < least or least >= LARGEST:
                raise Unusual
            least *= 2

    def _head(self) -> tuple[bytes, bytes]:
        """The bytes before the first event, and those after them that are unpacked so far."""
        buffer = b""
        for chunk in self._chunks:
            before = max(0, len(buffer) - _KEY)
            buffer += chunk
            if match := _HEAD.search(buffer, before):
                return buffer[: match.end()], buffer[match.end() :]
            if len(buffer) > LARGEST:
                break
        raise Unusual

    def _rest(self, begin: bytes) -> bytes:
        parts, size = [begin], 0
        for chunk in self._chunks:
            parts.append(chunk)
            size += len(chunk)
            if size > self._stretch:
                raise Unusual
        return b"".join(parts)

    def _cut(self, buffer: _Buffer) -> tuple[list[Any], int, int] | None:
        """The events at the start of ``buffer``, where they end, and where the next event begins.

        None if no place that looks like a cut is one.
        """
        at, tries = buffer.size, 0
        for _ in range(500):
            at = buffer.last_brace(at)
            if at <= 0 or tries == _TRIES:
                return None
            near = buffer.near(at).rstrip(_SPACE)
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

    def _last(self, buffer: _Buffer) -> tuple[list[Any], int, int] | None:
        """The events up to the end of the list, where they end, and where its bracket is; None without it."""
        held = buffer.held()
        if match := _EMPTY.match(held):
            return [], 0, match.end() - 1
        for tries, match in enumerate(_END.finditer(held)):
            if tries == _TRIES:
                break
            if (events := self._decode(buffer, match.start() + 1)) is not None:
                return events, match.start() + 1, match.end() - 1
        return None

    def _decode(self, buffer: _Buffer, behind: int) -> list[Any] | None:
        """The events up to a place; None if they are not whole.  Raises :class:`Unusual` for odd events."""
        try:
            with buffer.closed(behind) as part:
                return self._decoder.decode(part)
        except msgspec.ValidationError as error:
            raise Unusual from error
        except msgspec.DecodeError:
            return None
        except (RecursionError, ValueError) as error:
            raise Unusual from error

    def _decode_around(self, head: bytes, tail: bytes) -> None:
        whole = head + _MARK + tail
        check(whole)
        is_list = head.lstrip().startswith(b"[")
        try:
            if is_list:
                entries, self.properties = _AROUND_LIST.decode(whole), None
            else:
                document = _AROUND.decode(whole)
                entries, self.properties = document.traceEvents, document.deviceProperties
        except (msgspec.DecodeError, RecursionError, ValueError) as error:
            raise Unusual from error
        if entries != [_MARK[1:-1].decode()]:
            raise Unusual  # the events that were read are in some other list of this name


def check(text: bytes | memoryview) -> None:
    """Raises :class:`Unusual` if ``text`` is not UTF-8, since msgspec does not check what it skips."""
    try:
        str(text, "utf-8")
    except UnicodeDecodeError as error:
        raise Unusual from error
