"""``kinetoscope scrub IN OUT``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kinetoscope.cli.console import say, spinner
from kinetoscope.cli.files import (
    add_force,
    add_trace,
    limit_of,
    read_bytes,
    refuse_existing,
    refuse_to_replace,
    report_findings,
    write_whole,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable


def add_scrub(parser: argparse.ArgumentParser) -> None:
    """Adds the options of ``kinetoscope scrub``."""
    add_trace(parser, "in")
    parser.add_argument("out", type=Path, metavar="OUT", help="the new file; gzipped if its name ends in .gz")
    parser.add_argument(
        "--word",
        action="append",
        default=[],
        metavar="NAME",
        help="a host, a user or a project that must not be in it either; may be repeated",
    )
    add_force(parser)


def run_scrub(options: argparse.Namespace) -> int:
    """Writes a copy of the trace that does not tell who recorded it, on which host, from which folders."""
    path, out = getattr(options, "in"), options.out
    refuse_existing(out, force=options.force)
    refuse_to_replace(out, path, (".json", ".json.gz"))
    from kinetoscope.record.scrub import Scrubber, scrubbed
    from kinetoscope.trace.findings import Findings

    findings = Findings()
    with spinner(f"scrubbing {path}"):
        data, name = read_bytes(options, path)
        pieces = scrubbed(
            data,
            Scrubber.of_this_machine().knowing(*options.word),
            name,
            findings=findings,
            max_bytes=limit_of(options),
        )
        report_findings(options, name, list(findings))
        packed = out.suffix == ".gz"
        write_whole(out, lambda target: _write(target, pieces, packed=packed), force=options.force)
    say(f"{out}: without host and user names, folders and the metadata around the events.")
    say("Names of ops and annotations are kept as you gave them: look at the file before you share it.")
    return 0


def _write(path: Path, pieces: Iterable[bytes], *, packed: bool) -> None:
    from kinetoscope.record.scrub import write_gzip

    with path.open("wb") as file:
        if packed:
            write_gzip(file, pieces, level=6)
        else:
            file.writelines(pieces)
