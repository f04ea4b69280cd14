"""The spinner: on a terminal, after a while, and nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

WORK = """
import sys, time
from kinetoscope.cli import console
console.SILENCE = float(sys.argv[1])
with console.spinner("reading \\x1b[35m[bold]x[/bold].json"):
    while sys.argv[1] == "0" and sys.stderr.isatty() and "rich.status" not in sys.modules:
        time.sleep(0.01)
print("done", "rich" in sys.modules)
"""
ENV = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src"), "TERM": "xterm"}


def on_a_terminal(after: str) -> str:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-c", WORK, after], stdout=theirs, stderr=theirs, stdin=theirs, env=ENV
    )
    os.close(theirs)
    seen = b""
    try:
        while piece := os.read(ours, 4096):
            seen += piece
    except OSError:  # Linux raises this at the end
        pass
    os.close(ours)
    assert done.wait(60) == 0
    return seen.decode()


def test_long_work_shows_a_spinner_on_a_terminal() -> None:
    seen = on_a_terminal("0")
    # The name controls neither the terminal nor rich's markup.
    assert "reading \ufffd[35m[bold]x[/bold].json …" in seen
    assert seen.endswith("done True\r\n")


def test_short_work_shows_none() -> None:
    assert on_a_terminal("60") == "done False\r\n"


def test_a_pipe_gets_none(process: Callable[..., subprocess.CompletedProcess[bytes]]) -> None:
    done = process("0", python=("-c", WORK))
    assert (done.stdout.split(), done.stderr) == ([b"done", b"False"], b"")
