"""Bytes of a trace file without a fault -> columns, piece by piece.

It gives the same columns as :mod:`~kinetoscope.trace.lenient_reader`, in less time and memory.  Whatever
would be a finding raises :class:`~kinetoscope.trace.chunked_reader.Unusual`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any, Literal, Union, overload

import msgspec
import numpy as np

from kinetoscope.trace.categories import KINDS as BY_CATEGORY
from kinetoscope.trace.categories import NEITHER, STEP_NAME, kind_of
from kinetoscope.trace.chunked_reader import Pieces, Unusual, chunks
from kinetoscope.trace.columns import CODE, KINDS, NONE, ON_STREAM, Columns, among, distinct, wrapped
from kinetoscope.trace.events import Kind, LaneId
from kinetoscope.trace.fields import LARGEST_US, LONGEST, integer, lane_of, nanoseconds
from kinetoscope.trace.phases import POINTS
from kinetoscope.trace.records import Later

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CATEGORIES = tuple(
    {*BY_CATEGORY, *NEITHER, "Trace", "Operator", "Runtime", "Kernel", "Memcpy", "Memset", "Driver"}
)


class _Args(msgspec.Struct, gc=False):
    external: Any = msgspec.field(default=None, name="External id")
    external_2021: Any = msgspec.field(default=None, name="external id")
    device: Any = None
    stream: Any = None
    correlation: Any = None
    frame: Any = msgspec.field(default=None, name="Python id")
    frame_parent: Any = msgspec.field(default=None, name="Python parent id")


class _Complete(msgspec.Struct, gc=False, tag_field="ph", tag="X", kw_only=True):
    # In the order in which profilers write them: msgspec looks for a key where the one before led to.
    # One of a few texts costs a look-up, any text a new object.
    cat: Literal[_CATEGORIES]  # type: ignore[valid-type]
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
# A time with a fraction stays text: no float holds every one.
_ENTRY: Any = Union[(_Complete, *_POINTS)]
_DECODER: msgspec.json.Decoder[list[Any]] = msgspec.json.Decoder(list[_ENTRY], float_hook=str)


class _WithArgs(msgspec.Struct, gc=False):
    args: msgspec.Raw = msgspec.Raw()


_ARGS = msgspec.json.Decoder(list[_WithArgs])

_NO_ARGS = _Args()
_LINKED = ON_STREAM | np.array([kind is Kind.CALL for kind in KINDS])


def stream(data: bytes, max_bytes: int) -> tuple[Columns, Any] | None:
    """The columns and ``deviceProperties`` of a file; None where it has to be read as a whole."""
    pieces = Pieces(data, _DECODER, max_bytes)
    gathered = _Gathered()
    bounds: list[tuple[int, int, int]] = []
    try:
        for piece in pieces:
            bounds.append((gathered.entries, piece.start, piece.end))
            gathered.add(piece.events)
    except (Unusual, OverflowError):
        return None
    found = gathered.columns()
    found.args = HeldArgs(data, bounds, found.index)
    return found, pieces.properties


def _whole(value: Any) -> int | None:
    """As :func:`integer`; :class:`Unusual` for text that is no whole number, which may have been one."""
    number = integer(value)
    if number is None and isinstance(value, str):
        raise Unusual
    return number


class _Numbers(dict[Any, int]):
    """A number for each thing, by order of appearance."""

    def __missing__(self, key: Any) -> int:
        self[key] = number = len(self)
        return number


class _Lanes(dict[tuple[Any, ...], int]):
    """The number of a lane by what an event says of it."""

    def __init__(self) -> None:
        super().__init__()
        self.lanes: dict[LaneId, int] = {}

    def __missing__(self, key: tuple[Any, ...]) -> int:
        where = lane_of(*key[:2], *map(_whole, key[2:]))
        self[key] = number = self.lanes.setdefault(where, len(self.lanes))
        return number


class _Kinds(dict[str, int]):
    """The code of a kind by category."""

    def __missing__(self, cat: str) -> int:
        self[cat] = code = CODE[kind_of(cat, 0)]
        return code


_START = 4
"""Place of the column of starts, which durations follow"""


class _Gathered:
    """Columns while they grow, in the file's order."""

    def __init__(self) -> None:
        self.entries = 0
        """of the file, events or not"""
        self._names, self._lanes, self._kinds = _Numbers(), _Lanes(), _Kinds()
        self._parts: list[tuple[NDArray[Any], ...]] = []

    def add(self, entries: list[Any]) -> None:
        """Take what the next piece holds.  Raises :class:`Unusual`; ``OverflowError`` for a huge number."""
        complete = [type(entry) is _Complete for entry in entries]
        index = (np.flatnonzero(complete) + self.entries).astype(np.int32)
        self.entries += len(entries)
        if not len(index):
            return
        events = list(compress(entries, complete))
        count = len(events)
        kind = np.fromiter(map(self._kinds.__getitem__, [event.cat for event in events]), np.int8, count)
        pid, tid = [event.pid for event in events], [event.tid for event in events]
        lane = np.fromiter(map(self._lanes.__getitem__, zip(pid, tid, strict=True)), np.int32, count)
        args = [event.args or _NO_ARGS for event in events]
        linked, on_stream = np.flatnonzero(_LINKED[kind]), np.flatnonzero(ON_STREAM[kind])
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
                index,
                np.fromiter(map(self._names.__getitem__, [event.name for event in events]), np.int32, count),
                kind,
                lane,
                _times([event.ts for event in events]),
                _durations([event.dur for event in events]),
                correlation,
                _external(args),
                *_frames(args, kind),
            )
        )

    def columns(self) -> Columns:
        """All of it, in order of time."""
        types = (np.int32, np.int32, np.int8, np.int32, *(6 * [np.int64]))
        parts = [list(each) for each in zip(*self._parts, strict=True)] or [[] for _ in types]
        self._parts.clear()

        def joined(at: int) -> NDArray[Any]:
            column = np.concatenate([np.empty(0, types[at]), *parts[at]])
            parts[at].clear()  # never is all of it there twice
            return column

        start, dur = joined(_START), joined(_START + 1)
        order = _order(start, dur)
        start, dur = start[order], dur[order]
        index, name, kind, lane = (joined(at)[order] for at in range(_START))
        correlation, external, frame, frame_parent = (
            joined(at)[order] for at in range(_START + 2, len(types))
        )
        start -= start[0] if len(start) else 0
        names, name = _renumbered(list(self._names), name)
        lanes, lane = _renumbered(list(self._lanes.lanes), lane)
        steps = [n for n, text in enumerate(names) if STEP_NAME.fullmatch(text)]
        # Two profilers give them the category of ops (Kineto of 2021, Ascend).
        kind[among(name, steps, len(names)) & (kind == CODE[Kind.OP])] = CODE[Kind.ANNOTATION]
        found = Columns(names, lanes, name, kind, lane, start, dur, index, correlation, [])
        found.unfinished = np.zeros(len(found), bool)
        found.external, found.frame, found.frame_parent = external, frame, frame_parent
        return found


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
            found = np.array(numbers, np.int64)
        except OverflowError:
            pass
        else:
            found[found == 0] = NONE
            return found
    return np.array([wrapped(_whole(number)) for number in numbers], np.int64)


