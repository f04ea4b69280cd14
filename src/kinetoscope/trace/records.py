"""Bytes of JSON -> raw records, typed while they are decoded.

msgspec skips what no field asks for, and leaves each event's ``args`` as the bytes they are: of a hundred
thousand ops only those that somebody looks at are ever taken apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import msgspec


class RawEvent(msgspec.Struct, gc=False):
    """One entry of ``traceEvents``, whatever its phase."""

    ph: str = ""
    cat: str | None = None
    name: str = ""
    pid: int | str = 0
    tid: int | str = 0
    ts: Any = None
    """µs: int, float, :class:`~decimal.Decimal`, text, or None where there is none"""
    dur: Any = None
    args: Any = None
    """bytes of JSON, a dictionary, or None"""


class _Event(RawEvent, gc=False):
    ts: int | float | str | None = None
    dur: int | float | str | None = None
    args: msgspec.Raw = msgspec.Raw()


class _ExactEvent(RawEvent, gc=False):
    ts: Decimal | None = None
    dur: Decimal | None = None
    args: msgspec.Raw = msgspec.Raw()


class _Document(msgspec.Struct, gc=False):
    traceEvents: list[_Event]  # noqa: N815 (the format's name)
    deviceProperties: Any = None  # noqa: N815


class _ExactDocument(msgspec.Struct, gc=False):
    traceEvents: list[_ExactEvent]  # noqa: N815
    deviceProperties: Any = None  # noqa: N815


class Link(msgspec.Struct, gc=False):
    """What ``args`` say about where an event belongs."""

    correlation: Any = None
    external: Any = msgspec.field(default=None, name="External id")
    external_2021: Any = msgspec.field(default=None, name="external id")
    stream: Any = None
    device: Any = None


_FAST = msgspec.json.Decoder(_Document)
_FAST_LIST = msgspec.json.Decoder(list[_Event])
_EXACT = msgspec.json.Decoder(_ExactDocument)
_EXACT_LIST = msgspec.json.Decoder(list[_ExactEvent])
_LINK = msgspec.json.Decoder(Link)


def decode_whole(data: bytes, *, exact: bool = False) -> tuple[list[RawEvent], Any] | None:
    """The records of a document without a fault, and its ``deviceProperties``; None if it has any.

    With ``exact``, times are decimals: a float does not hold an absolute clock in µs with three places.
    """
    if not data.isascii():
        try:
            data.decode("utf-8")  # what is skipped is not checked
        except UnicodeDecodeError:
            return None
    is_list = data.lstrip()[:1] == b"["
    try:
        if is_list:
            return (_EXACT_LIST if exact else _FAST_LIST).decode(data), None  # type: ignore[return-value]
        document = (_EXACT if exact else _FAST).decode(data)
    except (msgspec.DecodeError, RecursionError, ValueError, InvalidOperation):
        return None
    return document.traceEvents, document.deviceProperties  # type: ignore[return-value]


class Later(NamedTuple):
    """``args`` that are read from the file when somebody looks."""

    read: Callable[[int], msgspec.Raw]
    at: int


def link_of(args: Any) -> Link:
    """Correlation, External id, stream and device in an event's ``args``."""
    if isinstance(args, Later):
        args = args.read(args.at)
    if isinstance(args, msgspec.Raw):
        if not memoryview(args).nbytes:
            return _NO_LINK
        try:
            return _LINK.decode(args)
        except (msgspec.DecodeError, ValueError):
            args = plain_args(args)
    if not isinstance(args, Mapping):
        return _NO_LINK
    return Link(*(args.get(key) for key in ("correlation", "External id", "external id", "stream", "device")))


_NO_LINK = Link()


def plain_args(args: Any) -> Mapping[str, Any]:
    """``args`` as a dictionary, with floats for decimals and None for what no float holds."""
    if isinstance(args, Later):
        args = args.read(args.at)
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


class Args(Mapping[str, Any]):
    """An event's ``args``, decoded when somebody looks."""

    __slots__ = ("_found", "_raw")

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._found: Mapping[str, Any] | None = None

    def _whole(self) -> Mapping[str, Any]:
        if self._found is None:
            self._found = plain_args(self._raw)
            self._raw = None
        return self._found

    def __getitem__(self, key: str) -> Any:
        return self._whole()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole())

    def __len__(self) -> int:
        return len(self._whole())

    def __repr__(self) -> str:
        return repr(dict(self._whole()))

    def __reduce__(self) -> tuple[type[Args], tuple[Any]]:
        return Args, (dict(self._whole()),)


_LARGEST = 10**300
_DEEPEST = 30
"""Levels of ``args`` that are kept: no profiler writes more than four, and whoever prints them recurses"""


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
