"""Bytes of a trace file without a fault -> columns, piece by piece.

It gives the same columns as :mod:`~kinetoscope.trace.entries`, in less time and memory.  Whatever would be
a finding, except a lost time or an unknown category, raises
:class:`~kinetoscope.trace.unzip.Unusual`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any, Union

import msgspec
import numpy as np

from kinetoscope.trace.categories import NO_KIND, Kind, kind_of
from kinetoscope.trace.chunked_reader import Pieces
from kinetoscope.trace.columns import CODE, HAS_CORRELATION, ON_STREAM, Columns, in_order, note_unknown
from kinetoscope.trace.fields import (
    LARGEST_US,
    LONGEST,
    NONE,
    POINTS,
    LaneId,
    id_of,
    integer,
    lane_of,
    nanoseconds,
)
from kinetoscope.trace.unzip import Source, Unusual

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kinetoscope.trace.findings import Findings


class _Args(msgspec.Struct, gc=False):
    external: Any = msgspec.field(default=None, name="External id")
    external_2021: Any = msgspec.field(default=None, name="external id")
    device: Any = None
    stream: Any = None
    correlation: Any = None
    frame: Any = msgspec.field(default=None, name="Python id")
    frame_parent: Any = msgspec.field(default=None, name="Python parent id")


class _Complete(msgspec.Struct, gc=False, tag_field="ph", tag="X", kw_only=True):
    # In the order in which profilers write them: msgspec expects the key that follows the one before.
    cat: str | None = None
    name: str = ""
    pid: int | str = 0
    tid: int | str = 0
    ts: Any
    dur: Any
    args: _Args | None = None


_POINTS = tuple(
    msgspec.defstruct(f"_Point{number}", [], tag_field="ph", tag=ph, gc=False)
    for number, ph in enumerate(sorted(POINTS))
)
_ENTRY: Any = Union[(_Complete, *_POINTS)]
# A time with a fraction stays text: a float would not hold it exactly.
_DECODER: msgspec.json.Decoder[list[Any]] = msgspec.json.Decoder(list[_ENTRY], float_hook=str)


class _WithArgs(msgspec.Struct, gc=False):
    args: msgspec.Raw = msgspec.Raw()


_ARGS = msgspec.json.Decoder(list[_WithArgs])

_NO_ARGS = _Args()


def read_fast(source: Source, findings: Findings) -> tuple[Columns, Any] | None:
    """The columns and ``deviceProperties`` of a file; None where it has to be read as a whole.

    Adds to ``findings``: ``lost-record``, ``unknown-categories``.  Raises :class:`TraceError` for too many
    bytes or events.
    """
    pieces = Pieces(source, _DECODER)
    gathered = _Gathered()
    bounds: list[tuple[int, int, int]] = []
    try:
        for piece in pieces:
            bounds.append((gathered.entries, piece.start, piece.end))
            gathered.add(piece.events)
            source.check_events(gathered.entries)
    except (Unusual, OverflowError):
        return None
    columns = gathered.columns(findings)
    columns.read_args = _ArgsReader(source, bounds, columns.index)
    note_unknown(columns, gathered.unknown, findings)
    return columns, pieces.properties


def _whole(value: Any) -> int | None:
    """As :func:`integer`.  Raises :class:`Unusual` for text that is not a whole number.

    It may be a number that the decoder left as text.
    """
    number = integer(value)
    if number is None and isinstance(value, str):
        raise Unusual
    return number


class _Numbers(dict[Any, int]):
    """The number of each text, by order of appearance."""

    def __missing__(self, key: Any) -> int:
        self[key] = number = len(self)
        return number


class _Lanes(dict[tuple[Any, ...], int]):
    """The number of a lane by pid, tid and, on a stream, stream and device of an event."""

    def __init__(self) -> None:
        super().__init__()
        self.lanes: dict[LaneId, int] = {}

    def __missing__(self, key: tuple[Any, ...]) -> int:
        where = lane_of(*key[:2], *map(_whole, key[2:]))
        self[key] = number = self.lanes.setdefault(where, len(self.lanes))
        return number


class _Kinds(dict[str | None, int]):
    """The code of a kind by category."""

    def __missing__(self, cat: str | None) -> int:
        self[cat] = code = CODE[kind_of(cat, 0)]
        return code


_TYPES = (np.int64, np.int64, np.int32, np.int32, np.int8, np.int32, *(4 * [np.int64]))
"""Types of the columns that :func:`in_order` asks for"""


class _Gathered:
    """Columns while they grow, in the file's order."""

    def __init__(self) -> None:
        self.entries = 0
        """number of entries so far, events or not"""
        self.unknown: dict[int, str | None] = {}
        """category of each event of unknown category, by its place among the entries"""
        self._names, self._lanes, self._kinds = _Numbers(), _Lanes(), _Kinds()
        self._parts: list[tuple[NDArray[Any], ...]] = []

    def add(self, entries: list[Any]) -> None:
        """Add the entries of a piece.  Raises :class:`Unusual`; ``OverflowError`` for a huge number."""
        complete = [type(entry) is _Complete for entry in entries]
        index = (np.flatnonzero(complete) + self.entries).astype(np.int32)
        self.entries += len(entries)
        if not len(index):
            return
        events = list(compress(entries, complete))
        count = len(events)
        kind = np.fromiter(map(self._kinds.__getitem__, [event.cat for event in events]), np.int8, count)
        for at in np.flatnonzero(kind == CODE[Kind.OTHER]).tolist():
            cat = events[at].cat
            if cat is None:
                kind[at] = CODE[kind_of(None, events[at].pid)]
            if kind[at] == CODE[Kind.OTHER] and (cat or "").lower() not in NO_KIND:
                self.unknown[int(index[at])] = cat
        pid, tid = [event.pid for event in events], [event.tid for event in events]
        lane = np.fromiter(map(self._lanes.__getitem__, zip(pid, tid, strict=True)), np.int32, count)
        args = [event.args or _NO_ARGS for event in events]
        linked, on_stream = np.flatnonzero(HAS_CORRELATION[kind]), np.flatnonzero(ON_STREAM[kind])
        correlation = np.full(count, NONE, np.int64)
        correlation[linked] = _ids([args[at].correlation for at in linked.tolist()])
        try:
            lane[on_stream] = [
                self._lanes[(pid[at], tid[at], args[at].stream, args[at].device)] for at in on_stream.tolist()
            ]
        except TypeError as error:
            raise Unusual from error
        self._parts.append(
            (
                _times([event.ts for event in events]),
                _durations([event.dur for event in events]),
                index,
                np.fromiter(map(self._names.__getitem__, [event.name for event in events]), np.int32, count),
                kind,
                lane,
                correlation,
                _external(args),
                *_frames(args, kind),
            )
        )

    def columns(self, findings: Findings) -> Columns:
        """The columns in order of time.  This empties the parts, so it can be called once."""
        return in_order(list(self._names), list(self._lanes.lanes), self._joined(), findings)

    def _joined(self) -> Iterator[NDArray[Any]]:
        parts = [list(column) for column in zip(*self._parts, strict=True)] or [[] for _ in _TYPES]
        self._parts.clear()
        for type_, column in zip(_TYPES, parts, strict=True):
            joined = np.concatenate([np.empty(0, type_), *column])
            column.clear()
            yield joined


