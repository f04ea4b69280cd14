"""What the functions of the vocabulary do.

Each takes what the evaluator found (selections, traces, quantities) and raises
:class:`ExpressionError` where there is no answer.  Times are in ns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kinetoscope.measure.errors import ExpressionError, suggestion
from kinetoscope.measure.idle_time import CAUSES, launch_delays
from kinetoscope.measure.intervals import busy, span
from kinetoscope.measure.quantity import Quantity, middle, quantity
from kinetoscope.measure.selection import Selection, Steps, TraceView
from kinetoscope.measure.steps import regime, typical

if TYPE_CHECKING:
    from kinetoscope.measure.printing import Number
    from kinetoscope.measure.steps import StepRow
    from kinetoscope.trace import Event


class Each:
    """Several values, such as one for each step.  A comparison holds if it holds for every one of them."""

    __slots__ = ("items",)

    def __init__(self, items: Sequence[Any]) -> None:
        self.items = tuple(items)

    def __bool__(self) -> bool:
        raise ExpressionError("several values are neither true nor false; compare them with something.")


def _events(selection: Selection, function: str) -> tuple[Event, ...]:
    if not isinstance(selection, Selection):
        raise ExpressionError(
            f"{function} needs a selection of events, such as {function}(x.kernels), not {selection!r}."
        )
    return selection.events


def _some(selection: Selection, function: str) -> tuple[Event, ...]:
    events = _events(selection, function)
    if not events:
        raise ExpressionError(f"{function}: {selection!r} holds no events in this recording.")
    return events


def _per_step(selection: Selection, unit: str, measure: Callable[[Sequence[Event]], Number]) -> Quantity:
    values = [(group.label, measure(group.events)) for group in selection.groups]
    return Quantity.over_steps(values, unit, selection.events)


def _step_rows(what: TraceView | Steps, read: Callable[[StepRow], Number], function: str) -> Quantity:
    view = _view(what, function)
    label = view.trace.path
    values = [(f"{label} step {row.number}", read(row)) for row in view.step_rows]
    return Quantity.over_steps(values, "ns", [event for row in view.step_rows for event in row.events])


def _view(what: TraceView | Steps, function: str) -> TraceView:
    if not isinstance(what, (TraceView, Steps)):
        raise ExpressionError(f"{function} needs a trace or a step, such as x or x.step(3), not {what!r}.")
    view = what.view if isinstance(what, Steps) else what
    if isinstance(what, Steps) and not view.recorded:
        raise ExpressionError(f"{function}: {view} has no steps; measure the trace or a selection of it.")
    return view


def _with_launches(what: TraceView | Steps, function: str) -> list[StepRow]:
    view = _view(what, function)
    found = [step for step in view.step_rows if step.deepest is not None]
    if not found:
        raise ExpressionError(f"{function}: {view} launched nothing on the GPU; take a trace that did.")
    return found


def outermost(events: Sequence[Event]) -> list[Event]:
    """The events that lie in no other of them, so that time inside is counted once."""
    chosen = {id(event) for event in events}
    outer = []
    for event in events:
        above = event.parent
        while above is not None and id(above) not in chosen:
            above = above.parent
        if above is None:
            outer.append(event)
    return outer


def count(what: Selection | Steps) -> Quantity:
    """Events a step (median); of steps: how many there are."""
    if isinstance(what, Steps):
        steps = what.view.recorded
        return Quantity(len(steps), "count", [step.event for step in steps])
    _events(what, "count")
    return _per_step(what, "count", len)


def time(what: Selection | Steps) -> Quantity:
    """Ns of the events in a step (median), nested ones counted once; of steps: their CPU ranges."""
    if isinstance(what, Steps):
        return _step_rows(what, lambda row: row.cpu, "time")
    _events(what, "time")
    return _per_step(what, "ns", lambda events: sum(event.dur for event in outermost(events)))


def self_time(what: Selection) -> Quantity:
    """Ns outside child ops and calls in a step (median)."""
    _events(what, "self_time")
    return _per_step(what, "ns", lambda events: sum(event.self_dur for event in events))


def event_span(what: Selection | TraceView | Steps) -> Quantity:
    """Ns from the begin of the first event to the end of the last (median)."""
    if isinstance(what, (TraceView, Steps)):
        return _step_rows(what, lambda row: row.span, "span")
    _some(what, "span")
    return _per_step(what, "ns", span)


def event_busy(what: Selection | TraceView | Steps) -> Quantity:
    """Ns in which at least one event (of a trace: of the step's GPU activities) ran (median)."""
    if isinstance(what, (TraceView, Steps)):
        return _step_rows(what, lambda row: row.busy, "busy")
    _events(what, "busy")
    return _per_step(what, "ns", busy)


def idle(what: Selection | TraceView | Steps, cause: str | None = None) -> Quantity:
    """Ns of the span in which none of the events (of a trace: no GPU activity at all) ran (median).

    Of a trace, the part of it with the given cause (:mod:`kinetoscope.measure.idle_time`) if there is one.
    """
    if cause is not None:
        return _idle_for(what, cause)
    if isinstance(what, (TraceView, Steps)):
        return _step_rows(what, lambda row: row.idle, "idle")
    _some(what, "idle")
    return _per_step(what, "ns", lambda events: span(events) - busy(events))


def _idle_for(what: Any, cause: str) -> Quantity:
    view = _view(what, "idle with a cause")
    if cause not in CAUSES:
        raise ExpressionError(f"idle knows no cause {cause!r}; {suggestion(str(cause), CAUSES)}")
    steps = view.step_rows
    values = [(f"{view.trace.path} step {step.number}", getattr(step, f"idle_{cause}")) for step in steps]
    return Quantity.over_steps(values, "ns", [event for step in steps for event in step.events])


def queue_depth(what: TraceView | Steps) -> Quantity:
    """The most activities that a launch found in its stream's queue (median over steps with launches)."""
    steps = _with_launches(what, "queue_depth")
    label = _view(what, "queue_depth").trace.path
    values = [(f"{label} step {step.number}", step.deepest or 0) for step in steps]
    return Quantity.over_steps(values, "count", [event for step in steps for event in step.events])


def step_regime(what: TraceView | Steps) -> str:
    """The regime of the step of median length among those that launched anything."""
    found = regime(typical(_with_launches(what, "regime")))
    assert found is not None, "a step with launches has a regime"
    return found.kind


def launch_delay(what: Selection) -> Quantity:
    """Ns from the begin of the launching call to the begin of what it started, median of medians."""
    values = []
    _some(what, "launch_delay")
    for group in what.groups:
        started = [a for event in group.events for a in ([event] if event.kind.on_gpu else event.activities)]
        delays = launch_delays(started)
        if delays:
            values.append((group.label, middle(delays)))
    if not values:
        raise ExpressionError(
            f"launch_delay: no launch of {what!r} is in the trace; take kernels that have one."
        )
    return Quantity.over_steps(values, "ns", what.events)


def share(part: Any, whole: Any = None) -> Quantity:
    """The part of the selection in its whole collection, or of one measure in another."""
    if isinstance(part, Selection):
        measure = time if part.collection in ("kernels", "copies") else self_time
        below = measure(part.whole) if whole is None else _time_of(whole)
        above = measure(part) if whole is None else time(part)
        if whole is None:
            return _quotient(above, below, part.events)
    else:
        if whole is None:
            raise ExpressionError("share needs a selection, or two measures: share(part, whole).")
        above, below = quantity(part), _time_of(whole)
    return _quotient(above, below, (*above.events, *below.events))


def _time_of(what: Any) -> Quantity:
    return time(what) if isinstance(what, Selection) else quantity(what)


def _quotient(above: Quantity, below: Quantity, events: Sequence[Event]) -> Quantity:
    ratio = above / below
    if ratio.unit not in ("ratio", "share", "number"):
        raise ExpressionError(f"share: {above} is no part of {below}; give two measures of one unit.")
    unique = {id(event): event for event in events}
    return Quantity(ratio.value, "share", unique.values(), ratio.per_step)


def names(what: Selection) -> tuple[str, ...]:
    """The distinct names, in order of first appearance."""
    _events(what, "names")
    return what.names


def same_names(first_selection: Selection, second_selection: Selection) -> bool:
    """Whether two selections hold the same set of names."""
    return set(names(first_selection)) == set(names(second_selection))


def first(what: Selection) -> Selection:
    """The first event of each step."""
    _some(what, "first")
    return what.first()


def values_of(what: Any, function: str) -> list[Quantity]:
    """One quantity for each step, event or item of ``what``."""
    if isinstance(what, Selection):
        return [Quantity(event.dur, "ns", [event]) for event in _some(what, function)]
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


def each(what: Any) -> Each:
    """The values of the single steps."""
    return Each(values_of(what, "each"))


def minimum(*what: Any) -> Quantity:
    """The smallest value."""
    items = _items(what, "min")
    return min(items, key=lambda item: _ordered(item, items[0]))


def maximum(*what: Any) -> Quantity:
    """The largest value."""
    items = _items(what, "max")
    return max(items, key=lambda item: _ordered(item, items[0]))


def spread(*what: Any) -> Quantity:
    """The largest value less the smallest."""
    return maximum(*what) - minimum(*what)


def median_of(*what: Any) -> Quantity:
    """The median value."""
    items = _items(what, "median")
    values = [_ordered(item, items[0]) for item in items]
    events = {id(event): event for item in items for event in item.events}
    return Quantity(middle(values), items[0].unit, events.values())


def absolute(what: Any) -> Quantity:
    """The number without its sign."""
    return abs(quantity(what))


def _items(what: tuple[Any, ...], function: str) -> list[Quantity]:
    if len(what) == 1 and not isinstance(what[0], (int, float)):
        return values_of(what[0], function)
    if not what:
        raise ExpressionError(f"{function} needs at least one value.")
    return [quantity(item) for item in what]


def _ordered(item: Quantity, reference: Quantity) -> Number:
    """The item's value, once its unit is known to be that of ``reference``."""
    item.__eq__(reference)
    return item.value


def unit_maker(unit: str, factor: float) -> Callable[[Any], Quantity]:
    """A function that gives a plain number times ``factor`` as a quantity in ``unit``."""

    def make(value: Any) -> Quantity:
        plain = quantity(value)
        if plain.unit != "number":
            raise ExpressionError(f"{plain} has a unit already; write the number alone.")
        scaled = plain.value * factor
        return Quantity(int(scaled) if scaled == int(scaled) else scaled, unit)

    return make
