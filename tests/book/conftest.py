"""Miniature books, built with the real Sphinx and recorded by the real recorder, without torch.

Their examples copy traces from ``tests/data``. A stand-in for torch, a module of a few lines, hides the real
one and says which GPU there is.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import io
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import zip_longest
from pathlib import Path
from typing import Any, ClassVar

import pytest
from sphinx.cmd.build import main as sphinx_build

from kinetoscope.record.script import read_script
from kinetoscope.record.store import BlockOutput, read_example, write_example

MACHINE = "test-gpu-9000"
DATA = Path(__file__).parents[1] / "data"

CONF = """\
extensions = ["kinetoscope", "sphinx_gallery.gen_gallery", "myst_parser"]
project = "Miniature"
source_suffix = {{".md": "markdown", ".rst": "restructuredtext"}}
exclude_patterns = ["recordings"]
suppress_warnings = ["config.cache"]
html_theme = "basic"
html_show_sphinx = False
copyright = "nobody"
show_warning_types = True
kinetoscope_machine = "{machine}"
sphinx_gallery_conf = {{
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\\.py$",
    "image_scrapers": ["kinetoscope"],
    "capture_repr": (),
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "show_signature": False,
    "backreferences_dir": None,
}}
"""

INDEX = """\
# Miniature

Text.

```{toctree}
read
plain
gallery/index
```
"""

READ = """\
# Read

One step of the layer takes {measured}`count(linear_eager.kernels)` kernel,
the two layers {measured}`count(geglu_eager.kernels)`, on {measured}`machine.gpu`.

```{timeline} linear_eager
:highlight: aten::t
The transpose is metadata.
```

```{profiler-table} linear_eager
:by: kernel
```
"""

# Its trace comes from a real H200.
ONE = '''\
"""
One layer
=========

Some words about one layer.
"""

# %%
# It starts
# ---------
# Prose about the start.

import shutil
from pathlib import Path

SIZE = 64
print("size", SIZE)

# %%
# And is traced here.

Path("traces").mkdir(exist_ok=True)
shutil.copyfile("{data}/traces/linear_1024_32_64_eager.json.gz", "traces/linear_eager.json.gz")
print("written by", "one")
'''

TWO = '''\
"""
Two layers
==========

Some words about two layers.
"""

import shutil
from pathlib import Path

Path("traces").mkdir(exist_ok=True)
shutil.copyfile("{data}/traces/geglu_eager.json.gz", "traces/geglu_eager.json.gz")
Path("traces/sweep.csv").write_text("rows,median_us\\n64,3.5\\n128,7.25\\n")
print("two was here")
'''

TORCH = """\
__version__ = "9.9.9+stand.in"


class _Properties:
    name = {gpu!r}
    major, minor = 9, 0
    multi_processor_count = 132
    total_memory = 150754820096


class cuda:
    @staticmethod
    def is_available():
        return bool({gpu!r})

    @staticmethod
    def get_device_properties(index):
        return _Properties


class version:
    cuda = "13.0"
    hip = None
"""


@dataclass(frozen=True)
class Built:
    """The result of one build."""

    status: int
    out: str
    err: str
    outdir: Path

    @property
    def warnings(self) -> list[str]:
        """Each line with a warning or error, without colors."""
        text = re.sub(r"\x1b\[[0-9;]*m", "", self.err)
        return [line for line in text.splitlines() if re.search(r"WARNING|ERROR|rror:", line)]

    @property
    def traceback(self) -> bool:
        return "Traceback" in self.err + self.out

    @property
    def read(self) -> list[str]:
        """The documents that were read."""
        out = re.sub(r"\x1b\[[0-9;]*m", "", self.out)
        return sorted(set(re.findall(r"reading sources\.\.\. \[ *\d+%\] ([\w/]+)", out)))

    def html(self, page: str) -> str:
        return (self.outdir / f"{page}.html").read_text(encoding="utf-8")

    def text(self, page: str) -> str:
        return Text.of(self.html(page))

    def files(self, *suffixes: str) -> dict[str, bytes]:
        """The content of every file that a visitor can fetch, by path."""
        content = {}
        for path in sorted(self.outdir.rglob("*")):
            name = path.relative_to(self.outdir).as_posix()
            if path.is_file() and not name.startswith(".") and (not suffixes or path.suffix in suffixes):
                content[name] = path.read_bytes()
        return content


class Text(HTMLParser):
    """The text of a page, and the elements in it."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        (self.scripts if self.tags and self.tags[-1][0] == "script" else self.parts).append(data)

    @classmethod
    def parse(cls, html: str) -> Text:
        parser = cls()
        parser.feed(html)
        parser.close()
        return parser

    @classmethod
    def of(cls, html: str) -> str:
        return "".join(cls.parse(html).parts)


