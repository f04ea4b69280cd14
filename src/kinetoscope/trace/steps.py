"""The steps of a trace: ``ProfilerStep#n``."""

from __future__ import annotations

from kinetoscope.trace.categories import STEP_NAME
from kinetoscope.trace.events import Event, Kind, Step

_TOP_LEVEL = frozenset({Kind.ANNOTATION, Kind.OP, Kind.CALL})


def find_steps(events: list[Event]) -> list[Step]:
    """The steps, in order of start.

    A GPU activity belongs to the step in whose CPU range it was launched, by a call of the same
    process; without a known launch, to the step in whose range it began.
    """
    steps: list[Step] = []
    for event in events:
        match = STEP_NAME.fullmatch(event.name) if event.kind is Kind.ANNOTATION else None
        if match:
            steps.append(Step(number=int(match[1]), event=event, cpu=[], gpu=[]))
    if not steps:
        return steps
    for event in events:
        if event.kind.on_gpu:
            for step in _around(event.launch or event, steps):
                step.gpu.append(event)
        elif event.kind in _TOP_LEVEL:
            for step in _around(event, steps):
                if event.parent is step.event or (event.parent is None and event is not step.event):
                    step.cpu.append(event)
    return steps


def _around(event: Event, steps: list[Step]) -> list[Step]:
    """The steps in whose CPU range ``event`` begins: one at most in each process.

    Where several processes are in one file, a CPU event belongs to the steps of its own; a process
    without steps (a container may see other process ids than the profiler) to any.
    """
    around = [step for step in steps if step.event.start <= event.start < step.event.end]
    if len(around) < 2 or event.lane.on_gpu:
        return around
    return [step for step in around if step.event.lane.pid == event.lane.pid] or around
