"""How fast Kinetoscope and others read a trace, in how much memory, and what they answer: `nox -s bench`.

Each measurement is of a whole process, as a user would start it. The operating system reports its wall-clock
time, its CPU time (with that of its children) and its peak memory. The subjects run in rounds (A B C A B C
…), and a figure is the median over the rounds. A ratio of CPU times is computed in each round before the
median is taken, so a machine that was busy for a while does little harm.

    python benchmarks/reading.py [--traces FOLDER] [--rounds 3] [--largest 3000000] [--into FOLDER]
                                 [--quick | --commands]

Without --traces it reads the real traces in ../shared/corpus/real that are larger than 5 MB. If that folder
is not beside the checkout, it repeats traces of the tests instead. It writes the tables, the plot and the
provenance from which the page reference/speed is computed.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT.parent / "shared" / "corpus" / "real"
MADE_OF = ROOT / "tests" / "data" / "traces"
RECORDED = ROOT / "docs" / "recordings" / "bench"
SUBJECTS = Path(__file__).with_name("subjects.py")

LEAST = 5_000_000
"""bytes of JSON; smaller traces are not worth timing"""
OURS = "kinetoscope"
PEERS = ("msgspec, typed", "orjson", "json", "HolisticTraceAnalysis", "torch-tb-profiler")
SLOWEST = "torch-tb-profiler"
LONGER = 1_000_000
"""entries of the longer trace, which the slowest tool does not have to read"""
READERS = ("msgspec, typed", "msgspec, untyped", "pysimdjson", "orjson", "json")
UNPACKERS = ("zlib, at once", "zlib, in pieces", "zlib-ng, in pieces", "isal, in pieces")
COMMANDS = ("summary", "table", "compare", "scrub", "show", "timeline")
"""that read a whole trace and must not take more than in proportion to it"""
KERNELS = 80
"""names of kernels in a trace of many events; in one of many names, each kernel has its own"""
TOGETHER = "these together"
"""name of the row that sums up all real traces"""
HEADS = {
    "msgspec, typed": "msgspec",
    "HolisticTraceAnalysis": "HTA",
    "torch-tb-profiler": "TensorBoard",
}
"""short names of tools, for column headings"""
NEEDS = {
    "msgspec, typed": "msgspec",
    "msgspec, untyped": "msgspec",
    "orjson": "orjson",
    "pysimdjson": "simdjson",
    "HolisticTraceAnalysis": "hta",
    "torch-tb-profiler": "torch_tb_profiler",
    "isal, in pieces": "isal",
    "zlib-ng, in pieces": "zlib_ng",
}
"""the module that a subject imports, if it is neither ours nor Python's"""
VERSIONS = (
    *("msgspec", "numpy", "orjson", "pysimdjson", "isal", "zlib-ng"),
    *("HolisticTraceAnalysis", "torch-tb-profiler", "pandas"),
)


@dataclass(frozen=True)
class Spent:
    """What a process cost."""

    wall: float
    """seconds"""
    cpu: float
    """seconds, of the process and those it waited for"""
    memory: int
    """bytes, the peak of the process or of one that it waited for"""


ENVIRONMENT = {
    **{key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"},
    "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")])),
    "OPENBLAS_NUM_THREADS": "1",
}
"""of every process that is measured

Modules are compiled before the measurement, as installed ones are.  numpy starts a thread for each core to
multiply matrices, which costs CPU time while it waits.  No subject multiplies matrices, so it is off for all.
"""


class Failed(Exception):
    """A subject ended with an error; the message is its last line."""


def run(subject: str, trace: Path, *words: str) -> tuple[Spent, str]:
    """The cost of one process, and what it printed.  Raises :class:`Failed`."""
    begin = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, str(SUBJECTS), subject, str(trace), *words],
            stdout=out,
            stderr=errors,
            env=ENVIRONMENT,
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        if status:
            raise Failed((errors.read().strip().splitlines() or ["no message"])[-1][:200])
        unit = 1 if sys.platform == "darwin" else 1024
        return Spent(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * unit), out.read()


def measure(subjects: tuple[str, ...], trace: Path, rounds: int) -> dict[str, list[Spent]]:
    """The cost of each subject in each round.  A subject that fails is named and left out."""
    spent: dict[str, list[Spent]] = {subject: [] for subject in subjects if warm(subject)}
    for _ in range(rounds):
        for subject in list(spent):
            try:
                spent[subject].append(run(subject, trace)[0])
            except Failed as error:
                print(f"  {subject} fails on {trace.name}: {error}", flush=True)
                del spent[subject]
    return spent


