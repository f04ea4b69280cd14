"""A timeline and its events in words, computed from the trace."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from kinetoscope.draw.names import clean, short_name
from kinetoscope.draw.palette import CHANGE_LABELS
from kinetoscope.measure.presence import GPU, has
from kinetoscope.measure.printing import brief_time
from kinetoscope.trace import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kinetoscope.draw.geometry import Layout
    from kinetoscope.trace import Event, LaneId, Trace

_WORDS = "no one two three four five six seven eight nine ten eleven twelve".split()
_ACTIVITIES = {Kind.KERNEL: ("kernel",), Kind.MEMCPY: ("copy", "copies"), Kind.MEMSET: ("memset",)}
"""What runs on a GPU: the noun, and its plural if that is irregular"""
_MOST = 4
"""How many names are listed before the rest is only counted"""


# --- a timeline ---------------------------------------------------------------------------------------------


def describe(trace: Trace, layout: Layout) -> str:
    """Describe the picture in a sentence or two, for readers who do not see it.

    For example: "One step of three: the CPU lane shows aten::linear, 51 µs, holding aten::t and
    aten::addmm; the stream shows one kernel, 2.7 µs, starting 9 µs after its launch."
    """
    if layout.note:
        return layout.note
    shown = [event for bar in layout.bars if not bar.faded for event in bar.events]
    gpu = [event for event in shown if event.kind.on_gpu]
    unmeasured = "the GPU was not measured"
    parts = [
        _cpu(layout, shown),
        unmeasured if not has(trace, GPU) else _gpu(gpu, len({event.lane for event in gpu})),
    ]
    text = f"{_scope(trace, layout)}: {'; '.join(part for part in parts if part)}."
    return " ".join(part for part in (text, _highlighted(layout), _changes(layout)) if part)


def _highlighted(layout: Layout) -> str:
    """Say which events the figure highlights."""
    bars = [bar for bar in layout.bars if bar.highlighted and not bar.faded]
    marked = [event for bar in bars for event in bar.events]
    counts = Counter(_name(event) for event in marked)
    parts = [name if count == 1 else count_word(count, name, name) for name, count in counts.items()]
    if len(parts) > _MOST:
        parts = [*parts[:_MOST], count_word(len(parts) - _MOST, "more name")]
    return f"Highlighted: {_listing(parts)}." if parts else ""


def _changes(layout: Layout) -> str:
    """Say what became of the events in the trace that this one is compared with."""
    bars = [bar for bar in layout.bars if not bar.faded and bar.changes]
    counts = Counter(change for bar in bars for change in bar.changes)
    parts = [
        f"{count_word(counts[change], 'bar')} {label}"
        for change, label in CHANGE_LABELS.items()
        if counts[change]
    ]
    return f"Against the other trace: {_listing(parts)}." if parts else ""


def headline(trace: Trace, layout: Layout) -> str:
    """Return a title for the picture: what it covers and how long that is."""
    window = layout.window
    # A figure on one scale with a longer one shows more than its step.
    last = max((step.end for step in window.steps), default=window.end)
    dur = window.dur if window.zoom is not None else min(window.dur, last - window.start)
    return layout.note or f"{_scope(trace, layout)}, {brief_time(dur)}"


def count_word(number: int, noun: str, plural: str | None = None) -> str:
    """Write a number and what it counts, with small numbers as words.

    >>> count_word(1, "kernel"), count_word(3, "copy", "copies"), count_word(40, "op")
    ('one kernel', 'three copies', '40 ops')
    """
    return f"{_number_word(number)} {noun if number == 1 else plural or noun + 's'}"


def _number_word(number: int) -> str:
    return _WORDS[number] if number < len(_WORDS) else str(number)


def _scope(trace: Trace, layout: Layout) -> str:
    window = layout.window
    steps, there = len(window.steps), len(trace.steps)
    if window.zoom is not None:
        at = f" in step {window.steps[0].number}" if window.steps else ""
        return f"{short_name(window.zoom.name, window.zoom.kind)}{at}, enlarged"
    if not steps:
        return f"The whole trace, {count_word(there, 'step')}" if there else "The whole trace"
    if steps == 1 and there == 1:
        return "The one step of the trace"
    return f"{count_word(steps, 'step').capitalize()} of {_number_word(there)}"


def _cpu(layout: Layout, shown: Sequence[Event]) -> str:
    ops = [event for event in shown if event.kind is Kind.OP]
    ids = {id(op) for op in ops}
    outer = [op for op in ops if not any(id(above) in ids for above in op.above())]
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
        # If one op takes most of the time, say what is inside it.
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
    """Write ops of one name: ``aten::mul (11 µs)``, ``three aten::linear (116 µs in all)``."""
    time = brief_time(sum(op.dur for op in group))
    if len(group) > 1:
        return f"{count_word(len(group), name, name)} ({time} in all)"
    return f"{name} ({time}{f', {holding}' if holding else ''})"


def _holding(op: Event) -> str:
    """Name the ops directly inside an op, each once; ranges between them and the op do not count."""
    names: list[str] = []
    inside = list(op.children)
    while inside:
        child = inside.pop(0)
        if child.kind is Kind.OP:
            names.append(_name(child))
        else:
            inside = [*child.children, *inside]
    below = list(dict.fromkeys(names))
    if len(below) > _MOST:
        below = [*below[:_MOST], count_word(len(below) - _MOST, "more", "more")]
    return f"holding {_listing(below)}" if below else ""


def _gpu(activities: Sequence[Event], streams: int) -> str:
    if not activities:
        return "nothing ran on the GPU"
    kernels = [a for a in activities if a.kind is Kind.KERNEL]
    counts = [
        count_word(number, *nouns)
        for kind, nouns in _ACTIVITIES.items()
        if (number := sum(a.kind is kind for a in activities))
    ]
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
    """Return a name that is short enough to be read aloud."""
    name = short_name(event.name, event.kind)
    return name if len(name) <= 60 else name[:57] + "…"


def _listing(parts: Sequence[str]) -> str:
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


# --- an event -----------------------------------------------------------------------------------------------

Facts = tuple[tuple[str, str], ...]
"""Labels and values, in reading order"""

_LONGEST = 240
"""Characters of a value; of an op's two hundred input tensors this shows the first few"""


