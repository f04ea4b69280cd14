"""All that an expression may say: what each word means, and the functions behind the words.

The evaluator knows no other words than those in ``VOCABULARY``, and the reference page is made from it.  A
function takes what the evaluator gives it (selections, traces, quantities) and raises
:class:`ExpressionError` where there is no answer.  Times are in ns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from kinetoscope.measure.csvtable import CsvTable, TableRow
from kinetoscope.measure.errors import ExpressionError, suggestion
from kinetoscope.measure.idle_time import CAUSES, launch_delays
from kinetoscope.measure.intervals import busy, span
from kinetoscope.measure.presence import CALLS, GPU, STEPS, Need
from kinetoscope.measure.quantity import Quantity, middle, quantity
from kinetoscope.measure.selection import Selection, StepsView, TraceView
from kinetoscope.measure.steps import REGIMES, regime, typical

if TYPE_CHECKING:
    from kinetoscope.measure.printing import Number
    from kinetoscope.measure.steps import StepRow
    from kinetoscope.trace import Event


@dataclass(frozen=True, slots=True)
class Entry:
    """One word of the vocabulary."""

    signature: str
    what: str
    function: Callable[..., Any] | None = None
    """a function's implementation; None for attributes and operators"""
    owner: type | None = None
    """the type whose attribute or method it is; None for functions"""


class Each:
    """Several values, such as one for each step.  A comparison holds if it holds for every one of them."""

    __slots__ = ("items",)

    def __init__(self, items: Sequence[Any]) -> None:
        self.items = tuple(items)

    def __bool__(self) -> bool:
        raise ExpressionError("several values are neither true nor false; compare them with something.")


