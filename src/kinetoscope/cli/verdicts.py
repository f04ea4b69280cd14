"""``kinetoscope assert TRACE EXPRESSION…`` and ``kinetoscope claims [SITE]``: what holds and what fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from kinetoscope.cli.console import Refusal, note, say
from kinetoscope.cli.files import add_trace, read_trace
from kinetoscope.measure.errors import NotMeasured

if TYPE_CHECKING:
    import argparse

_MOST_NAMES = 40
"""Names listed of one selection"""
SITE = Path("docs/_build/html")
MARKS = {"holds": "+", "in part": "~", "fails": "-", "not measured": "?"}


def add_assert(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of ``kinetoscope assert``."""
    add_trace(parser)
    parser.add_argument(
        "expressions",
        metavar="EXPRESSION",
        nargs="+",
        help="a condition in quotes, such as 'count(kernels) == 5' or '\"aten::copy_\" not in ops'",
    )
    parser.add_argument(
        "--absent-is-zero",
        action="store_true",
        help="what the file holds nothing of counts as 0, in place of not measured (status 4)",
    )


def run_assert(options: argparse.Namespace) -> int:
    """Prints a line for each condition; for one that fails, also what was measured and what was there."""
    from kinetoscope.measure.assertions import Check, check, listing

    trace = read_trace(options, options.trace)

    def checked_or_why_not(expression: str) -> Check | NotMeasured:
        try:
            return check(trace, expression, absent_is_zero=options.absent_is_zero)
        except NotMeasured as error:
            return error

    # All of them first: one that cannot be computed ends the command before it prints a verdict.
    checks = [(expression, checked_or_why_not(expression)) for expression in options.expressions]
    for expression, checked in checks:
        if isinstance(checked, NotMeasured):
            say(f"not measured  {expression.strip()}")
            continue
        say(f"{'holds' if checked.holds else 'FAILS'}  {checked.expression}")
        if not checked.holds:
            lines = [f"{part} is {value}" for part, value in checked.measured]
            for selection in checked.selections:
                lines += listing(selection, _MOST_NAMES)
            say("\n".join(f"       {line}" for line in lines))
    reasons = dict.fromkeys(str(checked) for _, checked in checks if isinstance(checked, NotMeasured))
    for reason in reasons:
        note(f"{trace.path}: {reason} (With --absent-is-zero it counts as 0.)")
    if any(isinstance(checked, Check) and not checked.holds for _, checked in checks):
        return 1
    return 4 if reasons else 0


def add_claims(parser: argparse.ArgumentParser) -> None:
    """Adds the argument of ``kinetoscope claims``."""
    what = f"the built site, or its claims.json (default: {SITE})"
    parser.add_argument("site", nargs="?", type=Path, default=SITE, help=what)


def run_claims(options: argparse.Namespace) -> int:
    """Prints the verdicts in a site's ``claims.json``, a line each.

    Returns 1 if a *claim* fails (a reported sentence may).  Raises :class:`Refusal` for a file that cannot be
    read.
    """
    path = options.site / "claims.json" if options.site.is_dir() else options.site
    try:
        items = json.loads(path.read_text(encoding="utf-8"))
        failed = 0
        for item in items:
            figure = f"  [{item['value']}]" if item["value"] else ""
            said_by = f"{', '.join(item['said_by'])}: " if item["said_by"] else ""
            say(f"{MARKS[item['verdict']]} {item['id']}: {said_by}{item['sentence']}{figure}")
            failed += item["kind"] == "claim" and item["verdict"] == "fails"
    except OSError as error:
        raise Refusal(f"{path}: {error.strerror}; build the book first (nox -s docs).") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Refusal(f"{path} is not a claims.json ({error}); build the book again.") from error
    claims, reported = (sum(item["kind"] == kind for item in items) for kind in ("claim", "reported"))
    say(
        f"{claims} {'claim' if claims == 1 else 'claims'}, {failed or 'none'} of which "
        f"{'fails' if failed == 1 else 'fail'}; "
        f"{reported} reported {'sentence' if reported == 1 else 'sentences'}"
    )
    return 1 if failed else 0
