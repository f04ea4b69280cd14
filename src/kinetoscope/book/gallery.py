"""The gallery: its folder, before and after Sphinx-Gallery lays it out, and how its pages are read.

Sphinx-Gallery never executes anything here (``plot_gallery`` is off).  It splits each script into text and
code, and writes the page, the notebook and the zips.  :class:`GalleryParser` puts the recorded output back
when the page is read, and reports every line as the line of its ``.py``.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from docutils.statemachine import StringList, string2lines
from sphinx.parsers import RSTParser
from sphinx_gallery.gen_gallery import get_subsections

from kinetoscope.book.build_context import BuildContext, context_of
from kinetoscope.book.messages import KinetoscopeError
from kinetoscope.book.page_data import note_example
from kinetoscope.draw.matplotlib_backend import thumbnail
from kinetoscope.record.script import CodeBlock, Script, read_script
from kinetoscope.record.store import ExampleRecording
from kinetoscope.trace import TraceError, load_whole

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sphinx.environment import BuildEnvironment

# Zip files hold the time of each member.  With one time for all, equal downloads are equal bytes.
_EPOCH = (1980, 1, 1, 0, 0, 0)
_OWN_SUFFIXES = (".py", ".ipynb", ".rst", ".zip", ".json", ".recommendations", ".examples")

_HEADER = re.compile(r"\.\. GENERATED FROM PYTHON SOURCE LINES (\d+)-(\d+)$")
_FOOTER = ".. _sphx_glr_download_"
# The label Sphinx-Gallery writes above the page's title, which is the docstring's
_TITLE_LABEL = re.compile(r"\.\. _sphx_glr_(?!download_).*:$")

UNRECORDED = """\
.. admonition:: Not recorded
   :class: warning kinetoscope-unrecorded

   {why} What it printed and drew is therefore not shown.
