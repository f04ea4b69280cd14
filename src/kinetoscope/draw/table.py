"""Tables of measurements: HTML for a page, plain text for anywhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from kinetoscope.draw.names import clean, short_name
from kinetoscope.draw.palette import class_of
from kinetoscope.draw.text_metrics import terminal_head, terminal_width
from kinetoscope.measure.printing import UNITS, TimeUnit, column_unit, in_unit, printed
from kinetoscope.measure.selection import matches
from kinetoscope.trace import Kind
from kinetoscope.trace.events import EventsAt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kinetoscope.trace import Event

_LONG = 60
"""A cell cuts a kernel's name with more characters than this, and shows it in full when it is opened"""

_WORD = 22
"""A column whose texts are at most this long (in characters) does not wrap"""

_LEAST = 20
"""Characters of a name that a narrow terminal still shows"""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table, and how its values are written.

    ``kind`` says what a row holds under ``key``: a ``name`` (of an event, set as code; a kernel's is
    shortened), a ``text``, a ``time`` (ns), a ``count``, a ``share`` (a fraction of 1, written in %), a
    ``ratio`` (written ``1.88×``) or a ``quantity`` of :attr:`unit` (bytes, operations, or a rate of them).

    Raises ValueError for a time in an unknown unit.
    """

    key: str
    """Attribute or mapping key of a row"""
    heading: str
    kind: Literal["name", "text", "time", "count", "share", "ratio", "quantity"] = "name"
    unit: str | None = None
    """Of a time: ``ns``, ``µs``, ``ms`` or ``s``; None takes the one that suits the largest.
    Of a count: what is counted, such as ``B``.  Of a quantity: a unit of ``measure.printing.printed``."""

    def __post_init__(self) -> None:
        if self.kind == "time" and self.unit is not None and self.unit not in UNITS:
            raise ValueError(
                f"column {self.key!r}: a time is written in {', '.join(UNITS)}, not {self.unit!r}"
            )


class _Cell(NamedTuple):
    text: str
    unit: str = ""
    """With the space before it: only ``×`` has none"""
    kind: Kind | None = None
    """Of the event whose name this is"""

    def __str__(self) -> str:
        return self.text + self.unit


def html_table(
    columns: Sequence[Column],
    rows: Sequence[object],
    *,
    caption: str | None = None,
    label: str | None = None,
    highlight: Sequence[str] = (),
    trace: str = "",
    css: str = "",
) -> str:
    """Return the rows as an HTML table that scrolls inside its own box and is reachable by keyboard.

    Rows are data classes or mappings.  ``caption`` is plain text; ``label`` names the box for screen
    readers if there is no caption; ``highlight`` are patterns (``*``, ``?``) for the first column of names;
    ``css`` is one more class of the box.  If a row has ``events`` of the trace ``trace`` (``MACHINE/NAME``),
    it carries their indexes as ``data-events``.  If the events are of several traces, ``trace`` lists these
    with spaces between, and ``events`` is the text that :func:`event_places` makes.

    Raises KeyError for a column that a row does not have.
    """
    cells = _cells(columns, rows)
    first = next((i for i, column in enumerate(columns) if column.kind == "name"), None)
    aria = escape(clean(caption or label or "Measurements"), quote=True)
    of = f' data-trace="{escape(clean(trace), quote=True)}"' if trace else ""
    box = f"ks-table {css}".strip()
    out = [f'<div class="{box}" role="group" tabindex="0" aria-label="{aria}"{of}>', "<table>"]
    if caption:
        out.append(f"<caption>{_t(caption)}</caption>")
    classes_of = [_class(column, [line[i].text for line in cells]) for i, column in enumerate(columns)]
    heads = "".join(
        f'<th scope="col"{of_column}>{_t(column.heading)}</th>'
        for column, of_column in zip(columns, classes_of, strict=True)
    )
    out += [f"<thead><tr>{heads}</tr></thead>", "<tbody>"]
    for row, line in zip(rows, cells, strict=True):
        name = "" if first is None else line[first].text
        classes = [*(["ks-marked"] if any(matches(name, p) for p in highlight) else []), *_color(row)]
        marked = f' class="{" ".join(classes)}"' if classes else ""
        written = "".join(
            _html(column, line[i], classes_of[i], is_first=i == first) for i, column in enumerate(columns)
        )
        out.append(f"<tr{marked}{_events(row)}>{written}</tr>")
    if not rows:
        out.append(f'<tr><td colspan="{max(1, len(columns))}">Nothing was recorded.</td></tr>')
    return "\n".join([*out, "</tbody>", "</table>", "</div>"]) + "\n"


def brief_name(name: str, kind: Kind | None) -> str:
    """Return a kernel's short name, cut to at most 60 characters; any other name is text and stays whole."""
    short = short_name(name, kind)
    return short if kind is not Kind.KERNEL or len(short) <= _LONG else short[: _LONG - 1] + "…"


