"""A trace as tables: by op, annotation, kernel, copy, runtime call and step.

All times are integer nanoseconds unless a field says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from kinetoscope.measure.device import device_times, in_its_like, op_of, sums
from kinetoscope.measure.device import total as sum_of
from kinetoscope.trace import COPIES, Kind, Step
from kinetoscope.trace.columns import CODE, KINDS, NONE, EventsAt, among, columns_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from kinetoscope.trace import Event, StepAt, Trace
    from kinetoscope.trace.columns import Columns

NO_LAUNCH = "(no launch in trace)"
"""Stands for the op of a GPU activity whose launch is not in the file."""
NO_OP = "(no op)"
"""Stands for the op of a GPU activity that was launched outside any op."""


class Row(msgspec.Struct, frozen=True):
    """All events of one name in a table.  Sums and extremes are over the events the row was made from.

    An op may call itself (``aten::sum`` of all has ``aten::sum`` over dimensions inside): these are two
    calls, and their time is in ``cpu`` and ``device`` once.
    """

    name: str
    kind: Kind
    calls: int
    self_cpu: int
    """ns on the CPU outside child ops and calls; 0 for GPU rows"""
    cpu: int
    """ns on the CPU, children included; 0 for GPU rows"""
    self_device: int
    """ns on the GPU: of the activities themselves, or of those an op launched outside its child ops"""
    device: int
    """ns on the GPU, those of children included"""
    mean: float
    """ns an event, of the events' own durations (so are the next three)"""
    median: float
    min: int
    max: int
    share: float
    """0..1: GPU rows, of the summed time of the table's GPU activities; CPU rows, of its summed self CPU"""
    launched_by: tuple[str, ...]
    """GPU rows: the names of the ops they were launched from; empty for CPU rows"""
    events: Sequence[Event]


def op_table(trace: Trace, step: Step | StepAt | None = None) -> list[Row]:
    """A row for each op name, the most self CPU time first; of one step only if ``step`` is given."""
    return _cpu_table(trace, Kind.OP, step)


def annotation_table(trace: Trace, step: Step | StepAt | None = None) -> list[Row]:
    """A row for each annotation name (every ``ProfilerStep#n`` as ``ProfilerStep*``), as :func:`op_table`."""
    return _cpu_table(trace, Kind.ANNOTATION, step)


def call_table(trace: Trace, step: Step | StepAt | None = None) -> list[Row]:
    """A row for each runtime and driver call name; ``device`` is the time of the activities they started."""
    return _cpu_table(trace, Kind.CALL, step)


def kernel_table(trace: Trace, step: Step | StepAt | None = None) -> list[Row]:
    """A row for each kernel name, the most GPU time first.  Copies are no kernels: :func:`copy_table`."""
    return _gpu_table(trace, frozenset({Kind.KERNEL}), step)


def copy_table(trace: Trace, step: Step | StepAt | None = None) -> list[Row]:
    """A row for each memcpy and memset name, the most GPU time first."""
    return _gpu_table(trace, COPIES, step)


def _row_name(name: str) -> str:
    """The name that events of this name are grouped under: one for all steps, as in torch's tables."""
    return "ProfilerStep*" if name.startswith("ProfilerStep#") else name


def cpu_events(trace: Trace, step: Step | None = None) -> list[Event]:
    """Annotations, ops and calls of the trace, or those inside one step (its own range among them)."""
    if step is None:
        return trace.of(Kind.ANNOTATION, Kind.OP, Kind.CALL)
    inside = {id(event): event for top in step.cpu for event in top.walk()}
    return [step.event, *sorted(inside.values(), key=lambda event: (event.start, -event.dur, event.index))]


def _cpu_table(trace: Trace, kind: Kind, step: Step | StepAt | None) -> list[Row]:
    columns = columns_of(trace)
    cpu, gpu = _scope(trace, step)
    at = cpu[columns.kind[cpu] == CODE[kind]]
    own, total = _device_times(columns, gpu, of_all=step is None)
    if kind is Kind.CALL:
        total = sums(columns.dur[gpu], columns.launch[gpu], len(columns))
    groups = Groups(trace, at)
    self_cpu = groups.sum(columns.self_dur)
    # What lies in another of its name is in that one's total already.
    counted = np.zeros(len(columns), bool)
    counted[at[~in_its_like(columns, at)]] = True
    whole = int(self_cpu.sum())
    rows = groups.rows(
        self_cpu=self_cpu,
        cpu=groups.sum(columns.dur * counted),
        self_device=groups.sum(own),
        device=groups.sum(total * counted),
        share=self_cpu.astype(np.float64) / (whole or 1),
    )
    return sorted(rows, key=lambda row: (-row.self_cpu, row.name))


