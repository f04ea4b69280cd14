"""torch's own table, ``key_averages()``, computed from the events of the exported trace, one by one."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kinetoscope.trace import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kinetoscope.trace import Event, Trace

GPU_ANNOTATION_MARGIN = 2
"""ns by which an exported GPU annotation is longer than in torch's memory.

Kineto starts it one tick earlier and ends it one later, so that a viewer draws it around its kernels
(``libkineto/src/output_json.cpp``, ``handleActivity``).
"""


@dataclass(frozen=True, slots=True)
class TorchRow:
    """One row of ``prof.key_averages()``; times are sums over the trace in ns."""

    name: str
    calls: int
    self_cpu: int
    cpu: int
    self_device: int
    device: int
    on: str
    """``"CPU"`` or ``"CUDA"``"""
    user_annotation: bool


def torch_table(trace: Trace) -> list[TorchRow]:
    """The rows of torch's ``key_averages()``, grouped as there by name, device and user annotation.

    Semantics of ``torch.autograd.profiler_util`` (torch 2.11): runtime calls are rows and children of
    the op they lie in; a kernel's time is put down to the op or annotation that launched it and to all
    around it, and is a row of its own too; GPU annotations are rows whose time is that of their span; a call
    that is all there is in another of its name (``aten::sum`` in ``aten::sum``) is one with it.
    In the order in which the first event of each row began, CPU rows first.
    """
    device = DeviceTimes(trace.gpu)
    groups: dict[tuple[str, str, bool], list[Event]] = defaultdict(list)
    for event in trace.of(Kind.ANNOTATION, Kind.OP, Kind.CALL):
        groups[_row_name(event), "CPU", event.kind is Kind.ANNOTATION].append(event)
    for event in trace.events:
        if event.kind.on_gpu or event.kind is Kind.GPU_ANNOTATION:
            groups[_row_name(event), "CUDA", event.kind is Kind.GPU_ANNOTATION].append(event)
    rows = []
    for (name, on, annotation), events in groups.items():
        if on == "CPU":
            self_cpu = sum(event.self_dur for event in events)
            self_device = sum(device.own(event) for event in events)
            events = [event for event in events if not _is_repeated(event)]
            cpu = sum(event.dur for event in events)
            total_device = sum(device.total(event) for event in events)
        else:
            self_cpu = cpu = 0
            margin = GPU_ANNOTATION_MARGIN if annotation else 0
            self_device = total_device = sum(max(0, event.dur - margin) for event in events)
        rows.append(TorchRow(name, len(events), self_cpu, cpu, self_device, total_device, on, annotation))
    return rows


def _row_name(event: Event) -> str:
    return "ProfilerStep*" if event.name.startswith("ProfilerStep#") else event.name


def _is_repeated(event: Event) -> bool:
    """Whether torch takes it for one with the call around it (``EventList._remove_dup_nodes``)."""
    around = event.parent
    return around is not None and around.name == event.name and len(around.children) == 1


_OWNERS = frozenset({Kind.OP, Kind.ANNOTATION})


class DeviceTimes:
    """GPU time (ns) of CPU events: of what each launched itself, and of what was launched inside it.

    A GPU activity is owned by the innermost op or annotation around its launch, as in
    ``torch.autograd.profiler_util``; where nesting gives none, by the op that its External id names.
    """

    def __init__(self, activities: Iterable[Event]) -> None:
        self._own: dict[int, int] = defaultdict(int)
        self._total: dict[int, int] = defaultdict(int)
        for activity in activities:
            at = owner(activity)
            if at is not None:
                self._own[id(at)] += activity.dur
            while at is not None:
                self._total[id(at)] += activity.dur
                at = at.parent

    def own(self, event: Event) -> int:
        """ns on the GPU of what ``event`` launched outside its child ops."""
        return self._own.get(id(event), 0)

    def total(self, event: Event) -> int:
        """ns on the GPU of what was launched in ``event``, its children included."""
        return self._total.get(id(event), 0)


def owner(activity: Event) -> Event | None:
    """The op or annotation that a GPU activity's time is put down to; None if the file names none."""
    launch = activity.launch
    at = launch.parent if launch is not None else None
    while at is not None and at.kind not in _OWNERS:
        at = at.parent
    if at is None or at.kind is Kind.ANNOTATION:
        # A call nested in nothing but an annotation may still name its op.
        return (launch.named_op if launch is not None else None) or activity.named_op or at
    return at
