"""The events of a trace as columns of numbers: one number for each complete ("X") event in each column.

Events stand in order of start, an outer event before an inner one.  The other modules of this room name an
event by its position in the columns.  Times are integer ns since the earliest event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetoscope.trace.categories import GPU_ACTIVITIES, STEP_NAME, Kind, kind_of_kernel
from kinetoscope.trace.fields import NONE, LaneId

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kinetoscope.trace.findings import Findings

KINDS = tuple(Kind)
"""Kind by its number in :attr:`Columns.kind`"""
CODE = {kind: number for number, kind in enumerate(KINDS)}
"""The number of each kind"""
ON_GPU = np.array([kind in GPU_ACTIVITIES for kind in KINDS])
"""(kinds) whether the kind is a GPU activity"""
ON_STREAM = np.array([kind in GPU_ACTIVITIES | {Kind.GPU_ANNOTATION, Kind.SYNC} for kind in KINDS])
"""(kinds) whether the lane of its events is a stream"""
HAS_CORRELATION = ON_STREAM | np.array([kind is Kind.CALL for kind in KINDS])
"""(kinds) whether a correlation id is read from the ``args`` of its events"""


def _no_ids() -> NDArray[np.int32]:
    return np.empty(0, np.int32)


@dataclass(eq=False)
class Columns:
    """n complete events."""

    names: list[str]
    """each name once"""
    lanes: list[LaneId]
    """each lane once"""
    name: NDArray[np.int32]
    """(n) into ``names``"""
    kind: NDArray[np.int8]
    """(n) into :data:`KINDS`"""
    lane: NDArray[np.int32]
    """(n) into ``lanes``"""
    start: NDArray[np.int64]
    """(n) ns since the earliest event whose time is not lost"""
    dur: NDArray[np.int64]
    """(n) ns"""
    index: NDArray[np.int32]
    """(n) position among the file's entries"""
    correlation: NDArray[np.int64]
    """(n) correlation ids of calls, GPU activities and other events on a stream; NONE elsewhere"""
    external: NDArray[np.int64]
    """(n) External ids, or NONE"""
    frame: NDArray[np.int64]
    """(n) ids of Python frames, or NONE"""
    frame_parent: NDArray[np.int64]
    """(n) ids of the frames that called them, or NONE"""
    read_args: Callable[[int], Any] = lambda _: None
    """gives the ``args`` of the event at a position, as ``json`` does or as bytes of JSON"""

    unfinished: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, bool))
    """(n) whether it is a Python frame whose end the profiler missed"""
    lost: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, bool))
    """(n) whether its time was lost; it stands at 0"""
    wrong: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, bool))
    """(n) whether its time or length cannot be right: it was lost, or the file does not allow it.
    Such an event is counted and keeps its links.  No span, busy or idle time, delay, depth or median has it,
    and sums show it apart."""
    parent: NDArray[np.int32] = field(default_factory=_no_ids)
    """(n) position of the event that holds it, or NONE"""
    nested: NDArray[np.int32] = field(default_factory=_no_ids)
    """(m) positions of the events that can nest, thread after thread, an outer event before the inner ones"""
    first: NDArray[np.int32] = field(default_factory=_no_ids)
    behind: NDArray[np.int32] = field(default_factory=_no_ids)
    """(n) ``nested[first:behind]`` are an event and all below it; the range is empty if it cannot nest"""
    op: NDArray[np.int32] = field(default_factory=_no_ids)
    """(n) position of the innermost op around it, itself for an op, or NONE; NONE on the GPU"""
    launch: NDArray[np.int32] = field(default_factory=_no_ids)
    """(n) position of the call that started a GPU activity, or NONE"""
    named_op: dict[int, int] = field(default_factory=dict)
    """position of the op that the External id of an event names, where nesting gives none"""

    def __len__(self) -> int:
        return len(self.start)

    @property
    def end(self) -> NDArray[np.int64]:
        """(n) ns"""
        return self.start + self.dur

    def ends(self, at: NDArray[np.intp]) -> NDArray[np.int64]:
        """(len(at)) ns at which the events ``at`` end; cheaper than :attr:`end` for a few of many."""
        ends: NDArray[np.int64] = self.start[at] + self.dur[at]
        return ends

    @property
    def on_gpu(self) -> NDArray[np.bool_]:
        """(n) whether it is a GPU activity"""
        return ON_GPU[self.kind]

    @property
    def timed(self) -> NDArray[np.bool_]:
        """(n) whether it is a GPU activity whose times can be right: those that statistics are made of"""
        return self.on_gpu & ~self.wrong

    @cached_property
    def skewed(self) -> NDArray[np.bool_]:
        """(n) whether a GPU activity begins before its launch, because the clocks of CPU and GPU differ.

        Its times on the GPU's own clock (sums, busy time) count.  What compares the two clocks leaves it out:
        it has no delay and no depth, and the cause of a gap before it is unknown.
        """
        early: NDArray[np.bool_] = (self.launch != NONE) & (self.start < self.start[self.launch])
        return early

    @cached_property
    def delay(self) -> NDArray[np.int64]:
        """(n) ns from the start of a launching call to the start of the first activity that it launched.

        NONE for everything else: in a graph, only the first activity waits for the launch, and each other one
        for the one before.  NONE also where a time is wrong or the clocks differ.
        """
        delay = np.full(len(self), NONE, np.int64)
        launched = np.flatnonzero(self.timed & (self.launch != NONE))
        first = launched[np.unique(self.launch[launched], return_index=True)[1]]
        first = first[~self.skewed[first]]
        delay[first] = self.start[first] - self.start[self.launch[first]]
        return delay

    @cached_property
    def process(self) -> NDArray[np.intp]:
        """(lanes) a number for the process of each lane, counted from 0"""
        numbers: dict[int | str, int] = {}
        return np.array([numbers.setdefault(lane.pid, len(numbers)) for lane in self.lanes], np.intp)

    @cached_property
    def device(self) -> NDArray[np.intp]:
        """(lanes) a number for the device of each lane; ``pid`` tells the GPUs 0 of merged ranks apart"""
        numbers: dict[tuple[int | str, int | None], int] = {}
        devices = [numbers.setdefault((lane.pid, lane.device), len(numbers)) for lane in self.lanes]
        return np.array(devices, np.intp)

    def on_devices_of(self, process: int) -> NDArray[np.intp]:
        """Positions of the timed activities on devices on which a process (its number) launched something.

        Where it launched nothing, the file doesn't say which devices are its own, and all count.
        """
        gpu = np.flatnonzero(self.timed)
        launched = gpu[self.launch[gpu] != NONE]
        own = launched[self.process[self.lane[self.launch[launched]]] == process]
        if not len(own):
            return gpu
        return gpu[among(self.device[self.lane[gpu]], self.device[self.lane[own]], len(self.lanes))]

    def children(self, at: int) -> NDArray[np.int32]:
        """Positions of the events that an event holds and nothing in it holds, in order."""
        below, first = self._below
        return below[first[at] : first[at + 1]]

    def activities(self, at: int) -> NDArray[np.int32]:
        """Positions of the GPU activities that a call started, in order of start."""
        started, first = self._started
        return started[first[at] : first[at + 1]]

    @cached_property
    def _below(self) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
        return self._grouped(self.nested, self.parent)

    @cached_property
    def _started(self) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
        return self._grouped(np.arange(len(self), dtype=np.int32), self.launch)

    def _grouped(
        self, at: NDArray[np.int32], by: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
        """Those of ``at`` that have another event in ``by`` (n), together by that one; and (n + 1) at which
        place the group of each begins.
        """
        at = at[by[at] != NONE]
        at = at[np.argsort(by[at], kind="stable")]
        return at, np.searchsorted(by[at], np.arange(len(self) + 1, dtype=np.int32))

    @cached_property
    def self_dur(self) -> NDArray[np.int64]:
        """(n) ns outside its children of right times; never below 0, and 0 for unfinished frames"""
        below = np.zeros(len(self), np.int64)
        inside = self.parent != NONE
        np.add.at(below, self.parent[inside], self.dur[inside] * ~self.wrong[inside])
        own: NDArray[np.int64] = np.maximum(self.dur - below, 0) * ~self.unfinished
        return own

    def args_in_turn(self, at: NDArray[np.intp]) -> Iterator[Any]:
        """``read_args`` of the events ``at``, which are in the file's order, in little memory."""
        in_turn = getattr(self.read_args, "in_turn", None)
        return in_turn(at) if in_turn is not None else map(self.read_args, at.tolist())

    def sum_below(self, values: NDArray[Any]) -> NDArray[Any]:
        """(n) the sum of ``values`` (n) over each event and all below it; 0 for events that do not nest."""
        before = np.append(np.zeros(1, values.dtype), np.cumsum(values[self.nested]))
        sums: NDArray[Any] = before[self.behind] - before[self.first]
        return sums

    def innermost(self, wanted: NDArray[np.bool_]) -> NDArray[np.int32]:
        """(n) position of the innermost ``wanted`` (n) event: the event itself or one around it, or NONE.

        Every event looks at its parent first, and from then on where the
        event that it looks at looks: the distance doubles in each round, however deep they nest.
        """
        nearest = np.where(wanted, np.arange(len(self), dtype=np.int32), self.parent)
        looking = np.flatnonzero(~wanted & (self.parent != NONE))
        while len(looking):
            at = nearest[looking]
            looking, at = looking[~wanted[at]], at[~wanted[at]]
            nearest[looking] = nearest[at]
            looking = looking[nearest[looking] != NONE]
        return nearest

    def with_all_below(self, tops: NDArray[np.intp], also: int) -> NDArray[np.intp]:
        """Positions of the events ``tops``, of all below them, and of the one event ``also``, in order."""
        ranges = zip(self.first[tops].tolist(), self.behind[tops].tolist(), strict=True)
        return distinct(np.concatenate([np.array([also]), *(self.nested[slice(*each)] for each in ranges)]))

    def where(self, *kinds: Kind) -> NDArray[np.intp]:
        """Positions of the events of these kinds."""
        wanted = np.zeros(len(KINDS), bool)
        wanted[[CODE[kind] for kind in kinds]] = True
        return np.flatnonzero(wanted[self.kind])

    def place(self, at: int) -> str:
        """An event as a finding's first place."""
        return f"event {self.index[at]}, {self.names[self.name[at]][:80]!r}"


def in_order(
    names: list[str], lanes: list[LaneId], in_file_order: Iterator[NDArray[Any]], findings: Findings
) -> Columns:
    """The columns of events that are given in the file's order.

    ``in_file_order`` gives ``start`` (any ns), ``dur``, ``index``, ``name``, ``kind``, ``lane``,
    ``correlation``, ``external``, ``frame`` and ``frame_parent``.  It is asked for the next one when the one
    before is in order, so that never all columns are held twice.  Adds to ``findings``: ``lost-record``.
    """
    start, dur = next(in_file_order), next(in_file_order)
    order = _time_order(start, dur)
    start, dur = start[order], dur[order]
    index, name, kind, lane, correlation, external, frame, frame_parent = (
        column[order] for column in in_file_order
    )
    lost = _lost(start, dur, kind)
    if lost.any():
        start[lost] = start[~lost].min()
    start -= start[0] if len(start) else 0
    names, name = _renumbered(names, name)
    lanes, lane = _renumbered(lanes, lane)
    # Two profilers give steps the category of ops (Kineto of 2021, Ascend).
    steps = [number for number, text in enumerate(names) if STEP_NAME.fullmatch(text)]
    kind[among(name, steps, len(names)) & (kind == CODE[Kind.OP])] = CODE[Kind.ANNOTATION]
    kernels = np.flatnonzero(kind == CODE[Kind.KERNEL])
    of_name = np.full(len(names), CODE[Kind.KERNEL], kind.dtype)
    for number in distinct(name[kernels]).tolist():
        of_name[number] = CODE[kind_of_kernel(names[number])]
    kind[kernels] = of_name[name[kernels]]
    columns = Columns(
        names, lanes, name, kind, lane, start, dur, index, correlation, external, frame, frame_parent
    )
    columns.unfinished = np.zeros(len(columns), bool)
    columns.lost, columns.wrong = lost, lost.copy()
    if lost.any():
        findings.add("lost-record", columns.place(int(np.argmax(lost))), int(lost.sum()))
    return columns


_HOUR = 3600 * 10**9
"""ns.  Clocks count from 1970, from the start of the machine, or from the start of the recording."""


def _lost(start: NDArray[np.int64], dur: NDArray[np.int64], kind: NDArray[np.int8]) -> NDArray[np.bool_]:
    """(n) which events have lost their time, of events in order of ``start`` (ns of the file's clock).

    CUPTI gives a start and an end of 0 to a GPU activity whose times it could not collect.  A few others that
    start at 0 or before (Kineto subtracts a base from the 0) are lost if the rest starts an hour later.
    """
    early: NDArray[np.bool_] = start <= 0
    behind = int(np.count_nonzero(early))
    if behind in (0, len(start)):
        return np.zeros(len(start), bool)
    zero = early & ON_GPU[kind] & (start == 0) & (dur == 0)
    others = behind - int(np.count_nonzero(zero))
    known = bool((kind[:behind] != CODE[Kind.OTHER]).all())
    if known and start[behind] > _HOUR and others < len(start) - behind:
        return early
    return zero if start[0] == 0 else np.zeros(len(start), bool)


def _time_order(start: NDArray[np.int64], dur: NDArray[np.int64]) -> NDArray[np.intp]:
    """By start; of events that start together the longest first, and of equals the first in the file."""
    order = np.argsort(start, kind="stable")
    sorted_start = start[order]
    ties = np.flatnonzero(sorted_start[1:] == sorted_start[:-1])
    if len(ties):
        tied = distinct(np.concatenate([ties, ties + 1]))
        those = order[tied]
        order[tied] = those[np.lexsort((those, -dur[those], start[those]))]
    return order


def _renumbered(things: list[Any], number: NDArray[np.int32]) -> tuple[list[Any], NDArray[np.int32]]:
    """Things and their numbers, in order of appearance; things that do not appear are left out."""
    first = np.full(len(things), len(number), np.int64)
    first[number[::-1]] = np.arange(len(number) - 1, -1, -1)
    order = np.argsort(first, kind="stable")[: int((first < len(number)).sum())]
    new = np.zeros(len(things), np.int32)
    new[order] = np.arange(len(order))
    return [things[n] for n in order.tolist()], new[number]


def note_unknown(columns: Columns, categories: dict[int, str | None], findings: Findings) -> None:
    """Report the events of unknown category, which are given by ``index``."""
    if categories:
        at = next(at for at in columns.where(Kind.OTHER).tolist() if int(columns.index[at]) in categories)
        cat = categories[int(columns.index[at])]
        of = "no category" if cat is None else f"category {cat[:80]!r}"
        findings.add("unknown-categories", f"{columns.place(at)} of {of}", len(categories))


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """Each value once, in order.

    Without counting, ``np.unique`` loads numpy's masked arrays, which takes as long as reading a small trace.
    """
    unique: NDArray[Any] = np.unique(values, return_counts=True)[0]
    return unique


def among(
    numbers: NDArray[Any], chosen: Sequence[int] | NDArray[np.integer[Any]], count: int
) -> NDArray[np.bool_]:
    """(n) which of ``numbers`` (n) are among ``chosen``; all are from 0 to below ``count``."""
    is_chosen = np.zeros(count, bool)
    is_chosen[np.asarray(chosen, np.intp)] = True
    which: NDArray[np.bool_] = is_chosen[numbers]
    return which


def by_lane(columns: Columns, at: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """For each lane of the events ``at`` which of them (0 for the first) are on it, in their order."""
    return groups(columns.lane[at])


def groups(number: NDArray[Any]) -> list[NDArray[np.intp]]:
    """For each number, in order, the places in ``number`` (n) where it stands."""
    order = np.argsort(number, kind="stable")
    bounds = np.flatnonzero(np.diff(number[order])) + 1
    return np.split(order, bounds) if len(number) else []
