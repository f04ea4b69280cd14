"""How much was in a stream's queue."""

from __future__ import annotations

from bisect import bisect_right
from heapq import heappop, heappush
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from kinetoscope.trace.fields import NONE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from kinetoscope.trace import Event, LaneId
    from kinetoscope.trace.columns import Columns


def launched_at(activity: Event) -> int:
    """ns at which the launching call began; the activity's own begin where that is not in the file.

    It is never later than the activity's begin: the clocks of CPU and GPU may differ by a little.
    """
    return activity.start if activity.launch is None else min(activity.launch.start, activity.start)


def launches_at(columns: Columns, gpu: NDArray[np.intp]) -> NDArray[np.int64]:
    """(n) the same of the activities at positions ``gpu``."""
    launch, start = columns.launch[gpu], columns.start[gpu]
    launches: NDArray[np.int64] = np.where(launch == NONE, start, np.minimum(columns.start[launch], start))
    return launches


class Queues:
    """The streams of a trace and what was in them.

    An activity is in its stream's queue from the begin of the call that launched it to its own end: on its
    way, waiting, or running.
    """

    def __init__(self, lanes: Sequence[LaneId], activities: NDArray[np.int64], keys: Sequence[int]) -> None:
        """``activities`` is (5, n): number of the lane, launch (ns), begin (ns), file index, end (ns)."""
        order = np.lexsort(activities[3::-1])
        lane, launched, _, _, end = activities[:, order]
        ordered_keys = [keys[n] for n in order.tolist()]
        bounds = [0, *(np.flatnonzero(np.diff(lane)) + 1).tolist(), len(lane)]
        self._depths: dict[int, int] = {}
        self._in: dict[LaneId, _Ramp] = {}
        self._out: dict[LaneId, _Ramp] = {}
        for at in [slice(*pair) for pair in pairwise(bounds)] if len(lane) else ():
            put, taken = launched[at], np.sort(end[at])
            if (end[at] == put).any():
                # What has ended by a launch may have been launched with it, and come after it.
                depths = _depths(put.tolist(), end[at].tolist())
            else:
                depths = (np.arange(len(put)) - np.searchsorted(taken, put, "right")).tolist()
            self._depths.update(zip(ordered_keys[at], depths, strict=True))
            stream = lanes[int(lane[at.start])]
            self._in[stream], self._out[stream] = _Ramp(put.tolist()), _Ramp(taken.tolist())

    @classmethod
    def of(cls, columns: Columns) -> Queues:
        """The streams of a trace that was read; :meth:`deepest` takes positions in its columns."""
        gpu = np.flatnonzero(columns.on_gpu)
        launched, end = launches_at(columns, gpu), columns.ends(gpu)
        rows = (columns.lane[gpu], launched, columns.start[gpu], columns.index[gpu], end)
        return cls(columns.lanes, np.stack(rows), gpu.tolist())

    @classmethod
    def of_events(cls, activities: Sequence[Event]) -> Queues:
        """The streams of these activities; :meth:`depth` takes one of them."""
        lanes: dict[LaneId, int] = {}
        rows = [
            (lanes.setdefault(each.lane, len(lanes)), launched_at(each), each.start, each.index, each.end)
            for each in activities
        ]
        columns = np.array(rows, np.int64).reshape(-1, 5).T
        return cls(list(lanes), columns, [id(each) for each in activities])

    def deepest(self, at: NDArray[np.intp]) -> int | None:
        """The largest depth of the activities at these positions; None if there are none."""
        return max(map(self._depths.__getitem__, at.tolist()), default=None)

    def depth(self, activity: Event) -> int:
        """How many other activities were in the stream's queue when ``activity`` was launched.

        These are the ones that were launched before, by any step, and had not finished at the begin of the
        launching call.  If that call launched several (a graph), those before ``activity`` count too.
        """
        return self._depths[id(activity)]

    def mean(self, lane: LaneId, start: int, end: int) -> float:
        """How many activities were in one stream's queue between two times (ns), weighted by time."""
        if end <= start:
            return 0.0
        put, taken = self._in[lane], self._out[lane]
        return (put.area(end) - put.area(start) - taken.area(end) + taken.area(start)) / (end - start)


def _depths(launched: list[int], end: list[int]) -> list[int]:
    """(n) how many activities before each have not ended when it is launched; in order of launches."""
    running: list[int] = []
    depths = []
    for moment, until in zip(launched, end, strict=True):
        while running and running[0] <= moment:
            heappop(running)
        depths.append(len(running))
        heappush(running, until)
    return depths


class _Ramp:
    """The count of events up to each time, and the area below it."""

    def __init__(self, times: Iterable[int]) -> None:
        self._times = sorted(times)
        self._sums = [0, *accumulate(self._times)]

    def area(self, until: int) -> int:
        """Sum of the ns that each of the times is before ``until``."""
        count = bisect_right(self._times, until)
        return count * until - self._sums[count]
