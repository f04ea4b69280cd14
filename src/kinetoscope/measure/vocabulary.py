"""All that an expression may say.

``VOCABULARY`` is the evaluator's own table: what is not in it cannot be said, and the reference page
is made from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kinetoscope.measure import functions
from kinetoscope.measure.csvtable import CsvTable, TableRow
from kinetoscope.measure.idle_time import CAUSES
from kinetoscope.measure.selection import Selection, TraceView
from kinetoscope.measure.steps import KINDS


@dataclass(frozen=True, slots=True)
class Entry:
    """One word of the vocabulary."""

    signature: str
    what: str
    function: Callable[..., Any] | None = None
    """a function's implementation; None for attributes and operators"""
    owner: type | None = None
    """the type whose attribute or method it is; None for functions"""


_STEPS_NOTE = "the median over the recorded steps"


def _explained(words: Mapping[Any, str]) -> str:
    return "; ".join(f"``{word}``: {what}" for word, what in words.items())


VOCABULARY: dict[str, Entry] = {
    "count": Entry(
        "count(selection)", f"how many events, {_STEPS_NOTE}; of steps: how many steps", functions.count
    ),
    "time": Entry(
        "time(selection)",
        f"total time of the events in a step, {_STEPS_NOTE}; an event inside another selected one is not "
        "counted again; of steps: their range on the CPU",
        functions.time,
    ),
    "self_time": Entry(
        "self_time(selection)", f"time outside child ops and calls, {_STEPS_NOTE}", functions.self_time
    ),
    "span": Entry(
        "span(selection | trace | steps)",
        "from the begin of the first event to the end of the last; of a trace: the length of a step, up to "
        "the end of its last GPU activity",
        functions.event_span,
    ),
    "busy": Entry(
        "busy(selection | trace | steps)",
        "time in which at least one of the events ran; of a trace: of the step's GPU activities",
        functions.event_busy,
    ),
    "idle": Entry(
        'idle(selection | trace | steps), idle(trace | steps, "cause")',
        "time of the span in which none ran; of a trace: in which the GPU did nothing. With a cause, the "
        f"part of it that is put down to this: {_explained(CAUSES)}",
        functions.idle,
    ),
    "launch_delay": Entry(
        "launch_delay(selection)",
        "from the begin of the launching call to the begin of what it launched: the median within a step, "
        f"then {_STEPS_NOTE}",
        functions.launch_delay,
    ),
    "queue_depth": Entry(
        "queue_depth(trace | steps)",
        "the most activities that a launch of a step found in its stream's queue (launched before and not "
        f"finished), {_STEPS_NOTE}",
        functions.queue_depth,
    ),
    "regime": Entry(
        "regime(trace | steps)",
        "a text: what the step of median length waits for, from the begin of its first launch to the end of "
        f"its last GPU activity: {_explained(KINDS)}",
        functions.step_regime,
    ),
    "share": Entry(
        "share(selection), share(part, whole)",
        "of the time of all kernels or copies (for ops, annotations and calls: of all self time); or of one "
        "measure in another",
        functions.share,
    ),
    "names": Entry("names(selection)", "the distinct names, in order of appearance", functions.names),
    "same_names": Entry(
        "same_names(a, b)", "whether two selections hold the same names", functions.same_names
    ),
    "first": Entry("first(selection)", "the first event of each step", functions.first),
    "each": Entry(
        "each(measure)",
        "the values of the single steps; a comparison must hold for all of them",
        functions.each,
    ),
    "min": Entry(
        "min(measure), min(a, b, …)",
        "the smallest of the steps, of a column, or of several",
        functions.minimum,
    ),
    "max": Entry(
        "max(measure), max(a, b, …)",
        "the largest of the steps, of a column, or of several",
        functions.maximum,
    ),
    "spread": Entry("spread(measure)", "the largest less the smallest", functions.spread),
    "median": Entry(
        "median(measure)", "the median of the steps, of a column, or of several", functions.median_of
    ),
    "abs": Entry("abs(number)", "the number without its sign", functions.absolute),
    "ns": Entry("ns(number)", "a time", functions.unit_maker("ns", 1)),
    "us": Entry("us(number)", "a time", functions.unit_maker("ns", 1e3)),
    "ms": Entry("ms(number)", "a time", functions.unit_maker("ns", 1e6)),
    "bytes": Entry("bytes(number)", "bytes; by a time, a bandwidth", functions.unit_maker("bytes", 1)),
    "flop": Entry(
        "flop(number)", "floating-point operations; by a time, a rate", functions.unit_maker("flop", 1)
    ),
    "mb": Entry("mb(number)", "megabytes (10^6 bytes)", functions.unit_maker("bytes", 1e6)),
    "gb_s": Entry("gb_s(number)", "gigabytes a second", functions.unit_maker("bytes/ns", 1)),
    "tflop_s": Entry(
        "tflop_s(number)", "10^12 floating-point operations a second", functions.unit_maker("flop/ns", 1e3)
    ),
    "percent": Entry("percent(number)", "a share", functions.unit_maker("share", 0.01)),
    "trace.ops": Entry("trace.ops", "dispatcher calls on the CPU", owner=TraceView),
    "trace.annotations": Entry("trace.annotations", "record_function ranges on the CPU", owner=TraceView),
    "trace.calls": Entry("trace.calls", "runtime and driver calls", owner=TraceView),
    "trace.kernels": Entry("trace.kernels", "kernels on the GPU", owner=TraceView),
    "trace.copies": Entry(
        "trace.copies", "memcpy and memset on the GPU; never counted as kernels", owner=TraceView
    ),
    "trace.steps": Entry("trace.steps", "the recorded steps", owner=TraceView),
    "trace.step": Entry("trace.step(n)", "the trace's ProfilerStep#n alone", owner=TraceView),
    "selection.ops": Entry(
        "selection.ops",
        "ops inside the selected CPU events; ops that launched GPU activities",
        owner=Selection,
    ),
    "selection.annotations": Entry(
        "selection.annotations", "annotations inside the selected CPU events", owner=Selection
    ),
    "selection.calls": Entry(
        "selection.calls",
        "calls inside the selected CPU events; calls that launched GPU activities",
        owner=Selection,
    ),
    "selection.kernels": Entry(
        "selection.kernels", "kernels launched inside the selected CPU events", owner=Selection
    ),
    "selection.copies": Entry(
        "selection.copies", "copies launched inside the selected CPU events", owner=Selection
    ),
    "selection.like": Entry(
        'selection.like("pattern")', 'as selection["pattern"], but it may match nothing', owner=Selection
    ),
    "table.at": Entry(
        "table.at(column=value, …)",
        "the one row with these values; its columns are attributes",
        owner=CsvTable,
    ),
    "table.where": Entry("table.where(column=value, …)", "the rows with these values", owner=CsvTable),
    "table.column": Entry('table.column("name")', "all values of a column", owner=CsvTable),
}

OPERATORS: dict[str, Entry] = {
    'selection["pattern"]': Entry(
        'selection["pattern"]', "the events whose name matches; * and ? are wildcards; no match is an error"
    ),
    '"pattern" in selection': Entry('"pattern" in selection', "whether any event's name matches"),
    "+ - * /": Entry("+ - * /", "arithmetic with units: a time by a time is a ratio"),
    "== != < <= > >=": Entry("== != < <= > >=", "comparison of like with like; a time with us(37)"),
    "and or not if else": Entry("and or not if else", "logic"),
}
"""The rest of the language, for the reference page."""

FUNCTIONS = {name: entry for name, entry in VOCABULARY.items() if entry.function is not None}


def attributes(value: Any) -> list[str] | None:
    """The attributes of ``value`` that an expression may use; None if it has none at all.

    An object of another room says so itself, in a class attribute ``VOCABULARY_ATTRS``.
    """
    if isinstance(value, TableRow):
        return list(value.table.columns)
    own = getattr(type(value), "VOCABULARY_ATTRS", None)
    if isinstance(own, frozenset):
        return sorted(own)
    found = [name.split(".")[1] for name, entry in VOCABULARY.items() if entry.owner is type(value)]
    return found or None