def _device_times(
    columns: Columns, gpu: NDArray[np.intp], of_all: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """:func:`device_times`, found once for all activities of the trace."""
    if not of_all:
        return device_times(columns, gpu)
    if "device_times" not in columns.once:
        columns.once["device_times"] = device_times(columns, gpu)
    own, total = columns.once["device_times"]
    return own, total


def _gpu_table(trace: Trace, kinds: frozenset[Kind], step: Step | StepAt | None) -> list[Row]:
    columns = columns_of(trace)
    _, gpu = _scope(trace, step)
    groups = Groups(trace, gpu[among(columns.kind[gpu], [CODE[kind] for kind in kinds], len(KINDS))])
    time = groups.sum(columns.dur)
    whole = int(time.sum())
    nothing = time * 0
    rows = groups.rows(
        self_cpu=nothing,
        cpu=nothing,
        self_device=time,
        device=time,
        share=time.astype(np.float64) / (whole or 1),
        launched_by=groups.launchers(),
    )
    return sorted(rows, key=lambda row: (-row.device, row.name))


def _scope(trace: Trace, step: Step | StepAt | None) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of the CPU events (annotations, ops, calls) and the GPU activities of a step or the trace."""
    columns = columns_of(trace)
    if step is None:
        return columns.where(Kind.ANNOTATION, Kind.OP, Kind.CALL), np.flatnonzero(columns.on_gpu)
    if isinstance(step, Step):
        step = next(at for at, known in zip(trace.steps_at, trace.steps, strict=True) if known is step)
    return columns.with_all_below(step.cpu, step.event), step.gpu


@dataclass(frozen=True)
class Groups:
    """Events (positions ``at``, in order of start) by name; every ``ProfilerStep#n`` is one name."""

    trace: Trace
    at: NDArray[np.intp]

    @cached_property
    def _named(self) -> tuple[list[str], NDArray[np.intp]]:
        columns = columns_of(self.trace)
        name = columns.name[self.at]
        there = np.flatnonzero(np.bincount(name, minlength=len(columns.names)))
        numbered: dict[str, int] = {}
        group_of = np.zeros(len(columns.names), np.intp)
        for number in there.tolist():
            group_of[number] = numbered.setdefault(_row_name(columns.names[number]), len(numbered))
        return list(numbered), group_of[name]

    def sum(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """(groups) sums of a column."""
        names, group = self._named
        return sums(values[self.at], group, len(names))

    def launchers(self) -> list[tuple[str, ...]]:
        """(groups) the names of the ops they were launched from, in order of appearance."""
        columns = columns_of(self.trace)
        names, group = self._named
        found: list[dict[str, None]] = [{} for _ in names]
        op = op_of(columns, self.at)
        orphan = columns.launch[self.at] == NONE
        # no op as two more names
        name = np.where(op != NONE, columns.name[op], np.where(orphan, -2, -1))
        _, first = np.unique(group * (len(columns.names) + 2) + name + 2, return_index=True)
        for n in np.sort(first).tolist():
            number = int(name[n])
            text = columns.names[number] if number >= 0 else NO_LAUNCH if number == -2 else NO_OP
            found[group[n]][text] = None
        return [tuple(each) for each in found]

    def rows(
        self,
        *,
        self_cpu: NDArray[np.int64],
        cpu: NDArray[np.int64],
        self_device: NDArray[np.int64],
        device: NDArray[np.int64],
        share: NDArray[np.float64],
        launched_by: list[tuple[str, ...]] | None = None,
    ) -> list[Row]:
        """A row for each group, of (groups) columns."""
        columns = columns_of(self.trace)
        names, group = self._named
        order = np.lexsort((columns.dur[self.at], group))
        dur = columns.dur[self.at][order]
        # a group's events are neighbours now, the shortest first
        bounds = np.searchsorted(group[order], np.arange(len(names) + 1))
        rows = []
        for n, name in enumerate(names):
            first, behind = int(bounds[n]), int(bounds[n + 1])
            calls = behind - first
            middle = (int(dur[first + (calls - 1) // 2]) + int(dur[first + calls // 2])) / 2
            here = np.sort(order[first:behind])
            rows.append(
                Row(
                    name=name,
                    kind=KINDS[columns.kind[self.at[here[0]]]],
                    calls=calls,
                    self_cpu=int(self_cpu[n]),
                    cpu=int(cpu[n]),
                    self_device=int(self_device[n]),
                    device=int(device[n]),
                    mean=sum_of(dur[first:behind]) / calls,
                    median=middle,
                    min=int(dur[first]),
                    max=int(dur[behind - 1]),
                    share=float(share[n]),
                    launched_by=launched_by[n] if launched_by is not None else (),
                    events=EventsAt(self.trace, self.at[here]),
                )
            )
        return rows
