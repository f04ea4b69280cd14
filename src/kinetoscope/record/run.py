"""Records examples: decides which are stale, runs each in a process of its own, keeps what came of it."""

from __future__ import annotations

import errno
import json
import keyword
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from kinetoscope.record.provenance import Provenance, revision
from kinetoscope.record.script import Script
from kinetoscope.record.scrub import Scrubber, scrub_trace
from kinetoscope.record.store import (
    BlockOutput,
    ExampleRecording,
    RecordingError,
    drop_gone,
    drop_leftovers,
    finish_swaps,
    read_example,
    write_example,
    write_machine,
)
from kinetoscope.record.worker import Job
from kinetoscope.trace import TraceError, load_whole

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""what a trace or table may be called, so that expressions can speak of it"""

_RESERVED = frozenset({"machine"})
# Suffixes of what an example writes, longest first: ``x.json.gz`` ends in ``.gz`` too.
_KINDS = (".json.gz", ".json", ".csv")

_ROOM = 2**20
"""free bytes below which a run that ended early is put down to the disk"""

_SKIPPED = re.compile(r"^\W*skip(?:s|ped|ping)?\b.*", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Failure:
    """An example that could not be recorded."""

    path: Path
    line: int
    """1-based; 0 if no line is to blame"""
    message: str
    """what happened and what to do"""


@dataclass(slots=True)
class RecordRun:
    """What a record run did."""

    recorded: list[ExampleRecording] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RecorderConfig:
    """Where and how examples are recorded."""

    machine_folder: Path
    gallery_dir: str
    """where the gallery's pages lie, relative to the documentation's source folder"""
    gallery_conf: Mapping[str, Any]
    """as of :func:`about_running`"""
    report: Callable[[str], None]
    """called with a line of progress"""
    scratch: Path | None = None
    """where the runs happen; a temporary folder if ``None``"""


def why_stale(script: Script, recording: ExampleRecording | None, now: Provenance) -> str:
    """Why ``script`` must be recorded (again) on the machine of ``now``; empty if it need not."""
    if recording is None:
        return "not recorded on this machine"
    if {block.key for block in script.blocks} != set(recording.outputs):
        return "its code changed"
    then = recording.provenance
    if then.machine != now.machine:
        return "the machine changed" if then.machine.gpu != now.machine.gpu else "driver or machine changed"
    old, new = then.software, now.software
    changed = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    if changed:
        return "changed: " + ", ".join(
            f"{name} {old.get(name, '–')} → {new.get(name, '–')}" for name in changed
        )
    return ""


def record(
    scripts: Iterable[Script], now: Provenance, config: RecorderConfig, *, all_stems: set[str]
) -> RecordRun:
    """Records ``scripts`` one after the other.

    An example that fails keeps its previous recording and does not stop the others.  ``all_stems``: every
    example there is; recordings of examples that are gone are dropped once all went well.

    Raises :class:`RecordingError` while another run records into the same folder.
    """
    with _alone(config.machine_folder):
        return _record_all(list(scripts), now, config, all_stems)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keeps a second run out: it would take what the first is writing for what a killed one left behind."""
    # torch needs it, so it is there wherever examples can be run
    from filelock import FileLock, Timeout

    lock = FileLock(folder / ".lock", timeout=0)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        raise RecordingError(
            f"another build is recording into {folder}; wait until it ends and build again, or record under "
            "another name (kinetoscope_machine_name)"
        ) from error
    except OSError:
        pass  # nothing can be written there: that is told with each example
    try:
        yield
    finally:
        lock.release()


def _record_all(
    scripts: list[Script], now: Provenance, config: RecorderConfig, all_stems: set[str]
) -> RecordRun:
    finish_swaps(config.machine_folder)
    drop_leftovers(config.machine_folder)
    result = RecordRun()
    rev = revision(scripts[0].path.parent, *(script.path for script in scripts)) if scripts else ""
    machine = replace(now, revision=rev)
    for number, script in enumerate(scripts, 1):
        config.report(f"recording {script.stem} ({number} of {len(scripts)}) …")
        done = _record_one(script, machine, config, all_stems)
        if isinstance(done, Failure):
            result.failures.append(done)
            config.report(f"recording {script.stem}: failed")
        else:
            result.recorded.append(done)
            traces = ", ".join(done.traces)
            config.report(f"recording {script.stem}: {done.run_time:.0f} s; {traces}")
    if not result.failures:
        drop_gone(config.machine_folder, all_stems)
    return result


