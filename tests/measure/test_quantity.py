"""Units, arithmetic and printing."""

from __future__ import annotations

import doctest
import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.measure import printing
from kinetoscope.measure.errors import ExpressionError, UnitError
from kinetoscope.measure.printing import brief_time, format_time, printed
from kinetoscope.measure.quantity import PURE, UNITS, Quantity

from .made import Made

NUMBERS = st.integers(-(10**6), 10**6)
UNIT = st.sampled_from(sorted(UNITS))


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (37_300, "ns", "37.3 µs"),
        (0, "ns", "0 ns"),
        (640, "ns", "640 ns"),
        (12.5, "ns", "12.5 ns"),
        (999, "ns", "999 ns"),
        (999.6, "ns", "1.00 µs"),
        (1000, "ns", "1.00 µs"),
        (4_104, "ns", "4.10 µs"),
        (9_996, "ns", "10.0 µs"),
        (173_043, "ns", "173 µs"),
        (999_499, "ns", "999 µs"),
        (999_600, "ns", "1.00 ms"),
        (1_234_567, "ns", "1.23 ms"),
        (-37_300, "ns", "-37.3 µs"),
        (61_000_000_000, "ns", "61.0 s"),
        (1.876, "ratio", "1.88×"),
        (0.5321, "ratio", "0.532×"),
        (12.34, "ratio", "12.3×"),
        (4321.0, "ratio", "4321×"),
        (0.93, "share", "93 %"),
        (0.034, "share", "3.4 %"),
        (0.0996, "share", "10 %"),
        (0.9997, "share", "99.9 %"),
        (1, "share", "100 %"),
        (1.0004, "share", "100.0 %"),
        (0.0004, "share", "0.04 %"),
        (0, "share", "0 %"),
        (5, "count", "5"),
        (5.0, "count", "5"),
        (2.5, "count", "2.50"),
        (64, "bytes", "64 B"),
        (6_291_456, "bytes", "6.29 MB"),
        (3200, "bytes/ns", "3.20 TB/s"),
        (412.3, "bytes/ns", "412 GB/s"),
        (5, "bytes/ns", "5 GB/s"),
        (612_000, "flop/ns", "612 TFLOP/s"),
        (8192, "number", "8192"),
        (0.25, "number", "0.250"),
    ],
)
def test_printing(value: float, unit: str, text: str) -> None:
    assert printed(value, unit) == str(Quantity(value, unit)) == text


@pytest.mark.parametrize(
    ("ns", "text"),
    [(0, "0 ns"), (768, "768 ns"), (37_312, "37.3 µs"), (999_960, "1.00 ms"), (1_234_567, "1.23 ms"),
     (2.5e9, "2.50 s"), (999.7, "1.0 µs")],
)  # fmt: skip
def test_a_time_in_a_figure_has_the_decimals_of_its_unit(ns: float, text: str) -> None:
    assert format_time(ns) == text


def test_brief_times_have_about_two_digits() -> None:
    assert [brief_time(ns) for ns in (51_230, 2_720, 768, 9_960, 999_700, 1_500_000)] == [
        "51 µs", "2.7 µs", "0.8 µs", "10 µs", "1.0 ms", "1.5 ms"]  # fmt: skip


def test_examples_in_docstrings() -> None:
    failed, tried = doctest.testmod(printing)
    assert failed == 0 < tried


@given(st.integers(1, 10**12))
def test_a_printed_time_is_within_half_a_percent(value: int) -> None:
    number, unit = printed(value, "ns").split()
    back = float(number) * {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]
    assert back == pytest.approx(value, rel=0.00501)
    assert 1 <= float(number) < 1000 or unit == "s"


@given(NUMBERS, NUMBERS, UNIT, UNIT)
def test_a_sum_needs_one_unit(a: int, b: int, one: str, other: str) -> None:
    left, right = Quantity(a, one), Quantity(b, other)
    if one == other or {one, other} <= PURE:
        assert (left + right).value == a + b
        assert (left - right).value == a - b
        if one == other:
            assert (left + right).unit == one
    else:
        for join in (operator.add, operator.sub):
            with pytest.raises(UnitError, match="units differ"):
                join(left, right)


@given(NUMBERS, NUMBERS, UNIT, UNIT)
def test_a_quotient_undoes_a_product(a: int, b: int, one: str, other: str) -> None:
    left, right = Quantity(a, one), Quantity(b, other)
    try:
        product = left * right
    except UnitError:
        assert not {one, other} & PURE
        return
    if b and one not in PURE:
        again = product / right
        assert again.unit == one
        assert again.value == pytest.approx(a)


@given(NUMBERS, NUMBERS, UNIT, UNIT)
def test_comparisons_need_one_unit(a: int, b: int, one: str, other: str) -> None:
    left, right = Quantity(a, one), Quantity(b, other)
    zero = (one == "number" and a == 0) or (other == "number" and b == 0)
    compare: Callable[[Any, Any], bool]
    for compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
        if one == other or {one, other} <= PURE or zero:
            assert compare(left, right) is compare(a, b)
        else:
            with pytest.raises(UnitError, match="cannot compare"):
                compare(left, right)


@pytest.mark.parametrize(
    ("left", "right", "unit", "value"),
    [
        (Quantity(6, "ns"), Quantity(4, "ns"), "ratio", 1.5),
        (Quantity(6, "ns"), Quantity(3, "count"), "ns", 2),
        (Quantity(6, "bytes"), Quantity(3, "ns"), "bytes/ns", 2),
        (Quantity(6, "flop"), Quantity(3, "ns"), "flop/ns", 2),
        (Quantity(6, "bytes"), Quantity(3, "bytes/ns"), "ns", 2),
        (Quantity(6, "count"), Quantity(3, "count"), "ratio", 2),
    ],
)
def test_quotients(left: Quantity, right: Quantity, unit: str, value: float) -> None:
    assert ((left / right).unit, (left / right).value) == (unit, value)


def test_plain_numbers_and_units() -> None:
    time = Quantity(10, "ns")
    assert str(2 * time) == str(time * 2) == "20 ns"
    assert (1 - Quantity(0.25, "share")).unit == "share"
    assert time > 0
    with pytest.raises(UnitError, match=r"as in us\(37\)"):
        assert time > 5
    with pytest.raises(UnitError):
        assert 1 / time
    with pytest.raises(UnitError, match="is not a number"):
        assert time + True
    with pytest.raises(ExpressionError, match="division by zero"):
        assert time / Quantity(0, "ns")
    with pytest.raises(ValueError, match="unknown unit"):
        Quantity(1, "furlong")


def test_events_and_steps_go_along() -> None:
    a, b = Made().op("a", 0, 1).op("b", 1, 2).trace().events
    one = Quantity.over_steps([("s1", 10), ("s2", 20), ("s3", 90)], "ns", [a])
    two = Quantity.over_steps([("s1", 5), ("s2", 5), ("s3", 9)], "ns", [b, a])
    assert (one.value, two.value) == (20, 5)
    assert (one / two).events == (a, b)
    assert (one / two).per_step == (("s1", 2), ("s2", 4), ("s3", 10))
    assert (one * 2).per_step == (("s1", 20), ("s2", 40), ("s3", 180))
    assert (one / Quantity.over_steps([("other", 5)], "ns", [b])).per_step == ()
