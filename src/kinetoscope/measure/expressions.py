"""Evaluating an expression over a recording.

simpleeval walks the syntax tree; which nodes, operators, functions and attributes exist is decided
here and in :mod:`kinetoscope.measure.vocabulary`.  There are no loops, powers or comprehensions, so the
work is bounded by the length of the expression times the length of the traces.
"""

from __future__ import annotations

import ast
import inspect
import operator
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from simpleeval import InvalidExpression, SimpleEval

from kinetoscope.measure.csvtable import CsvTable, TableRow
from kinetoscope.measure.errors import ExpressionError, UnitError, suggestion
from kinetoscope.measure.functions import Each
from kinetoscope.measure.quantity import Quantity, describe, quantity
from kinetoscope.measure.selection import Selection, TraceView
from kinetoscope.measure.vocabulary import FUNCTIONS, attributes
from kinetoscope.trace import Trace

Value = Quantity | bool | str | tuple[Any, ...]

LONGEST = 2000
"""characters of an expression"""

_LINE_BREAK = re.compile(r"\s*\n\s*")


def evaluate(expression: str, names: Mapping[str, Any]) -> Value:
    """The value of ``expression``, in which ``names`` stand for traces, tables and the like.

    A name may stand for a :class:`Trace`, a :class:`CsvTable`, a method that may be called, or an object
    whose class has an attribute ``VOCABULARY_ATTRS: frozenset[str]`` (the attributes that may be read: text,
    numbers, true or false).
    Returns a :class:`Quantity`, a bool, a text, or a tuple of these.  Raises :class:`ExpressionError`
    (one sentence: what is wrong, what to do) for all that has no value.
    """
    try:
        return _result(_Evaluator(names).evaluate(expression), expression)
    except ExpressionError:
        raise
    except ZeroDivisionError as error:
        raise ExpressionError(f"division by zero in {expression.strip()!r}.") from error
    except InvalidExpression as error:
        raise ExpressionError(f"{expression.strip()!r}: {error}.") from error
    except (OverflowError, RecursionError, MemoryError) as error:
        raise ExpressionError("the expression is too large to evaluate; split it up.") from error


def selections(expression: str, names: Mapping[str, Any]) -> list[Selection]:
    """The selections that a valid ``expression`` is about, each once, in the order they are written.

    Of ``kernels["*gemm*"]`` that is the narrowed one, or the whole collection where nothing matches.
    """
    walk = _Evaluator(names)
    found: dict[str, Selection] = {}
    waiting: list[ast.AST] = [ast.parse(_LINE_BREAK.sub(" ", expression.strip()), mode="eval").body]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
            try:
                value = walk.value_of(node)
            except ExpressionError:
                value = None
            if isinstance(value, Selection):
                found.setdefault(value.source, value)
                continue
        waiting[:0] = ast.iter_child_nodes(node)
    return list(found.values())


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
        f"{expression.strip()!r} is no number, text or truth value; take count(…), time(…) or names(…) of it."
    )


