"""What is written never takes the place of a trace, and has a fitting name."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Find = Callable[[str], Path]


@pytest.mark.parametrize("command", ["show", "timeline", "scrub"])
def test_a_trace_is_never_replaced(command: str, run: Run, sample: Find, tmp_path: Path) -> None:
    ending = {"show": "html", "timeline": "svg", "scrub": "json.gz"}[command]
    trace = tmp_path / "t.json.gz"
    shutil.copy(sample("geglu_eager"), trace)
    same, other = tmp_path / f"same.{ending}", tmp_path / f"other.{ending}"
    os.link(trace, same)
    shutil.copy(trace, other)
    linked = tmp_path / f"linked.{ending}"
    linked.symlink_to(trace)
    before = trace.read_bytes()
    for out in (same, linked, other):
        done = run(*arguments(command, trace, out), "--force")
        said = "holds a trace" if out == other else "is the trace that is read"
        assert done.status == 2 and said in done.err, out
    assert trace.read_bytes() == other.read_bytes() == before


@pytest.mark.parametrize("command", ["show", "timeline", "scrub"])
def test_a_name_that_does_not_fit(command: str, run: Run, sample: Find, tmp_path: Path) -> None:
    for name in ("t.txt", "t", "t.json.gz" if command != "scrub" else "t.html"):
        done = run(*arguments(command, sample("geglu_eager"), tmp_path / name))
        assert done.status == 2 and "end" in done.err
    assert list(tmp_path.iterdir()) == []


def arguments(command: str, trace: Path, out: Path) -> list[object]:
    if command == "scrub":
        return ["scrub", trace, out]
    return [command, trace, "-o", out, *(["--no-open"] if command == "show" else [])]
