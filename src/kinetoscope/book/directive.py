"""What the directives share: documented options, finding a recording, and warning where it is not there."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from docutils import nodes
from docutils.nodes import Node
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from kinetoscope.book.build_context import BuildContext, UnknownName, context_of
from kinetoscope.book.machine_variants import for_each_copy, for_each_machine
from kinetoscope.book.nodes import recorded_table
from kinetoscope.book.page_data import note_use, warn_on_page
from kinetoscope.draw.table import Column, cell_texts, html_table
from kinetoscope.measure.csvtable import CsvTable
from kinetoscope.measure.errors import NotMeasured, TableError
from kinetoscope.trace import Trace, TraceError

Recorded = TypeVar("Recorded", Trace, CsvTable)


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a directive.  The lists in the documentation are made from these."""

    convert: Callable[[str], object]
    """turns what an author wrote into a value; raises ``ValueError`` if it cannot"""
    what: str
    """what to write, and what it does; code stands between double backticks"""

    def __call__(self, text: str) -> object:
        """What docutils calls: an ``option_spec`` holds functions."""
        return self.convert(text)


Options = dict[str, Any]
"""An ``option_spec``.  Every value is an :class:`Option`; docutils and mypy know it as a function"""


def text_option(what: str) -> Option:
    """An option whose value is text, and not empty."""
    return Option(directives.unchanged_required, what)


def patterns(text: str) -> list[str]:
    """``aten::t, *gemm*``: an option's list of name patterns."""
    return [part.strip() for part in text.split(",") if part.strip()]


class BookDirective(SphinxDirective):
    """A directive that reads the recordings."""

    option_spec: ClassVar[Options] = {}

    @property
    def context(self) -> BuildContext:
        return context_of(self.env)

    def warn(self, subtype: str, message: str) -> None:
        """Gives a warning at the directive, in every build until the fault is corrected.

        It gives none while the page is read for a machine that a reader has to choose first: that machine may
        have done something else.
        """
        if self.context.is_default:
            warn_on_page(self.env, subtype, message, self.get_location())


class NothingToShow(Exception):
    """What was asked for cannot be shown; whoever raises it has given a warning, if one is due."""


class RecordedDirective(BookDirective):
    """A directive whose one argument is a NAME, with ``:machine:`` to pick another recording.

    :meth:`show` is called once for each machine that a reader can choose, as if it were the only one.
    """

    required_arguments = 1
    option_spec: ClassVar[Options] = {
        "machine": text_option(
            "a folder of the recordings: show that machine's recording, not the one the book shows or the "
            "reader chooses"
        )
    }

    name_asked = ""
    """the NAME that is being shown; a directive about several shows one after the other"""
    _captions: dict[str, list[Node]] | None = None
    _serials: list[int]
    _ids = 0

    def run(self) -> list[Node]:
        self._serials = []
        self.name_asked = str(self.arguments[0])
        if self.machine_asked or len(self.context.reading) == 1:
            return self.shown()
        self._captions = for_each_copy(self.env, self.parse_content_to_nodes(), self.state.document)
        return for_each_machine(self.env, self.shown)

    def shown(self) -> list[Node]:
        """What :meth:`show` returns, or a sentence where it has nothing to show."""
        self._ids = 0
        try:
            return self.show()
        except NotMeasured as error:
            if self.context.is_strict:
                self.warn("name", f"{self.name_asked}: {error}")
            text = f"{self.name_asked}: not measured here."
            return [nodes.paragraph(text, text, classes=["ks-unmeasured"])]
        except NothingToShow:
            return self.nothing_to_show()

    def show(self) -> list[Node]:
        """What the page shows of one machine.  Raises :class:`NothingToShow`."""
        raise NotImplementedError

    def caption(self) -> list[Node]:
        """The directive's content, as it reads for the machine shown."""
        if self._captions is None:
            return self.parse_content_to_nodes()
        return self._captions[self.context.shown]

    @property
    def machine_asked(self) -> str | None:
        return self.options.get("machine")

    def find(self, get: Callable[[str, str | None], Recorded]) -> Recorded:
        """The trace or table asked for.  Raises :class:`NothingToShow` after a warning.

        A damaged file gets no warning here: the build gave one when it began, however many pages show it.
        """
        note_use(self.env, self.name_asked, self.machine_asked)
        try:
            return get(self.name_asked, self.machine_asked)
        except UnknownName as error:
            if self.context.is_strict or self.machine_asked:
                self.warn("name", str(error))
            raise NothingToShow from error
        except (TraceError, TableError) as error:
            raise NothingToShow from error

    def warn(self, subtype: str, message: str) -> None:
        """As for any directive; always, if the author named the machine."""
        if self.context.is_default or self.machine_asked:
            warn_on_page(self.env, subtype, message, self.get_location())

    def refuse(self, subtype: str, message: str) -> NothingToShow:
        """Gives a warning at the directive.  The caller raises what this returns."""
        self.warn(subtype, message)
        return NothingToShow(message)

    def nothing_to_show(self) -> list[Node]:
        text = f"{self.name_asked} cannot be shown here."
        return [nodes.paragraph(text, text, classes=["ks-unmeasured"])]

    def table(self, columns: Sequence[Column], rows: Sequence[object], **given: Any) -> recorded_table:
        """The node of a table.  ``given``: other arguments of :func:`kinetoscope.draw.table.html_table`."""
        node = recorded_table()
        node["html"] = html_table(columns, rows, **given)
        node["head"], node["body"] = [column.heading for column in columns], cell_texts(columns, rows)
        self.set_source_info(node)
        return node

    def new_id(self, prefix: str) -> str:
        """An HTML id: unique in its page, the same in every build, and alike for every machine."""
        name = re.sub(r"\W+", "-", self.name_asked)
        if self._ids == len(self._serials):
            self._serials.append(self.env.new_serialno("kinetoscope"))
        number = self._serials[self._ids]
        self._ids += 1
        ident = f"ks-{prefix}-{name}-{number}"
        return ident if self.context.is_default else f"{ident}-on-{nodes.make_id(self.context.shown)}"