def _record_one(
    script: Script, machine: Provenance, config: RecorderConfig, all_stems: set[str]
) -> ExampleRecording | Failure:
    try:
        with tempfile.TemporaryDirectory(
            prefix="kinetoscope-", dir=config.scratch, ignore_cleanup_errors=True
        ) as scratch:
            done = _run_and_store(script, config, machine.revision, Path(scratch).resolve(), all_stems)
        if not isinstance(done, Failure):
            # after every example, so that a run that is killed leaves a machine that can be read
            write_machine(config.machine_folder, machine)
        return done
    except OSError as error:
        remedy = (
            "free some space and build again" if error.errno == errno.ENOSPC else "mend that and build again"
        )
        return Failure(
            script.path, 0, f"could not be recorded: {error}; its previous recording is kept; {remedy}"
        )


def _run_and_store(
    script: Script, config: RecorderConfig, rev: str, scratch: Path, all_stems: set[str]
) -> ExampleRecording | Failure:
    work = scratch / "work"
    work.mkdir()
    shutil.copyfile(script.path, work / script.path.name)
    job = Job(script.path.name, str(scratch), config.gallery_dir, dict(config.gallery_conf))
    (scratch / "job.json").write_text(json.dumps(asdict(job)), encoding="utf-8")
    log = scratch / "log.txt"
    with log.open("wb") as stream:
        status = subprocess.run(
            [sys.executable, "-m", "kinetoscope.record.worker", str(scratch / "job.json")],
            cwd=work,
            env=_environment(scratch),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
    scrubber = Scrubber.of_this_machine((work, ""), (scratch, ""))
    if not (scratch / "result.json").is_file() and shutil.disk_usage(scratch).free < _ROOM:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(scratch.parent))
    if not (scratch / "result.json").is_file():
        tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])
        return Failure(
            script.path,
            0,
            f"ended its process with status {status} before it was through; run it by itself to see why. "
            f"The end of its output:\n{scrubber.text(tail)}",
        )
    result = json.loads((scratch / "result.json").read_text(encoding="utf-8"))
    if result["error"]:
        return Failure(script.path, result["error_line"], scrubber.text(result["error"]).rstrip())
    for block in result["blocks"]:
        if skipped := _SKIPPED.search(block["rst"]):
            return Failure(
                script.path,
                block["first_line"],
                f"printed “{skipped[0].strip()}”: an example that leaves its work out is not recorded; "
                "install what it needs, or let it raise",
            )
    others = _names_of_others(config.machine_folder, script.stem, all_stems)
    files = _collect(script, scratch, scrubber, others, config.gallery_dir)
    if isinstance(files, Failure):
        return files
    blocks = [
        BlockOutput(b["code"], b["before"], _scrub_output(b["rst"], scrubber, config.gallery_dir))
        for b in result["blocks"]
    ]
    return write_example(
        config.machine_folder,
        script.stem,
        blocks=blocks,
        run_time=result["run_time"],
        provenance=replace(Provenance.from_json(result["provenance"]), revision=rev),
        code_objects=result["code_objects"],
        files=files,
    )


def _scrub_output(rst: str, scrubber: Scrubber, gallery_dir: str) -> str:
    """A block's output scrubbed; where its page finds its figures is no path of this machine."""
    images, stand_in = f"/{gallery_dir}/images/", "\ue002"
    return scrubber.text(rst.replace(images, stand_in)).replace(stand_in, images)


