"""``kinetoscope compare A B``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinetoscope.cli.output import Refusal, finding_dict, say, say_csv, say_json, width
from kinetoscope.cli.reading import add_trace, read_trace

if TYPE_CHECKING:
    import argparse

    from kinetoscope.measure.compare import Pair


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's own options."""
    add_trace(parser, "before")
    add_trace(parser, "after")
    parser.add_argument(
        "--by", choices=("kernel", "op"), default="kernel", help="kernels and copies (if not given), or ops"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="full names, times in ns")
    form.add_argument("--json", action="store_true", help="the same as JSON, with the findings")


def run(options: argparse.Namespace) -> int:
    """Prints what became of each name, a step each: medians over the recorded steps."""
    if options.before == options.after == "-":
        raise Refusal("one pipe brings one trace; name a file for the other.")
    from kinetoscope.draw.changes import CHANGE_COLUMNS, change_row
    from kinetoscope.draw.table import fitting, text_table
    from kinetoscope.measure.compare import DEFAULT_KINDS, compare
    from kinetoscope.trace import Kind

    quiet = options.json and not options.strict
    before, after = (
        read_trace(options, path, shows_findings=quiet) for path in (options.before, options.after)
    )
    pairs = compare(before, after, *((Kind.OP,) if options.by == "op" else DEFAULT_KINDS))
    if options.csv or options.json:
        rows = [_plain(pair) for pair in pairs]
        if options.csv:
            say_csv(list(_FIELDS), [list(row.values()) for row in rows])
        else:
            findings = [[finding_dict(each) for each in trace.findings] for trace in (before, after)]
            say_json({"by": options.by, "rows": rows, "findings": dict(zip(_SIDES, findings, strict=True))})
        return 0
    shown = [change_row(pair) for pair in pairs]
    room = width()
    fitted = CHANGE_COLUMNS if room is None else fitting(CHANGE_COLUMNS, shown, room)
    say(text_table(fitted, shown, width=room).rstrip("\n"))
    say()
    counts = {said: sum(row["said"] == said for row in shown) for row in shown for said in (row["said"],)}
    told = ", ".join(f"{number} {said}" for said, number in counts.items())
    if not told:
        what = "ops" if options.by == "op" else "kernels or copies"
        told = f"neither has {what}" + (
            "" if options.by == "op" else " (`--by op` compares what the CPU did)"
        )
    left = [column.heading for column in CHANGE_COLUMNS if column not in fitted]
    narrow = f" No room here for {', '.join(left)}: a wider terminal or --csv has them." if left else ""
    say(f"From {before.path} to {after.path}, a step each: {told}.{narrow}")
    return 0


_SIDES = ("before", "after")
_FIELDS = ("name", "kind", "change", "calls_before", "calls_after", "before_ns", "after_ns", "ratio")


def _plain(pair: Pair) -> dict[str, object]:
    values = (pair.name, pair.kind.value, pair.change, pair.calls_before, pair.calls_after, pair.before)
    return dict(zip(_FIELDS, (*map(_whole, values), _whole(pair.after), pair.ratio), strict=True))


def _whole(value: object) -> object:
    """A median of whole numbers is most often whole."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
