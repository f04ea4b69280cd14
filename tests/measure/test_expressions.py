"""Expressions over the H200 samples: values, and one clear error for each thing that can be wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.measure.csvtable import CsvTable
from kinetoscope.measure.errors import ExpressionError, UnitError
from kinetoscope.measure.expressions import evaluate, show
from kinetoscope.measure.quantity import Quantity
from kinetoscope.measure.selection import matches
from kinetoscope.measure.vocabulary import VOCABULARY
from kinetoscope.trace import load

DATA = Path(__file__).parents[1] / "data"


class Machine:
    """Stands for what another room knows about the machine."""

    VOCABULARY_ATTRS = frozenset({"gpu", "gpu_arch", "sms", "driver"})
    gpu = "NVIDIA H200"
    gpu_arch = "sm_90"
    sms = 132
    driver = None
    secret = "token"


class Names(Mapping[str, Any]):
    """Short names for the samples; each is read when an expression uses it, as in the book."""

    FILES: ClassVar[dict[str, str]] = {
        "linear": "linear_1024_32_64_eager",
        "eager": "geglu_eager",
        "compiled": "geglu_compiled",
        "graph": "geglu_cudagraph",
        "matmul": "matmul_add_4096_compiled",
        "relu": "relu_mlp_1024_eager",
    }

    def __init__(self) -> None:
        self.cache: dict[str, Any] = {
            "machine": Machine(),
            "sweep": CsvTable.parse("rows,variant,t_us\n1,a,10\n1,b,5\n2,a,40\n", "sweep"),
            "flat": load(DATA / "small" / "14_pdl_overlap.json"),
            "one_launch": load(DATA / "small" / "24_graph_one_correlation.json"),
            "orphan": load(DATA / "small" / "25_orphan_kernel.json"),
        }

    def __getitem__(self, name: str) -> Any:
        if name not in self.cache:
            self.cache[name] = load(DATA / "traces" / f"{self.FILES[name]}.json.gz")
        return self.cache[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*self.FILES, "machine", "sweep", "flat", "one_launch", "orphan"])

    def __len__(self) -> int:
        return len(list(iter(self)))


NAMES = Names()


@pytest.mark.parametrize(
    "expression",
    [
        'count(linear.kernels) == 1 and "aten::add" not in linear.ops',
        '"aten::addmm" in linear.ops and "*nvjet*" in linear.kernels',
        'count(linear.ops.like("aten::add")) == 0',
        "count(relu.kernels) == 5",
        "count(graph.kernels) == 5 and count(graph.steps) == 3",
        "each(count(graph.kernels)) == 5",
        "not each(time(linear.ops)) < us(100)",
        "1 <= count(linear.kernels) < 2",
        "time(linear.kernels) == ns(2720) and time(linear.kernels) < us(37) < ms(1)",
        "time(linear.kernels) > 0",
        "max(time(linear.kernels)) - min(time(linear.kernels)) == spread(time(linear.kernels)) == ns(33)",
        "median(time(linear.kernels)) == time(linear.kernels)",
        "min(linear.kernels) == ns(2720) and max(linear.kernels) == ns(2753)",
        'count(eager.ops["aten::linear"].kernels) == 3',
        'names(eager.ops["aten::mul"].kernels.ops) == names(eager.ops["aten::mul"])',
        '(count(eager.ops) if "nothing" in eager.ops else 3) == 3',
        'count(eager.ops["aten::linear"].calls) >= 3 and count(eager.calls.kernels) == 5',
        'same_names(eager.kernels["*nvjet*"], compiled.kernels["*nvjet*"])',
        "not same_names(eager.kernels, compiled.kernels)",
        "count(matmul.copies) == 2 and count(matmul.kernels) == 1",
        'count(matmul.kernels.like("Memcpy*")) == 0',
        "time(linear.ops) <= time(linear.steps)",
        "self_time(linear.ops) < time(linear.ops)",
        "busy(eager) + idle(eager) <= span(eager)",
        "busy(eager) == busy(eager.steps)",
        "busy(eager.kernels) == time(eager.kernels)",
        "busy(flat.kernels) == us(15) and time(flat.kernels) == us(17)",
        "span(flat) == busy(flat) + idle(flat)",
        "time(eager.step(3).kernels) == max(time(eager.step(3).kernels))",
        "count(first(eager.kernels)) == 1",
        "launch_delay(first(eager.kernels)) <= launch_delay(eager.kernels)",
        "launch_delay(graph.kernels) > 0",
        "launch_delay(one_launch.kernels) == launch_delay(first(one_launch.kernels))",
        'launch_delay(one_launch.calls["cudaGraphLaunch"]) == launch_delay(one_launch.kernels)',
        "share(eager.kernels) == 1",
        'share(eager.kernels["*elementwise*"]) > percent(20)',
        'share(eager.kernels["*elementwise*"]) < 0.4',
        "0 < share(busy(eager), span(eager)) < 1",
        "abs(1 - 2) == 1 and -count(linear.kernels) == -1",
        "(1 + 2) * 2 / 3 - 2 == 0",
        'machine.gpu_arch == "sm_90" and "H200" in machine.gpu and machine.sms >= 132',
        'machine.driver != "580" and machine.driver == None',
        'sweep.at(rows=1, variant="a").t_us / sweep.at(rows=1, variant="b").t_us == 2',
        'max(sweep.column("t_us")) == us(40) and min(sweep.where(rows=1).column("t_us")) == us(5)',
        'each(sweep.column("t_us")) >= us(5)',
        "count(linear.kernels) ==\n    1",
        '"aten::addmm" in names(linear.ops)',
        "True and not False",
        # A guard may come before something that isn't there.
        '"nothing" in linear.ops and time(linear.ops["nothing"]) > us(1) or True',
    ],
)
def test_what_holds(expression: str) -> None:
    assert evaluate(expression, NAMES) is True


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ('time(compiled.kernels["triton_poi*"])', "37.3 µs"),
        ('time(eager.kernels["*elementwise*"]) / time(compiled.kernels["triton_poi*"])', "1.82×"),
        ("count(relu.kernels)", "5"),
        ("3", "3"),
        ("machine.gpu", "NVIDIA H200"),
        ("names(linear.kernels)", "nvjet_sm90_tst_64x8_64x16_1x2_h_bz_bias_TNT"),
        ("each(count(linear.kernels))", "1, 1 and 1"),
        ("count(linear.kernels) == 2", "no"),
        ("share(busy(linear), span(linear))", "3.7 %"),
        ("sweep.at(rows=2).variant", "a"),
    ],
)
def test_what_is_shown(expression: str, text: str) -> None:
    assert show(evaluate(expression, NAMES)) == text


@pytest.mark.parametrize("unit", ["ns", "bytes", "flop", "gb_s", "tflop_s", "percent"])
def test_the_largest_numbers_can_be_shown(unit: str) -> None:
    assert len(show(evaluate(f"{unit}(1e296)", {}))) > 250
    assert len(show(evaluate(f"-{unit}(1e296) / 3", {}))) > 250


def test_an_expression_may_have_two_hundred_levels() -> None:
    assert show(evaluate("-" * 199 + "1", {})) == "-1"
    assert show(evaluate("1" + " + 1" * 199, {})) == "200"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("time(eagre.kernels)", "unknown name 'eagre'; did you mean 'eager'"),
        ("time(eager.kernls)", "eager has no .kernls; did you mean 'kernels'"),
        ("cuont(eager.kernels)", "unknown function 'cuont'; did you mean 'count'"),
        ("count", r"count is a function; write count\(selection\)"),
        (
            'count(linear.ops["aten::ad"])',
            "'aten::ad' matches nothing in linear.ops: did you mean 'aten::addmm'",
        ),
        ('count(linear.ops["Aten::addmm"])', "matches nothing"),
        ("count(linear.ops[3])", "in quotes is needed"),
        ('linear["x"]', "only a selection can"),
        ("time(eager.kernels) / 0", "division by zero"),
        ("1 / (count(linear.kernels) - 1)", "division by zero"),
        ("count(eager.kernels", "cannot read 'count\\(eager.kernels' at column 6"),
        ("", "is empty"),
        ("1\n2", "cannot read"),
        ("1; 2", "cannot read"),
        ("x = 3", "cannot read"),
        ("\0", "cannot read"),
        ("1 +" * 900 + "1", "longer than 2000"),
        ("-" * 1900 + "1", "too large"),
        ("-" * 200 + "1", r"too large \(200 levels\)"),
        ("1" + " + 1" * 200, r"too large \(200 levels\)"),
        ("9" * 1000 + "*1.5", "too large"),
        ("9" * 1000, "too large"),
        ("us(1e999)", "too large"),
        ("ms(1e300)", "too large"),
        ("1e200 * 1e200", "too large or undefined"),
        ("us(1) / 1e-320", "too large or undefined"),
        ("1e999 - 1e999 == 3", "too large or undefined"),
        ("eager.kernels", "not a number, text or truth value"),
        ("eager", "not a number, text or truth value"),
        ("machine", "not a number, text or truth value"),
        ("machine.driver", "not a number, text or truth value"),
        ("eager.step", "not a number, text or truth value"),
        ("machine.secret", "machine has no .secret"),
        ("machine.__class__", "machine has no .__class__"),
        ("eager.trace", "eager has no .trace"),
        ("eager.kernels.events", "has no .events"),
        ("eager.kernels.whole", "has no .whole"),
        ("sweep.rows", "sweep has no .rows"),
        ("sweep.at(rows=2).cells", "sweep has no column|has no .cells"),
        ("names(eager.ops).count", "has no .count"),
        ('"abc".upper()', "has no .upper"),
        ("().__class__", "not part of the vocabulary"),
        ("[x for x in names(eager.ops)]", "not part of the vocabulary"),
        ("(lambda: 3)()", "cannot be called"),
        ("lambda: 3", "not part of the vocabulary"),
        ('f"{machine}"', "not part of the vocabulary"),
        ("__import__('os')", "unknown function '__import__'"),
        ("9**9**9", r"only \+ - \* / may join"),
        ("1 << 10000", r"only \+ - \* / may join"),
        ("'%1000000s' % 1", r"only \+ - \* / may join"),
        ("'{0.__class__}'.format(eager)", "has no .format"),
        ("eager.step.__func__", "has no .__func__"),
        ("1 & 2", r"only \+ - \* / may join"),
        ("~1", "not part of the vocabulary"),
        ('"a" * 1000', "'a' is not a number"),
        ("b'x'", "may stand here"),
        ("3j", "may stand here"),
        ("time()", r"write time\(selection\)"),
        ("time(eager.ops, 1, 2)", r"write time\(selection\)"),
        ("time(**machine)", r"\*\* is not part"),
        ("time(3)", "time needs a selection"),
        ("count(eager)", "count needs a selection"),
        ("eager.step(9).kernels", "eager has no step 9; its steps are: 2, 3, 4"),
        ("machine.gpu()", "is not a function"),
        ("not eager.kernels", "neither true nor false"),
        ("eager.kernels and True", "neither true nor false"),
        ("count(eager.kernels) and True", "neither true nor false"),
        ("each(count(eager.kernels))  and True", "neither true nor false"),
        ("1 if eager.ops else 2", "neither true nor false"),
        ("3 in eager.ops", "cannot be in"),
        ("1 is 1", "write == or !="),
        ("span(linear.copies)", "holds no events"),
        ("first(linear.copies)", "holds no events"),
        ('launch_delay(linear.calls["cudaDeviceSync*"])', "matches nothing"),
        ('launch_delay(orphan.kernels["*orphan*"])', "no launch of"),
        ("time(flat.steps)", "no step in the file"),
        ("share(3)", "share needs a selection"),
        ("share(time(eager.ops), us(3), 4)", "write share"),
        ("share(mb(1), us(3))", "is not part of"),
        ("us(us(3))", "has a unit already"),
        ("each(us(3))", "no value of its own for each step"),
        ('max(sweep.where(rows=9).column("t_us"))', "there are no values"),
        ("min()", "at least one value"),
    ],
)
def test_what_has_no_value(expression: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=message) as caught:
        evaluate(expression, NAMES)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 3000


@pytest.mark.parametrize(
    "expression",
    [
        "time(eager.kernels) + count(eager.kernels)",
        "time(eager.kernels) < 250",
        "time(eager.kernels) == count(eager.kernels)",
        "eager.kernels == eager.kernels",
        "machine.gpu == 3",
        'machine.gpu < "x"',
        "True == 1",
        "min(us(3), mb(4))",
        "time(eager.kernels) * time(eager.kernels)",
        '-"x"',
    ],
)
def test_units_are_checked(expression: str) -> None:
    with pytest.raises(UnitError):
        evaluate(expression, NAMES)


def test_a_result_knows_the_events_it_came_from() -> None:
    value = evaluate('time(compiled.kernels["triton_poi*"]) / time(eager.kernels["*elementwise*"])', NAMES)
    assert isinstance(value, Quantity)
    assert len(value.events) == 3 + 6
    assert len(value.per_step) == 0  # two traces have no steps in common
    own = evaluate("time(eager.kernels) / count(eager.kernels)", NAMES)
    assert isinstance(own, Quantity)
    assert len(own.per_step) == 3


def test_nested_events_of_one_selection_count_once() -> None:
    inner = evaluate('time(linear.ops["aten::linear"])', NAMES)
    assert evaluate('time(linear.ops["aten::*"])', NAMES) == inner


def test_the_steps_own_range_is_no_annotation() -> None:
    assert evaluate("names(linear.annotations)", NAMES) == ("linear_fwd",)


def test_brackets_in_a_pattern_are_brackets() -> None:
    assert matches("f[a]<int*>", "f[a]*")
    assert not matches("fa", "f[a]*")
    assert not matches("f", "F*")
    assert matches("k<[1]>", "k<[1]*") and not matches("k1", "k[1]")


def test_a_pattern_of_many_stars_is_held_against_a_long_name_in_no_time() -> None:
    begin = time.process_time()
    assert not matches("a" * 50_000, "*a*a*a*b")
    assert matches("a" * 50_000 + "b", "a*a*a*b")
    assert time.process_time() - begin < 1


def test_every_word_says_what_it_is() -> None:
    for name, entry in VOCABULARY.items():
        assert entry.what
        word = name.split(".")[-1]
        assert word in entry.signature
        assert (entry.function is None) == (entry.owner is not None) == ("." in name)
        if entry.owner is not None:
            assert hasattr(entry.owner, word)


@given(st.text(alphabet=" abceilnorstu.()[]\"'*+-/<=0123,:_", max_size=60))
def test_any_text_has_a_value_or_one_error(text: str) -> None:
    try:
        evaluate(text, NAMES)
    except ExpressionError as error:
        assert str(error)
