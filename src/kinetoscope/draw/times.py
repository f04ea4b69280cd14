"""Times as text: one way to write them wherever they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class TimeUnit(NamedTuple):
    """A unit a time can be written in."""

    name: str
    ns: int
    """how many ns it is"""
    decimals: int


NS = TimeUnit("ns", 1, 0)
US = TimeUnit("µs", 1_000, 1)
MS = TimeUnit("ms", 1_000_000, 2)
S = TimeUnit("s", 1_000_000_000, 2)
UNITS = {unit.name: unit for unit in (NS, US, MS, S)}


def format_time(ns: float) -> str:
    """``ns`` nanoseconds in the unit that suits them.

    >>> format_time(37_312), format_time(768), format_time(999_960), format_time(0)
    ('37.3 µs', '768 ns', '1.00 ms', '0 ns')
    """
    for unit, larger in ((NS, US), (US, MS), (MS, S)):
        # Compared after rounding, so that 999.96 µs does not become "1000.0 µs".
        if round(abs(ns) / unit.ns, unit.decimals) < larger.ns / unit.ns:
            return f"{ns / unit.ns:.{unit.decimals}f} {unit.name}"
    return f"{ns / S.ns:.{S.decimals}f} {S.name}"


def brief_time(ns: float) -> str:
    """``ns`` nanoseconds to two digits or so, for text that is read aloud.

    >>> brief_time(51_230), brief_time(2_720), brief_time(768)
    ('51 µs', '2.7 µs', '0.8 µs')
    """
    unit = US if abs(ns) < 1_000_000 else MS
    value = ns / unit.ns
    return f"{value:.0f} {unit.name}" if abs(value) >= 9.95 else f"{value:.1f} {unit.name}"


def column_unit(values: Iterable[float]) -> TimeUnit:
    """The one unit for a column of times in ns, from the largest: µs unless that reads badly."""
    largest = max((abs(value) for value in values), default=0)
    if largest >= 10 * S.ns:
        return S
    return US if largest < 10 * MS.ns else TimeUnit("ms", MS.ns, 3)


def in_unit(ns: float, unit: TimeUnit) -> str:
    """The number of ``unit`` in ``ns``, without the unit's name; ``<0.1`` where it would read as none."""
    text = f"{ns / unit.ns:.{unit.decimals}f}"
    smallest = 10**-unit.decimals
    return f"<{smallest:.{unit.decimals}f}" if 0 < ns < unit.ns * smallest / 2 else text
