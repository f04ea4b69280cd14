"""What every directive that shows a recording shares: finding it, and saying so where it is not there."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar, TypeVar

from docutils import nodes
from docutils.nodes import Node
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from kinetoscope.book.book import Book, UnknownName, book_of
from kinetoscope.book.messages import warn
from kinetoscope.book.used import note_fault, note_use
from kinetoscope.measure import Table, TableError
from kinetoscope.trace import Trace, TraceError

Found = TypeVar("Found", Trace, Table)


class RecordedDirective(SphinxDirective):
    """A directive whose one argument is a NAME, with ``:machine:`` to pick another recording."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Callable[[str], object]]] = {"machine": directives.unchanged_required}

    @property
    def name_asked(self) -> str:
        return str(self.arguments[0])

    @property
    def machine_asked(self) -> str | None:
        return self.options.get("machine")

    @property
    def book(self) -> Book:
        return book_of(self.env)

    def find(self, get: Callable[[str, str | None], Found]) -> Found | None:
        """The trace or table asked for, or ``None`` after a warning.

        A damaged file was warned about when the book was opened: once, however many pages show it.
        """
        note_use(self.env, self.book, self.name_asked, self.machine_asked)
        try:
            return get(self.name_asked, self.machine_asked)
        except UnknownName as error:
            if self.book.is_strict or self.machine_asked:
                self.warn("name", str(error))
        except (TraceError, TableError):
            pass
        return None

    def warn(self, subtype: str, message: str) -> None:
        """A warning at the directive, given again by every build until it is seen to."""
        warn(subtype, message, self.get_location())
        note_fault(self.env)

    def refuse(self, subtype: str, message: str) -> list[Node]:
        """A warning at the directive, and a sentence on the page where the figure would be."""
        self.warn(subtype, message)
        return self.nothing_to_show()

    def nothing_to_show(self) -> list[Node]:
        text = f"{self.name_asked} cannot be shown here."
        return [nodes.paragraph(text, text, classes=["ks-unmeasured"])]

    def new_id(self, prefix: str) -> str:
        """An HTML id, unique in its page and the same in every build."""
        name = re.sub(r"\W+", "-", self.name_asked)
        return f"ks-{prefix}-{name}-{self.env.new_serialno('kinetoscope')}"


def patterns(text: str) -> list[str]:
    """``aten::t, *gemm*``: an option's list of name patterns."""
    return [part.strip() for part in text.split(",") if part.strip()]
