"""What the fields of an entry mean: times in integer nanoseconds, ids, lanes, ``args``."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, InvalidOperation
from typing import Any

import msgspec

POINTS = frozenset("iIRCMstfPNODvVc()")
"""Phases (``ph``) without a length: instants, counters, metadata, flows, samples, objects, dumps, marks.

Entries of these phases are no events here, and that is not a finding: a trace has a flow for each launch, and
an instant for each allocation.  Source: "Trace Event Format", the document of Chromium's trace viewer."""

NONE = -1
"""Stands for no event and for no id."""

LONGEST = 365 * 24 * 3600 * 10**9
"""ns; an event that lasts longer was never finished: its end was written as -1 or as the largest integer"""

LARGEST_US = 4 * 10**15
"""µs; epoch µs are about 1.8e15, and the ns between any two times must fit 64 bits"""

_EXACT = Context(prec=1_000_000, Emax=MAX_EMAX, Emin=MIN_EMIN)
_INTEGER = re.compile(r"\s*([+-]?\d{1,40})\s*")
_STREAM_TID = re.compile(r"\s*(?:stream\s*)?(\d{1,18})\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LaneId:
    """Where events happen: a CPU thread (``stream is None``) or a GPU stream."""

    pid: int | str
    tid: int | str
    stream: int | None = None
    device: int | None = None

    @property
    def on_gpu(self) -> bool:
        return self.stream is not None


def nanoseconds(value: Any) -> int | None:
    """A time in µs, as the file has it (integer, exact decimal or text), in ns; None if it is not a time.

    Digits beyond the nanosecond are rounded, a half to the even nanosecond.
    """
    number = microseconds(value)
    if number is None or not -LARGEST_US < number < LARGEST_US:
        return None
    if isinstance(number, int):
        return number * 1000
    # This must round only once: the default context would first cut the number to 28 digits.
    return int(_EXACT.multiply(number, 1000).to_integral_value(context=_EXACT))


def microseconds(value: Any) -> int | Decimal | None:
    """A number of µs however large, as the file has it; None if it is not a number, or not finite."""
    if type(value) is int:
        return value
    try:
        exact = exactly(value) if isinstance(value, str) else value if isinstance(value, Decimal) else None
    except InvalidOperation:
        return None
    return None if exact is None or not exact.is_finite() else exact


def exactly(text: str) -> Decimal:
    """A number of JSON.  An exponent beyond what a decimal can have becomes a million, of the same sign.

    Raises ``InvalidOperation`` if ``text`` is not a number.
    """
    try:
        return Decimal(text)
    except InvalidOperation:
        mantissa, _, exponent = text.strip().lower().partition("e")
        sign, digits = ("-", exponent[1:]) if exponent.startswith("-") else ("", exponent.removeprefix("+"))
        if not digits.isdecimal():
            raise
        return Decimal(f"{mantissa}e{sign}1000000")


def integer(value: Any) -> int | None:
    """A whole number, written as a number, as text, or with a point as pandas copies it; else None."""
    if type(value) is int:
        return value
    if isinstance(value, str):
        match = _INTEGER.fullmatch(value)
        return int(match[1]) if match else None
    if isinstance(value, (float, Decimal)) and -(2**53) < value < 2**53 and value == int(value):
        return int(value)
    return None


def id_of(value: Any) -> int:
    """A correlation or External id as a signed integer of 64 bits; NONE for 0, and for what is not an id.

    Some profilers write these ids signed and some unsigned.
    """
    number = integer(value)
    if not number or abs(number) >= 2**64:  # 0 is CUPTI's for none, -1 others'
        return NONE
    return (number + 2**63) % 2**64 - 2**63


def lane_of(pid: Any, tid: Any, *stream_and_device: int | None) -> LaneId:
    """The lane of a CPU event, or, with stream and device from its ``args``, of an event on a stream."""
    pid, tid = process_or_thread(pid), process_or_thread(tid)
    if not stream_and_device:
        return LaneId(pid, tid)
    stream, device = stream_and_device
    if stream is None:
        match = _STREAM_TID.fullmatch(str(tid))
        stream = int(match[1]) if match else 0
    if device is None and isinstance(pid, int):
        device = pid
    return LaneId(pid, tid, stream, device)


def process_or_thread(value: Any) -> int | str:
    """A ``pid`` or ``tid``: files of 2021 write a thread as the text of its number."""
    if type(value) is int:
        return value
    number = integer(value)
    return str(value) if number is None else number


def plain_args(args: Any) -> Mapping[str, Any]:
    """``args`` as a dictionary, with floats for decimals and None for what no float holds.

    ``args`` is as ``json`` gives it, or the bytes of its JSON.
    """
    if isinstance(args, msgspec.Raw):
        if not memoryview(args).nbytes:
            return {}
        try:
            args = msgspec.json.decode(args)
        except (msgspec.DecodeError, ValueError, RecursionError):
            import json

            try:
                args = json.loads(bytes(args), strict=False, parse_constant=lambda _: None)
            except (ValueError, RecursionError):
                return {}
    return {str(key): _plain(value) for key, value in args.items()} if isinstance(args, Mapping) else {}


_LARGEST = 10**300
_DEEPEST = 30
"""Levels of ``args`` that are kept: no profiler writes more than four, and whoever prints them recurses."""


def _plain(value: Any, depth: int = 0) -> Any:
    kind = type(value)
    if kind is Decimal or kind is float:
        number = float(value)
        return number if math.isfinite(number) else None
    if kind is int:
        return value if abs(value) < _LARGEST else None
    if depth > _DEEPEST and (kind is list or kind is dict):
        return "…"
    if kind is list:
        return [_plain(item, depth + 1) for item in value]
    if kind is dict:
        return {key: _plain(item, depth + 1) for key, item in value.items()}
    return value
