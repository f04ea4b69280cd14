"""Runs the command line, in this process or in another."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from kinetoscope.cli import main

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"


@dataclass(frozen=True)
class Ran:
    """The result of a command."""

    status: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in this process."""

    def command(*arguments: object) -> Ran:
        capsys.readouterr()
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as exited:
            status = int(exited.code or 0)
        return Ran(status, *capsys.readouterr())

    return command


@pytest.fixture(scope="session")
def process() -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Runs ``python -m kinetoscope`` (or Python with other arguments) in another process."""

    def start(
        *arguments: object, stdin: bytes = b"", python: tuple[str, ...] = ("-m", "kinetoscope")
    ) -> subprocess.CompletedProcess[bytes]:
        path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
        return subprocess.run(
            [sys.executable, *python, *map(str, arguments)],
            input=stdin,
            capture_output=True,
            check=False,
            timeout=120,
            env={**os.environ, "PYTHONPATH": path, "NO_COLOR": "1"},
        )

    return start


@pytest.fixture(scope="session")
def small() -> Callable[[str], Path]:
    """Finds the small input with this number."""

    def find(number: str) -> Path:
        # Number 23 is not a trace: it is the rows of a table that torch printed.
        [path] = (DATA / ("other" if number == "23" else "small")).glob(f"{number}_*")
        return path

    return find


@pytest.fixture(scope="session")
def sample() -> Callable[[str], Path]:
    """Finds the trace from an H200 with this name."""
    return lambda name: DATA / "traces" / f"{name}.json.gz"
