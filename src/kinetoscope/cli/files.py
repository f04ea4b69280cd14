"""Files that a command writes: beside the place where they belong, swapped in when whole."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from kinetoscope.cli.output import Refusal

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable


def add_force(parser: argparse.ArgumentParser) -> None:
    """Adds the option without which nothing that exists is overwritten."""
    parser.add_argument("--force", action="store_true", help="overwrite the file if there is one")


def refuse_existing(path: Path, *, force: bool) -> None:
    """Raises :class:`Refusal` for a place where something is, or where nothing can be written."""
    if str(path) == "-":
        raise Refusal("- is a pipe to read a trace from; to write, give the name of a file.")
    if path.is_dir():
        raise Refusal(f"{path} is a folder; give the name of a file.")
    if not force and (path.exists() or path.is_symlink()):
        raise Refusal(f"{path} exists; choose another name, or --force to overwrite it.")
    if not path.parent.is_dir():
        raise Refusal(f"{path.parent} is no folder; make it first.")


def write_whole(path: Path, write: Callable[[Path], object], *, force: bool = False) -> None:
    """Calls ``write`` with a temporary file in the same folder, then gives that its name.

    Raises :class:`Refusal` where something has that name, unless ``force``.
    """
    refuse_existing(path, force=force)
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:40]}-", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    beside = Path(name)
    try:
        write(beside)
        beside.chmod(0o666 & ~_umask())
        if force:
            beside.replace(path)
        else:
            _name_new(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def free_name(path: Path) -> Path:
    """``path``, or with a number at its end, such that nothing has this name."""
    found, number = path, 1
    while found.exists() or found.is_symlink():
        number += 1
        found = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return found


def _name_new(beside: Path, path: Path) -> None:
    # A link is refused where the name is taken, even if somebody took it only now.
    try:
        os.link(beside, path)
    except FileExistsError:
        raise Refusal(f"{path} exists; choose another name, or --force to overwrite it.") from None
    except (OSError, NotImplementedError):
        refuse_existing(path, force=False)
        with contextlib.suppress(FileNotFoundError):
            beside.replace(path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
