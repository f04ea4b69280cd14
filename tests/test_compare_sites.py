"""``tests/compare_sites.py`` sees a changed page, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

PAGE = '<link href="_static/book.css?v={}"><p>{}</p>\n'


def site(folder: Path, checksum: str, text: str) -> Path:
    (folder / "_static").mkdir(parents=True)
    (folder / "_static/book.css").write_text(checksum, encoding="utf-8")
    (folder / "index.html").write_text(PAGE.format(checksum, text), encoding="utf-8")
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("a.py", (2000 + int(checksum, 16), 1, 1, 0, 0, 0)), "print(1)")
    return folder


def compared(before: Path, after: Path) -> tuple[int, str]:
    script = Path(__file__).with_name("compare_sites.py")
    done = subprocess.run(
        [sys.executable, script, before, after], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_what_differs(tmp_path: Path) -> None:
    first = site(tmp_path / "first", "1", "one")
    assert compared(first, site(tmp_path / "second", "2", "one")) == (0, "\n0 of 2 files differ\n")
    third = site(tmp_path / "third", "1", "two")
    (third / "more.html").touch()
    status, told = compared(first, third)
    assert status == 1
    assert "changed: index.html" in told and "only after: more.html" in told
    assert "<p>one</p>" in told and "<p>two</p>" in told
    assert told.endswith("2 of 3 files differ\n")


def test_a_folder_without_a_site(tmp_path: Path) -> None:
    status, told = compared(tmp_path, tmp_path)
    assert status == 1 and "has no index.html" in told
