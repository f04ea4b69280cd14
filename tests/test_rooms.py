"""Strings that name a module keep to the rooms, too: import-linter sees only import statements.

Such a string is in ``[python, "-m", "kinetoscope.record.worker"]`` or ``import_module("kinetoscope.book")``.
"""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/kinetoscope"


def layers() -> list[set[str]]:
    """The rooms of each layer, the top one first, from import-linter's contract in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (
        contract for contract in project["tool"]["importlinter"]["contracts"] if contract["type"] == "layers"
    )
    return [set(layer.split(" | ")) for layer in contract["layers"]]


LAYERS = layers()
ROOMS = set().union(*LAYERS)


def allowed(room: str) -> set[str]:
    """The rooms whose modules a module of ``room`` may name: its own and those of the layers below it."""
    (level,) = (number for number, layer in enumerate(LAYERS) if room in layer)
    return {room}.union(*LAYERS[level + 1 :])


def crossings(source: str, room: str) -> list[str]:
    """The strings in the source of a module of ``room`` that name a module which it may not import.

    Docstrings may name any module: a string that is a statement of its own is one.
    """
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            named = {name for name in re.findall(r"\bkinetoscope\.(\w+)", node.value) if name in ROOMS}
            if named - allowed(room):
                found.append(f"line {node.lineno}: {node.value!r}")
    return found


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_no_string_names_a_module_of_a_room_above(room: str) -> None:
    paths = [path for path in PACKAGE.rglob("*.py") if room_of(path) == room]
    assert paths
    found = {path.name: crossings(path.read_text(encoding="utf-8"), room) for path in paths}
    assert {name: strings for name, strings in found.items() if strings} == {}


SCRAPER = '''
"""The scraper is kinetoscope.book.scraper."""
conf = {"image_scrapers": ["kinetoscope.book.scraper"]}
"""Names kinetoscope.book, too."""
'''


@pytest.mark.parametrize(
    ("room", "source", "lines"),
    [
        ("record", SCRAPER, ["line 3: 'kinetoscope.book.scraper'"]),
        ("book", SCRAPER, []),
        ("record", 'run([python, "-m", "kinetoscope.record.worker"])', []),
        (
            "draw",
            'run("python -m kinetoscope.record.worker")',
            ["line 1: 'python -m kinetoscope.record.worker'"],
        ),
        ("api", 'import_module("kinetoscope.record")', ["line 1: 'kinetoscope.record'"]),
        ("measure", 'import_module(f"kinetoscope.book.{name}")', ["line 1: 'kinetoscope.book.'"]),
        ("trace", 'warn("message", type="kinetoscope.claim")', []),
    ],
)
def test_a_string_that_crosses_rooms_is_found(room: str, source: str, lines: list[str]) -> None:
    assert crossings(source, room) == lines
