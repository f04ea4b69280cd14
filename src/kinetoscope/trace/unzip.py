"""Bytes of a file -> bytes of JSON: gzip, of one member or several, whole or damaged."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from kinetoscope.trace.findings import TraceError

if TYPE_CHECKING:
    from kinetoscope.trace.findings import Findings

MAX_BYTES = 4 * 2**30
"""Bytes a file may unpack to unless told otherwise: fifty times the largest traces seen"""

_SUSPECT, _MOST_TIMES = 2**28, 100
"""A file that unpacks to more than so many bytes and so many times its size is refused; traces reach 25."""

_MAGIC = b"\x1f\x8b"
_GZIP = 31  # zlib's code for a gzip header and checksum
_PIECE = 2**14


def unzip(data: bytes, path: str, findings: Findings, max_bytes: int = MAX_BYTES) -> bytes:
    """The bytes that ``data`` unpacks to; ``data`` itself if its first bytes are not those of gzip.

    A damaged or cut stream gives what comes before the fault, and a finding.  Raises :class:`TraceError`,
    naming ``path``, if it unpacks to more than ``max_bytes``.
    """
    if not data.startswith(_MAGIC):
        return data
    parts: list[bytes] = []
    at, room = 0, max_bytes
    while data.startswith(_MAGIC, at):
        begin = at
        try:
            part, at, is_whole = _member(data, begin, room + 1, path, max_bytes)
        except zlib.error as error:
            part = _before_the_fault(data[begin:], room + 1)
            findings.add("gzip-damaged", f"byte {begin} ({error})")
            parts.append(_within(part, room, path, max_bytes))
            return b"".join(parts)
        parts.append(_within(part, room, path, max_bytes))
        room -= len(part)
        if not is_whole:
            findings.add("gzip-cut", f"byte {len(data)}")
            return b"".join(parts)
    if len(data) > at and data[at:].strip(b"\0"):
        findings.add("gzip-trailing", f"byte {at}", len(data) - at)
    return b"".join(parts)


def _member(data: bytes, begin: int, most: int, path: str, max_bytes: int) -> tuple[bytes, int, bool]:
    """The bytes of the member at ``begin``, up to ``most``; where it ends; and whether it is whole.

    It is unpacked in pieces, small ones first: zlib copies what comes after a member, and a file may have
    very many members.
    """
    stream = zlib.decompressobj(_GZIP)
    parts: list[bytes] = []
    held, at, size, made, asked = b"", begin, _PIECE // 4, 0, 1
    while not stream.eof and made < most and (held or at < len(data) or len(parts[-1]) == asked):
        if not held:
            held = data[at : at + size]
            at += len(held)
            size = min(size * 8, 2**20)
        asked = min(most - made, 2**26)
        parts.append(stream.decompress(held, asked))
        held = stream.unconsumed_tail
        made += len(parts[-1])
        unpacked = max_bytes + 1 - most + made
        if unpacked > _SUSPECT and unpacked > _MOST_TIMES * (at - len(held)) and max_bytes <= MAX_BYTES:
            raise TraceError(
                f"{path}: unpacks to more than {_MOST_TIMES} times its size, which no trace does; "
                "if this one does, raise the limit above 4 GiB (max_bytes, --max-bytes)."
            )
    return b"".join(parts), at - len(stream.unused_data), stream.eof


def _within(part: bytes, room: int, path: str, max_bytes: int) -> bytes:
    if len(part) > room:
        raise TraceError(
            f"{path}: unpacks to more than {_size(max_bytes)}, which no trace should; "
            "if this one does, raise the limit (max_bytes, --max-bytes)."
        )
    return part


def _size(count: int) -> str:
    for unit, one in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= one:
            return f"{count / one:.4g} {unit}"
    return f"{count} bytes"


def _before_the_fault(data: bytes, most: int) -> bytes:
    """The bytes before the fault of a damaged stream; the piece with the fault is unpacked byte by byte."""
    stream = zlib.decompressobj(_GZIP)
    parts: list[bytes] = []
    size = 0
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
        size += len(parts[-1])
        if size > most:
            break
    return b"".join(parts)
