"""How a number of a unit is printed: ``37.3 µs``, ``1.88×``, ``93 %``."""

from __future__ import annotations

import math

Number = int | float

_SCALES: dict[str, tuple[tuple[float, str], ...]] = {
    "ns": ((1, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")),
    "bytes": ((1, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")),
    "flop": ((1, "FLOP"), (1e3, "kFLOP"), (1e6, "MFLOP"), (1e9, "GFLOP"), (1e12, "TFLOP")),
    # A byte a nanosecond is a gigabyte a second.
    "bytes/ns": ((1e-6, "kB/s"), (1e-3, "MB/s"), (1, "GB/s"), (1e3, "TB/s")),
    "flop/ns": ((1e-3, "MFLOP/s"), (1, "GFLOP/s"), (1e3, "TFLOP/s")),
}


def printed(value: Number, unit: str) -> str:
    """``value`` of ``unit`` as it stands in a sentence: three significant digits, a share two.

    ``unit`` is one of ``ns``, ``bytes``, ``flop``, ``bytes/ns``, ``flop/ns``, ``count``, ``ratio``,
    ``share``, ``number``.
    """
    if unit in _SCALES:
        return _scaled(value, _SCALES[unit])
    if unit == "ratio":
        return f"{digits(value)}×"
    if unit == "share":
        return _share(value)
    if value == int(value):
        return str(int(value))
    return digits(value)


def digits(value: Number) -> str:
    """Three significant digits, but every digit before the point: ``0.532``, ``4.10``, ``37.3``, ``1234``."""
    if value == 0:
        return "0"
    places = 2 - math.floor(math.log10(abs(value)))
    # 9.996 has one digit less after the point once it is rounded to 10.0
    if abs(round(value, places)) >= 10 ** (3 - places):
        places -= 1
    return f"{value:.{max(0, places)}f}"


def _scaled(value: Number, scales: tuple[tuple[float, str], ...]) -> str:
    """In the largest unit in which it is 1 or more, once rounded (999.9 ns are 1.00 µs)."""
    for position, (factor, name) in enumerate(scales):
        scaled = value / factor
        if abs(float(digits(scaled))) < 1000 or position == len(scales) - 1:
            # The smallest unit is not divided further: 12 ns were measured, not 12.0.
            whole = factor == 1 and scaled == int(scaled)
            return f"{int(scaled) if whole else digits(scaled)} {name}"
    raise AssertionError("scales is empty")


def _share(value: Number) -> str:
    percent = value * 100
    text = f"{percent:.0f}" if abs(percent) >= 9.95 else f"{percent:.1f}"
    if text == "100" and percent != 100:
        # Nearly all is not all: 99.97 % stays below 100 %, 100.04 % above.
        text = f"{math.floor(percent * 10) / 10:.1f}" if percent < 100 else f"{percent:.1f}"
    if text == "0.0":
        text = "0" if percent == 0 else f"{percent:.2g}"
    return f"{text} %"
