"""Recording the real book and replaying it give the same bytes; one example runs on this CPU."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from altered import leave_out
from downloaded import require_torch

EXAMPLE = "02_linear"


@pytest.mark.torch
@pytest.mark.slow
def test_a_live_build_and_its_replay_are_byte_identical(own_tree, built) -> None:
    require_torch()
    # One chapter and its example: the other pages take minutes, and read recordings in the same way.
    leave_out(own_tree / "docs", "use", "reference", "lookup")
    for path in (*(own_tree / "docs/read").glob("*.md"), *(own_tree / "examples").glob("*.py")):
        if path.stem not in ("index", "linear", EXAMPLE):
            path.unlink()
    book = replace(built, tree=own_tree)
    live = book.again("live", "-D", "kinetoscope_mode=live", "-D", f"kinetoscope_only={EXAMPLE}", torch=True)
    assert live.status == 0, live.err[-3000:]
    assert "kinetoscope: recorded 1 of 1 examples on " in live.out
    (folder,) = (own_tree / "_build" / ".live" / "kinetoscope-live").iterdir()
    provenance = json.loads((folder / "machine.json").read_text(encoding="utf-8"))
    said = f"Recorded on {provenance['machine']['gpu']}"
    for name in (f"gallery/{EXAMPLE}", "read/linear"):
        assert said in live.page(name).text

    # replay the same folder, without torch
    shutil.copytree(folder, own_tree / "docs" / "recordings" / folder.name)
    shutil.rmtree(own_tree / "docs" / "gallery")
    replayed = book.again("replayed", "-D", f"kinetoscope_machine={folder.name}")
    assert replayed.status == 0, replayed.err[-3000:]
    assert said in replayed.page(f"gallery/{EXAMPLE}").text
    assert different(files(live.html), files(replayed.html)) == []

    # the comparison notices a difference
    path = replayed.html / "read" / "linear.html"
    path.write_bytes(path.read_bytes() + b" ")
    assert different(files(live.html), files(replayed.html)) == ["read/linear.html"]


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of every file that a visitor can fetch."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }


def different(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
