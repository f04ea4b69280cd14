"""What the rules of :mod:`kinetoscope.measure.advice` read of a step, or of a trace without steps."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kinetoscope.measure.idle_time import NUMBER, find_gaps
from kinetoscope.measure.intervals import Cover
from kinetoscope.measure.printing import printed
from kinetoscope.measure.steps import own_gpu, regime, waiting
from kinetoscope.trace import Kind
from kinetoscope.trace.categories import STEP_NAME
from kinetoscope.trace.columns import CODE, among, distinct
from kinetoscope.trace.fields import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kinetoscope.measure.steps import StepRow
    from kinetoscope.trace import Trace

WORTH = 0.1
"""A cause gets a sentence from this share on"""

LONG = 1_000_000
"""ns.  A CPU that launches one kernel after another leaves gaps of microseconds, at most some hundred of
them.  Longer ones have a cause of their own."""

_LOADER = re.compile(r"enumerate\(DataLoader\)#|dataloader_next")
"""In the names of the ranges that PyTorch and Lightning record around the next batch of a data loader"""


class Sentence(NamedTuple):
    """A sentence with names from the trace, which whoever shows it shortens and escapes."""

    words: str
    """for ``str.format``: each ``{}`` stands for a name"""
    names: tuple[str, ...] = ()


class Measured:
    """What the rules read of a step; each number is computed when the first rule asks for it."""

    def __init__(self, trace: Trace, step: StepRow) -> None:
        self.trace, self.columns, self.step = trace, trace.columns, step
        self.start, self.end = step.start, step.start + step.span
        self.whole = "step" if trace.steps_at else "trace"
        """what the sentences call it"""
        self.regime = regime(step)
        self.margin = step.lead + step.tail if self.whole == "trace" else 0
        """ns before and after the work of a whole trace, in which nobody knows who waits"""
        self.waiting = waiting(step) - self.margin
        """ns in which the GPU waited for the CPU"""
        self.has_gpu = bool(self.columns.on_gpu.any())

    def is_worth(self, ns: int) -> bool:
        """Whether a part of the step deserves a sentence."""
        return self.has_gpu and self.step.span > 0 and ns >= WORTH * self.step.span

    def part(self, ns: int) -> str:
        """``37 % (69.1 ms) of the step``"""
        return f"{printed(ns / self.step.span, 'share')} ({printed(ns, 'ns')}) of the {self.whole}"

    @cached_property
    def gaps(self) -> Gaps:
        """The gaps that reach into the step."""
        columns = self.columns
        gaps = find_gaps(self.trace, own_gpu(columns, self.step.process))
        at = np.flatnonzero((gaps.start < self.end) & (gaps.end > self.start))
        begin, end = np.maximum(gaps.start[at], self.start), np.minimum(gaps.end[at], self.end)
        last = gaps.last[at]
        ends = last == NUMBER["end"]
        loaders = np.array([_LOADER.search(name) is not None for name in columns.names], bool)
        on_cpu = columns.where(Kind.ANNOTATION, Kind.OP)
        loading = Cover.of(columns, on_cpu[loaders[columns.name[on_cpu]] & ~columns.wrong[on_cpu]])
        return Gaps(
            np.minimum(np.maximum(begin, self.start + self.step.lead), end),
            end,
            gaps.start[at],
            (ends & (self.step.tail == 0)) | (last == NUMBER["launch"]),
            last == NUMBER["queued"],
            (gaps.waited[at] > gaps.start[at]) & ~ends & (gaps.end[at] - gaps.start[at] <= LONG),
            loading.until(end) - loading.until(begin),
        )

    @cached_property
    def late(self) -> NDArray[np.intp]:
        """Gaps in which the CPU came late with the next launch: waits that no other rule explains."""
        gaps = self.gaps
        explained = gaps.synced | (2 * gaps.loading >= gaps.length)
        return np.flatnonzero(gaps.waits & ~explained & (self.regime is not None))

    @cached_property
    def late_time(self) -> int:
        """ns of :attr:`late`, without the lead"""
        return int(self.gaps.length[self.late].sum())

    @cached_property
    def half(self) -> Half:
        """Of :attr:`late`"""
        return Half.of(self.gaps.length[self.late])

    @cached_property
    def has_short_gaps(self) -> bool:
        """Whether late launches are worth a sentence, and many short gaps make up half of their time."""
        return self.is_worth(self.late_time) and self.half.number > 1 and self.half.least <= LONG

    @cached_property
    def threads(self) -> NDArray[np.int32]:
        """Lanes of the threads that launch work; others may be in a call for hours."""
        launch = self.columns.launch[self.columns.on_gpu]
        lanes: NDArray[np.int32] = distinct(self.columns.lane[launch[launch != NONE]])
        return lanes

    def on_threads(self, *kinds: Kind) -> NDArray[np.intp]:
        """Positions of the events of these kinds, of right times, on the threads that launch work."""
        at = self.columns.where(*kinds)
        at = at[~self.columns.wrong[at]]
        return at[among(self.columns.lane[at], self.threads, len(self.columns.lanes))]

    def meanwhile(self, begin: int, end: int) -> Sentence:
        """What the CPU did between two times (ns): the innermost event that lasts for half of them."""
        columns = self.columns
        on_cpu = self.on_threads(Kind.ANNOTATION, Kind.OP, Kind.CALL, Kind.PYTHON)
        at = np.union1d(on_cpu, columns.where(Kind.OVERHEAD))
        inside = np.minimum(columns.ends(at), end) - np.maximum(columns.start[at], begin)
        for event in at[2 * inside >= end - begin][::-1].tolist():
            name = columns.names[columns.name[event]]
            if not STEP_NAME.fullmatch(name):
                words = "Meanwhile, the CPU was in {}."
                if columns.kind[event] == CODE[Kind.CALL] and end - begin > LONG:
                    words += " A call that takes so long is often set-up: see whether it comes again."
                return Sentence(words, (name,))
        return Sentence(
            "For most of it, nothing was recorded on the CPU: Python, input and output, or nothing to do."
        )


class Gaps(NamedTuple):
    """n gaps, each cut to the step."""

    begin: NDArray[np.int64]
    """(n) ns; not before the end of the lead"""
    end: NDArray[np.int64]
    """(n) ns"""
    since: NDArray[np.int64]
    """(n) ns at which the GPU ran dry, perhaps before the step"""
    waits: NDArray[np.bool_]
    """(n) whether the GPU waited for the CPU"""
    queued: NDArray[np.bool_]
    """(n) whether what came next was queued"""
    synced: NDArray[np.bool_]
    """(n) whether the GPU ran dry while the CPU waited for it, and got work within :data:`LONG`: what the CPU
    did in longer ones kept it, not the wait"""
    loading: NDArray[np.int64]
    """(n) ns in which the CPU was in a data loader, also in the lead"""

    @property
    def length(self) -> NDArray[np.int64]:
        """(n) ns"""
        return self.end - self.begin


class Half(NamedTuple):
    """The fewest of some gaps that make up half of their time."""

    number: int
    least: int
    """ns, the shortest of them"""

    @classmethod
    def of(cls, lengths: NDArray[np.int64]) -> Half:
        """Of gaps of these lengths (ns)."""
        if not len(lengths):
            return cls(0, 0)
        longest = np.sort(lengths)[::-1]
        sums = np.cumsum(longest)
        last = int(np.searchsorted(2 * sums, sums[-1]))
        return cls(last + 1, int(longest[last]))
