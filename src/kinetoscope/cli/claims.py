"""``kinetoscope claims [SITE]``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from kinetoscope.cli.output import note, say

if TYPE_CHECKING:
    import argparse

DEFAULT = Path("docs/_build/html")
MARKS = {"holds": "+", "in part": "~", "fails": "-", "not measured": "?"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's own options."""
    parser.add_argument(
        "site",
        nargs="?",
        type=Path,
        default=DEFAULT,
        help=f"the built site, or its claims.json ({DEFAULT})",
    )


def run(options: argparse.Namespace) -> int:
    """Prints the verdicts of a built book; 1 if a *claim* fails, 2 for what cannot be done."""
    return print_claims(options.site)


def print_claims(site: Path) -> int:
    """Prints ``site``'s ``claims.json``, a line each; a reported sentence that fails is no failure."""
    path = site / "claims.json" if site.is_dir() else site
    try:
        items = json.loads(path.read_text(encoding="utf-8"))
        failed = 0
        for item in items:
            figure = f"  [{item['value']}]" if item["value"] else ""
            said_by = f"{', '.join(item['said_by'])}: " if item["said_by"] else ""
            say(f"{MARKS[item['verdict']]} {item['id']}: {said_by}{item['sentence']}{figure}")
            failed += item["kind"] == "claim" and item["verdict"] == "fails"
    except OSError as error:
        note(f"{path}: {error.strerror}; build the book first (nox -s docs)")
        return 2
    except (ValueError, KeyError, TypeError) as error:
        note(f"{path} is no claims.json ({error}); build the book again")
        return 2
    count = {kind: sum(item["kind"] == kind for item in items) for kind in ("claim", "reported")}
    say(f"{count['claim']} claims, {failed} of which fail; {count['reported']} reported sentences")
    return 1 if failed else 0
