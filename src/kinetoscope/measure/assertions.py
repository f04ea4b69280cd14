"""An expression checked against one trace, and what was there if it does not hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kinetoscope.measure.errors import ExpressionError, NotMeasured, shortened
from kinetoscope.measure.expressions import Value, evaluate, selections, show
from kinetoscope.measure.printing import printed
from kinetoscope.measure.quantity import Quantity
from kinetoscope.measure.selection import COLLECTIONS, Selection, TraceView

if TYPE_CHECKING:
    from kinetoscope.trace import Trace


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of one condition."""

    expression: str
    holds: bool
    measured: list[tuple[str, str]]
    """(text, value) of each part of a comparison"""
    selections: list[Selection]
    """what the condition is about"""


class _Names(Mapping[str, Any]):
    """The names an expression about one trace may use: ``kernels`` is short for ``trace.kernels``.

    A selection is made when it is asked for, since the trace may hold nothing of its kind.
    """

    def __init__(self, trace: Trace, *, absent_is_zero: bool) -> None:
        self._view = TraceView("trace", trace, absent_is_zero=absent_is_zero)
        self._others = {"trace": self._view, "steps": self._view.steps, "step": self._view.step}

    def __getitem__(self, name: str) -> Any:
        if name not in COLLECTIONS:
            return self._others[name]
        selection: Selection = getattr(self._view, name)
        return Selection(name, name, selection.groups, selection.presence)

    def __iter__(self) -> Iterator[str]:
        yield from self._others
        yield from COLLECTIONS

    def __len__(self) -> int:
        return len(self._others) + len(COLLECTIONS)


def measure(trace: Trace, expression: str, *, absent_is_zero: bool = False) -> Value:
    """The value of an expression about one trace.

    Raises :class:`ExpressionError` where it has none, :class:`NotMeasured` where the trace holds nothing of
    the kind that it asks for, unless ``absent_is_zero``.
    """
    return evaluate(expression, _Names(trace, absent_is_zero=absent_is_zero))


def check(trace: Trace, expression: str, *, absent_is_zero: bool = False) -> Check:
    """Whether a condition holds of ``trace``.

    Raises :class:`ExpressionError` for what is not a condition or cannot be computed, and
    :class:`NotMeasured` as :func:`measure` does.
    """
    names = _Names(trace, absent_is_zero=absent_is_zero)
    value = evaluate(expression, names)
    if not isinstance(value, bool):
        raise ExpressionError(
            f"{expression.strip()!r} is {show(value)}, neither true nor false; compare it with something."
        )
    return Check(expression.strip(), value, _measured(expression, names), selections(expression, names))


def _measured(expression: str, names: Mapping[str, Any]) -> list[tuple[str, str]]:
    text = " ".join(expression.split())
    measured: dict[str, str] = {}
    for part in _operands(ast.parse(text, mode="eval").body):
        source = ast.get_source_segment(text, part) or ast.unparse(part)
        try:
            value = evaluate(source, names)
        except NotMeasured:
            measured[source] = "not measured"
            continue
        except ExpressionError:
            continue  # a selection, which is listed event by event
        measured[source] = _with_steps(value)
    return list(measured.items())


def _operands(node: ast.expr) -> Iterator[ast.expr]:
    """The sides of all comparisons, without constants; the whole if it compares nothing."""
    comparisons = [inner for inner in ast.walk(node) if isinstance(inner, ast.Compare)]
    for comparison in comparisons:
        for side in (comparison.left, *comparison.comparators):
            if any(isinstance(inner, ast.Name) for inner in ast.walk(side)) and not _is_unit(side):
                yield side
    if not comparisons:
        yield node


def _is_unit(node: ast.expr) -> bool:
    """Whether it is a number with its unit, such as ``us(37)``."""
    return isinstance(node, ast.Call) and all(isinstance(each, ast.Constant) for each in node.args)


def _with_steps(value: Value) -> str:
    if isinstance(value, Quantity) and len({each for _, each in value.per_step}) > 1:
        each = ", ".join(printed(number, value.unit) for _, number in value.per_step)
        return f"{value} (the median of {each})"
    return show(value)


def listing(selection: Selection, most: int) -> list[str]:
    """Lines: what the selection is, then each name with its count and time, at most ``most`` of them."""
    steps = len(selection.groups)
    over = f" over {steps} steps" if steps > 1 else ""
    events = selection.events
    if not events:
        whole = selection.whole
        near = (
            f"; {whole} has: {', '.join(whole.names[:8])}" if whole is not selection and whole.events else ""
        )
        return [f"{selection}: none were there{over}{near}"]
    counts: dict[str, list[int]] = {}
    for event in events:
        entry = counts.setdefault(event.name, [0, 0])
        entry[0] += 1
        entry[1] += event.dur
    lines = [f"{selection}: {len(events)} were there{over}:"]
    for name, (calls, time) in list(counts.items())[:most]:
        lines.append(f"  {calls:>6}×  {printed(time, 'ns'):>8}  {shortened(name, 120)}")
    if len(counts) > most:
        lines.append(f"  and {len(counts) - most} more names")
    return lines
