"""The trace that :func:`kinetoscope.load` returns: its lists of events, and tables of them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, SupportsIndex

from kinetoscope.draw.views import (
    COLUMNS,
    AnyRow,
    Shown,
    View,
    ViewError,
    choose_rows,
    columns_of_view,
    name_step,
)
from kinetoscope.measure.errors import NotMeasured
from kinetoscope.measure.presence import GPU, STEPS, Need, Presence, has, need_of
from kinetoscope.trace import COPIES, GPU_ACTIVITIES, Event, Kind, Step, Trace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kinetoscope.measure.expressions import Value
    from kinetoscope.measure.summary import Summary

_NOUNS = {
    frozenset({Kind.OP}): "ops",
    frozenset({Kind.ANNOTATION}): "annotations",
    frozenset({Kind.CALL}): "calls",
    frozenset({Kind.KERNEL}): "kernels",
    COPIES: "copies",
    GPU_ACTIVITIES: "GPU activities",
}


class Events(list[Event]):
    """Events of a trace in order of start.

    ``"aten::copy_" in trace.ops`` looks for a name, or a pattern (``*`` and ``?``); ``event in trace.ops``
    for one event.  ``in`` raises ``TypeError`` for anything else, and :class:`NotMeasured` for a name where
    the trace holds nothing of the kind at all.
    """

    def __init__(self, events: Iterable[Event], trace: PublicTrace, kinds: Iterable[Kind] = ()) -> None:
        super().__init__(events)
        self.trace, self.kinds = trace, frozenset(kinds)

    @property
    def noun(self) -> str:
        """What they are called, in the plural."""
        return _NOUNS.get(self.kinds, "events")

    def __contains__(self, wanted: object) -> bool:
        __tracebackhide__ = True
        if isinstance(wanted, str):
            self.must_be_measured()
            from kinetoscope.measure.selection import matches

            return any(matches(event.name, wanted) for event in self)
        if isinstance(wanted, Event):
            return any(event is wanted for event in self)
        raise TypeError(f"`in` {self.noun} takes a name, a pattern or an event, not {type(wanted).__name__}")

    def __reduce__(self) -> tuple[type[list[Event]], tuple[list[Event]]]:
        return list, (list(self),)

    def must_be_measured(self) -> None:
        """Raises :class:`NotMeasured` where the trace holds nothing of the kind."""
        __tracebackhide__ = True
        self.trace.must_have(need_of(self.kinds))


class Steps(list[Step]):
    """The recorded steps of a trace, in order of start."""

    def __init__(self, steps: Iterable[Step], trace: PublicTrace) -> None:
        super().__init__(steps)
        self.trace = trace

    def __reduce__(self) -> tuple[type[list[Step]], tuple[list[Step]]]:
        return list, (list(self),)

    def must_be_measured(self) -> None:
        """Raises :class:`NotMeasured` where there are none."""
        __tracebackhide__ = True
        self.trace.must_have(STEPS)


class Table(list[AnyRow]):
    """The rows of one table, in its order: :class:`~kinetoscope.measure.Row` or, by step, ``StepRow``.

    A row's times are integers of nanoseconds; ``row.events`` are the events it was made from.
    """

    def __init__(self, shown: Shown, title: str) -> None:
        super().__init__(shown.rows)
        self._shown, self._title = shown, title

    @property
    def columns(self) -> list[str]:
        """The names of all columns, which are the attributes of a row."""
        return columns_of_view(self._shown.view)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Each row as a dictionary by column; a time's key ends in ``_ns``."""
        keys, rows = plain_rows(self._shown.view, self)
        return [dict(zip(keys, row, strict=True)) for row in rows]

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` of :meth:`to_dicts`.  Raises ``ImportError`` where there is no pandas."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError(
                "to_pandas() needs pandas, which is not installed: `pip install pandas`, or take to_dicts()"
            ) from error
        return pandas.DataFrame(self.to_dicts(), columns=plain_rows(self._shown.view, ())[0])

    def __str__(self) -> str:
        from kinetoscope.draw.table import text_table

        return text_table(self._shown.columns, self)

    def _repr_html_(self) -> str:
        from kinetoscope.draw.table import html_table

        return html_table(self._shown.columns, self, caption=self._title)


def plain_rows(view: View, rows: Sequence[AnyRow]) -> tuple[list[str], list[list[object]]]:
    """The keys of all columns (that of a time ends in ``_ns``), and the values of each row in that order."""
    names = columns_of_view(view)
    keys = [f"{name}_ns" if COLUMNS[name].kind == "time" else name for name in names]
    return keys, [[getattr(row, name) for name in names] for row in rows]


class PublicTrace(Trace):
    """What ``torch.profiler`` exported once: typed events, nested and linked, and tables of them.

    This class is public as ``kinetoscope.Trace``.

    ``events``, ``ops``, ``calls``, ``annotations``, ``kernels``, ``copies`` and ``gpu`` are lists of
    :class:`~kinetoscope.trace.Event` in order of start, and ``"aten::mm" in trace.ops`` looks for a name or a
    pattern.  ``steps`` are the recorded steps; ``findings`` says what was repaired, dropped or assumed while
    the file was read.  Times are integers of nanoseconds.
    """

    absent_is_zero = False
    """Whether what is not in the trace counts as 0, in place of :class:`NotMeasured`"""

    @classmethod
    def from_trace(cls, trace: Trace, *, absent_is_zero: bool = False) -> PublicTrace:
        """``trace`` with the methods of this class."""
        made = cls(trace.path, trace.columns, trace.steps_at, trace.device_names, trace.findings)
        made.absent_is_zero = absent_is_zero
        return made

    def must_have(self, need: Need | None) -> None:
        """Raises :class:`NotMeasured` where the trace lacks what is needed."""
        __tracebackhide__ = True
        try:
            Presence(self, self.absent_is_zero).need(need)
        except NotMeasured as error:
            raise NotMeasured(
                f"{error} (Give load() or trace_of() absent_is_zero=True, and it counts as 0.)"
            ) from None

    @cached_property
    def events(self) -> Events:
        """Every complete event"""
        return Events(super().events, self)

    @cached_property
    def steps(self) -> Steps:
        """The recorded steps"""
        steps = super().steps
        for step in steps:
            step.gpu = Events(step.gpu, self, GPU_ACTIVITIES)
        return Steps(steps, self)

    def of(self, *kinds: Kind) -> Events:
        """The events of these kinds."""
        return Events((event for event in self.events if event.kind in kinds), self, kinds)

    if TYPE_CHECKING:
        # The properties of the base class call `of`, so they give Events here.
        ops: Events
        annotations: Events
        calls: Events
        kernels: Events
        copies: Events
        gpu: Events

    def table(
        self,
        by: str = "op",
        *,
        step: int | None = None,
        sort: str | None = None,
        limit: int | None = None,
    ) -> Table:
        """What the time was spent on: a row for each op, or for whatever ``by`` names.

        ``by`` is ``op``, ``kernel``, ``copy``, ``call``, ``annotation``, ``step`` or ``waiting``.  Sums are
        over the whole trace, or over ``ProfilerStep#step`` alone (of all processes that have one).
        ``sort`` is a column, the largest value first; ``limit`` the most rows, 1 or more.

        Raises ``ValueError``, which lists what there is, for a view, step or column that does not exist, and
        for a limit that is not a number of rows; ``TypeError`` for a step that is not a number.

        >>> import kinetoscope
        >>> trace = kinetoscope.load("docs/recordings/nvidia-h200/02_linear/linear_eager.json.gz")
        >>> for row in trace.table("op", sort="name")[:3]:
        ...     print(row.name, row.calls)
        aten::addmm 3
        aten::as_strided 3
        aten::linear 3
        """
        if step is not None and not _is_integer(step):
            raise TypeError(
                f"step is the number of a step, such as 3, not {type(step).__name__} ({step!r:.60})"
            )
        if limit is not None and (not _is_integer(limit) or limit < 1):
            raise ViewError(f"limit is a number of rows, 1 or more, not {limit!r:.60}; None shows all")
        shown = choose_rows(self, by, step=step, sort=sort, limit=limit)
        of_step = f", {name_step(self, step)}" if step is not None else ""
        return Table(shown, f"By {shown.view.noun}{of_step}")

    def summary(self) -> Summary:
        """Ten exact numbers, as ``kinetoscope summary --json`` prints them."""
        from kinetoscope.measure.summary import summarize

        return summarize(self)

    def measure(self, expression: str) -> Value:
        """The value of an expression, as in ``kinetoscope assert``: a number with its unit, text, or a truth.

        Raises :class:`kinetoscope.measure.ExpressionError`, which says what to do, where it has none, and
        :class:`NotMeasured`, which is one, where the trace holds nothing of the kind that it asks for.

        >>> import kinetoscope
        >>> trace = kinetoscope.load("docs/recordings/nvidia-h200/02_linear/linear_eager.json.gz")
        >>> print(trace.measure("count(kernels)"))
        1
        >>> trace.measure('"aten::addmm" in ops')
        True
        """
        from kinetoscope.measure.assertions import measure

        return measure(self, expression, absent_is_zero=self.absent_is_zero)

    def __repr__(self) -> str:
        summary = self.summary()
        steps = f"{summary.steps} {'step' if summary.steps == 1 else 'steps'}"
        findings = f", {len(summary.findings)} findings" if summary.findings else ""
        kernels = f"{summary.kernels} kernels" if has(self, GPU) else "no GPU activity"
        return f"<Trace {self.path!r}: {summary.events} events, {kernels}, {steps}{findings}>"

    def _repr_html_(self) -> str:
        from kinetoscope.draw.page import fragment

        return fragment(self)


def _is_integer(value: object) -> bool:
    return isinstance(value, SupportsIndex) and not isinstance(value, bool)
