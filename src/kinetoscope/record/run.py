"""Record examples: decide which are stale, run each in a process of its own, keep what it produced."""

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
from pathlib import Path, PurePosixPath
from typing import Any

from kinetoscope.record.provenance import Provenance, RecordingError, revision, subprocess_environment
from kinetoscope.record.script import Script
from kinetoscope.record.scrub import Scrubber, scrub_trace
from kinetoscope.record.store import (
    BlockOutput,
    ExampleRecording,
    clean_up,
    drop_gone,
    name_of,
    read_example,
    result_files,
    write_example,
    write_machine,
)
from kinetoscope.record.worker import Job
from kinetoscope.trace import TraceError, load_whole

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = frozenset({"machine"})

# A run that ended early with less free space than this ran out of disk.
_MIN_FREE_BYTES = 2**20

# A line that says that work was left out. Not so where "skip" is a name: of a submodule in a printed model,
# "(skip): Identity()", of its parameters, "skip.weight", of a key, a setting, or a row of a table.
_SKIPPED = re.compile(
    r"""^[^\w'"`]*(?:skip(?! ?[\d(\[|]|[ -]connection|  |\t| -)|skips|skipped|skipping)\b"""
    r"""(?!\):\ |[.(\[]\w|['"`]|\s*=|:\ [\w.]+[(\[]|:\ [-+.\d]+$|\s*\|).*""",
    re.IGNORECASE | re.MULTILINE,
)


