"""Labels of bars: each stands in its bar or beside it, inside the room it has, and no two overlap."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from kinetoscope.draw.geometry import Label
from kinetoscope.draw.names import forms
from kinetoscope.draw.text_metrics import TELLING, fit, text_width
from kinetoscope.measure.printing import format_time

if TYPE_CHECKING:
    from kinetoscope.draw.geometry import Bar, Layout, Style


def write_labels(picture: Layout) -> None:
    """Give each bar the name and the time there is room for."""
    rows: dict[tuple[int, int], list[Bar]] = {}
    for bar in picture.bars:
        rows.setdefault((bar.lane, bar.row), []).append(bar)
    for (lane, _), row in sorted(rows.items()):
        # Launch arrows cross the rows of the CPU on their way down.
        bottom = row[0].y + row[0].h
        on_gpu = picture.lanes[lane].id.on_gpu
        stems = [] if on_gpu else sorted({arrow.x1 for arrow in picture.arrows if arrow.y1 <= bottom})
        taken = picture.style.side
        for i, bar in enumerate(row):
            # A faded bar is only context, and merged events have no common name: their tooltip says more.
            if not bar.faded and not bar.merged and bar.h >= picture.style.font:
                free = row[i + 1].x if i + 1 < len(row) else picture.width - picture.style.side
                next_stem = bisect_left(stems, bar.x + bar.w)
                if next_stem < len(stems):
                    free = min(free, stems[next_stem])
                bar.label = _label(picture, bar, taken, free)
            taken = max(bar.x + bar.w, bar.label.end if bar.label else 0)


def _label(picture: Layout, bar: Bar, taken: float, free: float) -> Label | None:
    """The best label for ``bar``.  Its row is taken up to one x, and free from the bar up to the other."""
    style, event = picture.style, bar.event
    room = bar.w - 2 * style.pad
    # In a comparison a sign before the name says what became of the event.
    sign = f"{bar.sign} " if bar.sign else ""
    lead = text_width(sign, style.font)
    name = fit(event.name, event.kind, room - lead, style.font)
    inside = None
    if name:
        time = _time_if(room, f"{sign}{name}", event.dur, style)
        inside = Label(f"{sign}{name}", time, bar.x + style.pad, bar.x + bar.w - style.pad, "inside")
    elif sign and (width := text_width(bar.sign, style.font)) <= bar.w:
        inside = Label(bar.sign, "", bar.x + (bar.w - width) / 2, bar.x + bar.w, "inside")
    if name in forms(event.name, event.kind) or len(name) > TELLING:
        return inside
    # The picture is about kernels of a few µs, and their bars are narrow: a name may stand beside its bar.
    on_gpu = picture.lanes[bar.lane].id.on_gpu
    right, left = bar.x + bar.w + style.pad, bar.x - style.pad
    sides = [_beside(bar, right, free - style.pad, "right", style, on_gpu)]
    if on_gpu:
        sides.append(_beside(bar, taken + style.pad, left, "left", style, on_gpu))
    best = max((side for side in sides if side), key=lambda side: len(side.name), default=None)
    return best if best and len(best.name) > len(sign + name) else inside


def _beside(bar: Bar, start: float, end: float, place: str, style: Style, cut: bool) -> Label | None:
    """A label between two x beside the bar, or None where its name does not fit; ``cut``: it may be cut."""
    sign = f"{bar.sign} " if bar.sign else ""
    event = bar.event
    name = fit(event.name, event.kind, end - start - text_width(sign, style.font), style.font)
    if not name or not (name in forms(event.name, event.kind) or (cut and len(name) > TELLING)):
        return None
    name = f"{sign}{name}"
    time = _time_if(end - start, name, event.dur, style)
    width = text_width(f"{name}  {time}" if time else name, style.font)
    return Label(name, time, *((end - width, end) if place == "left" else (start, start + width)), place)


def _time_if(room: float, name: str, dur: int, style: Style) -> str:
    """The bar's time, if it fits into ``room`` after the name; otherwise empty."""
    time = format_time(dur)
    return time if text_width(f"{name}  {time}", style.font) + style.pad <= room else ""
