"""The book as a visitor gets it, built once from a copy of this checkout for all tests that look at it."""

from __future__ import annotations

import ast
import functools
import gc
import getpass
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from types import CodeType
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parents[1]
# Read before any fixture puts a stand-in for torch on this path.
PYTHONPATH = os.environ.get("PYTHONPATH", "")
TORCH_IS_BLOCKED = 'raise ImportError("torch was imported by a build that only lays out")\n'
# Examples take smaller matrices on a CPU that reports only AVX2. Inductor's cache does not tell code for AVX2
# from code for the whole CPU, and mixing them gives wrong results, so the tests have a cache of their own.
os.environ["ATEN_CPU_CAPABILITY"] = "avx2"
# In each process Inductor compiles a file for every instruction set of the CPU, to see whether that works.
os.environ["TORCHINDUCTOR_VEC_ISA_OK"] = "1"
os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(
    Path(tempfile.gettempdir()) / f"torchinductor_avx2_{getpass.getuser()}"
)
# How long an example of Hypothesis takes depends on what else the machine does.
settings.register_profile("any-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any-machine")
# The address the book is built for. Without one, pages leave out what needs a whole address.
ADDRESS = "https://book.example.org/kinetoscope/"
# Links that a browser does not fetch.
NOT_FETCHED = {"canonical", "alternate", "license", "author", "me", "edit", "next", "prev", "index", "search"}


class Page(HTMLParser):
    """What a page fetches, where its links lead, and the ids that links can lead to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.html = path.read_text(encoding="utf-8")
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.styles: list[str] = []
        self._text: list[tuple[str, str]] = []
        self._open = ""
        self.feed(self.html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        self._open = tag
        self.tags.append((tag, given))
        self.ids |= {given[key] for key in ("id", "name") if given.get(key)}
        if "style" in given:
            self.styles.append(given["style"])
        if tag in ("a", "area"):
            self.links += [given["href"]] if "href" in given else []
        elif tag == "link":
            if not NOT_FETCHED & set(given.get("rel", "").split()):
                self.fetched.append(given.get("href", ""))
        else:
            self.fetched += [given[key] for key in ("src", "poster", "data", "background") if key in given]
            self.fetched += [given[key] for key in ("href", "xlink:href") if key in given and tag != "base"]
            self.fetched += [given["action"]] if tag == "form" and "action" in given else []
            self.fetched += [given["content"]] if given.get("http-equiv", "").lower() == "refresh" else []
        for candidate in given.get("srcset", "").split(","):
            self.fetched += candidate.split()[:1]

    def handle_data(self, data: str) -> None:
        if self._open == "style":
            self.styles.append(data)
        self._text.append((self._open, data))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("style", "script"):
            self._open = ""

    @property
    def text(self) -> str:
        """The text of the page, in one line."""
        return " ".join("".join(data for tag, data in self._text if tag not in ("script", "style")).split())

    def by_class(self, name: str, tag: str = "") -> list[dict[str, str]]:
        """The attributes of each element of a class."""
        return [
            given
            for found, given in self.tags
            if name in given.get("class", "").split() and tag in ("", found)
        ]

    def by_rel(self, rel: str) -> list[dict[str, str]]:
        """The attributes of each link in the page's head with this ``rel``."""
        return [given for tag, given in self.tags if tag == "link" and rel in given.get("rel", "").split()]

    def measured(self) -> list[tuple[str, str]]:
        """Each expression and its value, in the order of the page."""
        return re.findall(
            r'<span class="ks-measured" title="([^"]*)"(?: data-events="[^"]*")?>([^<]*)</span>', self.html
        )


@functools.cache
def _parsed(path: Path, changed: int) -> Page:
    """Parse each page once in a process: many tests look at all of them."""
    return Page(path)


