"""What the tests of the examples share: an example is run as a downloader runs it, in a folder of its own.

`KINETOSCOPE_EXAMPLES` names another folder to take the files from, such as the downloads of a built site.
"""

import atexit
import functools
import gzip
import json
import os
import select
import shutil
import signal
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
    """Copy an example into a folder and run it there.

    A lesson, and what depends on the environment or on other modules in the folder, gets a Python of its own;
    a small run begins in a copy of one that has imported torch.
    """
    path = folder / f"{script}.py"
    if not path.exists():
        shutil.copy(source_of(script), path)
    alone = {other.stem for other in folder.glob("*.py")} == {script}
    if flags and alone and not env and hasattr(os, "fork"):
        compiles = "--compile" in flags or script == "05_recompiles"
        return _started("torch._inductor.compile_fx" if compiles else "torch").run(folder, path.name, *flags)
    return subprocess.run(
        [sys.executable, path.name, *flags],
        cwd=folder,
        env=environment(**env),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


# The copy goes on after the loop, to its own end as any program does: with its traceback, its exit handlers
# and its status.
COPIES = """
import importlib, json, os, runpy, sys
importlib.import_module(sys.argv[1])
for line in sys.stdin:
    copy = os.fork()
    if copy == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]), flush=True)
else:
    sys.exit()
folder, out, err, *sys.argv = json.loads(line)
for place, name in enumerate((os.devnull, out, err)):
    os.dup2(os.open(name, os.O_RDWR | os.O_CREAT), place)
os.chdir(folder)
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class Started:
    """A Python that has imported a module and runs each script in a copy of itself."""

    def __init__(self, module: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", COPIES, module],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        atexit.register(self.end)

    def run(self, folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
        said = [folder.with_name(f"{folder.name}-{name}") for name in ("stdout", "stderr")]
        for path in said:
            path.write_bytes(b"")
        print(json.dumps([str(part) for part in (folder, *said, *argv)]), file=self.process.stdin, flush=True)
        if not select.select([self.process.stdout], [], [], 300)[0]:
            os.killpg(self.process.pid, signal.SIGKILL)
        status = self.process.stdout.readline()
        out, err = (path.read_text(encoding="utf-8") for path in said)
        assert status, f"{argv} did not end, or the process it was to be a copy of did: {err}"
        return subprocess.CompletedProcess(argv, int(status), out, err)

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=10)


_started = functools.cache(Started)


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
