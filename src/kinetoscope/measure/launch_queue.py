"""How much was in a stream's queue."""

from __future__ import annotations

from bisect import bisect_right
from heapq import heappop, heappush
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from kinetoscope.trace.columns import by_lane
from kinetoscope.trace.fields import NONE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from kinetoscope.trace.columns import Columns


def launches_at(columns: Columns, gpu: NDArray[np.intp]) -> NDArray[np.int64]:
    """(n) ns at which the launching call began; the activity's own begin where that is not in the file.

    It is never later than the activity's begin: the clocks of CPU and GPU may differ by a little.
    """
    launch, start = columns.launch[gpu], columns.start[gpu]
    launches: NDArray[np.int64] = np.where(launch == NONE, start, np.minimum(columns.start[launch], start))
    return launches


class Queues:
    """The streams of a trace and what was in them.

    An activity is in its stream's queue from the start of the call that launched it to its own end: on its
    way, waiting, or running.
    """

    def __init__(self, columns: Columns) -> None:
        gpu = np.flatnonzero(columns.timed)
        launched = launches_at(columns, gpu)
        order = np.lexsort((columns.index[gpu], columns.start[gpu], launched, columns.lane[gpu]))
        gpu, launched = gpu[order], launched[order]
        end = columns.ends(gpu)
        self.depth: dict[int, int] = {}
        """How many other activities were in the stream's queue when the activity at a position was launched.

        These are the ones that were launched before, by any step, and had not finished at the start of the
        launching call.  If that call launched several (a graph), those before the activity count too.  An
        activity whose times are wrong is in no queue, and one that begins before its launch has no depth.
        """
        self._in: dict[int, _Ramp] = {}
        self._out: dict[int, _Ramp] = {}
        for at in by_lane(columns, gpu):
            put, taken = launched[at], np.sort(end[at])
            if (end[at] == put).any():
                # What has ended by a launch may have been launched with it, and come after it.
                depths = _depths(put.tolist(), end[at].tolist())
            else:
                depths = (np.arange(len(put)) - np.searchsorted(taken, put, "right")).tolist()
            known = zip(gpu[at].tolist(), depths, columns.skewed[gpu[at]].tolist(), strict=True)
            self.depth.update((each, depth) for each, depth, skewed in known if not skewed)
            lane = int(columns.lane[gpu[at[0]]])
            self._in[lane], self._out[lane] = _Ramp(put.tolist()), _Ramp(taken.tolist())

    def deepest(self, at: NDArray[np.intp]) -> int | None:
        """The largest depth of the activities at these positions; None if there are none."""
        return max((self.depth[each] for each in at.tolist() if each in self.depth), default=None)

    def mean(self, lane: int, start: int, end: int) -> float:
        """How many activities were in a lane's queue between two times (ns), weighted by time."""
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
