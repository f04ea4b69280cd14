"""``{published}`figure <TAG>```: a figure of somebody else's, with its source."""

from __future__ import annotations

from docutils import nodes
from docutils.nodes import Node, system_message
from sphinx.util.docutils import ReferenceRole

from kinetoscope.book.dependencies import note_fault
from kinetoscope.book.messages import warn


class Published(ReferenceRole):
    """The title is the figure, the target a tag of ``kinetoscope_sources``."""

    def run(self) -> tuple[list[Node], list[system_message]]:
        sources: dict[str, tuple[str, str]] = self.config.kinetoscope_sources
        if not self.has_explicit_title or self.target not in sources:
            known = ", ".join(sources) or "none"
            warn(
                "name",
                f"{self.rawtext}: write the figure and its source, figure <TAG>; the sources are: {known}",
                self.get_location(),
            )
            note_fault(self.env)
            return [nodes.inline("", self.title)], []
        title, address = sources[self.target]
        box = nodes.inline("", self.title, classes=["ks-published"])
        tag = (
            nodes.reference("", self.target, refuri=address, reftitle=title, internal=False)
            if address
            else nodes.abbreviation("", self.target, explanation=title)
        )
        return [box, nodes.Text(" ("), tag, nodes.Text(")")], []
