"""How much was in a stream's queue."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from heapq import heappop, heappush
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from kinetoscope.trace.columns import NONE, by_lane

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
        self._depths: dict[int, int] = {}
        for inside in streams.values():
            inside.sort()
            depths = _depths([row[0] for row in inside], [row[3] for row in inside])
            self._depths.update(zip((row[4] for row in inside), depths, strict=True))
        self._in = {lane: _Ramp(row[0] for row in inside) for lane, inside in streams.items()}
        self._out = {lane: _Ramp(row[3] for row in inside) for lane, inside in streams.items()}

    @classmethod
    def of(cls, columns: Columns) -> Queues:
        """The streams of a trace that was read: lanes by number, and activities by position."""
        made = cls(())
        gpu = np.flatnonzero(columns.on_gpu)
        for there in by_lane(columns, gpu):
            at = gpu[there]
            launched, end = launches_at(columns, at), columns.end[at]
            order = np.lexsort((columns.index[at], columns.start[at], launched))
            at, launched, end = at[order], launched[order], end[order]
            if (end == launched).any():
                # What has ended by a launch may be launched with it, and be behind it.
                depths = _depths(launched.tolist(), end.tolist())
            else:
                depths = (np.arange(len(at)) - np.searchsorted(np.sort(end), launched, "right")).tolist()
            made._depths.update(zip(at.tolist(), depths, strict=True))
            lane = columns.lanes[int(columns.lane[at[0]])]
            made._in[lane], made._out[lane] = _Ramp(launched.tolist()), _Ramp(np.sort(end).tolist())
        return made

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


def _depths(launched: list[int], end: list[int]) -> list[int]:
    """(n) how many of those before an activity have not ended when it is launched; in order of launches."""
    ends: list[int] = []
    found = []
    for moment, until in zip(launched, end, strict=True):
        # what has ended by one launch has by the next
        while ends and ends[0] <= moment:
            heappop(ends)
        found.append(len(ends))
        heappush(ends, until)
    return found


class _Ramp:
    """The count of events up to each time, and the area below it."""

    def __init__(self, times: Iterable[int]) -> None:
        self._times = sorted(times)
        self._sums = [0, *accumulate(self._times)]

    def area(self, until: int) -> int:
        """Sum of the ns that each of the times is before ``until``."""
        count = bisect_right(self._times, until)
        return count * until - self._sums[count]
