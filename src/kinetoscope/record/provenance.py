"""The machine, software and date of a recording."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

LIBRARIES = ("torch", "triton", "liger-kernel", "kernels", "matplotlib", "numpy")
"""distributions whose version can change the output of an example"""


class RecordingError(Exception):
    """A recording cannot be made, or is missing, damaged or ambiguous; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The hardware and driver. A recording is stale on a machine that differs in any of these fields."""

    gpu: str
    """the GPU's full name, or the CPU's where there is none"""
    gpu_arch: str = ""
    """``sm_90``; empty without a GPU"""
    driver: str = ""
    cuda: str = ""
    """the CUDA (or ROCm) version that torch was built for"""
    cpu: str = ""
    sms: int = 0
    """streaming multiprocessors"""
    memory_bytes: int = 0

    @property
    def slug(self) -> str:
        """The folder name of its recordings: ``nvidia-h200``."""
        return re.sub(r"[^a-z0-9]+", "-", self.gpu.lower()).strip("-") or "unknown-machine"

    @property
    def has_gpu(self) -> bool:
        return bool(self.gpu_arch)


@dataclass(frozen=True)
class MachineFacts:
    """What ``machine`` offers in an expression: ``machine.gpu_arch == "sm_90"``."""

    VOCABULARY_ATTRS: ClassVar[frozenset[str]]

    name: str
    gpu: str
    gpu_arch: str
    driver: str
    cuda: str
    cpu: str
    sms: int
    python: str
    torch: str
    triton: str
    recorded: str


MachineFacts.VOCABULARY_ATTRS = frozenset(item.name for item in fields(MachineFacts))


@dataclass(frozen=True, slots=True)
class Provenance:
    """A machine, the software on it, and the date; every recorded example has one."""

    machine: Machine
    python: str
    libraries: Mapping[str, str] = field(default_factory=dict)
    """version by name, of those distributions in :data:`LIBRARIES` that are installed"""
    recorded: str = ""
    """ISO date (UTC) of the run"""
    revision: str = ""
    """revision of the repository, with ``+`` appended if the examples had uncommitted changes"""

    @property
    def software(self) -> dict[str, str]:
        """Versions by name; a recording is stale where any of them differs."""
        return {"python": self.python, "cuda": self.machine.cuda, **self.libraries}

    def facts(self, name: str) -> MachineFacts:
        """Return what expressions may ask about this machine; ``name`` is the folder of its recordings."""
        machine = self.machine
        return MachineFacts(
            name=name,
            gpu=machine.gpu,
            gpu_arch=machine.gpu_arch,
            driver=machine.driver,
            cuda=machine.cuda,
            cpu=machine.cpu,
            sms=machine.sms,
            python=self.python,
            torch=self.libraries.get("torch", ""),
            triton=self.libraries.get("triton", ""),
            recorded=self.recorded,
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Provenance:
        """Undo :meth:`to_json`. Raises ``KeyError`` or ``TypeError`` if fields are missing or unknown."""
        rest = {key: value for key, value in data.items() if key != "machine"}
        return cls(machine=Machine(**data["machine"]), **rest)


def probe() -> Provenance | None:
    """Ask torch what it sees here, in another process so that this one need not import torch.

    Returns ``None`` if torch is not installed. Raises :class:`RecordingError` if it cannot be imported.
    """
    if importlib.util.find_spec("torch") is None:
        return None
    run = subprocess.run(
        [sys.executable, "-m", "kinetoscope.record.provenance"],
        capture_output=True,
        text=True,
        env=subprocess_environment(),
        check=False,
    )
    if run.returncode != 0:
        last = (run.stderr.strip().splitlines() or ["no message"])[-1]
        raise RecordingError(f"torch is installed but could not be asked for its GPU: {last}")
    return Provenance.from_json(json.loads(run.stdout.splitlines()[-1]))


def subprocess_environment() -> dict[str, str]:
    """Return this process's environment, in which another Python finds this package."""
    source = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path}


def here() -> Provenance:
    """Return the provenance of this process; imports torch if it is installed."""
    libraries = {}
    for name in LIBRARIES:
        try:
            libraries[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    machine = Machine(gpu=_cpu_name() or platform.machine(), cpu=_cpu_name())
    if importlib.util.find_spec("torch") is not None:
        import torch

        libraries["torch"] = torch.__version__
        if torch.cuda.is_available():
            properties = torch.cuda.get_device_properties(0)
            hip = getattr(torch.version, "hip", None)
            machine = Machine(
                gpu=properties.name,
                gpu_arch=properties.gcnArchName if hip else f"sm_{properties.major}{properties.minor}",
                driver=_driver_version(),
                cuda=hip or torch.version.cuda or "",
                cpu=_cpu_name(),
                sms=properties.multi_processor_count,
                memory_bytes=properties.total_memory,
            )
    return Provenance(
        machine=machine,
        python=platform.python_version(),
        libraries=libraries,
        recorded=datetime.now(UTC).date().isoformat(),
    )


def revision(folder: Path, *watched: Path) -> str:
    """Return the short git revision of ``folder``, plus ``+`` if a ``watched`` path has uncommitted changes.

    Outside a git checkout, return ``KINETOSCOPE_REVISION``: somebody who copied the files can set it.
    """
    head = _output_of("git", "rev-parse", "--short=12", "HEAD", cwd=folder)
    if not head:
        return os.environ.get("KINETOSCOPE_REVISION", "")
    changed = _output_of("git", "status", "--porcelain", "--", *map(str, watched), cwd=folder)
    return f"{head}+" if changed else head


def _cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # not Linux
    return platform.processor()


def _driver_version() -> str:
    lines = _output_of("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader").splitlines()
    return lines[0].strip() if lines else ""


def _output_of(*command: str, cwd: Path | None = None) -> str:
    """Return what a program prints; empty if it is missing or fails."""
    try:
        run = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return run.stdout.strip() if run.returncode == 0 else ""


if __name__ == "__main__":
    print(json.dumps(here().to_json()))
