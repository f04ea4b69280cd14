"""Evaluating an expression over a recording.

The expression is parsed by Python and evaluated node by node.  Only the kinds of nodes in
:attr:`_Evaluator._HANDLERS`, the operators below and the words in :mod:`kinetoscope.measure.vocabulary`
exist.  There are no powers, shifts, repeated texts, loops or comprehensions, and an expression has at most
:data:`LONGEST` characters, :data:`DEEPEST` levels and numbers up to
:data:`~kinetoscope.measure.quantity.LARGEST`.  So the work is bounded by the length of the expression times
the length of the traces.
"""

from __future__ import annotations

import ast
import inspect
import operator
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from kinetoscope.measure.csvtable import CsvTable, TableRow
from kinetoscope.measure.errors import ExpressionError, UnitError, suggestion
from kinetoscope.measure.quantity import Quantity, describe, quantity
from kinetoscope.measure.selection import Selection, TraceView
from kinetoscope.measure.vocabulary import FUNCTIONS, Each, attributes
from kinetoscope.trace import Trace

Value = Quantity | bool | str | tuple[Any, ...]

LONGEST = 2000
"""characters of an expression"""

DEEPEST = 200
"""levels of an expression, each a part of the one before: ``1 + 2 + 3`` has three"""

_LINE_BREAK = re.compile(r"\s*\n\s*")


def evaluate(expression: str, names: Mapping[str, Any]) -> Value:
    """The value of ``expression``, in which ``names`` stand for traces, tables and the like.

    A name may stand for a :class:`Trace`, a :class:`CsvTable`, a method that may be called, or an object
    whose class has an attribute ``VOCABULARY_ATTRS: frozenset[str]`` (the attributes that may be read: text,
    numbers, true or false).
    Returns a :class:`Quantity`, a bool, a text, or a tuple of these.  Raises :class:`ExpressionError`
    (one sentence: what is wrong, what to do) if the expression has no value.
    """
    try:
        return _result(_Evaluator(names).value(_parsed(expression)), expression)
    except (OverflowError, RecursionError, MemoryError) as error:
        raise ExpressionError("the expression is too large to evaluate; split it up.") from error


def selections(expression: str, names: Mapping[str, Any]) -> list[Selection]:
    """The selections that a valid ``expression`` is about, each once, in the order they are written.

    Of ``kernels["*gemm*"]`` that is the narrowed one, or the whole collection where nothing matches.
    """
    evaluator = _Evaluator(names)
    by_source: dict[str, Selection] = {}
    waiting: list[ast.AST] = [_parsed(expression)]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
            try:
                value = evaluator.value(node)
            except ExpressionError:
                value = None
            if isinstance(value, Selection):
                by_source.setdefault(value.source, value)
                continue
        waiting[:0] = ast.iter_child_nodes(node)
    return list(by_source.values())


