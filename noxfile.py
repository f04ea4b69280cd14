# /// script
# requires-python = ">=3.11"
# dependencies = ["nox>=2025.2.9"]
# ///
"""What people do with this repository: `nox -l` lists it, `nox -s docs` builds the book.

Each session installs locked versions (requirements/*.txt) with pip into an environment of its own under
.nox/, whichever of uv, pipx or pip started nox, so all three have the same effect. An environment is used
again the next time; `nox -R -s docs` does not even look whether it is up to date, `nox --no-venv -s docs`
installs nothing and takes the Python it was started with.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nox

ROOT = Path(__file__).parent
LOCKS = Path("requirements")
BUILD = Path("docs/_build")
PROJECT = nox.project.load_toml(ROOT / "pyproject.toml")

# A reader who replays our recording gets exactly our site, so any warning is a fault. On somebody's own GPU a
# first build should not fail: what it finds there is what they came for.
STRICT = ("-W", "--keep-going", "-n")
LENIENT = ("--keep-going", "-n")

# PyTorch's own index of CPU builds: a tenth of the CUDA build that PyPI has for Linux.
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"

# Next to those that Deno recommends; a pattern that clears a trace's text of control characters names them.
DENO_RULES = ("--rules-include=eqeqeq,no-console,no-eval", "--rules-exclude=no-control-regex")

nox.needs_version = ">=2025.2.9"
nox.options.sessions = ["docs", "tests", "lint"]
nox.options.reuse_venv = "yes"
nox.options.default_venv_backend = "virtualenv"
nox.options.error_on_external_run = False


# --- the book -----------------------------------------------------------------------------------------------


@nox.session
def docs(session: nox.Session) -> None:
    """Build the book into docs/_build/html; where there is an NVIDIA GPU, record on it first.

    What follows `--` goes to Sphinx, in place of this session's own -W, --keep-going and -n.
    KINETOSCOPE_GPU=0 builds from the committed recordings although there is a GPU; 1 insists on one.
    """
    if gpu_wanted(session):
        install(session, "gpu")
        require_torch_sees_gpu(session)
        flags = LENIENT
    else:
        session.log("building from the committed recordings")
        install(session, "docs")
        flags = STRICT
    sphinx(session, *(session.posargs or flags))


@nox.session(venv_backend="none", default=False)
def record(session: nox.Session) -> None:
    """Record the examples on this machine's GPU, stale or not: `nox -s record -- --only 02_linear`."""
    if not gpu_wanted(session):
        session.error(
            "no NVIDIA GPU to record on; `nox -s live` runs the examples on the CPU, and keeps no recording"
        )
    # The environment of `docs` holds a few gigabytes of torch already.
    session.notify("docs", ["-D", "kinetoscope_mode=record", *recording_options(session), *LENIENT])


@nox.session(default=False)
def live(session: nox.Session) -> None:
    """Build the book with what this machine's device does now, into docs/_build/live; keeps no recording."""
    if gpu_wanted(session):
        install(session, "gpu")
        require_torch_sees_gpu(session)
    else:
        install_with_torch_for_cpu(session)
    sphinx(session, "-D", "kinetoscope_mode=live", *recording_options(session), *LENIENT, out="live")


@nox.session(default=False)
def linkcheck(session: nox.Session) -> None:
    """Follow every link that the book makes (needs the network)."""
    install(session, "docs")
    sphinx(session, "-D", "kinetoscope_mode=replay", *session.posargs, builder="linkcheck", out="linkcheck")


@nox.session(venv_backend="none", default=False)
def serve(session: nox.Session) -> None:
    """Serve the built book to this machine only: `nox -s serve -- 8000`."""
    site = ROOT / BUILD / "html"
    if not (site / "index.html").is_file():
        session.error("there is no built book yet: `nox -s docs` first")
    port = session.posargs[0] if session.posargs else "8000"
    session.run(sys.executable, "-m", "http.server", port, "--bind", "127.0.0.1", "--directory", str(site))


# --- development --------------------------------------------------------------------------------------------


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests; what follows `--` goes to pytest, in place of this session's own options."""
    install_with_torch_for_cpu(session)
    session.run(
        "python",
        "-m",
        "pytest",
        *(session.posargs or ("-n", "auto", "--dist", "worksteal", "--durations=20")),
    )


