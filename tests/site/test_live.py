"""Recording and replaying give the same pages, byte for byte: the real book, one example run on this CPU."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import pytest

EXAMPLE = "02_linear"
# Their pages show nothing that the others do not show.
LEFT_OUT = ("use", "reference")


@pytest.mark.torch
@pytest.mark.slow
def test_a_live_build_and_its_replay_are_byte_identical(own_tree, built) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.fail("torch is not installed: install it (pip install torch), or run pytest -m 'not torch'")
    for room in LEFT_OUT:
        for path in (own_tree / "docs" / room).glob("*.md"):
            path.write_text(f"---\norphan: true\n---\n# {path.stem}\n\nLeft out.\n", encoding="utf-8")
    at = type(built)(**{**vars(built), "tree": own_tree})
    live = at.again("live", "-D", "kinetoscope_mode=live", "-D", f"kinetoscope_only={EXAMPLE}", torch=True)
    assert live.status == 0, live.err[-3000:]
    assert "kinetoscope: recorded 1 of 1 examples on " in live.out
    (folder,) = (own_tree / "_build" / ".live" / "kinetoscope-live").iterdir()
    provenance = json.loads((folder / "machine.json").read_text(encoding="utf-8"))
    said = f"Recorded on {provenance['machine']['gpu']}"
    for name in (f"gallery/{EXAMPLE}", "read/linear"):
        assert said in live.page(name).text

    # ... and now the same folder as a recording like any other, with no torch to import
    shutil.copytree(folder, own_tree / "docs" / "recordings" / folder.name)
    shutil.rmtree(own_tree / "docs" / "gallery")
    replayed = at.again("replayed", "-D", f"kinetoscope_machine={folder.name}")
    assert replayed.status == 0, replayed.err[-3000:]
    assert said in replayed.page(f"gallery/{EXAMPLE}").text
    assert different(files(live.html), files(replayed.html)) == []

    # would it be noticed?
    path = replayed.html / "read" / "linear.html"
    path.write_bytes(path.read_bytes() + b" ")
    assert different(files(live.html), files(replayed.html)) == ["read/linear.html"]


def files(folder: Path) -> dict[str, bytes]:
    """Everything a visitor can be sent."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }


def different(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
