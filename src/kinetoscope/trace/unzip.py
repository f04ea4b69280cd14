"""A file -> bytes of JSON: read and unpacked only as far as somebody asks, and within limits.

A pipe or a device may have no end, and few bytes of gzip may unpack to very many.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

from kinetoscope.trace.findings import TraceError

if TYPE_CHECKING:
    from kinetoscope.trace.findings import Findings

_zlib: Any
try:
    # It takes a third of zlib's time, and zlib takes a seventh of the time to read a trace.
    from isal import isal_zlib as _zlib
except ImportError:
    _zlib = zlib

MAX_BYTES = 4 * 2**30
"""Bytes of JSON that a file may hold unless told otherwise: fifty times the largest traces seen"""

_EVENTS, _BYTES_OF_AN_EVENT = 2**24, 256
"""A file may hold so many events, or one for so many bytes of its limit if that is more."""

_STRETCH, _STRETCHES = 2**25, 128
"""So many bytes may hold no event, or this part of the limit if that is more.  Profilers write a few kB of
other fields."""

_SUSPECT, _MOST_TIMES = 2**28, 100
"""A file that unpacks to more than so many bytes and so many times its size is refused.  Of a hundred traces
the one of ResNet-50 with stacks has the highest ratio, 35; the others stay below 30."""

_HOLLOW = 2**20
"""Gzip of more than so many bytes, that unpacks to less than half of them, is hollow: each empty member takes
20 bytes and as much time as a thousand bytes of JSON."""

_NO_EVENT = 2**23
"""Bytes of a file without any event that are looked at for what they are"""

_PHASE = [zeros.join((b'"', b"p", b"h", b'"')) for zeros in (b"", b"\0", b"\0\0\0")]
"""The key that each event has, in UTF-8, UTF-16 and UTF-32"""
_MAGIC = b"\x1f\x8b"
_GZIP = 31  # zlib's code for a gzip header and checksum
_PIECE = 2**14
"""bytes of gzip that are unpacked at once"""
_BLOCK = 2**20
"""bytes that are read, or surveyed, at once"""
_RAISE = "if this one does, raise the limit (max_bytes, --max-bytes)."


class Unusual(Exception):
    """The document is not as profilers write it; it need not be damaged."""


class Readable(Protocol):
    """An open file."""

    def read(self, size: int, /) -> bytes | None:
        """At most ``size`` bytes, none at the end."""


class Source:
    """The bytes of a file.  What was read of it is kept, and can be read again."""

    def __init__(self, given: bytes | Readable, path: str, max_bytes: int = MAX_BYTES) -> None:
        """``path`` is used in messages only."""
        self.path, self.max_bytes = path, max_bytes
        self.most_events = max(_EVENTS, max_bytes // _BYTES_OF_AN_EVENT)
        self.stretch = max(_STRETCH, max_bytes // _STRETCHES)
        """bytes that may hold no event"""
        self._parts: list[bytes] = []
        self._size = 0
        self._is_weighed = False
        self._file = None if isinstance(given, bytes) else given
        if isinstance(given, bytes):
            self._keep(given)

    def held(self) -> bytes:
        """All that was read so far."""
        return b"".join(self._parts)

    def chunks(self, size: int) -> Iterator[bytes]:
        """The file from its beginning, unpacked, in chunks of at most ``size`` bytes.

        Raises :class:`Unusual` for faults of gzip; :class:`TraceError` for more bytes than the limit, for
        gzip that unpacks to more than a hundred times its size, and for gzip with next to nothing in it.
        """
        parts = self._read()
        first = next(parts, b"")
        parts = chain((first,), parts)
        if first.startswith(_MAGIC):
            yield from self._unpacked(parts, size)
            return
        for part in parts:
            for at in range(0, len(part), size):
                yield part[at : at + size]

    def survey(self) -> None:
        """Read the file to its end, or to a fault of gzip, before it is held in memory as a whole.

        Raises :class:`TraceError` as :meth:`chunks`, and for more events than the limit or too many bytes
        without an event.
        """
        size = events = without = 0
        before = b""
        with suppress(Unusual):
            for chunk in self.chunks(_BLOCK):
                text = before + chunk
                here = sum(map(text.count, _PHASE))
                before = text[-3:]
                size, events = size + len(chunk), events + here
                without = 0 if here else without + len(chunk)
                if without > self.stretch:
                    raise self._no_event(self.stretch)
                self.check_events(events)
        if not events and size > _NO_EVENT:
            raise self._no_event(size)

    def check_events(self, events: int) -> None:
        """Raises :class:`TraceError` where there are more than the limit."""
        if events > self.most_events:
            raise TraceError(
                f"{self.path}: holds more than {self.most_events:,} events, which no trace should; {_RAISE}"
            )

    def _read(self) -> Iterator[bytes]:
        """The parts that were read, and then those that are left."""
        at = 0
        while at < len(self._parts) or self._read_more():
            yield self._parts[at]
            at += 1

    def _read_more(self) -> bool:
        if self._file is None:
            return False
        part = b""
        # A file may give less than it was asked for.
        while len(part) < _BLOCK and (more := self._file.read(_BLOCK - len(part))):
            part += more
        if not part:
            self._file = None
            return False
        self._keep(part)
        return True

    def _keep(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size > self.max_bytes:
            raise too_large(self.path, self.max_bytes)

    def _unpacked(self, parts: Iterable[bytes], size: int) -> Iterator[bytes]:
        member, read, made = _zlib.decompressobj(_GZIP), 0, 0
        for part in parts:
            for at in range(0, len(part), _PIECE):
                rest = part[at : at + _PIECE]
                read, before = read + len(rest), made
                while rest:
                    if member.eof:
                        member = _zlib.decompressobj(_GZIP)
                    try:
                        chunk = member.decompress(rest, size)
                    except _zlib.error as error:
                        raise Unusual from error
                    made += len(chunk)
                    self._check(made, read)
                    if made - before > _MOST_TIMES * _PIECE:
                        self._weigh()
                    if chunk:
                        yield chunk
                    rest = member.unused_data if member.eof else member.unconsumed_tail
        while not member.eof:
            # The last input unpacks to more than a chunk.
            chunk = member.decompress(member.unconsumed_tail, size)
            made += len(chunk)
            self._check(made, read)
            if not chunk:
                raise Unusual
            yield chunk

    def _check(self, made: int, read: int) -> None:
        if made > self.max_bytes:
            raise too_large(self.path, self.max_bytes, "unpacks to")
        if made > _SUSPECT and made > _MOST_TIMES * read and self.max_bytes <= MAX_BYTES:
            raise TraceError(
                f"{self.path}: unpacks to more than {_MOST_TIMES} times its size, which no trace does; "
                "if this one does, raise the limit above 4 GiB (max_bytes, --max-bytes)."
            )
        if read > _HOLLOW and 2 * made < read:
            raise self._no_event(read)

    def _weigh(self) -> None:
        """Unpack everything once and keep nothing, because to decode a bomb takes longer."""
        if not self._is_weighed:
            self._is_weighed = True
            with suppress(Unusual):
                for _ in self.chunks(_BLOCK):
                    pass

    def _no_event(self, size: int) -> TraceError:
        return TraceError(
            f"{self.path}: this is no trace, {_written(size)} of it hold no event; give a file that "
            "export_chrome_trace wrote (if it is one, raise the limit: max_bytes, --max-bytes)."
        )


def too_large(path: str, max_bytes: int, how: str = "holds") -> TraceError:
    """The error for a file above the limit."""
    return TraceError(f"{path}: {how} more than {_written(max_bytes)}, which no trace should; {_RAISE}")


def _written(count: int) -> str:
    for unit, one in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= one:
            return f"{count / one:.4g} {unit}"
    return f"{count} bytes"


# --- whatever is wrong with the gzip ------------------------------------------------------------------------


def unzip(data: bytes, findings: Findings) -> bytes:
    """The bytes that ``data`` unpacks to; ``data`` itself if its first bytes are not those of gzip.

    A damaged or cut stream gives what comes before the fault, and a finding.  Nothing limits the bytes:
    :meth:`Source.survey` comes first.
    """
    if not data.startswith(_MAGIC):
        return data
    parts: list[bytes] = []
    at = 0
    while data.startswith(_MAGIC, at):
        begin = at
        try:
            part, at, is_whole = _member(data, begin)
        except zlib.error as error:
            findings.add("gzip-damaged", f"byte {begin} ({error})")
            parts.append(_before_the_fault(data[begin:]))
            return b"".join(parts)
        parts.append(part)
        if not is_whole:
            findings.add("gzip-cut", f"byte {len(data)}")
            return b"".join(parts)
    if len(data) > at and data[at:].strip(b"\0"):
        findings.add("gzip-trailing", f"byte {at}", len(data) - at)
    return b"".join(parts)


def _member(data: bytes, begin: int) -> tuple[bytes, int, bool]:
    """The bytes of the member at ``begin``, where it ends, and whether it is whole.

    It is unpacked in pieces, small ones first: zlib copies what comes after a member, and a file may have
    very many members.
    """
    stream = zlib.decompressobj(_GZIP)
    parts: list[bytes] = []
    at, size = begin, _PIECE // 4
    while not stream.eof and at < len(data):
        piece = data[at : at + size]
        at += len(piece)
        size = min(size * 8, 2**20)
        parts.append(stream.decompress(piece))
    return b"".join(parts), at - len(stream.unused_data), stream.eof


def _before_the_fault(data: bytes) -> bytes:
    """The bytes before the fault of a damaged stream; the piece with the fault is unpacked byte by byte."""
    stream = zlib.decompressobj(_GZIP)
    parts: list[bytes] = []
    for at in range(0, len(data), _PIECE):
        before = stream.copy()
        try:
            parts.append(stream.decompress(data[at : at + _PIECE]))
        except zlib.error:
            for byte in range(at, min(at + _PIECE, len(data))):
                try:
                    parts.append(before.decompress(data[byte : byte + 1]))
                except zlib.error:
                    return b"".join(parts)
    return b"".join(parts)
