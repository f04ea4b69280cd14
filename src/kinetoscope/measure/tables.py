"""A trace as tables: by op, annotation, kernel, copy and runtime call.

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
from kinetoscope.trace import COPIES, Kind
from kinetoscope.trace.columns import CODE, KINDS, among
from kinetoscope.trace.events import EventsAt
from kinetoscope.trace.fields import NONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from kinetoscope.trace import Event, StepAt, Trace

NO_LAUNCH = "(no launch in trace)"
"""Written instead of the op if the launch of a GPU activity is not in the file."""
NO_OP = "(no op)"
"""Written instead of the op if a GPU activity was launched outside any op."""
WRONG = "(times that cannot be right)"
"""The last row, apart from all others: events whose time or length cannot be right.  It has no share."""


class Row(msgspec.Struct, frozen=True):
    """All events of one name in a table.  Sums and extremes are over :attr:`events`.

    An op may call itself: ``aten::sum`` of everything calls ``aten::sum`` over dimensions.  These are two
    calls, but ``cpu`` and ``device`` count their time once.
    """

    name: str
    kind: Kind
    calls: int
    self_cpu: int
    """ns on the CPU outside child ops and calls; 0 for GPU rows"""
    cpu: int
    """ns on the CPU, children included; 0 for GPU rows"""
    self_device: int
    """ns on the GPU: of the activities themselves, or of those that an op launched outside its child ops"""
    device: int
    """ns on the GPU, including what children launched"""
    mean: float
    """ns, of the durations of single events (so are the next three)"""
    median: float
    min: int
    max: int
    share: float
    """0..1: of the summed GPU time of the table's activities; for CPU rows, of its summed self CPU time"""
    launched_by: tuple[str, ...]
    """the names of the ops that launched the activities; empty for CPU rows"""
    events: Sequence[Event]


def op_table(trace: Trace, step: StepAt | None = None) -> list[Row]:
    """A row for each op name, the most self CPU time first; of one step only if ``step`` is given."""
    return _cpu_table(trace, Kind.OP, step)


def annotation_table(trace: Trace, step: StepAt | None = None) -> list[Row]:
    """A row for each annotation name (every ``ProfilerStep#n`` as ``ProfilerStep*``), as :func:`op_table`."""
    return _cpu_table(trace, Kind.ANNOTATION, step)


def call_table(trace: Trace, step: StepAt | None = None) -> list[Row]:
    """A row for each runtime and driver call name; ``device`` is the time of the activities they started."""
    return _cpu_table(trace, Kind.CALL, step)


def kernel_table(trace: Trace, step: StepAt | None = None) -> list[Row]:
    """A row for each kernel name, the most GPU time first.  Copies are no kernels: :func:`copy_table`."""
    return _gpu_table(trace, frozenset({Kind.KERNEL}), step)


def copy_table(trace: Trace, step: StepAt | None = None) -> list[Row]:
    """A row for each memcpy and memset name, the most GPU time first."""
    return _gpu_table(trace, COPIES, step)


def _row_name(name: str) -> str:
    """The name that events of this name are grouped under: one for all steps, as in torch's tables."""
    return "ProfilerStep*" if name.startswith("ProfilerStep#") else name


def _cpu_table(trace: Trace, kind: Kind, step: StepAt | None) -> list[Row]:
    columns = trace.columns
    cpu, gpu = _scope(trace, step)
    at = cpu[columns.kind[cpu] == CODE[kind]]
    gpu = gpu[~columns.wrong[gpu]]
    own, total = device_times(columns, gpu)
    if kind is Kind.CALL:
        total = sums(columns.dur[gpu], columns.launch[gpu], len(columns))
    groups = _Groups(trace, at)
    self_cpu = groups.sum(columns.self_dur)
    # The total of an outer event already has the time of an inner one of its name.
    counted = np.zeros(len(columns), bool)
    counted[at[~in_its_like(columns, at)]] = True
    rows = groups.rows(
        self_cpu=self_cpu,
        cpu=groups.sum(columns.dur * counted),
        self_device=groups.sum(own),
        device=groups.sum(total * counted),
        share=groups.shares(self_cpu),
    )
    return sorted(rows, key=lambda row: (row.name == WRONG, -row.self_cpu, row.name))


def _gpu_table(trace: Trace, kinds: frozenset[Kind], step: StepAt | None) -> list[Row]:
    columns = trace.columns
    _, gpu = _scope(trace, step)
    groups = _Groups(trace, gpu[among(columns.kind[gpu], [CODE[kind] for kind in kinds], len(KINDS))])
    time = groups.sum(columns.dur)
    rows = groups.rows(
        self_cpu=time * 0,
        cpu=time * 0,
        self_device=time,
        device=time,
        share=groups.shares(time),
        launched_by=groups.launchers(),
    )
    return sorted(rows, key=lambda row: (row.name == WRONG, -row.device, row.name))


def _scope(trace: Trace, step: StepAt | None) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of the annotations, ops and calls, and of the GPU activities, of a step or the trace."""
    columns = trace.columns
    if step is None:
        return columns.where(Kind.ANNOTATION, Kind.OP, Kind.CALL), np.flatnonzero(columns.on_gpu)
    return columns.with_all_below(step.cpu, step.event), step.gpu


@dataclass(frozen=True)
class _Groups:
    """Events (positions ``at``, in order of start) by name; every ``ProfilerStep#n`` is one name.

    Those whose times cannot be right are a group of their own.
    """

    trace: Trace
    at: NDArray[np.intp]

    @cached_property
    def _named(self) -> tuple[list[str], NDArray[np.intp]]:
        columns = self.trace.columns
        name, wrong = columns.name[self.at], columns.wrong[self.at]
        there = np.flatnonzero(np.bincount(name[~wrong], minlength=len(columns.names)))
        numbered: dict[str, int] = {}
        group_of = np.zeros(len(columns.names), np.intp)
        for number in there.tolist():
            group_of[number] = numbered.setdefault(_row_name(columns.names[number]), len(numbered))
        names = list(numbered)
        if not wrong.any():
            return names, group_of[name]
        return [*names, WRONG], np.where(wrong, len(names), group_of[name])

    def shares(self, time: NDArray[np.int64]) -> NDArray[np.float64]:
        """(groups) 0..1: what each group has of the sum of times that can be right."""
        right = np.where(np.array([name == WRONG for name in self._named[0]], bool), 0, time)
        shares: NDArray[np.float64] = right.astype(np.float64) / (int(right.sum()) or 1)
        return shares

    def sum(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """(groups) sums of a column."""
        names, group = self._named
        return sums(values[self.at], group, len(names))

    def launchers(self) -> list[tuple[str, ...]]:
        """(groups) the names of the ops that launched the events, in order of appearance."""
        columns = self.trace.columns
        names, group = self._named
        launchers: list[dict[str, None]] = [{} for _ in names]
        op = op_of(columns, self.at)
        orphan = columns.launch[self.at] == NONE
        # Two more names stand for no op.
        name = np.where(op != NONE, columns.name[op], np.where(orphan, -2, -1))
        _, first = np.unique(group * (len(columns.names) + 2) + name + 2, return_index=True)
        for n in np.sort(first).tolist():
            number = int(name[n])
            text = columns.names[number] if number >= 0 else NO_LAUNCH if number == -2 else NO_OP
            launchers[group[n]][text] = None
        return [tuple(each) for each in launchers]

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
        columns = self.trace.columns
        names, group = self._named
        order = np.lexsort((columns.dur[self.at], group))
        dur = columns.dur[self.at][order]
        # In this order a group's events are neighbors, the shortest first.
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
