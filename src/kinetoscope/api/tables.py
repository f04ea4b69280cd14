"""Tables as lists of plain rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, SupportsIndex

from kinetoscope.draw.views import COLUMNS, AnyRow, Shown, ViewError, choose_rows, columns_of_view

if TYPE_CHECKING:
    from kinetoscope.trace import Trace


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
        return [{key: getattr(row, name) for name, key in self._keys().items()} for row in self]

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` of :meth:`to_dicts`.  Raises ``ImportError`` where there is no pandas."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError(
                "to_pandas() needs pandas, which is not here: `pip install pandas`, or take to_dicts()"
            ) from error
        return pandas.DataFrame(self.to_dicts(), columns=list(self._keys().values()))

    def _keys(self) -> dict[str, str]:
        return {name: f"{name}_ns" if COLUMNS[name].kind == "time" else name for name in self.columns}

    def __str__(self) -> str:
        from kinetoscope.draw.table import text_table

        return text_table(self._shown.columns, self)

    def _repr_html_(self) -> str:
        from kinetoscope.draw.table import html_table

        return html_table(self._shown.columns, self, caption=self._title)


def table_of(trace: Trace, by: str, step: int | None, sort: str | None, limit: int | None) -> Table:
    """As :meth:`kinetoscope.Trace.table`."""
    if step is not None and not _is_whole(step):
        raise TypeError(f"step is the number of a step, such as 3, not {type(step).__name__} ({step!r:.60})")
    if limit is not None and (not _is_whole(limit) or limit < 1):
        raise ViewError(f"limit is a number of rows, 1 or more, not {limit!r:.60}; None shows all")
    shown = choose_rows(trace, by, step=step, sort=sort, limit=limit)
    of = f", step {step}" if step is not None else ""
    return Table(shown, f"By {shown.view.noun}{of}")


def _is_whole(value: object) -> bool:
    return isinstance(value, SupportsIndex) and not isinstance(value, bool)
