"""The command line.  ``kinetoscope claims`` prints a built book's verdicts."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

_DEFAULT = Path("docs/_build/html")
_MARKS = {"holds": "+", "in part": "~", "fails": "-", "not measured": "?"}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status: 1 if a *claim* fails, 2 for what cannot be done."""
    parser = argparse.ArgumentParser(prog="kinetoscope", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    claims = commands.add_parser("claims", help="print the verdicts of a built book")
    claims.add_argument(
        "site",
        nargs="?",
        type=Path,
        default=_DEFAULT,
        help=f"the built site, or its claims.json ({_DEFAULT})",
    )
    arguments = parser.parse_args(argv)
    return print_claims(arguments.site)


def print_claims(site: Path) -> int:
    """Prints ``site``'s ``claims.json``, a line each; a reported sentence that fails is no failure."""
    path = site / "claims.json" if site.is_dir() else site
    try:
        items = json.loads(path.read_text(encoding="utf-8"))
        failed = 0
        for item in items:
            figure = f"  [{item['value']}]" if item["value"] else ""
            said_by = f"{', '.join(item['said_by'])}: " if item["said_by"] else ""
            print(f"{_MARKS[item['verdict']]} {item['id']}: {said_by}{item['sentence']}{figure}")
            failed += item["kind"] == "claim" and item["verdict"] == "fails"
    except OSError as error:
        print(f"kinetoscope: {path}: {error.strerror}; build the book first (nox -s docs)", file=sys.stderr)
        return 2
    except (ValueError, KeyError, TypeError) as error:
        print(f"kinetoscope: {path} is no claims.json ({error}); build the book again", file=sys.stderr)
        return 2
    count = {kind: sum(item["kind"] == kind for item in items) for kind in ("claim", "reported")}
    print(f"{count['claim']} claims, {failed} of which fail; {count['reported']} reported sentences")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
