"""README, noxfile, locks, workflows and .ci/run agree with one another."""

from __future__ import annotations

import ast
import gzip
import os
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CI_RUN = (ROOT / ".ci/run").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
LOCKS = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "requirements").glob("*.txt")}


def sessions() -> dict[str, bool]:
    """Map each session of the noxfile to whether a plain `nox` runs it."""
    names = {}
    for node in ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            for decorator in map(ast.unparse, node.decorator_list):
                if decorator.startswith("nox.session"):
                    names[node.name] = "default=False" not in decorator
    return names


def locked(lock: str) -> dict[str, str]:
    """Map each package of a lock to its version and marker, a line per marker."""
    pins: dict[str, str] = {}
    for name, rest in re.findall(r"^([a-zA-Z][\w.-]*)==(.+)$", LOCKS[lock], re.MULTILINE):
        pins[name] = f"{pins[name]}\n{rest}" if name in pins else rest
    return pins


def project_files() -> list[Path]:
    """List the files that are tracked, or would be by `git add .`."""
    git = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [ROOT / name for name in names.split("\0") if name and (ROOT / name).is_file()]


# --- the README's commands ----------------------------------------------------------------------------------


def test_ci_runs_the_readme_test_command_word_for_word() -> None:
    commands = [block.strip() for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL)]
    (command,) = (command for command in commands if command.endswith("nox -s tests"))
    assert command in CI_RUN


def test_ci_builds_with_every_warning_an_error_and_lints() -> None:
    assert "nox -s docs -- -W --keep-going -n" in CI_RUN
    assert "nox -s lint" in CI_RUN


def test_ci_does_not_pass_without_a_browser_or_without_a_test() -> None:
    assert "export KINETOSCOPE_REQUIRE_BROWSER=1" in CI_RUN
    assert "some_test_passed" in CI_RUN


@pytest.mark.skipif(os.name == "nt", reason="Windows has no executable bit")
def test_ci_run_is_executable() -> None:
    assert os.access(ROOT / ".ci/run", os.X_OK)


@pytest.mark.parametrize("text", [README, CONTRIBUTING], ids=["README", "CONTRIBUTING"])
def test_every_session_named_exists(text: str) -> None:
    named = set(re.findall(r"\bnox (?:-R )?-s (\w+)", text))
    assert named
    assert named <= sessions().keys()


def test_only_docs_tests_and_lint_run_by_default() -> None:
    assert {name for name, default in sessions().items() if default} == {"docs", "tests", "lint"}


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_relative_links_lead_somewhere(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target]
    assert targets or name == "CONTRIBUTING.md"
    assert [target for target in targets if not (ROOT / target).exists()] == []


@pytest.mark.parametrize("text", [README, CONTRIBUTING], ids=["README", "CONTRIBUTING"])
def test_no_measurement_is_typed(text: str) -> None:
    assert re.findall(r"\d+(?:\.\d+)?\s?(?:µs|us|ms|TFLOP\S*|GB/s|TB/s)\b", text) == []


# --- locks --------------------------------------------------------------------------------------------------


def test_the_locks_are_those_the_noxfile_installs() -> None:
    assert LOCKS.keys() == {"bench", "docs", "gpu", "lint", "nox", "test"}


@pytest.mark.parametrize("lock", ["docs", "lint", "nox"])
def test_no_torch_where_no_example_runs(lock: str) -> None:
    heavy = re.compile(r"torch|triton|liger|nvidia-|cuda-")
    assert [name for name in locked(lock) if heavy.match(name)] == []


def test_the_test_lock_asks_for_no_cuda_library() -> None:
    assert [name for name in locked("test") if re.match(r"nvidia-|cuda-", name)] == []


def test_examples_are_tested_and_rebuilt_with_the_same_torch() -> None:
    pins = [pin for pin in PROJECT["dependency-groups"]["torch"] if pin.startswith("torch==")]
    assert pins == [f"torch=={locked('test')['torch']}"] == [f"torch=={locked('gpu')['torch']}"]
    assert locked("test")["triton"] == locked("gpu")["triton"]


@pytest.mark.parametrize("lock", ["docs", "gpu", "lint", "test"])
def test_the_book_is_laid_out_with_the_same_versions_in_every_session(lock: str) -> None:
    book = locked("docs")
    assert {name: locked(lock).get(name) for name in book} == book


