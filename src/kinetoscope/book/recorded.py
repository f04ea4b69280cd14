"""What every directive that shows a recording shares: finding it, and saying so where it is not there."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar, TypeVar

from docutils import nodes
from docutils.nodes import Node
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from kinetoscope.book.build_context import Book, UnknownName, book_of
from kinetoscope.book.dependencies import note_fault, note_use
from kinetoscope.book.machine_variants import for_each_copy, for_each_machine
from kinetoscope.book.messages import warn
from kinetoscope.measure.csvtable import CsvTable
from kinetoscope.measure.errors import TableError
from kinetoscope.trace import Trace, TraceError

Found = TypeVar("Found", Trace, CsvTable)


class RecordedDirective(SphinxDirective):
    """A directive whose one argument is a NAME, with ``:machine:`` to pick another recording.

    :meth:`show` is called once for each machine that a reader can choose, as if it were the only one.
    """

    required_arguments = 1
    option_spec: ClassVar[dict[str, Callable[[str], object]]] = {"machine": directives.unchanged_required}

    _captions: dict[str, list[Node]] | None = None
    _serials: list[int]
    _ids = 0

    def run(self) -> list[Node]:
        self._serials = []
        if self.machine_asked or len(self.book.here) == 1:
            return self.show()
        self._captions = for_each_copy(self.env, self.parse_content_to_nodes(), self.state.document)
        return for_each_machine(self.env, self._once_more)

    def _once_more(self) -> list[Node]:
        self._ids = 0
        return self.show()

    def show(self) -> list[Node]:
        """What stands on the page."""
        raise NotImplementedError

    def caption(self) -> list[Node]:
        """The directive's content, with what it says of the machine shown."""
        if self._captions is None:
            return self.parse_content_to_nodes()
        return self._captions[self.book.shown]

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
        """A warning at the directive, given again by every build until it is seen to.

        None where it is about a machine that a reader has to choose first: it may have done something else.
        """
        if not self.book.is_default and not self.machine_asked:
            return
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
        """An HTML id, unique in its page, the same in every build, and alike for every machine."""
        name = re.sub(r"\W+", "-", self.name_asked)
        if self._ids == len(self._serials):
            self._serials.append(self.env.new_serialno("kinetoscope"))
        number = self._serials[self._ids]
        self._ids += 1
        ident = f"ks-{prefix}-{name}-{number}"
        return ident if self.book.is_default else f"{ident}-on-{nodes.make_id(self.book.shown)}"


def patterns(text: str) -> list[str]:
    """``aten::t, *gemm*``: an option's list of name patterns."""
    return [part.strip() for part in text.split(",") if part.strip()]
