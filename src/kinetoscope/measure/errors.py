"""Errors in expressions and tables, and the ends of their messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class ExpressionError(ValueError):
    """An expression has no value; the message is one sentence that says what is wrong and what to do."""


class NotMeasured(ExpressionError):
    """The trace holds nothing of the kind that is asked for, so that none of it was measured.

    The message is a question: what was left out of the recording?  See :mod:`kinetoscope.measure.presence`.
    """


class UnitError(ExpressionError):
    """Two quantities can't be added, multiplied or compared."""


class TableError(ValueError):
    """A CSV file isn't a table; the message is one sentence that names the file and says what to do."""


def suggestion(word: str, known: Iterable[str], limit: int = 6) -> str:
    """The end of a message about an unknown ``word``: what was probably meant, or else what is known."""
    from difflib import get_close_matches

    names = list(dict.fromkeys(known))
    close = get_close_matches(word, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean {shortened(close[0])!r}?"
    if not names:
        return "there is none."
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return f"there is {', '.join(shortened(name) for name in names[:limit])}{more}."


def shortened(name: str, longest: int = 60) -> str:
    """``name``, or its beginning: kernel names run to 800 characters."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"