@cache
def warm(subject: str) -> bool:
    """Run a subject once, so that its modules are compiled and cached; returns whether it works."""
    try:
        run(subject, MADE_OF / "geglu_eager.json.gz")
    except Failed as error:
        print(f"  {subject} does not work here: {error}", flush=True)
        return False
    return True


def medians(spent: list[Spent]) -> Spent:
    """The median over the rounds, of each figure."""
    return Spent(
        statistics.median(each.wall for each in spent),
        statistics.median(each.cpu for each in spent),
        round(statistics.median(each.memory for each in spent)),
    )


def ratio(ours: list[Spent], theirs: list[Spent]) -> float:
    """Their CPU time divided by ours: the median over the rounds."""
    return statistics.median(their.cpu / our.cpu for our, their in zip(ours, theirs, strict=True))


def installed(subjects: tuple[str, ...]) -> tuple[str, ...]:
    """The subjects that are installed here; names the others."""
    missing = [s for s in subjects if s in NEEDS and importlib.util.find_spec(NEEDS[s]) is None]
    if missing:
        print(f"not installed, and left out: {', '.join(missing)}", flush=True)
    return tuple(subject for subject in subjects if subject not in missing)


def json_size(path: Path) -> int:
    """Bytes of JSON in a file.  Read in pieces: a child's peak memory starts at what its parent holds."""
    with path.open("rb") as file:
        gzipped = file.read(2) == b"\x1f\x8b"
    size = 0
    with (gzip.open if gzipped else open)(path, "rb") as file:
        while piece := file.read(2**20):
            size += len(piece)
    return size


