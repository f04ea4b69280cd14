"""``kinetoscope assert TRACE EXPRESSION…``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinetoscope.cli.output import say
from kinetoscope.cli.reading import add_trace, read_trace

if TYPE_CHECKING:
    import argparse

    from kinetoscope.measure.assertions import Check

_MOST = 40
"""Names listed of one selection"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's own options."""
    add_trace(parser)
    parser.add_argument(
        "expressions",
        metavar="EXPRESSION",
        nargs="+",
        help="a condition in quotes, such as 'count(kernels) == 5' or '\"aten::copy_\" not in ops'",
    )


def run(options: argparse.Namespace) -> int:
    """Prints a line for each condition; of one that fails, what was measured and what was there."""
    from kinetoscope.measure.assertions import check

    trace = read_trace(options, options.trace)
    checks = [check(trace, expression) for expression in options.expressions]
    for found in checks:
        say(f"{'holds' if found.holds else 'FAILS'}  {found.expression}")
        if not found.holds:
            say("\n".join(f"       {line}" for line in details(found)))
    return 0 if all(found.holds for found in checks) else 1


def details(found: Check) -> list[str]:
    """What was measured, and what the condition is about, a line each."""
    from kinetoscope.measure.assertions import listing

    lines = [f"{part} is {value}" for part, value in found.measured]
    for selection in found.selections:
        lines += listing(selection, _MOST)
    return lines
