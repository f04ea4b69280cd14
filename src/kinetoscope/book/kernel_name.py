"""``{kernel-name} NAME``: a trace's kernels' names taken apart, each part with its known meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from docutils import nodes
from docutils.nodes import Node
from docutils.parsers.rst import directives

from kinetoscope.book.nodes import recorded_table
from kinetoscope.book.recorded import RecordedDirective
from kinetoscope.draw.table import Column, cell_texts, html_table
from kinetoscope.kernel_names import KernelName, Part, decode
from kinetoscope.measure.selection import matches

_COLUMNS = (
    Column("text", "part"),
    Column("field", "what it is", "text"),
    Column("meaning", "what it says", "text"),
)


class KernelNameTable(RecordedDirective):
    """Every kernel of a trace, or those that ``:kernel:`` matches, each name once."""

    option_spec: ClassVar[dict[str, Callable[[str], object]]] = {
        **RecordedDirective.option_spec,
        "kernel": directives.unchanged_required,
    }

    def show(self) -> list[Node]:
        trace = self.find(self.book.trace)
        if trace is None:
            return self.nothing_to_show()
        pattern = self.options.get("kernel", "*")
        names = [name for name in dict.fromkeys(k.name for k in trace.kernels) if matches(name, pattern)]
        if not names:
            if self.book.is_strict:
                return self.refuse("name", f"{self.name_asked} has no kernel called {pattern!r}")
            return self.nothing_to_show()
        return [node for name in names for node in self._apart(decode(name))]

    def _apart(self, kernel: KernelName) -> list[Node]:
        rows = [_row(part) for part in kernel.parts]
        node = recorded_table()
        node["html"] = html_table(_COLUMNS, rows, caption=f"{kernel.maker}: {kernel.name}", css="ks-parts")
        node["head"], node["body"] = [column.heading for column in _COLUMNS], cell_texts(_COLUMNS, rows)
        self.set_source_info(node)
        return [nodes.paragraph("", kernel.what, classes=["ks-kernel-what"]), node]


def _row(part: Part) -> dict[str, str]:
    return {
        "text": part.text,
        "field": part.field if part.known else "not documented",
        "meaning": part.meaning or "–",
    }