_INTEGER_OR_NONE = {int, type(None)}


def _frames(args: list[_Args], kind: NDArray[np.int8]) -> list[NDArray[np.int64]]:
    """(n) ids of Python frames, and of those that called them; NONE where there is none."""
    found = [np.full(len(args), NONE, np.int64) for _ in range(2)]
    frames = np.flatnonzero(kind == CODE[Kind.PYTHON])
    for column, name in zip(found, ("frame", "frame_parent"), strict=True):
        numbers = [getattr(args[at], name) for at in frames.tolist()]
        numbers = [NONE if number is None else number for number in numbers]
        if not set(map(type, numbers)) <= {int}:
            raise Unusual
        column[frames] = numbers
    return found


def _times(values: Sequence[Any]) -> NDArray[np.int64]:
    """Times in µs as ns.  Raises :class:`Unusual` where one is none, or ``OverflowError``."""
    kinds = set(map(type, values))
    if kinds == {int}:
        us = np.array(values, np.int64)
        if us.max() >= LARGEST_US or us.min() <= -LARGEST_US:
            raise Unusual
        return us * 1000
    if kinds == {str}:
        found = _with_a_point(values)
        if found is not None:
            return found
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
    """What profilers since 2024 write: digits, a point, and up to three digits; None if it is not all so."""
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
    found = np.fromstring(joined.replace(".", ""), np.int64, sep="\n")
    scale = _SCALE[decimals]
    return None if (found >= LARGEST_US * 1000 // scale).any() else found * scale


_DIGITS = 16
"""of whole µs since 1970, as of :data:`LARGEST_US`"""
_SCALE = np.array([1000, 100, 10, 1])


def _durations(values: Sequence[Any]) -> NDArray[np.int64]:
    ns = _times(values)
    if ns.min() < 0 or ns.max() > LONGEST:
        raise Unusual
    return ns


def _order(start: NDArray[np.int64], dur: NDArray[np.int64]) -> NDArray[np.intp]:
    """By start; of those that start together the longest first, and of equals the first in the file."""
    order = np.argsort(start, kind="stable")
    sorted_start = start[order]
    ties = np.flatnonzero(sorted_start[1:] == sorted_start[:-1])
    if len(ties):
        tied = distinct(np.concatenate([ties, ties + 1]))
        those = order[tied]
        order[tied] = those[np.lexsort((those, -dur[those], start[those]))]
    return order


def _renumbered(things: list[Any], number: NDArray[np.int32]) -> tuple[list[Any], NDArray[np.int32]]:
    """Things and their numbers, in order of appearance; those that do not appear are left out."""
    first = np.full(len(things), len(number), np.int64)
    first[number[::-1]] = np.arange(len(number) - 1, -1, -1)
    order = np.argsort(first, kind="stable")[: int((first < len(number)).sum())]
    new = np.zeros(len(things), np.int32)
    new[order] = np.arange(len(order))
    return [things[n] for n in order.tolist()], new[number]


class HeldArgs(Sequence[Later]):
    """The ``args`` of n events, read from the file's bytes once somebody looks at one."""

    def __init__(self, data: bytes, bounds: list[tuple[int, int, int]], index: NDArray[np.int32]) -> None:
        """``bounds``: of each piece its first entry, and where it begins and ends in the document."""
        self._data: bytes | None = data
        self._bounds, self._index = bounds, index
        self._texts: list[bytes] = []
        self._raw: dict[int, list[_WithArgs]] = {}

    def __len__(self) -> int:
        return len(self._index)

    @overload
    def __getitem__(self, at: int) -> Later: ...
    @overload
    def __getitem__(self, at: slice) -> list[Later]: ...
    def __getitem__(self, at: int | slice) -> Later | list[Later]:
        if isinstance(at, slice):
            return [Later(self.read, n) for n in range(len(self))[at]]
        return Later(self.read, range(len(self))[at])

    def read(self, at: int) -> msgspec.Raw:
        """As bytes of JSON."""
        entry = int(self._index[at])
        piece = bisect_right(self._bounds, entry, key=lambda bound: bound[0]) - 1
        found = self._raw.get(piece)
        if found is None:
            found = self._raw[piece] = _ARGS.decode(self._text(piece))
        return found[entry - self._bounds[piece][0]].args

    def _text(self, piece: int) -> bytes:
        if self._data is not None:
            document = b"".join(chunks(self._data, 2**63))
            self._texts = [b"[%b]" % document[start:end] for _, start, end in self._bounds]
            self._data = None
        text, self._texts[piece] = self._texts[piece], b""
        return text
