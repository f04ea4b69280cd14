"""Decide what a timeline shows of a trace and where it goes, whether it is drawn as SVG or by matplotlib.

:class:`TimelineOptions` holds what a caller can ask for and :func:`lay_out` places it.  ``figure`` and
``matplotlib_backend`` draw the result.  Lengths are px of the finished picture, times are ns.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from kinetoscope.draw.geometry import NARROW, WIDE, Arrow, Band, Bar, Lane, Layout, Style, Tick, Window
from kinetoscope.draw.label import write_labels
from kinetoscope.draw.palette import kind_class
from kinetoscope.draw.text_metrics import text_width, truncate
from kinetoscope.measure.selection import matches
from kinetoscope.trace import Kind
from kinetoscope.trace.columns import by_lane, distinct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from kinetoscope.measure.compare import Change
    from kinetoscope.trace import Event, LaneId, Step, Trace
    from kinetoscope.trace.columns import Columns

StepChoice: TypeAlias = "int | tuple[int, ...] | Literal['all'] | None"
"""A step's number, several numbers, the whole trace, or (None) one typical step"""

DRAWN = frozenset({Kind.OP, Kind.ANNOTATION, Kind.CALL, Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET})
"""Kinds of events that get a bar"""

MOST_ROWS = 200
"""Rows of a lane.  No real trace comes near; a picture of many thousands is too tall for any browser."""


class LayoutError(ValueError):
    """The trace does not have what was asked for; the message says what it has."""


@dataclass(frozen=True, slots=True)
class TimelineOptions:
    """What a timeline shows of a trace, and what it points out.  Patterns know ``*`` and ``?``."""

    steps: StepChoice = None
    zoom: str | None = None
    """Pattern of an op.  The window becomes the span of the first match and of the work it launched;
    a match within ``steps`` comes before one elsewhere."""
    highlight: Sequence[str] = ()
    """Patterns of names to mark"""
    at_least: int = 0
    """ns that the window covers even if the step is shorter, to draw two traces on one scale"""
    changes: Mapping[int, Change] | None = None
    """What became of events in the trace that this one is compared with, by an event's index"""


# --- what is shown ------------------------------------------------------------------------------------------


def drawable(trace: Trace) -> list[Event]:
    """Return the events that get bars, in the trace's order; what has no right time has no place."""
    return [trace.events[at] for at in drawn_at(trace.columns).tolist()]


def drawn_at(columns: Columns) -> NDArray[np.intp]:
    """Return the positions of the events that get bars."""
    at = columns.where(*DRAWN)
    return at[~columns.wrong[at]]


