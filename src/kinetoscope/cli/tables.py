"""``kinetoscope table TRACE`` and ``kinetoscope compare BEFORE AFTER``: rows as text, CSV or JSON."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import TYPE_CHECKING

from kinetoscope.cli.console import Refusal, finding_dict, say, say_csv, say_json, width
from kinetoscope.cli.files import add_trace, read_trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kinetoscope.draw.table import Column
    from kinetoscope.draw.views import Shown
    from kinetoscope.measure.compare import Pair
    from kinetoscope.trace import Trace

VIEWS = ("op", "kernel", "copy", "call", "annotation", "step", "waiting")
"""The names in :data:`kinetoscope.draw.views.VIEWS`, here so that ``--help`` need not import it"""


def _add_forms(parser: argparse.ArgumentParser, csv: str) -> None:
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help=csv)
    form.add_argument("--json", action="store_true", help="the same as JSON, with the findings")


def _say_table(columns: Sequence[Column], rows: Sequence[object]) -> str:
    """Prints the columns that fit into the terminal, and an empty line; the headings of those that do not."""
    from kinetoscope.draw.table import fitting, text_table

    room = width()
    fitted = columns if room is None else fitting(columns, rows, room)
    say(text_table(fitted, rows, width=room).rstrip("\n"))
    say()
    return ", ".join(column.heading for column in columns if column not in fitted)


# --- table --------------------------------------------------------------------------------------------------


def add_table(parser: argparse.ArgumentParser) -> None:
    """Adds the options of ``kinetoscope table``."""
    add_trace(parser)
    parser.add_argument("--by", choices=VIEWS, default="op", help="what a row is (default: op)")
    parser.add_argument("--step", type=int, metavar="N", help="only ProfilerStep#N, instead of all steps")
    parser.add_argument("--sort", metavar="COLUMN", help="largest value of this column first; name: A to Z")
    parser.add_argument("--limit", type=row_limit, metavar="N", help="no more than N rows")
    _add_forms(parser, "every column, full names, times in ns")


def row_limit(text: str) -> int:
    """A number of rows, 1 or more.  Raises ``ArgumentTypeError`` for anything else."""
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number of rows; give 1 or more")
    return number


def run_table(options: argparse.Namespace) -> int:
    """Prints one table."""
    from kinetoscope.api.trace import plain_rows
    from kinetoscope.draw.views import choose_rows

    trace = read_trace(options, options.trace, shows_findings=options.json and not options.strict)
    shown = choose_rows(trace, options.by, step=options.step, sort=options.sort, limit=options.limit)
    if options.csv:
        keys, rows = plain_rows(shown.view, shown.rows)
        say_csv(keys, [[_joined(value) for value in row] for row in rows])
    elif options.json:
        keys, rows = plain_rows(shown.view, shown.rows)
        say_json(
            {
                "by": options.by,
                "step": options.step,
                "left_out": shown.left_out,
                "rows": [dict(zip(keys, row, strict=True)) for row in rows],
                "findings": [finding_dict(finding) for finding in trace.findings],
            }
        )
    else:
        too_wide = _say_table(shown.columns, shown.rows)
        say(_about(trace, options, shown, too_wide))
    return 0


def _joined(value: object) -> object:
    return "; ".join(value) if isinstance(value, tuple) else value


def _about(trace: Trace, options: argparse.Namespace, shown: Shown, too_wide: str) -> str:
    """The line below a table: what its rows are, and what it leaves out."""
    from kinetoscope.draw.views import name_step

    rows, steps = len(shown.rows), len(trace.steps_at)
    parts = [f"{rows} {'row' if rows == 1 else 'rows'}, by {shown.view.noun}"]
    if options.step is not None:
        parts.append(f"of {name_step(trace, options.step)}")
    elif steps and options.by not in ("step", "waiting"):
        whole = f"all {steps} steps" if steps > 1 else "the one step"
        parts.append(f"sums over {whole} and what is {'between them' if steps > 1 else 'around it'}")
    if any(column.key == "share" for column in shown.columns):
        parts.append(f"share {shown.view.share}")
    if shown.left_out:
        parts.append(f"{shown.left_out} more not shown")
    if too_wide:
        parts.append(f"no room here for {too_wide} (a wider terminal or --csv has them)")
    if not rows:
        parts.append(_why_empty(trace, options.by))
    return "; ".join(parts) + "."


def _why_empty(trace: Trace, by: str) -> str:
    from kinetoscope.measure.presence import GPU, has, why_missing
    from kinetoscope.measure.summary import kind_counts

    if by in ("kernel", "copy", "waiting") and not has(trace, GPU):
        return f"not measured: {why_missing(trace, GPU).removesuffix('?')}"
    if by == "waiting":
        return "the trace has no GPU activity, so nothing waited"
    kinds = ", ".join(kind.value for kind in kind_counts(trace))
    return f"the trace has no events of this kind, but {kinds}" if kinds else "the trace has no events"


# --- compare ------------------------------------------------------------------------------------------------

_PAIR_KEYS = ("name", "kind", "change", "calls_before", "calls_after", "before_ns", "after_ns", "ratio")


def add_compare(parser: argparse.ArgumentParser) -> None:
    """Adds the options of ``kinetoscope compare``."""
    add_trace(parser, "before")
    add_trace(parser, "after")
    parser.add_argument(
        "--by", choices=("kernel", "op"), default="kernel", help="kernels and copies (default), or ops"
    )
    _add_forms(parser, "full names, times in ns")


def run_compare(options: argparse.Namespace) -> int:
    """Prints what changed for each name, per step: medians over the recorded steps."""
    if options.before == options.after == "-":
        raise Refusal("one pipe brings one trace; name a file for the other.")
    from kinetoscope.draw.views import CHANGE_COLUMNS, change_row
    from kinetoscope.measure.compare import DEFAULT_KINDS, compare, must_be_comparable
    from kinetoscope.trace import Kind

    shows_findings = options.json and not options.strict
    before, after = (
        read_trace(options, path, shows_findings=shows_findings) for path in (options.before, options.after)
    )
    must_be_comparable(before, after, *((Kind.OP,) if options.by == "op" else DEFAULT_KINDS))
    pairs = compare(before, after, *((Kind.OP,) if options.by == "op" else DEFAULT_KINDS))
    if options.csv:
        say_csv(_PAIR_KEYS, [_plain_pair(pair) for pair in pairs])
    elif options.json:
        rows = [dict(zip(_PAIR_KEYS, _plain_pair(pair), strict=True)) for pair in pairs]
        findings = {
            side: [finding_dict(finding) for finding in trace.findings]
            for side, trace in (("before", before), ("after", after))
        }
        say_json({"by": options.by, "rows": rows, "findings": findings})
    else:
        changes = [change_row(pair) for pair in pairs]
        too_wide = _say_table(CHANGE_COLUMNS, changes)
        counts = Counter(row["said"] for row in changes)
        told = ", ".join(f"{number} {said}" for said, number in counts.items())
        if not told and options.by == "op":
            told = "neither has ops"
        elif not told:
            told = "neither has kernels or copies (`--by op` compares what the CPU did)"
        line = f"From {before.path} to {after.path}, per step: {told}."
        if too_wide:
            line += f" No room here for {too_wide}: a wider terminal or --csv has them."
        say(line)
    return 0


def _plain_pair(pair: Pair) -> list[object]:
    """The values of a pair, in the order of ``_PAIR_KEYS``; a median that is a whole number as an ``int``."""
    values = [
        *(pair.name, pair.kind.value, pair.change),
        *(pair.calls_before, pair.calls_after, pair.before, pair.after),
    ]
    whole = [int(value) if isinstance(value, float) and value.is_integer() else value for value in values]
    return [*whole, pair.ratio]