def cell_texts(columns: Sequence[Column], rows: Sequence[object]) -> list[list[str]]:
    """Return every cell as plain text with its unit, names in full, for builders that lay out tables."""
    return [[str(cell) for cell in line] for line in _cells(columns, rows)]


def text_table(columns: Sequence[Column], rows: Sequence[object], *, width: int | None = None) -> str:
    """Return the rows as lines of text, columns two spaces apart, numbers flush right.

    Names are short.  If a ``width`` in characters is given and the lines are longer, names are cut; an
    event's that is no kernel's goes on in the next line instead.
    """
    heads, body = _texts(columns, rows)
    widths = _widths(columns, _whole_widths(heads, body), width)
    lines = [heads, ["-" * size for size in widths]]
    for row, line in zip(rows, body, strict=True):
        lines += [line] if _kind(row) is Kind.KERNEL else _wrapped(columns, line, widths)
    return "".join(
        "  ".join(
            _pad(text, size, column) for text, size, column in zip(line, widths, columns, strict=True)
        ).rstrip()
        + "\n"
        for line in lines
    )


def _wrapped(columns: Sequence[Column], line: list[str], widths: Sequence[int]) -> list[list[str]]:
    """Return the line, and more below it where its event's name is longer than the column."""
    at = next((i for i, column in enumerate(columns) if column.key == "name"), None)
    if at is None or terminal_width(line[at]) <= widths[at]:
        return [line]
    name, pieces = line[at], []
    while name:
        pieces.append(terminal_head(name, widths[at]))
        name = name[len(pieces[-1]) :]
    below = [[piece if i == at else "" for i in range(len(line))] for piece in pieces[1:]]
    return [[*line[:at], pieces[0], *line[at + 1 :]], *below]


def fitting(columns: Sequence[Column], rows: Sequence[object], width: int) -> list[Column]:
    """Return the columns that fit into ``width`` characters with names still readable.

    Columns of names go first, from the right, except the first one; then numbers, from the right.
    """
    whole = _whole_widths(*_texts(columns, rows))
    kept = list(range(len(columns)))
    names = [at for at in kept if columns[at].kind == "name"]
    while len(kept) > 1:
        widths = _widths([columns[at] for at in kept], [whole[at] for at in kept], width)
        if sum(widths) + 2 * (len(kept) - 1) <= width:
            break
        more = [at for at in kept if at in names[1:]]
        kept.remove(more[-1] if more else kept[-1])
    return [columns[at] for at in kept]


def _texts(columns: Sequence[Column], rows: Sequence[object]) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the cells as text."""
    cells = _cells(columns, rows)
    body = [[_short(column, cell) for column, cell in zip(columns, line, strict=True)] for line in cells]
    return [clean(column.heading) for column in columns], body


def _whole_widths(heads: Sequence[str], body: Sequence[Sequence[str]]) -> list[int]:
    """Return the width in a terminal that each column needs to show all of its texts."""
    return [max(map(terminal_width, column)) for column in zip(heads, *body, strict=True)]


def _widths(columns: Sequence[Column], whole: Sequence[int], width: int | None) -> list[int]:
    """Return each column's width; names are narrowed, the widest first, to :data:`_LEAST`."""
    widths = list(whole)
    names = [i for i, column in enumerate(columns) if column.kind == "name"]
    over = 0 if width is None else sum(widths) + 2 * (len(widths) - 1) - width
    while over > 0 and names:
        widest = max(names, key=lambda i: widths[i])
        if widths[widest] <= _LEAST:
            break
        widths[widest] -= 1
        over -= 1
    return widths


def _short(column: Column, cell: _Cell) -> str:
    return short_name(str(cell), cell.kind) if column.kind == "name" else str(cell)


def _pad(text: str, size: int, column: Column) -> str:
    if terminal_width(text) > size:
        text = terminal_head(text, size - 1) + "…"
    space = " " * (size - terminal_width(text))
    return text + space if column.kind in ("name", "text") else space + text


def _value(row: object, key: str) -> Any:
    if isinstance(row, Mapping):
        return row[key]
    try:
        return getattr(row, key)
    except AttributeError:
        raise KeyError(f"a {type(row).__name__} has no {key!r}") from None


def _cells(columns: Sequence[Column], rows: Sequence[object]) -> list[list[_Cell]]:
    values = [[_value(row, column.key) for column in columns] for row in rows]
    units = [_unit(column, [line[i] for line in values]) for i, column in enumerate(columns)]
    cells = [
        [_cell(column, unit, v) for column, unit, v in zip(columns, units, line, strict=True)]
        for line in values
    ]
    named = [i for i, column in enumerate(columns) if column.key == "name"]
    for row, line in zip(rows, cells, strict=True):
        for i in named:
            line[i] = line[i]._replace(kind=_kind(row))
    return cells


