"""Recording examples: what is kept of a run, and what happens when one fails."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from kinetoscope.record import run as run_module
from kinetoscope.record import store
from kinetoscope.record.provenance import Machine, Provenance, RecordingError
from kinetoscope.record.run import why_stale, worker_settings
from kinetoscope.record.script import read_script
from kinetoscope.record.store import name_of, result_files

DATA = Path(__file__).parents[1] / "data"
SRC = Path(__file__).parents[2] / "src"


def line_of(path: Path, text: str) -> int:
    """Return the number of the only line that contains ``text``."""
    lines = path.read_text().splitlines()
    [number] = [number for number, line in enumerate(lines, 1) if text in line]
    return number


def test_two_runs_at_once(darkroom, old_recording: Callable[[], bool]) -> None:
    """Without a lock, the second would take the files of the first for leftovers of a killed run."""
    code = (
        "import subprocess, sys\nfrom filelock import FileLock\n"
        f"lock = FileLock({str(darkroom.folder / '.lock')!r}, timeout=600)\n"
        "with lock:\n    print('held', flush=True)\n    sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(RecordingError, match=r"another build is recording into .*a-gpu; wait"):
            darkroom.record(darkroom.example("two", "x = 2"))
        assert old_recording()
        other.communicate("")
    assert darkroom.record(darkroom.example("two", "x = 2")).failures == []


# --- a run that succeeds ------------------------------------------------------------------------------------


def test_what_is_kept(darkroom) -> None:
    path = darkroom.example(
        "one", "SIZE = 64\nprint('size', SIZE)\nprint(__import__('os').getcwd(), flush=True)"
    )
    run = darkroom.record(path, real=True)
    assert run.failures == []
    [example] = run.recorded
    assert example == darkroom.read().examples["one"]
    script = read_script(path)
    assert [block.key for block in script.blocks] == [block.key for block in example.blocks]
    first, last = (block.rst for block in example.blocks)
    assert "size 64" in first
    assert str(darkroom.root) not in first
    assert ".. timeline:: one\n" in last
    assert ".. profiler-table:: one\n" in last
    assert list(example.traces) == ["one"]
    assert example.provenance.libraries["torch"] == "9.9.9+stand.in"
    assert 0 <= example.run_time < 60
    assert darkroom.said == ["recording one (1 of 1) …", f"recording one: {example.run_time:.0f} s; one"]


def test_figures_tables_and_several_traces(darkroom) -> None:
    code = (
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\n\n# %%\n# Tables.\n\n"
        "from pathlib import Path\nPath('traces').mkdir()\n"
        "Path('traces/sweep.csv').write_text('rows,median_us\\n1,2\\n')"
    )
    run = darkroom.record(darkroom.example("one", code), real=True)
    assert run.failures == []
    [example] = run.recorded
    assert [path.name for path in example.figures] == ["sphx_glr_one_001.png"]
    assert list(example.tables) == ["sweep"]
    assert "sphx_glr_one_001.png" in example.blocks[0].rst
    assert ".. recorded-table:: sweep\n" in example.blocks[1].rst
    assert "timeline" not in example.blocks[1].rst  # each trace is shown where it was written


def test_an_example_does_not_see_the_one_before(darkroom) -> None:
    one = darkroom.example("one", "import sys\nsys.leftover = 1")
    two = darkroom.example(
        "two", "import os, sys\nprint(hasattr(sys, 'leftover'), os.path.exists('traces'), sys.argv)"
    )
    run = darkroom.record(one, two, real=True)
    assert run.failures == []
    assert "False False ['two.py']" in run.recorded[1].blocks[0].rst.replace(os.sep, "/")
    assert (darkroom.folder / "machine.json").is_file()


def test_recording_twice_gives_the_same_files(darkroom, monkeypatch: pytest.MonkeyPatch) -> None:
    # except for the run time
    monkeypatch.setattr(
        run_module, "write_example", lambda *a, **k: store.write_example(*a, **{**k, "run_time": 1})
    )
    path = darkroom.example("one", "print('x')")
    first = darkroom.record(path).recorded[0].fingerprint
    assert darkroom.record(path).recorded[0].fingerprint == first


# --- a run that fails ---------------------------------------------------------------------------------------


def test_an_exception(darkroom, old_recording: Callable[[], bool]) -> None:
    path = darkroom.example("one", "def f():\n    raise ValueError('on fire')\n\nf()")
    line, message = darkroom.fails(path, real=True)
    assert line == line_of(path, "raise ValueError")
    assert "ValueError: on fire" in message
    assert str(darkroom.root) not in message
    assert old_recording()


def test_an_exception_in_a_library(darkroom) -> None:
    """The failure names the line of the example, not of the library."""
    path = darkroom.example("one", "import json\n\njson.loads('{')")
    line, message = darkroom.fails(path)
    assert line == line_of(path, "json.loads")
    assert "JSONDecodeError" in message


@pytest.mark.parametrize("code", ["import sys\nsys.exit()", "exit('why')"])
def test_a_call_of_exit(darkroom, code: str) -> None:
    path = darkroom.example("one", code)
    line, message = darkroom.fails(path)
    assert line == line_of(path, code.splitlines()[-1])
    assert "called sys.exit(" in message
    assert "raise an exception instead" in message


def test_an_error_of_argparse_is_a_call_of_exit_too(darkroom) -> None:
    path = darkroom.example("one", "import argparse\nargparse.ArgumentParser().error('bad')")
    line, message = darkroom.fails(path)
    assert line == line_of(path, ".error('bad')")
    assert "called sys.exit(2)" in message


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os\nprint('the last words', flush=True)\nos._exit(7)", "status 7"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "status -9"),
    ],
)
def test_a_process_that_dies(darkroom, old_recording: Callable[[], bool], code: str, said: str) -> None:
    _, message = darkroom.fails(darkroom.example("one", code), real=True)
    assert f"ended its process with {said} before it was through; run it by itself to see why" in message
    assert old_recording()


@pytest.mark.parametrize("text", ["Skipped: no GPU", "  [skip] hub"])
def test_an_example_that_prints_that_it_skips(darkroom, old_recording: Callable[[], bool], text: str) -> None:
    path = darkroom.example("one", f"print('words')\nprint({text!r})")
    line, message = darkroom.fails(path)
    assert line == 5  # where its block begins
    assert "printed “" in message
    assert "install what it needs, or let it raise" in message
    assert old_recording()


@pytest.mark.parametrize(
    ("text", "is_skip"),
    [
        ("skip", True), ("Skipped: no GPU", True), ("    --- SKIPPED ---", True), ("x\n[skip] hub", True),
        ("Skipped: 3 tests need a GPU", True), ("(skipped: no GPU)", True), ("skip the fused kernel", True),
        ("skip_layer_norm", False), ("we do not skip", False), ("no skipping", False),
        ("Net(\n  (skip): Identity()\n)", False), ("(skips): ModuleList(", False), ("skip.weight", False),
        ("{'skip': 3}", False), ("skip = True", False), ("skip: tensor([1.])", False), ("skip: 0.5", False),
        ("skip    0.00%  12us", False), ("skip   Linear   64", False), ("Skip connections: 3", False),
    ],
)  # fmt: skip
def test_which_text_counts_as_skipping(text: str, is_skip: bool) -> None:
    assert bool(run_module._SKIPPED.search(text)) == is_skip


def test_text_is_recorded_as_it_was_printed(darkroom) -> None:
    """Neither directives nor what the recorder once marked addresses with is taken for anything else."""
    text = "(skip): Identity()\n\n.. image-sg:: /gallery/images/x.png\n\n\ue002 /gallery/images/x.png"
    run = darkroom.record(darkroom.example("one", f"print({text!r})"))
    assert run.failures == []
    printed = run.recorded[0].blocks[0].rst.split(".. code-block:: none\n\n")[1]
    assert dedent(printed).strip() == text


def test_an_example_that_is_expected_to_fail(darkroom) -> None:
    code = "print('before')\n\n# %%\n# Fails.\n\nraise ValueError('as expected')\n\n# %%\n# Not run.\n\nx = 1"
    script = replace(read_script(darkroom.example("one", code, trace=None)), should_fail=True)
    run = darkroom.record(script)
    assert run.failures == []
    before, fails, after = (block.rst.strip() for block in run.recorded[0].blocks)
    assert "before" in before
    assert fails.endswith("ValueError: as expected")
    assert str(darkroom.root) not in fails
    assert after == ""
    fixed = replace(read_script(darkroom.example("one", "x = 1")), should_fail=True)
    [failure] = darkroom.record(fixed).failures
    assert "is one of expected_failing_examples but ran to its end" in failure.message


def test_text_that_only_looks_like_skipping(darkroom) -> None:
    run = darkroom.record(darkroom.example("one", "print('skip_layer_norm')\nprint('we do not skip')"))
    assert run.failures == []


def test_no_trace(darkroom, old_recording: Callable[[], bool]) -> None:
    _, message = darkroom.fails(darkroom.example("one", "print('done')", trace=None))
    assert "wrote no trace: export one with prof.export_chrome_trace('traces/NAME.json.gz')" in message
    assert old_recording()


@pytest.mark.parametrize("number", ["06", "07"])
def test_a_damaged_trace(darkroom, old_recording: Callable[[], bool], number: str) -> None:
    [source] = (DATA / "small").glob(f"{number}_*")
    _, message = darkroom.fails(darkroom.example("one", "x = 1", trace="one.json", source=str(source)))
    assert "wrote a damaged trace: traces/one.json: " in message
    assert "record it again" in message.lower()
    assert old_recording()


@pytest.mark.parametrize("name", ["a.b", "1x", "machine"])
def test_a_bad_name(darkroom, name: str) -> None:
    trace = f"{name}.json.gz"
    _, message = darkroom.fails(darkroom.example("one", "x = 1", trace=trace))
    assert f"wrote traces/{trace}: a NAME is letters, digits and underscores" in message


def test_two_examples_with_one_name(darkroom) -> None:
    one, two = darkroom.example("one", "x = 1"), darkroom.example("two", "x = 2", trace="one.json.gz")
    run = darkroom.record(one, two)
    assert [example.stem for example in run.recorded] == ["one"]
    [failure] = run.failures
    assert failure.path == two
    assert "wrote traces/one.json.gz, but one.py writes the NAME 'one' already" in failure.message
    assert list(darkroom.read().examples) == ["one"]


def test_one_example_with_one_name_twice(darkroom) -> None:
    code = "from pathlib import Path\nPath('traces').mkdir()\nPath('traces/one.csv').write_text('a\\n1\\n')"
    _, message = darkroom.fails(darkroom.example("one", code))
    assert "it wrote the NAME 'one' already" in message


def test_the_others_are_recorded_all_the_same(darkroom) -> None:
    run = darkroom.record(darkroom.example("one", "1 / 0"), darkroom.example("two", "x = 1"))
    assert [example.stem for example in run.recorded] == ["two"]
    assert [failure.path.stem for failure in run.failures] == ["one"]
    assert list(darkroom.read().examples) == ["two"]


def test_recordings_of_deleted_examples_are_deleted_after_a_run_without_failures(darkroom) -> None:
    one, two = darkroom.example("one", "x = 1"), darkroom.example("two", "x = 2")
    darkroom.record(one, two)
    two.unlink()
    darkroom.record(darkroom.example("one", "1 / 0"))
    assert sorted(darkroom.read().examples) == ["one", "two"]
    darkroom.record()
    assert sorted(darkroom.read().examples) == ["one"]


# --- a full disk, a killed run ------------------------------------------------------------------------------


def test_a_full_disk_for_recordings(darkroom, small_disk: Callable[[Path, str], None]) -> None:
    small_disk(darkroom.folder.parent, "64k")
    assert darkroom.record(darkroom.example("one", "x = 1")).failures == []
    before = darkroom.read().examples["one"].fingerprint
    path = darkroom.example("one", "print('word ' * 20000)")
    _, message = darkroom.fails(path)
    assert "No space left on device" in message
    assert "its previous recording is kept; free some space and build again" in message
    assert darkroom.read().examples["one"].fingerprint == before
    assert {path.name for path in darkroom.folder.iterdir()} - {".lock"} == {"machine.json", "one"}


def test_a_full_disk_for_runs(
    darkroom,
    old_recording: Callable[[], bool],
    tmp_path: Path,
    small_disk: Callable[[Path, str], None],
) -> None:
    small_disk(tmp_path / "small", "32k")
    path = darkroom.example("one", "open('big', 'w').write('x' * 100000)")
    [failure] = darkroom.record(path, scratch=tmp_path / "small", real=True).failures
    assert "No space left on device" in failure.message
    assert "free some space and build again" in failure.message
    assert old_recording()


def test_no_room_for_a_temporary_folder(
    darkroom, old_recording: Callable[[], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = darkroom.example("one", "x = 2")
    monkeypatch.setattr(run_module.tempfile, "TemporaryDirectory", full)
    _, message = darkroom.fails(path)
    assert "free some space and build again" in message
    monkeypatch.undo()
    assert old_recording()


def test_a_folder_that_may_not_be_written(
    darkroom, old_recording: Callable[[], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(path: Path, data: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(store, "_write_json", denied)
    _, message = darkroom.fails(darkroom.example("one", "x = 2"))
    assert "Permission denied" in message
    assert "fix that and build again" in message
    monkeypatch.undo()
    assert old_recording()


def test_a_run_that_is_killed_half_way(darkroom, tmp_path: Path) -> None:
    """Killed in its second example, a run leaves the first recording new and the second as it was."""
    one, two = darkroom.example("one", "x = 1"), darkroom.example("two", "x = 1")
    darkroom.record(one, two)
    before = darkroom.read().examples["two"].fingerprint
    darkroom.example("one", "x = 2")
    darkroom.example("two", f"open({str(tmp_path / 'running')!r}, 'w').close()\nimport time\ntime.sleep(600)")
    code = (
        "import sys\nfrom pathlib import Path\nfrom kinetoscope.record.run import RecorderConfig, record\n"
        "from kinetoscope.record.script import read_script\n"
        "from kinetoscope.record.provenance import Machine, Provenance\n"
        "config = RecorderConfig(Path(sys.argv[1]), 'gallery', {}, print)\n"
        "record([read_script(Path(p)) for p in sys.argv[2:]], Provenance(Machine('A GPU', 'sm_90'), '3'),"
        " config, all_stems={'one', 'two'})"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SRC), os.environ["PYTHONPATH"]])}
    process = subprocess.Popen(
        [sys.executable, "-c", code, darkroom.folder, one, two],
        env=environ, start_new_session=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 600
        while not (tmp_path / "running").exists():
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.05)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    machine = darkroom.read()
    assert machine.examples["two"].fingerprint == before
    assert why_stale(read_script(one), machine.examples["one"], machine.examples["one"].provenance) == ""
    assert (
        why_stale(read_script(two), machine.examples["two"], machine.examples["two"].provenance)
        == "its code changed"
    )


def test_the_next_run_repairs_what_a_killed_run_left(darkroom) -> None:
    path = darkroom.example("one", "x = 1")
    darkroom.record(path)
    (darkroom.folder / "one").rename(darkroom.folder / ".one.old")
    (darkroom.folder / ".one.new").mkdir()
    assert list(darkroom.read().examples) == ["one"]
    darkroom.record()
    assert {item.name for item in darkroom.folder.iterdir()} - {".lock"} == {"machine.json", "one"}


# --- what is stale ------------------------------------------------------------------------------------------

MACHINE = Machine("NVIDIA H200", "sm_90", "580.1", "13.0", "a CPU", 132, 150)
THEN = Provenance(MACHINE, "3.12.1", {"torch": "2.11.0", "triton": "3.6.0"}, "2026-11-29", "abc")


@pytest.mark.parametrize(
    ("now", "why"),
    [
        (THEN, ""),
        (replace(THEN, recorded="2027-01-01", revision="def+"), ""),
        (replace(THEN, machine=replace(MACHINE, gpu="NVIDIA A100")), "the machine changed"),
        (replace(THEN, machine=replace(MACHINE, driver="590.2")), "driver or machine changed"),
        (replace(THEN, python="3.13.0"), "changed: python 3.12.1 → 3.13.0"),
        (replace(THEN, libraries={"torch": "2.12.0", "triton": "3.6.0"}), "changed: torch 2.11.0 → 2.12.0"),
        (replace(THEN, libraries={"torch": "2.11.0"}), "changed: triton 3.6.0 → –"),
        (replace(THEN, libraries={**THEN.libraries, "kernels": "0.1"}), "changed: kernels – → 0.1"),
    ],
)
def test_why_stale(darkroom, now: Provenance, why: str) -> None:
    path = darkroom.example("one", "x = 1")
    script = read_script(path)
    recording = store.ExampleRecording(
        path.parent,
        "one",
        tuple(store.BlockOutput(block.code, block.before, "") for block in script.blocks),
        1.0,
        THEN,
    )
    assert why_stale(script, recording, now) == why
    assert why_stale(script, None, now) == "not recorded on this machine"
    changed = read_script(darkroom.example("one", "x = 2"))
    assert why_stale(changed, recording, now) == "its code changed"
    shorter = read_script(darkroom.example("one", "x = 1", trace=None))
    assert why_stale(shorter, recording, now) == "its code changed"


def test_names_of_files(tmp_path: Path) -> None:
    for name in ("b.json.gz", "a.json", "c.csv", ".hidden.json", "notes.txt", "d.json.gz.tmp"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1, 1))
    os.utime(tmp_path / "a.json", (2, 2))
    assert [path.name for path in result_files(tmp_path)] == ["b.json.gz", "c.csv", "a.json"]
    assert [name_of(path) for path in result_files(tmp_path)] == ["b", "c", "a"]
    assert name_of(Path("a.b.json.gz")) == "a.b"
    assert result_files(tmp_path / "nowhere") == []


def test_a_scraper_that_is_an_object() -> None:
    with pytest.raises(RecordingError, match="give its dotted name, a string"):
        worker_settings({"image_scrapers": [object()]})
    assert worker_settings({"capture_repr": (), "gallery_dirs": "x"}) == {"capture_repr": ()}
    # Sphinx-Gallery makes numbers of "2x", and refuses numbers.
    assert worker_settings({"image_srcset": [1.5, 2.0]}) == {"image_srcset": ["1.5x", "2x"]}
