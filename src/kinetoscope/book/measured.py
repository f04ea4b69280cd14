"""``{measured}`expression```: a number in a sentence, computed from the recording.

Many NAMEs make long expressions; ``{measured}`text <expression>``` does not exist on purpose: what is shown
is what was computed.
"""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from docutils.nodes import Node, system_message
from sphinx.util.docutils import SphinxRole

from kinetoscope.book.book import UnknownName, book_of
from kinetoscope.book.messages import warn
from kinetoscope.book.used import note_fault, note_machine, note_use
from kinetoscope.measure import ExpressionError, TableError, evaluate, show
from kinetoscope.trace import TraceError


class measured(nodes.inline):
    """An inline number that was computed: its expression is in ``expression``."""


class Measured(SphinxRole):
    """The role.  A value that cannot be computed is a warning and is marked on the page, never a blank."""

    def run(self) -> tuple[list[Node], list[system_message]]:
        book = book_of(self.env)
        names = book.vocabulary()
        try:
            text = show(evaluate(self.text, names))
        except (TraceError, TableError):
            return [self._not_measured()], []  # said of the file when the book was opened
        except (ExpressionError, UnknownName) as error:
            if book.is_strict:
                warn("expression", f"{self.text}: {error}", self._location())
                note_fault(self.env)
            return [self._not_measured()], []
        finally:
            for name in names.used:
                note_use(self.env, book, name)
            if names.asked_machine:
                note_machine(self.env, book)
        node = measured(self.text, text, classes=["ks-measured"])
        node["expression"] = self.text
        return [node], []

    def _location(self) -> str:
        """File and line of the role itself: docutils only tells where the paragraph begins."""
        source, begin = self.get_source_info()
        mark = (self.text.splitlines() or [""])[0].strip()
        try:
            lines = Path(source).read_text(encoding="utf-8").splitlines()
        except OSError:
            lines = []  # text that was made while building
        number = next((n for n, line in enumerate(lines, 1) if n >= begin and mark in line), begin)
        return f"{source}:{number}"

    def _not_measured(self) -> Node:
        return nodes.inline(self.text, "not measured here", classes=["ks-unmeasured"])
