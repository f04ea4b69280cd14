"""The overview of a trace: where the time of one step went, which kernels took most, what to look at next.

Each sentence states the numbers behind it.  Its advice follows from :mod:`kinetoscope.measure.idle_time` and
the tables alone, so that a reader can check it on the same page.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from statistics import median
from typing import TYPE_CHECKING

from kinetoscope.draw.names import clean
from kinetoscope.draw.palette import kind_class
from kinetoscope.draw.table import brief_name
from kinetoscope.measure.printing import printed
from kinetoscope.measure.steps import regime, step_table, typical, whole_row
from kinetoscope.measure.tables import copy_table, kernel_table, op_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kinetoscope.measure.steps import Regime, StepRow
    from kinetoscope.measure.tables import Row
    from kinetoscope.trace import Trace

MOST_ROWS = 6
"""Kernels that are named"""

WORTH = 0.1
"""A cause of waiting gets a sentence from this share of a step's length on"""

MANY = 100
"""With fewer kernels than this, short ones get no sentence"""


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
    """Busy, then idle by cause, the largest first; causes of 0 ns are left out"""
    top: tuple[Row, ...]
    """The kernels that took most time in the whole trace; without a GPU the ops, by self CPU time"""
    notes: tuple[str, ...]
    """Sentences on what to look at next, the most important first"""


def overview(trace: Trace) -> Overview:
    """Make the overview of the step of median length, or of the whole of a trace without steps."""
    steps = step_table(trace)
    step = typical(steps) if steps else whole_row(trace)
    scope = "the whole trace"
    if steps:
        scope = f"step {step.number}" + (f", of median length among {len(steps)}" if len(steps) > 1 else "")
    kernels = kernel_table(trace)
    if not trace.gpu:
        ops = sorted(op_table(trace), key=lambda row: -row.self_cpu)
        return Overview(scope, step.span, (), tuple(ops[:MOST_ROWS]), tuple(_without_gpu(trace)))
    idle = sorted(_causes(step), key=lambda part: -part.ns)
    parts = (Part("GPU busy", step.gpu_busy, busy=True), *(part for part in idle if part.ns))
    return Overview(scope, step.span, parts, tuple(kernels[:MOST_ROWS]), tuple(_notes(trace, step, kernels)))


def _causes(step: StepRow) -> list[Part]:
    return [
        Part("idle: the CPU had not begun to launch what came next", step.idle_cpu),
        Part("idle: a launch was under way", step.idle_launch),
        Part("idle: the CPU waited for the GPU", step.idle_sync),
        Part("idle: the next was queued already", step.idle_queued),
        Part("idle: nothing more came", step.idle_end),
        Part("idle: before work whose launch is not in the file", step.idle_unknown),
    ]


def _without_gpu(trace: Trace) -> Iterator[str]:
    count = {finding.code: finding.count for finding in trace.findings}
    unknown = count.get("unknown-categories", 0)
    if "no-gpu-events" in count:
        yield (
            "Kernels were launched, and none was recorded: pass ProfilerActivity.CUDA to the profiler, and "
            "see that no other profiler holds the GPU's counters."
        )
    elif not unknown:
        yield "There is no GPU activity in the file, so what is here tells of the CPU alone."
    if unknown:
        yield (
            f"{unknown:,} events are of a category that is not known here: they may be another vendor's "
            "device, so what is here tells of the CPU alone. They are counted among the events, and neither "
            "drawn nor in a table."
        )


def _notes(trace: Trace, step: StepRow, kernels: Sequence[Row]) -> Iterator[str]:
    share = {name: getattr(step, name) / step.span if step.span else 0.0 for name in _ADVICE}
    bound = regime(step)
    if bound is not None:
        yield _REGIMES[bound]
    for name, advice in sorted(_ADVICE.items(), key=lambda each: -share[each[0]]):
        if share[name] >= WORTH:
            time = printed(getattr(step, name), "ns")
            yield f"{printed(share[name], 'share')} ({time}) {advice}"
    if kernels and kernels[0].share >= 0.25:
        first = kernels[0]
        by = f", launched by {clean(', '.join(first.launched_by))}" if first.launched_by else ""
        yield (
            f"{brief_name(first.name)}{by}, takes {printed(first.share, 'share')} of all kernel time. "
            "A faster one, or fewer of it, helps most on the GPU's side."
        )
    launches = [event.launch.dur for event in trace.kernels if event.launch is not None]
    typical_launch = int(median(launches)) if launches else 0
    total = len(trace.kernels)
    short = sum(event.dur < typical_launch for event in trace.kernels)
    if total >= MANY and 2 * short > total:
        yield (
            f"{printed(short / total, 'share')} of the {total:,} kernels are shorter than the median call "
            f"that launched one ({printed(typical_launch, 'ns')}). Fusing them (torch.compile, fused "
            "optimizers, foreach) saves launches."
        )
    for row in copy_table(trace):
        if "Pageable" in row.name:
            yield (
                f"{row.name} occurs {row.calls:,}×: the CPU waits for such a copy. "
                "Pin the memory, and copy with non_blocking=True."
            )
            break


_ADVICE = {
    "idle_cpu": "of this time the GPU waited for the CPU to begin the next launch. Look above the gaps in "
    "the timeline at what the CPU did there; CUDA graphs (torch.compile's mode reduce-overhead makes them) "
    "or larger batches leave it less to do.",
    "idle_launch": "of this time the GPU waited for launches under way. Fewer launches help: fusion, or CUDA "
    "graphs.",
    "idle_sync": "of this time the GPU had run dry while the CPU waited for it. Look for .item(), .cpu(), "
    "printing or explicit synchronization, and do it less often.",
    "idle_queued": "of this time the next activity was queued and did not run: one stream waits for another, "
    "or the GPU hands over from one short kernel to the next.",
    "idle_end": "of this time nothing ran on the GPU any more. See what the CPU does at its end.",
}

_REGIMES: dict[Regime, str] = {
    "overhead-bound": "Overhead-bound: the GPU waits for the CPU for most of it. Work on the CPU side, or on "
    "fewer launches, pays.",
    "communication-bound": "Communication-bound: for most of it the GPU only communicates with others. A "
    "kernel that does also runs while it waits for the other ranks.",
    "gpu-bound": "GPU-bound: the GPU computes for most of it. Faster kernels pay, not a faster CPU.",
    "mixed": "Mixed: neither the CPU nor the GPU alone decides how long it takes.",
}


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
        name = f'<code title="{escape(clean(row.name), quote=True)}">{escape(brief_name(row.name))}</code>'
        if row.launched_by:
            name += f' <span class="ks-unit">{escape(clean(", ".join(row.launched_by)))}</span>'
        events = " ".join(str(event.index) for event in row.events)
        kind = f"ks-{kind_class(row.events[0])}" if row.events else ""
        rows += _row(name, ns, ns / row.share if row.share else 0, kind, f' data-events="{events}"')
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
