"""Where everything in a timeline goes: pure geometry, the same for the page and for paper.

:func:`lay_out` decides, ``svg`` and ``paper`` draw.  Lengths are px of the finished picture, times ns.
"""

from __future__ import annotations

import heapq
from dataclasses import replace
from typing import TYPE_CHECKING

from kinetoscope.draw import window as windows
from kinetoscope.draw.geometry import NARROW, WIDE, Arrow, Band, Bar, Lane, Layout, Style, Tick
from kinetoscope.draw.label import write_labels
from kinetoscope.draw.names import matches
from kinetoscope.draw.palette import kind_class
from kinetoscope.draw.text import text_width, truncate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kinetoscope.draw.window import Steps, Window
    from kinetoscope.trace.events import Event, LaneId, Trace


def lay_out(
    trace: Trace,
    *,
    width: float,
    steps: Steps = None,
    zoom: str | None = None,
    highlight: Sequence[str] = (),
    python: bool = False,
    at_least: int = 0,
    style: Style | None = None,
) -> Layout:
    """Lay ``trace`` out ``width`` px wide.

    ``steps`` is one number, several, ``"all"`` for the whole trace, or None for one typical step;
    ``zoom`` the pattern of an op (the first that matches within the steps) whose span, with what it
    launched, becomes the window; ``highlight`` patterns of names to mark; ``python`` adds Python
    frames; ``at_least`` ns are shown even if the step is shorter, so that two traces can be drawn on
    one scale.  Patterns know ``*`` and ``?``.

    Raises :class:`~kinetoscope.draw.window.LayoutError` for a step or a ``zoom`` that is not there.
    """
    style = style or (NARROW if width < 480 else WIDE)
    events = windows.drawable(trace, python=python)
    window = windows.choose(trace, steps, zoom, events)
    if window.dur < at_least:
        window = replace(window, end=window.start + at_least)
    picture = Layout(width, 0, window, style)
    seen = [e for e in events if e.start < window.end and (e.end > window.start or e.start == window.start)]
    if not seen:
        picture.note = "Nothing was recorded."
        picture.height = 4 * style.font
        return picture
    y = _place_lanes(picture, trace, seen)
    _mark(picture, highlight)
    _draw_arrows(picture)
    write_labels(picture)
    _draw_bands(picture, trace)
    _draw_ticks(picture)
    picture.height = round(y + style.axis, 2)
    return picture


def _scale(picture: Layout, ns: int) -> float:
    """x in px of a moment in ns, kept inside the picture."""
    room = picture.width - 2 * picture.style.side
    share = (ns - picture.window.start) / picture.window.dur
    return picture.style.side + room * min(1.0, max(0.0, share))


def _place_lanes(picture: Layout, trace: Trace, seen: list[Event]) -> float:
    """Add lanes and bars, top to bottom; return the y below the last lane."""
    style, y = picture.style, 2.0
    by_lane: dict[LaneId, list[Event]] = {}
    for event in seen:
        by_lane.setdefault(event.lane, []).append(event)
    stepped = {step.event.lane for step in trace.steps}
    order = sorted(by_lane, key=lambda lane: _lane_order(lane, lane in stepped, by_lane[lane][0].start))
    cpu_lanes = sum(not lane.on_gpu for lane in order)
    for index, lane_id in enumerate(order):
        if lane_id.on_gpu and index and not order[index - 1].on_gpu:
            y += style.fan - style.between
        heading = y + style.heading - 5
        top = y + style.heading
        rows = _free_rows(by_lane[lane_id]) if lane_id.on_gpu else _nested_rows(by_lane[lane_id])
        count = max(rows) + 1
        height = count * style.row - style.gap
        label = _lane_label(lane_id, trace, cpu_lanes, picture.width)
        label = truncate(label, picture.width - 2 * style.side, style.font)
        picture.lanes.append(Lane(lane_id, label, top, height, count, heading))
        _add_bars(picture, index, by_lane[lane_id], rows)
        y = top + height + style.between
    return y


def _lane_order(lane: LaneId, stepped: bool, first: int) -> tuple[int, int, int, int, int]:
    """CPU threads first, the one with the steps above all; then streams by number."""
    return (lane.on_gpu, not stepped, lane.device or 0, lane.stream or 0, first)


def _lane_label(lane: LaneId, trace: Trace, cpu_lanes: int, width: float) -> str:
    if not lane.on_gpu:
        return f"CPU · thread {lane.tid}" if cpu_lanes > 1 else "CPU"
    several = len({e.lane.device for e in trace.gpu}) > 1
    name = trace.device_names.get(lane.device, "") if lane.device is not None and width >= 480 else ""
    device = f"GPU {lane.device}" if several else "GPU"
    return f"{device}{f' · {name}' if name else ''} · stream {lane.stream}"


