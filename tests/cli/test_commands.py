"""Each command: what it prints, writes and refuses, and its exit status."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from kinetoscope.cli import COMMANDS, EXIT_STATUSES
from kinetoscope.cli.console import printable
from kinetoscope.cli.tables import VIEWS
from kinetoscope.draw import views

if TYPE_CHECKING:
    from conftest import Run

Find = Callable[[str], Path]
Process = Callable[..., subprocess.CompletedProcess[bytes]]


def written(folder: Path, *events: dict[str, Any], **around: Any) -> Path:
    """Writes a trace of complete events, CPU ops unless they say otherwise."""
    path = folder / "made.json"
    whole = [
        {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": n, "dur": 1, **e} for n, e in enumerate(events)
    ]
    path.write_text(json.dumps({"traceEvents": whole, **around}), encoding="utf-8")
    return path


# --- summary ------------------------------------------------------------------------------------------------


def test_summary_for_people(run: Run, sample: Find, small: Find) -> None:
    done = run("summary", sample("geglu_eager"))
    lines = dict(re.split(r" {2,}", line, maxsplit=1) for line in done.out.splitlines()[:10])
    assert done.status == 0
    assert lines["kernels"] == "15"
    assert lines["kernel sum"] == "693 µs (durations added up)"
    assert lines["steps"] == "3 (number 2, 3, 4)"
    assert lines["linked"].startswith("21 of 21 ")
    assert "Nothing in the file had to be repaired" in done.out
    cut = run("summary", small("06"))
    assert "cut (1×, first at line 110, column 3, after 7 whole entries)" in cut.out


def test_gpus_of_merged_ranks_are_told_apart(run: Run, small: Find) -> None:
    out = run("summary", small("27")).out
    assert re.findall(r"^ {2}device \d +20\.0 µs$", out, re.MULTILINE) == [
        "  device 0  20.0 µs",
        "  device 1  20.0 µs",
    ]


def test_nothing_around_the_events_is_shown(run: Run, small: Find, tmp_path: Path) -> None:
    for command in (
        ["summary"],
        ["summary", "--json"],
        ["table"],
        ["show", "--no-open", "-o", tmp_path / "p.html"],
    ):
        done = run(*command, small("36"))
        assert done.status == 0
        for secret in ("not-a-real-token", "build-box-7", "someone"):
            assert secret not in done.out + done.err
    assert "not-a-real-token" not in (tmp_path / "p.html").read_text(encoding="utf-8")


# --- table --------------------------------------------------------------------------------------------------


def test_the_views_are_those_there_are() -> None:
    assert tuple(views.VIEWS) == VIEWS


@pytest.mark.parametrize("by", VIEWS)
def test_every_table_as_text_json_and_csv(run: Run, sample: Find, by: str) -> None:
    path = sample("geglu_eager")
    text = run("table", path, "--by", by)
    rows = json.loads(run("table", path, "--by", by, "--json").out)["rows"]
    plain = list(csv.DictReader(io.StringIO(run("table", path, "--by", by, "--csv").out)))
    assert text.status == 0
    assert len(rows) == len(plain) == len(text.out.splitlines()) - 4 > 0
    assert [row["name"] for row in rows] == [row["name"] for row in plain]
    assert all(isinstance(value, int) for row in rows for key, value in row.items() if key == "calls")


def test_exact_values_of_one_step_sorted_and_limited(run: Run, sample: Find) -> None:
    asked = ("table", sample("geglu_eager"), "--by", "kernel", "--step", 3, "--sort", "max", "--limit", 2)
    table = json.loads(run(*asked, "--json").out)
    assert table["left_out"] == 2
    assert [row["calls"] for row in table["rows"]] == [2, 1]
    largest = [row["max_ns"] for row in table["rows"]]
    assert largest == sorted(largest, reverse=True)
    assert "2 more not shown" in run(*asked).out


def test_totals_leave_annotations_out(run: Run, small: Find) -> None:
    def table(number: str, by: str) -> dict[str, dict[str, Any]]:
        rows = json.loads(run("table", small(number), "--by", by, "--json").out)["rows"]
        return {row["name"]: row for row in rows}

    assert sum(row["device_ns"] for row in table("20", "kernel").values()) == 25_000
    [steps] = table("21", "annotation").values()
    assert (steps["name"], steps["calls"], steps["device_ns"]) == ("ProfilerStep*", 2, 120_000)
    assert [row["busy_ns"] for row in table("21", "step").values()] == [60_000, 60_000]
    ops = table("22", "op")
    assert (ops["aten::addmm"]["self_device_ns"], ops["aten::linear"]["self_device_ns"]) == (40_000, 0)
    times = {name: (row["cpu_ns"], row["self_cpu_ns"]) for name, row in table("11", "op").items()}
    assert times == {"outer": (300, 150), "inner_a": (90, 90), "inner_b": (60, 60)}
    assert table("25", "kernel")["toy_orphan"]["launched_by"] == ["(no launch in trace)"]
    assert [row["launched_by"] for row in table("28", "kernel").values()] == [["aten::addmm"]]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--step", "9"], "no step 9; the trace has steps: 2, 3, 4"),
        (["--sort", "colour"], "no column 'colour' in a table by op; there are: name, calls"),
        (["--by", "colour"], "invalid choice: 'colour'"),
        (["--limit", "0"], "0 is not a number of rows"),
        (["--max-bytes", "many"], "many is not a number of bytes"),
        (["--csv", "--json"], "not allowed with"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(run: Run, sample: Find, options: list[str], says: str) -> None:
    done = run("table", sample("geglu_eager"), *options)
    assert (done.status, done.out) == (2, "")
    assert says in done.err
    assert done.err.startswith("kinetoscope: ") and done.err.count("\n") == 1


def test_a_table_of_nothing_says_what_there_is(run: Run, small: Find) -> None:
    assert "the trace has no events of this kind, but call" in run("table", small("32"), "--by", "op").out


# --- timeline -----------------------------------------------------------------------------------------------


def test_a_picture_of_each_kind(run: Run, sample: Find, tmp_path: Path) -> None:
    beginnings = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}
    for suffix, beginning in beginnings.items():
        out = tmp_path / f"t.{suffix}"
        done = run("timeline", sample("geglu_eager"), "-o", out, "--step", "3", "--highlight", "*gelu*")
        assert (done.status, done.out) == (0, f"{out}: One step of three, 298 µs\n")
        assert out.read_bytes().startswith(beginning)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.pdf", "t.png", "t.svg"]
    picture = (tmp_path / "t.svg").read_text(encoding="utf-8")
    root = ElementTree.fromstring(picture)
    assert (root.get("width"), root.get("height")) == tuple(root.get("viewBox", "").split()[2:])
    assert [child.tag.rpartition("}")[2] for child in root][:4] == ["title", "desc", "style", "rect"]
    assert "var(" not in picture and "*/" not in picture
    assert ".ks-svg .ks-gemm text { fill: #ffffff; }" in picture
    assert "ks-marked" in picture


def test_names_that_matplotlibs_font_lacks_are_said_in_one_line(run: Run, tmp_path: Path) -> None:
    trace = written(tmp_path, {"name": "\u65e5\u672c"})
    assert run("timeline", trace, "-o", tmp_path / "t.svg").err == ""
    said = "kinetoscope: matplotlib's font has not all characters of the names; an .svg file shows them.\n"
    assert run("timeline", trace, "-o", tmp_path / "t.png").err == said


def test_dark_is_dark_and_width_is_kept(run: Run, sample: Find, tmp_path: Path) -> None:
    pictures = []
    for name, options in (("light", []), ("dark", ["--dark"])):
        out = tmp_path / f"{name}.svg"
        run("timeline", sample("geglu_eager"), "-o", out, "--width", "500", *options)
        pictures.append(out.read_text(encoding="utf-8"))
    light, dark = pictures
    assert 'width="500"' in light and "prefers-color-scheme" in light
    assert ".ks-surface { fill: #14181e; }" in dark and "prefers-color-scheme" not in dark


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["-o", "x.gif"], "written as .svg, .png, .pdf"),
        (["-o", "no/such/x.svg"], "is not a folder"),
        (["-o", "x.svg", "--step", "9"], "no step 9"),
        (["-o", "x.svg", "--step", "last"], "'last' is not a step"),
        (["-o", "x.svg", "--zoom", "aten::nothing"], "nothing is called 'aten::nothing'"),
        (["-o", "x.svg", "--width", "3"], "3 is not a width"),
    ],
)
def test_a_picture_that_cannot_be(
    run: Run, sample: Find, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("timeline", sample("geglu_eager"), *options)
    assert done.status == 2
    assert says in done.err and done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


# --- compare ------------------------------------------------------------------------------------------------


def test_compare(run: Run, sample: Find) -> None:
    both = (sample("geglu_eager"), sample("geglu_compiled"))
    done = run("compare", *both)
    assert done.status == 0
    assert "per step: 2 gone, 1 new, 3 kept" in done.out
    rows = json.loads(run("compare", *both, "--json").out)["rows"]
    fused = next(row for row in rows if row["name"].startswith("triton_"))
    assert (fused["change"], fused["calls_before"], fused["calls_after"], fused["before_ns"]) == (
        "new",
        0,
        1,
        0,
    )
    ops = list(csv.DictReader(io.StringIO(run("compare", *both, "--by", "op", "--csv").out)))
    assert {row["kind"] for row in ops} == {"op"}


# --- assert -------------------------------------------------------------------------------------------------


def test_conditions_that_hold(run: Run, sample: Find) -> None:
    conditions = [
        "count(kernels) == 5",
        '"aten::copy_" not in ops',
        "busy(trace) < ms(2)",
        'count(step(3).kernels["nvjet*"]) == 3',
        "count(steps) == 3 and time(trace.kernels) > us(1)",
    ]
    done = run("assert", sample("geglu_eager"), *conditions)
    assert done.status == 0
    assert done.out.splitlines() == [f"holds  {condition}" for condition in conditions]


def test_a_condition_that_fails_shows_what_was_there(run: Run, sample: Find) -> None:
    done = run("assert", sample("geglu_eager"), "count(kernels) == 4", "count(copies) > 0")
    assert done.status == 1
    lines = done.out.splitlines()
    assert lines[0] == "FAILS  count(kernels) == 4"
    assert lines[1].strip() == "count(kernels) is 5"
    assert lines[2].strip() == "kernels: 15 were there over 3 steps:"
    assert re.fullmatch(r" +6× +335 µs  nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT", lines[3])
    assert lines[-1] == "holds  count(copies) > 0"
    empty = run("assert", sample("geglu_eager"), 'count(kernels.like("triton*")) == 1').out
    assert 'kernels["triton*"]: none were there over 3 steps; kernels has: nvjet' in empty


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("count(kernels)", "is 5, neither true nor false"),
        ('count(kernels["*nothing*"]) == 1', "matches nothing in kernels"),
        ("count(kernles) == 1", "did you mean 'kernels'?"),
        ("step(9) == 1", "has no step 9"),
        ("count(kernels", "cannot read"),
        ("__import__('os')", "unknown function"),
        ("busy(trace) < 5", "write the number with its unit"),
    ],
)
def test_what_is_no_condition(run: Run, sample: Find, expression: str, says: str) -> None:
    done = run("assert", sample("geglu_eager"), expression)
    assert done.status == 2
    assert says in done.err and done.err.count("\n") == 1


CPU_ONLY = Path(__file__).parents[1] / "data" / "small" / "second" / "cpu_only.json"
NO_GPU = "no GPU activity in the file: was `ProfilerActivity.CUDA` on?"


def test_what_is_not_in_the_file_is_not_measured(run: Run) -> None:
    done = run("assert", CPU_ONLY, "count(kernels) <= 12", "busy(trace) < ms(1)", "count(ops) == 12")
    assert done.status == 4
    assert done.out.splitlines() == [
        "not measured  count(kernels) <= 12",
        "not measured  busy(trace) < ms(1)",
        "holds  count(ops) == 12",
    ]
    assert done.err == f"kinetoscope: {CPU_ONLY}: {NO_GPU} (With --absent-is-zero it counts as 0.)\n"


def test_a_condition_that_fails_outweighs_one_that_is_not_measured(run: Run) -> None:
    done = run("assert", CPU_ONLY, "count(kernels) <= 12", "count(ops) == 1 and count(kernels) == 1")
    assert done.status == 1 and NO_GPU in done.err
    assert done.out.splitlines()[:4] == [
        "not measured  count(kernels) <= 12",
        "FAILS  count(ops) == 1 and count(kernels) == 1",
        "       count(ops) is 12",
        "       count(kernels) is not measured",
    ]


def test_no_command_prints_a_time_of_a_gpu_that_was_not_measured(run: Run) -> None:
    said = run("summary", CPU_ONLY).out
    assert said.count("  not measured") == 6 and NO_GPU in said and "0 ns" not in said
    for by in VIEWS:
        done = run("table", CPU_ONLY, "--by", by)
        assert done.status == 0 and "0 ns" not in done.out, by
        is_of_gpu = by in ("kernel", "copy", "waiting")
        assert ("not measured" in done.out) == is_of_gpu
        assert is_of_gpu or "GPU" not in done.out, by
    [first, *_] = json.loads(run("table", CPU_ONLY, "--json").out)["rows"]
    assert (first["device_ns"], first["self_device_ns"]) == (None, None) and first["cpu_ns"] > 0
    [step, *_] = json.loads(run("table", CPU_ONLY, "--by", "step", "--json").out)["rows"]
    assert {key for key, value in step.items() if value is not None} == {"name", "cpu_ns", "span_ns"}


def test_what_one_of_two_traces_did_not_measure_is_neither_new_nor_gone(run: Run, sample: Find) -> None:
    for pair in ((CPU_ONLY, sample("geglu_eager")), (sample("geglu_eager"), CPU_ONLY)):
        done = run("compare", *pair)
        assert (done.status, done.out) == (4, "") and done.err == f"kinetoscope: {CPU_ONLY}: {NO_GPU}\n"
        assert run("compare", *pair, "--by", "op").status == 0


def test_what_is_absent_may_be_meant(run: Run) -> None:
    done = run("assert", "--absent-is-zero", CPU_ONLY, '"*gemm*" not in kernels', "busy(trace) == 0")
    assert (done.status, done.err) == (0, "")


# --- scrub --------------------------------------------------------------------------------------------------


def test_scrub(run: Run, small: Find, tmp_path: Path) -> None:
    for name in ("clean.json", "clean.json.gz"):
        out = tmp_path / name
        assert run("scrub", small("36"), out).status == 0
        data = out.read_bytes()
        text = (gzip.decompress(data) if name.endswith(".gz") else data).decode()
        assert not re.search("not-a-real-token|build-box-7|someone|distributedInfo", text)
        assert json.loads(run("summary", "--json", out).out)["kernels"] == 1


def test_scrub_takes_out_what_the_dropped_part_names_and_what_it_is_told(run: Run, tmp_path: Path) -> None:
    names = ["load from node17", "of ada", "for moonshot", "in /home/ada/secret/place.py"]
    env = {"HOME": "/home/ada", "TOKEN": "t0k3n"}
    around = {"hostname": "node17", "node": "100", "metadata": {"env": env}}
    path = written(tmp_path, *({"name": name} for name in (*names, "gemm 100")), **around)
    run("scrub", path, tmp_path / "out.json", "--word", "moonshot")
    text = (tmp_path / "out.json").read_text(encoding="utf-8")
    assert not re.search("node17|ada|moonshot|t0k3n|secret", text)
    assert "place.py" in text and "gemm 100" in text


def test_scrub_of_a_file_that_is_mended(run: Run, small: Find, tmp_path: Path) -> None:
    text = small("02").read_text(encoding="utf-8").replace("stage", "stage of node17", 1)
    (tmp_path / "in.json").write_text(text.replace("{", '{"host_name": "node17",', 1), encoding="utf-8")
    done = run("scrub", tmp_path / "in.json", tmp_path / "out.json")
    assert done.status == 0
    assert "bad-quote" in done.err
    scrubbed = (tmp_path / "out.json").read_text(encoding="utf-8")
    assert "stage of host" in scrubbed and "node17" not in scrubbed
    lost = run("scrub", small("06"), tmp_path / "lost.json")
    assert lost.status == 2 and "The file is cut off" in lost.err
    assert run("scrub", "--strict", tmp_path / "in.json", tmp_path / "strict.json").status == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.json", "out.json"]


# --- what holds of all --------------------------------------------------------------------------------------


def test_nothing_is_overwritten_unasked(run: Run, sample: Find, small: Find, tmp_path: Path) -> None:
    for command, suffix in (("timeline", "svg"), ("show", "html"), ("scrub", "json")):
        out = tmp_path / f"mine.{suffix}"
        out.write_text("mine", encoding="utf-8")
        arguments: list[object] = {
            "timeline": [sample("geglu_eager"), "-o", out],
            "show": [sample("geglu_eager"), "--no-open", "-o", out],
            "scrub": [small("36"), out],
        }[command]
        done = run(command, *arguments)
        assert done.status == 2
        assert done.err == f"kinetoscope: {out} exists; choose another name, or --force to overwrite it.\n"
        assert out.read_text(encoding="utf-8") == "mine"
        assert run(command, *arguments, "--force").status == 0
        assert out.stat().st_size > 100
    assert len(list(tmp_path.iterdir())) == 3


def test_a_broken_link_is_not_written_through(run: Run, sample: Find, tmp_path: Path) -> None:
    link = tmp_path / "t.svg"
    link.symlink_to(tmp_path / "elsewhere.svg")
    assert run("timeline", sample("geglu_eager"), "-o", link).status == 2
    assert not (tmp_path / "elsewhere.svg").exists()


def test_no_half_file_is_left_where_writing_fails(
    run: Run, sample: Find, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "somewhere")

    monkeypatch.setattr(Path, "write_text", full)
    done = run("show", sample("geglu_eager"), "--no-open", "-o", tmp_path / "page.html")
    assert done.status == 2
    assert "no space left on device" in done.err.lower()
    assert list(tmp_path.iterdir()) == []


def test_strict_does_nothing_else(run: Run, small: Find, tmp_path: Path) -> None:
    out = tmp_path / "x.svg"
    for command in (
        ["table"],
        ["assert", small("25"), "1 < 2"],
        ["timeline", "-o", out],
        ["compare", small("25")],
    ):
        trace = [] if command[0] == "assert" else [small("25")]
        done = run("--strict", *command, *trace)
        assert (done.status, done.out) == (3, "")
        assert "no-launch (1×, first at event 5, 'toy_orphan')" in done.err
    assert not out.exists()
    assert run("table", "--strict", small("22")).status == 0


def test_findings_are_told_by_every_command(run: Run, small: Find, tmp_path: Path) -> None:
    path, said = small("14"), "overlapping-stream"
    done = {
        "table": run("table", path),
        "timeline": run("timeline", path, "-o", tmp_path / "t.svg"),
        "compare": run("compare", path, path),
        "assert": run("assert", path, "count(kernels) == 2"),
        "show": run("show", path, "--no-open", "-o", tmp_path / "p.html"),
    }
    assert {name: each.status for name, each in done.items()} == dict.fromkeys(done, 0)
    assert all(said in each.err for each in done.values())
    assert said in run("summary", path).out
    for command in (["table"], ["compare", path]):
        shown = run(*command, path, "--json")
        assert said in shown.out and shown.err == ""


NASTY = (
    "\x1b[31mred\x1b]0;title\x07 \u202eback\u2066 \x9b2J <script>alert(1)</script> =1+1|`a` \u200b\r\n end"
)


def test_no_control_character_reaches_a_terminal(run: Run, tmp_path: Path) -> None:
    kernel = {"name": NASTY, "cat": "kernel", "pid": 0, "tid": 7, "args": {"stream": 7, "device": 0}}
    path = written(tmp_path, {"name": NASTY}, kernel, deviceProperties=[{"id": 0, "name": NASTY}])
    commands = [
        ["summary", path],
        ["summary", "--json", path],
        ["table", path],
        ["table", path, "--by", "kernel", "--csv"],
        ["table", path, "--json"],
        ["compare", path, path],
        ["compare", path, path, "--csv"],
        ["assert", path, "count(kernels) == 7"],
        ["assert", path, 'count(kernels["x"]) == 7'],
        ["timeline", path, "-o", tmp_path / "t.svg", "--zoom", "x"],
        ["show", path, "--no-open", "-o", tmp_path / "p.html"],
        ["table", tmp_path / "\x1b[31m.json"],
    ]
    for command in commands:
        done = run(*command)
        for text in (done.out, done.err):
            assert (
                re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f]", text) == []
            )
    cells = [cell for row in csv.reader(io.StringIO(run("table", path, "--csv").out)) for cell in row]
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells)


def test_what_a_spreadsheet_would_compute_is_marked(run: Run, tmp_path: Path) -> None:
    names = ["=HYPERLINK(1)", "-1", "\t=1", "  +1", "\N{FULLWIDTH EQUALS SIGN}1", "@x"]
    out = run("table", written(tmp_path, *({"name": name} for name in names)), "--csv").out
    shown = {row["name"] for row in csv.DictReader(io.StringIO(out))}
    assert shown == {f"'{printable(name)}" for name in names}


def test_printable_keeps_what_is_text() -> None:
    assert printable("µ × 漢字 é\N{NO-BREAK SPACE}x") == "µ × 漢字 é\N{NO-BREAK SPACE}x"


def test_a_pipe_is_read(process: Process, sample: Find) -> None:
    packed = sample("geglu_eager").read_bytes()
    for data in (packed, gzip.decompress(packed)):
        done = process("summary", "--json", "-", stdin=data)
        assert (done.returncode, done.stderr) == (0, b"")
        assert json.loads(done.stdout)["kernels"] == 15
    done = process("table", "-")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"kinetoscope: the pipe: the file is empty")


def test_nothing_but_the_table_comes_through_a_pipe(process: Process, sample: Find) -> None:
    done = process("table", sample("geglu_eager"), "--csv", "--by", "step")
    assert done.stdout.splitlines()[0].startswith(b"name,cpu_ns")
    assert done.stderr == b""


@pytest.mark.skipif(os.name == "nt", reason="pipes break in another way on Windows")
def test_a_reader_that_leaves_is_no_fault(sample: Find) -> None:
    command = f"{sys.executable} -m kinetoscope table {sample('geglu_eager')} --json; echo $? >&2"
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    done = subprocess.run(
        ["sh", "-c", f"({command}) | true"], capture_output=True, text=True, check=False, env=env
    )
    assert done.stderr == "0\n"


def test_an_encoding_without_a_micro_sign(
    process: Process, sample: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    done = process("summary", sample("geglu_eager"))
    assert done.returncode == 0
    assert b"693 \\xb5s" in done.stdout


def test_a_small_file_that_unpacks_to_very_much(run: Run, tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(b" " * 3_000_000))
    done = run("summary", "--max-bytes", "1M", bomb)
    assert done.status == 2
    assert "raise the limit" in done.err
    assert "is empty" in run("summary", "--max-bytes", "4M", bomb).err
    assert "raise the limit" in run("scrub", "--max-bytes", "1M", bomb, tmp_path / "o.json").err


def test_what_unpacks_to_a_hundred_times_its_size_is_refused_early(process: Process) -> None:
    # Two gzip members; neither is too large by itself.
    bomb = gzip.compress(b" " * 150_000_000, 1) * 2
    limit = "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (3 * 2**29,) * 2); "
    begin = "from kinetoscope.cli import main; sys.exit(main(['summary', '-']))"
    done = process(stdin=bomb, python=("-c", limit + begin) if os.name == "posix" else ("-c", begin))
    assert done.returncode == 2
    assert b"unpacks to more than 100 times its size" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="a shell closes the streams")
def test_streams_that_are_closed(small: Find) -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    start = f"{sys.executable} -m kinetoscope"
    for command, status in (
        (f"{start} summary {small('22')} >&-", 0),
        (f"{start} summary - <&-", 2),
        (f"{start} summary nowhere 2>&-", 2),
    ):
        done = subprocess.run(["sh", "-c", command], capture_output=True, check=False, env=env)
        assert (done.returncode, b"fault" in done.stderr) == (status, False), command


@pytest.mark.skipif(os.name == "nt", reason="no such signal on Windows")
def test_an_interrupt_is_quiet(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    # It prints "reading" when it starts to read, and only then do we send the signal.
    code = (
        "import kinetoscope.cli.files as files, sys\n"
        "whole = files.read_pipe\n"
        "def read(path):\n"
        "    print('reading', flush=True)\n"
        "    return whole(path)\n"
        "files.read_pipe = read\n"
        "from kinetoscope.cli import main\n"
        f"sys.exit(main(['show', '-', '--no-open', '-o', {str(tmp_path / 'p.html')!r}]))"
    )
    command = [sys.executable, "-c", code]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=env) as waiting:
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == b"reading\n"
        waiting.send_signal(signal.SIGINT)
        assert waiting.communicate(timeout=120) == (b"", b"")
    assert waiting.returncode == 130
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_no_place_to_write_to(run: Run, small: Find, tmp_path: Path) -> None:
    for arguments in (["scrub", small("22"), "-"], ["show", small("22"), "--no-open", "-o", "-"]):
        done = run(*arguments)
        assert done.status == 2 and "give the name of a file" in done.err


def test_a_fault_of_ones_own_is_one_line(run: Run, sample: Find, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr("kinetoscope.measure.summary.summarize", broken)
    done = run("summary", sample("geglu_eager"))
    assert done.status == 70
    assert "KINETOSCOPE_DEBUG=1" in done.err and done.err.count("\n") == 1
    monkeypatch.setenv("KINETOSCOPE_DEBUG", "1")
    with pytest.raises(KeyError):
        run("summary", sample("geglu_eager"))


def test_every_command_tells_its_options(run: Run) -> None:
    assert run("--version").out.startswith("kinetoscope ")
    for command in COMMANDS:
        done = run(command, "--help")
        assert done.status == 0 and "--help" in done.out
    unknown = run("slow")
    assert unknown.status == 2 and unknown.err.count("\n") == 1
    assert set(EXIT_STATUSES) == {0, 1, 2, 3, 4, 70, 130}


# --- claims -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "9" * 5000, '[{"value": 1}]', "\ufeff"], ids=lambda text: text[:8]
)
def test_what_is_not_claims_json_is_refused(run: Run, tmp_path: Path, text: str) -> None:
    path = tmp_path / "claims.json"
    path.write_text(text, encoding="utf-8")
    assert (done := run("claims", tmp_path)).status == 2 and "is not a claims.json" in done.err
