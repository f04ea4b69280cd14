"""What a command imports, and how long that takes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Process = Callable[..., subprocess.CompletedProcess[bytes]]

HEAVY = {"asyncio", "sphinx", "docutils", "matplotlib", "torch", "rich", "pandas", "webbrowser"}
HEAVY |= {
    "numpy.ma",
    "statistics",
    "difflib",
    "kinetoscope.trace.entries",
    "kinetoscope.trace.lenient_reader",
    "kinetoscope.trace.recover",
}

MODULES = """
import contextlib, io, json, sys
from kinetoscope.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    try:
        assert main(sys.argv[1:]) == 0
    except SystemExit as exited:
        assert not exited.code
print(json.dumps(sorted({*sys.modules, *(name.partition(".")[0] for name in sys.modules)})))
"""

CPU = """
import os, sys, time
begin = time.process_time()
if sys.argv[1:] == ["numpy"]:
    import numpy
else:
    from kinetoscope.cli import main
    sys.stdout = open(os.devnull, "w")
    main(sys.argv[1:])
print(time.process_time() - begin, file=sys.__stdout__)
"""


def loaded(process: Process, *arguments: object) -> set[str]:
    done = process(*arguments, python=("-c", MODULES))
    assert done.returncode == 0, done.stderr.decode()
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "command", [["summary"], ["summary", "--json"], ["table"], ["table", "--by", "kernel", "--csv"]]
)
def test_a_command_loads_only_what_it_needs(
    process: Process, sample: Callable[[str], Path], command: list[str]
) -> None:
    modules = loaded(process, *command, sample("geglu_eager"))
    assert modules & HEAVY == set()
    assert "kinetoscope.draw.layout" not in modules
    assert "kinetoscope.cli.pictures" not in modules


def test_help_needs_no_numpy(process: Process) -> None:
    assert "numpy" not in loaded(process, "--help")


def test_a_command_on_a_small_trace_takes_little_more_than_to_load_numpy(
    process: Process, sample: Callable[[str], Path], say: Callable[[str], None]
) -> None:
    """CPU time of this program's own.  We want 150 ms in all, and numpy takes more than half of that."""
    commands = {
        "numpy": ["numpy"],
        "summary": ["summary", sample("geglu_eager")],
        "table": ["table", "--by", "kernel", sample("geglu_eager")],
    }
    # In rounds, so that a machine that is busy for a while slows all of them down.
    rounds = [
        {name: float(process(*words, python=("-c", CPU)).stdout) for name, words in commands.items()}
        for _ in range(4)
    ]
    numpy, *others = (min(seconds[name] for seconds in rounds) for name in commands)
    for name, seconds in zip(("summary", "table"), others, strict=True):
        own = seconds - numpy
        say(f"{name} of a small trace: {1e3 * own:.0f} ms over numpy's {1e3 * numpy:.0f} ms")
        assert own < max(0.09, 1.3 * numpy)
