"""Compare two builds of the site: ``python tests/compare_sites.py BEFORE AFTER``.

For a refactoring that must not change a page. Prints each difference and exits with 1 if there is any.
Ignores ``_static`` and the checksums that Sphinx appends to its addresses (``?v=…``): they follow the style
sheets and scripts, not the pages.
"""

from __future__ import annotations

import difflib
import re
import sys
import zipfile
from pathlib import Path

CHECKSUM = re.compile(rb"\?v=[0-9a-f]+")
LEFT_OUT = {"_static", ".buildinfo", ".buildinfo.bak", ".doctrees"}
LINES = 40
"""The most lines that are printed of one file's difference"""


def files(site: Path) -> dict[str, Path]:
    """The files of a built site by their path in it."""
    if not (site / "index.html").is_file():
        sys.exit(f"{site} has no index.html: give the folder of a built site")
    paths = (path for path in site.rglob("*") if path.is_file())
    return {
        name: path
        for path in paths
        if (name := path.relative_to(site).as_posix()).split("/")[0] not in LEFT_OUT
    }


def content(path: Path) -> bytes:
    """What is compared; of a zip only the members, because it also holds times."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return b"".join(name.encode() + b"\n" + archive.read(name) for name in sorted(archive.namelist()))
    return CHECKSUM.sub(b"", path.read_bytes())


def difference(before: bytes, after: bytes) -> list[str]:
    """The changed lines; for a binary file one line."""
    try:
        texts = [[line[:300] for line in data.decode().splitlines()] for data in (before, after)]
    except UnicodeDecodeError:
        return [f"{len(before)} and {len(after)} bytes"]
    return list(difflib.unified_diff(*texts, n=0, lineterm=""))[2:]


def main(before: Path, after: Path) -> int:
    """Print what differs; return the exit status."""
    old, new = files(before), files(after)
    changed = 0
    for name in sorted({*old, *new}):
        if name not in new or name not in old:
            print(f"{'only before' if name in old else 'only after'}: {name}")
            changed += 1
        elif (was := content(old[name])) != (now := content(new[name])):
            lines = difference(was, now)
            print(f"\nchanged: {name}", *lines[:LINES], sep="\n  ")
            if len(lines) > LINES:
                print(f"  … and {len(lines) - LINES} more lines")
            changed += 1
    print(f"\n{changed} of {len({*old, *new})} files differ")
    return int(changed > 0)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
