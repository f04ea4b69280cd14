"""What a trace measured at all: the one rule that tells a count of 0 from something that is not in the file.

A trace that was recorded on the CPU alone has no kernels, and says nothing about kernels.  Whatever asks it
for some is *not measured*.  A trace in which the GPU did anything has measured the GPU: if no kernel of it
has a certain name, their count is 0, and so is the count of its copies if it has kernels only.  So has a
trace with runtime calls none of which gave the GPU any work (a program that only makes views): the profiler
records calls and activities together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kinetoscope.measure.errors import NotMeasured
from kinetoscope.trace import GPU_ACTIVITIES, Kind
from kinetoscope.trace.columns import distinct

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kinetoscope.trace import Trace


class Need(NamedTuple):
    """Something that a trace may lack as a whole."""

    shown_by: frozenset[Kind]
    """An event of any of these kinds shows that it was recorded; empty for steps"""
    question: str
    """What to say if it was not"""


_STARTS_WORK = re.compile("launch|memcpy|memset|copy|fill|enqueue|submit|execute|run", re.IGNORECASE)
"""In the name of a call, of any vendor; rather too many, since they only keep a 0 from being said"""

GPU = Need(GPU_ACTIVITIES, "no GPU activity in the file: was `ProfilerActivity.CUDA` on?")
CALLS = Need(frozenset({Kind.CALL}), "no runtime or driver call in the file: was `ProfilerActivity.CUDA` on?")
OPS = Need(
    frozenset({Kind.OP}),
    "no op in the file: was `ProfilerActivity.CPU` on, in the thread that ran the ops?",
)
ANNOTATIONS = Need(
    frozenset({Kind.OP, Kind.ANNOTATION}),
    "no op and no annotation in the file: was `ProfilerActivity.CPU` on?",
)
STEPS = Need(
    frozenset(), "no step in the file: did the profiler have a `schedule`, and was `prof.step()` called?"
)


def need_of(kinds: Iterable[Kind]) -> Need | None:
    """What events of these kinds take for granted; None if nothing does."""
    wanted = frozenset(kinds)
    # An annotation is the user's: where ops are recorded and no annotation is, there was none.
    by_kind = {Kind.OP: OPS, Kind.ANNOTATION: ANNOTATIONS, Kind.CALL: CALLS}
    needs = {GPU if kind in GPU_ACTIVITIES else by_kind.get(kind) for kind in wanted}
    return needs.pop() if len(needs) == 1 else None


def has(trace: Trace, need: Need) -> bool:
    """Whether the trace measured what is needed."""
    if not need.shown_by:
        return bool(trace.steps_at)
    return len(trace.columns.where(*need.shown_by)) > 0 or (need is GPU and _gave_no_work(trace))


def _gave_no_work(trace: Trace) -> bool:
    """Whether there are runtime calls, and by their names none of them starts anything on the GPU."""
    columns = trace.columns
    names = [columns.names[n] for n in distinct(columns.name[columns.where(Kind.CALL)]).tolist()]
    return bool(names) and not any(_STARTS_WORK.search(name) for name in names)


def why_missing(trace: Trace, need: Need) -> str:
    """What to say of a trace that lacks it: what may not have been recorded, and what could not be read."""
    unknown = sum(finding.count for finding in trace.findings if finding.code == "unknown-categories")
    if not unknown:
        return need.question
    events = f"{unknown:,} events are" if unknown > 1 else "an event is"
    what = need.question.partition(":")[0]
    return f"{what} that is known here, but {events} of unknown categories: another vendor's device?"


@dataclass(frozen=True, slots=True)
class Presence:
    """What is in a trace, for those who ask it for something."""

    trace: Trace
    absent_is_zero: bool = False
    """Whether what is not in the trace counts as 0, because whoever asks means it"""

    def need(self, need: Need | None) -> None:
        """Raises :class:`NotMeasured` where the trace lacks what is needed."""
        if need is not None and not self.absent_is_zero and not has(self.trace, need):
            raise NotMeasured(why_missing(self.trace, need))
