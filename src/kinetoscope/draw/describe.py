"""A timeline in words, computed from the trace: what a reader who does not see it hears."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kinetoscope.draw.changes import SAID
from kinetoscope.draw.names import short_name
from kinetoscope.measure.printing import brief_time
from kinetoscope.trace.events import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kinetoscope.draw.geometry import Layout
    from kinetoscope.trace.events import Event, Trace

_WORDS = "no one two three four five six seven eight nine ten eleven twelve".split()
_MOST = 4
"""Names listed before the rest are only counted"""


def describe(trace: Trace, layout: Layout) -> str:
    """The picture in one sentence or two.

    For example: "One step of three: the CPU lane shows aten::linear, 51 µs, holding aten::t and
    aten::addmm; the stream shows one kernel, 2.7 µs, starting 9 µs after its launch."
    """
    if layout.note:
        return layout.note
    shown = [event for bar in layout.bars if not bar.faded for event in (bar.event, *bar.merged)]
    gpu = [event for event in shown if event.kind.on_gpu]
    parts = [_cpu(layout, shown), _gpu(gpu, len({event.lane for event in gpu}))]
    text = f"{_scope(trace, layout)}: {'; '.join(part for part in parts if part)}."
    return " ".join(part for part in (text, _highlighted(layout), _changes(layout)) if part)


def _highlighted(layout: Layout) -> str:
    """What the figure points out."""
    bars = [bar for bar in layout.bars if bar.highlighted and not bar.faded]
    marked = [event for bar in bars for event in (bar.event, *bar.merged)]
    counts = Counter(_name(event) for event in marked)
    parts = [name if count == 1 else count_word(count, name, name) for name, count in counts.items()]
    if len(parts) > _MOST:
        parts = [*parts[:_MOST], count_word(len(parts) - _MOST, "more name")]
    return f"Highlighted: {_listing(parts)}." if parts else ""


def _changes(layout: Layout) -> str:
    """What became of the events in the trace that this one is compared with."""
    bars = [bar for bar in layout.bars if not bar.faded and bar.changes]
    counts = Counter(change for bar in bars for change in bar.changes)
    parts = [f"{count_word(counts[change], 'bar')} {said}" for change, said in SAID.items() if counts[change]]
    return f"Against the other trace: {_listing(parts)}." if parts else ""


def headline(trace: Trace, layout: Layout) -> str:
    """A title for the picture: what it covers and how long that is."""
    window = layout.window
    # On one scale with a longer one a figure shows more than its step.
    last = max((step.end for step in window.steps), default=window.end)
    dur = window.dur if window.zoom is not None else min(window.dur, last - window.start)
    return layout.note or f"{_scope(trace, layout)}, {brief_time(dur)}"


def count_word(number: int, noun: str, plural: str | None = None) -> str:
    """``number`` of a thing, small numbers as words.

    >>> count_word(1, "kernel"), count_word(3, "copy", "copies"), count_word(40, "op")
    ('one kernel', 'three copies', '40 ops')
    """
    word = _WORDS[number] if number < len(_WORDS) else str(number)
    return f"{word} {noun if number == 1 else plural or noun + 's'}"


def _scope(trace: Trace, layout: Layout) -> str:
    window = layout.window
    steps, there = len(window.steps), len(trace.steps)
    if window.zoom is not None:
        at = f" in step {window.steps[0].number}" if window.steps else ""
        return f"{short_name(window.zoom.name)}{at}, enlarged"
    if not steps:
        return f"The whole trace, {count_word(there, 'step')}" if there else "The whole trace"
    if steps == 1 and there == 1:
        return "The one step of the trace"
    words = f"{_WORDS[steps] if steps < len(_WORDS) else steps} {'step' if steps == 1 else 'steps'}"
    return f"{words.capitalize()} of {_WORDS[there] if there < len(_WORDS) else there}"


def _cpu(layout: Layout, shown: Sequence[Event]) -> str:
    ops = [event for event in shown if event.kind is Kind.OP]
    inside = {id(event) for event in ops}
    outer = [op for op in ops if not _above(op, inside)]
    if layout.window.zoom is not None and layout.window.zoom in ops:
        outer = [layout.window.zoom]
    lanes = sum(not lane.id.on_gpu for lane in layout.lanes)
    place = "the CPU lane shows" if lanes == 1 else f"the {count_word(lanes, 'CPU lane')} show"
    if not outer:
        return f"{place} no op" if lanes else ""
    if len(outer) > 1:
        groups: dict[str, list[Event]] = {}
        for op in outer:
            groups.setdefault(_name(op), []).append(op)
        # The one that most of the time is spent in is worth a look inside.
        longest = max(outer, key=lambda op: op.dur)
        inside_of = _holding(longest) if 2 * longest.dur > sum(op.dur for op in outer) else ""
        listed = [
            _group(name, group, inside_of if longest in group else "")
            for name, group in list(groups.items())[:_MOST]
        ]
        if left := sum(len(group) for group in list(groups.values())[_MOST:]):
            listed.append(count_word(left, "more op"))
        return f"{place} {_listing(listed)}"
    holding = _holding(outer[0])
    return f"{place} {_name(outer[0])}, {brief_time(outer[0].dur)}{f', {holding}' if holding else ''}"


def _group(name: str, group: Sequence[Event], holding: str) -> str:
    """Ops of one name: ``aten::mul (11 µs)``, ``three aten::linear (116 µs in all)``."""
    time = brief_time(sum(op.dur for op in group))
    if len(group) > 1:
        return f"{count_word(len(group), name, name)} ({time} in all)"
    return f"{name} ({time}{f', {holding}' if holding else ''})"


def _holding(op: Event) -> str:
    """The ops directly in an op, whatever ranges lie between, each name once."""
    found: list[str] = []
    inside = list(op.children)
    while inside:
        child = inside.pop(0)
        if child.kind is Kind.OP:
            found.append(_name(child))
        else:
            inside = [*child.children, *inside]
    below = list(dict.fromkeys(found))
    if len(below) > _MOST:
        below = [*below[:_MOST], count_word(len(below) - _MOST, "more", "more")]
    return f"holding {_listing(below)}" if below else ""


def _above(event: Event, among: set[int]) -> bool:
    at = event.parent
    while at is not None:
        if id(at) in among:
            return True
        at = at.parent
    return False


def _gpu(activities: Sequence[Event], streams: int) -> str:
    if not activities:
        return "nothing ran on the GPU"
    kernels = [a for a in activities if a.kind is Kind.KERNEL]
    copies, sets = (sum(a.kind is kind for a in activities) for kind in (Kind.MEMCPY, Kind.MEMSET))
    counts = [count_word(len(kernels), "kernel")] if kernels else []
    counts += [count_word(copies, "copy", "copies")] if copies else []
    counts += [count_word(sets, "memset")] if sets else []
    place = "the stream shows" if streams == 1 else f"the {count_word(streams, 'stream')} show"
    total = brief_time(sum(a.dur for a in activities))
    text = f"{place} {_listing(counts)}, {total}{'' if len(activities) == 1 else ' in all'}"
    if len(kernels) > 1:
        longest = max(kernels, key=lambda kernel: kernel.dur)
        text += f", the longest {_name(longest)}, {brief_time(longest.dur)}"
    delay = activities[0].launch_delay
    if delay is not None:
        whose = "starting" if len(activities) == 1 else "the first starting"
        text += f", {whose} {brief_time(delay)} after its launch"
    return text


def _name(event: Event) -> str:
    """Short enough to be read aloud."""
    name = short_name(event.name)
    return name if len(name) <= 60 else name[:57] + "…"


def _listing(parts: Sequence[str]) -> str:
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
