"""A ladder: one step of each of several traces on one time scale, drawn as strips.

A strip has two lanes: what the CPU did, and what the GPU ran.  It holds no text, and its lengths are shares
of its width, so that one drawing serves every width.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from kinetoscope.draw.figure import legend_html
from kinetoscope.draw.layout import nice, typical_step
from kinetoscope.draw.palette import KIND_LABELS, kind_class
from kinetoscope.measure.printing import NS, UNITS
from kinetoscope.trace import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kinetoscope.trace import Event, Trace

HEIGHT = 34.0
"""Height of a strip, in px"""
CPU_TOP, CPU_HEIGHT = 3.0, 8.0
GPU_TOP, GPU_HEIGHT = 16.0, 15.0
_LEAST = 0.003
"""Width of the shortest event, as a share of the strip's"""


@dataclass(frozen=True, slots=True)
class Mark:
    """One bar of a strip."""

    kind: str
    """Key of :attr:`kinetoscope.draw.palette.Theme.kinds`"""
    on_gpu: bool
    start: int
    """ns after the step began"""
    end: int
    """ns after the step began"""
    faded: bool = False
    """Whether it is work of another step, which this one waited for"""


@dataclass(frozen=True, slots=True)
class Strip:
    """One step of a trace."""

    name: str
    marks: tuple[Mark, ...]
    cpu_end: int
    """When the CPU was done with the step, in ns after it began"""
    end: int
    """When all work of the step was done, in ns after it began"""


def strip(trace: Trace, name: str) -> Strip:
    """Make the strip of a typical step of ``trace``, or of all of a trace without steps."""
    if trace.steps:
        step = typical_step(trace.steps)
        begin, cpu_end, end = step.start, step.event.end, step.end
        own = {id(event) for event in step.gpu}
    else:
        begin = min((event.start for event in trace.events), default=0)
        cpu_end = end = max((event.end for event in trace.events), default=begin)
        own = {id(event) for event in trace.events}

    def mark(event: Event, *, faded: bool = False) -> Mark:
        start, stop = max(event.start, begin), min(event.end, end)
        return Mark(kind_class(event), event.kind.on_gpu, start - begin, stop - begin, faded)

    shown = [event for event in trace.events if event.end > begin and event.start < end]
    outer = [e for e in shown if e.kind is Kind.OP and all(a.kind is not Kind.OP for a in e.above())]
    ops = [mark(e) for e in outer if e.start < cpu_end]
    # This leaves out the wait at the very end of a recording, which the profiler causes.
    calls = [mark(e) for e in shown if e.kind is Kind.CALL and begin <= e.start < cpu_end]
    gpu = [
        mark(e, faded=id(e) not in own) for e in shown if e.kind in (Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET)
    ]
    return Strip(name, (*ops, *calls, *gpu), cpu_end - begin, end - begin)


@dataclass(frozen=True, slots=True)
class Scale:
    """The time that all strips of a ladder share."""

    length: int
    """ns"""
    ticks: tuple[tuple[float, str], ...]
    """Where each stands, as a share of the length, and its label"""


def common_scale(strips: Iterable[Strip]) -> Scale:
    """Make the scale from 0 to the end of the longest strip, with four to seven ticks."""
    length = max((each.end for each in strips), default=0) or 1
    step = nice(length / 7)
    unit = [NS, *(unit for unit in UNITS.values() if length >= 2 * unit.ns)][-1]
    ticks = tuple(
        (at / length, f"{at / unit.ns:g} {unit.name}" if at else "0") for at in range(0, length + 1, step)
    )
    return Scale(length, ticks)


def strip_svg(strip: Strip, scale: Scale, *, label: str) -> str:
    """Draw the strip as one ``<svg>`` as wide as its place; screen readers read ``label`` (plain text)."""
    bottom = f"{HEIGHT:g}"
    size, track = f'width="100%" height="{bottom}"', f'y="{GPU_TOP:g}" height="{GPU_HEIGHT:g}"'
    out = [
        f'<svg class="ks-strip" role="img" aria-label="{escape(label, quote=True)}" {size}>',
        f'<rect class="ks-band" x="0" y="0" width="{_p(strip.cpu_end / scale.length)}" height="{bottom}"/>',
        f'<rect class="ks-idle" x="0" {track} width="{_p(strip.end / scale.length)}"/>',
    ]
    out += [
        f'<line class="ks-grid" x1="{_p(at)}" x2="{_p(at)}" y1="0" y2="{bottom}"/>' for at, _ in scale.ticks
    ]
    for mark in strip.marks:
        top, high = (GPU_TOP, GPU_HEIGHT) if mark.on_gpu else (CPU_TOP, CPU_HEIGHT)
        wide = max((mark.end - mark.start) / scale.length, _LEAST)
        faded = " ks-faded" if mark.faded else ""
        out.append(
            f'<rect class="ks-mark ks-{mark.kind}{faded}" x="{_p(mark.start / scale.length)}" y="{top:g}"'
            f' width="{_p(wide)}" height="{high:g}" rx="1"/>'
        )
    return "\n".join([*out, "</svg>"])


def axis_html(scale: Scale) -> str:
    """Return the labels of the ticks, to stand below the strips."""
    # A label so far right would reach beyond the end.
    labels = "".join(
        f'<span style="left: {_p(at)}">{escape(text)}</span>' for at, text in scale.ticks if at < 0.97
    )
    return f'<div class="ks-ladder-axis" aria-hidden="true">{labels}</div>'


def ladder_legend(strips: Sequence[Strip]) -> str:
    """Return a list of the kinds of bars that are in the strips."""
    present = {mark.kind for each in strips for mark in each.marks}
    entries = [(f"ks-{kind}", label) for kind, label in KIND_LABELS.items() if kind in present]
    entries.append(("ks-idle", "stream idle"))
    if any(mark.faded for each in strips for mark in each.marks):
        entries.append(("ks-faded", "work of the step before"))
    return legend_html(entries)


def _p(share: float) -> str:
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + "%"
