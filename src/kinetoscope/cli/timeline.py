"""``kinetoscope timeline TRACE -o FILE``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from kinetoscope.cli.files import add_force, refuse_existing, write_whole
from kinetoscope.cli.output import Refusal, say
from kinetoscope.cli.progress import waiting
from kinetoscope.cli.reading import add_trace, read_trace

if TYPE_CHECKING:
    from kinetoscope.draw.geometry import Layout
    from kinetoscope.draw.window import Steps

SUFFIXES = (".svg", ".png", ".pdf")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's own options."""
    add_trace(parser)
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE", help="a .svg, .png or .pdf file"
    )
    parser.add_argument(
        "--step",
        type=steps,
        metavar="N",
        help="a step's number, several with commas, or all for the whole trace (else a typical one)",
    )
    parser.add_argument("--zoom", metavar="PATTERN", help="the first op of this name, and what it launched")
    parser.add_argument(
        "--highlight", metavar="PATTERN", action="append", default=[], help="names to mark; may be repeated"
    )
    parser.add_argument("--width", type=pixels, default=960, metavar="PX", help="960 px if not given")
    parser.add_argument("--dark", action="store_true", help="on a dark ground")
    add_force(parser)


def run(options: argparse.Namespace) -> int:
    """Draws a picture of the trace."""
    path: Path = options.output
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise Refusal(f"{path}: a timeline is written as {', '.join(SUFFIXES)}; give one of these endings.")
    if suffix != ".svg":
        require_matplotlib(suffix)
    refuse_existing(path, force=options.force)
    trace = read_trace(options, options.trace)
    from kinetoscope.draw.describe import describe, headline
    from kinetoscope.draw.layout import lay_out

    with waiting(f"drawing {path}"):
        layout = lay_out(
            trace, width=options.width, steps=options.step, zoom=options.zoom, highlight=options.highlight
        )
        title, description = headline(trace, layout), describe(trace, layout)
        write_whole(
            path, lambda beside: _draw(layout, beside, title, description, options.dark), force=options.force
        )
    say(f"{path}: {title}")
    return 0


def _draw(layout: Layout, path: Path, title: str, description: str, dark: bool) -> None:
    if path.suffix.lower() == ".svg":
        from kinetoscope.draw.svg_file import standalone_svg

        path.write_text(
            standalone_svg(layout, title=title, description=description, dark=dark), encoding="utf-8"
        )
    else:
        from kinetoscope.draw.matplotlib_backend import save

        save(layout, path, dark=dark)


def require_matplotlib(suffix: str) -> None:
    """Raises :class:`Refusal` where there is no matplotlib."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise Refusal(f"{suffix} needs matplotlib; `pip install matplotlib`, or write .svg.")


def steps(text: str) -> Steps:
    """``3``, ``2,3`` or ``all``.  Raises ``ArgumentTypeError`` for anything else."""
    if text.strip() == "all":
        return "all"
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no step; write 3, or 2,3, or all") from None
    return numbers[0] if len(numbers) == 1 else numbers


def pixels(text: str) -> int:
    """Raises ``ArgumentTypeError`` for what is no width of a picture."""
    number = int(text) if text.isdecimal() else 0
    if not 200 <= number <= 20_000:
        raise argparse.ArgumentTypeError(f"{text} is no width; give 200 to 20000 px")
    return number
