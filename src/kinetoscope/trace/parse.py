"""Bytes of a trace file -> columns: in pieces where it has no fault, else as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kinetoscope.trace.columns import Columns
from kinetoscope.trace.fast_reader import stream
from kinetoscope.trace.unzip import MAX_BYTES

if TYPE_CHECKING:
    from kinetoscope.trace.findings import Findings


class Document(NamedTuple):
    """What a trace file holds."""

    columns: Columns
    device_names: dict[int, str]


def parse(data: bytes, path: str, findings: Findings, max_bytes: int = MAX_BYTES) -> Document:
    """The events and device names of a trace file's bytes; what was repaired or lost goes to ``findings``.

    Raises :class:`TraceError`, naming ``path``, for empty and other files.
    """
    found = stream(data, max_bytes)
    if found is None:
        # Most files have no fault, and what mends one takes longer to be there than a small one to be read.
        from kinetoscope.trace.lenient_reader import read_whole

        found = read_whole(data, path, findings, max_bytes)
    return Document(found[0], _device_names(found[1]))


def _device_names(properties: Any) -> dict[int, str]:
    """GPU name by device number, from Kineto's ``deviceProperties``."""
    names: dict[int, str] = {}
    for entry in properties if isinstance(properties, list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("id"), int) and entry.get("name"):
            names[entry["id"]] = str(entry["name"])
    return names
