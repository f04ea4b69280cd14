"""How much was in a stream's queue."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from heapq import heappop, heappush
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kinetoscope.trace import Event, LaneId


def launched_at(activity: Event) -> int:
    """Ns at which the launching call began; the activity's own begin where that is not in the file.

    Nor is it later than that: the clocks of CPU and GPU may differ by a little.
    """
    return activity.start if activity.launch is None else min(activity.launch.start, activity.start)


class Queues:
    """The streams of a trace and what was in them.

    An activity is in its stream's queue from the begin of the call that launched it to its own end: on its
    way, waiting, or running.
    """

    def __init__(self, activities: Iterable[Event]) -> None:
        streams: dict[LaneId, list[Event]] = defaultdict(list)
        for activity in activities:
            streams[activity.lane].append(activity)
        self._depths: dict[int, int] = {}
        for inside in streams.values():
            self._find_depths(inside)
        self._in = {lane: _Ramp(launched_at(event) for event in inside) for lane, inside in streams.items()}
        self._out = {lane: _Ramp(event.end for event in inside) for lane, inside in streams.items()}

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

    def _find_depths(self, inside: list[Event]) -> None:
        ends: list[int] = []
        for activity in sorted(inside, key=lambda event: (launched_at(event), event.start, event.index)):
            # in order of launches, so that what has ended by one has by the next
            while ends and ends[0] <= launched_at(activity):
                heappop(ends)
            self._depths[id(activity)] = len(ends)
            heappush(ends, activity.end)


class _Ramp:
    """The count of events up to each time, and the area below it."""

    def __init__(self, times: Iterable[int]) -> None:
        self._times = sorted(times)
        self._sums = [0, *accumulate(self._times)]

    def area(self, until: int) -> int:
        """Sum of the ns that each of the times is before ``until``."""
        count = bisect_right(self._times, until)
        return count * until - self._sums[count]
