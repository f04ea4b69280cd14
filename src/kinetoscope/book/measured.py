"""``{measured}`expression```: a number in a sentence, computed from the recording.

Many NAMEs make long expressions; ``{measured}`text <expression>``` does not exist on purpose: what is shown
is what was computed.
"""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from docutils.nodes import Node, system_message
from sphinx.util.docutils import SphinxRole

from kinetoscope.book.compute import compute
from kinetoscope.measure import show


class measured(nodes.inline):
    """An inline number that was computed: its expression is in ``expression``."""


class Measured(SphinxRole):
    """The role.  A value that cannot be computed is a warning and is marked on the page, never a blank."""

    def run(self) -> tuple[list[Node], list[system_message]]:
        value = compute(self.env, self.text, self._location)
        if value is None:
            return [nodes.inline(self.text, "not measured here", classes=["ks-unmeasured"])], []
        node = measured(self.text, show(value), classes=["ks-measured"])
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