def test_locked_sphinx_suits_each_python() -> None:
    assert re.search(r"^9\.0\.\d+ ; python_full_version < '3\.12'$", locked("docs")["sphinx"], re.MULTILINE)


def test_sphinx_gallery_is_pinned_where_it_is_asked_for() -> None:
    (asked,) = (
        need
        for need in PROJECT["project"]["optional-dependencies"]["sphinx"]
        if need.startswith("sphinx-gallery")
    )
    assert asked == f"sphinx-gallery=={locked('docs')['sphinx-gallery']}"


@pytest.mark.parametrize("lock", sorted(LOCKS))
def test_a_lock_names_no_index_and_no_folder(lock: str) -> None:
    assert (
        re.findall(r"https?://|file:|--(?:extra-)?index-url|--find-links|^-e |@ ", LOCKS[lock], re.MULTILINE)
        == []
    )


# --- workflows ----------------------------------------------------------------------------------------------


def jobs() -> Iterator[tuple[str, dict]]:
    for path in WORKFLOWS:
        for name, job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].items():
            yield f"{path.name}: {name}", job


def steps_using(action: str) -> Iterator[tuple[str, dict]]:
    for where, job in jobs():
        for step in job["steps"]:
            if step.get("uses", "").startswith(action):
                yield where, step


def test_there_are_workflows() -> None:
    assert [path.stem for path in WORKFLOWS] == ["ci", "pages", "record"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit_and_say_which_version(path: Path) -> None:
    used = re.findall(r"^\s*(?:- )?uses: (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert used
    assert [line for line in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)] == []


def test_one_action_has_one_pin() -> None:
    pins = {step["uses"] for _, step in steps_using("actions/")}
    assert len(pins) == len({pin.partition("@")[0] for pin in pins})


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_no_permission_by_default(path: Path) -> None:
    assert yaml.safe_load(path.read_text(encoding="utf-8"))["permissions"] == {}


def test_every_job_has_a_time_limit() -> None:
    assert [where for where, job in jobs() if "timeout-minutes" not in job] == []


def test_no_checkout_leaves_its_token_behind() -> None:
    assert [
        where
        for where, step in steps_using("actions/checkout@")
        if step.get("with", {}).get("persist-credentials") is not False
    ] == []


def test_what_runs_on_our_own_machine_may_only_read() -> None:
    own = {where: job["permissions"] for where, job in jobs() if "self-hosted" in job["runs-on"]}
    assert own == {"record.yml: record": {"contents": "read"}}


def test_no_workflow_puts_an_expression_into_a_script() -> None:
    scripts = [(where, step["run"]) for where, job in jobs() for step in job["steps"] if "run" in step]
    assert scripts
    assert [where for where, script in scripts if "${{" in script] == []


# --- publishing ---------------------------------------------------------------------------------------------


def test_read_the_docs_builds_what_nox_builds() -> None:
    commands = yaml.safe_load((ROOT / ".readthedocs.yaml").read_text(encoding="utf-8"))["build"]["commands"]
    assert commands[0] == "python -m pip install -r requirements/docs.txt"
    assert "-W --keep-going -n" in commands[-1]
    assert commands[-1].endswith("docs $READTHEDOCS_OUTPUT/html")


def test_the_changelog_tells_of_this_version() -> None:
    source = (ROOT / "src/kinetoscope/__init__.py").read_text(encoding="utf-8")
    (version,) = re.findall(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{version}]" in changelog or "## [Unreleased]" in changelog


# --- nothing of the machine it was made on ------------------------------------------------------------------

# Folders of one person's machine. Tests are left out: they invent people that a recording must forget.
SOMEONES = re.compile(rb"(?<![\w.~*-])/(?:root|work|home/[a-z][\w-]*|Users/[A-Za-z][\w-]*)/[\w.]")


def test_no_file_names_a_folder_of_one_machine() -> None:
    named = []
    for path in project_files():
        name = path.relative_to(ROOT).as_posix()
        if name.startswith("tests/"):
            continue
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
        named += [f"{name}: {match.group().decode()}" for match in SOMEONES.finditer(content)]
    assert named == []


def test_what_a_build_makes_is_not_kept() -> None:
    made = ("docs/_build/", "docs/gallery/", ".nox/", ".venv/", "traces/")
    assert [path for path in project_files() if path.relative_to(ROOT).as_posix().startswith(made)] == []