def _kind(row: object) -> Kind | None:
    """Return the kind of the events whose name a row has under ``name``; None if they are no events."""
    return row.get("kind") if isinstance(row, Mapping) else getattr(row, "kind", None)


def _unit(column: Column, values: list[Any]) -> TimeUnit | None:
    if column.kind != "time":
        return None
    numbers = (v for v in values if isinstance(v, (int, float)))
    return UNITS[column.unit] if column.unit else column_unit(numbers)


def _cell(column: Column, unit: TimeUnit | None, value: Any) -> _Cell:
    if value is None:
        return _Cell("–")
    if isinstance(value, str):
        return _Cell(clean(value))  # also among numbers: "out of memory" in a column of times
    if unit is not None:
        return _Cell(in_unit(value, unit), f" {unit.name}")
    match column.kind:
        case "share":
            return _Cell("<0.1" if 0 < value < 0.0005 else f"{100 * value:.1f}", " %")
        case "ratio":
            return _Cell(f"{value:.2f}", "×")
        case "quantity":
            number, space, name = printed(value, column.unit or "number").partition(" ")
            return _Cell(number, space + name)
        case "count":
            # A median over steps can lie between two counts.
            return _Cell(
                f"{value:g}" if isinstance(value, float) else str(value),
                f" {column.unit}" if column.unit else "",
            )
        case _:
            return _Cell(clean(", ".join(value) if isinstance(value, tuple) else str(value)))


def _html(column: Column, cell: _Cell, of_column: str, *, is_first: bool) -> str:
    tag, scope = ("th", ' scope="row"') if is_first else ("td", "")
    match column.kind:
        case "name":
            content = _name(cell)
        case "text":
            content = _t(cell.text)
        case _:
            content = _number(cell)
    return f"<{tag}{scope}{of_column}>{content}</{tag}>"


def _number(cell: _Cell) -> str:
    if not cell.unit:
        return _t(cell.text)
    unit = _t(cell.unit).replace(" ", "\N{NO-BREAK SPACE}", 1)
    return f'{_t(cell.text)}<span class="ks-unit">{unit}</span>'


def _name(cell: _Cell) -> str:
    name = cell.text
    short = brief_name(name, cell.kind)
    if short == name:
        return f"<code>{_t(name)}</code>"
    # This opens without JavaScript, by touch and by keyboard, and the full name can be selected.
    full = escape(name, quote=True)
    summary = f'<summary title="{full}"><code>{_t(short)}</code></summary>'
    return f'<details class="ks-name">{summary}<code>{_t(name)}</code></details>'


def _color(row: object) -> list[str]:
    """Return the classes that give a row the color of its events in a timeline, if they share one."""
    events = _events_of(row)
    if not events or isinstance(events, str):
        return []
    alike = events.alike() if isinstance(events, EventsAt) else {(e.kind, e.name) for e in events}
    kinds = {class_of(kind, name) for kind, name in alike}
    return ["ks-kind", f"ks-{kinds.pop()}"] if len(kinds) == 1 else []


def _events_of(row: object) -> Any:
    """Return the events of a row, or the text of :func:`event_places`; None if it has neither."""
    return row.get("events") if isinstance(row, Mapping) else getattr(row, "events", None)


def _events(row: object) -> str:
    events = _events_of(row)
    if not events:
        return ""
    places = events if isinstance(events, str) else event_indexes(events)
    return f' data-events="{escape(places, quote=True)}"'


def event_places(events: Mapping[str, Iterable[Event]]) -> str:
    """Write events of several traces as ``MACHINE/NAME:3 17 31; MACHINE/OTHER:4``, by each trace's key.

    The numbers are the events' indexes in the file.
    """
    written = {trace: event_indexes(of_trace) for trace, of_trace in events.items()}
    return "; ".join(f"{trace}:{places}" for trace, places in written.items() if places)


def event_indexes(events: Iterable[Event]) -> str:
    """Write the events' indexes in the file, with spaces between."""
    indexes = events.indexes() if isinstance(events, EventsAt) else (event.index for event in events)
    return " ".join(map(str, indexes))


def _class(column: Column, texts: Sequence[str]) -> str:
    if column.kind not in ("name", "text"):
        return ' class="ks-number"'
    # Kernel names are long and may break anywhere; a column of short words does not wrap.
    if max(map(len, (column.heading, *texts))) <= _WORD:
        return ' class="ks-word"'
    return ' class="ks-text"' if column.kind == "text" else ""


def _t(text: str) -> str:
    return escape(clean(text), quote=False)