@nox.session
def lint(session: nox.Session) -> None:
    """Style, types, the order of the rooms, scripts of the pages, workflows, shell, spelling."""
    install(session, "lint")
    workflows = sorted(str(path.relative_to(ROOT)) for path in (ROOT / ".github/workflows").glob("*.yml"))
    # Every script that git tracks or would track, wherever it lies.
    listed = session.run(
        *("git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "*.js"),
        external=True,
        silent=True,
        log=False,
    )
    scripts = [name for name in str(listed).splitlines() if "vendor" not in Path(name).parts]
    checks = (
        ("ruff", "check", "."),
        ("ruff", "format", "--check", "."),
        ("mypy",),
        ("lint-imports",),
        ("deno", "lint", "--no-config", *DENO_RULES, *scripts),
        ("actionlint", *workflows),
        ("zizmor", "--offline", "--pedantic", "."),
        ("shellcheck", ".ci/run"),
        ("codespell",),
    )
    failed = []
    for check in checks:
        try:
            session.run(*check, env={"DENO_NO_UPDATE_CHECK": "1"})
        except nox.command.CommandFailed:
            failed.append(check[0])
    if failed:
        session.error(f"failed: {', '.join(failed)}")


@nox.session(default=False)
def lock(session: nox.Session) -> None:
    """Write requirements/*.txt anew from pyproject.toml; `nox -s lock -- --upgrade` takes newer versions."""
    session.install("uv")

    def compile_lock(name: str, *options: str) -> Path:
        path = LOCKS / f"{name}.txt"
        session.run(
            *("uv", "pip", "compile", "--quiet", "--no-config", "--universal", "--python-version", "3.11"),
            *("--custom-compile-command", "nox -s lock", "--output-file", path.as_posix()),
            *options,
            *session.posargs,
            env=dict.fromkeys(("UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_DEFAULT_INDEX")),
        )
        return path

    project = "pyproject.toml"
    compile_lock("docs", project, "--extra", "docs")
    compile_lock("lint", project, "--extra", "docs", "--group", "lint")
    compile_lock("nox", "--group", "nox")
    compile_lock("bench", project, "--group", "bench")
    gpu = compile_lock("gpu", project, "--extra", "docs", "--extra", "gpu", "--group", "torch")
    # torch pins the CUDA libraries it needs; its CPU build needs none, so this lock must not ask for them.
    cuda = sorted(
        set(re.findall(r"^((?:nvidia|cuda)-[\w-]+)==", gpu.read_text(encoding="utf-8"), re.MULTILINE))
    )
    without_cuda = [option for name in cuda for option in ("--no-emit-package", name)]
    compile_lock("test", project, "--extra", "test", "--group", "torch", *without_cuda)


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Measure how fast Kinetoscope and others read traces; writes docs/recordings/bench (ten minutes).

    What follows `--` goes to benchmarks/reading.py: `nox -s bench -- --traces FOLDER --rounds 3`.
    """
    install(session, "bench")
    session.run("python", "benchmarks/reading.py", *session.posargs)


@nox.session(default=False)
def pagespeed(session: nox.Session) -> None:
    """Measure how long a phone on a slow line waits for a page (needs Node and a Chromium; ten minutes).

    What follows `--` goes to benchmarks/pagespeed.py: `nox -s pagespeed -- --runs 1 read/linear`.
    """
    install(session, "docs")
    sphinx(session, "-D", "kinetoscope_mode=replay", out="pagespeed")
    session.run("python", "benchmarks/pagespeed.py", str(BUILD / "pagespeed"), *session.posargs)


# --- how ----------------------------------------------------------------------------------------------------


def install(session: nox.Session, name: str) -> None:
    """Install what requirements/NAME.txt locks, and this package in place."""
    if not session.virtualenv.is_sandboxed:
        session.log("no environment of its own: nothing is installed")
        return
    session.install("-r", str(LOCKS / f"{name}.txt"))
    session.install("--no-deps", "-e", ".")


def install_with_torch_for_cpu(session: nox.Session) -> None:
    """Install what the tests need, with torch's CPU build where there is a choice."""
    if session.virtualenv.is_sandboxed and sys.platform == "linux" and not pip_has_own_sources(session):
        if reachable(TORCH_CPU_INDEX + "/torch/"):
            (torch,) = (pin for pin in PROJECT["dependency-groups"]["torch"] if pin.startswith("torch=="))
            session.install("--no-deps", "--index-url", TORCH_CPU_INDEX, torch)
        else:
            session.warn(
                f"{TORCH_CPU_INDEX} does not answer: torch comes from PyPI, a CUDA build of gigabytes"
            )
    install(session, "test")


def pip_has_own_sources(session: nox.Session) -> bool:
    """Tell whether whoever set up this machine told pip where packages come from: then that decides."""
    settings = session.run("python", "-m", "pip", "config", "list", silent=True, log=False) or ""
    return re.search(r"\b(index-url|extra-index-url|find-links|no-index)=", str(settings)) is not None


def reachable(url: str) -> bool:
    """Tell whether an https address answers within a few seconds."""
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


def gpu_wanted(session: nox.Session) -> bool:
    """Tell whether to record on a GPU: KINETOSCOPE_GPU if set, otherwise whether nvidia-smi lists one."""
    asked = os.environ.get("KINETOSCOPE_GPU", "")
    if asked not in ("", "0", "1"):
        session.error(
            f"KINETOSCOPE_GPU is {asked!r}: 1 insists on a GPU, 0 does without, unset looks for one"
        )
    found = nvidia_gpus()
    if asked == "1" and not found:
        session.error("KINETOSCOPE_GPU is 1, but `nvidia-smi -L` lists no GPU")
    if asked == "0" or not found:
        session.log("no GPU: KINETOSCOPE_GPU is 0" if asked else "no GPU: `nvidia-smi -L` lists none")
        return False
    session.log(f"found {', '.join(found)}")
    return True


def nvidia_gpus() -> list[str]:
    """Return the names of the NVIDIA GPUs that the driver lists."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    try:
        listed = subprocess.run(
            [program, "-L"], capture_output=True, text=True, timeout=60, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return re.findall(r"^GPU \d+: (.+?)(?: \(UUID.*)?$", listed, re.MULTILINE)


def require_torch_sees_gpu(session: nox.Session) -> None:
    """Stop before a build that would quietly show the numbers of another machine."""
    ask = "import torch as t; print('torch', t.__version__, 'CUDA', t.version.cuda, t.cuda.is_available())"
    try:
        answer = str(session.run("python", "-W", "ignore", "-c", ask, silent=True, log=False)).strip()
    except nox.command.CommandFailed:
        session.error("there is a GPU, but no torch that works: run it again without -R or --no-venv")
    if not answer.endswith("True"):
        session.error(
            f"there is a GPU, but torch cannot use it ({answer}): most often its driver is older than this "
            "torch's CUDA. Update the driver; or install a torch that fits it, and what "
            "requirements/docs.txt lists, in an environment of your own and run `python -m sphinx -c . docs "
            "docs/_build/html` there; or set KINETOSCOPE_GPU=0 to build from the committed recordings."
        )


def recording_options(session: nox.Session) -> list[str]:
    """Turn `--only NAMES` and `--machine-name NAME` into Sphinx options; it gets the rest as it is."""
    names = {"--only": "kinetoscope_only", "--machine-name": "kinetoscope_machine_name"}
    options: list[str] = []
    given = iter(session.posargs)
    for word in given:
        option, equals, value = word.partition("=")
        if option not in names:
            options.append(word)
            continue
        if not equals:
            value = next(given, "")
        if not value:
            session.error(f"{option} needs a value")
        options += ["-D", f"{names[option]}={value}"]
    return options


def sphinx(session: nox.Session, *options: str, builder: str = "html", out: str = "html") -> None:
    """Run Sphinx, with a doctree folder of its own, and say where the result is."""
    target = BUILD / out
    start = time.perf_counter()
    session.run(
        *("python", "-m", "sphinx", "-c", ".", "-b", builder, "-j", "auto"),
        *("-d", str(BUILD / "doctrees" / out)),
        *options,
        *("docs", str(target)),
    )
    took = time.perf_counter() - start
    page = "index.html" if builder == "html" else "output.txt"
    session.log(f"built in {took:.1f} s; open {ROOT / target / page}")


if __name__ == "__main__":
    nox.main()