@dataclass
class Site:
    """A book in a folder of its own."""

    PNG: ClassVar = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
    """an image of one pixel, for figures"""
    root: Path
    patch: pytest.MonkeyPatch = field(repr=False)
    gpu: str = ""

    @property
    def examples(self) -> Path:
        return self.root / "examples"

    @property
    def docs(self) -> Path:
        return self.root / "docs"

    @property
    def recordings(self) -> Path:
        return self.docs / "recordings"

    def write(self, path: str, text: str) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text.replace("{data}", str(DATA)), encoding="utf-8")
        return target

    def edit(self, path: str, old: str, new: str) -> int:
        """Replace ``old``, which the file must have exactly once, and return its line."""
        target = self.root / path
        text = target.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {path}"
        target.write_text(text.replace(old, new), encoding="utf-8")
        return text[: text.index(old)].count("\n") + 1

    def line(self, path: str, text: str) -> int:
        """Return the 1-based line of ``text``, which the file must have exactly once."""
        whole = (self.root / path).read_text(encoding="utf-8")
        assert whole.count(text) == 1
        return whole[: whole.index(text)].count("\n") + 1

    def with_gpu(self, gpu: str) -> Site:
        """Put in place a stand-in for torch that sees this GPU, or none if ``gpu`` is empty."""
        self.gpu = gpu
        folder = self.root / "stand-in"
        self.write("stand-in/torch.py", TORCH.format(gpu=gpu))
        shutil.rmtree(folder / "__pycache__", ignore_errors=True)
        self.patch.setenv(
            "PYTHONPATH", os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
        )
        self.patch.syspath_prepend(str(folder))
        return self

    def with_sources(self) -> Site:
        """Name two sources in conf.py: HF2, which has a URL, and WIKI."""
        conf = (self.root / "conf.py").read_text(encoding="utf-8")
        sources = {"HF2": ("A post", "https://example.org/post"), "WIKI": ("An entry", "")}
        self.write("conf.py", f"{conf}\nkinetoscope_sources = {sources}\n")
        return self

    def recorded(self, stem: str, text: str, *outputs: str, files: Mapping[str, bytes] | None = None) -> None:
        """Add an example and its recording without running it; ``outputs`` is the reST of its blocks."""
        blocks = read_script(self.write(f"examples/{stem}.py", text)).blocks
        write_example(
            self.recordings / MACHINE,
            stem,
            blocks=[
                BlockOutput(block.code, block.before, rst)
                for block, rst in zip_longest(blocks, outputs, fillvalue="")
            ],
            run_time=0.0,
            provenance=read_example(self.recordings / MACHINE / "one").provenance,
            code_objects={},
            files=files or {},
        )

    @contextlib.contextmanager
    def example_json(self, stem: str = "one", machine: str = MACHINE) -> Iterator[dict[str, Any]]:
        """Give the content of a recorded example's ``example.json``, and write back what it became."""
        path = self.recordings / machine / stem / "example.json"
        content = json.loads(path.read_text(encoding="utf-8"))
        yield content
        path.write_text(json.dumps(content), encoding="utf-8")

    def build_clean(self, *options: str, **how: Any) -> Built:
        """Build with ``-W``, and fail unless the build succeeds."""
        built = self.build("-W", *options, **how)
        assert built.status == 0, built.err
        return built

    def build(
        self,
        *options: str,
        mode: str = "replay",
        builder: str = "html",
        out: str | None = None,
        doctrees: str | None = None,
    ) -> Built:
        """Run ``sphinx-build`` in this process; every builder has doctrees of its own."""
        outdir = self.root / "_build" / (out or builder)
        doctreedir = self.root / "_build" / f".{doctrees or out or builder}"
        argv = ["-b", builder, "-c", str(self.root), "-d", str(doctreedir), "-D", f"kinetoscope_mode={mode}"]
        stdout, stderr = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
            try:
                status = sphinx_build([*argv, "--color", "-n", *options, str(self.docs), str(outdir)])
            except SystemExit as left:
                status = left.code
        return Built(status, stdout.getvalue(), stderr.getvalue(), outdir)


