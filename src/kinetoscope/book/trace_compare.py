"""``{trace-compare} BEFORE AFTER``: two timelines on one scale, and what changed between them."""

from __future__ import annotations

from typing import ClassVar

from docutils import nodes
from docutils.nodes import Node
from docutils.parsers.rst import directives

from kinetoscope.book.assets import show_trace
from kinetoscope.book.directive import Option, Options, RecordedDirective
from kinetoscope.book.nodes import timeline
from kinetoscope.book.timeline import timeline_node
from kinetoscope.draw.layout import TimelineOptions, choose_window
from kinetoscope.draw.palette import CHANGE_LABELS, CHANGE_SIGNS
from kinetoscope.draw.table import event_places
from kinetoscope.draw.viewer_data import page_json
from kinetoscope.draw.views import CHANGE_COLUMNS, change_row
from kinetoscope.measure.compare import DEFAULT_KINDS, Pair, changes, compare, must_be_comparable
from kinetoscope.trace import Kind, Trace

_ALL = (*DEFAULT_KINDS, Kind.OP, Kind.CALL, Kind.ANNOTATION)


class TraceCompare(RecordedDirective):
    """Kernels and copies paired by name; ``:by: op`` pairs the ops instead."""

    required_arguments = 2
    has_content = True
    option_spec: ClassVar[Options] = {
        "by": Option(
            lambda text: directives.choice(text, ("kernel", "op")),
            "``kernel`` (if not given), with copies; or ``op``",
        ),
        "no-timelines": Option(directives.flag, "takes no value: leaves the two timelines out"),
        **RecordedDirective.option_spec,
    }

    def show(self) -> list[Node]:
        traces = []
        for name in self.arguments:
            self.name_asked = name
            traces.append(self.find(self.context.trace))
        before, after = traces
        kinds = (Kind.OP,) if self.options.get("by") == "op" else DEFAULT_KINDS
        must_be_comparable(before, after, *kinds)
        pairs = compare(before, after, *kinds)
        figures = [] if "no-timelines" in self.options else self._figures(before, after, pairs, kinds)
        return [*figures, self._table(pairs), *self.caption()]

    def _figures(self, before: Trace, after: Trace, pairs: list[Pair], kinds: tuple[Kind, ...]) -> list[Node]:
        # One scale: both windows are as long as the longer of the two.
        longest = max(choose_window(trace, TimelineOptions()).dur for trace in (before, after))
        figures: list[timeline] = []
        for name, trace, of_trace in zip(self.arguments, (before, after), changes(pairs), strict=True):
            self.name_asked = name
            when = "After: " if figures else "Before: "
            caption = nodes.paragraph("", "", nodes.Text(when), nodes.literal(name, name))
            options = TimelineOptions(at_least=longest, changes=of_trace)
            figures.append(timeline_node(self, trace, options))
            figures[-1] += caption
        paired = _paired(compare(before, after, *_ALL), kinds, [node["ids"][0] for node in figures])
        figures[-1]["html"] += f'<script type="application/json" class="ks-pairs">{paired}</script>\n'
        return [*figures]

    def _table(self, pairs: list[Pair]) -> Node:
        keys = [show_trace(self.env, name, self.machine_asked) for name in self.arguments]
        rows = [_row(pair, *keys) for pair in pairs]
        caption = f"From {self.arguments[0]} to {self.arguments[1]}, a step each"
        return self.table(CHANGE_COLUMNS, rows, caption=caption, trace=" ".join(keys))


def _paired(pairs: list[Pair], told: tuple[Kind, ...], figures: list[str]) -> str:
    """Write for the viewer which events belong together, as JSON that may stand in a page.

    It holds the ids of the two figures and the signs; for each name what became of it, in words and as a
    ratio, and the indexes of its events in the file before and the one after.  Bars of the kinds in
    ``told`` carry a sign.
    """
    listed = [
        {
            "change": pair.change,
            "said": CHANGE_LABELS[pair.change],
            "ratio": "" if pair.ratio is None else f"{pair.ratio:.2f}×",
            "told": pair.kind in told,
            "places": [[e.index for e in events] for events in (pair.events_before, pair.events_after)],
        }
        for pair in pairs
    ]
    return page_json({"figures": figures, "signs": CHANGE_SIGNS, "pairs": listed})


def _row(pair: Pair, before: str, after: str) -> dict[str, object]:
    """Return a pair's row with the places of its events; ``before`` and ``after`` are the traces' keys."""
    events = event_places({before: pair.events_before, after: pair.events_after})
    return {"events": events, **change_row(pair)}
