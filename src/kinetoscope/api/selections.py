"""The lists of a trace: what is in them can be asked by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinetoscope.trace.events import COPIES, GPU_ACTIVITIES, Event, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kinetoscope.trace import Trace

_NOUNS = {
    frozenset({Kind.OP}): "ops",
    frozenset({Kind.ANNOTATION}): "annotations",
    frozenset({Kind.CALL}): "calls",
    frozenset({Kind.KERNEL}): "kernels",
    COPIES: "copies",
    GPU_ACTIVITIES: "GPU activities",
}


class Events(list[Event]):
    """Events of a trace in order of start, and which they are.

    ``"aten::copy_" in trace.ops`` asks for a name, or a pattern (``*`` and ``?``); ``event in trace.ops`` for
    one event.  Raises ``TypeError`` where anything else is looked for.
    """

    def __init__(self, events: Iterable[Event], trace: Trace, kinds: tuple[Kind, ...] = ()) -> None:
        super().__init__(events)
        self.trace, self.kinds = trace, frozenset(kinds)

    @property
    def noun(self) -> str:
        """What they are called, in the plural."""
        return _NOUNS.get(self.kinds, "events")

    def __contains__(self, wanted: object) -> bool:
        if isinstance(wanted, str):
            from kinetoscope.measure.selection import matches

            return any(matches(event.name, wanted) for event in self)
        if isinstance(wanted, Event):
            return any(event is wanted for event in self)
        raise TypeError(f"`in` {self.noun} takes a name, a pattern or an event, not {type(wanted).__name__}")

    def __reduce__(self) -> tuple[type[list[Event]], tuple[list[Event]]]:
        return list, (list(self),)

    def why_none(self) -> str:
        """Where there are none: what of the trace explains it; else nothing."""
        if self.kinds and self.kinds <= GPU_ACTIVITIES and not self.trace.of(*GPU_ACTIVITIES):
            return "the trace has no GPU activity at all: it was recorded without a GPU, or without CUDA"
        if self.kinds == {Kind.OP} and not self.trace.of(Kind.OP):
            return "the trace has no ops at all: torch records those of the thread that was profiled only"
        return ""
