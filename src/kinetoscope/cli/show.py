"""``kinetoscope show TRACE``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kinetoscope.cli.files import add_force, free_name, refuse_existing, write_whole
from kinetoscope.cli.output import note, say
from kinetoscope.cli.progress import waiting
from kinetoscope.cli.reading import add_trace, read_trace, trace_name
from kinetoscope.cli.timeline import steps

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's own options."""
    add_trace(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="the page; TRACE's name with .html, in the folder one is in, if not given",
    )
    parser.add_argument(
        "--step",
        type=steps,
        metavar="N",
        help="what the timeline opens at: 3, or 2,3, or all (a typical step)",
    )
    parser.add_argument("--no-open", action="store_true", help="only write the page")
    add_force(parser)


def run(options: argparse.Namespace) -> int:
    """Writes one page with all there is to see of a trace, and opens it in the browser."""
    path: Path | None = options.output
    if path is not None:
        refuse_existing(path, force=options.force)
    trace = read_trace(options, options.trace)
    from kinetoscope import __version__
    from kinetoscope.draw.page import page_html

    name = trace_name(trace)
    if path is None:
        path = Path(f"{name}.html")
        path = path if options.force else free_name(path)
    with waiting(f"writing {path}"):
        text = page_html(trace, name=name, steps=options.step, version=__version__)
        write_whole(path, lambda beside: beside.write_text(text, encoding="utf-8"), force=options.force)
    say(f"{path}: {len(text.encode()) / 1e6:.1f} MB, to be opened in any browser")
    if not options.no_open:
        import webbrowser

        if not webbrowser.open(path.absolute().as_uri()):
            note(f"no browser could be started here; open {path} in one.")
    return 0
