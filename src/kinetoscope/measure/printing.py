"""How a number is written with its unit: ``37.3 µs``, ``1.88×``, ``93 %``.

A time is written in one of four ways.  A sentence has three significant digits (:func:`printed`), a figure
as many decimals as its unit has (:func:`format_time`), what is read aloud about two digits
(:func:`brief_time`), and a table one unit for a whole column (:func:`column_unit`, :func:`in_unit`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Number = int | float


class TimeUnit(NamedTuple):
    """A unit that a time can be written in."""

    name: str
    ns: int
    """how many ns it is"""
    decimals: int
    """digits after the point in a figure or a table"""


NS = TimeUnit("ns", 1, 0)
US = TimeUnit("µs", 1_000, 1)
MS = TimeUnit("ms", 1_000_000, 2)
S = TimeUnit("s", 1_000_000_000, 2)
UNITS = {unit.name: unit for unit in (NS, US, MS, S)}
_DECIMALS: dict[float, int] = {unit.ns: unit.decimals for unit in UNITS.values()}

_Scales = tuple[tuple[float, str], ...]
"""(how many of the base unit it is, name) of each unit, the smallest first"""

_SCALES: dict[str, _Scales] = {
    "ns": tuple((unit.ns, unit.name) for unit in UNITS.values()),
    "bytes": ((1, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")),
    "flop": ((1, "FLOP"), (1e3, "kFLOP"), (1e6, "MFLOP"), (1e9, "GFLOP"), (1e12, "TFLOP")),
    # A byte a nanosecond is a gigabyte a second.
    "bytes/ns": ((1e-6, "kB/s"), (1e-3, "MB/s"), (1, "GB/s"), (1e3, "TB/s")),
    "flop/ns": ((1e-3, "MFLOP/s"), (1, "GFLOP/s"), (1e3, "TFLOP/s")),
}


def printed(value: Number, unit: str) -> str:
    """``value`` of ``unit`` as it stands in a sentence: three significant digits, a share two.

    ``unit`` is one of ``ns``, ``bytes``, ``flop``, ``bytes/ns``, ``flop/ns``, ``1/s``, ``count``,
    ``ratio``, ``share``, ``number``.
    """
    if unit in _SCALES:
        return _scaled(value, _SCALES[unit], _three_digits)
    if unit == "ratio":
        return f"{_digits(value)}×"
    if unit == "share":
        return _share(value)
    if unit == "1/s":
        return f"{printed(value, 'number')}/s"
    if value == int(value):
        return str(int(value))
    return _digits(value)


def format_time(ns: float) -> str:
    """``ns`` nanoseconds as a figure has them, with as many decimals as the unit has.

    The viewer writes its times in the same way (``formatTime`` in ``draw/static/text.js``).

    >>> format_time(37_312), format_time(768), format_time(999_960), format_time(0)
    ('37.3 µs', '768 ns', '1.00 ms', '0 ns')
    """
    return _scaled(ns, _SCALES["ns"], lambda value, factor: f"{value:.{_DECIMALS[factor]}f}")


def brief_time(ns: float) -> str:
    """``ns`` nanoseconds to about two digits, in µs or ms, for text that is read aloud.

    >>> brief_time(51_230), brief_time(2_720), brief_time(768)
    ('51 µs', '2.7 µs', '0.8 µs')
    """
    return _scaled(
        ns,
        ((US.ns, US.name), (MS.ns, MS.name)),
        lambda value, _: f"{value:.0f}" if abs(value) >= 9.95 else f"{value:.1f}",
    )


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


def _scaled(value: Number, scales: _Scales, write: Callable[[float, float], str]) -> str:
    """``value`` in the first unit in which it is below 1000 once it is written (999.9 ns are 1.00 µs).

    ``write`` makes the text of a number, given the number and the factor of its unit.
    """
    for factor, name in scales:
        number = write(value / factor, factor)
        text = f"{number} {name}"
        if abs(float(number)) < 1000:
            break
    return text


def _three_digits(value: float, factor: float) -> str:
    # What was measured in whole units stays whole: 12 ns, not 12.0.
    return str(int(value)) if factor == 1 and value == int(value) else _digits(value)


def _digits(value: Number) -> str:
    """Three significant digits, but every digit before the point: ``0.532``, ``4.10``, ``37.3``, ``1234``."""
    if value == 0:
        return "0"
    places = 2 - math.floor(math.log10(abs(value)))
    # 9.996 has one digit less after the point once it is rounded to 10.0
    if abs(round(value, places)) >= 10 ** (3 - places):
        places -= 1
    return f"{value:.{max(0, places)}f}"


def _share(value: Number) -> str:
    percent = value * 100
    text = f"{percent:.0f}" if abs(percent) >= 9.95 else f"{percent:.1f}"
    if text == "100" and percent != 100:
        # Nearly all is not all: 99.97 % stays below 100 %, 100.04 % above.
        text = f"{math.floor(percent * 10) / 10:.1f}" if percent < 100 else f"{percent:.1f}"
    if text == "0.0":
        text = "0" if percent == 0 else f"{percent:.2g}"
    return f"{text} %"