def _collect(
    script: Script, scratch: Path, scrubber: Scrubber, others: Mapping[str, str], gallery_dir: str
) -> dict[str, bytes] | Failure:
    """The files of the recording, by name, scrubbed and checked."""
    files: dict[str, bytes] = {}
    taken = dict(others)
    for path in written(scratch / "work" / "traces"):
        name = name_of(path)
        if not NAME.fullmatch(name) or keyword.iskeyword(name) or name in _RESERVED:
            return Failure(
                script.path,
                0,
                f"wrote traces/{path.name}: a NAME is letters, digits and underscores, does not begin with a "
                "digit and is not a word that means something else in an expression; rename it",
            )
        if name in taken:
            return Failure(
                script.path,
                0,
                f"wrote traces/{path.name}, but {taken[name]} the NAME {name!r} already: a NAME is unique "
                "over all examples; rename one",
            )
        taken[name] = "it wrote"
        if path.suffix == ".csv":
            files[f"{name}.csv"] = path.read_bytes()
            continue
        try:
            load_whole(path)
            files[f"{name}.json.gz"] = scrub_trace(path.read_bytes(), scrubber, str(path))
        except TraceError as error:
            return Failure(script.path, 0, f"wrote a damaged trace: {scrubber.text(str(error))}")
    if not any(name.endswith(".json.gz") for name in files):
        return Failure(
            script.path, 0, "wrote no trace: export one with prof.export_chrome_trace('traces/NAME.json.gz')"
        )
    images = scratch / "src" / gallery_dir / "images"
    for path in sorted(images.glob("*.png")):
        files[path.name] = path.read_bytes()
    for path in sorted(images.glob("*.svg")):
        files[path.name] = scrubber.text(path.read_text(encoding="utf-8")).encode("utf-8")
    return files


def written(folder: Path) -> list[Path]:
    """Traces and tables in ``folder``, in the order they were written."""
    if not folder.is_dir():
        return []
    found = [
        path for path in folder.iterdir() if path.name.endswith(_KINDS) and not path.name.startswith(".")
    ]
    return sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name))


def name_of(path: Path) -> str:
    """The NAME of a trace or table: ``linear_eager`` for ``traces/linear_eager.json.gz``."""
    return next((path.name.removesuffix(kind) for kind in _KINDS if path.name.endswith(kind)), path.stem)


def _names_of_others(machine_folder: Path, stem: str, all_stems: set[str]) -> dict[str, str]:
    """Who writes each NAME, of the examples there still are."""
    names = {}
    for other in all_stems - {stem}:
        try:
            example = read_example(machine_folder / other)
        except RecordingError:
            continue  # not recorded yet; if it is damaged, whoever lays the pages out says so
        names.update(dict.fromkeys((*example.traces, *example.tables), f"{other}.py writes"))
    return names


def _environment(scratch: Path) -> dict[str, str]:
    """The worker's environment: caches of its own, so that a first compile is one; no display."""
    source = str(Path(__file__).resolve().parents[2])
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")])),
        "MPLBACKEND": "Agg",
        "PYTHONHASHSEED": "0",
        "TORCHINDUCTOR_CACHE_DIR": str(scratch / "inductor"),
        "TRITON_CACHE_DIR": str(scratch / "triton"),
        # a table cut at the width of whatever terminal started the build would differ from one to the next
        "COLUMNS": "200",
    }


# Of the gallery's settings, those that change what running one script gives.
_ABOUT_RUNNING = (
    "image_scrapers",
    "reset_modules",
    "reset_modules_order",
    "capture_repr",
    "ignore_repr_types",
    "matplotlib_animations",
    "image_srcset",
)


def about_running(conf: Mapping[str, Any]) -> dict[str, Any]:
    """Of Sphinx-Gallery's settings those that a worker is told.

    Raises ``ValueError`` for a scraper that is an object: a worker can only be told its dotted name.
    """
    found = {key: conf[key] for key in _ABOUT_RUNNING if key in conf}
    for key, value in found.items():
        try:
            json.dumps(value)
        except TypeError as error:
            raise ValueError(
                f"sphinx_gallery_conf[{key!r}] holds an object ({error}); give its dotted name, a string, so "
                "that the process that runs an example can be told"
            ) from error
    return found
