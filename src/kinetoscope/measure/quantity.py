"""A number with its unit and the events that it was computed from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinetoscope.measure.errors import ExpressionError, UnitError
from kinetoscope.measure.printing import Number, printed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kinetoscope.trace import Event

PURE = frozenset({"count", "ratio", "share", "number"})
"""Units without a dimension; they may be compared with a plain number."""

UNITS = PURE | {"ns", "bytes", "flop", "bytes/ns", "flop/ns", "1/s"}

LARGEST = 1e300
"""No number is larger: a float of that size is still finite in any unit that it is printed in."""

_PRODUCTS = {("bytes/ns", "ns"): "bytes", ("flop/ns", "ns"): "flop"}
_QUOTIENTS = {
    ("bytes", "ns"): "bytes/ns",
    ("flop", "ns"): "flop/ns",
    # The lower bound of the time that a copy or a matmul can take.
    ("bytes", "bytes/ns"): "ns",
    ("flop", "flop/ns"): "ns",
}

_WORDS = {"ns": "a time", "bytes": "bytes", "flop": "FLOP", "bytes/ns": "bytes a second", "1/s": "a rate"}
_HELPERS = {
    "ns": "us(37)",
    "bytes": "mb(12)",
    "bytes/ns": "gb_s(3000)",
    "flop/ns": "tflop_s(600)",
    "1/s": "per_s(1500)",
}


class Quantity:
    """``value`` in ``unit`` (a time in ns), with the events it was computed from.

    ``+ - * /`` and comparisons raise :class:`UnitError` if the units don't fit.  A division by zero and a
    result beyond :data:`LARGEST` raise :class:`ExpressionError`.  If ``value`` is a median over steps,
    ``per_step`` has (label, value) of each step; arithmetic keeps it if both sides have the same steps, or
    one side is a constant.
    """

    __slots__ = ("events", "per_step", "unit", "value")

    def __init__(
        self,
        value: Number,
        unit: str,
        events: Iterable[Event] = (),
        per_step: Sequence[tuple[str, Number]] = (),
    ) -> None:
        if unit not in UNITS:
            raise ValueError(f"unknown unit {unit!r}; one of {', '.join(sorted(UNITS))}")
        if not -LARGEST <= value <= LARGEST:
            raise ExpressionError("a number is too large or undefined; check what is multiplied and divided.")
        self.value = value
        self.unit = unit
        self.events = tuple(events)
        self.per_step = tuple(per_step)

    @classmethod
    def over_steps(
        cls, values: Sequence[tuple[str, Number]], unit: str, events: Iterable[Event] = ()
    ) -> Quantity:
        """The median of the values of the steps (at least one)."""
        return cls(middle([value for _, value in values]), unit, events, values)

    def __str__(self) -> str:
        return printed(self.value, self.unit)

    def __repr__(self) -> str:
        return f"Quantity({self.value!r}, {self.unit!r})"

    def __bool__(self) -> bool:
        return self.value != 0

    def __hash__(self) -> int:
        return hash(self.value)

    def __add__(self, other: Quantity | Number) -> Quantity:
        right = quantity(other)
        return self._with(right, _sum_unit(self, right, "add"), lambda a, b: a + b)

    def __sub__(self, other: Quantity | Number) -> Quantity:
        right = quantity(other)
        return self._with(right, _sum_unit(self, right, "subtract"), lambda a, b: a - b)

    def __mul__(self, other: Quantity | Number) -> Quantity:
        right = quantity(other)
        return self._with(right, _product_unit(self, right), lambda a, b: a * b)

    def __truediv__(self, other: Quantity | Number) -> Quantity:
        right = quantity(other)
        unit = _quotient_unit(self, right)
        if right.value == 0:
            raise ExpressionError(
                f"division by zero: {self} by {right}; check that what is below the line was measured at all."
            )
        return self._with(right, unit, lambda a, b: a / b)

    def __radd__(self, other: Number) -> Quantity:
        return quantity(other) + self

    def __rsub__(self, other: Number) -> Quantity:
        return quantity(other) - self

    def __rmul__(self, other: Number) -> Quantity:
        return quantity(other) * self

    def __rtruediv__(self, other: Number) -> Quantity:
        return quantity(other) / self

    def __neg__(self) -> Quantity:
        return self._alone(lambda a: -a)

    def __pos__(self) -> Quantity:
        return self

    def __abs__(self) -> Quantity:
        return self._alone(abs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Quantity, int, float)):
            return NotImplemented
        return self.value == _comparable(self, other)

    def __lt__(self, other: Quantity | Number) -> bool:
        return self.value < _comparable(self, other)

    def __le__(self, other: Quantity | Number) -> bool:
        return self.value <= _comparable(self, other)

    def __gt__(self, other: Quantity | Number) -> bool:
        return self.value > _comparable(self, other)

    def __ge__(self, other: Quantity | Number) -> bool:
        return self.value >= _comparable(self, other)

    def _alone(self, change: Callable[[Number], Number]) -> Quantity:
        steps = [(label, change(value)) for label, value in self.per_step]
        return Quantity(change(self.value), self.unit, self.events, steps)

    def _with(self, other: Quantity, unit: str, join: Callable[[Number, Number], Number]) -> Quantity:
        events = {id(event): event for event in (*self.events, *other.events)}
        return Quantity(
            join(self.value, other.value), unit, events.values(), _joined_steps(self, other, join)
        )


def quantity(value: Any) -> Quantity:
    """``value`` itself, or a plain number as a quantity without a unit.

    Raises :class:`UnitError` for anything else.
    """
    if isinstance(value, Quantity):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return Quantity(value, "number")
    raise UnitError(f"{describe(value)} is not a number; take count(…), time(…) or another measure of it.")


def middle(values: Sequence[Number]) -> Number:
    """The median; a whole number stays an int."""
    # statistics.median would do the same, but importing it takes some milliseconds.
    ordered, half = sorted(values), len(values) // 2
    result = ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2
    return int(result) if result == int(result) else result


def describe(value: Any) -> str:
    """``value`` in words, for a message."""
    if isinstance(value, Quantity):
        return f"{_WORDS.get(value.unit, f'a {value.unit}')} ({value})"
    return repr(value)


def _joined_steps(
    left: Quantity, right: Quantity, join: Callable[[Number, Number], Number]
) -> list[tuple[str, Number]]:
    try:
        if not right.per_step and not right.events:
            return [(label, join(value, right.value)) for label, value in left.per_step]
        if not left.per_step and not left.events:
            return [(label, join(left.value, value)) for label, value in right.per_step]
        if [label for label, _ in left.per_step] == [label for label, _ in right.per_step]:
            both = zip(left.per_step, right.per_step, strict=True)
            return [(label, join(a, b)) for (label, a), (_, b) in both]
    except ZeroDivisionError:
        # The divisor of one step is zero; the medians still have a quotient.
        return []
    return []


def _sum_unit(left: Quantity, right: Quantity, verb: str) -> str:
    if left.unit == right.unit:
        return left.unit
    if left.unit in PURE and right.unit in PURE:
        if "number" in (left.unit, right.unit):
            return right.unit if left.unit == "number" else left.unit
        return "ratio"
    raise UnitError(
        f"cannot {verb} {describe(left)} and {describe(right)}: their units differ{_hint(left, right)}."
    )


def _product_unit(left: Quantity, right: Quantity) -> str:
    for one, other in ((left, right), (right, left)):
        if (one.unit, other.unit) in _PRODUCTS:
            return _PRODUCTS[one.unit, other.unit]
        if one.unit == "number":
            return other.unit
    if left.unit in PURE and right.unit in PURE:
        return left.unit if left.unit == right.unit else "ratio"
    if left.unit in PURE:
        return right.unit
    if right.unit in PURE:
        return left.unit
    raise UnitError(f"cannot multiply {describe(left)} by {describe(right)}.")


def _quotient_unit(left: Quantity, right: Quantity) -> str:
    if left.unit == right.unit == "number":
        return "number"
    if left.unit == right.unit or (left.unit in PURE and right.unit in PURE):
        return "share" if left.unit == "share" and right.unit == "number" else "ratio"
    if right.unit in PURE:
        return left.unit
    if (left.unit, right.unit) in _QUOTIENTS:
        return _QUOTIENTS[left.unit, right.unit]
    raise UnitError(f"cannot divide {describe(left)} by {describe(right)}.")


def _comparable(left: Quantity, other: Quantity | Number) -> Number:
    """The value of ``other``, if it can be compared with ``left``; zero needs no unit."""
    right = quantity(other)
    same = left.unit == right.unit or (left.unit in PURE and right.unit in PURE)
    zero = (right.unit == "number" and right.value == 0) or (left.unit == "number" and left.value == 0)
    if same or zero:
        return right.value
    raise UnitError(f"cannot compare {describe(left)} with {describe(right)}{_hint(left, right)}.")


def _hint(left: Quantity, right: Quantity) -> str:
    for one, other in ((left, right), (right, left)):
        if one.unit == "number" and other.unit in _HELPERS:
            return f"; write the number with its unit, as in {_HELPERS[other.unit]}"
    return ""
