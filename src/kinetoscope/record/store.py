"""Where recordings lie on disk, and how one is replaced without ever being half there.

::

    docs/recordings/<machine>/machine.json             provenance of the machine's newest run
    docs/recordings/<machine>/<example>/example.json   outputs by block, run time, provenance
    docs/recordings/<machine>/<example>/NAME.json.gz   a trace
    docs/recordings/<machine>/<example>/NAME.csv       a table the example measured
    docs/recordings/<machine>/<example>/*.png          its figures
    docs/recordings/<machine>/<example>/*.svg          the same, for pages that are light or dark
    docs/recordings/bench/                             what ``nox -s bench`` measured: tables, figures

A new recording of an example is written to ``.<example>.new`` beside the old one and swapped in when whole.
Only a recorder puts right what a killed one left; who reads changes nothing, and finds a recording that a
kill left under ``.<example>.old`` there.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from kinetoscope.record.provenance import Provenance

FORMAT = 1
_NEW, _OLD = ".new", ".old"


class RecordingError(Exception):
    """A recording is missing, damaged or ambiguous; the message says what to do."""


@dataclass(frozen=True, slots=True)
class BlockOutput:
    """What one code block of an example put on its page."""

    code: str
    before: str
    rst: str

    @property
    def key(self) -> str:
        return f"{self.before}.{self.code}"


@dataclass(frozen=True)
class ExampleRecording:
    """What one run of one example left behind."""

    folder: Path
    stem: str
    blocks: tuple[BlockOutput, ...]
    run_time: float
    """seconds of wall-clock time the script ran"""
    provenance: Provenance
    code_objects: Mapping[str, Any] = field(default_factory=dict)
    """Sphinx-Gallery's names for code links, resolved where torch was installed"""

    @cached_property
    def outputs(self) -> dict[str, str]:
        """reST by block key."""
        return {block.key: block.rst for block in self.blocks}

    @cached_property
    def codes(self) -> frozenset[str]:
        """Digests of all recorded blocks, wherever they stood."""
        return frozenset(block.code for block in self.blocks)

    def _stems(self, suffix: str) -> dict[str, Path]:
        return {path.name.removesuffix(suffix): path for path in sorted(self.folder.glob(f"*{suffix}"))}

    @property
    def traces(self) -> dict[str, Path]:
        """File of each trace by NAME."""
        return self._stems(".json.gz")

    @property
    def tables(self) -> dict[str, Path]:
        """File of each table by NAME."""
        return self._stems(".csv")

    @property
    def figures(self) -> list[Path]:
        return sorted(self.folder.glob("*.png"))

    @property
    def drawings(self) -> dict[str, Path]:
        """SVG of each figure that was kept as one, by the figure's stem."""
        return self._stems(".svg")

    @cached_property
    def fingerprint(self) -> str:
        """Changes when any file of this recording does."""
        digest = hashlib.sha256()
        for path in sorted(self.folder.iterdir()):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
        return digest.hexdigest()[:16]


@dataclass(frozen=True)
class MachineRecording:
    """Everything recorded on one machine."""

    folder: Path
    provenance: Provenance
    examples: Mapping[str, ExampleRecording]
    """by the stem of the example's file name"""

    @property
    def name(self) -> str:
        """The machine's slug, the folder's name."""
        return self.folder.name

    def owner(self, name: str) -> ExampleRecording | None:
        """The example that wrote the trace or table NAME."""
        for example in self.examples.values():
            if name in example.traces or name in example.tables:
                return example
        return None

    @cached_property
    def names(self) -> dict[str, Path]:
        """File of every trace and table by NAME."""
        found: dict[str, Path] = {}
        for example in self.examples.values():
            found.update(example.traces)
            found.update(example.tables)
        return found


