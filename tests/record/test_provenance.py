"""What a recording says about the machine, the software and the revision."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kinetoscope.record import provenance
from kinetoscope.record.provenance import Machine, Provenance, RecordingError, here, probe, revision

GPU = """\
__version__ = "9.9.9+stand.in"
class Properties:
    name, major, minor, multi_processor_count, total_memory = "NVIDIA H200", 9, 0, 132, 150754820096
    gcnArchName = "gfx942"
class cuda:
    is_available = staticmethod(lambda: True)
    get_device_properties = staticmethod(lambda index: Properties)
class version:
    cuda, hip = {cuda!r}, {hip!r}
"""


def stand_in(folder: Path, patch: pytest.MonkeyPatch, text: str) -> None:
    (folder / "torch.py").write_text(text)
    patch.syspath_prepend(str(folder))
    patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")])))


@pytest.mark.parametrize(
    ("gpu", "slug"),
    [
        ("NVIDIA H200", "nvidia-h200"),
        ("NVIDIA GeForce RTX 4090", "nvidia-geforce-rtx-4090"),
        ("AMD EPYC 9654 96-Core Processor", "amd-epyc-9654-96-core-processor"),
        ("../../etc", "etc"),
        ("", "unknown-machine"),
    ],
)
def test_slug(gpu: str, slug: str) -> None:
    assert Machine(gpu).slug == slug


def test_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, GPU.format(cuda="13.0", hip=None))
    seen = probe()
    assert seen is not None
    assert seen.machine.has_gpu
    assert (seen.machine.gpu, seen.machine.gpu_arch, seen.machine.cuda) == ("NVIDIA H200", "sm_90", "13.0")
    assert seen.libraries["torch"] == "9.9.9+stand.in"
    assert seen.machine.memory_bytes == 150754820096
    assert seen.facts("nvidia-h200").gpu_arch == "sm_90"
    assert Provenance.from_json(seen.to_json()) == seen


def test_an_amd_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, GPU.format(cuda=None, hip="7.1"))
    seen = probe()
    assert seen is not None
    assert (seen.machine.gpu_arch, seen.machine.cuda) == ("gfx942", "7.1")


def test_torch_that_cannot_be_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, "raise OSError('libcudart.so.13: cannot open shared object file')")
    with pytest.raises(RecordingError, match=r"torch is installed but could not .*: OSError: libcudart"):
        probe()


def test_no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else find(name))
    assert probe() is None
    seen = here()
    assert "torch" not in seen.software or provenance.importlib.metadata.version("torch")
    assert not seen.machine.has_gpu
    assert seen.machine.gpu


def test_torch_is_not_loaded_into_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, GPU.format(cuda="13.0", hip=None))
    before = sys.modules.get("torch")
    probe()
    assert sys.modules.get("torch") is before


def test_revision(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    assert revision(tmp_path) == ""
    file = tmp_path / "one.py"
    file.write_text("1")
    git("init", "-q")
    assert revision(tmp_path) == ""
    git("add", ".")
    git("commit", "-qm", "one")
    clean = revision(tmp_path, file)
    assert len(clean) == 12
    (tmp_path / "two.py").write_text("2")
    assert revision(tmp_path, file) == clean
    file.write_text("3")
    assert revision(tmp_path, file) == clean + "+"


def test_revision_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert revision(tmp_path) == ""


@pytest.mark.parametrize("data", [{}, {"machine": {}}, {"machine": {"gpu": "A"}, "python": "3", "colour": 1}])
def test_from_json_refuses_missing_and_unknown_fields(data: dict) -> None:
    with pytest.raises((KeyError, TypeError)):
        Provenance.from_json(data)
