"""What the book does with an altered recording, and with one of another kind of GPU.

Each mutation alters a copy of the committed recording. It must change the pages that it concerns, or make the
``-W`` build fail at the sentence that became false; nothing else may change. The book is built once and then
again and again in the same folder, as an author would. Mutations of different traces share a build.
"""

from __future__ import annotations

import contextlib
import csv
import fnmatch
import gzip
import html
import io
import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from altered import in_us, leave_out
from sphinx.cmd.build import main as sphinx_build

ROOT = Path(__file__).parents[2]
MACHINE = "nvidia-h200"

Event = dict[str, Any]


# --- the book, built in one folder over and over ------------------------------------------------------------


@dataclass(frozen=True)
class Warned:
    """A warning or an error of a build."""

    file: str
    """relative to the copied checkout"""
    line: int
    text: str


@dataclass(frozen=True)
class Result:
    """The result of one build."""

    status: int
    err: str
    warnings: tuple[Warned, ...]
    pages: dict[str, str]
    """HTML by page name, and ``claims.json`` as ``claims``"""
    files: dict[str, bytes]
    """pictures by name"""

    @cached_property
    def verdicts(self) -> dict[str, str]:
        return {item["id"]: item["verdict"] for item in json.loads(self.pages["claims"])}


@dataclass(frozen=True)
class Book:
    """A copy of the book that reads its recordings from a folder which tests may alter."""

    tree: Path

    @classmethod
    def copy(cls, tree: Path) -> Book:
        made = shutil.ignore_patterns("_build", "gallery", "recordings", "__pycache__", "*.pyc")
        for name in ("docs", "examples"):
            shutil.copytree(ROOT / name, tree / name, ignore=made)
        shutil.copyfile(ROOT / "conf.py", tree / "conf.py")
        return cls(tree)

    @property
    def recordings(self) -> Path:
        return self.tree / "docs" / "mutated"

    def source(self, file: str) -> list[str]:
        return (self.tree / file).read_text(encoding="utf-8").splitlines()

    def restore(self) -> None:
        """Put the committed recording back."""
        shutil.rmtree(self.recordings, ignore_errors=True)
        shutil.copytree(ROOT / "docs" / "recordings" / MACHINE, self.recordings / MACHINE)
        shutil.copytree(ROOT / "docs" / "recordings" / "bench", self.recordings / "bench")

    def build(self, *options: str) -> Result:
        """Lay the book out in this process, because starting another one takes longer than the work."""
        argv = ["-c", str(self.tree), "-b", "html", "-n", "--no-color", "-d", str(self.tree / "_build/.html")]
        argv += ["-D", "kinetoscope_mode=replay", "-D", f"kinetoscope_recordings={self.recordings.name}"]
        # The theme extends the default list; to Sphinx that is a change, and it would write every page again.
        argv += ["-D", "templates_path=docs/_templates"]
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = sphinx_build(
                    [*argv, *options, str(self.tree / "docs"), str(self.tree / "_build/html")]
                )
            except SystemExit as left:
                status = left.code
        return Result(status, err.getvalue(), tuple(self._warnings(err.getvalue())), *self.made())

    def made(self) -> tuple[dict[str, str], dict[str, bytes]]:
        """Return the pages and pictures that the last build left."""
        html_dir = self.tree / "_build" / "html"
        pages = {
            path.relative_to(html_dir).with_suffix("").as_posix(): path.read_text(encoding="utf-8")
            for path in (*html_dir.rglob("*.html"), html_dir / "claims.json")
            if path.is_file()
        }
        files = {path.name: path.read_bytes() for path in (html_dir / "_images").glob("*")}
        return pages, files

    def _warnings(self, err: str) -> Iterator[Warned]:
        for line in err.splitlines():
            if parts := re.match(r"(?:(\S+?):(?:(\d+):)? )?(?:WARNING|ERROR): (.*)", line):
                file = (parts[1] or "").removeprefix(f"{self.tree}/")
                yield Warned(file, int(parts[2] or 0), parts[3])

    def block(self, warned: Warned) -> str:
        """Return the source at a warning: the line, or the whole directive that begins there."""
        lines = self.source(warned.file)[warned.line - 1 :]
        fence = re.match(r"`{3,}(?=\{)", lines[0])
        if fence:
            return "\n".join(lines[: lines.index(fence[0]) + 1])
        return lines[0]


