"""Where recordings lie on disk, and how a new one replaces an old one, whole or not at all.

::

    docs/recordings/<machine>/machine.json             provenance of the machine's newest run
    docs/recordings/<machine>/<example>/example.json   outputs by block, run time, provenance
    docs/recordings/<machine>/<example>/NAME.json.gz   a trace
    docs/recordings/<machine>/<example>/NAME.csv       a table the example measured
    docs/recordings/<machine>/<example>/*.png          its figures
    docs/recordings/<machine>/<example>/*.svg          the same figures, for light and dark pages
    docs/recordings/bench/                             tables and figures of ``nox -s bench``

A new recording of an example is written to ``.<example>.new`` beside the old one, and replaces it when it is
whole. Meanwhile the old one is ``.<example>.old``; if the recorder is killed at that moment, readers find the
recording there. Only the next recorder cleans up; readers change nothing.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from kinetoscope.record.provenance import Provenance, RecordingError

FORMAT = 1
BENCH = "bench"
"""the folder of the bench, among those of the machines"""
_NEW, _OLD = ".new", ".old"

# Suffixes of the files an example writes, longest first: ``x.json.gz`` ends in ``.gz`` too.
_RESULT_SUFFIXES = (".json.gz", ".json", ".csv")


def result_files(folder: Path) -> list[Path]:
    """Return the traces and tables that an example wrote to ``folder``, in the order of writing."""
    if not folder.is_dir():
        return []
    results = [
        path
        for path in folder.iterdir()
        if path.name.endswith(_RESULT_SUFFIXES) and not path.name.startswith(".")
    ]
    return sorted(results, key=lambda path: (path.stat().st_mtime_ns, path.name))


def name_of(path: Path) -> str:
    """Return the NAME of a trace or table: ``linear_eager`` for ``traces/linear_eager.json.gz``."""
    suffixes = (suffix for suffix in _RESULT_SUFFIXES if path.name.endswith(suffix))
    return path.name.removesuffix(next(suffixes, path.suffix))


@dataclass(frozen=True, slots=True)
class BlockOutput:
    """The recorded output of one code block."""

    code: str
    """digest of the block's own code"""
    before: str
    """digest of all code before it"""
    rst: str

    @property
    def key(self) -> str:
        return f"{self.before}.{self.code}"


@dataclass(frozen=True)
class ExampleRecording:
    """What one run of one example produced."""

    folder: Path
    stem: str
    blocks: tuple[BlockOutput, ...]
    run_time: float
    """wall-clock time of the script, in seconds"""
    provenance: Provenance
    code_objects: Mapping[str, Any] = field(default_factory=dict)
    """Sphinx-Gallery's names for code links, resolved where torch was installed"""

    @cached_property
    def outputs(self) -> dict[str, str]:
        """reST by block key."""
        return {block.key: block.rst for block in self.blocks}

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
    def results(self) -> dict[str, Path]:
        """File of each trace, then of each table, by NAME."""
        return {**self.traces, **self.tables}

    @property
    def figures(self) -> list[Path]:
        return sorted(self.folder.glob("*.png"))

    @property
    def drawings(self) -> dict[str, Path]:
        """SVG of each figure that has one, by the figure's stem."""
        return self._stems(".svg")

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all files of this recording."""
        return _digest(self.folder.iterdir())


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
        """Return the example that wrote the trace or table NAME."""
        return next((example for example in self.examples.values() if name in example.results), None)

    @cached_property
    def names(self) -> dict[str, Path]:
        """File of every trace and table by NAME."""
        examples = self.examples.values()
        return {name: path for example in examples for name, path in example.results.items()}


@dataclass(frozen=True)
class BenchRecording:
    """What a bench measured: programs on a CPU. Every page shows the same, whatever machine it is about."""

    folder: Path
    """may be missing"""

    @cached_property
    def tables(self) -> dict[str, Path]:
        """File of each table by NAME."""
        return {path.stem: path for path in sorted(self.folder.glob("*.csv"))}

    @cached_property
    def drawings(self) -> dict[str, Path]:
        """SVG of each figure by NAME; its PNG and its description (``.txt``) lie beside it."""
        return {path.stem: path for path in sorted(self.folder.glob("*.svg"))}

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all files of the bench."""
        return _digest(self.folder.glob("*.*"))


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def read_machine(folder: Path, stems: Collection[str] | None = None) -> MachineRecording:
    """Read the recordings of one machine, or only those of the examples in ``stems``.

    Raises :class:`RecordingError` if a file is missing or damaged, or if two examples wrote the same NAME.
    """
    with _refusing_damage(folder / "machine.json", restore=folder / "machine.json") as data:
        provenance = Provenance.from_json(data)
    examples = {
        stem: read_example(place) for stem, place in _places(folder).items() if stems is None or stem in stems
    }
    _refuse_clashes(examples.values())
    return MachineRecording(folder, provenance, examples)


