# /// script
# requires-python = ">=3.11"
# dependencies = ["nox>=2025.2.9"]
# ///
"""What people do with this repository: `nox -l` lists it, `nox -s docs` builds the book.

Each session has an environment of its own under .nox/, into which pip installs the locked versions of
requirements/*.txt. So it does not matter whether uv, pipx or pip started nox. The next run uses the same
environment again: `nox -R -s docs` does not check that it is up to date, `nox --no-venv -s docs` installs
nothing and uses the Python that started nox.
"""

from __future__ import annotations

import argparse
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

# Every replay of our recording builds exactly our site, so any warning is a fault. But a first build on
# somebody's own GPU should not fail: they came to see what is different there.
STRICT = ("-W", "--keep-going", "-n")
LENIENT = ("--keep-going", "-n")

# PyTorch's own index of CPU builds. PyPI has the CUDA build for Linux, which is ten times as large.
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"

# In addition to what Deno recommends. A pattern that removes control characters has to name them.
DENO_RULES = ("--rules-include=eqeqeq,no-console,no-eval",)

nox.needs_version = ">=2025.2.9"
nox.options.sessions = ["docs", "tests", "lint"]
nox.options.reuse_venv = "yes"
nox.options.default_venv_backend = "virtualenv"
nox.options.error_on_external_run = False


# --- the book -----------------------------------------------------------------------------------------------


@nox.session
def docs(session: nox.Session) -> None:
    """Build the book into docs/_build/html; where there is an NVIDIA GPU, record on it first.

    Options after `--` go to Sphinx and replace this session's own -W, --keep-going and -n.
    KINETOSCOPE_GPU=0 builds from the committed recordings even if there is a GPU; 1 requires one.
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
            "no NVIDIA GPU to record on; `nox -s live` runs the examples on the CPU and keeps no recording"
        )
    # Not an environment of its own: that of `docs` already holds a few gigabytes of torch.
    session.notify("docs", ["-D", "kinetoscope_mode=record", *recording_options(session), *LENIENT])


@nox.session(default=False)
def live(session: nox.Session) -> None:
    """Run the examples here and build the book from that, into docs/_build/live; keeps no recording."""
    if gpu_wanted(session):
        install(session, "gpu")
        require_torch_sees_gpu(session)
    else:
        install_with_torch_for_cpu(session)
    sphinx(session, "-D", "kinetoscope_mode=live", *recording_options(session), *LENIENT, out="live")


@nox.session(default=False)
def linkcheck(session: nox.Session) -> None:
    """Follow every link in the book (needs the network)."""
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
    """Run the tests; options after `--` go to pytest and replace this session's own."""
    install_with_torch_for_cpu(session)
    session.run(
        "python",
        "-m",
        "pytest",
        *(session.posargs or ("-n", "auto", "--dist", "worksteal", "--durations=20")),
    )


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, types, the order of the rooms, the pages' scripts, workflows, shell, spelling."""
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
    """Write requirements/*.txt again from pyproject.toml; `nox -s lock -- --upgrade` takes newer versions."""
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
    # torch pins the CUDA libraries that it needs. Its CPU build needs none, so the last lock leaves them out.
    cuda = sorted(
        set(re.findall(r"^((?:nvidia|cuda)-[\w-]+)==", gpu.read_text(encoding="utf-8"), re.MULTILINE))
    )
    without_cuda = [option for name in cuda for option in ("--no-emit-package", name)]
    compile_lock("test", project, "--extra", "test", "--group", "torch", *without_cuda)


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Measure how fast Kinetoscope and others read traces; writes docs/recordings/bench (15 minutes).

    Options after `--` go to benchmarks/reading.py: `nox -s bench -- --traces FOLDER --rounds 3`.
    """
    install(session, "bench")
    session.run("python", "benchmarks/reading.py", *session.posargs)


@nox.session(default=False)
def pagespeed(session: nox.Session) -> None:
    """Measure how long a phone on a slow line waits for a page (needs Node and a Chromium; ten minutes).

    Options after `--` go to benchmarks/pagespeed.py: `nox -s pagespeed -- --runs 1 read/linear`.
    """
    install(session, "docs")
    sphinx(session, "-D", "kinetoscope_mode=replay", out="pagespeed")
    session.run("python", "benchmarks/pagespeed.py", str(BUILD / "pagespeed"), *session.posargs)


# --- helpers ------------------------------------------------------------------------------------------------


def install(session: nox.Session, name: str) -> None:
    """Install the versions in requirements/NAME.txt, and this package in place."""
    if not session.virtualenv.is_sandboxed:
        session.log("no environment of its own: nothing is installed")
        return
    session.install("-r", str(LOCKS / f"{name}.txt"))
    session.install("--no-deps", "-e", ".")


def install_with_torch_for_cpu(session: nox.Session) -> None:
    """Install what the tests need, with torch's CPU build where that can be chosen."""
    if session.virtualenv.is_sandboxed and sys.platform == "linux" and not pip_has_own_sources(session):
        if reachable(TORCH_CPU_INDEX + "/torch/"):
            (torch,) = (pin for pin in PROJECT["dependency-groups"]["torch"] if pin.startswith("torch=="))
            session.install("--no-deps", "--index-url", TORCH_CPU_INDEX, torch)
        else:
            session.warn(
                f"{TORCH_CPU_INDEX} does not answer: torch comes from PyPI, as a CUDA build of some gigabytes"
            )
    install(session, "test")


