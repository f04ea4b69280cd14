"""Reads a gallery page with its recorded output put back, every line reported as the line of its ``.py``."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from textwrap import indent
from typing import TYPE_CHECKING

from docutils.statemachine import StringList, string2lines
from sphinx.parsers import RSTParser

from kinetoscope.book.build_context import book_of
from kinetoscope.book.dependencies import note_page
from kinetoscope.book.gallery import names_of_figures
from kinetoscope.record.script import CodeBlock, Script

if TYPE_CHECKING:
    from docutils import nodes

    from kinetoscope.book.build_context import Book
    from kinetoscope.record.store import ExampleRecording

_HEADER = re.compile(r"\.\. GENERATED FROM PYTHON SOURCE LINES (\d+)-(\d+)$")
_FOOTER = ".. _sphx_glr_download_"
# The label Sphinx-Gallery writes above the page's title, which is the docstring's
_TITLE_LABEL = re.compile(r"\.\. _sphx_glr_(?!download_).*:$")

UNRECORDED = """\
.. admonition:: Not recorded
   :class: warning kinetoscope-unrecorded

   {why} What it printed and drew is therefore not shown.
"""


class GalleryParser(RSTParser):
    """Sphinx's reST parser, which for the page of an example first puts its recorded output in."""

    def parse(self, inputstring: str | StringList, document: nodes.document) -> None:
        env = document.settings.env
        script = book_of(env).scripts.get(env.docname)
        if script is None or not isinstance(inputstring, str):
            super().parse(inputstring, document)
            return
        book = book_of(env)
        note_page(env, book, script.stem)
        lines = string2lines(inputstring, tab_width=document.settings.tab_width, convert_whitespace=True)
        shown = StringList()
        for text, line in with_outputs(lines, script, lambda block: _of_each_machine(block, script, book)):
            # docutils counts from 0 and adds 1 when it reports
            shown.append(text, str(script.path), max(line - 1, 0))
        super().parse(shown, document)


def with_outputs(
    lines: list[str], script: Script, output: Callable[[CodeBlock], str]
) -> Iterator[tuple[str, int]]:
    """The page's lines, each with its 1-based line in the script; after each code block comes its output.

    ``output``: reST of what a block put out.
    """
    blocks = {block.first_line: block for block in script.blocks}
    waiting: CodeBlock | None = None
    source = script.path.read_text(encoding="utf-8").splitlines()
    docstring = _docstring_line(source)
    line, moving = docstring, False
    for text in lines:
        header = _HEADER.match(text)
        if header or text.startswith(_FOOTER):
            if waiting is not None:
                yield from _output(waiting, output(waiting))
            waiting = None
        if _TITLE_LABEL.match(text):
            yield text, docstring
            line, moving = docstring, False
            continue
        if header:
            first = int(header[1])
            waiting = blocks.get(first)
            line, moving = _first_text(source, first), False
            yield text, line
            continue
        # the generated directive above a code block and the blank lines around it belong to its first line
        if not moving and text.strip() and not text.startswith(".. code-block::"):
            moving = True
            yield text, line
        elif moving:
            line += 1
            yield text, line
        else:
            yield text, line
    if waiting is not None:
        yield from _output(waiting, output(waiting))


def _output(block: CodeBlock, rst: str) -> Iterator[tuple[str, int]]:
    for text in ("", *string2lines(rst, tab_width=8, convert_whitespace=True), ""):
        yield text, block.last_line


def _of_each_machine(block: CodeBlock, script: Script, book: Book) -> str:
    """What the block put out; where machines differ in that, each one's on condition that it is chosen."""
    machines: dict[str, list[str]] = {}
    for name in book.here:
        machine = book.machine(name)
        recording = machine.examples.get(script.stem)
        rst = recorded_output(block, recording, machine.provenance.machine.gpu)
        if recording is not None:
            for figure, shown in names_of_figures(recording, book, name).items():
                rst = rst.replace(figure.name, shown)
        machines.setdefault(rst, []).append(name)
    if len(machines) == 1:
        return rst
    parts = []
    for rst, names in machines.items():
        condition = " or ".join(f"machine.name == {json.dumps(name)}" for name in names)
        parts.append(f".. when:: {condition}\n\n{indent(rst.expandtabs(8), '   ')}\n")
    return "\n".join(parts)


def recorded_output(block: CodeBlock, recording: ExampleRecording | None, gpu: str) -> str:
    """reST of what a block put out on a machine, or of why that is not there."""
    if recording is None:
        return UNRECORDED.format(why=f"This code has not been recorded on {gpu}.")
    if block.key in recording.outputs:
        return recording.outputs[block.key]
    changed = "Code before this block" if block.code in recording.codes else "This code"
    return UNRECORDED.format(why=f"{changed} has changed since it was recorded on {gpu}.")


def _docstring_line(source: list[str]) -> int:
    """1-based line on which the docstring's text begins; 1 where there is none."""
    try:
        first = ast.parse("\n".join(source)).body[0]
    except (SyntaxError, IndexError):
        return 1
    line = first.lineno
    while line < (first.end_lineno or line) and not source[line - 1].strip("rRuU\"' "):
        line += 1
    return line


def _first_text(source: list[str], line: int) -> int:
    """1-based line of the first text of a block that begins at ``line``: what is above it is dropped."""
    first = line
    while line <= len(source) and source[line - 1].strip() in ("", "#"):
        line += 1
    return line if line <= len(source) else first
