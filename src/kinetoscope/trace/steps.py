"""The steps of a trace: ``ProfilerStep#n``."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from kinetoscope.trace.categories import STEP_NAME, Kind
from kinetoscope.trace.columns import among, distinct, groups
from kinetoscope.trace.fields import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kinetoscope.trace.columns import Columns
    from kinetoscope.trace.findings import Findings


@dataclass(frozen=True, slots=True, eq=False)
class StepAt:
    """A step as positions in the columns."""

    number: int
    event: int
    cpu: NDArray[np.intp]
    """top-level CPU events inside the step, in order of start"""
    gpu: NDArray[np.intp]
    """GPU activities launched inside the step, in order of start"""


def find_steps(columns: Columns, findings: Findings) -> list[StepAt]:
    """The steps, in order of start.

    A GPU activity belongs to the step in whose CPU range it was launched, by a call of the same process.  If
    its call is not in the file, its correlation id tells when it was launched: ids of a process rise.  Below
    the smallest id with a launch, that was before the recording began, and it belongs to no step; between two
    calls of one step, to that step.  Otherwise it belongs to the step in whose range it began.  Adds to
    ``findings``: ``step-by-time``, for these.
    """
    numbers = {
        n: int(match[1]) for n, text in enumerate(columns.names) if (match := STEP_NAME.fullmatch(text))
    }
    annotations = columns.where(Kind.ANNOTATION)
    marks = annotations[among(columns.name[annotations], list(numbers), len(columns.names))]
    if not len(marks):
        return []
    cpu = columns.where(Kind.ANNOTATION, Kind.OP, Kind.CALL)
    cpu = cpu[~columns.lost[cpu]]
    parent = columns.parent[cpu]
    on_cpu = _Begun(columns, marks, cpu, columns.process[columns.lane[cpu]])
    gpu, begins, process = _launches(columns, marks, findings)
    on_gpu = _Begun(columns, marks, begins, process)
    steps = []
    for mark in marks.tolist():
        inside = on_cpu.in_step(mark)
        is_top = (parent[inside] == mark) | ((parent[inside] == NONE) & (cpu[inside] != mark))
        number = numbers[int(columns.name[mark])]
        steps.append(StepAt(number, mark, cpu[inside[is_top]], gpu[on_gpu.in_step(mark)]))
    return steps


def _launches(
    columns: Columns, marks: NDArray[np.intp], findings: Findings
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """The GPU activities that may belong to a step, and of each what began in that step and its process.

    What began is a call, or the activity itself if the file doesn't tell more.  ``marks``: the steps.
    """
    gpu = np.flatnonzero(columns.on_gpu)
    begins = columns.launch[gpu].astype(np.intp)
    process = columns.process[columns.lane[begins]]
    unknown = np.flatnonzero(begins == NONE)
    if not len(unknown):
        return gpu, begins, process
    begins[unknown], process[unknown] = gpu[unknown], _owners(columns)[columns.lane[gpu[unknown]]]
    launched = np.flatnonzero((columns.launch != NONE) & (columns.correlation != NONE))
    calls = distinct(columns.launch[launched])
    bounds = np.sort(np.concatenate([columns.start[marks], columns.ends(marks)]))
    is_before, by_time = np.zeros(len(gpu), bool), np.zeros(len(gpu), bool)
    by_time[unknown] = True
    of_process = {
        int(columns.process[columns.lane[calls[own[0]]]]): calls[own]
        for own in groups(columns.process[columns.lane[calls]])
    }
    for own in groups(process[unknown]):
        at = unknown[own]
        at = at[columns.correlation[gpu[at]] != NONE]
        known = of_process.get(int(process[unknown[own[0]]]))
        if known is None or not len(at):
            continue
        known = known[np.argsort(columns.correlation[known], kind="stable")]
        start = columns.start[known]
        place = np.searchsorted(columns.correlation[known], columns.correlation[gpu[at]])
        before, after = np.maximum(place - 1, 0), np.minimum(place, len(known) - 1)
        began = columns.start[gpu[at]]
        # Ids of 32 bits start again at 0: then what was launched before has ids above all others.
        is_before[at] = (place == 0) | ((place == len(known)) & (began < start[-1]) & ~columns.lost[gpu[at]])
        between = (place > 0) & (place < len(known))
        same = np.searchsorted(bounds, start[before], "right") == np.searchsorted(
            bounds, start[after], "right"
        )
        told = between & same
        begins[at[told]] = known[before[told]]
        by_time[at[told | is_before[at]]] = False
    if by_time.any():
        findings.add("step-by-time", columns.place(int(gpu[np.argmax(by_time)])), int(by_time.sum()))
    several = len(distinct(columns.process[columns.lane[marks]])) > 1
    keeps = ~is_before & ~(by_time & (columns.lost[gpu] | (several & (process == NONE))))
    return gpu[keeps], begins[keeps], process[keeps]


def _owners(columns: Columns) -> NDArray[np.intp]:
    """(lanes) the process that launched most of what ran on the device of a lane; NONE if unknown.

    If only one process launched anything, that is the one.
    """
    gpu = np.flatnonzero(columns.launch != NONE)
    by = columns.process[columns.lane[columns.launch[gpu]]]
    processes = distinct(by)
    if len(processes) < 2:
        return np.full(len(columns.lanes), processes[0] if len(processes) else NONE)
    # The pairs of device and process, those with the most launches last.
    pairs, counts = np.unique(columns.device[columns.lane[gpu]] * len(columns.lanes) + by, return_counts=True)
    pairs = pairs[np.argsort(counts, kind="stable")]
    owner = np.full(len(columns.lanes), NONE)
    owner[pairs // len(columns.lanes)] = pairs % len(columns.lanes)
    return owner[columns.device]


def together(steps: list[StepAt]) -> StepAt:
    """Steps of one number, one for each process, as one."""
    marks = np.array([step.event for step in steps[1:]], np.intp)
    return StepAt(
        steps[0].number,
        steps[0].event,
        np.sort(np.concatenate([marks, *(step.cpu for step in steps)])),
        np.sort(np.concatenate([step.gpu for step in steps])),
    )


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
        begins: NDArray[np.intp],
        process: NDArray[np.intp],
    ) -> None:
        """``begins``: the event whose begin counts for each event; ``process``: its number, or NONE."""
        self.columns = columns
        self.when = columns.start[begins]
        self.order = np.argsort(self.when, kind="stable")
        self.in_order = self.when[self.order]
        starts, ends = columns.start[marks], columns.ends(marks)
        around = np.searchsorted(np.sort(starts), self.when, "right") - np.searchsorted(
            np.sort(ends), self.when, "right"
        )
        self.shared: dict[int, list[int]] | None = None
        """which of the events are in each step; None where no steps overlap"""
        if (around > 1).any():
            self.shared = self._share(marks, process)

    def _share(self, marks: NDArray[np.intp], process_of: NDArray[np.intp]) -> dict[int, list[int]]:
        in_step: dict[int, list[int]] = {mark: [] for mark in marks.tolist()}
        start, end = self.columns.start, self.columns.end
        ahead = marks.tolist()[::-1]
        open_steps: dict[int, list[int]] = defaultdict(list)
        """of each process, in order of start; the last is the one that counts"""
        for n in self.order.tolist():
            moment = int(self.when[n])
            while ahead and start[ahead[-1]] <= moment:
                mark = ahead.pop()
                open_steps[_process(self.columns, mark)].append(mark)
            own = int(process_of[n])
            is_known = _last_open(open_steps.get(own), end, moment) is not None
            processes = [own] if is_known else list(islice(open_steps, _MOST_PROCESSES))
            for process in processes:
                mark = _last_open(open_steps[process], end, moment)
                if mark is None:
                    del open_steps[process]
                else:
                    in_step[mark].append(n)
        return in_step

    def in_step(self, mark: int) -> NDArray[np.intp]:
        """Which of the events (0 for the first) begin in the step ``mark``, in their order."""
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


def _process(columns: Columns, at: int) -> int:
    return int(columns.process[columns.lane[at]])
