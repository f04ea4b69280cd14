"""Values computed from the recording, and the role ``{measured}`expression```: one of them in a sentence.

There is no ``{measured}`text <expression>``` on purpose: what is shown is what was computed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.nodes import Node, system_message
from sphinx.util.docutils import SphinxRole

from kinetoscope.book.build_context import Names, UnknownName, context_of
from kinetoscope.book.machine_variants import for_each_machine
from kinetoscope.book.nodes import NodeVisitors, around
from kinetoscope.book.page_data import note_machine, note_use, warn_on_page
from kinetoscope.draw.table import event_places
from kinetoscope.measure.errors import ExpressionError, TableError
from kinetoscope.measure.expressions import Value, evaluate, show
from kinetoscope.measure.quantity import Quantity
from kinetoscope.trace import Trace, TraceError

if TYPE_CHECKING:
    from sphinx.environment import BuildEnvironment


@dataclass(frozen=True, slots=True)
class Computed:
    """A value, and what it was computed from."""

    value: Value
    events: str
    """``MACHINE/NAME:3 17 31`` for each trace: the positions of the events among those of the file"""
    names: tuple[str, ...]
    """the NAMEs that were asked for"""


def compute(env: BuildEnvironment, expression: str, location: Callable[[], str]) -> Computed | None:
    """The value of ``expression`` on the machine shown, or ``None`` where it has none there.

    On the machine the book is held to, an expression without a value gets a warning at ``location``.  On
    another it gets none: that GPU may do something else.  Neither does a damaged recording, which got its
    warning when the build began.
    """
    context = context_of(env)
    names = context.names()
    try:
        value = evaluate(expression, names)
        return Computed(value, _events(names, value), tuple(dict.fromkeys(names.used)))
    except (TraceError, TableError):
        return None
    except (ExpressionError, UnknownName) as error:
        if context.is_strict:
            warn_on_page(env, "expression", f"{expression}: {error}", location())
        return None
    finally:
        for name in names.used:
            note_use(env, name)
        if names.asked_machine:
            note_machine(env)


def _events(names: Names, value: Value) -> str:
    events = {id(event) for event in (value.events if isinstance(value, Quantity) else ())}
    places = {}
    for name in dict.fromkeys(names.used) if events else ():
        trace = names[name]
        if isinstance(trace, Trace):
            places[f"{names.machine_name}/{name}"] = [e for e in trace.events if id(e) in events]
    return event_places(places)


class measured(nodes.inline):
    """A value in the text; ``expression`` and ``events`` say what it was computed from.

    Pointing at it shows the expression, and lights up the events.
    """


def _open_span(node: measured) -> str:
    title = escape(node["expression"], quote=True)
    events = f' data-events="{escape(node["events"], quote=True)}"' if node["events"] else ""
    return f'<span class="{" ".join(node["classes"])}" title="{title}"{events}>'


NODES: NodeVisitors = {measured: around(_open_span, "</span>")}


def measured_node(expression: str, computed: Computed, *classes: str) -> measured:
    """A computed value as the page shows it, with what it was computed from."""
    node = measured(expression, show(computed.value), classes=["ks-measured", *classes])
    node["expression"], node["events"] = expression, computed.events
    return node


class Measured(SphinxRole):
    """The role.  A value that cannot be computed is a warning and is marked on the page, never a blank."""

    def run(self) -> tuple[list[Node], list[system_message]]:
        return for_each_machine(self.env, self._value, inline=True), []

    def _value(self) -> list[Node]:
        computed = compute(self.env, self.text, self._location)
        if computed is None:
            return [nodes.inline(self.text, "not measured here", classes=["ks-unmeasured"])]
        return [measured_node(self.text, computed)]

    def _location(self) -> str:
        """File and line of the role itself: docutils only tells where the paragraph begins."""
        source, begin = self.get_source_info()
        mark = (self.text.splitlines() or [""])[0].strip()
        try:
            lines = Path(source).read_text(encoding="utf-8").splitlines()
        except OSError:
            lines = []  # the text was made by the build
        number = next((n for n, line in enumerate(lines, 1) if n >= begin and mark in line), begin)
        return f"{source}:{number}"
