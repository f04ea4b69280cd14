"""The gallery's folder, before and after Sphinx-Gallery lays it out.

Sphinx-Gallery never executes here (``plot_gallery`` is off): it splits each script into text and code, and
writes the page, the notebook and the zips.  The recorded output is put back when the page is read
(:mod:`kinetoscope.book.parser`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from kinetoscope.book.build_context import Book, book_of
from kinetoscope.book.messages import KinetoscopeError
from kinetoscope.draw.matplotlib_backend import thumbnail
from kinetoscope.record.script import Script, read_script
from kinetoscope.record.store import ExampleRecording
from kinetoscope.trace import TraceError, load_whole

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sphinx.environment import BuildEnvironment

# Zip files hold the time of each member: one that never changes keeps downloads byte-identical.
_EPOCH = (1980, 1, 1, 0, 0, 0)
_OWN_SUFFIXES = (".py", ".ipynb", ".rst", ".zip", ".json", ".md5", ".recommendations", ".examples")

# The gallery's folder as the build before left it, until Sphinx-Gallery is through
_BEFORE: WeakKeyDictionary[BuildEnvironment, dict[Path, tuple[bytes, tuple[int, int]]]] = WeakKeyDictionary()


def never_execute(app: Sphinx, config: Config) -> None:
    """``config-inited``, before Sphinx-Gallery's own: laying out must not run an example."""
    config.sphinx_gallery_conf["plot_gallery"] = False
    config.plot_gallery = False


def example_scripts(app: Sphinx) -> dict[str, Script]:
    """The examples by the document name of their page, in the gallery's order."""
    conf = app.config.sphinx_gallery_conf
    folder = Path(app.srcdir, _only(conf, "examples_dirs")).resolve()
    ignore = re.compile(conf["ignore_pattern"])
    paths = [path for path in sorted(folder.glob("*.py")) if not ignore.search(str(path))]
    order = conf["within_subsection_order"]
    if callable(order) and not isinstance(order, type):
        paths.sort(key=lambda path: order(path.name))
    gallery = gallery_dir(app)
    return {f"{gallery}/{path.stem}": read_script(path) for path in paths}


def gallery_dir(app: Sphinx) -> str:
    """Where the gallery's pages lie, relative to the documentation's source folder."""
    return Path(_only(app.config.sphinx_gallery_conf, "gallery_dirs")).as_posix()


def _only(conf: Mapping[str, Any], key: str) -> str:
    """A setting that Sphinx-Gallery takes a list for: one gallery is what a book has."""
    value = conf[key]
    if isinstance(value, (list, tuple)):
        if len(value) != 1:
            raise KinetoscopeError(f"sphinx_gallery_conf[{key!r}] names {len(value)} folders; give one")
        value = value[0]
    return str(value)


def prepare_folder(app: Sphinx) -> None:
    """``builder-inited``, before Sphinx-Gallery: a clean folder, with the recorded figures in place."""
    book = book_of(app.env)
    folder = _folder(app)
    images = folder / "images"
    images.mkdir(parents=True, exist_ok=True)
    _BEFORE[app.env] = _contents(folder)
    stems = {script.stem for script in book.scripts.values()}
    # Its md5 files would make it keep a page whose script was edited and then put back.
    for path in folder.glob("*.md5"):
        path.unlink()
    for path in folder.iterdir():
        stem = path.name.partition(".")[0]
        generated = path.suffix in _OWN_SUFFIXES and stem not in stems
        if path.is_file() and generated and stem != "index":
            path.unlink()
    wanted: set[str] = set()
    for script in book.scripts.values():
        for machine in book.switch:
            recording = book.machine(machine).examples.get(script.stem)
            if recording is not None:
                wanted |= _place_figures(names_of_figures(recording, book, machine), images)
                wanted |= _place_thumbnail(recording, images) if machine == book.shown else set()
    for path in (*images.glob("*.png"), *images.glob("*.from")):
        if path.name not in wanted:
            path.unlink()
    for path in (images / "thumb").glob("sphx_glr_*_thumb.png"):
        if path.name.removeprefix("sphx_glr_").removesuffix("_thumb.png") not in stems:
            path.unlink()


def finish_folder(app: Sphinx) -> None:
    """``builder-inited``, after Sphinx-Gallery: recorded code links in, times out of the zips."""
    book = book_of(app.env)
    folder = _folder(app)
    for script in book.scripts.values():
        recording = book.machine().examples.get(script.stem)
        # names of other code would lead to the wrong places
        if recording is not None and {block.key for block in script.blocks} == set(recording.outputs):
            _use_recorded_links(folder / f"{script.stem}.codeobj.json", recording)
    for path in folder.glob("*.zip"):
        make_reproducible(path)
    before = _BEFORE.pop(app.env, {})
    for path, (content, times) in before.items():
        if path.is_file() and path.read_bytes() == content:
            os.utime(path, ns=times)


def make_reproducible(path: Path) -> None:
    """Rewrites a zip with sorted members and a fixed time; leaves it alone if it is so already."""
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
    """Content and times of every file: one that comes out the same is no reason to read its page again."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file():
            stat = path.stat()
            found[path] = path.read_bytes(), (stat.st_atime_ns, stat.st_mtime_ns)
    return found


def names_of_figures(recording: ExampleRecording, book: Book, machine: str) -> dict[Path, str]:
    """What each figure is called in the gallery."""
    suffix = figure_suffix(book, machine)
    return {figure: f"{figure.stem}{suffix}{figure.suffix}" for figure in recording.figures}


def figure_suffix(book: Book, machine: str) -> str:
    """What tells a figure from that of the book's default machine, of which all were drawn under one name."""
    return "" if machine == book.switch[0] else f"-on-{machine}"


def _place_figures(figures: Mapping[Path, str], images: Path) -> set[str]:
    """Copies the figures to where the pages look for them; returns their names there."""
    for figure, name in figures.items():
        target = images / name
        if not target.is_file() or target.read_bytes() != figure.read_bytes():
            shutil.copyfile(figure, target)
    return set(figures.values())


def _place_thumbnail(recording: ExampleRecording, images: Path) -> set[str]:
    """Where there is no figure the first trace is drawn as the thumbnail's source."""
    first = f"sphx_glr_{recording.stem}_001.png"
    if first in {figure.name for figure in recording.figures} or not recording.traces:
        return set()
    stamp = images / f"{first}.from"
    if not stamp.is_file() or stamp.read_text() != recording.fingerprint or not (images / first).is_file():
        trace = recording.traces[_thumbnail_trace(recording)]
        try:
            thumbnail(load_whole(trace), images / first)
        except TraceError:
            return set()  # the directive that shows this trace warns about it
        stamp.write_text(recording.fingerprint)
    return {first, stamp.name}


def _thumbnail_trace(recording: ExampleRecording) -> str:
    """The first trace the page shows."""
    shown = [
        name for block in recording.blocks for name in re.findall(r"^\.\. timeline:: (\w+)$", block.rst, re.M)
    ]
    names: list[str] = [*shown, *recording.traces]
    return next(name for name in names if name in recording.traces)


def _use_recorded_links(path: Path, recording: ExampleRecording) -> None:
    """Without torch Sphinx-Gallery cannot tell ``F`` from ``torch.nn.functional``: the recorder could."""
    laid_out: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if not laid_out and not recording.code_objects:
        return
    merged = json.dumps({**laid_out, **recording.code_objects}, sort_keys=True, indent=1)
    if not path.is_file() or path.read_text(encoding="utf-8") != merged:
        path.write_text(merged, encoding="utf-8")