@dataclass(frozen=True)
class BenchRecording:
    """What a bench measured: programs on some processor, and so the same whatever machine a page shows."""

    folder: Path
    """there may be none"""

    @cached_property
    def tables(self) -> dict[str, Path]:
        """File of each table by NAME."""
        return {path.stem: path for path in sorted(self.folder.glob("*.csv"))}

    @cached_property
    def drawings(self) -> dict[str, Path]:
        """SVG of each figure by NAME; its PNG, and what is on it in words (``.txt``), lie beside it."""
        return {path.stem: path for path in sorted(self.folder.glob("*.svg"))}

    @cached_property
    def fingerprint(self) -> str:
        """Changes when any of it does."""
        digest = hashlib.sha256()
        for path in sorted(self.folder.glob("*.*")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
        return digest.hexdigest()[:16]


BENCH = "bench"
"""its folder, among those of the machines"""


def read_machine(folder: Path, stems: Collection[str] | None = None) -> MachineRecording:
    """Reads one machine's recordings, of the examples in ``stems`` only if given.

    Raises :class:`RecordingError` where a file is missing or damaged, or where two examples have one NAME.
    """
    provenance = _read_provenance(folder / "machine.json")
    examples = {
        stem: read_example(place) for stem, place in _places(folder).items() if stems is None or stem in stems
    }
    _refuse_clashes(examples.values())
    return MachineRecording(folder, provenance, examples)


def read_machines(root: Path, stems: Collection[str] | None = None) -> dict[str, MachineRecording]:
    """Every machine recorded under ``root``, by name; empty where there is none.  As :func:`read_machine`."""
    if not root.is_dir():
        return {}
    folders = [path for path in sorted(root.iterdir()) if path.is_dir() and not path.name.startswith(".")]
    return {folder.name: read_machine(folder, stems) for folder in folders if _is_begun(folder)}


def read_example(folder: Path) -> ExampleRecording:
    """Raises :class:`RecordingError` where ``example.json`` is missing, damaged or of another format."""
    path = folder / "example.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            raise RecordingError(
                f"{path}: format {data['format']} is not {FORMAT}; record this example again"
            )
        for name in data.get("files", ()):
            if not (folder / name).is_file():
                raise FileNotFoundError(f"{name} is gone")
        return ExampleRecording(
            folder=folder,
            stem=_stem(folder),
            blocks=tuple(BlockOutput(**block) for block in data["blocks"]),
            run_time=float(data["run_time_s"]),
            provenance=Provenance.from_json(data["provenance"]),
            code_objects=data["code_objects"],
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecordingError(
            f"{path}: damaged or missing ({type(error).__name__}: {error}); restore it with "
            f"'git checkout -- {path.parent}' or record the example again on a GPU"
        ) from error


def write_example(
    machine_folder: Path,
    stem: str,
    *,
    blocks: list[BlockOutput],
    run_time: float,
    provenance: Provenance,
    code_objects: Mapping[str, Any],
    files: Mapping[str, bytes],
) -> ExampleRecording:
    """Stores one example, whole or not at all.

    ``files``: content by file name.  Raises ``OSError`` (a full disk, say) with the previous recording in
    place.
    """
    finish_swaps(machine_folder)
    new = machine_folder / f".{stem}{_NEW}"
    try:
        if new.exists():
            shutil.rmtree(new)
        new.mkdir(parents=True)
        for name, content in files.items():
            (new / name).write_bytes(content)
        document = {
            "format": FORMAT,
            "run_time_s": round(run_time, 1),
            "provenance": provenance.to_json(),
            "files": sorted(files),
            "blocks": [{"code": b.code, "before": b.before, "rst": b.rst} for b in blocks],
            "code_objects": code_objects,
        }
        _write_json(new / "example.json", document)
        _swap(new, machine_folder / stem)
    except OSError:
        shutil.rmtree(new, ignore_errors=True)
        raise
    return read_example(machine_folder / stem)


def write_machine(folder: Path, provenance: Provenance) -> None:
    """Stores ``machine.json``; raises ``OSError`` with the previous one in place."""
    folder.mkdir(parents=True, exist_ok=True)
    new = folder / f".machine.json{_NEW}"
    try:
        _write_json(new, provenance.to_json())
        new.replace(folder / "machine.json")
    except OSError:
        new.unlink(missing_ok=True)
        raise


def finish_swaps(folder: Path) -> None:
    """Puts right what a killed run left: a swap half done is undone, one all but done is finished."""
    for old in folder.glob(f".*{_OLD}"):
        place = folder / _stem(old)
        if place.exists():
            shutil.rmtree(old)
        else:
            old.rename(place)


def drop_gone(folder: Path, stems: set[str]) -> None:
    """Removes recordings of examples that are none of ``stems``."""
    for place in folder.glob("[!.]*/"):
        if place.name not in stems and (place / "example.json").is_file():
            shutil.rmtree(place)


def drop_leftovers(folder: Path) -> None:
    """Removes half-written recordings of a run that was killed; only the recorder may, being alone."""
    for new in folder.glob(f".*{_NEW}"):
        shutil.rmtree(new) if new.is_dir() else new.unlink()


def _swap(new: Path, place: Path) -> None:
    old = place.with_name(f".{place.name}{_OLD}")
    if place.exists():
        place.rename(old)
    try:
        new.rename(place)
    except OSError:
        if old.exists():
            old.rename(place)
        raise
    if old.exists():
        shutil.rmtree(old, ignore_errors=True)


def _places(folder: Path) -> dict[str, Path]:
    """Where each example's recording lies now, by stem."""
    places = {_stem(path): path for path in sorted(folder.glob(f".*{_OLD}")) if path.is_dir()}
    places.update({path.name: path for path in sorted(folder.glob("[!.]*")) if path.is_dir()})
    return dict(sorted(places.items()))


def _stem(folder: Path) -> str:
    return folder.name[1:].removesuffix(_OLD) if folder.name.startswith(".") else folder.name


def _is_begun(folder: Path) -> bool:
    """Whether there is anything to read: a first run that was killed at once leaves nothing whole."""
    return (folder / "machine.json").is_file() or bool(_places(folder))


def _write_json(path: Path, data: object) -> None:
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


def _read_provenance(path: Path) -> Provenance:
    try:
        return Provenance.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecordingError(
            f"{path}: damaged or missing ({type(error).__name__}: {error}); restore it with "
            f"'git checkout -- {path}' or record again on a GPU"
        ) from error


def _refuse_clashes(examples: Any) -> None:
    owner: dict[str, str] = {}
    for example in examples:
        for name in (*example.traces, *example.tables):
            if name in owner:
                raise RecordingError(
                    f"two results are called {name!r}: one of {owner[name]}.py and one of {example.stem}.py; "
                    "a NAME is unique over all examples: rename the file that one of them writes"
                )
            owner[name] = example.stem