# --- ways to alter a recording ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recording:
    """A machine's folder, to be altered."""

    folder: Path

    def file(self, name: str) -> Path:
        """Return the only file of a name, whichever example wrote it."""
        (path,) = self.files(name)
        return path

    def files(self, name: str) -> list[Path]:
        """Return the files that a name matches, in any folder; ``*`` is a wildcard."""
        return [path for path in self.folder.rglob(Path(name).name) if path.match(name)]

    def trace(self, name: str, change: Callable[[list[Event]], list[Event]]) -> None:
        path = self.file(f"{name}.json.gz")
        document = json.loads(gzip.decompress(path.read_bytes()))
        document["traceEvents"] = change(document["traceEvents"])
        before = path.read_bytes()
        path.write_bytes(gzip.compress(json.dumps(document).encode(), 1))
        assert path.read_bytes() != before

    def table(self, name: str, change: Callable[[list[dict[str, str]]], list[dict[str, str]]]) -> None:
        path = self.file(f"{name}.csv")
        with path.open(encoding="utf-8", newline="") as file:
            rows = change(list(csv.DictReader(file)))
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    def text(self, name: str, old: str, new: str) -> None:
        """Replace ``old`` in every file that a name matches; each must have it."""
        assert self.files(name)
        for path in self.files(name):
            text = path.read_text(encoding="utf-8")
            assert old in text, f"{old!r} is not in {path}"
            path.write_text(text.replace(old, new), encoding="utf-8")


Change = Callable[[Recording], None]


def matches(event: Event, category: str, pattern: str) -> bool:
    """Tell whether an event's category ends with ``category`` and its name matches ``pattern``."""
    return str(event.get("cat")).endswith(category) and fnmatch.fnmatchcase(
        event["name"], pattern.replace("[", "[[]")
    )


def in_trace(name: str, change: Callable[[list[Event]], list[Event]]) -> Change:
    return lambda recording: recording.trace(name, change)


def without(category: str, pattern: str, first: int | None = None):
    """Remove the events that match, or only the first so many of them."""

    def change(events: list[Event]) -> list[Event]:
        gone = [event for event in events if matches(event, category, pattern)][:first]
        assert gone
        return [event for event in events if not any(event is one for one in gone)]

    return change


def each(category: str, pattern: str, change: Callable[[Event], Any]):
    """Change every event that matches."""

    def changed(events: list[Event]) -> list[Event]:
        matching = [event for event in events if matches(event, category, pattern)]
        assert matching
        for event in matching:
            change(event)
        return events

    return changed


def renamed(category: str, pattern: str, new: str):
    return each(category, pattern, lambda event: event.update(name=new))


def slower(category: str, pattern: str, factor: float):
    return each(category, pattern, lambda event: event.update(dur=round(event["dur"] * factor, 3)))


def with_additions(events: list[Event]) -> list[Event]:
    """Add an ``aten::add`` after each Linear, on the CPU only."""
    linears = [event for event in events if matches(event, "cpu_op", "aten::linear")]
    added = [
        {**linear, "name": "aten::add", "ts": round(linear["ts"] + linear["dur"] + 0.2, 3), "dur": 0.4}
        for linear in linears
    ]
    return [*events, *({**event, "args": {"Ev Idx": 900 + n}} for n, event in enumerate(added))]


