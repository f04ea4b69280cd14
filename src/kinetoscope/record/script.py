"""An example script taken apart into the blocks Sphinx-Gallery shows and runs."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sphinx_gallery.py_source_parser import split_code_and_text_blocks

from kinetoscope.record.digest import chain, code_digest


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """One code block of an example, with what its recorded output is found by."""

    first_line: int
    """1-based, in the ``.py``"""
    last_line: int
    code: str
    """digest of the block's own code"""
    before: str
    """digest of all code before it"""

    @property
    def key(self) -> str:
        return f"{self.before}.{self.code}"


@dataclass(frozen=True, slots=True)
class Script:
    """An example as it stands on disk now."""

    path: Path
    blocks: tuple[CodeBlock, ...]
    """those with at least one statement, in order"""
    broken: SyntaxError | None = None
    """why it is no Python, if it is none; its blocks are then not those it will have"""

    @property
    def stem(self) -> str:
        return self.path.stem

    @property
    def code(self) -> str:
        """Digest of all code: equal digests mean that a recording is of this code."""
        return chain(self.blocks[-1].before, self.blocks[-1].code) if self.blocks else ""


def read_script(path: Path) -> Script:
    """Takes ``path`` apart.  Raises ``OSError`` if it cannot be read."""
    _, parts, node = split_code_and_text_blocks(str(path), return_node=True)
    broken = None
    if node is None:
        try:
            ast.parse(path.read_text(encoding="utf-8"))
        except SyntaxError as error:
            broken = error
    return Script(path, tuple(code_blocks(parts)), broken)


def code_blocks(parts: Iterable[tuple[str, str, int]]) -> Iterable[CodeBlock]:
    """The code blocks among Sphinx-Gallery's ``(type, content, line)`` parts that hold statements."""
    before = ""
    for kind, content, line in parts:
        if kind != "code":
            continue
        digest = code_digest(content)
        if digest:
            yield CodeBlock(line, line + content.rstrip("\n").count("\n"), digest, before)
        before = chain(before, digest)