def show(value: Value) -> str:
    """``value`` as it stands in a sentence: several joined by commas and "and", truth as yes or no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        *most, last = [show(item) for item in value] or [""]
        return f"{', '.join(most)} and {last}" if most else last
    return str(value)


def _result(value: Any, expression: str) -> Value:
    if isinstance(value, Each):
        return value.items
    if isinstance(value, (Quantity, bool, str, tuple)):
        return value
    if isinstance(value, (int, float)):
        return quantity(value)
    raise ExpressionError(
        f"{expression.strip()!r} is not a number, text or truth value; take count(…), time(…) or names(…) "
        "of it."
    )


def _parsed(expression: str) -> ast.expr:
    text = _LINE_BREAK.sub(" ", expression.strip())
    if not text:
        raise ExpressionError("the expression is empty; write what is to be measured.")
    if len(text) > LONGEST:
        raise ExpressionError(f"the expression is longer than {LONGEST} characters; split it up.")
    try:
        with warnings.catch_warnings():
            # A backslash in a pattern means itself; the parser would warn about it on the console.
            warnings.simplefilter("ignore", SyntaxWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError) as error:
        place = f" at column {error.offset}" if isinstance(error, SyntaxError) and error.offset else ""
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise ExpressionError(f"cannot read {text!r}{place}: {reason}.") from error


class _Evaluator:
    """Evaluates parts of an expression in which ``names`` have a meaning."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names
        self._depth = 0

    def value(self, node: ast.expr) -> Any:
        """The value of a part of an expression, which may be one that cannot be shown.

        Raises :class:`ExpressionError` where it has none.
        """
        handler = self._HANDLERS.get(type(node))
        if handler is None:
            raise ExpressionError(
                f"{ast.unparse(node)!r} is not part of the vocabulary; see the reference for what is."
            )
        if self._depth == DEEPEST:
            raise ExpressionError(f"the expression is too large ({DEEPEST} levels); split it up.")
        self._depth += 1
        try:
            return handler(self, node)
        finally:
            self._depth -= 1

    def _constant(self, node: ast.Constant) -> Any:
        if node.value is None or isinstance(node.value, (bool, int, float, str)):
            return node.value
        raise ExpressionError(f"{ast.unparse(node)!r} is not a number or text that may stand here.")

    def _name(self, node: ast.Name) -> Any:
        try:
            value = self._names[node.id]
        except KeyError:
            pass
        else:
            return TraceView(node.id, value) if isinstance(value, Trace) else value
        if node.id in FUNCTIONS:
            raise ExpressionError(f"{node.id} is a function; write {FUNCTIONS[node.id].signature}.")
        raise ExpressionError(f"unknown name {node.id!r}; {suggestion(node.id, self._names, limit=12)}")

    def _attribute(self, node: ast.Attribute) -> Any:
        owner = self.value(node.value)
        known = attributes(owner)
        source = ast.unparse(node.value)
        if known is None:
            raise ExpressionError(f"{source} has no .{node.attr}: it is {describe(owner)}.")
        if node.attr not in known or node.attr.startswith("_"):
            raise ExpressionError(f"{source} has no .{node.attr}; {suggestion(node.attr, known)}")
        if isinstance(owner, TableRow):
            return owner.get(node.attr)
        return getattr(owner, node.attr)

    def _subscript(self, node: ast.Subscript) -> Any:
        owner = self.value(node.value)
        if not isinstance(owner, Selection):
            raise ExpressionError(
                f"{ast.unparse(node.value)} cannot be narrowed by name; "
                'only a selection can, as in x.kernels["*gemm*"].'
            )
        return owner[self.value(node.slice)]

    def _call(self, node: ast.Call) -> Any:
        function, signature = self._function(node.func)
        keywords = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise ExpressionError("** is not part of the vocabulary.")
            keywords[keyword.arg] = self.value(keyword.value)
        arguments = [self.value(argument) for argument in node.args]
        try:
            inspect.signature(function).bind(*arguments, **keywords)
        except TypeError as error:
            raise ExpressionError(f"write {signature}: {error}.") from error
        return function(*arguments, **keywords)

    def _function(self, node: ast.expr) -> tuple[Callable[..., Any], str]:
        """What a call names, and how it is written: a function of the vocabulary, or a method."""
        source = ast.unparse(node)
        if isinstance(node, ast.Name):
            entry = FUNCTIONS.get(node.id)
            if entry is not None and entry.function is not None:
                return entry.function, entry.signature
            try:
                method = self._names[node.id]
            except (KeyError, ExpressionError):
                method = None
            if not inspect.ismethod(method):
                raise ExpressionError(
                    f"unknown function {source!r}; {suggestion(source, FUNCTIONS, limit=40)}"
                )
        elif isinstance(node, ast.Attribute):
            method = self._attribute(node)
            if not inspect.ismethod(method):
                raise ExpressionError(f"{source} is not a function; leave the parentheses out.")
        else:
            raise ExpressionError(f"{source!r} cannot be called.")
        return method, f"{source}(…)"

    def _unary(self, node: ast.UnaryOp) -> Any:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return not _truth(value, node.operand)
        if isinstance(node.op, ast.USub):
            return -quantity(value)
        if isinstance(node.op, ast.UAdd):
            return quantity(value)
        raise ExpressionError("~ is not part of the vocabulary.")

    def _binary(self, node: ast.BinOp) -> Any:
        join = _ARITHMETIC.get(type(node.op))
        if join is None:
            raise ExpressionError(
                f"in {ast.unparse(node)!r} only + - * / may join two numbers; for logic write and, or, not."
            )
        return join(quantity(self.value(node.left)), quantity(self.value(node.right)))

    def _logic(self, node: ast.BoolOp) -> bool:
        # As in Python, the rest is not evaluated once the answer is known, so a guard may come first.
        decides = isinstance(node.op, ast.Or)
        return next(
            (decides for part in node.values if _truth(self.value(part), part) is decides), not decides
        )

    def _compare(self, node: ast.Compare) -> bool:
        left = self.value(node.left)
        for comparison, part in zip(node.ops, node.comparators, strict=True):
            right = self.value(part)
            if not _compared(comparison, left, right):
                return False
            left = right
        return True

    def _choice(self, node: ast.IfExp) -> Any:
        return self.value(node.body if _truth(self.value(node.test), node.test) else node.orelse)

    _HANDLERS: ClassVar[dict[type[ast.expr], Callable[[_Evaluator, Any], Any]]] = {
        ast.Constant: _constant,
        ast.Name: _name,
        ast.Attribute: _attribute,
        ast.Subscript: _subscript,
        ast.Call: _call,
        ast.UnaryOp: _unary,
        ast.BinOp: _binary,
        ast.BoolOp: _logic,
        ast.Compare: _compare,
        ast.IfExp: _choice,
    }


_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}

_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def _truth(value: Any, node: ast.expr) -> bool:
    if isinstance(value, bool):
        return value
    raise ExpressionError(f"{ast.unparse(node)} is neither true nor false; compare it with something.")


def _compared(comparison: ast.cmpop, left: Any, right: Any) -> bool:
    if isinstance(comparison, (ast.In, ast.NotIn)):
        return _contains(right, left) is isinstance(comparison, ast.In)
    compare = _COMPARISONS.get(type(comparison))
    if compare is None:
        raise ExpressionError("write == or != instead of is or is not.")
    if isinstance(left, Each):
        return all(_compared(comparison, item, right) for item in left.items)
    if isinstance(right, Each):
        return all(_compared(comparison, left, item) for item in right.items)
    if compare in (operator.eq, operator.ne):
        for kind in (str, bool, tuple):
            if isinstance(left, kind) and isinstance(right, kind):
                return compare(left, right)
        if left is None or right is None:
            # A fact that a machine doesn't have is None, and equals nothing else.
            return compare(left, right) if left is right else compare is operator.ne
    for side in (left, right):
        if isinstance(side, (str, bool, tuple, Selection, TraceView, CsvTable, TableRow)) or side is None:
            raise UnitError(
                f"cannot compare {describe(left)} with {describe(right)}; compare two numbers or two texts "
                "(two selections: same_names(a, b))."
            )
    return compare(quantity(left), quantity(right))


def _contains(container: Any, item: Any) -> bool:
    if isinstance(container, (Selection, str)) and isinstance(item, str):
        return item in container
    if isinstance(container, tuple) and isinstance(item, (str, Quantity, int, float)):
        return any(type(member) is type(item) and member == item for member in container)
    raise ExpressionError(f'{describe(item)} cannot be in {describe(container)}; write "name" in x.kernels.')