def ask(*words: object) -> Any:
    """The answer of benchmarks/traces.py, in a process of its own for the same reason."""
    script = Path(__file__).with_name("traces.py")
    done = subprocess.run([sys.executable, script, *map(str, words)], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def repeated(path: Path, into: Path, entries: int) -> tuple[Path, int]:
    """Repeat a trace until it has about ``entries`` entries; returns the new file and their exact number."""
    into.parent.mkdir(parents=True, exist_ok=True)
    return into, int(ask("repeat", path, into, entries))


def without_launches(work: Path) -> Path:
    """A trace of the tests that has lost every second launch but no kernel."""
    into = work / "half_of_the_launches_lost.json.gz"
    ask("lose", MADE_OF / "geglu_eager.json.gz", into)
    return into


def choose_traces(options: argparse.Namespace, work: Path) -> list[Path]:
    """The traces to read."""
    folder = options.traces or CORPUS
    if folder.is_dir():
        traces = sorted(path for path in folder.iterdir() if path.name.endswith((".json", ".json.gz")))
        return traces or sys.exit(f"{folder} holds no .json or .json.gz")
    print("no real traces beside the checkout: repeating those of the tests", flush=True)
    names = ("geglu_eager", "geglu_compiled_stack_mem")
    return [repeated(MADE_OF / f"{n}.json.gz", work / f"{n}.json.gz", 100_000)[0] for n in names]


def label(path: Path) -> str:
    """The name of a trace in the tables, with spaces where a line can break."""
    return path.name.removesuffix(".gz").removesuffix(".json").replace("_", " ")


def write(folder: Path, name: str, heads: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    """Write NAME.csv."""
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(heads)
        writer.writerows(rows)


def compare_tools(
    traces: list[Path], rounds: int, into: Path, longer: Path | None = None, peers: tuple[str, ...] = PEERS
) -> None:
    """Write the tables of what each tool costs on each trace, and once on a longer one."""
    rows: list[tuple[Any, ...]] = []
    costs: dict[str, dict[str, Spent]] = {}
    for trace in (*traces, longer) if longer else traces:
        size = json_size(trace)
        print(f"{label(trace)}, {size / 1e6:.1f} MB of JSON", flush=True)
        tools = tuple(tool for tool in installed(peers) if trace is not longer or tool != SLOWEST)
        measured = measure((OURS, *tools), trace, 1 if trace is longer else rounds)
        costs[label(trace)] = {tool: medians(spent) for tool, spent in measured.items()}
        for tool, spent in measured.items():
            cost = medians(spent)
            times = ratio(measured[OURS], spent)
            memory = cost.memory / medians(measured[OURS]).memory
            rows.append(
                (
                    *(label(trace), tool, size, f"{cost.wall:.3f}", f"{cost.cpu:.3f}", cost.memory),
                    *(f"{times:.3f}", f"{memory:.3f}"),
                )
            )
            figures = f"{cost.wall:7.2f} s {cost.cpu:7.2f} s CPU {cost.memory / 1e6:7.0f} MB {times:6.2f}×"
            print(f"  {tool:24} {figures}", flush=True)
    heads = ("trace", "tool", "json_bytes", "wall_s", "cpu_s", "memory_bytes", "times_ours_ratio")
    write(into, "bench_tools", (*heads, "memory_to_ours_ratio"), rows)
    names = [label(trace) for trace in traces]
    write_ratios("bench_times", "cpu", names, costs, into)
    write_ratios("bench_memory", "memory", names, costs, into)


def write_ratios(
    name: str, what: str, real: list[str], costs: dict[str, dict[str, Spent]], into: Path
) -> None:
    """Write a table of what we take, and of the others' ratios to that, with a row for each trace.

    For CPU time there is also a row for all real traces together: the ratio of the sums.
    """
    tools = [tool for tool in PEERS if any(tool in cost for cost in costs.values())]
    figures = {
        trace: {tool: getattr(spent, what) for tool, spent in cost.items()} for trace, cost in costs.items()
    }
    if what == "cpu":
        everywhere = [tool for tool in (OURS, *tools) if all(tool in figures[trace] for trace in real)]
        figures[TOGETHER] = {tool: sum(figures[trace][tool] for trace in real) for tool in everywhere}
    rows: list[tuple[Any, ...]] = []
    for trace in sorted(figures, key=[*real, TOGETHER, *figures].index):
        ours = figures[trace][OURS]
        ratios = [f"{figures[trace][tool] / ours:.3f}" if tool in figures[trace] else "" for tool in tools]
        rows.append((trace, f"{ours:.3f}" if what == "cpu" else ours, *ratios))
    unit = "s" if what == "cpu" else "bytes"
    write(into, name, ("trace", f"kinetoscope_{unit}", *(f"{HEADS.get(t, t)}_ratio" for t in tools)), rows)


def measure_growth(
    trace: Path, largest: int, rounds: int, into: Path, work: Path, parts: tuple[int, ...] = (12, 6, 3, 2, 1)
) -> None:
    """Write the table and the plot of how the cost grows with a trace."""
    rows: list[tuple[Any, ...]] = []
    for part in parts:
        path, events = repeated(trace, work / "grown.json.gz", largest // part)
        spent = medians(measure((OURS,), path, rounds)[OURS])
        rows.append((events, f"{spent.wall:.3f}", f"{spent.cpu:.3f}", spent.memory))
        print(f"{events:9,d} entries: {spent.cpu:6.2f} s CPU, {spent.memory / 1e6:6.0f} MB", flush=True)
        path.unlink()
    write(into, "bench_growth", ("entries_count", "wall_s", "cpu_s", "memory_bytes"), rows)
    if importlib.util.find_spec("matplotlib"):
        plot_growth([(int(row[0]), float(row[2])) for row in rows], into)


def plot_growth(points: list[tuple[int, float]], into: Path) -> None:
    """Plot CPU time against size, with a straight line from zero to the largest trace."""
    figure = new_figure((6.4, 3.4))
    axes = figure.subplots()
    events, seconds = zip(*points, strict=True)
    axes.plot([n / 1e6 for n in events], seconds, "o-", label="measured")
    axes.plot([0, events[-1] / 1e6], [0, seconds[-1]], "--", label="in proportion to the largest")
    axes.set(xlabel="million entries in the file", ylabel="seconds of CPU", title="Load, link and all tables")
    axes.set_xlim(0)
    axes.set_ylim(0)
    axes.legend()
    save_figure(figure, into, "bench_growth")


def new_figure(size: tuple[float, float]) -> Any:
    """A figure of matplotlib, ``size`` in inches."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def save_figure(figure: Any, into: Path, name: str) -> None:
    """Write a figure for pages, with its description, and for PDF."""
    sys.path.insert(0, str(ROOT / "src"))
    from kinetoscope.draw.plots import describe_figure, figure_svg

    (into / f"{name}.svg").write_text(figure_svg(figure), encoding="utf-8")
    (into / f"{name}.txt").write_text(describe_figure(figure) + "\n", encoding="utf-8")
    figure.savefig(into / f"{name}.png", dpi=150)


def measure_commands(work: Path, into: Path, largest: int = 1_000_000, sizes: int = 3) -> None:
    """Write the table and the plot of what each command costs on ten and a hundred times the events or names.

    A trace of many names has a tenth as many of them, and three events for each.  The files are plain JSON:
    what is held of a file takes more memory then.
    """
    rows: list[tuple[Any, ...]] = []
    folder = work / "commands"
    folder.mkdir()
    for of, most in (("events", largest), ("names", largest // 10)):
        before: dict[str, float] = {}
        for count in (most // 10**n for n in reversed(range(sizes))):
            path = folder / "made.json"
            ask("make", path, *((count, KERNELS) if of == "events" else (3 * count, count)))
            subjects = tuple(f"kinetoscope {command}" for command in COMMANDS)
            for subject, [spent] in measure(subjects, path, 1).items():
                times = f"{spent.cpu / before[subject]:.2f}" if subject in before else ""
                before[subject] = spent.cpu
                command = subject.removeprefix("kinetoscope ")
                rows.append((command, of, count, f"{spent.cpu:.3f}", times, spent.memory))
                print(f"{count:9,d} {of}: {spent} {subject}", flush=True)
    heads = ("command", "of", "how_many_count", "cpu_s", "to_a_tenth_ratio", "memory_bytes")
    rows.sort(key=lambda row: (row[1], COMMANDS.index(row[0]), row[2]))
    write(into, "bench_commands", heads, rows)
    if importlib.util.find_spec("matplotlib"):
        plot_commands(rows, into)


def plot_commands(rows: list[tuple[Any, ...]], into: Path) -> None:
    """Plot CPU time against events and against names, both axes logarithmic: a straight line of slope 1 is
    in proportion.
    """
    figure = new_figure((6.4, 3.8))
    for axes, of in zip(figure.subplots(1, 2, sharey=True), ("events", "names"), strict=True):
        for command in COMMANDS:
            points = [(row[2], float(row[3])) for row in rows if row[:2] == (command, of)]
            axes.loglog(*zip(*points, strict=True), "o-", markersize=4, label=command)
        counts = sorted({row[2] for row in rows if row[1] == of})
        most = max(float(row[3]) for row in rows if row[1] == of)
        axes.loglog(counts, [most * n / counts[-1] for n in counts], "k--", label="in proportion")
        axes.set(xlabel=f"{of} in the file", title=f"Many {of}")
    figure.axes[0].set(ylabel="seconds of CPU")
    figure.axes[1].legend(fontsize="small")
    save_figure(figure, into, "bench_commands")


def compare_candidates(trace: Path, rounds: int, into: Path) -> None:
    """Write the table of libraries that could unpack and decode; the cost of a bare process is subtracted."""
    rows: list[tuple[Any, ...]] = []
    for task, subjects in (("unpack", UNPACKERS), ("unpack and decode", READERS)):
        measured = measure(("nothing", *installed(subjects)), trace, rounds)
        for subject in subjects:
            if spent := measured.get(subject):
                cost, bare = medians(spent), medians(measured["nothing"])
                cpu = max(0.0, cost.cpu - bare.cpu)
                rows.append((task, subject, f"{cpu:.3f}", cost.memory))
                print(f"  {task:18} {subject:20} {cpu:6.3f} s CPU {cost.memory / 1e6:6.0f} MB", flush=True)
    write(into, "bench_candidates", ("task", "candidate", "cpu_s", "memory_bytes"), rows)


def compare_answers(traces: list[Path], into: Path) -> None:
    """Write the table of what each tool says about the kernels, and of what is in the file."""
    rows: list[tuple[Any, ...]] = []
    for trace in traces:
        kernels, time_ns = ask("exact", trace)
        if not kernels:
            continue
        for tool in (OURS, *installed(("HolisticTraceAnalysis", "torch-tb-profiler"))):
            try:
                said = json.loads(run(tool, trace, "--answers")[1].strip().splitlines()[-1])
            except Failed as error:
                print(f"  {tool} has no answer for {trace.name}: {error}", flush=True)
                said = {}
            of_it = said["time_ns"] / time_ns if said and time_ns else ""
            rows.append(
                (
                    *(label(trace), tool, said.get("kernels", ""), kernels, said.get("time_ns", ""), time_ns),
                    f"{of_it:.6f}" if of_it != "" else "",
                )
            )
            print(f"  {label(trace)[:30]:30} {tool:24} {said} of {kernels}, {time_ns}", flush=True)
    heads = ("trace", "tool", "kernels_count", "in_file_count", "time_ns", "in_file_ns", "of_it_share")
    write(into, "bench_answers", heads, rows)


def time_command(rounds: int, into: Path) -> None:
    """Write the table of one command on a small trace."""
    trace = MADE_OF / "geglu_eager.json.gz"
    measured = measure(("nothing", "numpy, loaded", "kinetoscope summary"), trace, 3 * rounds)
    rows = []
    for subject, spent in measured.items():
        best = min(each.wall for each in spent)
        cost = medians(spent)
        rows.append((subject, f"{cost.wall:.4f}", f"{cost.cpu:.4f}", f"{best:.4f}", cost.memory))
        print(f"  {subject}: {1e3 * cost.wall:.0f} ms, {1e3 * cost.cpu:.0f} ms CPU", flush=True)
    write(into, "bench_command", ("command", "wall_s", "cpu_s", "best_wall_s", "memory_bytes"), rows)


def write_provenance(rounds: int, into: Path, took: float, table: str = "bench_machine") -> None:
    """Write the table of the machine and the versions, without a host name or a path."""
    sys.path.insert(0, str(ROOT / "src"))
    from kinetoscope.record.provenance import here as this_machine
    from kinetoscope.record.provenance import revision

    rows = [
        ("CPU", this_machine().machine.cpu or platform.machine()),
        ("cores", str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())),
        ("system", platform.system()),
        ("Python", platform.python_version()),
    ]
    for name in VERSIONS:
        try:
            rows.append((name, importlib.metadata.version(name)))
        except importlib.metadata.PackageNotFoundError:
            continue
    rows += [
        ("rounds", str(rounds)),
        ("took", f"{took:.0f} s"),
        ("recorded", datetime.now(UTC).date().isoformat()),
        ("revision of Kinetoscope", revision(ROOT, ROOT / "src", ROOT / "benchmarks")),
    ]
    write(into, table, ("what", "value"), list(rows))


def measure_everything(options: argparse.Namespace, work: Path, made: Path) -> None:
    """Write every table."""
    traces = choose_traces(options, work / "traces")
    timed = [path for path in traces if json_size(path) > LEAST] or traces
    largest = max(timed, key=json_size)
    print("making a longer one by repeating the largest", flush=True)
    longer, _ = repeated(largest, work / f"repeated_{LONGER}.json.gz", LONGER)
    compare_tools(timed, options.rounds, made, longer)
    compare_candidates(largest, options.rounds, made)
    time_command(options.rounds, made)
    compare_answers([*traces, without_launches(work)], made)
    measure_growth(largest, options.largest, min(options.rounds, 2), made, work)
    measure_commands_alone(options, work, made)


def measure_commands_alone(options: argparse.Namespace, work: Path, made: Path) -> None:
    """Write the tables of the commands, and with what they were measured."""
    begin = time.perf_counter()
    measure_commands(work, made)
    write_provenance(1, made, time.perf_counter() - begin, "bench_commands_machine")


def measure_for_a_test(options: argparse.Namespace, work: Path, made: Path) -> None:
    """Write some tables for a test: a small trace, and no other program but Python's json."""
    trace, _ = repeated(MADE_OF / "geglu_eager.json.gz", work / "geglu_eager.json.gz", 2_000)
    compare_tools([trace], options.rounds, made, peers=("json",))
    compare_answers([trace, without_launches(work)], made)
    measure_growth(trace, 4_000, options.rounds, made, work, parts=(2, 1))
    measure_commands(work, made, largest=3_000, sizes=1)


def main() -> None:
    """Measure, and write the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--traces", type=Path, help="a folder of traces to read instead of the real ones")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--largest", type=int, default=3_000_000, help="entries of the largest repeated trace"
    )
    parser.add_argument("--into", type=Path, help="where the tables go (docs/recordings/bench)")
    parser.add_argument("--quick", action="store_true", help="a small trace and no other tool, for a test")
    parser.add_argument(
        "--commands", action="store_true", help="only what each command takes (three minutes)"
    )
    options = parser.parse_args()
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="kinetoscope-bench-") as folder:
        work = Path(folder)
        ENVIRONMENT["PYTHONPYCACHEPREFIX"] = str(work / "compiled")
        made = work / "made"
        made.mkdir()
        if options.commands:
            measure_commands_alone(options, work, made)
        else:
            (measure_for_a_test if options.quick else measure_everything)(options, work, made)
            write_provenance(options.rounds, made, time.perf_counter() - begin)
        into = options.into or RECORDED
        into.mkdir(parents=True, exist_ok=True)
        for path in sorted(made.iterdir()):
            shutil.copyfile(path, into / path.name)
        print(f"took {time.perf_counter() - begin:.0f} s; written to {into}")


if __name__ == "__main__":
    main()