class _Evaluator:
    """One evaluation: simpleeval's walk, with this module's handler for every kind of node."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names
        self._walk = SimpleEval(operators={}, functions={}, names={})
        self._walk.nodes = {
            ast.Constant: self._constant,
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Subscript: self._subscript,
            ast.Call: self._call,
            ast.UnaryOp: self._unary,
            ast.BinOp: self._binary,
            ast.BoolOp: self._logic,
            ast.Compare: self._compare,
            ast.IfExp: self._choice,
        }

    def evaluate(self, expression: str) -> Any:
        """The value of the expression, before it is checked to be one that may be shown."""
        text = _LINE_BREAK.sub(" ", expression.strip())
        if not text:
            raise ExpressionError("the expression is empty; write what is to be measured.")
        if len(text) > LONGEST:
            raise ExpressionError(f"the expression is longer than {LONGEST} characters; split it up.")
        try:
            with warnings.catch_warnings():
                # A backslash in a pattern is one; the parser would warn on the builder's console.
                warnings.simplefilter("ignore", SyntaxWarning)
                warnings.simplefilter("ignore", DeprecationWarning)
                tree = ast.parse(text, mode="eval")
        except (SyntaxError, ValueError) as error:
            place = f" at column {error.offset}" if isinstance(error, SyntaxError) and error.offset else ""
            reason = error.msg if isinstance(error, SyntaxError) else str(error)
            raise ExpressionError(f"cannot read {text!r}{place}: {reason}.") from error
        return self._value(tree.body)

    def value_of(self, node: ast.expr) -> Any:
        """The value of a part of an expression.  Raises :class:`ExpressionError` where it has none."""
        return self._value(node)

    def _value(self, node: ast.expr) -> Any:
        if type(node) not in self._walk.nodes:
            raise ExpressionError(
                f"{ast.unparse(node)!r} is not part of the vocabulary; see the reference for what is."
            )
        return self._walk._eval(node)

    def _constant(self, node: ast.Constant) -> Any:
        if node.value is None or isinstance(node.value, (bool, int, float, str)):
            return node.value
        raise ExpressionError(f"{ast.unparse(node)!r} is no number or text that may stand here.")

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
        owner = self._value(node.value)
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
        owner = self._value(node.value)
        if not isinstance(owner, Selection):
            raise ExpressionError(
                f"{ast.unparse(node.value)} cannot be narrowed by name; "
                'only a selection can, as in x.kernels["*gemm*"].'
            )
        return owner[self._value(node.slice)]

    def _call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name):
            entry = FUNCTIONS.get(node.func.id)
            function: Callable[..., Any]
            own = None if entry is not None else self._own_function(node.func.id)
            if own is not None:
                function, signature = own, f"{node.func.id}(…)"
            elif entry is None or entry.function is None:
                raise ExpressionError(
                    f"unknown function {node.func.id!r}; {suggestion(node.func.id, FUNCTIONS, limit=40)}"
                )
            else:
                function, signature = entry.function, entry.signature
        elif isinstance(node.func, ast.Attribute):
            function, signature = self._attribute(node.func), f"{ast.unparse(node.func)}(…)"
            if not inspect.ismethod(function):
                raise ExpressionError(f"{ast.unparse(node.func)} is no function; leave the parentheses out.")
        else:
            raise ExpressionError(f"{ast.unparse(node.func)!r} cannot be called.")
        keywords = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise ExpressionError("** is not part of the vocabulary.")
            keywords[keyword.arg] = self._value(keyword.value)
        arguments = [self._value(argument) for argument in node.args]
        try:
            inspect.signature(function).bind(*arguments, **keywords)
        except TypeError as error:
            raise ExpressionError(f"write {signature}: {error}.") from error
        return function(*arguments, **keywords)

    def _own_function(self, name: str) -> Callable[..., Any] | None:
        """The method that a name of this evaluation stands for."""
        try:
            found = self._names[name]
        except (KeyError, ExpressionError):
            return None
        return found if inspect.ismethod(found) else None

    def _unary(self, node: ast.UnaryOp) -> Any:
        value = self._value(node.operand)
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
        return join(quantity(self._value(node.left)), quantity(self._value(node.right)))

    def _logic(self, node: ast.BoolOp) -> bool:
        # As in Python the rest is not looked at once the answer is known: a guard may stand first.
        decides = isinstance(node.op, ast.Or)
        return next(
            (decides for part in node.values if _truth(self._value(part), part) is decides), not decides
        )

    def _compare(self, node: ast.Compare) -> bool:
        left = self._value(node.left)
        for comparison, part in zip(node.ops, node.comparators, strict=True):
            right = self._value(part)
            if not _compared(comparison, left, right):
                return False
            left = right
        return True

    def _choice(self, node: ast.IfExp) -> Any:
        return self._value(node.body if _truth(self._value(node.test), node.test) else node.orelse)


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
            # A fact that a machine does not have equals nothing but None.
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