def read_machines(root: Path, stems: Collection[str] | None = None) -> dict[str, MachineRecording]:
    """Read every machine under ``root`` as :func:`read_machine` does, by name; empty if there is none."""
    if not root.is_dir():
        return {}
    folders = [path for path in sorted(root.iterdir()) if path.is_dir() and not path.name.startswith(".")]
    return {folder.name: read_machine(folder, stems) for folder in folders if _is_begun(folder)}


def read_example(folder: Path) -> ExampleRecording:
    """Read the recording of one example.

    Raises :class:`RecordingError` if ``example.json`` is missing, damaged or of another format.
    """
    path = folder / "example.json"
    with _refusing_damage(path, restore=folder) as data:
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


@contextmanager
def _refusing_damage(path: Path, *, restore: Path) -> Iterator[Any]:
    """Read a JSON file; turn what goes wrong here and inside into a :class:`RecordingError`.

    ``restore`` is what its message says to restore with git.
    """
    try:
        yield json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecordingError(
            f"{path}: damaged or missing ({type(error).__name__}: {error}); restore it with "
            f"'git checkout -- {restore}' or record it again on a GPU"
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
    """Store one example, whole or not at all. ``files`` is content by file name.

    The folder must be clean, as :func:`clean_up` leaves it.
    Raises ``OSError`` (on a full disk, say) and then leaves the previous recording in place.
    """
    new = machine_folder / f".{stem}{_NEW}"
    try:
        new.mkdir(parents=True)
        for name, content in files.items():
            (new / name).write_bytes(content)
        document = {
            "format": FORMAT,
            "run_time_s": round(run_time, 1),
            "provenance": provenance.to_json(),
            "files": sorted(files),
            "blocks": [asdict(block) for block in blocks],
            "code_objects": code_objects,
        }
        _write_json(new / "example.json", document)
        _swap(new, machine_folder / stem)
    except OSError:
        shutil.rmtree(new, ignore_errors=True)
        raise
    return read_example(machine_folder / stem)


def write_machine(folder: Path, provenance: Provenance) -> None:
    """Store ``machine.json``. Raises ``OSError`` and then leaves the previous one in place."""
    folder.mkdir(parents=True, exist_ok=True)
    new = folder / f".machine.json{_NEW}"
    try:
        _write_json(new, provenance.to_json())
        new.replace(folder / "machine.json")
    except OSError:
        new.unlink(missing_ok=True)
        raise


def clean_up(folder: Path) -> None:
    """Repair what a killed run left. Call it only under the recorder's lock.

    Undo a swap that is half done, finish one that is all but done, and delete half-written recordings.
    """
    for old in folder.glob(f".*{_OLD}"):
        place = folder / _stem(old)
        if place.exists():
            shutil.rmtree(old)
        else:
            old.rename(place)
    for new in folder.glob(f".*{_NEW}"):
        shutil.rmtree(new) if new.is_dir() else new.unlink()


def drop_gone(folder: Path, stems: set[str]) -> None:
    """Delete recordings of examples that are not in ``stems``."""
    for place in folder.glob("[!.]*/"):
        if place.name not in stems and (place / "example.json").is_file():
            shutil.rmtree(place)


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
    """Return the folder where each example's recording lies now, by stem."""
    places = {_stem(path): path for path in sorted(folder.glob(f".*{_OLD}")) if path.is_dir()}
    places.update({path.name: path for path in sorted(folder.glob("[!.]*")) if path.is_dir()})
    return dict(sorted(places.items()))


def _stem(folder: Path) -> str:
    return folder.name[1:].removesuffix(_OLD) if folder.name.startswith(".") else folder.name


def _is_begun(folder: Path) -> bool:
    """Tell whether there is anything to read: a first run that was killed early leaves nothing whole."""
    return (folder / "machine.json").is_file() or bool(_places(folder))


def _write_json(path: Path, data: object) -> None:
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


def _refuse_clashes(examples: Iterable[ExampleRecording]) -> None:
    owner: dict[str, str] = {}
    for example in examples:
        for name in example.results:
            if name in owner:
                raise RecordingError(
                    f"two results are called {name!r}: one of {owner[name]}.py and one of {example.stem}.py; "
                    "a NAME is unique over all examples: rename the file that one of them writes"
                )
            owner[name] = example.stem
