"""What the tests of the examples share: an example is run as a downloader runs it, in a folder of its own.

`KINETOSCOPE_EXAMPLES` names another folder to take the files from, such as the downloads of a built site.
"""

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(os.environ.get("KINETOSCOPE_EXAMPLES") or Path(__file__).parents[2] / "examples")
NO_GPU = "No GPU found: running on the CPU; the traces will show no stream."


def source_of(script: str) -> Path:
    """The file of an example, wherever below the folder it is (a site's downloads are in subfolders)."""
    found = sorted(FOLDER.rglob(f"{script}.py"))
    assert found, f"no {script}.py below {FOLDER}"
    return found[0]


def environment(**more: str) -> dict[str, str]:
    """An environment without a GPU and without paths to our own modules."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "TRITON_INTERPRET")}
    return kept | {"CUDA_VISIBLE_DEVICES": "", "MPLBACKEND": "Agg"} | more


def run(folder: Path, script: str, *flags: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Copy an example into a folder and run it there."""
    path = folder / f"{script}.py"
    if not path.exists():
        shutil.copy(source_of(script), path)
    return subprocess.run(
        [sys.executable, path.name, *flags],
        cwd=folder,
        env=environment(**env),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def events(path: Path) -> list[dict]:
    """The events of a trace."""
    return json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]


def named(path: Path, name: str) -> int:
    """How many bars on the CPU have a name."""
    return sum(e.get("name") == name and e.get("cat") == "user_annotation" for e in events(path))
