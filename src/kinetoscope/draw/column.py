"""A column of a table; what writes the table is in :mod:`kinetoscope.draw.table`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kinetoscope.measure.printing import UNITS


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table, and how its values are written.

    ``kind`` says what a row holds under ``key``: a ``name`` (of an event: shortened, in code type), a
    ``text``, a ``time`` (ns), a ``count``, a ``share`` (a fraction of 1, written in %), a ``ratio``
    (written ``1.88×``) or a ``quantity`` of :attr:`unit` (bytes, operations, or a rate of them).
    """

    key: str
    """attribute or mapping key of a row"""
    heading: str
    kind: Literal["name", "text", "time", "count", "share", "ratio", "quantity"] = "name"
    unit: str | None = None
    """``ns``, ``µs``, ``ms`` or ``s`` for every time of the column; None: what suits the largest.
    For a count: what is counted, such as ``B``.  For a quantity: as ``measure.printing.printed`` has them."""

    def __post_init__(self) -> None:
        if self.kind == "time" and self.unit is not None and self.unit not in UNITS:
            raise ValueError(
                f"column {self.key!r}: a time is written in {', '.join(UNITS)}, not {self.unit!r}"
            )
