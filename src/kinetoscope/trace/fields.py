"""What a field of a raw event means: integer nanoseconds, lane."""

from __future__ import annotations

import re
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, InvalidOperation
from typing import Any

from kinetoscope.trace.events import LaneId

LONGEST = 365 * 24 * 3600 * 10**9
"""ns; what lasts longer was never finished: the profiler wrote an end of -1 or of the largest integer"""

LARGEST_US = 4 * 10**15
"""µs; epoch µs are about 1.8e15, and the ns between any two times must fit 64 bits"""

_AS_LONG_AS_IT_IS = Context(prec=1_000_000, Emax=MAX_EMAX, Emin=MIN_EMIN)
_INTEGER = re.compile(r"\s*([+-]?\d{1,40})\s*")
_STREAM_TID = re.compile(r"\s*(?:stream\s*)?(\d{1,18})\s*", re.IGNORECASE)


def nanoseconds(value: Any) -> int | None:
    """A time in µs, as the file has it (integer, exact decimal or text), in ns; None if it is no time.

    Digits beyond the nanosecond are rounded, a half to the even nanosecond.
    """
    number = microseconds(value)
    if number is None or not -LARGEST_US < number < LARGEST_US:
        return None
    if isinstance(number, int):
        return number * 1000
    # Rounded once only: the default context would first cut the number to 28 digits.
    return int(_AS_LONG_AS_IT_IS.multiply(number, 1000).to_integral_value(context=_AS_LONG_AS_IT_IS))


def exactly(text: str) -> Decimal:
    """A number of JSON.  An exponent beyond what a decimal can have becomes a million, of the same sign.

    Raises ``InvalidOperation`` for what is no number.
    """
    try:
        return Decimal(text)
    except InvalidOperation:
        mantissa, _, exponent = text.strip().lower().partition("e")
        sign, digits = ("-", exponent[1:]) if exponent.startswith("-") else ("", exponent.removeprefix("+"))
        if not digits.isdecimal():
            raise
        return Decimal(f"{mantissa}e{sign}1000000")


def microseconds(value: Any) -> int | Decimal | None:
    """A number of µs however large, as the file has it; None if it is none, or not finite."""
    if type(value) is int:
        return value
    try:
        exact = exactly(value) if isinstance(value, str) else value if isinstance(value, Decimal) else None
    except InvalidOperation:
        return None
    return None if exact is None or not exact.is_finite() else exact


def integer(value: Any) -> int | None:
    """A whole number, written as one, as text, or with a point as pandas copies it; None for the rest."""
    if type(value) is int:
        return value
    if isinstance(value, str):
        found = _INTEGER.fullmatch(value)
        return int(found[1]) if found else None
    if isinstance(value, (float, Decimal)) and -(2**53) < value < 2**53 and value == int(value):
        return int(value)
    return None


def lane_of(pid: Any, tid: Any, *stream_and_device: int | None) -> LaneId:
    """The lane of a CPU event, or, with stream and device from its ``args``, of one on a stream."""
    pid, tid = _id(pid), _id(tid)
    if not stream_and_device:
        return LaneId(pid, tid)
    stream, device = stream_and_device
    if stream is None:
        match = _STREAM_TID.fullmatch(str(tid))
        stream = int(match[1]) if match else 0
    if device is None and isinstance(pid, int):
        device = pid
    return LaneId(pid, tid, stream, device)


def _id(value: Any) -> int | str:
    """A ``pid`` or ``tid``: files of 2021 write a thread as the text of its number."""
    number = integer(value)
    return str(value) if number is None else number
