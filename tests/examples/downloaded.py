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
    """An environment without a GPU and without paths to our own modules.

    What is compiled here is small: the processes that Inductor would start for it cost more than they save.
    """
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "TRITON_INTERPRET")}
    ours = {"CUDA_VISIBLE_DEVICES": "", "MPLBACKEND": "Agg", "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    return kept | ours | more


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


# Importing torch takes longer than parsing, so one process parses all command lines.
PARSE_ALL = """
import contextlib, io, json, runpy, sys
answers = {}
for script, lines in json.loads(sys.argv[1]).items():
    answers[script] = []
    for line in lines:
        sys.argv, errors = [f"{script}.py", *line.split()], io.StringIO()
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
            try:
                runpy.run_path(sys.argv[0], run_name="__main__")
                code = 0
            except SystemExit as end:
                code = end.code
        answers[script].append([code, errors.getvalue()])
print(json.dumps(answers))
"""


def parse_all(folder: Path, lines: dict[str, list[str]]) -> dict[str, list[tuple[int, str]]]:
    """Exit status and errors of each script with each of its command lines; ``taken`` is a file there."""
    for script in lines:
        shutil.copy(source_of(script), folder / f"{script}.py")
    (folder / "taken").write_text("a file, no folder")
    done = subprocess.run(
        [sys.executable, "-c", PARSE_ALL, json.dumps(lines)],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return json.loads(done.stdout)
