"""Evaluates an expression for the page being read, and says at its line where that cannot be done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kinetoscope.book.book import Names, UnknownName, book_of
from kinetoscope.book.messages import warn
from kinetoscope.book.used import note_fault, note_machine, note_use
from kinetoscope.measure import ExpressionError, TableError, evaluate
from kinetoscope.measure.expressions import Value
from kinetoscope.trace import TraceError

if TYPE_CHECKING:
    from sphinx.environment import BuildEnvironment


def compute(env: BuildEnvironment, expression: str, location: Callable[[], str]) -> Value | None:
    """The value of ``expression`` on the machine shown, or ``None`` where it has none there.

    On the machine the book is held to that is a warning at ``location``; on a rebuilder's own it is not:
    their GPU may do something else.  A damaged recording was warned about when the book was opened.
    """
    book = book_of(env)
    with noting_uses(env) as names:
        try:
            return evaluate(expression, names)
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