@dataclass(frozen=True)
class Build:
    """A tree to build the book in, and the result of building it."""

    tree: Path
    html: Path
    status: int
    out: str
    err: str
    seconds: float
    cpu_seconds: float

    @property
    def examples(self) -> list[str]:
        """The list of examples in conf.py."""
        for node in ast.parse((self.tree / "conf.py").read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "EXAMPLES":
                return ast.literal_eval(node.value)
        raise AssertionError("conf.py has no EXAMPLES")

    @property
    def recordings(self) -> Path:
        return self.tree / "docs" / "recordings"

    def provenance(self, example: str = "") -> dict:
        """The provenance of the machine, or of one example's last run there."""
        folder = self.recordings / "nvidia-h200"
        if not example:
            return json.loads((folder / "machine.json").read_text(encoding="utf-8"))
        return json.loads((folder / example / "example.json").read_text(encoding="utf-8"))["provenance"]

    @property
    def address(self) -> str:
        """The address the book is built for."""
        return ADDRESS

    def names(self) -> list[str]:
        """Every page, by the name that Sphinx gives it."""
        paths = sorted(self.html.rglob("*.html"))
        found = [path.relative_to(self.html).with_suffix("").as_posix() for path in paths]
        return [name for name in found if not name.startswith("_")]

    def page(self, name: str) -> Page:
        path = self.html / f"{name}.html"
        return _parsed(path, path.stat().st_mtime_ns)

    def target(self, page: Page, link: str) -> Path:
        """The file that an address on a page leads to."""
        path = unquote(urlsplit(link).path)
        return (page.path.parent / path).resolve() if path else page.path

    def downloads(self, name: str) -> dict[str, Path]:
        """What a page offers to download, by file name."""
        page = self.page(name)
        targets = [self.target(page, given["href"]) for given in page.by_class("download", "a")]
        return {path.name: path for path in targets}

    def again(self, out: str, *options: str, torch: bool = False, strict: bool = False) -> Build:
        """Build in the same tree, into another folder."""
        return build(self.tree, out, *options, torch=torch, strict=strict)


def build(tree: Path, out: str, *options: str, torch: bool = False, strict: bool = True) -> Build:
    """Run Sphinx in a process of its own, which cannot import torch unless ``torch`` is true."""
    block = tree / "no-torch"
    (block / "torch").mkdir(parents=True, exist_ok=True)
    (block / "torch" / "__init__.py").write_text(TORCH_IS_BLOCKED, encoding="utf-8")
    path = [] if torch else [str(block)]
    path += filter(None, [PYTHONPATH])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "CUDA_VISIBLE_DEVICES": "", "NO_COLOR": "1"}
    env |= {"KINETOSCOPE_URL": ADDRESS, "KINETOSCOPE_REPOSITORY": ""}
    html = tree / "_build" / out
    flags = ["-W"] if strict else []
    mode = [] if torch else ["-D", "kinetoscope_mode=replay"]
    begin, before = time.perf_counter(), os.times()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", "-c", ".", "-b", "html", "-j", "auto", "--keep-going", "-n"),
            *(*flags, *mode, *options, "-d", f"_build/.{out}", "docs", str(html)),
        ],
        cwd=tree,
        env=env,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=1800,
        check=False,
    )
    after = os.times()
    cpu = sum(after[2:4]) - sum(before[2:4])
    return Build(tree, html, done.returncode, done.stdout, done.stderr, time.perf_counter() - begin, cpu)


def copy_tree(tree: Path) -> Path:
    """Copy what the book is built from, because a build writes into the folder of its sources."""
    made = shutil.ignore_patterns("_build", "gallery", "__pycache__", "*.pyc")
    for name in ("docs", "examples", "src"):
        shutil.copytree(ROOT / name, tree / name, ignore=made)
    shutil.copyfile(ROOT / "conf.py", tree / "conf.py")
    return tree


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Make something once for all test processes: ``once(NAME, MAKE)`` gives what ``MAKE(folder)`` returned.

    The others wait for the one that makes it, however long that takes. Tests must not change the folder.
    """
    shared = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        shared = shared.parent

    def get(name: str, make: Callable[[Path], Any]) -> Any:
        folder, answer = shared / name, shared / f"{name}.pickle"
        with FileLock(shared / f"{name}.lock"):
            if not answer.is_file():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)
                answer.write_bytes(pickle.dumps(make(folder)))
            return pickle.loads(answer.read_bytes())

    return get


@pytest.fixture(scope="session")
def templates_compiled_once() -> Iterator[None]:
    """Compile each template of a theme once in this process; Sphinx itself does so in every build."""
    import jinja2
    from sphinx import jinja2glue

    class Compiled(jinja2.BytecodeCache):
        codes: ClassVar[dict[str, CodeType]] = {}

        def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
            bucket.code = self.codes.get(bucket.key + bucket.checksum)

        def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
            self.codes[bucket.key + bucket.checksum] = bucket.code

    environment = functools.partial(jinja2glue.SandboxedEnvironment, bytecode_cache=Compiled())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jinja2glue, "SandboxedEnvironment", environment)
        yield


@pytest.fixture(scope="session")
def built(once: Callable[..., Any]) -> Build:
    """The book, built from its committed recordings without torch; tests must not change it."""
    return once("the-book", lambda folder: build(copy_tree(folder / "tree"), "html"))


@pytest.fixture
def website(built: Build) -> Build:
    """The built book. Fails if there is none; tests/site/test_site.py checks that the build was clean."""
    if not (built.html / "index.html").is_file():
        pytest.fail(f"there is no site:\n{built.err[-2000:]}")
    return built


@pytest.fixture
def own_tree(tmp_path: Path) -> Path:
    """A copy of what the book is built from, to be changed."""
    return copy_tree(tmp_path / "tree")


def pytest_sessionstart() -> None:
    """Let the garbage collector look less often: it takes a tenth of the time of a build in this process."""
    gc.set_threshold(100_000, 20, 20)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where several processes share the tests, put what takes long first, so that none waits at the end.

    The first process gets the first half. So it makes the altered books of test_mutations.py alone, each of
    which follows from the one before; the others, when they are through, take what is marked as slow from it.
    """
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: item.get_closest_marker("slow") is None)
        items.sort(key=lambda item: item.path.name != "test_mutations.py")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests have measured. Nobody sees the output of the processes they run in."""
    lines = [
        f"{value}"
        for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
        for key, value in report.user_properties
        if key == "about the site" and report.when == "call"
    ]
    if lines:
        terminalreporter.section("the site")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.fixture
def say(record_property: Callable[[str, object], None]) -> Iterator[Callable[[str], None]]:
    """Print a line at the end of the test run."""
    yield lambda text: record_property("about the site", text)
