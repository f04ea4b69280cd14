"""``kinetoscope table TRACE``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kinetoscope.cli.output import finding_dict, say, say_csv, say_json, width
from kinetoscope.cli.reading import add_trace, read_trace

if TYPE_CHECKING:
    from kinetoscope.draw.views import Shown
    from kinetoscope.trace import Trace

VIEWS = ("op", "kernel", "copy", "call", "annotation", "step", "waiting")
"""The ways to group; as in :data:`kinetoscope.draw.views.VIEWS`"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's own options."""
    add_trace(parser)
    parser.add_argument("--by", choices=VIEWS, default="op", help="what a row is (op if not given)")
    parser.add_argument(
        "--step", type=int, metavar="N", help="of ProfilerStep#N alone, in place of all steps"
    )
    parser.add_argument(
        "--sort", metavar="COLUMN", help="the largest of this column first; name: from A to Z"
    )
    parser.add_argument("--limit", type=row_number, metavar="N", help="no more than N rows")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="every column, full names, times in ns")
    form.add_argument("--json", action="store_true", help="the same as JSON, with the findings")


def run(options: argparse.Namespace) -> int:
    """Prints one table."""
    from kinetoscope.draw.table import fitting, text_table
    from kinetoscope.draw.views import choose_rows

    trace = read_trace(options, options.trace, shows_findings=options.json and not options.strict)
    shown = choose_rows(trace, options.by, step=options.step, sort=options.sort, limit=options.limit)
    if options.csv or options.json:
        columns, lines = plain_rows(shown)
        if options.csv:
            say_csv(columns, [[_joined(value) for value in line] for line in lines])
        else:
            rows = [dict(zip(columns, line, strict=True)) for line in lines]
            findings = [finding_dict(finding) for finding in trace.findings]
            left = {"by": options.by, "step": options.step, "left_out": shown.left_out}
            say_json({**left, "rows": rows, "findings": findings})
        return 0
    room = width()
    fitted = shown.columns if room is None else fitting(shown.columns, shown.rows, room)
    say(text_table(fitted, shown.rows, width=room).rstrip("\n"))
    say()
    say(_about(trace, options, shown, [column.heading for column in shown.columns if column not in fitted]))
    return 0


def plain_rows(shown: Shown) -> tuple[list[str], list[list[object]]]:
    """Names of all columns (of a time with ``_ns`` at their end), and the rows' values as they are."""
    from kinetoscope.draw.views import COLUMNS, columns_of_view

    names = columns_of_view(shown.view)
    head = [f"{name}_ns" if COLUMNS[name].kind == "time" else name for name in names]
    return head, [[getattr(row, name) for name in names] for row in shown.rows]


def _joined(value: object) -> object:
    return "; ".join(value) if isinstance(value, tuple) else value


def _about(trace: Trace, options: argparse.Namespace, shown: Shown, narrow: list[str]) -> str:
    number = len(shown.rows)
    parts = [f"{number} {'row' if number == 1 else 'rows'}, by {shown.view.noun}"]
    if options.step is not None:
        parts.append(f"of step {options.step}")
    elif trace.steps_at and options.by not in ("step", "waiting"):
        number_of = len(trace.steps_at)
        whole = f"all {number_of} steps" if number_of > 1 else "the one step"
        parts.append(f"sums over {whole} and what is {'between them' if number_of > 1 else 'around it'}")
    if any(column.key == "share" for column in shown.columns):
        parts.append(f"share {shown.view.share}")
    if shown.left_out:
        parts.append(f"{shown.left_out} more not shown")
    if narrow:
        parts.append(f"no room here for {', '.join(narrow)} (a wider terminal or --csv has them)")
    if not number:
        parts.append(_why_empty(trace, options.by))
    return "; ".join(parts) + "."


def _why_empty(trace: Trace, by: str) -> str:
    from kinetoscope.measure.summary import kind_counts

    if by == "waiting":
        return "the trace has no work of a GPU, so nothing waited"
    there = ", ".join(kind.value for kind in kind_counts(trace))
    return f"the trace has no events of this kind, but {there}" if there else "the trace has no events"


def row_number(text: str) -> int:
    """Raises ``ArgumentTypeError`` for what is no number of rows."""
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number of rows; give 1 or more")
    return number
