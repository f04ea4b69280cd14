"""Fuzz every command: ``python tests/fuzz_commands.py --seconds 3600 --seed 1 --keep FOLDER``.

Mutates the traces of the tests (and of ``../shared``, where there is one), makes extreme ones, and gives each
to all commands and to what a notebook shows.  Every run is a forked child of this process, which has imported
everything; it may take :data:`MEMORY` more address space than this process, and :data:`CPU` seconds.  What is
wrong with a run is in ``fuzz/fuzz_verdicts.py``.  The first input of each kind of failure is kept in FOLDER,
as it was and made small, with the command and what it said.  ``--again FILE`` gives one file to all commands.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import gzip
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "fuzz"))
os.environ["OPENBLAS_NUM_THREADS"] = "1"

from fuzz_inputs import DATA, SHARED, large_seeds, mutated, parsed, seeds, unpacked
from fuzz_verdicts import Ran, judged, judged_copy

import kinetoscope
from kinetoscope import cli
from kinetoscope.cli.tables import VIEWS

MEMORY = 2**30
"""Bytes of address space that a command may take on top of what the preloaded process has"""
CPU = 20
"""Seconds of CPU after which a command is stopped"""

# --- commands -----------------------------------------------------------------------------------------------

EXPRESSIONS = [
    *("count(kernels) <= 12", "time(kernels) < us(10)", '"aten::copy_" not in ops', "busy(gpu) <= time(gpu)"),
    *("each(count(kernels)) == 5", 'count(ops["aten::mm"].kernels) >= 0', "count(steps) == 3"),
    *("median(time(kernels)) == time(kernels)", 'count(ops.like("*")) > 0', "spread(time(ops)) >= 0"),
    *("self_time(ops) <= time(ops)", "idle(steps) >= 0", 'idle(trace, "launch") > ms(1)', "nothing here"),
]
TOKENS = [
    *(
        "count",
        "time",
        "busy",
        "idle",
        "median",
        "each",
        "spread",
        "us",
        "(",
        ")",
        "[",
        "]",
        ",",
        ".",
        "<=",
        "==",
        "not",
    ),
    *(
        "kernels",
        "ops",
        "steps",
        "gpu",
        "calls",
        "copies",
        "trace",
        "in",
        '"aten::*"',
        '"',
        "9" * 400,
        "1e300",
        "-",
        "**",
    ),
    *(
        "/",
        "*",
        "%",
        "0",
        "1.5",
        "if",
        "else",
        "and",
        "lambda",
        "kernels.like",
        "steps[0]",
        "(" * 150,
        "\u202e",
        "\0",
    ),
]


def commands(chance: random.Random, size: int) -> Iterator[list[str]]:
    """All commands; IN, OTHER and OUT stand for files.  Of a large file's tables, each in one form."""
    yield ["summary", "IN"]
    yield ["summary", "IN", "--json"]
    forms: list[list[str]] = [[], ["--csv"], ["--json"]]
    for by in VIEWS if size < 500_000 else chance.sample(VIEWS, 3):
        for form in forms if size < 100_000 else [chance.choice(forms)]:
            yield ["table", "IN", "--by", by, *form]
    chosen = ["--step", str(chance.randrange(4)), "--sort", chance.choice(["name", "calls"]), "--limit", "3"]
    yield ["table", "IN", *chosen]
    shown: list[str] = []
    if chance.random() < 0.5:
        shown += ["--step", chance.choice(["all", "1", "2,3", "-1", "99999999999999999999"])]
    if chance.random() < 0.3:
        shown += ["--highlight", chance.choice(["*", "aten::*", "[", "k"])]
    if chance.random() < 0.3:
        shown += ["--zoom", chance.choice(["*", "aten::mm", "k*"])]
    if chance.random() < 0.2:
        shown += ["--dark", "--width", chance.choice(["200", "3000"])]
    yield ["timeline", "IN", "-o", "OUT.svg", *shown]
    yield ["timeline", "IN", "-o", "OUT.svg"]
    if chance.random() < 0.5:
        yield ["timeline", "IN", "-o", chance.choice(["OUT.png"] * 4 + ["OUT.pdf"]), *shown]
    yield ["show", "IN", "--no-open", "-o", "OUT.html"]
    by = chance.choice(["op", "kernel"])
    yield ["compare", "IN", "OTHER", "--by", by, *chance.choice(forms)]
    yield ["compare", "OTHER", "IN", *chance.choice(forms)]
    yield ["assert", "IN", *chance.sample(EXPRESSIONS, 3), *chance.choice([[], ["--absent-is-zero"]])]
    yield ["assert", "IN", chance.choice(EXPRESSIONS)]
    yield ["assert", "IN", "--", " ".join(chance.choice(TOKENS) for _ in range(chance.randrange(1, 9)))]
    yield ["claims", "IN"]
    yield ["scrub", "IN", chance.choice(["OUT.json", "OUT.json.gz"])]
    yield ["api", "IN", "-o", "OUT.html"]
    if chance.random() < 0.1:
        yield ["--strict", chance.choice(["summary", "table"]), "IN"]
    if chance.random() < 0.2:
        yield ["show", "-", "--no-open", "-o", "OUT.html"]
        yield ["summary", "-", "--max-bytes", chance.choice(["1G", str(size or 1), str(size // 2 or 1)])]


def api(path: str, out: Path) -> int:
    """What a notebook shows of a trace and of its tables."""
    trace = kinetoscope.load(path)
    out.write_text(
        "\n".join([trace._repr_html_(), *(trace.table(by)._repr_html_() for by in VIEWS)]),
        encoding="utf-8",
    )
    assert repr(trace) and repr([*trace.events[:9], *trace.steps[:9]])
    assert all(str(trace.table(by)) and trace.table(by).to_dicts() is not None for by in VIEWS)
    return 0


class Runner:
    """Runs commands in children of this process, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.output = folder, folder / "out"
        self.limit = 0

    def preload(self) -> None:
        """Imports what commands import, and takes the measure of this process."""
        self.output.mkdir()
        path = DATA / "traces" / "geglu_eager.json.gz"
        (self.folder / "in.json.gz").write_bytes(path.read_bytes())
        chance = random.Random(1)
        nothing = io.StringIO()
        with contextlib.redirect_stdout(nothing), contextlib.redirect_stderr(nothing):
            for words in [*commands(chance, 0), ["timeline", "IN", "-o", "OUT.png"]]:
                self._main(self.spelled(words, "in.json.gz", "in.json.gz"))
                self.take_output()
        gc.collect()
        gc.freeze()
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        self.limit = pages * resource.getpagesize() + MEMORY
        print(f"limit: {MEMORY >> 20} MiB on top of the {self.limit - MEMORY >> 20} MiB of this process")

    def spelled(self, words: list[str], name: str, other: str) -> list[str]:
        files = {"IN": str(self.folder / name), "OTHER": str(self.folder / other)}
        return [
            str(self.output / word) if word.startswith("OUT.") else files.get(word, word) for word in words
        ]

    def _main(self, words: list[str]) -> int:
        if words[0] != "api":
            return cli.main(words)
        try:
            return api(words[1], Path(words[3]))
        except Exception as error:
            return cli.complain(error)

    def take_output(self) -> dict[str, bytes]:
        found = {path.name: path.read_bytes() for path in self.output.iterdir()}
        for name in found:
            (self.output / name).unlink()
        return found

    def run(self, words: list[str], name: str) -> Ran:
        """Runs one command to its end; ``name`` is that of the file that it reads, or has as its input."""
        out, err, fault = (self.folder / part for part in ("stdout", "stderr", "fault"))
        fault.unlink(missing_ok=True)
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if not child:
            self._child(self.spelled(words, name, "other.json"), self.folder / name, out, err, fault)
        _, status, used = os.wait4(child, 0)
        return Ran(
            words,
            -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status),
            used.ru_utime + used.ru_stime,
            used.ru_maxrss * 1024,
            out.read_bytes(),
            err.read_bytes(),
            fault.read_text() if fault.exists() else "",
            self.take_output(),
        )

    def _child(self, words: list[str], pipe: Path, out: Path, err: Path, fault: Path) -> None:
        try:
            for number, path in ((0, pipe), (1, out), (2, err)):
                flags = os.O_RDONLY if not number else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
                os.dup2(os.open(path, flags, 0o600), number)
            resource.setrlimit(resource.RLIMIT_AS, (self.limit, self.limit))
            resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU + 2))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.alarm(6 * CPU)
            complain = cli.complain

            def telling(error: Exception) -> int:
                status = complain(error)
                if status == 70 or isinstance(error, MemoryError):
                    fault.write_text(traceback.format_exc())
                return status

            cli.complain = telling
            status = self._main(words)
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 99
        except BaseException:
            traceback.print_exc()
            status = 99
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


# --- the hour -----------------------------------------------------------------------------------------------


def problems(
    runner: Runner, words: list[str], name: str, size: int, before: Ran | None
) -> tuple[Ran, list[str]]:
    """Runs a command on the file ``name``, of which ``summary`` said ``before``; what is wrong with it."""
    ran = runner.run(words, name)
    wrong = list(judged(ran, size))
    if words[0] == "scrub" and ran.status == 0 and len(ran.files) == 1:
        [(copy, data)] = ran.files.items()
        (runner.folder / copy).write_bytes(data)
        summary = ["summary", "IN", "--json"]
        wrong += judged_copy(before or runner.run(summary, name), runner.run(summary, copy))
    return ran, wrong


def fewer(items: list[Any], fails: Callable[[list[Any]], bool]) -> list[Any]:
    """A part of ``items`` that fails as they do; the smallest so far, if ``fails`` raises TimeoutError."""
    size = (len(items) + 1) // 2
    with contextlib.suppress(TimeoutError):
        while size:
            at = 0
            while at < len(items):
                less = items[:at] + items[at + size :]
                if fails(less):
                    items = less
                else:
                    at += size
            size //= 2
    return items


def with_fewer_fields(events: list[Any], n: int, fails: Callable[[list[Any]], bool]) -> list[Any]:
    """The same events, but of the one at ``n`` only the fields that it fails with."""
    if not isinstance(events[n], dict):
        return events

    def having(fields: list[Any]) -> list[Any]:
        return [*events[:n], dict(fields), *events[n + 1 :]]

    return having(fewer([*events[n].items()], lambda fields: fails(having(fields))))


def smaller(data: bytes, fails: Callable[[bytes], bool], seconds: float) -> bytes:
    """A smaller input that fails as ``data`` does: fewer events, fewer fields, or else fewer bytes."""
    stop = time.monotonic() + seconds

    def tried(data: bytes) -> bool:
        if time.monotonic() > stop:
            raise TimeoutError
        return fails(data)

    def spelled(around: dict[str, Any], events: list[Any]) -> bytes:
        return json.dumps({**around, "traceEvents": events}).encode()

    document, events = parsed(data)
    around = document if isinstance(document, dict) else {}
    if events and tried(spelled(around, events)):
        if tried(spelled({}, events)):
            around = {}
        events = fewer(events, lambda less: tried(spelled(around, less)))
        for n in range(min(len(events), 20)):
            events = with_fewer_fields(events, n, lambda less: tried(spelled(around, less)))
        return spelled(around, events)
    pieces = [data[at : at + 1] for at in range(len(data))] if len(data) < 200_000 else [data]
    return b"".join(fewer(pieces, lambda less: tried(b"".join(less))))


def keep(folder: Path, stem: str, runner: Runner, ran: Ran, problem: str, name: str) -> None:
    """Keeps an input that failed: as it was, made small, and what was said of it."""
    data, other = ((runner.folder / each).read_bytes() for each in (name, "other.json"))
    said = f"{problem}\n{ran.words} on {name!a}\n{len(data)} bytes, {ran.cpu:.1f} s, status {ran.status}\n"
    said += ran.fault + ran.err.decode("utf-8", "replace")[:3000]
    (folder / f"{stem}.txt").write_text(said, encoding="utf-8", errors="backslashreplace")
    (folder / f"{stem}.json").write_bytes(data)
    (folder / f"{stem}.other.json").write_bytes(other)
    plain, packed = unpacked(data), data[:2] == b"\x1f\x8b"

    def fails(less: bytes) -> bool:
        (runner.folder / f"less{name}").write_bytes(gzip.compress(less, 1) if packed else less)
        return problem in problems(runner, ran.words, f"less{name}", len(less), None)[1]

    if fails(plain):
        (folder / f"{stem}.less.json").write_bytes(smaller(plain, fails, 15 if ran.cpu < 1 else 40))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, required=True, help="folder for what fails")
    parser.add_argument("--again", type=Path, nargs="*", default=[], help="files to give to all commands")
    options = parser.parse_args()
    options.keep.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="kinetoscope-fuzz-"))
    try:
        return fuzz(options, Runner(folder))
    finally:
        shutil.rmtree(folder)


def inputs(options: argparse.Namespace, chance: random.Random) -> Iterator[tuple[bytes, str]]:
    """Files and their names, for as long as was asked."""
    if options.again:
        yield from ((path.read_bytes(), path.name) for path in options.again)
        return
    small, large = seeds(SHARED / "corpus", SHARED / "traces"), large_seeds()
    stop = time.monotonic() + options.seconds
    while time.monotonic() < stop:
        yield mutated(chance, small, large)


def fuzz(options: argparse.Namespace, runner: Runner) -> int:
    """Gives all inputs to all commands, and prints what became of them.  1 if anything is wrong."""
    chance = random.Random(options.seed)
    runner.preload()
    begin = told = time.monotonic()
    found: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    slowest, largest = (0.0, ""), (0, "")
    other = (DATA / "traces" / "geglu_eager.json.gz").read_bytes()
    count = 0
    for count, (data, name) in enumerate(inputs(options, chance), 1):
        before = None
        (runner.folder / name).write_bytes(data)
        (runner.folder / "other.json").write_bytes(other)
        size = len(unpacked(data))
        for words in commands(chance, size):
            ran, wrong = problems(runner, words, name, size, before)
            before = ran if words == ["summary", "IN", "--json"] else before
            statuses[f"{words[0]} {ran.status}"] += 1
            what = f"`{' '.join(words)}` on input {count} of {size} bytes"
            slowest, largest = max(slowest, (ran.cpu, what)), max(largest, (ran.peak, what))
            for problem in wrong:
                found[f"{words[0]}: {problem}"] += 1
                if found[f"{words[0]}: {problem}"] == 1:
                    print(f"FOUND {words[0]}: {problem} (input {count}, {size} bytes)", flush=True)
                    keep(options.keep, f"{options.seed}-{count}-{len(found)}", runner, ran, problem, name)
        (runner.folder / name).unlink()
        other = data if size < 100_000 else other
        if time.monotonic() > told + 60:
            told = time.monotonic()
            print(
                f"{told - begin:.0f} s: {count} inputs, {statuses.total()} runs, {len(found)} kinds",
                flush=True,
            )
    took, runs = time.monotonic() - begin, statuses.total()
    print(
        f"seed {options.seed}: {count} inputs, {runs} runs in {took:.0f} s ({60 * runs / took:.0f} a minute)"
    )
    print(f"slowest: {slowest[0]:.1f} s of CPU, {slowest[1]}; largest: {largest[0] >> 20} MiB, {largest[1]}")
    print("  ".join(f"{status}: {number}" for status, number in sorted(statuses.items())))
    print("\n".join(f"{number} times {problem}" for problem, number in found.most_common()) or "clean")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
