"""The digests of code: fixed values on every version of Python, and which changes count."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.record import digest
from kinetoscope.record.digest import chain, code_digest

# digests.json has their digests. All recordings contain digests, so if these change, all become stale.
CANARIES = [
    "x = f'', f'{y:}', f'{y:{a}{b}}', f'{y!s:{w}>4}', f'\\\\{y}'",
    "x = f'a' 'b' f'{c}' '' 'd' f'e'",
    "x = f'''{y = }\n{z:>{w}.{p}}\n'''",
    "x = 1",
    "def f(a, *, b=2, **c):\n    return [a, b, *c, {**c}]",
    "print(f'{x!r:>{width}} {y:.3f} {z=} {{}}', 'a' 'b' f'{c}' 'd')",
    "async def g():\n    async with a as b, c:\n        return await b[1:2, ..., ::3]",
    "class A(B, metaclass=C):\n    '''Doc.'''\n    x: int = 1_000\n    y = 1e400, 2j, b'\\x00', None, True",
    "match x:\n    case {'a': [1, *_], **rest} if rest:\n        pass\n    case A(b=1) | None:\n        pass",
    "try:\n    a\nexcept (A, B) as e:\n    raise C from e\nelse:\n    del x\nfinally:\n    assert x, 'why'",
    "lambda x, /, y: (yield x) if (z := y) else [i for i in x if i async for j in i]",
]

PYTHONS = [path for path in (Path.home() / ".pyenv/versions").glob("3.1*/bin/python") if path.is_file()]


@pytest.fixture(scope="module")
def known() -> dict[str, str]:
    return json.loads(Path(__file__).with_name("digests.json").read_text(encoding="utf-8"))


def test_known_values(known: dict[str, str]) -> None:
    assert {source: code_digest(source) for source in CANARIES} == known


@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: path.parts[-3])
def test_known_values_on_another_python(known: dict[str, str], python: Path) -> None:
    code = (
        "import json, sys; namespace = {}; exec(sys.argv[1], namespace);"
        "print(json.dumps({s: namespace['code_digest'](s) for s in json.loads(sys.argv[2])}))"
    )
    source = Path(digest.__file__).read_text(encoding="utf-8")
    run = subprocess.run(
        [python, "-c", code, source, json.dumps(CANARIES)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == known


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1", "x=1  # a comment\n\n"),
        ("x = 'a'", 'x = "a"'),
        ("x = 'a'", "x = u'a'"),
        ("x = 'ab'", "x = ('a'\n     'b')"),
        ("x = f'{a}'", 'x = f"{a}"'),
        ("x = f'{a}b'", "x = f'{a}' 'b'"),
        ("x = f'{a}'", "x = '' f'{a}' ''"),
        ("x = 1_000", "x = 1000"),
        ("x = 0x10", "x = 16"),
        ("f(a,\n  b)", "f(a, b,)"),
        ("x = (1)", "x = 1"),
        ("if a: b", "if a:\n        b"),
        ("x = 1  # type: int", "x = 1"),
    ],
)
def test_spelling_does_not_count(one: str, other: str) -> None:
    assert code_digest(one) == code_digest(other) != ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1", "x = 2"),
        ("x = 1", "x = 1.0"),
        ("x = 1", "x = True"),
        ("x = 1", "y = 1"),
        ("x = 'a'", "x = b'a'"),
        ("x = None", "x = 'None'"),
        ("f(a)", "f(a=a)"),
        ("f'{a}'", "f'{a!r}'"),
        ("f'{a:.2f}'", "f'{a:.3f}'"),
        ("f'{a}'", "f'{b}'"),
        ("a; b", "b; a"),
        ("[a, '']", "[a]"),
        ("f(a)\nf(b)", "f(a, f(b))"),
        ("{**a}", "{None: a}"),
        ("x[1:]", "x[:1]"),
    ],
)
def test_meaning_counts(one: str, other: str) -> None:
    assert code_digest(one) != code_digest(other)


def test_an_empty_string_inside_an_fstring_expression_counts() -> None:
    assert code_digest("f\"{f(a, '')}\"") != code_digest("f'{f(a)}'")


@pytest.mark.parametrize("source", ["", "\n\n", "# only a comment\n"])
def test_no_statement_has_no_digest(source: str) -> None:
    assert code_digest(source) == ""


def test_invalid_python_is_digested_as_text() -> None:
    assert code_digest("x = (") == code_digest("x = (") != code_digest("x = [")


@given(st.integers(), st.integers())
def test_a_constant_that_changes_changes_the_digest(one: int, other: int) -> None:
    assert (code_digest(f"x = {one}") == code_digest(f"x = {other}")) == (one == other)


@given(st.text(), st.sampled_from(["'", '"', "'''"]))
def test_any_string_in_any_quotes(text: str, quote: str) -> None:
    body = (
        repr(text)[1:-1].replace('"', '\\"') if repr(text)[0] == "'" else repr(text)[1:-1].replace("'", "\\'")
    )
    body = body.replace('\\\\"', '\\"')
    try:
        same = eval(f"{quote}{body}{quote}") == text
    except SyntaxError:
        same = False
    if same:
        assert code_digest(f"x = {quote}{body}{quote}") == code_digest(f"x = {text!r}")


def test_chain() -> None:
    one, other = code_digest("x = 1"), code_digest("x = 2")
    assert chain("", "") == ""
    assert chain("abc", "") == "abc"
    assert chain(chain("", one), other) != chain(chain("", other), one)
    assert chain("", one) != one
    assert len(chain("", one)) == 16