@pytest.fixture(scope="session", autouse=True)
def _faster(templates_compiled_once: None) -> None:
    """All these builds run in this process and can share compiled templates."""


@pytest.fixture(scope="session")
def recorded_site(once: Callable[..., Any]) -> Path:
    """The folder of a book recorded on an invented GPU. Tests copy it and must not change it."""
    return once("recorded", _record_site)


def _record_site(folder: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        site = Site(folder / "site", patch)
        site.write("conf.py", CONF.format(machine=MACHINE))
        site.write("docs/index.md", INDEX)
        site.write("docs/read.md", READ)
        site.write("docs/plain.md", "# Plain\n\nNothing is measured here.\n")
        site.write("examples/GALLERY_HEADER.rst", "Examples\n========\n")
        site.write("examples/one.py", ONE)
        site.write("examples/two.py", TWO)
        site.with_gpu("Test GPU 9000")
        site.build_clean(mode="record")
    # Here the stand-in for torch is gone; each test says which GPU it wants.
    return site.root


def _copy(recorded: Path, root: Path, patch: pytest.MonkeyPatch) -> Site:
    shutil.copytree(recorded, root, ignore=shutil.ignore_patterns("gallery", "_build", "stand-in"))
    return Site(root, patch)


@pytest.fixture
def new_site(tmp_path: Path, recorded_site: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Site]:
    """``new_site(NAME)`` copies the recorded book; the copy is not built yet and has no GPU."""
    return lambda name: _copy(recorded_site, tmp_path / name, monkeypatch)


@pytest.fixture(scope="session")
def build_once(once: Callable[..., Any], recorded_site: Path) -> Callable[..., Any]:
    """``build_once(NAME, MAKE)`` returns ``MAKE(site)`` for a copy of the recorded book; see ``once``."""

    def build(name: str, make: Callable[[Site], Any]) -> Any:
        def in_folder(folder: Path) -> Any:
            with pytest.MonkeyPatch.context() as patch:
                return make(_copy(recorded_site, folder / "site", patch))

        return once(name, in_folder)

    return build


# These builders run without -W, because Sphinx itself warns.
OPTIONS = {"epub": ("-D", "version=1", "-D", "epub_show_urls=no"), "json": (), "pseudoxml": ()}


def _lay_out(builder: str, site: Site) -> Built:
    (site.docs / "drawn.png").write_bytes(site.PNG)
    figure = ".. image-sg:: /drawn.png\n   :alt: what was drawn\n   :srcset: /drawn.png\n"
    site.write("docs/plain.md", f"# Plain\n\n```{{eval-rst}}\n{figure}```\n")
    return site.build(*OPTIONS.get(builder, ("-W",)), builder=builder)


@pytest.fixture
def laid_out(build_once: Callable[..., Any]) -> Callable[[str], Built]:
    """``laid_out(BUILDER)`` builds the recorded book, with a figure on its page ``plain``."""

    def by(builder: str) -> Built:
        built = build_once(f"by-{builder}", functools.partial(_lay_out, builder))
        assert built.status == 0, built.err
        assert not built.traceback
        return built

    return by


@pytest.fixture
def site(new_site: Callable[[str], Site]) -> Site:
    return new_site("site")


@pytest.fixture(scope="session")
def parse_html() -> Callable[[str], Text]:
    """``parse_html(HTML)`` gives the text, scripts and tags of a page."""
    return Text.parse
