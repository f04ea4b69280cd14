"""The steps of a trace: ``ProfilerStep#n``."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from kinetoscope.trace.categories import STEP_NAME, Kind
from kinetoscope.trace.columns import among
from kinetoscope.trace.fields import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kinetoscope.trace.columns import Columns


@dataclass(frozen=True, slots=True, eq=False)
class StepAt:
    """A step as positions in the columns."""

    number: int
    event: int
    cpu: NDArray[np.intp]
    """top-level CPU events inside the step, in order of start"""
    gpu: NDArray[np.intp]
    """GPU activities launched inside the step, in order of start"""


def find_steps(columns: Columns) -> list[StepAt]:
    """The steps, in order of start.

    A GPU activity belongs to the step in whose CPU range it was launched, by a call of the same
    process; without a known launch, to the step in whose range it began.
    """
    numbers = {
        n: int(match[1]) for n, text in enumerate(columns.names) if (match := STEP_NAME.fullmatch(text))
    }
    annotations = columns.where(Kind.ANNOTATION)
    marks = annotations[among(columns.name[annotations], list(numbers), len(columns.names))]
    if not len(marks):
        return []
    cpu, gpu = columns.where(Kind.ANNOTATION, Kind.OP, Kind.CALL), np.flatnonzero(columns.on_gpu)
    parent, launch = columns.parent[cpu], columns.launch[gpu]
    on_cpu = _Begun(columns, marks, cpu, cpu, np.ones(len(cpu), bool))
    on_gpu = _Begun(columns, marks, gpu, np.where(launch == NONE, gpu, launch), launch != NONE)
    steps = []
    for mark in marks.tolist():
        inside = on_cpu.in_step(mark)
        is_top = (parent[inside] == mark) | ((parent[inside] == NONE) & (cpu[inside] != mark))
        number = numbers[int(columns.name[mark])]
        steps.append(StepAt(number, mark, cpu[inside[is_top]], gpu[on_gpu.in_step(mark)]))
    return steps


class _Begun:
    """Which events begin in the CPU range of which step.

    Where several steps of a process overlap, which should not happen, an event belongs to the step that began
    last.  Where a file holds several processes, an event belongs to the steps of its own process.  If that
    process has no steps (a container may see other process ids than the profiler), the event belongs to the
    steps of every process.
    """

    def __init__(
        self,
        columns: Columns,
        marks: NDArray[np.intp],
        events: NDArray[np.intp],
        begins: NDArray[np.intp],
        has_process: NDArray[np.bool_],
    ) -> None:
        """``begins``: the event whose begin and process count in place of each of ``events``.

        ``has_process``: whether that process is known.
        """
        self.columns = columns
        self.when = columns.start[begins]
        self.order = np.argsort(self.when, kind="stable")
        self.in_order = self.when[self.order]
        starts, ends = columns.start[marks], columns.ends(marks)
        around = np.searchsorted(np.sort(starts), self.when, "right") - np.searchsorted(
            np.sort(ends), self.when, "right"
        )
        self.shared: dict[int, list[int]] | None = None
        """which of ``events`` are in each step; None where no steps overlap"""
        if (around > 1).any():
            self.shared = self._share(marks, begins, has_process)

    def _share(
        self, marks: NDArray[np.intp], begins: NDArray[np.intp], has_process: NDArray[np.bool_]
    ) -> dict[int, list[int]]:
        in_step: dict[int, list[int]] = {mark: [] for mark in marks.tolist()}
        start, end = self.columns.start, self.columns.end
        ahead = marks.tolist()[::-1]
        open_steps: dict[int | str, list[int]] = defaultdict(list)
        """of each process, in order of start; the last is the one that counts"""
        for n in self.order.tolist():
            moment = int(self.when[n])
            while ahead and start[ahead[-1]] <= moment:
                mark = ahead.pop()
                open_steps[_process(self.columns, mark)].append(mark)
            own = _process(self.columns, int(begins[n])) if has_process[n] else None
            is_known = own is not None and _last_open(open_steps.get(own), end, moment) is not None
            processes = [own] if own is not None and is_known else list(islice(open_steps, _MOST_PROCESSES))
            for process in processes:
                mark = _last_open(open_steps[process], end, moment)
                if mark is None:
                    del open_steps[process]
                else:
                    in_step[mark].append(n)
        return in_step

    def in_step(self, mark: int) -> NDArray[np.intp]:
        """Which of ``events`` (0 for the first) begin in the step ``mark``, in their order."""
        if self.shared is not None:
            return np.sort(np.array(self.shared[mark], np.intp))
        start = self.columns.start[mark]
        end = start + self.columns.dur[mark]
        first, behind = np.searchsorted(self.in_order, [start, end])
        return np.sort(self.order[first:behind])


_MOST_PROCESSES = 64
"""An event of a process without steps belongs to the steps of so many processes at most, so that no file can
make this slow."""


def _last_open(steps: list[int] | None, end: NDArray[np.int64], moment: int) -> int | None:
    """The last of ``steps`` that has not ended at ``moment`` (ns); removes the ended ones after it."""
    while steps and end[steps[-1]] <= moment:
        steps.pop()
    return steps[-1] if steps else None


def _process(columns: Columns, at: int) -> int | str:
    return columns.lanes[int(columns.lane[at])].pid