def _external(args: list[_Args]) -> NDArray[np.int64]:
    """(n) External ids; NONE where there is none."""
    numbers = [said.external for said in args]
    if type(None) not in set(map(type, numbers)):
        return _ids(numbers)
    return _ids([said.external_2021 if said.external is None else said.external for said in args])


def _ids(numbers: list[Any]) -> NDArray[np.int64]:
    """(n) ids of 64 bits; NONE where there is none."""
    kinds = set(map(type, numbers))
    if kinds <= _INTEGER_OR_NONE:
        if type(None) in kinds:
            numbers = [number or NONE for number in numbers]
        try:
            ids = np.array(numbers, np.int64)
        except OverflowError:
            pass
        else:
            ids[ids == 0] = NONE
            return ids
    return np.array([id_of(_whole(number)) for number in numbers], np.int64)


_INTEGER_OR_NONE = {int, type(None)}


def _frames(args: list[_Args], kind: NDArray[np.int8]) -> list[NDArray[np.int64]]:
    """(n) ids of Python frames, and (n) ids of the frames that called them; NONE where there is none."""
    columns = [np.full(len(args), NONE, np.int64) for _ in range(2)]
    frames = np.flatnonzero(kind == CODE[Kind.PYTHON])
    for column, name in zip(columns, ("frame", "frame_parent"), strict=True):
        numbers = [getattr(args[at], name) for at in frames.tolist()]
        numbers = [NONE if number is None else number for number in numbers]
        if not set(map(type, numbers)) <= {int}:
            raise Unusual
        column[frames] = numbers
    return columns


