"""The command line.

Each command has two functions in a module of this package: ``add_COMMAND`` adds its options to a parser,
``run_COMMAND`` runs it and returns the exit status.  Only the module of the command that was asked for is
imported.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from kinetoscope.cli.console import Strict, complain, note, prepare_streams

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn

COMMANDS = {
    "summary": ("summary", "how many events, how long the GPU was busy, and what is wrong with the file"),
    "table": ("tables", "what the time was spent on, by op, kernel, copy, call, annotation or step"),
    "timeline": ("pictures", "a picture of lanes, bars and launches, as SVG, PNG or PDF"),
    "show": ("pictures", "one page to walk through in a browser, with all tables"),
    "compare": ("tables", "what is gone, new, faster or slower in a second trace"),
    "assert": ("verdicts", "check conditions on a trace; exit status 1 if one fails"),
    "scrub": ("scrub", "a copy without host and user names, environment and folders"),
    "claims": ("verdicts", "the verdicts of a built book"),
}
"""Every command: its module, and its line in ``--help``"""

EXIT_STATUSES = {
    0: "It was done. Of `assert` and `claims`: every condition holds.",
    1: "`assert`: a condition does not hold. `claims`: a claim fails.",
    2: "It cannot be done: wrong arguments, a file that is not there or is not a trace, a name or a step "
    "that the trace does not have. One line on standard error says what to do.",
    3: "With `--strict`: the trace has findings. `summary` prints all it has to say; any other command "
    "prints the findings on standard error, a line each, and does nothing else.",
    4: "It was not measured, for the file holds nothing of the kind that was asked for: no GPU activity, no "
    "op, no step. Of `assert`: no condition fails, and one or more are not measured. One line on standard "
    "error asks what was left out.",
    70: "A fault of Kinetoscope's own. With `KINETOSCOPE_DEBUG=1` it says where.",
    130: "It was interrupted from the keyboard.",
}
"""What each exit status means"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status, one of :data:`EXIT_STATUSES`."""
    words = sys.argv[1:] if argv is None else list(argv)
    prepare_streams()
    if "numpy" not in sys.modules:
        # Nothing here multiplies matrices, and a thread for every core takes longer to start than a command.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        options = _parser(words).parse_args(words)
        status: int = _function("run", options.command)(options)
        sys.stdout.flush()
        return status
    except Strict:
        return 3
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader closed the pipe, as `head` does.  Python would complain again when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get("KINETOSCOPE_DEBUG"):
            raise
        return complain(error)


class _Parser(argparse.ArgumentParser):
    """Says in one line what is wrong with the arguments."""

    def error(self, message: str) -> NoReturn:
        note(f"{message}; `{self.prog} --help` lists what there is.")
        sys.exit(2)


def _parser(words: Sequence[str]) -> _Parser:
    """A parser for all commands, with the options of the one that ``words`` name."""
    from kinetoscope import __version__

    parser = _Parser(
        prog="kinetoscope",
        description="See what a GPU did, from a trace that torch.profiler exported.",
        epilog="TRACE is a .json or .json.gz file; - reads it from a pipe. "
        "`kinetoscope COMMAND --help` lists the options of a command.",
    )
    parser.add_argument("--version", action="version", version=f"kinetoscope {__version__}")
    _add_reading_options(parser, False, None)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    asked = next((word for word in words if word in COMMANDS), None)
    for name, (_, what) in COMMANDS.items():
        command = commands.add_parser(name, help=what, description=what[0].upper() + what[1:] + ".")
        if name == asked:
            _function("add", name)(command)
            if name != "claims":
                _add_reading_options(command, argparse.SUPPRESS, argparse.SUPPRESS)
    return parser


def _function(verb: str, command: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(
        import_module(f"kinetoscope.cli.{COMMANDS[command][0]}"), f"{verb}_{command}"
    )
    return function


def _add_reading_options(parser: argparse.ArgumentParser, strict: object, max_bytes: object) -> None:
    """Adds the options of every command that reads a trace; they may stand before its name or after it."""
    parser.add_argument(
        "--strict", action="store_true", default=strict, help="findings are errors: exit status 3"
    )
    parser.add_argument(
        "--max-bytes",
        type=size,
        default=max_bytes,
        metavar="N",
        help="the most JSON that a trace may hold, unpacked, such as 500M or 10G (default: 4G)",
    )


def size(text: str) -> int:
    """Bytes from ``500M``, ``10G`` or a plain number.  Raises ``ArgumentTypeError`` for anything else."""
    units = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
    number, unit = (text[:-1], units[text[-1].upper()]) if text[-1:].upper() in units else (text, 1)
    try:
        count = int(float(number) * unit)
    except (ValueError, OverflowError):
        count = 0
    if count <= 0:
        raise argparse.ArgumentTypeError(f"{text} is not a number of bytes; write 500M or 10G")
    return count
