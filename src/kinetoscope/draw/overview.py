"""The overview of a trace: where the time of one step went, which kernels took most, what to look at next.

The sentences are those of :mod:`kinetoscope.measure.advice`.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from kinetoscope.draw.names import clean
from kinetoscope.draw.palette import class_of
from kinetoscope.draw.table import brief_name, event_indexes
from kinetoscope.measure.advice import advice
from kinetoscope.measure.printing import printed
from kinetoscope.measure.steps import step_table, typical, whole_row
from kinetoscope.measure.tables import kernel_table, op_table

if TYPE_CHECKING:
    from kinetoscope.measure.steps import StepRow
    from kinetoscope.measure.tables import Row
    from kinetoscope.trace import Trace

MOST_ROWS = 6
"""Kernels that are named"""


@dataclass(frozen=True, slots=True)
class Part:
    """A share of a span of time."""

    label: str
    ns: int
    busy: bool = False


@dataclass(frozen=True, slots=True)
class Overview:
    """What a reader sees first of a trace."""

    scope: str
    """What :attr:`parts` are of: ``step 3, of median length among five``"""
    span: int
    """ns, the sum of :attr:`parts`"""
    parts: tuple[Part, ...]
    """Busy, then idle by cause, the largest first; but for the first, what is 0 ns is left out"""
    top: tuple[Row, ...]
    """The kernels that took most time in the whole trace; without a GPU the ops, by self CPU time"""
    notes: tuple[str, ...]
    """Sentences on what to look at next, the most important first"""


def overview(trace: Trace) -> Overview:
    """Make the overview of the step of median length, or of the whole of a trace without steps.

    Steps that launched nothing on the GPU count only where none did.
    """
    steps = step_table(trace)
    launching = [step for step in steps if step.launches] or steps
    step = typical(launching) if steps else whole_row(trace)
    scope = f"step {step.number}" if steps else "the whole trace"
    if len(launching) > 1:
        scope += f", of median length among {len(launching)}"
    if len(launching) < len(steps):
        scope += (
            " that launched work"
            if len(launching) > 1
            else f", the only one of {len(steps)} that launched work"
        )
    kernels = kernel_table(trace)
    kinds = {row.name: row.kind for row in kernels}
    notes = tuple(
        sentence.words.format(*(brief_name(name, kinds.get(name)) for name in sentence.names))
        for sentence in advice(trace, step)
    )
    if not trace.columns.on_gpu.any():
        ops = sorted(op_table(trace), key=lambda row: -row.self_cpu)
        return Overview(scope, step.span, (), tuple(ops[:MOST_ROWS]), notes)
    idle = sorted(_causes(step), key=lambda part: -part.ns)
    own = Part("GPU busy", step.busy, busy=True)
    others = Part("GPU busy with work of other steps or of none", step.gpu_busy - step.busy, busy=True)
    parts = (own, *(part for part in (others, *idle) if part.ns))
    return Overview(scope, step.span, parts, tuple(kernels[:MOST_ROWS]), notes)


def _causes(step: StepRow) -> list[Part]:
    return [
        Part("idle: the CPU had not begun to launch what came next", step.idle_cpu),
        Part("idle: a launch was under way", step.idle_launch),
        Part("idle: the CPU waited for the GPU", step.idle_sync),
        Part("idle: the next was queued already", step.idle_queued),
        Part("idle: nothing more came", step.idle_end),
        Part("idle: before work whose launch is not in the file", step.idle_unknown),
    ]


def _percent(share: float) -> str:
    return "<0.1 %" if 0 < share < 0.0005 else printed(share, "share")


def overview_html(seen: Overview, *, trace: str) -> str:
    """Return two small tables with bars, and the sentences; rows light up events of ``trace`` (its key)."""
    tables = [_kernels(seen, trace)]
    if seen.parts:
        rows = "".join(
            _row(escape(part.label), part.ns, seen.span, "ks-kernel" if part.busy else "ks-wait")
            for part in seen.parts
        )
        tables.insert(0, _table(f"Where the {printed(seen.span, 'ns')} of {seen.scope} went", rows))
    notes = "".join(f"<li>{escape(clean(note))}</li>" for note in seen.notes)
    said = f"<ul>{notes}</ul>" if notes else ""
    return f'<section class="ks-glance"><h2>At a glance</h2><div>{"".join(tables)}</div>{said}</section>'


def _kernels(seen: Overview, trace: str) -> str:
    of_gpu = bool(seen.parts)
    rows = ""
    for row in seen.top:
        ns = row.device if of_gpu else row.self_cpu
        short = escape(brief_name(row.name, row.kind))
        name = f'<code title="{escape(clean(row.name), quote=True)}">{short}</code>'
        if row.launched_by:
            name += f' <span class="ks-unit">{escape(clean(", ".join(row.launched_by)))}</span>'
        kind = f"ks-{class_of(row.kind, row.name)}"
        rows += _row(
            name, ns, ns / row.share if row.share else 0, kind, f' data-events="{event_indexes(row.events)}"'
        )
    what = "Kernels that took most, of all kernel time" if of_gpu else "Ops that took most CPU time"
    return _table(what, rows, f' data-trace="{escape(trace, quote=True)}"') if rows else ""


def _table(caption: str, rows: str, of: str = "") -> str:
    label = escape(caption, quote=True)
    return (
        f'<div class="ks-table ks-glanced" role="group" tabindex="0" aria-label="{label}"{of}>'
        f"<table><caption>{escape(caption)}</caption><tbody>{rows}</tbody></table></div>"
    )


def _row(label: str, ns: int, whole: float, css: str, events: str = "") -> str:
    share = min(1.0, ns / whole) if whole else 0.0
    bar = (
        f'<svg class="ks-share {css}" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect width="{max(0.5, 100 * share):.1f}" height="8"/></svg>'
    )
    return (
        f'<tr{events}><th scope="row">{label}{bar}</th><td class="ks-number">{escape(_percent(share))}</td>'
        f'<td class="ks-number">{printed(ns, "ns")}</td></tr>'
    )
