"""Examples without torch for the real recorder. Most run in this process, some in their own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kinetoscope.record import run as run_module
from kinetoscope.record import worker
from kinetoscope.record.provenance import Machine, Provenance
from kinetoscope.record.run import RecorderConfig, RecordRun, record
from kinetoscope.record.script import Script, read_script
from kinetoscope.record.store import MachineRecording, read_machine

DATA = Path(__file__).parents[1] / "data"

NOW = Provenance(Machine("A GPU", "sm_90"), "3.12.1", {"torch": "2.13.0"}, "2026-11-29")

# Replaces torch in the processes that record, because torch takes seconds to import.
TORCH = """\
__version__ = "9.9.9+stand.in"


class cuda:
    @staticmethod
    def is_available():
        return False
"""

WRITES = """\
import shutil
from pathlib import Path

Path("traces").mkdir(exist_ok=True)
shutil.copyfile({source!r}, "traces/{name}")
"""


def work_here(command: list[Any], *, stdout: io.BufferedWriter, **_: Any) -> SimpleNamespace:
    """Do a worker's job in this process. Replaces ``subprocess.run``, which takes a second."""
    assert command[:-1] == [sys.executable, "-m", "kinetoscope.record.worker"]
    text = io.TextIOWrapper(stdout, encoding="utf-8", write_through=True)
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(text), redirect_stderr(text):
        patch.setattr(sys, "argv", [])
        patch.setattr(sys, "stdin", io.StringIO())
        patch.setattr(worker, "here", lambda: NOW)
        status = worker.main(["", command[-1]])
    text.detach()
    return SimpleNamespace(returncode=status)


@dataclass
class Darkroom:
    """A folder of examples and the recordings of one machine."""

    root: Path
    said: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return self.root / "recordings/a-gpu"

    def example(self, name: str, code: str, trace: str | None = "", source: str = "") -> Path:
        """Write an example that runs ``code`` and then writes a trace, by default under its own name."""
        path = self.root / f"examples/{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = f'"""\n{name}\n===\n"""\n\n{code}\n'
        if trace is not None:
            source = source or str(DATA / "traces/linear_1024_32_64_eager.json.gz")
            text += "\n# %%\n# Traced.\n\n" + WRITES.format(source=source, name=trace or f"{name}.json.gz")
        path.write_text(text, encoding="utf-8")
        return path

    def record(self, *paths: Path | Script, scratch: Path | None = None, real: bool = False) -> RecordRun:
        """Record examples; ``real`` runs each in a process of its own, as every build does.

        Check that the run leaves nothing in its scratch folder or beside the examples.
        """
        scratch = scratch or self.root / "scratch"
        scratch.mkdir(exist_ok=True)
        with pytest.MonkeyPatch.context() as patch:
            if not real:
                stand_in = SimpleNamespace(**{**vars(subprocess), "run": work_here})
                patch.setattr(run_module, "subprocess", stand_in)
            patch.setattr(tempfile, "tempdir", str(scratch))
            run = self._record(*paths)
        assert list(scratch.iterdir()) == []
        assert {path.suffix for path in (self.root / "examples").glob("*")} <= {".py"}
        return run

    def _record(self, *paths: Path | Script) -> RecordRun:
        config = RecorderConfig(
            machine_folder=self.folder,
            gallery_dir="gallery",
            gallery_conf={"image_scrapers": ["kinetoscope"], "capture_repr": []},
            report=self.said.append,
        )
        every = {path.stem for path in (self.root / "examples").glob("*.py")}
        scripts = [path if isinstance(path, Script) else read_script(path) for path in paths]
        return record(scripts, NOW, config, all_stems=every)

    def read(self) -> MachineRecording:
        return read_machine(self.folder)

    def fails(self, path: Path, *, real: bool = False) -> tuple[int, str]:
        """Record ``path`` and return the line and message of its only failure."""
        run = self.record(path, real=real)
        assert run.recorded == []
        [failure] = run.failures
        assert failure.path == path
        return failure.line, failure.message


@pytest.fixture
def small_disk() -> Iterator[Callable[[Path, str], None]]:
    """``small_disk(FOLDER, SIZE)`` mounts a disk of that size at a folder, or skips the test."""
    mounted = []

    def mount(folder: Path, size: str) -> None:
        folder.mkdir(exist_ok=True)
        if os.system(f"mount -t tmpfs -o size={size} tmpfs '{folder}' 2>/dev/null"):
            pytest.skip("no right to mount a small disk")
        mounted.append(folder)

    yield mount
    for folder in mounted:
        os.system(f"umount '{folder}'")


@pytest.fixture
def darkroom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Darkroom:
    (tmp_path / "stand-in").mkdir()
    (tmp_path / "stand-in/torch.py").write_text(TORCH)
    paths = [str(tmp_path / "stand-in"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    return Darkroom(tmp_path)


@pytest.fixture
def old_recording(darkroom: Darkroom) -> Callable[[], bool]:
    """Record ``one``; the function returned tells whether that recording is unchanged."""
    assert darkroom.record(darkroom.example("one", "x = 1")).failures == []

    def content() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in darkroom.folder.rglob("*") if path.is_file()}

    before = content()
    return lambda: content() == before and bool(darkroom.read())
