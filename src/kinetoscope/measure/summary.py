"""A trace in ten exact numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kinetoscope.measure.device import total
from kinetoscope.measure.intervals import covered
from kinetoscope.measure.presence import GPU, has
from kinetoscope.measure.printing import printed
from kinetoscope.trace import Kind
from kinetoscope.trace.columns import CODE, groups
from kinetoscope.trace.fields import NONE

if TYPE_CHECKING:
    from kinetoscope.trace import Finding, Trace


@dataclass(frozen=True, slots=True)
class Summary:
    """What a whole trace holds.  GPU activities are kernels, memcpy and memset."""

    events: int
    """complete events, of whatever category"""
    kernels: int
    """without copies"""
    kernel_sum_ns: int
    """their durations added up: two kernels that run at the same time count twice; it also has those
    whose times cannot be right"""
    gpu_busy_ns: int
    """time in which at least one GPU activity ran: the union of kernels and copies, on all devices"""
    gpu_span_ns: int
    """from the start of the first GPU activity to the end of the last"""
    linked: int
    """GPU activities whose launch is in the file"""
    unlinked: int
    """GPU activities whose launch is not in the file; all other numbers include them"""
    steps: int
    """``ProfilerStep#n`` ranges"""
    streams: int
    """streams with a GPU activity; the same number on two devices is two streams"""
    findings: list[Finding]
    """what was repaired, dropped or assumed: ``code``, ``count``, ``first`` place, ``meaning``"""


def summarize(trace: Trace) -> Summary:
    """The summary of a trace, from its columns."""
    columns = trace.columns
    gpu = np.flatnonzero(columns.on_gpu)
    kernels = columns.where(Kind.KERNEL)
    timed = np.flatnonzero(columns.timed)
    unlinked = int((columns.launch[gpu] == NONE).sum())
    lanes = [columns.lanes[number] for number in set(columns.lane[gpu].tolist())]
    return Summary(
        events=len(columns),
        kernels=len(kernels),
        kernel_sum_ns=total(columns.dur[kernels]),
        gpu_busy_ns=covered(columns, timed),
        gpu_span_ns=int(columns.end[timed].max() - columns.start[timed].min()) if len(timed) else 0,
        linked=len(gpu) - unlinked,
        unlinked=unlinked,
        steps=len(trace.steps_at),
        streams=len({(lane.pid, lane.device, lane.stream) for lane in lanes}),
        findings=list(trace.findings),
    )


def summary_lines(trace: Trace, summary: Summary) -> list[tuple[str, str, str]]:
    """The numbers of a summary as texts: each one's name, its value, and what it counts (or nothing)."""
    kinds = ", ".join(f"{number} {kind.value}" for kind, number in kind_counts(trace).items())
    counts = Counter(step.number for step in trace.steps_at)
    numbers = ", ".join(
        str(number) if count == 1 else f"{number} of {count} processes"
        for number, count in list(counts.items())[:12]
    )
    more = f" and {len(counts) - 12} more" if len(counts) > 12 else ""
    added = "durations added up"
    kernels = trace.columns.where(Kind.KERNEL)
    wrong = kernels[trace.columns.wrong[kernels]]
    if len(wrong):
        those = printed(total(trace.columns.dur[wrong]), "ns")
        added += f"; {those} of it are of {len(wrong):,} whose times cannot be right"
    busy = "kernels and copies, overlaps counted once"
    if summary.gpu_span_ns:
        busy = f"{printed(summary.gpu_busy_ns / summary.gpu_span_ns, 'share')} of the span; {busy}"
    if not has(trace, GPU):
        unmeasured = ("streams", "kernels", "kernel sum", "GPU busy", "GPU span", "linked")
        return [
            ("events", f"{summary.events:,}", kinds),
            ("steps", f"{summary.steps:,}", f"number {numbers}{more}" if numbers else ""),
            *((name, "not measured", "") for name in unmeasured),
        ]
    linked = f"{summary.linked:,} of {summary.linked + summary.unlinked:,}"
    return [
        ("events", f"{summary.events:,}", kinds),
        ("steps", f"{summary.steps:,}", f"number {numbers}{more}" if numbers else ""),
        ("streams", f"{summary.streams:,}", ""),
        ("kernels", f"{summary.kernels:,}", ""),
        ("kernel sum", printed(summary.kernel_sum_ns, "ns"), added),
        ("GPU busy", printed(summary.gpu_busy_ns, "ns"), busy),
        ("GPU span", printed(summary.gpu_span_ns, "ns"), "from the first to the last of them"),
        ("linked", linked, "kernels and copies whose launch is in the file"),
    ]


def kind_counts(trace: Trace) -> dict[Kind, int]:
    """How many events of each kind there are; kinds without events are left out."""
    columns = trace.columns
    counts = np.bincount(columns.kind, minlength=len(CODE)).tolist()
    return {kind: counts[code] for kind, code in CODE.items() if counts[code]}


def busy_by_device(trace: Trace) -> dict[tuple[int | str, int | None], int]:
    """ns in which at least one GPU activity ran, by (process, number) of each device, in that order.

    Ranks whose traces were merged into one file may each call their GPU number 0.
    """
    columns = trace.columns
    gpu = np.flatnonzero(columns.timed)
    busy = {}
    for there in groups(columns.device[columns.lane[gpu]]):
        lane = columns.lanes[int(columns.lane[gpu[there[0]]])]
        busy[lane.pid, lane.device] = covered(columns, gpu[there])
    return dict(sorted(busy.items(), key=lambda item: repr(item[0])))