"""

# The gallery's folder as the last build left it, kept until Sphinx-Gallery is done
_BEFORE: WeakKeyDictionary[BuildEnvironment, dict[Path, tuple[bytes, tuple[int, int]]]] = WeakKeyDictionary()


def never_execute(app: Sphinx, config: Config) -> None:
    """``config-inited``, before Sphinx-Gallery reads it: laying out must not run an example.

    Where ``conf.py`` says nothing, every example is recorded, not only those that are called ``plot…``.
    """
    config.sphinx_gallery_conf["plot_gallery"] = False
    config.sphinx_gallery_conf.setdefault("filename_pattern", r"\.py$")
    config.plot_gallery = False


def example_scripts(app: Sphinx) -> dict[str, Script]:
    """The examples by the document name of their page, in the gallery's order; those of sub-galleries last.

    Raises :class:`KinetoscopeError` for two examples of one name: recordings are kept by it.
    """
    conf = app.config.sphinx_gallery_conf
    folder = Path(app.srcdir, _one_folder(conf, "examples_dirs")).resolve()
    ignore = re.compile(conf["ignore_pattern"])
    order = conf["within_subsection_order"]
    failing = {Path(app.srcdir, path).resolve() for path in conf["expected_failing_examples"]}
    sections = (
        get_subsections(app.srcdir, folder, conf, check_for_header=not (folder / "index.rst").is_file())
        if folder.is_dir()
        else []
    )
    scripts: dict[str, Script] = {}
    for section in ("", *sections):
        paths = [path for path in sorted(Path(folder, section).glob("*.py")) if not ignore.search(str(path))]
        if callable(order) and not isinstance(order, type):
            paths.sort(key=lambda path: order(path.name))
        for path in paths:
            if any(path.stem == script.stem for script in scripts.values()):
                raise KinetoscopeError(
                    f"two examples of the gallery are called {path.name}; rename one of them"
                )
            scripts[Path(gallery_dir(app), section, path.stem).as_posix()] = replace(
                read_script(path),
                section=section,
                is_run=re.search(conf["filename_pattern"], str(path)) is not None,
                should_fail=path in failing,
            )
    return scripts


def gallery_dir(app: Sphinx) -> str:
    """Where the gallery's pages lie, relative to the documentation's source folder."""
    return Path(_one_folder(app.config.sphinx_gallery_conf, "gallery_dirs")).as_posix()


def _one_folder(conf: Mapping[str, Any], key: str) -> str:
    """A setting that may be a list for Sphinx-Gallery: a book has one gallery."""
    folders = conf[key] if isinstance(conf[key], (list, tuple)) else [conf[key]]
    if len(folders) != 1:
        raise KinetoscopeError(f"sphinx_gallery_conf[{key!r}] names {len(folders)} folders; give one")
    return str(folders[0])


def prepare_folder(app: Sphinx) -> None:
    """``builder-inited``, before Sphinx-Gallery: a clean folder, with the recorded figures in place."""
    context = context_of(app.env)
    folder = _folder(app)
    folder.mkdir(parents=True, exist_ok=True)
    _BEFORE[app.env] = _contents(folder)
    pages = [Path(app.srcdir, docname) for docname in context.scripts]
    known = {*pages, folder / "index", *(page.with_name("index") for page in pages)}
    wanted: set[Path] = set()
    for page, script in zip(pages, context.scripts.values(), strict=True):
        images = page.with_name("images")
        images.mkdir(parents=True, exist_ok=True)
        wanted.add(images / "thumb" / f"sphx_glr_{script.stem}_thumb.png")
        for machine in context.switch:
            recording = context.machine(machine).examples.get(script.stem)
            if recording is not None:
                for figure, name in names_of_figures(recording, context, machine).items():
                    shutil.copyfile(figure, images / name)
                    wanted.add(images / name)
                wanted |= _place_thumbnail(recording, images) if machine == context.shown else set()
    for path in filter(Path.is_file, folder.rglob("*")):
        if "images" in path.relative_to(folder).parts:
            is_gone = path.suffix in (".png", ".from") and path not in wanted
        else:
            is_gone = (
                path.suffix in _OWN_SUFFIXES and path.with_name(path.name.partition(".")[0]) not in known
            )
        # With its md5 files Sphinx-Gallery would keep the page of a script that was edited and then restored.
        if is_gone or path.suffix == ".md5":
            path.unlink()


def finish_folder(app: Sphinx) -> None:
    """``builder-inited``, after Sphinx-Gallery: adds recorded code links, and fixes the times in zips."""
    context = context_of(app.env)
    for docname, script in context.scripts.items():
        recording = context.machine().examples.get(script.stem)
        # The names in other code would lead to the wrong places.
        if recording is not None and {block.key for block in script.blocks} == set(recording.outputs):
            _use_recorded_links(Path(app.srcdir, f"{docname}.codeobj.json"), recording)
    for path in _folder(app).rglob("*.zip"):
        make_reproducible(path)
    before = _BEFORE.pop(app.env, {})
    for path, (content, times) in before.items():
        if path.is_file() and path.read_bytes() == content:
            os.utime(path, ns=times)


def make_reproducible(path: Path) -> None:
    """Rewrites a zip with sorted members and a fixed time, unless it has that time already."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in sorted(archive.namelist())}
        times = {info.date_time for info in archive.infolist()}
    if times == {_EPOCH}:
        return
    new = path.with_suffix(".zip.new")
    with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, content)
    new.replace(path)


def _folder(app: Sphinx) -> Path:
    return Path(app.srcdir, gallery_dir(app))


def _contents(folder: Path) -> dict[Path, tuple[bytes, tuple[int, int]]]:
    """Content and times of every file.

    A file that is written again with the same content gets its old times back, so that Sphinx does not read
    its page again.
    """
    contents = {}
    for path in folder.rglob("*"):
        if path.is_file():
            stat = path.stat()
            contents[path] = path.read_bytes(), (stat.st_atime_ns, stat.st_mtime_ns)
    return contents


def names_of_figures(recording: ExampleRecording, context: BuildContext, machine: str) -> dict[Path, str]:
    """What each figure is called in the gallery."""
    suffix = figure_suffix(context, machine)
    return {figure: f"{figure.stem}{suffix}{figure.suffix}" for figure in recording.figures}


def figure_suffix(context: BuildContext, machine: str) -> str:
    """What tells a figure from the default machine's: all recordings call it by the same name."""
    return "" if machine == context.switch[0] else f"-on-{machine}"


