"""Writing a recording replaces the old one completely, or leaves it as it was."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kinetoscope.record import store
from kinetoscope.record.provenance import Machine, Provenance, RecordingError
from kinetoscope.record.store import (
    BlockOutput,
    clean_up,
    drop_gone,
    read_example,
    read_machine,
    read_machines,
    write_example,
    write_machine,
)

PROVENANCE = Provenance(Machine("A GPU", "sm_90"), "3.12.1", {"torch": "2.13.0"}, "2026-11-29", "abc+")
OLD, NEW = {"x.json.gz": b"old", "gone.csv": b"a\n1\n"}, {"x.json.gz": b"new"}


def write(
    folder: Path, files: dict[str, bytes] = OLD, stem: str = "one", **changes: Any
) -> store.ExampleRecording:
    given = {"blocks": [BlockOutput("c", "b", "rst é\n")], "run_time": 1.23, "provenance": PROVENANCE}
    return write_example(folder, stem, **{**given, "code_objects": {"F": []}, "files": files, **changes})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One machine with one recorded example."""
    folder = tmp_path / "recordings/a-gpu"
    write(folder)
    write_machine(folder, PROVENANCE)
    return folder


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".gz", ".csv")}


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_was_written_is_read(folder: Path) -> None:
    machine = read_machine(folder)
    example = machine.examples["one"]
    assert machine.name == "a-gpu"
    assert machine.provenance == example.provenance == PROVENANCE
    assert example.outputs == {"b.c": "rst é\n"}
    assert example.run_time == 1.2
    assert example.code_objects == {"F": []}
    assert (list(example.traces), list(example.tables), example.figures) == (["x"], ["gone"], [])
    assert machine.names == {"x": folder / "one/x.json.gz", "gone": folder / "one/gone.csv"}
    assert machine.owner("x") == example
    assert machine.owner("y") is None
    assert read_machines(folder.parent) == {"a-gpu": machine}
    assert read_machines(folder / "nowhere") == {}


def test_the_same_recording_gives_the_same_files(folder: Path) -> None:
    before = (folder / "one/example.json").read_bytes()
    write(folder)
    assert (folder / "one/example.json").read_bytes() == before
    assert before.endswith(b"}\n")


def test_a_new_recording_takes_the_place_of_the_old_one(folder: Path) -> None:
    before = read_example(folder / "one").fingerprint
    after = write(folder, NEW)
    assert content(folder / "one") == NEW
    assert after.fingerprint != before
    assert visible(folder) == ["machine.json", "one"]


class Killed(BaseException):
    """Our code does not catch this, so it leaves the same files as a killed process."""


@pytest.mark.parametrize("at", range(8))
def test_killed_at_any_step(folder: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Whichever step is the last, a reader finds the old recording or the new one, complete."""
    left = at
    for owner, name in (
        (Path, "rename"),
        (Path, "write_bytes"),
        (Path, "write_text"),
        (Path, "mkdir"),
        (shutil, "rmtree"),
    ):
        do = getattr(owner, name)

        def counted(*args: Any, do: Any = do, **options: Any) -> Any:
            nonlocal left
            if not left:
                raise Killed
            left -= 1
            return do(*args, **options)

        monkeypatch.setattr(owner, name, counted)
    try:
        write(folder, NEW)
        finished = True
    except Killed:
        finished = False
    monkeypatch.undo()
    expected = [NEW] if finished else [OLD, NEW]
    read = read_machine(folder).examples["one"]
    before = visible(folder)
    assert read.stem == "one"
    assert content(read.folder) in expected
    assert read_machines(folder.parent)["a-gpu"].names["x"].read_bytes() in (b"old", b"new")
    assert visible(folder) == before, "reading must not repair"
    assert finished == (at >= 6), "writing takes six steps; try all of them"

    clean_up(folder)
    assert visible(folder) == ["machine.json", "one"]
    assert content(folder / "one") in expected
    assert content(write(folder, NEW).folder) == NEW


def test_a_reader_does_not_disturb_a_recorder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader between the two renamings finds the old recording, and the recorder can finish."""
    rename, seen = Path.rename, []

    def and_read(self: Path, target: Path) -> Path:
        moved = rename(self, target)
        seen.append(content(read_machine(folder).examples["one"].folder))
        return moved

    monkeypatch.setattr(Path, "rename", and_read)
    write(folder, NEW)
    assert seen == [OLD, NEW]


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EACCES, errno.EROFS])
@pytest.mark.parametrize("where", ["write_bytes", "write_text", "mkdir", "rename"])
def test_a_failing_step_leaves_the_old_recording(
    folder: Path, monkeypatch: pytest.MonkeyPatch, where: str, error: int
) -> None:
    do, calls = getattr(Path, where), []

    def fails(self: Path, *args: Any, **options: Any) -> Any:
        calls.append(self)
        if where != "rename" or self.name.endswith(".new"):
            raise OSError(error, os.strerror(error))
        return do(self, *args, **options)

    monkeypatch.setattr(Path, where, fails)
    with pytest.raises(OSError, match=os.strerror(error)):
        write(folder, NEW)
    monkeypatch.undo()
    assert calls
    assert visible(folder) == ["machine.json", "one"]
    assert content(folder / "one") == OLD
    assert read_machine(folder).examples["one"].outputs == {"b.c": "rst é\n"}


