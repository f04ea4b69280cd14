"""The command line: a trace summed up, tabled, drawn, compared, asserted, scrubbed, or shown in a browser.

A module for each command, and it is imported only where it is the one that was asked for.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from kinetoscope.cli.output import Strict, complain, note, prepare_streams

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

COMMANDS = {
    "summary": "how many events, how long the GPU was busy, and what is wrong with the file",
    "table": "what the time was spent on, by op, kernel, copy, call, annotation or step",
    "timeline": "a picture of lanes, bars and launches, as SVG, PNG or PDF",
    "show": "one page to walk through in a browser, with all tables",
    "compare": "what is gone, new, faster or slower in a second trace",
    "assert": "hold conditions against a trace; exit status 1 where one fails",
    "scrub": "a copy without host and user names, environment and folders",
    "claims": "the verdicts of a built book",
}
"""Every command, with the line that ``--help`` has of it"""

EXIT_STATUSES = {
    0: "It was done. Of `assert` and `claims`: every condition holds.",
    1: "`assert`: a condition does not hold. `claims`: a claim fails.",
    2: "It cannot be done: wrong arguments, a file that is not there or is no trace, a name or a step that "
    "the trace does not have. One line on standard error says what to do.",
    3: "With `--strict`: the trace has findings. `summary` prints all it has to say; any other command "
    "prints the findings on standard error, a line each, and does nothing else.",
    70: "A fault of Kinetoscope's own. With `KINETOSCOPE_DEBUG=1` it says where.",
    130: "It was interrupted from the keyboard.",
}
"""What the exit status of every command says"""

_DESCRIPTION = "See what a GPU did, from a trace that torch.profiler exported."


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status, one of :data:`EXIT_STATUSES`."""
    given = sys.argv[1:] if argv is None else list(argv)
    prepare_streams()
    if "numpy" not in sys.modules:
        # No matrix is multiplied here, and starting a thread for every core takes longer than most commands.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        options = _parser(given).parse_args(given)
        status: int = import_module(_module(options.command)).run(options)
        sys.stdout.flush()
        return status
    except Strict:
        return 3
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever reads has seen enough; Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get("KINETOSCOPE_DEBUG"):
            raise
        return complain(error)


class _Parser(argparse.ArgumentParser):
    """Says in one line what is wrong with the arguments."""

    def error(self, message: str) -> NoReturn:
        note(f"{message}; `{self.prog} --help` has what there is.")
        sys.exit(2)


def _parser(given: Sequence[str]) -> _Parser:
    """The parser; the options only of the command that is asked for."""
    parser = _Parser(
        prog="kinetoscope",
        description=_DESCRIPTION,
        epilog="TRACE is a .json or .json.gz file; - reads it from a pipe. "
        "`kinetoscope COMMAND --help` has the options of a command.",
    )
    parser.add_argument("--version", action="version", version=_version())
    reading_options(parser, False, None)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    asked = next((word for word in given if word in COMMANDS), None)
    for name, what in COMMANDS.items():
        command = commands.add_parser(name, help=what, description=what[0].upper() + what[1:] + ".")
        if name == asked:
            import_module(_module(name)).add_arguments(command)
            if name != "claims":
                reading_options(command, argparse.SUPPRESS, argparse.SUPPRESS)
    return parser


def _module(command: str) -> str:
    return f"kinetoscope.cli.{'assertions' if command == 'assert' else command}"


def _version() -> str:
    from kinetoscope import __version__

    return f"kinetoscope {__version__}"


def reading_options(parser: argparse.ArgumentParser, strict: object, max_bytes: object) -> None:
    """Adds what every command that reads a trace understands, before its name and after it."""
    parser.add_argument(
        "--strict", action="store_true", default=strict, help="findings are errors: exit status 3"
    )
    parser.add_argument(
        "--max-bytes",
        type=size,
        default=max_bytes,
        metavar="N",
        help="what a gzipped trace may unpack to, such as 500M or 10G (4G if not given)",
    )


def size(text: str) -> int:
    """Bytes from ``500M``, ``10G`` or a plain number.  Raises ``ArgumentTypeError`` for anything else."""
    units = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
    number, unit = (text[:-1], units[text[-1].upper()]) if text[-1:].upper() in units else (text, 1)
    try:
        found = int(float(number) * unit)
    except (ValueError, OverflowError):
        found = 0
    if found <= 0:
        raise argparse.ArgumentTypeError(f"{text} is no number of bytes; write 500M or 10G")
    return found


if __name__ == "__main__":
    sys.exit(main())