def with_copies(events: list[Event]) -> list[Event]:
    """Add a copy on the stream, launched at the start of each step."""
    added: list[Event] = []
    for number, step in enumerate(
        event for event in events if matches(event, "annotation", "ProfilerStep#*")
    ):
        if step["cat"] == "gpu_user_annotation":
            continue
        args = {"correlation": 900_000 + number}
        call = {**step, "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "ts": step["ts"] + 1, "dur": 0.5}
        added.append({**call, "args": args})
        copy = {**call, "cat": "gpu_memcpy", "name": "Memcpy DtoD (Device -> Device)", "pid": 0, "tid": 7}
        added.append({**copy, "ts": step["ts"] + 3, "args": {**args, "device": 0, "stream": 7}})
    assert added
    return [*events, *added]


def without_last_step(events: list[Event]) -> list[Event]:
    steps = [event for event in events if matches(event, "user_annotation", "ProfilerStep#*")]
    last = max((step for step in steps if step["cat"] == "user_annotation"), key=lambda step: step["ts"])
    begin, end = last["ts"], last["ts"] + last["dur"]
    gone = [event for event in events if "dur" in event and begin <= event["ts"] < end and event["pid"] != 0]
    launched = {event["args"]["correlation"] for event in gone if "correlation" in event.get("args", {})}
    return [
        event
        for event in events
        if not any(event is one for one in gone) and event.get("args", {}).get("correlation") not in launched
    ]


def in_table(name: str, change: Callable[[list[dict[str, str]]], list[dict[str, str]]]) -> Change:
    return lambda recording: recording.table(name, change)


def cell(column: str, factor: float, **where: str):
    """Multiply one cell of the row that ``where`` names."""

    def change(rows: list[dict[str, str]]) -> list[dict[str, str]]:
        (row,) = (row for row in rows if where.items() <= row.items())
        row[column] = f"{float(row[column]) * factor:.3f}"
        return rows

    return change


def no_row(**where: str):
    def change(rows: list[dict[str, str]]) -> list[dict[str, str]]:
        kept = [row for row in rows if not where.items() <= row.items()]
        assert len(kept) == len(rows) - 1
        return kept

    return change


def no_column(old: str, new: str):
    return lambda rows: [{new if key == old else key: value for key, value in row.items()} for row in rows]


def in_text(name: str, *pairs: tuple[str, str]) -> Change:
    def change(recording: Recording) -> None:
        for old, new in pairs:
            recording.text(name, old, new)

    return change


def in_example(stem: str, change: Callable[[dict[str, Any]], Any]) -> Change:
    def changed(recording: Recording) -> None:
        path = recording.file(f"{stem}/example.json")
        document = json.loads(path.read_text(encoding="utf-8"))
        change(document)
        path.write_text(json.dumps(document), encoding="utf-8")

    return changed


def in_bytes(name: str, change: Callable[[bytes], bytes]) -> Change:
    def changed(recording: Recording) -> None:
        path = recording.file(name)
        path.write_bytes(change(path.read_bytes()))

    return changed


def replaced(name: str, other: str) -> Change:
    return lambda recording: recording.file(name).write_bytes(recording.file(other).read_bytes())


def gone(name: str) -> Change:
    return lambda recording: recording.file(name).unlink()


def with_gpu(gpu: str, gpu_arch: str) -> Change:
    """Replace the GPU in the provenance of the machine and of every example, and in every trace."""

    def change(recording: Recording) -> None:
        for path in recording.folder.rglob("*.json"):
            document = json.loads(path.read_text(encoding="utf-8"))
            document.get("provenance", document)["machine"].update(gpu=gpu, gpu_arch=gpu_arch)
            path.write_text(json.dumps(document), encoding="utf-8")
        for path in recording.folder.rglob("*.json.gz"):
            path.write_bytes(
                gzip.compress(gzip.decompress(path.read_bytes()).replace(b"NVIDIA H200", gpu.encode()), 1)
            )

    return change


# --- what the pages must show -------------------------------------------------------------------------------

Check = Callable[[Result, Result], None]
ELEMENTS = {
    "figure": r'<figure class="ks-timeline[^"]*" id="ks-timeline-(?P<of>\w+)-\d+".*?</figure>',
    "table": r'<div class="ks-table"[^>]* aria-label="(?P<of>[^"]*)".*?</table>',
}


def measured(page: str) -> dict[str, str]:
    """Return the values on a page by expression."""
    values = re.findall(
        r'<span class="ks-measured" title="([^"]*)"(?: data-events="[^"]*")?>([^<]*)</span>', page
    )
    return {html.unescape(expression): value for expression, value in values}


def elements(kind: str, page: str) -> dict[str, list[str]]:
    """Return the figures of a page by trace, or its tables by caption."""
    named: dict[str, list[str]] = {}
    for match in re.finditer(ELEMENTS[kind], page, re.DOTALL):
        named.setdefault(html.unescape(match["of"]), []).append(match[0])
    return named


def readable(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", page)).split())


def measures(page: str, expression: str, value: str = "", times: float = 0) -> Check:
    """A number on the page has changed to ``value``, or to so many ``times`` the old one."""

    def check(before: Result, after: Result) -> None:
        was, now = (measured(result.pages[page])[expression] for result in (before, after))
        assert was != now, f"{expression} is still {now}"
        if times:
            assert in_us(now) == pytest.approx(in_us(was) * times, rel=0.01)
        else:
            assert now == value

    return check


def draws(page: str, trace: str) -> Check:
    """The timeline of a trace has changed."""

    def check(before: Result, after: Result) -> None:
        was, now = (elements("figure", result.pages[page])[trace] for result in (before, after))
        assert was != now

    return check


def rows(table: str) -> list[list[str]]:
    """Return the cells of each row of a table."""
    return [
        [readable(cell) for cell in re.findall(r"<t[dh].*?</t[dh]>", row, re.DOTALL)]
        for row in re.findall(r"<tr.*?</tr>", table, re.DOTALL)
    ]


def lists(page: str, table: str, row: str = "", value: str = "", times: float = 0, more: int = 0) -> Check:
    """A cell in the table's row ``row`` has changed, or the table has so many ``more`` rows."""

    def check(before: Result, after: Result) -> None:
        was, now = (rows(elements("table", result.pages[page])[table][0]) for result in (before, after))
        assert len(now) - len(was) == more
        if not row:
            return
        ((old, new),) = (
            (old, new) for old, new in zip(was, now, strict=True) if fnmatch.fnmatch(new[0], row)
        )
        others = [(one, other) for one, other in zip(old, new, strict=True) if one != other]
        if times:
            assert any(in_us(other) == pytest.approx(in_us(one) * times, rel=0.02) for one, other in others)
        else:
            assert value in [other for _, other in others]

    return check


def judges(sentence: str, verdict: str) -> Check:
    """The verdict on a sentence has changed, on its page and in ``claims.json``."""

    def check(before: Result, after: Result) -> None:
        assert before.verdicts[sentence] != after.verdicts[sentence] == verdict
        (page,) = (item["page"] for item in json.loads(after.pages["claims"]) if item["id"] == sentence)
        box = re.search(rf'<div class="ks-judged ([^"]*)" id="{sentence}">', after.pages[page])
        assert box and f"ks-{verdict.replace(' ', '-')}" in box[1].split()

    return check


def says(page: str, text: str, instead_of: str = "") -> Check:
    """A page has a text that it did not have before."""

    def check(before: Result, after: Result) -> None:
        was, now = (readable(result.pages[page]) for result in (before, after))
        assert text in now and text not in was
        assert not instead_of or (instead_of in was and instead_of not in now)

    return check


def leaves_out(page: str, text: str) -> Check:
    def check(before: Result, after: Result) -> None:
        assert text in readable(before.pages[page])
        assert text not in readable(after.pages[page])

    return check


def keeps(page: str) -> Check:
    """A page is the same, byte for byte."""

    def check(before: Result, after: Result) -> None:
        assert before.pages[page] == after.pages[page]

    return check


def plots(page: str, figure: str) -> Check:
    """An example's figure has changed."""
    drawing = re.compile(
        rf'<figure class="ks-plot"(?:(?!</figure>).)*id="ks-plot-{figure}.*?</figure>', re.DOTALL
    )

    def check(before: Result, after: Result) -> None:
        was, now = (drawing.search(result.pages[page]) for result in (before, after))
        assert was and now and was[0] != now[0]

    return check


# --- the mutations ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fails:
    """Where the ``-W`` build must fail: in this file, at the first line that contains ``at``."""

    file: str
    at: str
    says: str


@dataclass(frozen=True)
class Mutation:
    """A change of the recording that pages show (``seen``), that fails the build (``fails``), or both."""

    name: str
    change: Change
    about: tuple[str, ...]
    """the traces, tables or pages that may differ; ``*``: every page that names the machine"""
    seen: tuple[Check, ...] = ()
    fails: tuple[Fails, ...] = ()
    status: int = 1
    """of a build that fails: 1 if a sentence is false, 2 if there is nothing to lay out"""


def claim(page: str, sentence: str) -> Fails:
    return Fails(f"docs/{page}.md", f"{{claim}} {sentence}", f"{sentence} does not hold on {MACHINE}")


LINEAR, STRIDES, MLP, FUSED, REGIMES, FIRST = (
    f"read/{name}"
    for name in ("linear", "views-and-strides", "simple-mlp", "fused-kernels", "regimes", "reading-a-trace")
)
NAMES, SAID = "lookup/kernel-names", "lookup/said-and-measured"

MUTATIONS = [
    Mutation(
        "a kernel dropped",
        in_trace("geglu_eager", without("kernel", "*GeluCUDA*")),
        about=("geglu_eager",),
        seen=(
            measures("index", "count(geglu_eager.kernels)", "4"),
            draws(MLP, "geglu_eager"),
            judges("geglu-loses-one-kernel", "fails"),
        ),
        fails=(claim(MLP, "geglu-loses-one-kernel"),),
    ),
    Mutation(
        "a kernel dropped in one step of three",  # the median over the steps stays the same
        in_trace("geglu_eager", without("kernel", "*GeluCUDA*", first=1)),
        about=("geglu_eager",),
        seen=(lists(MLP, "geglu_eager by kernel, sums over three steps", row="*Gelu*", value="2"),),
    ),
    Mutation(
        "a kernel renamed",
        in_trace(
            "linear_compiled", renamed("kernel", "nvjet*", "nvjet_sm90_tst_64x16_64x16_1x2_h_bz_bias_TNT")
        ),
        about=("linear_compiled",),
        seen=(
            measures(
                LINEAR, "names(linear_compiled.kernels)", "nvjet_sm90_tst_64x16_64x16_1x2_h_bz_bias_TNT"
            ),
            judges("said-04", "fails"),
        ),
        fails=(claim(LINEAR, "compile-keeps-the-kernel"),),
    ),
    Mutation(
        "a kernel renamed that a page asks for by name",
        in_trace("geglu_triton", renamed("kernel", "geglu_kernel", "my_kernel")),
        about=("geglu_triton",),
        fails=(Fails(f"docs/{NAMES}.md", "{kernel-name} geglu_triton", "geglu_kernel"),),
    ),
    Mutation(
        "a kernel twice as slow",
        in_trace("linear_eager", slower("kernel", "nvjet*", 2)),
        about=("linear_eager",),
        seen=(
            measures(LINEAR, "time(linear_eager.kernels)", times=2),
            draws(LINEAR, "linear_eager"),
            lists(LINEAR, "linear_eager by kernel, sums over three steps", row="nvjet*", times=2),
        ),
    ),
    Mutation(
        "a kernel twice as slow that a sentence is about",
        in_trace("geglu_compiled", slower("kernel", "triton*", 2)),
        about=("geglu_compiled",),
        seen=(
            measures(MLP, 'time(geglu_compiled.kernels["triton*"])', times=2),
            judges("fusion-saves-the-round-trip", "fails"),
        ),
        fails=(claim(MLP, "fusion-saves-the-round-trip"),),
    ),
    Mutation(
        "an op added",
        in_trace("linear_eager", with_additions),
        about=("linear_eager",),
        seen=(
            measures(LINEAR, 'count(linear_eager.ops.like("aten::add"))', "1"),
            judges("said-01", "fails"),
        ),
        fails=(claim(LINEAR, "bias-is-an-epilogue"),),
    ),
    Mutation(
        "an op removed",
        in_trace("linear_eager", without("cpu_op", "aten::t")),
        about=("linear_eager",),
        seen=(draws(LINEAR, "linear_eager"),),
        fails=(
            Fails(
                f"docs/{LINEAR}.md",
                '{measured}`time(linear_eager.ops["aten::t"])`',
                "'aten::t' matches nothing in linear_eager.ops",
            ),
            Fails(f"docs/{SAID}.md", "{reported} said-03", "'aten::t' matches nothing in linear_eager.ops"),
        ),
    ),
    Mutation(
        "a launch call renamed",
        in_trace("strides_copies", renamed("cuda_runtime", "cudaLaunchKernel", "cudaLaunchKernelExC")),
        about=("strides_copies",),
        seen=(draws(STRIDES, "strides_copies"),),
    ),
    Mutation(
        "a launch call renamed that a sentence is about",
        in_trace(
            "regime_rows_16_reduce_overhead", renamed("runtime", "cudaGraphLaunch", "cudaGraphLaunchExC")
        ),
        about=("regime_rows_16_reduce_overhead",),
        fails=(
            Fails(f"docs/{REGIMES}.md", "{claim} one-launch-for-all", "'cudaGraphLaunch' matches nothing"),
        ),
    ),
    Mutation(
        "a copy added",
        in_trace("strides_views", with_copies),
        about=("strides_views",),
        seen=(draws(STRIDES, "strides_views"), judges("views-launch-nothing", "fails")),
        fails=(claim(STRIDES, "views-launch-nothing"),),
    ),
    Mutation(
        "a copy removed",
        in_trace("matmul_add_64_compiled", without("gpu_memcpy", "Memcpy DtoD*")),
        about=("matmul_add_64_compiled",),
        seen=(
            draws(FIRST, "matmul_add_64_compiled"),
            judges("compiled-add-is-in-the-product", "not measured"),
        ),
        fails=(
            Fails(
                f"docs/{FIRST}.md",
                "{claim} compiled-add-is-in-the-product",
                "'Memcpy DtoD*' matches nothing in matmul_add_64_compiled.copies",
            ),
        ),
    ),
    Mutation(
        "a step removed",
        in_trace("matmul_add_64_eager", without_last_step),
        about=("matmul_add_64_eager",),
        seen=(lists(FIRST, "matmul_add_64_eager by step", more=-1),),
    ),
    Mutation(
        "a table's cell doubled",
        in_table("launch_cost", cell("host_us", 2, profiler="detached")),
        about=("launch_cost",),
        seen=(lists(REGIMES, "Time of the CPU for one such operation", row="detached", times=2),),
    ),
    Mutation(
        "a table's cell doubled that a sentence is about",
        in_table("pointwise_geglu", cell("median_us", 2, variant="ours", rows="8192")),
        about=("pointwise_geglu",),
        seen=(judges("ours-keeps-up", "fails"),),
        fails=(claim(FUSED, "ours-keeps-up"),),
    ),
    Mutation(
        "a table's row removed",
        in_table("regimes", no_row(variant="eager", rows="16384")),
        about=("regimes",),
        seen=(judges("many-rows-wait-for-the-gpu", "not measured"),),
        fails=(Fails(f"docs/{REGIMES}.md", "{claim} many-rows-wait-for-the-gpu", "16384"),),
    ),
    Mutation(
        "a table's column renamed",
        in_table("regimes", no_column("gpu_us", "device_us")),
        about=("regimes",),
        fails=(
            Fails(f"docs/{REGIMES}.md", "{recorded-table} regimes", "gpu_us"),
            Fails(f"docs/{REGIMES}.md", "{claim} few-rows-wait-for-the-cpu", "gpu_us"),
        ),
    ),
    Mutation(
        "another machine",
        with_gpu("NVIDIA B200", "sm_100"),
        about=("*",),
        seen=(
            says("index", "recording of the examples on an NVIDIA B200", "NVIDIA H200"),
            says(LINEAR, "Recorded on NVIDIA B200,", "NVIDIA H200"),
            says("gallery/02_linear", "Recorded on NVIDIA B200,", "NVIDIA H200"),
            says("lookup/machines", "NVIDIA B200 (sm_100)", "NVIDIA H200"),
            measures(SAID, "machine.gpu_arch", "sm_100"),
            leaves_out(NAMES, "Two products of different size run the very same kernel"),
        ),
    ),
    Mutation(
        "another torch",
        in_text("*.json", ('"torch": "2.', '"torch": "3.')),
        about=("*",),
        seen=(
            says(LINEAR, ", torch 3.", ", torch 2."),
            says("gallery/02_linear", ", torch 3.", ", torch 2."),
            says("lookup/machines", "torch 3.", "torch 2."),
        ),
    ),
    Mutation(
        "another torch for one example",
        in_text("02_linear/example.json", ('"torch": "2.', '"torch": "3.')),
        about=("gallery/02_linear",),
        seen=(says("gallery/02_linear", ", torch 3.", ", torch 2."),),
    ),
    Mutation(
        "another printed output",
        in_text("03_simple_mlp/example.json", ("eager agrees with float32", "eager differs from float32")),
        about=("gallery/03_simple_mlp",),
        seen=(says("gallery/03_simple_mlp", "eager differs from float32"),),
    ),
    Mutation(
        "another time that an example took",
        in_example("01_matmul_add", lambda document: document.update(run_time_s=4321)),
        about=("gallery/01_matmul_add", "lookup/machines"),
        seen=(
            says("gallery/01_matmul_add", "The example ran for 4321 s."),
            says("lookup/machines", "4321 s"),
        ),
    ),
    Mutation(
        "the same events in other bytes",
        in_trace("geglu_views", lambda events: events),
        about=("geglu_views",),
        seen=(keeps("gallery/04_pointwise_geglu"),),
    ),
    Mutation(
        "another figure",
        replaced("sphx_glr_05_regimes_001.svg", "sphx_glr_03_kernels_mlp_001.svg"),
        about=("gallery/05_regimes",),
        seen=(plots("gallery/05_regimes", "sphx_glr_05_regimes_001"),),
    ),
    Mutation(
        "an output of other code",
        in_example("05_recompiles", lambda document: document["blocks"][0].update(code="0" * 16)),
        about=("gallery/05_recompiles",),
        seen=(says("gallery/05_recompiles", "has changed since it was recorded on NVIDIA H200"),),
        fails=(Fails("examples/05_recompiles.py", "\nimport argparse", "changed since it was recorded"),),
    ),
    Mutation(
        "a trace cut in the middle",
        in_bytes("strides_views.json.gz", lambda data: data[: len(data) // 2]),
        about=("strides_views",),
        seen=(judges("views-launch-nothing", "not measured"),),
        fails=(Fails("docs/mutated/nvidia-h200/02_strides_and_views/strides_views.json.gz", "", "cut off"),),
    ),
    Mutation(
        "a trace with nothing in it",
        in_bytes("matmul_add_4096_eager.json.gz", lambda data: b""),
        about=("matmul_add_4096_eager",),
        fails=(Fails("docs/mutated/nvidia-h200/01_matmul_add/matmul_add_4096_eager.json.gz", "", "empty"),),
    ),
    Mutation(
        "a trace without events",
        in_trace("matmul_add_64_compiled", lambda events: []),
        about=("matmul_add_64_compiled",),
        fails=(Fails(f"docs/{FIRST}.md", "{claim} compiled-add-is-in-the-product", ""),),
    ),
    Mutation(
        "the compiled trace is the eager one",
        replaced("geglu_compiled.json.gz", "geglu_eager.json.gz"),
        about=("geglu_compiled",),
        seen=(judges("geglu-loses-one-kernel", "fails"), judges("said-09", "fails")),
        fails=(claim(MLP, "geglu-loses-one-kernel"),),
    ),
    Mutation(
        "the compiled trace is the eager one, of one kernel both",
        replaced("linear_compiled.json.gz", "linear_eager.json.gz"),
        about=("linear_compiled",),
        seen=(
            measures(LINEAR, 'count(linear_compiled.ops.like("aten::t"))', "1"),
            draws(LINEAR, "linear_compiled"),
            judges("said-06", "fails"),
        ),
        fails=(
            Fails(
                f"docs/{LINEAR}.md",
                '{measured}`time(linear_compiled.ops["TorchDynamo Cache Lookup"])`',
                "matches nothing in linear_compiled.ops",
            ),
        ),
    ),
    Mutation(
        "a trace gone",
        gone("linear_eager.json.gz"),
        about=(),
        fails=(Fails("", "", "docs/mutated/nvidia-h200/02_linear/example.json: damaged or missing"),),
        status=2,
    ),
    Mutation(
        "example.json damaged",
        in_bytes("02_linear/example.json", lambda data: data[: len(data) // 2]),
        about=(),
        fails=(Fails("", "", "docs/mutated/nvidia-h200/02_linear/example.json: damaged or missing"),),
        status=2,
    ),
    Mutation(
        "machine.json damaged",
        in_bytes("machine.json", lambda data: data[: len(data) // 2]),
        about=(),
        fails=(Fails("", "", "docs/mutated/nvidia-h200/machine.json: damaged or missing"),),
        status=2,
    ),
]


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory, templates_compiled_once: None) -> tuple[Book, Result]:
    """The book, and its pages with the unaltered recording."""
    book = Book.copy(tmp_path_factory.mktemp("mutations") / "tree")
    leave_out(book.tree / "docs", "use", "reference")
    book.restore()
    before = book.build("-W")
    if before.status or before.err:
        pytest.fail(f"the unaltered book cannot be built:\n{before.err[-2000:]}")
    return book, before


def mentions(book: Book, case: Mutation) -> set[str]:
    """Return the pages that may differ: those whose source names what was changed."""
    pages = {page for page in case.about if "/" in page or page == "index"}
    words = "|".join(re.escape(name) for name in case.about if name not in pages)
    if not words:
        return pages
    for path in (book.tree / "docs").rglob("*.md"):
        if re.search(rf"(?<!\w)(?:{words})(?!\w)", path.read_text(encoding="utf-8")):
            pages.add(path.relative_to(book.tree / "docs").with_suffix("").as_posix())
    for path in (ROOT / "docs" / "recordings" / MACHINE).glob("*/example.json"):
        if any(
            (path.parent / f"{name}{end}").is_file() for name in case.about for end in (".json.gz", ".csv")
        ):
            pages.add(f"gallery/{path.parent.name}")
    return pages


def parts(page: str, but: tuple[str, ...]) -> dict[str, object]:
    """Return the numbers and figures of a page that do not depend on what was changed (``but``)."""
    word = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, but))})(?!\w)")
    numbers: dict[str, object] = {
        name: value for name, value in measured(page).items() if not word.search(name)
    }
    # A figure of a comparison also depends on the other trace.
    return numbers | {
        f"figure of {name}": [
            re.sub(r"(ks-timeline-\w+)-\d+", r"\1", figure)
            for figure in figures
            if "ks-compared" not in figure
        ]
        for name, figures in elements("figure", page).items()
        if not word.search(name)
    }


def together(cases: list[Mutation]) -> list[tuple[Mutation, ...]]:
    """Group mutations that can share a build: no two alter the same trace, table or page."""
    groups: list[list[Mutation]] = []
    for case in cases:
        for group in groups:
            names = {name for other in group for name in other.about}
            fits = ("*" in names) == ("*" in case.about) and (names == {"*"} or names.isdisjoint(case.about))
            if fits and group[0].status == case.status == 1:
                group.append(case)
                break
        else:
            groups.append([case])
    # Mutations of every page come late, because all pages must be read again after them. Those that end the
    # build before it lays anything out come last.
    return sorted(map(tuple, groups), key=lambda group: (group[0].status, "*" in group[0].about))


@pytest.mark.parametrize(
    "cases",
    together(MUTATIONS),
    ids=lambda cases: ", ".join(case.name for case in cases),
)
def test_mutations_are_seen(book: tuple[Book, Result], cases: tuple[Mutation, ...]) -> None:
    book, before = book
    book.restore()
    for case in cases:
        case.change(Recording(book.recordings / MACHINE))
    left = book.made()
    after = book.build("-W")

    about = tuple(name for case in cases for name in case.about)
    false = tuple(name for case in cases if case.fails for name in case.about)
    status = cases[0].status if any(case.fails for case in cases) else 0
    assert "Traceback" not in after.err
    assert after.status == status, after.err
    for fails in (fails for case in cases for fails in case.fails):
        line = 1 if fails.file else 0
        if fails.at:
            text = "\n".join(book.source(fails.file))
            line = text[: text.index(fails.at)].count("\n") + 1
        said = [warned.text for warned in after.warnings if (warned.file, warned.line) == (fails.file, line)]
        assert any(fails.says in text for text in said), f"{fails.file}:{line} says {said}; all: {after.err}"
    # every warning is about what was changed, and nothing warns of a change that makes no sentence false
    for warned in after.warnings:
        if warned.file.endswith(".md"):
            assert any(name in book.block(warned) for name in false), warned

    if status == 2:
        assert (after.pages, after.files) == left
        return
    changed = {page for page in before.pages.keys() | after.pages.keys() if page != "claims"}
    changed = {page for page in changed if before.pages.get(page) != after.pages.get(page)}
    if "*" not in about:
        assert changed <= set().union(*(mentions(book, case) for case in cases))
        for page in changed:
            assert parts(before.pages[page], about) == parts(after.pages[page], about)
    for case in cases:
        for check in case.seen:
            check(before, after)
        assert case.seen or case.fails


# --- another kind of GPU ------------------------------------------------------------------------------------

GPU, SLUG = "NVIDIA Imaginary 100", "nvidia-imaginary-100"
OURS = 'machine.gpu_arch == "sm_90"'


def without_nvjet(text: str) -> str:
    """Replace the names of the GPU and of its matmul kernels by those of another architecture."""
    return re.sub(r"\bnvjet_sm90_(\w+)", r"cutlass3x_sm100_tensorop_\1", text).replace("NVIDIA H200", GPU)


@pytest.fixture(scope="module")
def elsewhere(once: Callable[..., tuple[Book, Result]]) -> tuple[Book, Result]:
    """The whole book, from a recording altered to look like that of a GPU of another architecture."""
    return once("elsewhere", build_elsewhere)


def build_elsewhere(folder: Path) -> tuple[Book, Result]:
    book = Book.copy(folder / "tree")
    book.restore()
    recording = (book.recordings / MACHINE).rename(book.recordings / SLUG)
    with_gpu(GPU, "sm_100")(Recording(recording))
    for path in recording.rglob("*.json"):
        path.write_text(without_nvjet(path.read_text(encoding="utf-8")), encoding="utf-8")
    for path in recording.rglob("*.json.gz"):
        text = gzip.decompress(path.read_bytes()).decode()
        path.write_bytes(gzip.compress(without_nvjet(text).encode(), 1))
    return book, book.build("-D", f"kinetoscope_machine={SLUG}")


def whens(text: str) -> list[tuple[str, str]]:
    """Return condition and content of each ``{when}`` of a page, except those that it shows as source."""
    pairs = []
    for block in re.finditer(r"^(`{3,})([^\n]*)\n(.*?)^\1$", text, re.DOTALL | re.MULTILINE):
        if block[2].startswith("{when} "):
            pairs.append((block[2].removeprefix("{when} "), block[3]))
        elif block[2].startswith("{"):
            pairs += whens(block[3])
    return pairs


def first_words(content: str) -> str:
    """Return the beginning of a block's text, up to the first role or markup."""
    lines = [line for line in content.splitlines() if line and not line.startswith((":", "```"))]
    return re.split(r"[`*{\[]", lines[0])[0].strip()


def test_the_book_can_be_built_on_another_kind_of_gpu(elsewhere: tuple[Book, Result]) -> None:
    """With this machine as the reference, false claims are warnings, and the build goes on."""
    _, there = elsewhere
    assert there.status == 0
    assert "Traceback" not in there.err
    subtypes = set(re.findall(r"\[([\w.]+)\]$", there.err, re.MULTILINE))
    assert subtypes <= {"kinetoscope.claim", "kinetoscope.expression", "kinetoscope.name"}
    assert all(warned.file.endswith(".md") and warned.line for warned in there.warnings)


def test_another_gpu_is_named(elsewhere: tuple[Book, Result]) -> None:
    _, there = elsewhere
    with_banner = {name for name, page in there.pages.items() if '<div class="ks-banner' in page}
    chapters = {f"read/{path.stem}" for path in (ROOT / "docs/read").glob("*.md") if path.stem != "index"}
    assert chapters | {"index", "gallery/02_linear", SAID, NAMES} <= with_banner
    for name in with_banner:
        assert f"Recorded on {GPU}, " in readable(there.pages[name]), name
    assert f"{GPU} (sm_100)" in readable(there.pages["lookup/machines"])
    assert [name for name, page in there.pages.items() if "NVIDIA H200" in readable(page)] == []


def test_prose_about_another_gpu_is_left_out(book, elsewhere: tuple[Book, Result]) -> None:
    """The claims and reported sentences in it get no verdict either."""
    _, there = elsewhere
    seen = 0
    for path in (ROOT / "docs").rglob("*.md"):
        name = path.relative_to(ROOT / "docs").with_suffix("").as_posix()
        for condition, content in whens(path.read_text(encoding="utf-8")):
            words, here = (
                readable(re.sub(r"<pre>.*?</pre>", "", built.pages[name], flags=re.DOTALL))
                for built in (there, book[1])
            )
            assert len(first_words(content)) > 20
            # conditions on numbers have the same result, because the numbers are the same
            wanted = condition != OURS if "machine" in condition else first_words(content) in here
            assert (first_words(content) in words) == wanted, f"{name}: {content}"
            for sentence in re.findall(r"\{(?:claim|reported)\} (\S+)", content):
                assert (sentence in there.verdicts) == wanted
                if name.startswith("lookup") and condition == OURS:
                    assert sentence in book[1].verdicts
            seen += condition == OURS
    assert seen >= 4


def test_no_page_speaks_of_a_gpu_that_is_not_there(elsewhere: tuple[Book, Result]) -> None:
    """Our prose about the H200 is in a ``{when}``. Source code that a page shows may name it."""
    _, there = elsewhere
    pages = {name: page for name, page in there.pages.items() if re.match(r"index|read/|lookup/", name)}
    shown = {
        name: re.sub(r"<(pre|script)\b.*?</\1>", "", page, flags=re.DOTALL) for name, page in pages.items()
    }
    assert [name for name, page in shown.items() if "H200" in readable(page)] == []
