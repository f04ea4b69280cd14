"""An example script, split into the blocks that Sphinx-Gallery shows and runs."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sphinx_gallery.py_source_parser import split_code_and_text_blocks

from kinetoscope.record.digest import chain, code_digest


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """One code block of an example; its two digests are the key of its recorded output."""

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
    """the error if the file is not valid Python; its blocks are then not those it will have"""
    section: str = ""
    """folder of the sub-gallery that it lies in; empty in the gallery itself"""
    is_run: bool = True
    """whether the gallery's ``filename_pattern`` takes it; else it is laid out without output"""
    should_fail: bool = False
    """whether it is one of the gallery's ``expected_failing_examples``"""

    @property
    def stem(self) -> str:
        return self.path.stem


def read_script(path: Path) -> Script:
    """Split the script at ``path`` into blocks. Raises ``OSError`` if it cannot be read."""
    _, parts, node = split_code_and_text_blocks(str(path), return_node=True)
    broken = None
    if node is None:
        try:
            ast.parse(path.read_text(encoding="utf-8"))
        except SyntaxError as error:
            broken = error
    return Script(path, tuple(code_blocks(parts)), broken)


def code_blocks(parts: Iterable[tuple[str, str, int]]) -> Iterable[CodeBlock]:
    """Yield the code blocks with statements among Sphinx-Gallery's ``(type, content, line)`` parts."""
    before = ""
    for kind, content, line in parts:
        if kind != "code":
            continue
        digest = code_digest(content)
        if digest:
            yield CodeBlock(line, line + content.rstrip("\n").count("\n"), digest, before)
        before = chain(before, digest)
