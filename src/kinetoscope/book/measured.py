"""``{measured}`expression```: a number in a sentence, computed from the recording.

Many NAMEs make long expressions; ``{measured}`text <expression>``` does not exist on purpose: what is shown
is what was computed.
"""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from docutils.nodes import Node, system_message
from sphinx.util.docutils import SphinxRole

from kinetoscope.book.evaluate import Computed, compute
from kinetoscope.book.machine_variants import for_each_machine
from kinetoscope.measure.expressions import show


class measured(nodes.inline):
    """An inline number that was computed; ``expression`` and ``events`` say from what."""


def measured_node(expression: str, found: Computed, *classes: str) -> measured:
    """A computed value as it stands on a page, with what it was computed from."""
    node = measured(expression, show(found.value), classes=["ks-measured", *classes])
    node["expression"], node["events"] = expression, found.events
    return node


class Measured(SphinxRole):
    """The role.  A value that cannot be computed is a warning and is marked on the page, never a blank."""

    def run(self) -> tuple[list[Node], list[system_message]]:
        return for_each_machine(self.env, self._here, inline=True), []

    def _here(self) -> list[Node]:
        found = compute(self.env, self.text, self._location)
        if found is None:
            return [nodes.inline(self.text, "not measured here", classes=["ks-unmeasured"])]
        return [measured_node(self.text, found)]

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