def pip_has_own_sources(session: nox.Session) -> bool:
    """Tell whether pip is configured to take packages from elsewhere; then we choose no index for it."""
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
        session.error(f"KINETOSCOPE_GPU is {asked!r}: 1 requires a GPU, 0 uses none, unset looks for one")
    gpus = nvidia_gpus()
    if asked == "1" and not gpus:
        session.error("KINETOSCOPE_GPU is 1, but `nvidia-smi -L` lists no GPU")
    if asked == "0" or not gpus:
        session.log("no GPU: KINETOSCOPE_GPU is 0" if asked else "no GPU: `nvidia-smi -L` lists none")
        return False
    session.log(f"found {', '.join(gpus)}")
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
    """Stop before a build that would silently show the numbers of another machine."""
    ask = "import torch as t; print('torch', t.__version__, 'CUDA', t.version.cuda, t.cuda.is_available())"
    try:
        answer = str(session.run("python", "-W", "ignore", "-c", ask, silent=True, log=False)).strip()
    except nox.command.CommandFailed:
        session.error("there is a GPU, but no torch that works: run this again without -R or --no-venv")
    if not answer.endswith("True"):
        session.error(
            f"there is a GPU, but torch cannot use it ({answer}): usually the driver is too old for the CUDA "
            "of this torch. Update the driver; or install a torch that fits, and requirements/docs.txt, in "
            "an environment of your own and run `python -m sphinx -c . docs docs/_build/html` there; or set "
            "KINETOSCOPE_GPU=0 to build from the committed recordings."
        )


def recording_options(session: nox.Session) -> list[str]:
    """Turn `--only NAMES` and `--machine-name NAME` into Sphinx options; others are Sphinx's own."""
    parser = argparse.ArgumentParser(prog=f"nox -s {session.name} --", add_help=False, allow_abbrev=False)
    parser.add_argument("--only", dest="kinetoscope_only", metavar="NAMES")
    parser.add_argument("--machine-name", dest="kinetoscope_machine_name", metavar="NAME")
    ours, others = parser.parse_known_args(session.posargs)
    given = {name: value for name, value in vars(ours).items() if value is not None}
    if "" in given.values():
        parser.error("--only and --machine-name need a value")
    return [*(f"-D{name}={value}" for name, value in given.items()), *others]


def sphinx(session: nox.Session, *options: str, builder: str = "html", out: str = "html") -> None:
    """Run Sphinx with a doctree folder of its own, and say where the result is."""
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