def facts(event: Event, device_names: Mapping[int, str]) -> Facts:
    """Return what a trace says about an event besides its name and times; empty if it says nothing.

    That is how a kernel was launched, how much a copy moved, what an op was given.  ``device_names`` maps a
    device's number to the GPU's name.  The keys are those that Kineto writes into ``args``
    (``libkineto/src/output_json.cpp``), for ops those of torch (``torch/csrc/profiler/collection.cpp``).
    """
    return facts_of(event.kind, event.lane, event.dur, event.args, device_names)


def tells_facts(kind: Kind) -> bool:
    """Return whether :func:`facts_of` may have something to say of the events of a kind that is drawn."""
    return kind.on_gpu or kind is Kind.OP


def facts_of(
    kind: Kind, lane: LaneId, dur: int, args: Mapping[str, Any], device_names: Mapping[int, str]
) -> Facts:
    """As :func:`facts`, of an event's fields; ``dur`` is ns."""
    if kind is Kind.KERNEL:
        pairs = _kernel_facts(args)
    elif kind.on_gpu:
        pairs = _copy_facts(args, dur)
    elif kind is Kind.OP:
        pairs = _op_facts(args)
    else:
        pairs = []
    if lane.stream is not None:
        pairs.append(("stream", str(lane.stream)))
    device = lane.device if kind.on_gpu else None
    if device is not None:
        name = device_names.get(device)
        pairs.append(("device", f"{device}, {name}" if name else str(device)))
    return tuple((label, _cut(clean(value))) for label, value in pairs)


def _kernel_facts(args: Mapping[str, Any]) -> list[tuple[str, str]]:
    pairs = []
    for key in ("grid", "block"):
        value = args.get(key)
        if isinstance(value, list | tuple):
            pairs.append((key, " × ".join(str(part) for part in value)))
    known = (
        ("registers per thread", "registers", "a thread"),
        ("shared memory", "shared memory", "B a block"),
        ("blocks per SM", "blocks", "per SM"),
        ("warps per SM", "warps", "per SM"),
        ("est. achieved occupancy %", "occupancy", "%, the profiler's estimate"),
    )
    return pairs + [
        (label, f"{_short(args[key])} {of}") for key, label, of in known if args.get(key) is not None
    ]


def _copy_facts(args: Mapping[str, Any], dur: int) -> list[tuple[str, str]]:
    size, rate = args.get("bytes"), args.get("memory bandwidth (GB/s)")
    if size is None or not _is_number(size):
        return []
    pairs = [("bytes", f"{size} B")]
    if not _is_number(rate):
        # A byte per ns is a GB per s.
        rate = float(size) / dur if dur else None
    return pairs if rate is None else [*pairs, ("bandwidth", f"{_short(rate)} GB/s")]


def _op_facts(args: Mapping[str, Any]) -> list[tuple[str, str]]:
    dims, strides, types = (_list(args.get(key)) for key in ("Input Dims", "Input Strides", "Input type"))
    tensors = [i for i, shape in enumerate(dims) if shape]
    pairs = []
    for label, values in (("shapes", dims), ("strides", strides), ("dtypes", types)):
        # Each of the three lists the same inputs in the same order, so that they can be read together.
        written = [_plain(values[i]) for i in tensors if i < len(values)]
        if any(written):
            pairs.append((label, ", ".join(written)))
    given = [str(value) for value in _list(args.get("Concrete Inputs")) if value not in ("", None)]
    if given:
        pairs.append(("other inputs", ", ".join(given)))
    if args.get("kernel_backend"):
        pairs.append(("backend", str(args["kernel_backend"])))
        if args.get("kernel_kwargs"):
            pairs.append(("kernel arguments", str(args["kernel_kwargs"])))
        for key, label in (("num_warps", "warps"), ("num_stages", "stages")):
            if args.get(key) is not None:
                pairs.append((label, str(args[key])))
    return pairs


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _plain(value: Any) -> str:
    return str(value).removeprefix("c10::")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _short(value: Any) -> str:
    """Write a number to four digits; leave anything else that a profiler wrote in its place as it is."""
    if not _is_number(value):
        return str(value)
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:.0f}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