def _place_thumbnail(recording: ExampleRecording, images: Path) -> set[Path]:
    """Draws the first trace that the page shows as the thumbnail's source, if the example has no figure.

    Returns the files.
    """
    first = f"sphx_glr_{recording.stem}_001.png"
    traces = recording.traces
    if first in {figure.name for figure in recording.figures} or not traces:
        return set()
    stamp = images / f"{first}.from"
    if not stamp.is_file() or stamp.read_text() != recording.fingerprint or not (images / first).is_file():
        rst = "\n".join(block.rst for block in recording.blocks)
        shown: list[str] = re.findall(r"^\.\. timeline:: (\w+)$", rst, re.MULTILINE)
        name = next(name for name in (*shown, *traces) if name in traces)
        try:
            thumbnail(load_whole(traces[name]), images / first)
        except TraceError:
            return set()  # the build has warned about it
        stamp.write_text(recording.fingerprint)
    return {images / first, stamp}


def _use_recorded_links(path: Path, recording: ExampleRecording) -> None:
    """Adds the code links that need torch: only the recorder could tell what ``F`` stands for."""
    laid_out: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if merged := {**laid_out, **recording.code_objects}:
        path.write_text(json.dumps(merged, sort_keys=True, indent=1), encoding="utf-8")


class GalleryParser(RSTParser):
    """Sphinx's reST parser; into the page of an example it first puts the recorded output."""

    def parse(self, inputstring: str | StringList, document: nodes.document) -> None:
        env = document.settings.env
        context = context_of(env)
        script = context.scripts.get(env.docname)
        if script is None or not isinstance(inputstring, str):
            super().parse(inputstring, document)
            return
        note_example(env, script.stem)
        lines = string2lines(inputstring, tab_width=document.settings.tab_width, convert_whitespace=True)
        page = StringList()
        for text, line in with_outputs(lines, script, lambda block: _all_outputs(block, script, context)):
            # docutils counts from 0, and adds 1 when it reports.
            page.append(text, str(script.path), max(line - 1, 0))
        super().parse(page, document)


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
        # The generated directive above a code block, and the blank lines around it, belong to its first line.
        if moving:
            line += 1
        elif text.strip() and not text.startswith(".. code-block::"):
            moving = True
        yield text, line
    if waiting is not None:
        yield from _output(waiting, output(waiting))


def _output(block: CodeBlock, rst: str) -> Iterator[tuple[str, int]]:
    for text in ("", *string2lines(rst, tab_width=8, convert_whitespace=True), ""):
        yield text, block.last_line


def _all_outputs(block: CodeBlock, script: Script, context: BuildContext) -> str:
    """reST of what the block put out; where machines differ, a ``when`` for each output."""
    if not script.is_run:
        return ""
    machines: dict[str, list[str]] = {}
    for name in context.reading:
        machine = context.machine(name)
        recording = machine.examples.get(script.stem)
        rst = recorded_output(block, recording, machine.provenance.machine.gpu)
        if recording is not None:
            for figure, name_here in names_of_figures(recording, context, name).items():
                rst = rst.replace(figure.name, name_here)
        machines.setdefault(rst, []).append(name)
    if len(machines) == 1:
        return rst
    parts = []
    for rst, names in machines.items():
        condition = " or ".join(f"machine.name == {json.dumps(name)}" for name in names)
        parts.append(f".. when:: {condition}\n\n{indent(rst.expandtabs(8), '   ')}\n")
    return "\n".join(parts)


def recorded_output(block: CodeBlock, recording: ExampleRecording | None, gpu: str) -> str:
    """reST of what a block put out on a machine, or of why that is not shown."""
    if recording is None:
        return UNRECORDED.format(why=f"This code has not been recorded on {gpu}.")
    if block.key in recording.outputs:
        return recording.outputs[block.key]
    recorded = any(block.code == other.code for other in recording.blocks)
    changed = "Code before this block" if recorded else "This code"
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
    """1-based line of the first text of a block that begins at ``line``; the page has nothing above it."""
    lines = range(line, len(source) + 1)
    return next((number for number in lines if source[number - 1].strip() not in ("", "#")), line)
