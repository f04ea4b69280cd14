"""Bytes of a file -> bytes of JSON: gzip, of one member or several, whole or damaged."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from kinetoscope.trace.errors import TraceError

if TYPE_CHECKING:
    from kinetoscope.trace.findings import Findings

MAX_BYTES = 4 * 2**30
"""Bytes a file may unpack to unless told otherwise: fifty times the largest traces seen"""

_MAGIC = b"\x1f\x8b"
_GZIP = 31  # zlib's code for a gzip header and checksum
_PIECE = 2**14


def unzip(data: bytes, path: str, findings: Findings, max_bytes: int = MAX_BYTES) -> bytes:
    """What ``data`` unpacks to; itself if it is no gzip (told by its first bytes, not by a name).

    A damaged or cut stream gives what comes before the fault, and a finding.  Raises
    :class:`TraceError`, naming ``path``, for more than ``max_bytes``.
    """
    if not data.startswith(_MAGIC):
        return data
    parts: list[bytes] = []
    rest, room = data, max_bytes
    while rest.startswith(_MAGIC):
        member = zlib.decompressobj(_GZIP)
        try:
            part = member.decompress(rest, room + 1)
        except zlib.error as error:
            part = _before_the_fault(rest, room + 1)
            findings.add("gzip-damaged", f"byte {len(data) - len(rest)} ({error})")
            parts.append(_within(part, room, path, max_bytes))
            return b"".join(parts)
        parts.append(_within(part, room, path, max_bytes))
        room -= len(part)
        if not member.eof:
            findings.add("gzip-cut", f"byte {len(data)}")
            return b"".join(parts)
        rest = member.unused_data
    if rest.strip(b"\0"):
        findings.add("gzip-trailing", f"byte {len(data) - len(rest)}", len(rest))
    return b"".join(parts)


def _within(part: bytes, room: int, path: str, max_bytes: int) -> bytes:
    if len(part) > room:
        raise TraceError(
            f"{path}: unpacks to more than {max_bytes / 2**30:.3g} GiB, which no trace should; "
            "if this one does, raise the limit (max_bytes, --max-bytes)."
        )
    return part


def _before_the_fault(data: bytes, most: int) -> bytes:
    """What can be unpacked of a damaged stream: in pieces, and the piece with the fault byte by byte."""
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
