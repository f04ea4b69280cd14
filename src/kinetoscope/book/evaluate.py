"""Evaluates an expression for the page being read, and says at its line where that cannot be done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kinetoscope.book.build_context import Names, UnknownName, book_of
from kinetoscope.book.dependencies import note_fault, note_machine, note_use
from kinetoscope.book.messages import warn
from kinetoscope.draw.table import event_places
from kinetoscope.measure.errors import ExpressionError, TableError
from kinetoscope.measure.expressions import Value, evaluate
from kinetoscope.measure.quantity import Quantity
from kinetoscope.trace import Trace, TraceError

if TYPE_CHECKING:
    from sphinx.environment import BuildEnvironment


@dataclass(frozen=True, slots=True)
class Computed:
    """A value, and what it was computed from."""

    value: Value
    events: str
    """``MACHINE/NAME:3 17 31``, one such for each trace: the places of the events among those of the file"""
    names: tuple[str, ...]
    """the NAMEs that were asked for"""


def compute(env: BuildEnvironment, expression: str, location: Callable[[], str]) -> Computed | None:
    """The value of ``expression`` on the machine shown, or ``None`` where it has none there.

    On the machine the book is held to that is a warning at ``location``; on a rebuilder's own it is not:
    their GPU may do something else.  A damaged recording was warned about when the book was opened.
    """
    book = book_of(env)
    with noting_uses(env) as names:
        try:
            value = evaluate(expression, names)
            asked = tuple(dict.fromkeys(names.used))
            return Computed(value, _events(names, value), asked)
        except (TraceError, TableError):
            return None
        except (ExpressionError, UnknownName) as error:
            if book.is_strict:
                warn("expression", f"{expression}: {error}", location())
                note_fault(env)
            return None


@contextmanager
def noting_uses(env: BuildEnvironment) -> Iterator[Names]:
    """The names of the machine shown; which of them were asked for is noted with the page at the end."""
    book = book_of(env)
    names = book.vocabulary()
    try:
        yield names
    finally:
        for name in names.used:
            note_use(env, book, name)
        if names.asked_machine:
            note_machine(env, book)


def _events(names: Names, value: Value) -> str:
    found = {id(event) for event in (value.events if isinstance(value, Quantity) else ())}
    places = {}
    for name in dict.fromkeys(names.used) if found else ():
        trace = names[name]
        if isinstance(trace, Trace):
            places[f"{names.machine_name}/{name}"] = [e for e in trace.events if id(e) in found]
    return event_places(places)
