"""The trace of :func:`kinetoscope.load`: the events, and what one asks of them most often."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from kinetoscope.api.selections import Events
from kinetoscope.trace import events

if TYPE_CHECKING:
    from kinetoscope.api.tables import Table
    from kinetoscope.measure.expressions import Value
    from kinetoscope.measure.summary import Summary
    from kinetoscope.trace.events import Kind


class Trace(events.Trace):
    """What ``torch.profiler`` exported once: typed events, nested and linked, and tables of them.

    ``events``, ``ops``, ``calls``, ``annotations``, ``kernels``, ``copies`` and ``gpu`` are lists of
    :class:`~kinetoscope.trace.Event` in order of start, and ``"aten::mm" in trace.ops`` looks for a name or a
    pattern; ``steps`` the recorded steps; ``findings`` what was
    repaired, dropped or assumed while the file was read.  Times are integers of nanoseconds.
    """

    @classmethod
    def reading(cls, read: events.Trace) -> Trace:
        """A trace that was read, with these methods."""
        return cls(
            path=read.path,
            events=read._events,
            steps=read._steps,
            device_names=read.device_names,
            findings=read.findings,
            columns=read.columns,
            steps_at=read.steps_at,
        )

    @cached_property
    def events(self) -> Events:
        """Every complete event"""
        return Events(self._events() if callable(self._events) else self._events, self)

    def of(self, *kinds: Kind) -> Events:
        """The events of these kinds."""
        return Events((event for event in self.events if event.kind in kinds), self, kinds)

    @property
    def ops(self) -> Events:
        return self.of(events.Kind.OP)

    @property
    def annotations(self) -> Events:
        return self.of(events.Kind.ANNOTATION)

    @property
    def calls(self) -> Events:
        return self.of(events.Kind.CALL)

    @property
    def kernels(self) -> Events:
        return self.of(events.Kind.KERNEL)

    @property
    def copies(self) -> Events:
        """Memcpy and memset; never counted as kernels"""
        return self.of(*events.COPIES)

    @property
    def gpu(self) -> Events:
        """Every GPU activity: kernels, memcpy, memset"""
        return self.of(*events.GPU_ACTIVITIES)

    def table(
        self,
        by: str = "op",
        *,
        step: int | None = None,
        sort: str | None = None,
        limit: int | None = None,
    ) -> Table:
        """What the time was spent on: a row for each op, or whatever ``by`` names.

        That is ``op``, ``kernel``, ``copy``, ``call``, ``annotation``, ``step`` or ``waiting``.  Sums are
        over the whole trace, or over ``ProfilerStep#step`` alone.  ``sort``: a column, the largest first.

        Raises ``ValueError``, which lists what there is, for a view, step or column that is not there, and
        for a limit that is no number of rows; ``TypeError`` for a step that is no number.

        >>> import kinetoscope
        >>> trace = kinetoscope.load("docs/recordings/nvidia-h200/02_linear/linear_eager.json.gz")
        >>> for row in trace.table("op", sort="name")[:3]:
        ...     print(row.name, row.calls)
        aten::addmm 3
        aten::as_strided 3
        aten::linear 3
        """
        from kinetoscope.api.tables import table_of

        return table_of(self, by, step, sort, limit)

    def summary(self) -> Summary:
        """Ten exact numbers, as ``kinetoscope summary --json`` prints them."""
        from kinetoscope.measure.summary import summarise

        return summarise(self)

    def measure(self, expression: str) -> Value:
        """The value of an expression, as in ``kinetoscope assert``: a number with its unit, a text, a truth.

        Raises :class:`kinetoscope.measure.ExpressionError`, which says what to do, where it has none.

        >>> import kinetoscope
        >>> trace = kinetoscope.load("docs/recordings/nvidia-h200/02_linear/linear_eager.json.gz")
        >>> print(trace.measure("count(kernels)"))
        1
        >>> trace.measure('"aten::addmm" in ops')
        True
        """
        from kinetoscope.measure.assertions import measure

        return measure(self, expression)

    def __repr__(self) -> str:
        found = self.summary()
        steps = f"{found.steps} {'step' if found.steps == 1 else 'steps'}"
        told = f", {len(found.findings)} findings" if found.findings else ""
        return f"<Trace {self.path!r}: {found.events} events, {found.kernels} kernels, {steps}{told}>"

    def _repr_html_(self) -> str:
        from kinetoscope.draw.page import fragment

        return fragment(self)