FUNCTIONS: dict[str, Entry] = {}
"""The functions that an expression may call, by the name that it calls them by."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _function(signature: str, what: str) -> Callable[[_Function], _Function]:
    """Adds a function to :data:`FUNCTIONS`; its name is the beginning of ``signature``."""

    def add(function: _Function) -> _Function:
        FUNCTIONS[signature.partition("(")[0]] = Entry(signature, what, function)
        return function

    return add


_STEPS_NOTE = "the median over the recorded steps"


def _explained(words: Mapping[Any, str]) -> str:
    return "; ".join(f"``{word}``: {what}" for word, what in words.items())


@_function("count(selection)", f"how many events, {_STEPS_NOTE}; of steps: how many steps")
def _count(what: Selection | StepsView) -> Quantity:
    if isinstance(what, StepsView):
        what.view.presence.need(STEPS)
        steps = what.view.recorded
        return Quantity(len(steps), "count", [step.event for step in steps])
    return _per_step(what, "count", "count", len)


@_function(
    "time(selection)",
    f"total time of the events in a step, {_STEPS_NOTE}; an event inside another selected one is not "
    "counted again; of steps: their range on the CPU",
)
def _time(what: Selection | StepsView) -> Quantity:
    if isinstance(what, StepsView):
        return _of_rows(what, "time", "ns", lambda row: row.cpu)
    return _per_step(what, "time", "ns", lambda events: sum(event.dur for event in _outermost(events)))


def _outermost(events: Sequence[Event]) -> list[Event]:
    """The events that lie in no other of them, so that time inside is counted once."""
    chosen = {id(event) for event in events}
    return [event for event in events if not any(id(above) in chosen for above in event.above())]


@_function("self_time(selection)", f"time outside child ops and calls, {_STEPS_NOTE}")
def _self_time(what: Selection) -> Quantity:
    return _per_step(what, "self_time", "ns", lambda events: sum(event.self_dur for event in events))


@_function(
    "span(selection | trace | steps)",
    "from the start of the first event to the end of the last; of a trace: the length of a step, up to "
    "the end of its last GPU activity",
)
def _span(what: Selection | TraceView | StepsView) -> Quantity:
    if isinstance(what, (TraceView, StepsView)):
        return _of_rows(what, "span", "ns", lambda row: row.span)
    return _per_step(_not_empty(what, "span"), "span", "ns", span)


@_function(
    "busy(selection | trace | steps)",
    "time in which at least one of the events ran; of a trace: of the step's GPU activities",
)
def _busy(what: Selection | TraceView | StepsView) -> Quantity:
    if isinstance(what, (TraceView, StepsView)):
        return _of_rows(what, "busy", "ns", lambda row: row.busy, needs=(GPU,))
    return _per_step(what, "busy", "ns", busy)


@_function(
    'idle(selection | trace | steps), idle(trace | steps, "cause")',
    "time of the span in which none ran; of a trace: in which the GPU did nothing. With a cause, the "
    f"part of it that is put down to this: {_explained(CAUSES)}",
)
def _idle(what: Selection | TraceView | StepsView, cause: str | None = None) -> Quantity:
    if cause is not None:
        _view(what, "idle with a cause")
        if cause not in CAUSES:
            raise ExpressionError(f"idle knows no cause {cause!r}; {suggestion(str(cause), CAUSES)}")
    if cause is not None or isinstance(what, (TraceView, StepsView)):
        column = "idle" if cause is None else f"idle_{cause}"
        # Without calls nobody knows what the GPU waited for: all of it is "unknown".
        needs = (GPU,) if cause in (None, "unknown") else (GPU, CALLS)
        return _of_rows(what, "idle", "ns", lambda row: getattr(row, column), needs=needs)
    return _per_step(_not_empty(what, "idle"), "idle", "ns", lambda events: span(events) - busy(events))


@_function(
    "launch_delay(selection)",
    "from the start of the launching call to the start of the first that it launched, where the clocks of "
    "CPU and GPU agree: the median within a step, "
    f"then {_STEPS_NOTE}",
)
def _launch_delay(what: Selection) -> Quantity:
    _selection(what, "launch_delay").presence.need(GPU)
    values = []
    for group in _not_empty(what, "launch_delay").groups:
        started = [a for event in group.events for a in ([event] if event.kind.on_gpu else event.activities)]
        delays = launch_delays(started)
        if delays:
            values.append((group.label, middle(delays)))
    if not values:
        what.presence.need(CALLS)
        raise ExpressionError(
            f"launch_delay: no launch of {what!r} is in the trace; take kernels that have one."
        )
    return Quantity.over_steps(values, "ns", what.events)


@_function(
    "queue_depth(trace | steps)",
    "the most activities that a launch of a step found in its stream's queue (launched before and not "
    f"finished), {_STEPS_NOTE}",
)
def _queue_depth(what: TraceView | StepsView) -> Quantity:
    launching = _with_launches(what, "queue_depth")
    return _of_rows(what, "queue_depth", "count", lambda row: row.deepest or 0, launching)


@_function(
    "regime(trace | steps)",
    "a text: what the step of median length waits for, from its start to its end or the end of its last GPU "
    f"activity: {_explained(REGIMES)}",
)
def _regime(what: TraceView | StepsView) -> str:
    of_step = regime(typical(_with_launches(what, "regime")))
    assert of_step is not None, "a step with launches has a regime"
    return of_step


@_function(
    "share(selection), share(part, whole)",
    "of the time of all kernels or copies (for ops, annotations and calls: of all self time); or of one "
    "measure in another",
)
def _share(part: Any, whole: Any = None) -> Quantity:
    if isinstance(part, Selection) and whole is None:
        measure = _time if part.collection in ("kernels", "copies") else _self_time
        return _quotient(measure(part), measure(part.whole), part.events)
    if whole is None:
        raise ExpressionError("share needs a selection, or two measures: share(part, whole).")
    above, below = (_time(each) if isinstance(each, Selection) else quantity(each) for each in (part, whole))
    return _quotient(above, below, (*above.events, *below.events))


def _quotient(above: Quantity, below: Quantity, events: Sequence[Event]) -> Quantity:
    ratio = above / below
    if ratio.unit not in ("ratio", "share", "number"):
        raise ExpressionError(f"share: {above} is not part of {below}; give two measures of one unit.")
    unique = {id(event): event for event in events}
    return Quantity(ratio.value, "share", unique.values(), ratio.per_step)


@_function("names(selection)", "the distinct names, in order of appearance")
def _names(what: Selection) -> tuple[str, ...]:
    return _selection(what, "names").names


@_function("same_names(a, b)", "whether two selections hold the same names")
def _same_names(a: Selection, b: Selection) -> bool:
    return set(_names(a)) == set(_names(b))


@_function("first(selection)", "the first event of each step")
def _first(what: Selection) -> Selection:
    return _not_empty(what, "first").first()


@_function("each(measure)", "the values of the single steps; a comparison must hold for all of them")
def _each(what: Any) -> Each:
    return Each(_values(what, "each"))


@_function("min(measure), min(a, b, …)", "the smallest of the steps, of a column, or of several")
def _min(*what: Any) -> Quantity:
    return min(_comparable(what, "min"), key=lambda item: item.value)


@_function("max(measure), max(a, b, …)", "the largest of the steps, of a column, or of several")
def _max(*what: Any) -> Quantity:
    return max(_comparable(what, "max"), key=lambda item: item.value)


@_function("spread(measure)", "the largest less the smallest")
def _spread(*what: Any) -> Quantity:
    return _max(*what) - _min(*what)


@_function("median(measure)", "the median of the steps, of a column, or of several")
def _median(*what: Any) -> Quantity:
    items = _comparable(what, "median")
    events = {id(event): event for item in items for event in item.events}
    return Quantity(middle([item.value for item in items]), items[0].unit, events.values())


@_function("abs(number)", "the number without its sign")
def _abs(what: Any) -> Quantity:
    return abs(quantity(what))


def _add_unit(signature: str, what: str, unit: str, factor: float) -> None:
    """A function that gives a plain number times ``factor`` as a quantity in ``unit``."""

    def make(value: Any) -> Quantity:
        plain = quantity(value)
        if plain.unit != "number":
            raise ExpressionError(f"{plain} has a unit already; write the number alone.")
        scaled = plain.value * factor
        return Quantity(int(scaled) if scaled == int(scaled) else scaled, unit)

    _function(signature, what)(make)


_add_unit("ns(number)", "a time", "ns", 1)
_add_unit("us(number)", "a time", "ns", 1e3)
_add_unit("ms(number)", "a time", "ns", 1e6)
_add_unit("bytes(number)", "bytes; by a time, a bandwidth", "bytes", 1)
_add_unit("flop(number)", "floating-point operations; by a time, a rate", "flop", 1)
_add_unit("mb(number)", "megabytes (10^6 bytes)", "bytes", 1e6)
_add_unit("gb_s(number)", "gigabytes a second", "bytes/ns", 1)
_add_unit("tflop_s(number)", "10^12 floating-point operations a second", "flop/ns", 1e3)
_add_unit("per_s(number)", "a rate: tokens, images or requests a second", "1/s", 1)
_add_unit("percent(number)", "a share", "share", 0.01)


def _selection(what: Any, function: str) -> Selection:
    if not isinstance(what, Selection):
        raise ExpressionError(
            f"{function} needs a selection of events, such as {function}(x.kernels), not {what!r}."
        )
    return what


def _not_empty(what: Any, function: str) -> Selection:
    selection = _selection(what, function)
    if not selection.events:
        raise ExpressionError(f"{function}: {what!r} holds no events in this recording.")
    return selection


def _per_step(what: Any, function: str, unit: str, measure: Callable[[Sequence[Event]], Number]) -> Quantity:
    """The median over the steps of a measure of the selected events in each.

    Events whose times cannot be right are counted, and in no other measure.
    """
    selection = _selection(what, function)
    values = [
        (group.label, measure(group.events if unit == "count" else _timed(group.events)))
        for group in selection.groups
    ]
    return Quantity.over_steps(values, unit, selection.events)


def _timed(events: Sequence[Event]) -> list[Event]:
    return [event for event in events if not event.wrong]


def _of_rows(
    what: Any,
    function: str,
    unit: str,
    read: Callable[[StepRow], Number],
    rows: Sequence[StepRow] | None = None,
    needs: Sequence[Need] = (),
) -> Quantity:
    """The median over the steps of a column of the step table; of ``rows`` if not of all.

    Raises :class:`NotMeasured` where the trace lacks what the column ``needs``.
    """
    view = _view(what, function)
    for need in needs:
        view.presence.need(need)
    rows = view.step_rows if rows is None else rows
    values = [(f"{view.trace.path} step {row.number}", read(row)) for row in rows]
    return Quantity.over_steps(values, unit, [event for row in rows for event in row.events])


def _with_launches(what: Any, function: str) -> list[StepRow]:
    view = _view(what, function)
    view.presence.need(GPU)
    launching = [row for row in view.step_rows if row.deepest is not None]
    if not launching:
        view.presence.need(CALLS)
        raise ExpressionError(f"{function}: {view} launched nothing on the GPU; take a trace that did.")
    return launching


def _view(what: Any, function: str) -> TraceView:
    if not isinstance(what, (TraceView, StepsView)):
        raise ExpressionError(f"{function} needs a trace or a step, such as x or x.step(3), not {what!r}.")
    view = what.view if isinstance(what, StepsView) else what
    if isinstance(what, StepsView) and not view.recorded:
        view.presence.need(STEPS)
        raise ExpressionError(f"{function}: {view} has no steps; measure the trace or a selection of it.")
    return view


def _values(what: Any, function: str) -> list[Quantity]:
    """One quantity for each step, event or item of ``what``."""
    if isinstance(what, Selection):
        return [Quantity(event.dur, "ns", [event]) for event in _timed(_not_empty(what, function).events)]
    if isinstance(what, Quantity):
        if not what.per_step:
            raise ExpressionError(
                f"{function}: {what} has no value of its own for each step; take one measure of one trace."
            )
        return [Quantity(value, what.unit, what.events) for _, value in what.per_step]
    if isinstance(what, (Each, tuple)):
        items = what.items if isinstance(what, Each) else what
        if not items:
            raise ExpressionError(f"{function}: there are no values.")
        return [quantity(item) for item in items]
    raise ExpressionError(f"{function} needs a measure, a selection or a column, not {what!r}.")


def _comparable(what: tuple[Any, ...], function: str) -> list[Quantity]:
    """The values of the one argument, or the arguments.  Raises :class:`UnitError` where units differ."""
    if not what:
        raise ExpressionError(f"{function} needs at least one value.")
    if len(what) == 1 and not isinstance(what[0], (int, float)):
        items = _values(what[0], function)
    else:
        items = [quantity(item) for item in what]
    for item in items:
        item.__eq__(items[0])
    return items


_ATTRIBUTES: dict[type, dict[str, str]] = {
    TraceView: {
        "trace.ops": "dispatcher calls on the CPU",
        "trace.annotations": "record_function ranges on the CPU",
        "trace.calls": "runtime and driver calls",
        "trace.kernels": "kernels on the GPU",
        "trace.copies": "memcpy and memset on the GPU; never counted as kernels",
        "trace.steps": "the recorded steps",
        "trace.step(n)": "the trace's ProfilerStep#n alone; of several processes those of all together",
    },
    Selection: {
        "selection.ops": "ops inside the selected CPU events; ops that launched GPU activities",
        "selection.annotations": "annotations inside the selected CPU events",
        "selection.calls": "calls inside the selected CPU events; calls that launched GPU activities",
        "selection.kernels": "kernels launched inside the selected CPU events",
        "selection.copies": "copies launched inside the selected CPU events",
        'selection.like("pattern")': 'as selection["pattern"], but it may match nothing',
    },
    CsvTable: {
        "table.at(column=value, …)": "the one row with these values; its columns are attributes",
        "table.where(column=value, …)": "the rows with these values",
        'table.column("name")': "all values of a column",
    },
}
"""What each attribute and method means, by its signature, of each type."""

VOCABULARY: dict[str, Entry] = FUNCTIONS | {
    signature.partition("(")[0]: Entry(signature, what, owner=owner)
    for owner, attributes_of in _ATTRIBUTES.items()
    for signature, what in attributes_of.items()
}

_OPERATORS = {
    'selection["pattern"]': "the events whose name matches; * and ? are wildcards; no match is an error",
    '"pattern" in selection': "whether any event's name matches",
    "+ - * /": "arithmetic with units: a time by a time is a ratio",
    "== != < <= > >=": "comparison of like with like; a time with us(37)",
    "and or not if else": "logic",
}
OPERATORS = {signature: Entry(signature, what) for signature, what in _OPERATORS.items()}
"""The rest of the language, for the reference page."""


def attributes(value: Any) -> list[str] | None:
    """The attributes of ``value`` that an expression may use; None if it has none at all.

    An object of another room lists its own in a class attribute ``VOCABULARY_ATTRS``.
    """
    if isinstance(value, TableRow):
        return list(value.table.columns)
    own = getattr(type(value), "VOCABULARY_ATTRS", None)
    if isinstance(own, frozenset):
        return sorted(own)
    names = [name.split(".")[1] for name, entry in VOCABULARY.items() if entry.owner is type(value)]
    return names or None