def _nested_rows(events: list[Event]) -> list[int]:
    """A row for each event of a thread: below every event that has not ended when it starts.

    By time, not by :attr:`Event.parent`, so that ranges which cross, as they should not, stay apart.
    """
    order = sorted(range(len(events)), key=lambda i: (events[i].start, -events[i].dur, events[i].index))
    rows = [0] * len(events)
    active: list[tuple[int, int]] = []
    for i in order:
        active = [(end, row) for end, row in active if end > events[i].start]
        rows[i] = max((row for _, row in active), default=-1) + 1
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


def _add_bars(picture: Layout, lane: int, events: list[Event], rows: list[int]) -> None:
    style, window = picture.style, picture.window
    belongs = _belonging(window)
    right = picture.width - style.side
    last: dict[int, Bar] = {}
    for event, row in sorted(zip(events, rows, strict=True), key=lambda pair: (pair[0].start, pair[1])):
        x, end = _scale(picture, event.start), _scale(picture, event.end)
        faded = not belongs(event)
        kind = kind_class(event)
        before = last.get(row)
        tiny = end - x < 1
        if before and tiny and before.w <= style.least and x < before.x + before.w and before.kind == kind:
            before.merged.append(event)
            before.w = max(before.w, end - before.x)
            before.faded = before.faded and faded
            continue
        if before and x < before.x + before.w:  # the one before was widened into this one
            x = min(before.x + before.w, right - style.least)
        w = max(end - x, style.least)
        x = min(x, right - w)
        y = picture.lanes[lane].y + row * style.row
        bar = Bar(event, kind, x, y, w, style.row - style.gap, row, lane, faded=faded)
        picture.bars.append(bar)
        last[row] = bar


def _belonging(window: Window) -> Callable[[Event], bool]:
    """A test of whether an event belongs to the steps shown; without steps, everything does."""
    launched = {id(activity) for step in window.steps for activity in step.gpu}
    ranges = [(step.start, step.event.end) for step in window.steps]

    def belongs(event: Event) -> bool:
        if not ranges:
            return True
        if event.kind.on_gpu:
            # Without a launch in the file nobody can say whose it is.
            return id(event) in launched or event.launch is None
        # One that encloses a step whole, as a range around the loop does, belongs to it too.
        return any(a <= event.start < b or (event.start <= a and event.end >= b) for a, b in ranges)

    return belongs


def _mark(picture: Layout, patterns: Sequence[str]) -> None:
    for bar in picture.bars:
        events = [bar.event, *bar.merged]
        bar.highlighted = any(matches(event.name, pattern) for event in events for pattern in patterns)


def _draw_arrows(picture: Layout) -> None:
    cpu = [lane for lane in picture.lanes if not lane.id.on_gpu]
    if not cpu:
        return
    turn = max(lane.y + lane.height for lane in cpu) + 3
    bar_of = {id(event): bar for bar in picture.bars for event in (bar.event, *bar.merged)}
    drawn: set[tuple[int, int, int]] = set()
    for bar in picture.bars:
        for activity in (bar.event, *bar.merged):
            call = activity.launch
            start = None if call is None else bar_of.get(id(call))
            if call is None or start is None or call.start < picture.window.start:
                continue
            # The ends are the two begins, so that the arrow spans the launch delay and nothing else.
            place = (round(start.x), round(bar.x), round(bar.y))
            if place in drawn:
                continue
            drawn.add(place)
            x1, x2 = start.x + 0.75, bar.x + 0.75
            faded = bar.faded and start.faded
            level = min(bar.y, picture.lanes[bar.lane].y - picture.style.heading + 3)
            y1 = start.y + start.h
            picture.arrows.append(Arrow(call, activity, x1, y1, turn, level, x2, bar.y, faded))


def _draw_bands(picture: Layout, trace: Trace) -> None:
    window = picture.window
    for step in trace.steps:
        if step.event.end > window.start and step.start < window.end:
            x, end = _scale(picture, step.start), _scale(picture, step.event.end)
            picture.bands.append(Band(step.number, x, end - x))


def _draw_ticks(picture: Layout) -> None:
    style, window = picture.style, picture.window
    least = text_width("0000 µs", style.font) * 1.5
    step = _nice(window.dur * least / (picture.width - 2 * style.side))
    unit, name = (1_000_000, "ms") if window.dur >= 10_000_000 else (1_000, "µs")
    taken = -1.0
    for ns in range(0, window.dur + 1, step):
        x = _scale(picture, window.start + ns)
        label = f"{ns / unit:.12g} {name}"
        half = text_width(label, style.font) / 2
        centre = max(x, half) if ns == 0 else x
        if centre - half < taken or centre + half > picture.width:
            label = ""
        else:
            taken = centre + half + style.pad
        picture.ticks.append(Tick(x, label, centre))


def _nice(at_least: float) -> int:
    """The smallest 1, 2 or 5 times a power of ten that is no less, in ns."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power >= at_least:
                return factor * power
        power *= 10
