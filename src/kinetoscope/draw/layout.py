"""Where everything in a timeline goes: pure geometry, the same for the page and for paper.

:func:`lay_out` decides, ``svg`` and ``paper`` draw.  Lengths are px of the finished picture, times ns.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kinetoscope.draw import window as windows
from kinetoscope.draw.geometry import NARROW, WIDE, Arrow, Band, Bar, Lane, Layout, Style, Tick
from kinetoscope.draw.label import write_labels
from kinetoscope.draw.palette import kind_class
from kinetoscope.draw.rows import lane_rows
from kinetoscope.draw.text_metrics import text_width, truncate
from kinetoscope.measure.selection import matches

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kinetoscope.draw.rows import LaneRows
    from kinetoscope.draw.window import Steps, Window
    from kinetoscope.measure.compare import Change
    from kinetoscope.trace.events import Event, Trace


def lay_out(
    trace: Trace,
    *,
    width: float,
    steps: Steps = None,
    zoom: str | None = None,
    highlight: Sequence[str] = (),
    python: bool = False,
    at_least: int = 0,
    changes: Mapping[int, Change] | None = None,
    style: Style | None = None,
) -> Layout:
    """Lay ``trace`` out ``width`` px wide.

    ``steps`` is one number, several, ``"all"`` for the whole trace, or None for one typical step;
    ``zoom`` the pattern of an op (the first that matches within the steps) whose span, with what it
    launched, becomes the window; ``highlight`` patterns of names to mark; ``python`` adds Python
    frames; ``at_least`` ns are shown even if the step is shorter, so that two traces can be drawn on
    one scale; ``changes`` is what became of events in the other of them, by an event's index.  Patterns
    know ``*`` and ``?``.

    Raises :class:`~kinetoscope.draw.window.LayoutError` for a step or a ``zoom`` that is not there.
    """
    style = style or (NARROW if width < 480 else WIDE)
    events = windows.drawable(trace, python=python)
    window = windows.choose(trace, steps, zoom, events)
    if window.dur < at_least:
        window = replace(window, end=window.start + at_least)
    picture = Layout(width, 0, window, style)
    y = _place_lanes(picture, lane_rows(trace, events))
    if not picture.lanes:
        picture.note = "Nothing was recorded."
        picture.height = 4 * style.font
        return picture
    _mark(picture, highlight, changes or {})
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


def _place_lanes(picture: Layout, lanes: list[LaneRows]) -> float:
    """Add the lanes that are seen, and their bars, top to bottom; return the y below the last lane."""
    style, window, y = picture.style, picture.window, 2.0
    for whole in lanes:
        seen = [pair for pair in zip(whole.events, whole.rows, strict=True) if _is_seen(pair[0], window)]
        if not seen:
            continue
        if whole.id.on_gpu and picture.lanes and not picture.lanes[-1].id.on_gpu:
            y += style.fan - style.between
        heading = y + style.heading - 5
        top = y + style.heading
        count = max(row for _, row in seen) + 1
        height = count * style.row - style.gap
        label = whole.label if picture.width >= 480 else whole.brief
        label = truncate(label, picture.width - 2 * style.side, style.font)
        picture.lanes.append(Lane(whole.id, label, top, height, count, heading))
        _add_bars(picture, len(picture.lanes) - 1, seen)
        y = top + height + style.between
    return y


def _is_seen(event: Event, window: Window) -> bool:
    return event.start < window.end and (event.end > window.start or event.start == window.start)


def _add_bars(picture: Layout, lane: int, seen: list[tuple[Event, int]]) -> None:
    style, window = picture.style, picture.window
    belongs = _belonging(window)
    right = picture.width - style.side
    last: dict[int, Bar] = {}
    for event, row in sorted(seen, key=lambda pair: (pair[0].start, pair[1])):
        x, end = _scale(picture, event.start), _scale(picture, event.end)
        faded = not belongs(event)
        kind = kind_class(event)
        before = last.get(row)
        tiny = end - x < 1
        same = before is not None and before.w <= style.least and before.kind == kind
        # Where kinds take turns a bar may hold several: else each would push the next one further away.
        if before and tiny and x < before.x + before.w and (same or x < before.x + before.w - 1):
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


def _mark(picture: Layout, patterns: Sequence[str], changes: Mapping[int, Change]) -> None:
    for bar in picture.bars:
        events = [bar.event, *bar.merged]
        bar.highlighted = any(matches(event.name, pattern) for event in events for pattern in patterns)
        bar.changes = tuple(dict.fromkeys(changes[e.index] for e in events if e.index in changes))


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
