"""``kinetoscope timeline TRACE -o FILE`` draws a picture, ``kinetoscope show TRACE`` writes a page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from kinetoscope.cli.console import Refusal, note, say, spinner
from kinetoscope.cli.files import (
    PIPE,
    add_force,
    add_trace,
    free_name,
    read_trace,
    refuse_existing,
    refuse_to_replace,
    write_whole,
)

if TYPE_CHECKING:
    from kinetoscope.draw.geometry import Layout
    from kinetoscope.draw.layout import StepChoice
    from kinetoscope.trace import Trace

SUFFIXES = (".svg", ".png", ".pdf")
PAGES = (".html", ".htm")


def steps(text: str) -> StepChoice:
    """``3``, ``2,3`` or ``all``.  Raises ``ArgumentTypeError`` for anything else."""
    if text.strip() == "all":
        return "all"
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a step; write 3, or 2,3, or all") from None
    return numbers[0] if len(numbers) == 1 else numbers


# --- timeline -----------------------------------------------------------------------------------------------


def add_timeline(parser: argparse.ArgumentParser) -> None:
    """Adds the options of ``kinetoscope timeline``."""
    add_trace(parser)
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE", help="a .svg, .png or .pdf file"
    )
    parser.add_argument(
        "--step",
        type=steps,
        metavar="N",
        help="a step's number, several with commas, or all for the whole trace (default: a typical step)",
    )
    parser.add_argument("--zoom", metavar="PATTERN", help="the first op of this name, and what it launched")
    parser.add_argument(
        "--highlight", metavar="PATTERN", action="append", default=[], help="names to mark; may be repeated"
    )
    parser.add_argument("--width", type=pixels, default=960, metavar="PX", help="width in px (default: 960)")
    parser.add_argument("--dark", action="store_true", help="with a dark background")
    add_force(parser)


def pixels(text: str) -> int:
    """A picture's width in px, 200 to 20,000.  Raises ``ArgumentTypeError`` for anything else."""
    number = int(text) if text.isdecimal() else 0
    if not 200 <= number <= 20_000:
        raise argparse.ArgumentTypeError(f"{text} is not a width; give 200 to 20000 px")
    return number


def run_timeline(options: argparse.Namespace) -> int:
    """Draws a picture of the trace."""
    path: Path = options.output
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise Refusal(f"{path}: a timeline is written as {', '.join(SUFFIXES)}; give one of these endings.")
    if suffix != ".svg":
        _require_matplotlib(suffix)
    refuse_existing(path, force=options.force)
    refuse_to_replace(path, options.trace, SUFFIXES)
    trace = read_trace(options, options.trace)
    from kinetoscope.draw.describe import describe, headline
    from kinetoscope.draw.layout import TimelineOptions, lay_out

    with spinner(f"drawing {path}"):
        shown = TimelineOptions(options.step, options.zoom, options.highlight)
        layout = lay_out(trace, shown, width=options.width)
        title, description = headline(trace, layout), describe(trace, layout)
        write_whole(
            path, lambda target: _draw(layout, target, title, description, options.dark), force=options.force
        )
    say(f"{path}: {title}")
    return 0


def _require_matplotlib(suffix: str) -> None:
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise Refusal(f"{suffix} needs matplotlib; `pip install matplotlib`, or write .svg.")


def _draw(layout: Layout, path: Path, title: str, description: str, dark: bool) -> None:
    if path.suffix.lower() == ".svg":
        from kinetoscope.draw.figure import standalone_svg

        path.write_text(
            standalone_svg(layout, title=title, description=description, dark=dark), encoding="utf-8"
        )
    else:
        import warnings

        from kinetoscope.draw.matplotlib_backend import save_timeline

        with warnings.catch_warnings(record=True) as lacking:
            warnings.filterwarnings("always", "Glyph")
            save_timeline(layout, path, dark=dark)
        if lacking:
            note("matplotlib's font has not all characters of the names; an .svg file shows them.")


# --- show ---------------------------------------------------------------------------------------------------


def add_show(parser: argparse.ArgumentParser) -> None:
    """Adds the options of ``kinetoscope show``."""
    add_trace(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="the page (default: TRACE's name with .html, in the current folder)",
    )
    parser.add_argument(
        "--step",
        type=steps,
        metavar="N",
        help="where the timeline opens: 3, or 2,3, or all (default: a typical step)",
    )
    parser.add_argument("--no-open", action="store_true", help="only write the page")
    add_force(parser)


def run_show(options: argparse.Namespace) -> int:
    """Writes one page with all there is to see of a trace, and opens it in the browser."""
    path: Path | None = options.output
    if path is not None:
        refuse_existing(path, force=options.force)
        refuse_to_replace(path, options.trace, PAGES)
    trace = read_trace(options, options.trace)
    from kinetoscope import __version__
    from kinetoscope.draw.page import page_html

    name = _trace_name(trace)
    if path is None:
        path = Path(f"{name}.html")
        path = path if options.force else free_name(path)
        refuse_to_replace(path, options.trace, PAGES)
    with spinner(f"writing {path}"):
        text = page_html(trace, name=name, steps=options.step, version=__version__)
        write_whole(path, lambda target: target.write_text(text, encoding="utf-8"), force=options.force)
    say(f"{path}: {len(text.encode()) / 1e6:.1f} MB, to be opened in any browser")
    if not options.no_open:
        import webbrowser

        if not webbrowser.open(path.absolute().as_uri()):
            note(f"no browser could be started here; open {path} in one.")
    return 0


def _trace_name(trace: Trace) -> str:
    """The file's name without its endings."""
    name = Path(trace.path).name
    for ending in (".gz", ".json", ".pt.trace"):
        name = name.removesuffix(ending)
    return "trace" if trace.path == PIPE or not name else name
