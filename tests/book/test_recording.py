"""Builds that record: what is recorded, and what a failing example leaves behind."""

from __future__ import annotations

from pathlib import Path

import pytest

MACHINE = "test-gpu-9000"


def snapshot(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def faulty(site, code: str) -> int:
    """Put ``code`` into an example, and return its line."""
    site.edit("examples/one.py", "SIZE = 64\n", f"SIZE = 64\n{code}\n")
    return site.line("examples/one.py", code)


RAISES = {
    "raises": ("raise RuntimeError('the GPU is on fire')", ["the GPU is on fire"]),
    "sys.exit": ("raise SystemExit(3)", ["called sys.exit(3)", "let the script run to its end"]),
    "skip": ("print('Skipping: no GPU')", ["printed “Skipping: no GPU”", "install what it needs"]),
}


@pytest.mark.parametrize(("case", "mode"), [("raises", "live"), *((case, "record") for case in RAISES)])
def test_an_example_that_cannot_be_recorded(site, case: str, mode: str) -> None:
    """One warning at the right line; status 1 even without ``-W``; the old recording is kept."""
    site.with_gpu("Test GPU 9000")
    before = snapshot(site.recordings / MACHINE / "one")
    code, said = RAISES[case]
    line = faulty(site, code)
    if case == "skip":  # output belongs to a block, an exception to a line
        line = site.line("examples/one.py", "import shutil") - 1
    for options in ([], ["-W"]) if case == "raises" else ([],):
        only = () if mode == "live" else ("-D", "kinetoscope_only=one")
        built = site.build(*options, *only, mode=mode)
        assert built.status == 1
        # the traceback is part of the warning
        [warning] = [text for text in built.warnings if "WARNING" in text]
        assert f"examples/one.py:{line}:" in warning
        assert all(part in built.err for part in said), built.err
        assert "[kinetoscope.example]" in built.err
        assert snapshot(site.recordings / MACHINE / "one") == before
    assert "Recorded on Test GPU 9000" in built.text("gallery/two")


def test_a_repaired_script_leaves_no_traceback(site) -> None:
    site.with_gpu("Test GPU 9000")
    before = site.build("-W").files()
    faulty(site, "raise RuntimeError('the GPU is on fire')")
    assert site.build("-D", "kinetoscope_only=one", mode="record").status == 1
    site.edit("examples/one.py", "raise RuntimeError('the GPU is on fire')\n", "")
    after = site.build_clean()
    files = after.files()
    assert {name for name in before if before[name] != files.get(name)} <= {"searchindex.js"}
    assert b"on fire" not in b"".join(files.values())


def test_auto_records_what_is_stale_and_no_more(site) -> None:
    site.with_gpu("Test GPU 9000")
    assert "recording" not in site.build(mode="auto").out.replace("recordings", "")
    site.edit("examples/one.py", "SIZE = 64", "SIZE = 65")
    built = site.build_clean(mode="auto")
    assert "one: its code changed" in built.out
    assert "two: up to date" in built.out
    assert "recorded 1 of 1 examples on Test GPU 9000" in built.out
    assert "size 65" in built.text("gallery/one")


def test_a_renamed_example_can_be_recorded(site) -> None:
    """The recording under the old name has the same NAMEs, but that is no clash."""
    site.with_gpu("Test GPU 9000")
    (site.examples / "one.py").rename(site.examples / "uno.py")
    site.build_clean(mode="auto")
    assert sorted(path.name for path in (site.recordings / MACHINE).glob("[!.]*")) == [
        "machine.json",
        "two",
        "uno",
    ]
