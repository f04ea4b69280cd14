"""Which lanes a trace has, and the row of each of its events.

Of the whole trace, whatever part of it is shown: an event stays on its row when a reader walks away from
the part that was drawn.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kinetoscope.trace.events import Event, LaneId, Trace


@dataclass(frozen=True, slots=True)
class LaneRows:
    """One lane, with every event on it that gets a bar."""

    id: LaneId
    label: str
    brief: str
    """the label without the GPU's name, for narrow pictures"""
    events: list[Event]
    rows: list[int]
    """0 is the uppermost; as long as ``events``"""

    @property
    def count(self) -> int:
        """How many rows the lane has."""
        return max(self.rows) + 1


def lane_rows(trace: Trace, events: Sequence[Event]) -> list[LaneRows]:
    """The lanes of ``events``, which are ``trace``'s in its order, from top to bottom."""
    by_lane: dict[LaneId, list[Event]] = {}
    for event in events:
        by_lane.setdefault(event.lane, []).append(event)
    stepped = {step.event.lane for step in trace.steps}
    order = sorted(by_lane, key=lambda lane: _lane_order(lane, lane in stepped, by_lane[lane][0].start))
    threads = sum(not lane.on_gpu for lane in order)
    devices = len({event.lane.device for event in trace.gpu})
    found = []
    for lane in order:
        inside = by_lane[lane]
        rows = _free_rows(inside) if lane.on_gpu else _nested_rows(inside)
        name = trace.device_names.get(lane.device, "") if lane.device is not None else ""
        found.append(
            LaneRows(
                lane, _label(lane, threads, devices, name), _label(lane, threads, devices, ""), inside, rows
            )
        )
    return found


def _lane_order(lane: LaneId, stepped: bool, first: int) -> tuple[int, int, int, int, int]:
    """CPU threads first, the one with the steps above all; then streams by number."""
    return (lane.on_gpu, not stepped, lane.device or 0, lane.stream or 0, first)


def _label(lane: LaneId, threads: int, devices: int, name: str) -> str:
    if not lane.on_gpu:
        return f"CPU · thread {lane.tid}" if threads > 1 else "CPU"
    device = f"GPU {lane.device}" if devices > 1 else "GPU"
    return f"{device}{f' · {name}' if name else ''} · stream {lane.stream}"


def _nested_rows(events: list[Event]) -> list[int]:
    """A row for each event of a thread: below every event that has not ended when it starts.

    By time, not by :attr:`Event.parent`, so that ranges which cross, as they should not, stay apart.
    """
    order = sorted(range(len(events)), key=lambda i: (events[i].start, -events[i].dur, events[i].index))
    rows = [0] * len(events)
    # Each one put here is below all before it, so the last that has not ended is the lowest that has not.
    active: list[tuple[int, int]] = []
    for i in order:
        while active and active[-1][0] <= events[i].start:
            active.pop()
        rows[i] = active[-1][1] + 1 if active else 0
        active.append((events[i].end, rows[i]))
    return rows


def _free_rows(events: list[Event]) -> list[int]:
    """A row for each activity of a stream: the first one free, so a second only where they overlap."""
    order = sorted(range(len(events)), key=lambda i: (events[i].start, events[i].index))
    rows = [0] * len(events)
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    for i in order:
        while busy and busy[0][0] <= events[i].start:
            heapq.heappush(free, heapq.heappop(busy)[1])
        rows[i] = heapq.heappop(free) if free else len(busy)
        heapq.heappush(busy, (events[i].end, rows[i]))
    return rows
