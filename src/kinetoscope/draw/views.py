"""The tables of a trace, the same on a page and in a terminal: ways to group it, and their columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec import structs

from kinetoscope.draw.describe import count_word
from kinetoscope.draw.palette import CHANGE_LABELS
from kinetoscope.draw.table import Column
from kinetoscope.measure.presence import GPU, has
from kinetoscope.measure.steps import StepRow, step_table, whole_row
from kinetoscope.measure.tables import (
    Row,
    annotation_table,
    call_table,
    copy_table,
    kernel_table,
    op_table,
)
from kinetoscope.trace import StepAt, Trace
from kinetoscope.trace.steps import together

if TYPE_CHECKING:
    from kinetoscope.measure.compare import Pair

AnyRow: TypeAlias = "Row | StepRow"

COLUMNS: dict[str, Column] = {
    column.key: column
    for column in (
        Column("name", "name"),
        Column("calls", "calls", "count"),
        Column("self_cpu", "self CPU", "time"),
        Column("cpu", "total CPU", "time"),
        Column("self_device", "self GPU", "time"),
        Column("device", "total GPU", "time"),
        Column("share", "share", "share"),
        Column("mean", "mean", "time"),
        Column("median", "median", "time"),
        Column("min", "min", "time"),
        Column("max", "max", "time"),
        Column("span", "span", "time"),
        Column("busy", "own GPU work", "time"),
        Column("idle", "GPU idle", "time"),
        Column("kernels", "kernels", "count"),
        Column("launches", "launches", "count"),
        Column("gpu_busy", "GPU busy", "time"),
        Column("idle_cpu", "for the CPU", "time"),
        Column("idle_launch", "for the launch", "time"),
        Column("idle_sync", "for a sync", "time"),
        Column("idle_queued", "queued", "time"),
        Column("idle_end", "at the end", "time"),
        Column("idle_unknown", "unknown", "time"),
        Column("launch_delay", "launch delay", "time"),
        Column("deepest", "deepest queue", "count"),
        Column("launched_by", "launched by"),
    )
}
"""Every column that a table can have, by the name that an author gives"""


class View(NamedTuple):
    """One way to group a trace."""

    noun: str
    rows: Callable[[Trace, StepAt | None], Sequence[Row] | Sequence[StepRow]]
    columns: tuple[str, ...]
    """Those shown unless the author names others"""
    share: str
    """What the share is of"""
    row: type[Row] | type[StepRow] = Row
    """The type of its rows"""
    asked: tuple[str, ...] | None = None
    """Columns shown only if the author names them; None: all other fields of a row"""
    if_any: tuple[str, ...] = ()
    """Those of ``columns`` that are left out if all rows have 0 there"""

    def shown(self, rows: Sequence[AnyRow]) -> tuple[str, ...]:
        """Return the columns that these rows show unless the author names others."""
        empty = [name for name in self.if_any if not any(getattr(row, name) for row in rows)]
        return tuple(name for name in self.columns if name not in empty)


def _steps(trace: Trace, step: StepAt | None) -> list[StepRow]:
    return [row for row in step_table(trace) if step is None or row.number == step.number]


def _waiting(trace: Trace, step: StepAt | None) -> list[StepRow]:
    """Return the steps, or the whole of a trace without steps; nothing waited if no GPU did anything."""
    if not trace.columns.on_gpu.any():
        return []
    rows = _steps(trace, step) if trace.steps_at else [whole_row(trace)]
    return [structs.replace(row, share=row.gpu_busy / row.span if row.span else 0.0) for row in rows]


VIEWS: dict[str, View] = {
    "op": View(
        "op", op_table, ("name", "calls", "self_cpu", "cpu", "self_device", "device", "share"), "of self CPU"
    ),
    "kernel": View(
        "kernel",
        kernel_table,
        ("name", "launched_by", "calls", "device", "share", "median", "min", "max"),
        "of kernels",
    ),
    "copy": View(
        "copy", copy_table, ("name", "calls", "device", "share", "median", "min", "max"), "of copies"
    ),
    "call": View(
        "runtime call", call_table, ("name", "calls", "cpu", "share", "median", "min", "max"), "of calls"
    ),
    "annotation": View(
        "annotation", annotation_table, ("name", "calls", "self_cpu", "cpu", "device"), "of self CPU"
    ),
    "step": View(
        "step",
        _steps,
        ("name", "cpu", "span", "busy", "idle", "kernels", "launches"),
        "own work of span",
        StepRow,
        ("share",),
    ),
    "waiting": View(
        "step and cause of waiting",
        _waiting,
        (
            "name",
            "span",
            "gpu_busy",
            "idle",
            "idle_cpu",
            "idle_launch",
            "idle_sync",
            "idle_queued",
            "idle_end",
            "idle_unknown",
            "launches",
            "deepest",
        ),
        "busy of span",
        StepRow,
        ("share", "launch_delay"),
        if_any=("idle_unknown",),
    ),
}


_OF_GPU: dict[type, tuple[str, ...]] = {
    Row: ("self_device", "device"),
    StepRow: tuple(name for name in COLUMNS if name not in ("name", "cpu", "span")),
}
"""Columns that a trace without any measured GPU activity does not show unasked; their cells are None then"""


class ViewError(ValueError):
    """A view, a column or a step is not there; the message says what is."""


class ColumnError(ViewError):
    """A table of this view has no such column."""


class Shown(NamedTuple):
    """A table of a trace, ready to be written."""

    view: View
    columns: list[Column]
    rows: Sequence[AnyRow]
    left_out: int
    """Rows beyond the limit"""


def choose_rows(
    trace: Trace,
    by: str,
    *,
    step: int | None = None,
    sort: str | None = None,
    limit: int | None = None,
    columns: Sequence[str] = (),
) -> Shown:
    """Make the table of ``trace`` by ``by`` (a key of :data:`VIEWS`), of one step if ``step`` is a number.

    If several processes have a step of that number, the table is of all of them together, and by step it has
    a row for each.  ``sort`` is a column: the largest values come first, names go from A to Z.  ``limit`` is
    the most rows to keep.  ``columns`` are shown in place of the view's own.  Raises
    :class:`ViewError` for a view or a step that is not there, :class:`ColumnError` for such a column.
    """
    view = VIEWS.get(by)
    if view is None:
        raise ViewError(f"no table by {by!r}; there are: {', '.join(VIEWS)}")
    there = columns_of_view(view)
    for name in (*columns, *([sort] if sort is not None else [])):
        if name not in there:
            raise ColumnError(f"no column {name!r} in a table by {by}; there are: {', '.join(there)}")
    rows: list[AnyRow] = list(view.rows(trace, _find_step(trace, step)))
    absent = () if has(trace, GPU) else tuple(name for name in _OF_GPU[view.row] if name in there)
    if absent:
        # None is a cell that was not measured.
        rows = [structs.replace(row, **dict.fromkeys(absent)) for row in rows]
    if sort is not None:
        rows.sort(key=lambda row: _sort_key(row, sort), reverse=sort != "name")
    kept = rows if limit is None else rows[:limit]
    names = columns or [name for name in view.shown(kept) if name not in absent or not kept]
    shown = [_column(name, view) for name in names]
    return Shown(view, shown, kept, len(rows) - len(kept))


def columns_of_view(view: View) -> list[str]:
    """Name every column that a table of this view can have."""
    there = view.row.__struct_fields__ if view.asked is None else (*view.columns, *view.asked)
    return [name for name in COLUMNS if name in there]


def _find_step(trace: Trace, number: int | None) -> StepAt | None:
    if number is None:
        return None
    steps = [step for step in trace.steps_at if step.number == number]
    if steps:
        return together(steps) if len(steps) > 1 else steps[0]
    there = ", ".join(dict.fromkeys(str(step.number) for step in trace.steps_at)) or "none"
    raise ViewError(f"{trace.path}: no step {number}; the trace has steps: {there}")


def name_step(trace: Trace, number: int) -> str:
    """Write a step and, if several processes have one of its number, how many these are."""
    processes = sum(step.number == number for step in trace.steps_at)
    return f"step {number}" + (
        f" of {count_word(processes, 'process', 'processes')}" if processes > 1 else ""
    )


def _sort_key(row: object, column: str) -> tuple[bool, object]:
    """A step that launched nothing has no launch delay (None): it sorts below all others."""
    value = getattr(row, column)
    return value is not None, value


def _column(name: str, view: View) -> Column:
    """Return the column of a name; the heading of a share says what it is of."""
    return Column(name, view.share, "share") if name == "share" else COLUMNS[name]


CHANGE_COLUMNS = (
    Column("name", "name"),
    Column("said", "what happened", "text"),
    Column("calls_before", "calls", "count"),
    Column("calls_after", "calls then", "count"),
    Column("before", "time", "time"),
    Column("after", "time then", "time"),
    Column("ratio", "ratio", "ratio"),
)
"""The columns of a table that compares two traces; :func:`change_row` makes its rows"""


def change_row(pair: Pair) -> dict[str, object]:
    """Return the row of a pair; a time is None if there was nothing to measure."""
    return {
        "name": pair.name,
        "kind": pair.kind,
        "said": CHANGE_LABELS[pair.change],
        "calls_before": pair.calls_before,
        "calls_after": pair.calls_after,
        "before": pair.before if pair.change != "new" else None,
        "after": pair.after if pair.change != "gone" else None,
        "ratio": pair.ratio,
    }