def test_machine_json_that_cannot_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any, **options: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space"):
        write_machine(folder, Provenance(Machine("B"), "3"))
    monkeypatch.undo()
    assert read_machine(folder).provenance == PROVENANCE
    assert visible(folder) == ["machine.json", "one"]


def test_a_disk_that_is_really_full(tmp_path: Path, small_disk: Callable[[Path, str], None]) -> None:
    small_disk(tmp_path, "256k")
    write(tmp_path / "m")
    write_machine(tmp_path / "m", PROVENANCE)
    with pytest.raises(OSError, match="No space left"):
        write(tmp_path / "m", {"x.json.gz": os.urandom(400_000)})
    assert visible(tmp_path / "m") == ["machine.json", "one"]
    assert content(read_machine(tmp_path / "m").examples["one"].folder) == OLD


# --- recordings that cannot be read -------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "{", "null", "[]", "3", "{}", '"x"', '{"format": 1}', "\udc80"])
@pytest.mark.parametrize("file", ["machine.json", "one/example.json"])
def test_damaged_json(folder: Path, file: str, text: str) -> None:
    (folder / file).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(RecordingError, match=r"damaged or missing .*; restore it with 'git checkout -- "):
        read_machine(folder)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("blocks", None), ("blocks", [{"code": "x"}]), ("blocks", ["x"]), ("run_time_s", "soon"),
        ("provenance", "x"), ("provenance", {"machine": {"gpu": "A", "colour": "red"}, "python": "3"}),
        ("provenance", {}),
    ],
)  # fmt: skip
def test_damaged_fields(folder: Path, key: str, value: object) -> None:
    path = folder / "one/example.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(RecordingError, match="damaged or missing"):
        read_machine(folder)


def test_a_file_that_is_gone(folder: Path) -> None:
    (folder / "one/x.json.gz").unlink()
    with pytest.raises(RecordingError, match=r"example\.json: damaged or missing .*x\.json\.gz is gone"):
        read_machine(folder)


def test_another_format(folder: Path) -> None:
    path = folder / "one/example.json"
    path.write_text(path.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(RecordingError, match="format 2 is not 1; record this example again"):
        read_machine(folder)


def test_a_clash_of_names(folder: Path) -> None:
    write(folder, {"x.csv": b"a\n1\n"}, stem="two")
    with pytest.raises(
        RecordingError, match=r"two results are called 'x': one of one\.py and one of two\.py"
    ):
        read_machine(folder)
    assert read_machine(folder, {"two"}).names == {"x": folder / "two/x.csv"}


def test_what_a_first_run_left_when_it_was_killed_is_no_recording(folder: Path) -> None:
    """It must not keep anyone from reading the other machines."""
    (folder.parent / "b-gpu/.one.new").mkdir(parents=True)
    (folder.parent / "c-gpu").mkdir()
    (folder.parent / "README.md").write_text("x")
    assert list(read_machines(folder.parent)) == ["a-gpu"]


def test_recordings_of_examples_that_are_gone(folder: Path) -> None:
    write(folder, NEW, stem="two")
    (folder / "notes").mkdir()
    drop_gone(folder, {"two"})
    assert visible(folder) == ["machine.json", "notes", "two"]
