"""Run an example as somebody who downloaded it does, in a folder of its own.

`KINETOSCOPE_EXAMPLES` names another folder to take the files from, such as the downloads of a built site.
"""

import atexit
import functools
import gzip
import importlib.util
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import kinetoscope

FOLDER = Path(os.environ.get("KINETOSCOPE_EXAMPLES") or Path(__file__).parents[2] / "examples")
# Seconds after which a run counts as hanging. Even the longest needs far less on a quiet machine.
LIMIT = 900
NO_GPU = "No GPU found: running on the CPU; the traces will show no stream."


def require_torch() -> None:
    """Fail the test if torch is not installed."""
    if importlib.util.find_spec("torch") is None:
        pytest.fail("torch is not installed: install it (pip install torch), or run pytest -m 'not torch'")


def source_of(script: str) -> Path:
    """Return the file of an example, in any subfolder, as a site's downloads are."""
    paths = sorted(FOLDER.rglob(f"{script}.py"))
    assert paths, f"no {script}.py below {FOLDER}"
    return paths[0]


def environment(**more: str) -> dict[str, str]:
    """Return an environment without a GPU and without paths to our own modules.

    The tests compile only small things; for these, Inductor's processes cost more time than they save.
    """
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "TRITON_INTERPRET")}
    ours = {"CUDA_VISIBLE_DEVICES": "", "MPLBACKEND": "Agg", "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    return kept | ours | more


# Replacements in a script that make its lesson short on a CPU.
SMALLER = {
    "01_matmul_add": {"large = 1024": "large = 128"},
    "02_strides_and_views": {"default=4096": "default=256"},
    "03_simple_mlp": {
        "args.batch or 64, args.seq or 128": "args.batch or 2, args.seq or 4",
        "args.dim or 768, args.hidden or 3072": "args.dim or 64, args.hidden or 128",
        "width = 1024 if lesson": "width = 64 if lesson",
        "rows = 1024 if lesson": "rows = 32 if lesson",
    },
    "03_kernels_mlp": {
        "default=768": "default=64",
        "default=3072": "default=128",
        "run_time=0.3": "run_time=0.02",
    },
    "05_regimes": {"default=768": "default=64", "default=3072": "default=128"},
    "05_recompiles": {"default=768": "default=64", "default=3072": "default=128", "else 1024": "else 64"},
}
# These scripts tell Triton to interpret, which works only if nothing has imported it before.
INTERPRETED = ("03_kernels_mlp", "04_pointwise_geglu", "04_dual_gemm", "04_fused_mlp")


def run_lesson(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run an example without flags, which is its whole lesson, at sizes for a CPU; it must succeed."""
    text = source_of(script).read_text(encoding="utf-8")
    for size, smaller in SMALLER.get(script, {}).items():
        assert text.count(size) == 1, f"{script} has {size!r} {text.count(size)} times"
        text = text.replace(size, smaller)
    (folder / f"{script}.py").write_text(text, encoding="utf-8")
    done = run_file(folder, f"{script}.py", compiles=script not in INTERPRETED)
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def run(folder: Path, script: str, *flags: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Copy an example into a folder, unless the folder has one, and run it there."""
    if not (folder / f"{script}.py").exists():
        shutil.copy(source_of(script), folder)
    compiles = not env and ("--compile" in flags or script == "05_recompiles")
    return run_file(folder, f"{script}.py", *flags, compiles=compiles, env=env)


def run_file(
    folder: Path, file: str, *argv: str, compiles: bool = False, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a Python file in a folder; ``env`` is added to its environment.

    It starts as a copy of a process that has imported torch, and torch's compiler if it ``compiles``.
    """
    if hasattr(os, "fork"):
        return _started("torch._inductor.compile_fx" if compiles else "torch").run(
            folder, env or {}, file, *argv
        )
    return subprocess.run(
        [sys.executable, file, *argv],
        cwd=folder,
        env=environment(**(env or {})),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


# Only a copy leaves the loop by `break`. It ends like any program, with a traceback, exit handlers, a status.
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
folder, out, err, env, *sys.argv = json.loads(line)
os.environ.update(env)
# The same first entries as for any program.
more = env.get("PYTHONPATH", "").split(os.pathsep)
sys.path[:1] = [os.path.join(folder, os.path.dirname(sys.argv[0])), *filter(None, more)]
for place, name in enumerate((os.devnull, out, err)):
    os.dup2(os.open(name, os.O_RDWR | os.O_CREAT), place)
os.chdir(folder)
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class Started:
    """A Python process that has imported a module and runs each file in a fork of itself."""

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

    def run(self, folder: Path, env: dict[str, str], *argv: str) -> subprocess.CompletedProcess[str]:
        said = [folder.with_name(f"{folder.name}-{name}") for name in ("stdout", "stderr")]
        for path in said:
            path.write_bytes(b"")
        order = [str(folder), *map(str, said), env, *argv]
        print(json.dumps(order), file=self.process.stdin, flush=True)
        if not select.select([self.process.stdout], [], [], LIMIT)[0]:
            os.killpg(self.process.pid, signal.SIGKILL)
        status = self.process.stdout.readline()
        out, err = (path.read_text(encoding="utf-8") for path in said)
        assert status, f"{argv} did not end, or the process that forks it has died: {err}"
        return subprocess.CompletedProcess(argv, int(status), out, err)

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=60)


_started = functools.cache(Started)


def traces_in(folder: Path, printed: str) -> list[kinetoscope.Trace]:
    """Load all traces of a run, of which there is at least one, and check that it printed their paths."""
    paths = sorted((folder / "traces").glob("*.json.gz"))
    assert paths, f"no trace in {folder}"
    for path in paths:
        assert f"Trace: {Path('traces') / path.name}" in printed, f"{path.name} is not in: {printed}"
    return [kinetoscope.load(path) for path in paths]


def events(path: Path) -> list[dict]:
    """Return the events of a trace as in its JSON."""
    return json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]


def named(path: Path, name: str) -> int:
    """Count the user annotations of a name on the CPU."""
    return sum(e.get("name") == name and e.get("cat") == "user_annotation" for e in events(path))


# Command lines that an example must refuse, and a part of its message.
Bad = list[tuple[str, str]]
HUGE = "9" * 12
BAD_FOR_ALL: Bad = [
    ("--steps -3", "'-3' is not a whole number above zero"),
    ("--steps 2", "--steps: at least 3"),
    ("--dtype fp8", "invalid choice"),
    ("--device cuda", "--device cuda: torch sees no GPU here"),
    ("--device tpu", "invalid choice"),
    ("--out taken", "--out taken: "),
    ("--frobnicate", "unrecognized arguments"),
]

# One process parses all command lines, because importing torch takes longer than parsing.
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


def parse_all(folder: Path, bad: dict[str, Bad]) -> dict[str, list[tuple[int, str]]]:
    """Return status and stderr of each script for the command lines in ``BAD_FOR_ALL`` and its own."""
    for script in bad:
        shutil.copy(source_of(script), folder / f"{script}.py")
    (folder / "taken").write_text("a file, no folder")
    (folder / "parse_all.txt").write_text(PARSE_ALL, encoding="utf-8")
    lines = {script: [flags for flags, _ in BAD_FOR_ALL + cases] for script, cases in bad.items()}
    done = run_file(folder, "parse_all.txt", json.dumps(lines))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check_refused(cases: Bad, answers: list[tuple[int, str]]) -> None:
    """Check that each command line of a script, see ``parse_all``, ended with status 2 and its message."""
    for (flags, message), (code, errors) in zip(BAD_FOR_ALL + cases, answers, strict=True):
        assert code == 2, f"{flags}: {code} {errors}"
        assert errors.startswith("usage: "), f"{flags}: {errors}"
        assert message in errors.splitlines()[-1], f"{flags}: {errors}"


# In a notebook sys.argv belongs to the kernel, and there is no __file__.
IN_A_NOTEBOOK = """
import json, sys
beginnings = json.loads(sys.argv[1])
for script, beginning in beginnings.items():
    sys.argv, names = ["ipykernel", "-f", "x.json"], {}
    exec(beginning, names)
    assert names["lesson"], script
"""


def begin_in_notebooks(folder: Path, scripts: Iterable[str]) -> None:
    """Check that each example chooses its whole lesson in a notebook. Only its beginning is run."""
    beginnings = {}
    for script in scripts:
        text = source_of(script).read_text(encoding="utf-8")
        end = "lesson = not argv"
        beginnings[script] = text[: text.index(end) + len(end)]
    (folder / "in_a_notebook.txt").write_text(IN_A_NOTEBOOK, encoding="utf-8")
    done = run_file(folder, "in_a_notebook.txt", json.dumps(beginnings))
    assert done.returncode == 0, done.stderr
