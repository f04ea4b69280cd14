"""How much was in a stream's queue."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from heapq import heappop, heappush
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from kinetoscope.trace.columns import NONE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from kinetoscope.trace import Event, LaneId
    from kinetoscope.trace.columns import Columns


def launched_at(activity: Event) -> int:
    """Ns at which the launching call began; the activity's own begin where that is not in the file.

    Nor is it later than that: the clocks of CPU and GPU may differ by a little.
    """
    return activity.start if activity.launch is None else min(activity.launch.start, activity.start)


def launches_at(columns: Columns, gpu: NDArray[np.intp]) -> NDArray[np.int64]:
    """(n) the same of the activities at positions ``gpu``."""
    launch, start = columns.launch[gpu], columns.start[gpu]
    found: NDArray[np.int64] = np.where(launch == NONE, start, np.minimum(columns.start[launch], start))
    return found


_Queued: TypeAlias = "tuple[int, int, int, int, int]"
"""launched at, start, place in the file, end, and what an activity is called by"""


class Queues:
    """The streams of a trace and what was in them.

    An activity is in its stream's queue from the begin of the call that launched it to its own end: on its
    way, waiting, or running.
    """

    def __init__(self, activities: Iterable[Event]) -> None:
        streams: dict[LaneId, list[_Queued]] = defaultdict(list)
        for activity in activities:
            queued = (launched_at(activity), activity.start, activity.index, activity.end, id(activity))
            streams[activity.lane].append(queued)
        self._fill(streams)

    @classmethod
    def of(cls, columns: Columns) -> Queues:
        """The streams of a trace that was read: lanes by number, and activities by position."""
        gpu = np.flatnonzero(columns.on_gpu)
        launched = launches_at(columns, gpu).tolist()
        parts = (columns.start[gpu], columns.index[gpu], columns.end[gpu], gpu)
        rows = zip(launched, *(part.tolist() for part in parts), strict=True)
        streams: dict[LaneId, list[_Queued]] = defaultdict(list)
        for lane, queued in zip(columns.lane[gpu].tolist(), rows, strict=True):
            streams[columns.lanes[lane]].append(queued)
        made = cls(())
        made._fill(streams)
        return made

    def _fill(self, streams: dict[LaneId, list[_Queued]]) -> None:
        self._depths: dict[int, int] = {}
        for inside in streams.values():
            self._find_depths(inside)
        self._in = {lane: _Ramp(row[0] for row in inside) for lane, inside in streams.items()}
        self._out = {lane: _Ramp(row[3] for row in inside) for lane, inside in streams.items()}

    def deepest(self, at: NDArray[np.intp]) -> int | None:
        """The largest depth of the activities at these positions; None for none."""
        return max(map(self._depths.__getitem__, at.tolist()), default=None)

    def depth(self, activity: Event) -> int:
        """How many activities were in the stream's queue when ``activity`` was launched, without it.

        Those launched before, by whatever step, that had not finished at the begin of the launching call; of
        a call that launched several (a graph), those before it in the same call are in the queue as well.
        """
        return self._depths[id(activity)]

    def mean(self, lane: LaneId, start: int, end: int) -> float:
        """How many activities were in one stream's queue between two times (ns), weighted by time."""
        if end <= start:
            return 0.0
        put, taken = self._in[lane], self._out[lane]
        return (put.area(end) - put.area(start) - taken.area(end) + taken.area(start)) / (end - start)

    def _find_depths(self, inside: list[_Queued]) -> None:
        ends: list[int] = []
        for launched, _, _, end, key in sorted(inside):
            # in order of launches, so that what has ended by one has by the next
            while ends and ends[0] <= launched:
                heappop(ends)
            self._depths[key] = len(ends)
            heappush(ends, end)


class _Ramp:
    """The count of events up to each time, and the area below it."""

    def __init__(self, times: Iterable[int]) -> None:
        self._times = sorted(times)
        self._sums = [0, *accumulate(self._times)]

    def area(self, until: int) -> int:
        """Sum of the ns that each of the times is before ``until``."""
        count = bisect_right(self._times, until)
        return count * until - self._sums[count]