def typical_step(steps: list[Step]) -> Step:
    """Return the step of median length, so that a figure shows the step that the numbers describe.

    Of an even number of steps, take the shorter of the middle two: the figure shows a step that happened.
    """
    by_length = sorted(steps, key=lambda step: (step.end - step.start, step.number))
    return by_length[(len(by_length) - 1) // 2]


def choose_window(trace: Trace, options: TimelineOptions) -> Window:
    """Return the span of the trace that these options ask for.

    Raises :class:`LayoutError` for a step that is not there and a ``zoom`` that matches no op.
    """
    steps = _chosen_steps(trace, options.steps)
    if options.zoom is not None:
        window = _zoomed(trace, options.zoom, steps)
    else:
        ranges = [(step.start, step.end) for step in steps]
        if not ranges:
            drawn = drawn_at(trace.columns)
            start = int(trace.columns.start[drawn].min()) if len(drawn) else 0
            ranges = [(start, int(trace.columns.ends(drawn).max(initial=0)))]
        start, end = min(start for start, _ in ranges), max(end for _, end in ranges)
        window = Window(start, max(end, start + 1), steps)
    if window.dur < options.at_least:
        window = replace(window, end=window.start + options.at_least)
    return window


def _chosen_steps(trace: Trace, choice: StepChoice) -> tuple[Step, ...]:
    if choice == "all" or (choice is None and not trace.steps):
        return ()
    if choice is None:
        return (typical_step(trace.steps),)
    wanted = (choice,) if isinstance(choice, int) else choice
    numbers = {step.number: None for step in trace.steps}
    missing = [number for number in wanted if number not in numbers]
    if missing or not wanted:
        there = ", ".join(map(str, numbers)) or "none"
        asked = ", ".join(map(str, missing)) or "(nothing)"
        raise LayoutError(f"{trace.path}: no step {asked}; the trace has steps: {there}")
    # Several processes may have a step of one number.
    return tuple(sorted((s for s in trace.steps if s.number in wanted), key=lambda s: s.number))


def _zoomed(trace: Trace, pattern: str, chosen: tuple[Step, ...]) -> Window:
    named = [e for e in trace.of(Kind.OP, Kind.ANNOTATION, Kind.CALL) if matches(e.name, pattern)]
    inside = [e for e in named if any(s.start <= e.start < s.event.end for s in chosen)]
    if not named:
        raise LayoutError(f"{trace.path}: nothing is called {pattern!r}; {_names(trace.ops)}")
    event = (inside or named)[0]
    end = max([event.end, *(a.end for below in event.walk() for a in below.activities)])
    steps = chosen if inside else tuple(s for s in trace.steps if s.start <= event.start < s.event.end)
    return Window(event.start, max(end, event.start + 1), steps, event)


def _names(ops: Iterable[Event]) -> str:
    names = list(dict.fromkeys(op.name for op in ops))
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return f"the ops are {', '.join(names[:8])}{more}" if names else "the trace has no ops"


# --- lanes and rows -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LaneRows:
    """One lane, with every event on it that gets a bar: those of its first :data:`MOST_ROWS` rows."""

    id: LaneId
    label: str
    brief: str
    """The label without the GPU's name, for narrow pictures"""
    at: NDArray[np.intp]
    """(n) positions of the events in the trace's columns"""
    rows: NDArray[np.int32]
    """(n) the row of each event; 0 is the top one"""

    @property
    def count(self) -> int:
        """How many rows the lane has."""
        return int(self.rows.max()) + 1


def lane_rows(trace: Trace) -> list[LaneRows]:
    """Sort the events that get bars into lanes from top to bottom.

    These are of the whole trace even if only a part is shown: so an event stays on its row when a reader
    moves away from that part.
    """
    columns = trace.columns
    drawn = drawn_at(columns)
    inside = [drawn[there] for there in by_lane(columns, drawn)]
    stepped = {int(columns.lane[step.event]) for step in trace.steps_at}
    of_gpu = [columns.lanes[n] for n in distinct(columns.lane[columns.on_gpu]).tolist()]
    devices = len({lane.device for lane in of_gpu})
    numbers = [int(columns.lane[at[0]]) for at in inside]
    threads = sum(not columns.lanes[n].on_gpu for n in numbers)
    lanes = []
    for n, at in sorted(
        zip(numbers, inside, strict=True),
        key=lambda each: _lane_order(
            columns.lanes[each[0]], each[0] in stepped, int(columns.start[each[1][0]])
        ),
    ):
        lane = columns.lanes[n]
        rows = (_free_rows if lane.on_gpu else _nested_rows)(columns, at)
        gpu = trace.device_names.get(lane.device, "") if lane.device is not None else ""
        label, brief = (_lane_label(lane, threads, devices, name) for name in (gpu, ""))
        deep = rows >= MOST_ROWS
        if deep.any():
            at, rows = at[~deep], rows[~deep]
            left = f"{int(deep.sum())} below row {MOST_ROWS} not drawn"
            label, brief = (f"{each} · {left}" for each in (label, brief))
        lanes.append(LaneRows(lane, label, brief, at, rows))
    return lanes


def _lane_order(lane: LaneId, stepped: bool, first: int) -> tuple[int, int, int, int, int]:
    """Sort key: CPU threads first, and among them the one with the steps; then streams by number."""
    return (lane.on_gpu, not stepped, lane.device or 0, lane.stream or 0, first)


def _lane_label(lane: LaneId, threads: int, devices: int, name: str) -> str:
    if not lane.on_gpu:
        return f"CPU · thread {lane.tid}" if threads > 1 else "CPU"
    device = f"GPU {lane.device}" if devices > 1 else "GPU"
    return f"{device}{f' · {name}' if name else ''} · stream {lane.stream}"


def _nested_rows(columns: Columns, at: NDArray[np.intp]) -> NDArray[np.int32]:
    """Put each event of a thread below every event that has not ended when it starts; return the rows.

    This goes by time, not by :attr:`Event.parent`: ranges should not cross, but those that do stay apart.
    """
    order = np.lexsort((columns.index[at], -columns.dur[at], columns.start[at]))
    rows = []
    # Each event goes below all earlier ones here, so the last active one is the lowest.
    ends: list[int] = []
    lowest: list[int] = []
    for start, end in _spans(columns, at[order]):
        while ends and ends[-1] <= start:
            ends.pop()
            lowest.pop()
        rows.append(lowest[-1] + 1 if lowest else 0)
        ends.append(end)
        lowest.append(rows[-1])
    return _in_place(order, rows)


def _free_rows(columns: Columns, at: NDArray[np.intp]) -> NDArray[np.int32]:
    """Put each activity of a stream on the first free row, so that only an overlap opens a second one."""
    order = np.lexsort((columns.index[at], columns.start[at]))
    rows = []
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    for start, end in _spans(columns, at[order]):
        while busy and busy[0][0] <= start:
            heapq.heappush(free, heapq.heappop(busy)[1])
        rows.append(heapq.heappop(free) if free else len(busy))
        heapq.heappush(busy, (end, rows[-1]))
    return _in_place(order, rows)


def _spans(columns: Columns, at: NDArray[np.intp]) -> Iterator[tuple[int, int]]:
    return zip(columns.start[at].tolist(), columns.ends(at).tolist(), strict=True)


def _in_place(order: NDArray[np.intp], rows: list[int]) -> NDArray[np.int32]:
    placed = np.empty(len(order), np.int32)
    placed[order] = rows
    return placed


# --- geometry -----------------------------------------------------------------------------------------------


def lay_out(
    trace: Trace, options: TimelineOptions | None = None, *, width: float, style: Style | None = None
) -> Layout:
    """Lay ``trace`` out ``width`` px wide; ``style`` follows from the width if it is not given.

    Raises :class:`LayoutError` as :func:`choose_window` does.
    """
    options = options or TimelineOptions()
    style = style or (NARROW if width < 480 else WIDE)
    layout = Layout(width, 0, choose_window(trace, options), style)
    y = _place_lanes(layout, trace)
    if not layout.lanes:
        layout.note = "Nothing was recorded."
        layout.height = 4 * style.font
        return layout
    _mark(layout, options)
    _place_arrows(layout)
    # Only a bar of one event tells more than its names and times.
    trace.read_args(bar.event for bar in layout.bars if not bar.merged)
    write_labels(layout)
    _place_bands(layout, trace)
    _place_ticks(layout)
    layout.height = round(y + style.axis, 2)
    return layout


def _scale(layout: Layout, ns: int) -> float:
    """Return the x in px of a moment in ns, kept inside the picture."""
    room = layout.width - 2 * layout.style.side
    share = (ns - layout.window.start) / layout.window.dur
    return layout.style.side + room * min(1.0, max(0.0, share))


def _scales(layout: Layout, ns: NDArray[np.int64]) -> NDArray[np.float64]:
    """As :func:`_scale`, for (n) ns."""
    room = layout.width - 2 * layout.style.side
    x: NDArray[np.float64] = layout.style.side + room * np.clip(
        (ns - layout.window.start) / layout.window.dur, 0.0, 1.0
    )
    return x


def _place_lanes(layout: Layout, trace: Trace) -> float:
    """Add the lanes with anything in the window, and their bars; return the y below the last lane."""
    style, window, y = layout.style, layout.window, 2.0
    for whole in lane_rows(trace):
        start, end = trace.columns.start[whole.at], trace.columns.ends(whole.at)
        there = (start < window.end) & ((end > window.start) | (start == window.start))
        if not there.any():
            continue
        at, rows = whole.at[there], whole.rows[there]
        if whole.id.on_gpu and layout.lanes and not layout.lanes[-1].id.on_gpu:
            y += style.fan - style.between
        heading = y + style.heading - 5
        top = y + style.heading
        count = int(rows.max()) + 1
        height = count * style.row - style.gap
        label = whole.label if layout.width >= 480 else whole.brief
        label = truncate(label, layout.width - 2 * style.side, style.font)
        layout.lanes.append(Lane(whole.id, label, top, height, count, heading))
        _add_bars(layout, trace, at, rows)
        y = top + height + style.between
    return y


def _add_bars(layout: Layout, trace: Trace, at: NDArray[np.intp], rows: NDArray[np.int32]) -> None:
    """Add the bars of the last lane: of the events at positions ``at`` (n), on ``rows`` (n)."""
    style, columns, lane = layout.style, trace.columns, len(layout.lanes) - 1
    belongs = _belonging(layout.window)
    right = layout.width - style.side
    kinds: dict[tuple[int, int], str] = {}
    last: dict[int, Bar] = {}
    order = np.lexsort((rows, columns.start[at]))
    at = at[order]
    begins, ends = (_scales(layout, ns).tolist() for ns in (columns.start[at], columns.ends(at)))
    alike = zip(columns.kind[at].tolist(), columns.name[at].tolist(), strict=True)
    for place, like, row, x, end in zip(at.tolist(), alike, rows[order].tolist(), begins, ends, strict=True):
        event = trace.events[place]
        faded = not belongs(event)
        kind = kinds.get(like) or kinds.setdefault(like, kind_class(event))
        before = last.get(row)
        tiny = end - x < 1
        same = before is not None and before.w <= style.least and before.kind == kind
        # Where two kinds alternate, a bar may hold both: otherwise each would push the next further right.
        if before and tiny and x < before.x + before.w and (same or x < before.x + before.w - 1):
            before.merged.append(event)
            before.w = max(before.w, end - before.x)
            before.faded = before.faded and faded
            continue
        if before and x < before.x + before.w:  # the bar before was widened and reaches into this one
            x = min(before.x + before.w, right - style.least)
        w = max(end - x, style.least)
        x = min(x, right - w)
        y = layout.lanes[lane].y + row * style.row
        bar = Bar(event, kind, x, y, w, style.row - style.gap, row, lane, faded=faded)
        layout.bars.append(bar)
        last[row] = bar


def _belonging(window: Window) -> Callable[[Event], bool]:
    """Return a test of whether an event belongs to the steps shown; without steps, every event does."""
    launched = {id(activity) for step in window.steps for activity in step.gpu}
    ranges = [(step.start, step.event.end) for step in window.steps]

    def belongs(event: Event) -> bool:
        if not ranges:
            return True
        if event.kind.on_gpu:
            return id(event) in launched
        # An event that encloses a whole step, such as a range around the loop, belongs to it too.
        return any(a <= event.start < b or (event.start <= a and event.end >= b) for a, b in ranges)

    return belongs


def _mark(layout: Layout, options: TimelineOptions) -> None:
    """Set what the options highlight, and what became of each bar's events in the other trace."""
    changes = options.changes or {}
    for bar in layout.bars:
        events = bar.events
        bar.highlighted = any(matches(e.name, pattern) for e in events for pattern in options.highlight)
        bar.changes = tuple(dict.fromkeys(changes[e.index] for e in events if e.index in changes))


def _place_arrows(layout: Layout) -> None:
    cpu = [lane for lane in layout.lanes if not lane.id.on_gpu]
    if not cpu:
        return
    turn = max(lane.y + lane.height for lane in cpu) + 3
    bar_of = {id(event): bar for bar in layout.bars for event in bar.events if event.activities}
    drawn: set[tuple[int, int, int]] = set()
    for bar in layout.bars:
        for activity in bar.events:
            call = activity.launch
            start = None if call is None else bar_of.get(id(call))
            if call is None or start is None or call.start < layout.window.start:
                continue
            # From start to start, so that the arrow spans the launch delay and nothing else.
            place = (round(start.x), round(bar.x), round(bar.y))
            if place in drawn:
                continue
            drawn.add(place)
            x1, x2 = start.x + 0.75, bar.x + 0.75
            faded = bar.faded and start.faded
            level = min(bar.y, layout.lanes[bar.lane].y - layout.style.heading + 3)
            y1 = start.y + start.h
            layout.arrows.append(Arrow(call, activity, x1, y1, turn, level, x2, bar.y, faded))


def _place_bands(layout: Layout, trace: Trace) -> None:
    window = layout.window
    for step in trace.steps:
        if step.event.end > window.start and step.start < window.end:
            x, end = _scale(layout, step.start), _scale(layout, step.event.end)
            layout.bands.append(Band(step.number, x, end - x))


def _place_ticks(layout: Layout) -> None:
    style, window = layout.style, layout.window
    least = text_width("0000 µs", style.font) * 1.5
    step = nice(window.dur * least / (layout.width - 2 * style.side))
    unit, name = (1_000_000, "ms") if window.dur >= 10_000_000 else (1_000, "µs")
    taken = -1.0
    for ns in range(0, window.dur + 1, step):
        x = _scale(layout, window.start + ns)
        label = f"{ns / unit:.12g} {name}"
        half = text_width(label, style.font) / 2
        center = max(x, half) if ns == 0 else x
        if center - half < taken or center + half > layout.width:
            label = ""
        else:
            taken = center + half + style.pad
        layout.ticks.append(Tick(x, label, center))


def nice(at_least: float) -> int:
    """Return the smallest 1, 2 or 5 times a power of ten that is not below ``at_least``, in ns."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power >= at_least:
                return factor * power
        power *= 10
