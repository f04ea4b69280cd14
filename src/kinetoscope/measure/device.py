"""How much GPU time each CPU event caused."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from kinetoscope.trace import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kinetoscope.trace import Event

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