class Failure(Exception):
    """An example could not be recorded; the message says what happened and what to do."""

    def __init__(self, path: Path, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.path = path
        self.message = message
        self.line = line
        """1-based; 0 if the failure belongs to no line"""


@dataclass(slots=True)
class RecordRun:
    """The recordings and failures of one call of :func:`record`."""

    recorded: list[ExampleRecording] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RecorderConfig:
    """Where and how to record examples."""

    machine_folder: Path
    gallery_dir: str
    """where the gallery's pages lie, relative to the documentation's source folder"""
    gallery_conf: Mapping[str, Any]
    """what :func:`worker_settings` selects from Sphinx-Gallery's settings"""
    report: Callable[[str], None]
    """receives one line of progress at a time"""


def why_stale(script: Script, recording: ExampleRecording | None, now: Provenance) -> str:
    """Say why ``script`` must be recorded (again) on the machine of ``now``; empty if it need not."""
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
    """Record ``scripts`` one after the other.

    An example that fails keeps its previous recording and does not stop the others. ``all_stems`` names every
    example of the gallery: if no example fails, recordings of any other example are deleted.

    Raises :class:`RecordingError` while another run records into the same folder.
    """
    scripts = list(scripts)
    run = RecordRun()
    with _lock(config.machine_folder):
        clean_up(config.machine_folder)
        rev = revision(scripts[0].path.parent, *(script.path for script in scripts)) if scripts else ""
        machine = replace(now, revision=rev)
        for number, script in enumerate(scripts, 1):
            config.report(f"recording {script.stem} ({number} of {len(scripts)}) …")
            try:
                example = _record_one(script, machine, config, all_stems)
            except Failure as failure:
                run.failures.append(failure)
                config.report(f"recording {script.stem}: failed")
                continue
            run.recorded.append(example)
            traces = ", ".join(example.traces)
            config.report(f"recording {script.stem}: {example.run_time:.0f} s; {traces}")
        if not run.failures:
            drop_gone(config.machine_folder, all_stems)
    return run


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Keep a second run out: it would delete what the first is writing as a killed run's leftovers."""
    # torch depends on filelock, so every machine that can run examples has it.
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
        pass  # Nothing can be written there; each example's failure will say so.
    try:
        yield
    finally:
        lock.release()


def _record_one(
    script: Script, machine: Provenance, config: RecorderConfig, all_stems: set[str]
) -> ExampleRecording:
    """Run ``script`` and store its recording. Raises :class:`Failure` and then keeps the previous one."""
    try:
        with tempfile.TemporaryDirectory(prefix="kinetoscope-", ignore_cleanup_errors=True) as folder:
            scratch = Path(folder).resolve()
            status = _run_worker(script, config, scratch)
            example = _store(script, config, machine.revision, scratch, status, all_stems)
        # Written after every example, so that a run that is killed leaves a machine that can be read.
        write_machine(config.machine_folder, machine)
        return example
    except OSError as error:
        remedy = "free some space" if error.errno == errno.ENOSPC else "fix that"
        raise Failure(
            script.path,
            f"could not be recorded: {error}; its previous recording is kept; {remedy} and build again",
        ) from error


def _run_worker(script: Script, config: RecorderConfig, scratch: Path) -> int:
    """Run ``script`` in a process of its own and return that process's exit status.

    The process works in ``scratch/work``. It leaves ``scratch/result.json`` (a
    :class:`kinetoscope.record.worker.Result`) if it gets that far, and its output in ``scratch/log.txt``.
    """
    work = scratch / "work"
    work.mkdir()
    shutil.copyfile(script.path, work / script.path.name)
    job = Job(script.path.name, str(scratch), _place(script, config), dict(config.gallery_conf))
    (scratch / "job.json").write_text(json.dumps(asdict(job)), encoding="utf-8")
    with (scratch / "log.txt").open("wb") as log:
        return subprocess.run(
            [sys.executable, "-m", "kinetoscope.record.worker", str(scratch / "job.json")],
            cwd=work,
            env=_environment(scratch),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode


def _store(
    script: Script, config: RecorderConfig, rev: str, scratch: Path, status: int, all_stems: set[str]
) -> ExampleRecording:
    """Check and scrub what the worker left in ``scratch``, and store it as the example's recording.

    Raises :class:`Failure` if that cannot be a recording.
    """
    scrubber = Scrubber.of_this_machine((scratch / "work", ""), (scratch, ""))
    if not (scratch / "result.json").is_file():
        if shutil.disk_usage(scratch).free < _MIN_FREE_BYTES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(scratch.parent))
        log = (scratch / "log.txt").read_text(encoding="utf-8", errors="replace")
        tail = "\n".join(log.splitlines()[-15:])
        raise Failure(
            script.path,
            f"ended its process with status {status} before it was through; run it by itself to see why. "
            f"The end of its output:\n{scrubber.text(tail)}",
        )
    result = json.loads((scratch / "result.json").read_text(encoding="utf-8"))
    if result["error"] and not (script.should_fail and result["blocks"]):
        raise Failure(script.path, scrubber.text(result["error"]).rstrip(), result["error_line"])
    if script.should_fail and not result["error"]:
        raise Failure(
            script.path, "is one of expected_failing_examples but ran to its end; take it out of them"
        )
    for block in result["blocks"]:
        if skipped := _SKIPPED.search(block["rst"]):
            raise Failure(
                script.path,
                f"printed “{skipped[0].strip()}”: an example that leaves its work out is not recorded; "
                "install what it needs, or let it raise",
                block["first_line"],
            )
    names = _names_of_others(config.machine_folder, script.stem, all_stems)
    place = _place(script, config)
    files = _collect(script, scratch, scrubber, names, place)
    blocks = [
        BlockOutput(b["code"], b["before"], _scrub_output(b["rst"], scrubber, place))
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


def _place(script: Script, config: RecorderConfig) -> str:
    """Return where the script's page lies, relative to the documentation's source folder."""
    return PurePosixPath(config.gallery_dir, script.section).as_posix()


def _scrub_output(rst: str, scrubber: Scrubber, gallery_dir: str) -> str:
    """Scrub a block's output, but keep the address of its figures: that is not a path of this machine."""
    images = f"/{gallery_dir}/images/"
    return images.join(map(scrubber.text, rst.split(images)))


def _collect(
    script: Script, scratch: Path, scrubber: Scrubber, taken: dict[str, str], gallery_dir: str
) -> dict[str, bytes]:
    """Return the recording's files by name, checked and scrubbed.

    ``taken`` holds the NAMEs of other examples, as :func:`_names_of_others` returns them.
    """
    files: dict[str, bytes] = {}
    for path in result_files(scratch / "work" / "traces"):
        name = name_of(path)
        if not _NAME.fullmatch(name) or keyword.iskeyword(name) or name in _RESERVED:
            raise Failure(
                script.path,
                f"wrote traces/{path.name}: a NAME is letters, digits and underscores, does not begin with a "
                "digit and is not a word that means something else in an expression; rename it",
            )
        if name in taken:
            raise Failure(
                script.path,
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
            raise Failure(script.path, f"wrote a damaged trace: {scrubber.text(str(error))}") from error
    if not script.should_fail and not any(name.endswith(".json.gz") for name in files):
        raise Failure(
            script.path, "wrote no trace: export one with prof.export_chrome_trace('traces/NAME.json.gz')"
        )
    images = scratch / "src" / gallery_dir / "images"
    for path in sorted(images.glob("*.png")):
        files[path.name] = path.read_bytes()
    for path in sorted(images.glob("*.svg")):
        files[path.name] = scrubber.text(path.read_text(encoding="utf-8")).encode("utf-8")
    return files


def _names_of_others(machine_folder: Path, stem: str, all_stems: set[str]) -> dict[str, str]:
    """Map each NAME that another example has recorded to the start of a sentence about that example."""
    names = {}
    for other in all_stems - {stem}:
        try:
            example = read_example(machine_folder / other)
        except RecordingError:
            continue  # Not recorded yet, or damaged; the build reports damage when it reads the recordings.
        names.update(dict.fromkeys(example.results, f"{other}.py writes"))
    return names


def _environment(scratch: Path) -> dict[str, str]:
    """Return the worker's environment: no display, and empty caches so that a first compile is one."""
    return {
        **subprocess_environment(),
        "MPLBACKEND": "Agg",
        "PYTHONHASHSEED": "0",
        "TORCHINDUCTOR_CACHE_DIR": str(scratch / "inductor"),
        "TRITON_CACHE_DIR": str(scratch / "triton"),
        # Otherwise a printed table would be as wide as the terminal that started the build.
        "COLUMNS": "200",
    }


# Those of the gallery's settings that change the output of a script.
_WORKER_SETTINGS = (
    "image_scrapers",
    "reset_modules",
    "reset_modules_order",
    "capture_repr",
    "ignore_repr_types",
    "matplotlib_animations",
    "image_srcset",
)


def worker_settings(conf: Mapping[str, Any]) -> dict[str, Any]:
    """Select the settings of Sphinx-Gallery that the worker needs.

    Raises :class:`RecordingError` if one holds an object, such as a scraper: JSON carries only dotted names.
    """
    settings = {key: conf[key] for key in _WORKER_SETTINGS if key in conf}
    if "image_srcset" in settings:
        # Sphinx-Gallery has made numbers of "2x", but the worker's Sphinx-Gallery wants what conf.py had.
        settings["image_srcset"] = [
            f"{each:g}x" if isinstance(each, float) else each for each in settings["image_srcset"]
        ]
    for key, value in settings.items():
        try:
            json.dumps(value)
        except TypeError as error:
            raise RecordingError(
                f"sphinx_gallery_conf[{key!r}] holds an object ({error}); give its dotted name, a string, so "
                "that the process that runs an example can be told"
            ) from error
    return settings
