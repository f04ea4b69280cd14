"""The benchmark runs on a small trace and without other tools, and its figures add up."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kinetoscope.measure.csvtable import CsvTable
from kinetoscope.trace import load

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "docs" / "recordings" / "bench"
SMALL = ROOT / "tests" / "data" / "traces" / "geglu_eager.json.gz"


def bench(*words: object) -> str:
    script, *rest = words
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / str(script), *map(str, rest)],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_round(tmp_path: Path) -> None:
    bench("reading.py", "--quick", "--rounds", 1, "--into", tmp_path)
    ours, theirs = rows(tmp_path / "bench_tools.csv")
    assert (ours["tool"], theirs["tool"]) == ("kinetoscope", "json")
    for row in (ours, theirs):
        assert float(row["cpu_s"]) > 0 and 0 < float(row["wall_s"]) < 60
        times = float(row["cpu_s"]) / float(ours["cpu_s"])
        assert float(row["times_ours_ratio"]) == pytest.approx(times, rel=0.05)
        assert 5e6 < int(row["memory_bytes"]) < 5e8
    for name, key, unit in (("times", "cpu_s", "s"), ("memory", "memory_bytes", "bytes")):
        for row in rows(tmp_path / f"bench_{name}.csv"):
            assert float(row[f"kinetoscope_{unit}"]) == pytest.approx(float(ours[key]), abs=0.001)
            assert float(row["json_ratio"]) == pytest.approx(float(theirs[key]) / float(ours[key]), rel=0.05)
    assert [row["trace"] for row in rows(tmp_path / "bench_times.csv")] == ["geglu eager", "these together"]
    answer, lost = rows(tmp_path / "bench_answers.csv")
    for row in (answer, lost):
        assert row["kernels_count"] == row["in_file_count"] != "0"
        assert row["time_ns"] == row["in_file_ns"]
    assert lost["trace"] == "half of the launches lost"
    half, whole = (int(row["entries_count"]) for row in rows(tmp_path / "bench_growth.csv"))
    assert whole == 2 * half
    commands = rows(tmp_path / "bench_commands.csv")
    assert [row["command"] for row in commands if row["of"] == "names"] == [
        *("summary", "table", "compare", "scrub", "show", "timeline")
    ]
    assert {row["of"]: row["how_many_count"] for row in commands} == {"events": "3000", "names": "300"}
    assert all(float(row["cpu_s"]) > 0 and int(row["memory_bytes"]) > 1e7 for row in commands)
    told = (tmp_path / "bench_machine.csv").read_text(encoding="utf-8")
    assert "Python" in told and str(Path.home()) not in told and str(ROOT) not in told


def test_a_repeated_trace_is_the_same_again_later(tmp_path: Path) -> None:
    once, twice = load(SMALL), tmp_path / "twice.json.gz"
    entries = json.loads(bench("traces.py", "repeat", SMALL, twice, 2 * 243))
    repeated = load(twice)
    times = len(repeated.events) // len(once.events)
    assert entries == times * 243 and times == 2
    assert not repeated.findings
    assert [k.name for k in repeated.kernels] == [k.name for k in once.kernels] * 2
    assert sum(k.dur for k in repeated.kernels) == 2 * sum(k.dur for k in once.kernels)
    assert [k.launch_delay for k in repeated.kernels] == [k.launch_delay for k in once.kernels] * 2


def test_a_trace_that_lost_launches_has_all_its_kernels(tmp_path: Path) -> None:
    once, path = load(SMALL), tmp_path / "lost.json.gz"
    gone = json.loads(bench("traces.py", "lose", SMALL, path))
    damaged = load(path)
    assert gone == len([call for call in once.calls if "Launch" in call.name]) // 2
    assert [k.name for k in damaged.kernels] == [k.name for k in once.kernels]
    without = [kernel for kernel in damaged.kernels if kernel.launch is None]
    assert 0 < len(without) < len(damaged.kernels)


def test_what_is_recorded_says_with_what_and_nothing_else() -> None:
    told = {row["what"]: row["value"] for row in rows(RECORDED / "bench_machine.csv")}
    assert {"CPU", "Python", "msgspec", "HolisticTraceAnalysis", "recorded"} <= told.keys()
    for path in RECORDED.iterdir():
        assert path.suffix == ".png" or not {"/home", "/work", "/tmp"} & set(path.read_text().split()), path
    tools = CsvTable.read(RECORDED / "bench_tools.csv")
    assert {"kinetoscope", "json", "orjson", "msgspec, typed"} <= {row[1] for row in tools.rows}


def test_the_page_computes_its_claims(website) -> None:
    text = (ROOT / "docs" / "reference" / "speed.md").read_text(encoding="utf-8")
    judged = json.loads((website.html / "claims.json").read_text(encoding="utf-8"))
    claims = {each["id"]: each for each in judged if each["page"] == "reference/speed"}
    asked = re.findall(r"^```\{claim\} (\S+)$", text, re.MULTILINE)
    assert len(asked) >= 7 and claims.keys() == set(asked)
    assert all(each["verdict"] == "holds" and each["value"] for each in claims.values())