def _times(values: Sequence[Any]) -> NDArray[np.int64]:
    """(n) times in µs as ns.  Raises :class:`Unusual` if one of them is not a time, or ``OverflowError``."""
    kinds = set(map(type, values))
    if kinds == {int}:
        us = np.array(values, np.int64)
        if us.max() >= LARGEST_US or us.min() <= -LARGEST_US:
            raise Unusual
        return us * 1000
    if kinds == {str}:
        ns = _with_a_point(values)
        if ns is not None:
            return ns
    if not kinds <= {int, str}:
        raise Unusual
    if len(kinds) == 2:
        is_text = np.fromiter((type(value) is str for value in values), bool, len(values))
        ns = np.empty(len(values), np.int64)
        ns[is_text] = _times([value for value in values if type(value) is str])
        ns[~is_text] = _times([value for value in values if type(value) is int])
        return ns
    each = [nanoseconds(value) for value in values]
    if None in each:
        raise Unusual
    return np.array(each, np.int64)


def _with_a_point(texts: Sequence[str]) -> NDArray[np.int64] | None:
    """(n) times in µs as ns, if all are as profilers write them since 2024, else None.

    That is digits, a point, and up to three digits.
    """
    joined = "\n".join(texts)
    if not joined.isascii():
        return None
    letters = np.frombuffer(b"%b\n" % joined.encode(), np.uint8)
    ends = np.flatnonzero(letters == ord("\n"))
    points = np.flatnonzero(letters == ord("."))
    digits = np.count_nonzero((letters >= ord("0")) & (letters <= ord("9")))
    if not len(ends) == len(points) == len(texts) or digits + 2 * len(texts) != len(letters):
        return None
    begins = np.append(-1, ends[:-1]) + 1
    whole, decimals = points - begins, ends - points - 1
    if whole.min() < 1 or whole.max() > _DIGITS or decimals.min() < 1 or decimals.max() > 3:
        return None
    number = np.fromstring(joined.replace(".", ""), np.int64, sep="\n")
    scale = _SCALE[decimals]
    return None if (number >= LARGEST_US * 1000 // scale).any() else number * scale


_DIGITS = 16
"""digits of the whole µs since 1970, and of :data:`LARGEST_US`"""
_SCALE = np.array([1000, 100, 10, 1])


def _durations(values: Sequence[Any]) -> NDArray[np.int64]:
    ns = _times(values)
    if ns.min() < 0 or ns.max() > LONGEST:
        raise Unusual
    return ns


class _ArgsReader:
    """Gives the ``args`` of the event at a position; the file is unpacked again when it is first asked."""

    def __init__(self, source: Source, bounds: list[tuple[int, int, int]], index: NDArray[np.int32]) -> None:
        """``bounds``: of each piece its first entry, and where it begins and ends in the document."""
        self._source: Source | None = source
        self._bounds, self._index = bounds, index
        self._texts: dict[int, bytes] = {}
        self._raw: dict[int, list[_WithArgs]] = {}

    def __call__(self, at: int) -> msgspec.Raw:
        """As bytes of JSON."""
        entry = int(self._index[at])
        piece = bisect_right(self._bounds, entry, key=lambda bound: bound[0]) - 1
        events = self._raw.get(piece)
        if events is None:
            events = self._raw[piece] = _ARGS.decode(self._text(piece))
        return events[entry - self._bounds[piece][0]].args

    def in_turn(self, at: NDArray[np.intp]) -> Iterator[msgspec.Raw]:
        """As :meth:`__call__`, of many events that are given in the file's order; none is kept."""
        if self._source is None:
            yield from map(self, at.tolist())
            return
        texts = enumerate(_cut(self._source.chunks(2**20), self._bounds))
        piece = -1
        events: list[_WithArgs] = []
        first = np.array([bound[0] for bound in self._bounds])
        entries = self._index[at]
        pieces = np.searchsorted(first, entries, "right") - 1
        for wanted, place in zip(pieces.tolist(), (entries - first[pieces]).tolist(), strict=True):
            while piece < wanted:
                piece, text = next(texts)
                if piece == wanted:
                    events = _ARGS.decode(text)
            yield events[place].args

    def _text(self, piece: int) -> bytes:
        if self._source is not None:
            self._texts = dict(enumerate(_cut(self._source.chunks(2**20), self._bounds)))
            self._source = None
        return self._texts.pop(piece)


def _cut(chunks: Iterator[bytes], bounds: list[tuple[int, int, int]]) -> Iterator[bytes]:
    """Each piece of a document as a list; the document is never held as a whole."""
    held, at = bytearray(), 0
    for _, start, end in bounds:
        while at + len(held) < end and (chunk := next(chunks, b"")):
            held += chunk
        yield b"[%b]" % bytes(held[start - at : end - at])
        del held[: end - at]
        at = end
