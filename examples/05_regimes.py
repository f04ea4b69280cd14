# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "torch>=2.11",
#     "liger-kernel>=0.8.5; sys_platform == 'linux'",
#     "matplotlib",
#     "numpy",
# ]
# ///
"""
Regimes: who waits for whom
===========================

The GeGLU MLP from one row to many thousands, by two clocks: the host's, which says how long a
forward pass takes, and the GPU's, which says how long the GPU works on it. Where the
host's is far the longer, the GPU waits for the CPU.

Run it with no flags for the whole lesson, or with flags for one run::

    uv run 05_regimes.py
    uv run 05_regimes.py --rows 16
    uv run 05_regimes.py --rows 16 --compile
    uv run 05_regimes.py --rows 16 --compile --mode reduce-overhead

You learn

- to time a forward pass without a profiler, by two clocks, and to read the difference;
- at how many rows a network stops being limited by its launches, and what compiling it changes;
- what one launch costs the CPU, and what it costs while a profiler watches;
- how much the time of one kernel varies from step to step.
"""

# %%
# The flags
# ---------
# Without flags the whole lesson; with any flag, the one run it describes.

import argparse
import copy
import csv
import os
import sys
import time
from contextlib import contextmanager, nullcontext
from itertools import pairwise
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, record_function, schedule

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def positive(text):
    """A whole number above zero, or argparse's error."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


parser = argparse.ArgumentParser(description="Time and profile a GeGLU MLP at some number of rows.")
parser.add_argument("--rows", type=positive, default=16, help="rows of x: batch times sequence")
parser.add_argument("--dim", type=positive, default=768, help="numbers in a row")
parser.add_argument("--hidden", type=positive, default=3072, help="width inside the MLP")
parser.add_argument("--compile", action="store_true", help="take the compiled module")
parser.add_argument("--mode", choices=["default", "reduce-overhead"], help="torch.compile's mode")
parser.add_argument("--dtype", choices=DTYPES, default="bf16")
parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
parser.add_argument("--steps", type=positive, default=5, help="1 waits, 1 warms up, the rest count")
parser.add_argument("--out", type=Path, default=Path("traces"), help="folder for what is written")
argv = sys.argv[1:] if "__file__" in globals() else []  # in a notebook sys.argv is not ours
args = parser.parse_args(argv)
lesson = not argv

if args.steps < 3:
    parser.error("--steps: at least 3 (one waits, one warms up, and one or more are recorded)")
if args.device == "cuda" and not torch.cuda.is_available():
    parser.error("--device cuda: torch sees no GPU here; use --device cpu")
if args.mode and not args.compile:
    parser.error("--mode belongs to --compile")
try:
    args.out.mkdir(parents=True, exist_ok=True)
except OSError as error:
    parser.error(f"--out {args.out}: {error.strerror}")

device = args.device
if device == "auto":
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        print("No GPU found: running on the CPU; the traces will show no stream.")
print("To look at a trace: https://ui.perfetto.dev, Open trace file; or chrome://tracing.")
dtype = DTYPES[args.dtype]
dim, hidden = args.dim, args.hidden

if device == "cpu" and args.mode == "reduce-overhead":
    parser.error("--mode reduce-overhead: needs a GPU; it replays CUDA graphs")
many_rows = [1, 4, 16, 64, 128, 512, 1024, 2048, 4096, 8192, 16384]
large = 8192
if device == "cpu" and lesson:
    many_rows, large = [1, 16, 64], 64
    print("Without a GPU: at most 64 rows instead of 16384, one clock, and smaller single layers.")

# %%
# The workload
# ------------
# The same MLP as in the lessons before; here *rows* is all that varies. A row is a token: 64
# sequences of 128 tokens are 8192 rows, and a chat that makes one token at a time is one row.
#
# The same weights are used in every call. They are small enough to stay in the cache of a large
# GPU, which they would not do if other layers came in between.


class GeGLUMLP(nn.Module):
    """down(gelu(gate(x)) * up(x)), without biases."""

    def __init__(self, dim, hidden):
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden, bias=False)
        self.up_proj = nn.Linear(dim, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, dim, bias=False)

    def forward(self, x):  # (rows, dim)
        gate = self.gate_proj(x)  # (rows, hidden)
        up = self.up_proj(x)  # (rows, hidden)
        return self.down_proj(F.gelu(gate, approximate="tanh") * up)  # (rows, dim)


def memory():
    """Bytes that can be had: free on the GPU, installed on the CPU."""
    if device == "cuda":
        return torch.cuda.mem_get_info()[0]
    if hasattr(os, "sysconf"):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return sys.maxsize


def calls_per_batch(bytes_per_call):
    """How many calls, each with data of its own, are several times as large as the cache."""
    if device == "cpu":
        return 10
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    return min(100, max(20, 4 * cache // bytes_per_call))


sizes = f"--rows {args.rows} --dim {dim} --hidden {hidden}"
numbers = 3 * dim * hidden + args.rows * (2 * dim + 4 * hidden)
needed = numbers * (dtype.itemsize + 4)  # once as asked for, and once in float32 to check against
in_and_out = 2 * args.rows * dim * dtype.itemsize
needed += in_and_out * calls_per_batch(in_and_out)
if needed > memory():
    parser.error(
        f"{sizes}: needs about {needed // 2**30} GiB, {device} has {memory() // 2**30} GiB; "
        "use smaller sizes"
    )

# %%
# Right first, fast second
# ------------------------
# Before a time is printed, the result is compared with float32. The error is relative to the whole
# result (the largest of them, where several are compared at once), and what is allowed depends on
# how many digits the data type has.

ALLOWED = {"bf16": 2e-2, "fp16": 4e-3, "fp32": 1e-4}


def agree(what, result, reference):  # (rows, dim), or several of them: (variants, rows, dim)
    """Print how far result is from reference, and stop if that is too far."""
    result, reference = result.float(), reference.float()
    difference = (result - reference).abs().max().item()
    error = ((result - reference).norm(dim=(-2, -1)) / reference.norm()).max().item()
    verdict = f"max |difference| {difference:.2g}, relative error {error:.1e}"
    # Written so that NaN fails as well.
    assert error <= ALLOWED[args.dtype], f"{what}: NOT so: {verdict}"
    print(f"{what}: {verdict} (allowed {ALLOWED[args.dtype]:.0e})")


# %%
# The script ends early in two cases only, and says why in one line: when memory runs out all the
# same, and when there is no compiler for ``torch.compile`` to call.


@contextmanager
def one_line_for_errors():
    """One line instead of a traceback, where the reader can do something about it."""
    try:
        yield
    except RuntimeError as error:
        message = str(error)
        if "out of memory" in message or "allocate memory" in message:
            raise SystemExit(f"{sizes} does not fit: use smaller sizes") from error
        if "C++ compiler" in message or "C compiler" in message:
            raise SystemExit("torch.compile found no compiler: install one, or set CXX") from error
        raise


# %%
# Two clocks
# ----------
# *The host's clock.* A batch of calls is issued in a row, without waiting in between; then there is
# one wait for the GPU. So the launches of one call overlap with the work of the one before, as they
# do in a program that has better things to do than to wait. The time of the batch, divided by its
# calls, is what a forward pass costs: the CPU's time or the GPU's, whichever is longer.
#
# *The GPU's clock.* The same calls are captured into a CUDA graph and launched all at once. Nothing
# is left for the CPU to do, so this is the time of the GPU alone.
#
# Every call has an input and an output of its own, together several times as large as the cache, or
# a hundred of them where the rows are few. All variants take turns, for many rounds, so that a GPU
# that gets warmer does so for all of them. What is kept is the median over the rounds, and the
# range in which the middle 60 % of them lie.


def wait():
    """Wait until the GPU has done all it was given."""
    if device == "cuda":
        torch.cuda.synchronize()


def host_us(fn, inputs):
    """Microseconds of one call by the host's clock."""
    wait()
    begin = time.perf_counter()
    for x in inputs:
        fn(x)
    wait()
    return 1e6 * (time.perf_counter() - begin) / len(inputs)


def capture(fn, inputs):
    """A CUDA graph of one call for each of the inputs, and their outputs."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outputs = [fn(x) for x in inputs]  # kept, so that each has memory of its own
    graph.replay()
    return graph, outputs


def gpu_us(graph, outputs):
    """Microseconds of one call by the GPU's clock."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return 1e3 * begin.elapsed_time(end) / len(outputs)


def quantiles(times):
    """Median, 20 % and 80 % quantile."""
    return torch.tensor(times).quantile(torch.tensor([0.5, 0.2, 0.8])).tolist()


def measure(variants, make_input, bytes_per_call):
    """(median, low, high) by the host's clock and by the GPU's (or None), for each variant."""
    inputs = [make_input() for _ in range(calls_per_batch(bytes_per_call))]
    graphs = {}
    with torch.no_grad():
        for name, fn in variants.items():
            for _ in range(3):
                host_us(fn, inputs)
            # What reduce-overhead does is to replay a graph: that cannot be captured once more.
            if device == "cuda" and name != "reduce-overhead":
                graphs[name] = capture(fn, inputs)
        host, gpu = ({name: [] for name in variants} for _ in range(2))
        for _ in range(30 if device == "cuda" else 10):
            for name, fn in variants.items():
                host[name].append(host_us(fn, inputs))
                if name in graphs:
                    gpu[name].append(gpu_us(*graphs[name]))
    return {
        name: (quantiles(host[name]), quantiles(gpu[name]) if gpu[name] else None)
        for name in variants
    }


CLOCKS = ["host_us", "host_low_us", "host_high_us", "gpu_us", "gpu_low_us", "gpu_high_us"]


def line(what, host, gpu):
    """One line on both clocks."""
    text = f"{what:27}"
    for clock, times in (("host", host), ("GPU", gpu)):
        if times:
            median, low, high = times
            text += f" {clock}{median:8.1f} us {f'({low:.1f} to {high:.1f})':20}"
    return text.rstrip()


def write_table(name, header, results):
    """Write OUT/name.csv; what was not measured is left empty."""
    with (args.out / f"{name}.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow([*header, *CLOCKS])
        for *what, host, gpu in results:
            times = [f"{value:.3f}" for value in host]
            times += [f"{value:.3f}" for value in gpu] if gpu else [""] * 3
            table.writerow([*what, *times])
    print(f"Table: {args.out / f'{name}.csv'}")


# %%
# The variants
# ------------
# Eager; compiled; and compiled with ``mode="reduce-overhead"``, which captures what the compiled
# module launches into a CUDA graph of its own and replays that. The kernels are those of the
# compiled module, so it has no GPU time of its own in the table, only a time by the host's clock.
#
# Each number of rows gets a compilation to itself (``dynamic=False``, and everything compiled
# before is forgotten); what it costs to compile again and again is another lesson.


def make_variants(mlp, rows, wanted):
    """The variants of the MLP that are wanted, each checked at some number of rows."""
    torch.compiler.reset()
    modes = {"compiled": "default", "reduce-overhead": "reduce-overhead"}
    variants = {
        name: torch.compile(mlp, mode=modes[name], dynamic=False) if name in modes else mlp
        for name in wanted
    }
    x = torch.randn(rows, dim, device=device).to(dtype)  # (rows, dim)
    with torch.no_grad():
        reference = copy.deepcopy(mlp).float()(x.float())
        outputs = torch.stack([fn(x) for fn in variants.values()])  # (variants, rows, dim)
    agree(f"rows {rows}, {', '.join(wanted)}: agrees with float32", outputs, reference)
    return variants


def make_mlp():
    """The MLP, the same numbers in every run."""
    torch.manual_seed(0)
    return GeGLUMLP(dim, hidden).to(device, dtype).eval()


def measure_rows(variants, rows):
    """Both clocks for each of the variants at some number of rows."""
    bytes_per_call = 2 * rows * dim * dtype.itemsize  # the input and the output
    return measure(
        variants, lambda: torch.randn(rows, dim, device=device).to(dtype), bytes_per_call
    )


# %%
# From one row to many
# --------------------
# Guess first. One row is a few million multiplications, and the largest number of rows is many
# thousand times that. How much longer will it take? From how many rows on will the two clocks
# agree? And compiling saves kernels: at which end of the table will it pay?

results = []
if lesson:
    wanted = ["eager", "compiled"] + ["reduce-overhead"] * (device == "cuda")
    with one_line_for_errors():
        mlp = make_mlp()
        for rows in many_rows:
            variants = make_variants(mlp, rows, wanted)
            for name, (host, gpu) in measure_rows(variants, rows).items():
                results.append([name, rows, host, gpu])
    print()
    for name, rows, host, gpu in results:
        print(line(f"rows {rows:6} {name}", host, gpu))
    write_table("regimes", ["variant", "rows"], results)

# %%
# The same as a picture, both axes logarithmic: solid lines for the host's clock with the middle
# 60 % of the rounds, dashed lines with hollow marks for the GPU's. Follow one kind of mark from
# the right to the left. As long as its two lines run together the GPU sets the pace; where they
# part, the CPU does, and the gap between them is time in which the GPU has nothing to do.

COLORS = {"eager": "#1f2733", "compiled": "#6b7483", "reduce-overhead": "#8a5a3c"}
MARKERS = {"eager": "o", "compiled": "s", "reduce-overhead": "^"}


def spread_labels(heights, apart):
    """The heights, in their order, moved so that neighbours are some factor apart."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    moved = list(heights)
    for _ in range(200):
        for below, above in pairwise(order):
            if moved[above] < 0.999 * apart * moved[below]:
                middle = (moved[above] * moved[below]) ** 0.5
                moved[below], moved[above] = middle / apart**0.5, middle * apart**0.5
    return moved


if results:
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator

    curves = []  # label, color, the curve's first height
    figure, axes = plt.subplots(figsize=(6.4, 5.6), layout="constrained")
    axes.set_xscale("log")
    axes.set_yscale("log")
    for name in wanted:
        mine = [row for row in results if row[0] == name]
        look = {"color": COLORS[name], "marker": MARKERS[name], "linewidth": 2, "markersize": 5}
        for clock, index, style, face in (
            ("host", 2, "-", COLORS[name]),
            ("GPU", 3, "--", "white"),
        ):
            if mine[0][index]:
                median, low, high = zip(*(row[index] for row in mine), strict=True)
                axes.plot(many_rows, median, style, markerfacecolor=face, **look)
                curves.append((f"{name}, {clock}", COLORS[name], median[0]))
                if clock == "host":
                    axes.fill_between(many_rows, low, high, color=COLORS[name], alpha=0.2, lw=0)

    bottom, top = axes.get_ylim()
    heights = spread_labels([curve[2] for curve in curves], (top / bottom) ** 0.055)
    for (label, color, begin), height in zip(curves, heights, strict=True):
        axes.annotate(
            label,
            xy=(many_rows[0], begin),
            xytext=(many_rows[0] / (many_rows[-1] / many_rows[0]) ** 0.07, height),
            arrowprops={"arrowstyle": "-", "color": color, "shrinkA": 0, "shrinkB": 4},
            color=color,
            fontsize=11,
            ha="right",
            va="center",
        )
    axes.set_xlim(left=many_rows[0] / (many_rows[-1] / many_rows[0]) ** 0.62)
    axes.set_ylim(min(bottom, 0.9 * min(heights)), max(top, 1.1 * max(heights)))
    ticks = [rows for rows in many_rows if rows in (1, 16, 128, 1024, many_rows[-1])]
    axes.set_xticks(ticks, [str(rows) for rows in ticks])
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.set_xticks([], minor=True)
    axes.yaxis.set_minor_formatter("")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.tick_params(labelsize=11)
    axes.grid(axis="y", color="#dddddd", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("rows", fontsize=12)
    axes.set_ylabel("time of one forward pass in µs", fontsize=12)
    axes.set_title(f"GeGLU MLP, {dim} to {hidden}, {args.dtype}, {device}", fontsize=12)
    figure.savefig(args.out / "regimes.png", dpi=150)
    print(f"Figure: {args.out / 'regimes.png'}")

# %%
# Every rung by two clocks
# ------------------------
# What the other lessons look at in a profiler, without one: a product and a sum, one layer, three
# layers, the GeGLU MLP, and that with Liger's kernel in it. Guess: for which of them is the host's
# time the longer one? And in which of the two columns does compiling help, where does it harm?
#
# A single small ``nn.Linear`` has nothing to fuse. What is left of the compiler's work there is the
# way into the compiled code: looking it up and checking that it still fits.


def matmul_add(size):
    """torch.add(torch.matmul(x, w), b), with a w and a b of (size, size)."""
    w, b = torch.randn(2, size, size, device=device).to(dtype)
    return lambda x: torch.add(torch.matmul(x, w), b)


def three_layers(width):
    """Linear, ReLU, Linear, ReLU, Linear, all of one width."""
    fc1, fc2, fc3 = (nn.Linear(width, width) for _ in range(3))
    return nn.Sequential(fc1, nn.ReLU(), fc2, nn.ReLU(), fc3)


def with_liger(mlp):
    """The forward pass of mlp with Liger's kernel."""
    from liger_kernel.ops import LigerGELUMulFunction

    return lambda x: mlp.down_proj(LigerGELUMulFunction.apply(mlp.gate_proj(x), mlp.up_proj(x)))


def measure_rung(rung, fn, shape):
    """Both clocks for eager and compiled (and Liger, for the GeGLU MLP on a GPU)."""
    fn = fn.to(device, dtype).eval() if isinstance(fn, nn.Module) else fn
    torch.compiler.reset()
    variants = {"eager": fn, "compiled": torch.compile(fn, dynamic=False)}
    if rung == "geglu" and device == "cuda":
        try:
            variants["liger"] = with_liger(fn)
        except ImportError:
            print("liger-kernel is not installed (pip install liger-kernel): its row needs it.")
    x = torch.randn(shape, device=device).to(dtype)
    with torch.no_grad():
        for name, variant in variants.items():
            agree(f"{rung}, {name}: agrees with eager", variant(x), fn(x))
    clocks = measure(variants, lambda: torch.randn_like(x), 2 * x.nbytes)
    for name, (host, gpu) in clocks.items():
        print(line(f"{rung}, {name}", host, gpu))
    return [[rung, name, *both] for name, both in clocks.items()]


if lesson:
    torch.manual_seed(0)
    square, batch, width = (4096, 1024, 1024) if device == "cuda" else (256, 64, 64)
    with one_line_for_errors():
        results = [
            *measure_rung("matmul_add_64", matmul_add(64), (64, 64)),
            *measure_rung(f"matmul_add_{square}", matmul_add(square), (square, square)),
            *measure_rung("linear", nn.Linear(32, 64), (batch, 32)),
            *measure_rung(f"linear_{square}", nn.Linear(square, square), (square, square)),
            *measure_rung("relu", three_layers(width), (width, width)),
            *measure_rung("geglu", make_mlp(), (8 * batch, dim)),
        ]
    write_table("rungs", ["rung", "variant"], results)

# %%
# What a launch costs
# -------------------
# The smallest kernel there is, an addition of one number, many times in a row, into an output that
# is there already. The clock stops when the last one has been issued, not when it is done. So this
# is the CPU's time for one launch with everything that comes before it: Python, PyTorch's
# dispatcher, and the driver. (Without a GPU nothing is launched, and it is the time of the call.)
#
# How much of it is spent in ``cudaLaunchKernel`` itself cannot be seen from here: that takes a
# profiler, and a profiler writes something down for every call and every kernel. What this costs
# can be seen from here. *never* was measured before a profiler was ever attached to the process,
# *detached* between two profiles.

if lesson:
    one = torch.ones(1, device=device)
    total = torch.empty(1, device=device)
    launches = 200  # few enough for the queue to the GPU never to be full

    def launch_us():
        """Microseconds until an addition has been issued."""
        wait()
        begin = time.perf_counter()
        for _ in range(launches):
            torch.add(one, one, out=total)
        return 1e6 * (time.perf_counter() - begin) / launches

    activities = [ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(ProfilerActivity.CUDA)

    def watching(shapes):
        """A profiler, with or without the shapes of what it sees."""
        # acc_events: there is one cycle, nothing to warn about
        return torch.profiler.profile(activities=activities, record_shapes=shapes, acc_events=True)

    states = {
        "attached": lambda: watching(shapes=False),
        "attached_shapes": lambda: watching(shapes=True),
        "detached": nullcontext,
    }
    with torch.no_grad():
        launch_us()  # whatever happens only once
        issued = {"never": [launch_us() for _ in range(40)]} | {name: [] for name in states}
        for _ in range(5):
            for name, state in states.items():
                with state():
                    launch_us()
                    issued[name] += [launch_us() for _ in range(8)]
    wait()
    assert total.item() == 2, "one and one is two"

    with (args.out / "launch_cost.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["profiler", "launches", "host_us", "host_low_us", "host_high_us"])
        for name, times in issued.items():
            median, low, high = quantiles(times)
            print(f"profiler {name:16} {median:6.2f} us a launch ({low:.2f} to {high:.2f})")
            table.writerow([name, launches, f"{median:.3f}", f"{low:.3f}", f"{high:.3f}"])
    print(f"Table: {args.out / 'launch_cost.csv'}")

# %%
# Recording
# ---------
# Now for what only a profiler can tell. Three calls before the recording, then a step that waits,
# one that warms up, and those that are kept.


def record(step, fn, x, active=args.steps - 2, shapes=True):
    """The profile of some calls fn(x), with two before them that are not in it."""
    activities = [ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(ProfilerActivity.CUDA)
    with torch.no_grad():
        for _ in range(3):
            fn(x)
        with torch.profiler.profile(
            activities=activities,
            schedule=schedule(wait=1, warmup=1, active=active, repeat=1),
            record_shapes=shapes,
            acc_events=True,  # there is one cycle: nothing to warn about
        ) as prof:
            for _ in range(active + 2):
                with record_function(step):
                    fn(x)
                prof.step()
    return prof


def report(name, prof):
    """Print the table and write the trace to OUT/name.json.gz."""
    sort_by = "device_time_total" if device == "cuda" else "cpu_time_total"
    averages = prof.key_averages()
    print(averages.table(sort_by=sort_by, row_limit=15, max_name_column_width=55))
    path = args.out / f"{name}.json.gz"
    prof.export_chrome_trace(str(path))
    print(f"Trace: {path}\n")


# %%
# Launches, seen by the profiler
# ------------------------------
# Twenty of those additions in every step. Here the runtime call has a bar of its own. Look at
# three things: how much of an ``aten::add`` the call is, how long the kernel is in comparison, and
# how far to the right of its call it starts. (Each bar contains what it costs to write it down.)

if lesson:

    def twenty_additions(one):
        """Twenty launches and nothing else."""
        for _ in range(20):
            torch.add(one, one, out=total)

    report("launch_tiny", record("additions", twenty_additions, one))

# %%
# Sixteen rows, eager
# -------------------
# The left end of the table in a trace. Guess before you look: which of the two lanes has gaps?


def run(name, rows, variant):
    """Record one variant of the MLP at some number of rows."""
    print(f"{name}: ({rows}, {dim}), hidden {hidden}, {args.dtype}, {device}")
    with one_line_for_errors():
        variants = make_variants(make_mlp(), rows, [variant])
        if not lesson:
            print(line(variant, *measure_rows(variants, rows)[variant]))
        x = torch.randn(rows, dim, device=device).to(dtype)  # (rows, dim)
        # No operation is dispatched when a graph is replayed: there are no shapes to record.
        prof = record("mlp_fwd", variants[variant], x, shapes=variant != "reduce-overhead")
    report(name, prof)


if lesson:
    run("regime_rows_16_eager", 16, "eager")

# %%
# Sixteen rows, compiled
# ----------------------
# How many kernels less are there on the stream, and is the step shorter? Compare the CPU's lane
# with eager's, from the beginning of ``mlp_fwd`` to its first launch.

if lesson:
    run("regime_rows_16_compiled", 16, "compiled")

# %%
# Sixteen rows, one launch
# ------------------------
# With ``reduce-overhead`` the kernels are launched together. Look for the one call that does it,
# and at the distance between two kernels. There is one thing on the stream that the compiled module
# did not have: the graph reads its input from a fixed place, so somebody has to put it there.
# (Without a GPU there are no graphs, and nothing to see here.)

if lesson and device == "cuda":
    run("regime_rows_16_reduce_overhead", 16, "reduce-overhead")

# %%
# Many rows, eager
# ----------------
# The right end. The CPU does just what it did before; look at where it is when the first kernel of
# a step starts, and where the gaps have gone.

if lesson:
    run(f"regime_rows_{large}_eager", large, "eager")

# %%
# Many rows, compiled
# -------------------
# What is saved on the stream, and is the whole step shorter by as much? Who would have to be waited
# for, if it were not?

if lesson:
    run(f"regime_rows_{large}_compiled", large, "compiled")

# %%
# The same kernel, a hundred times
# --------------------------------
# One large ``nn.Linear`` with the same input in each of a hundred steps: the same kernel, on the
# same data. Does it take the same time every time? Before you look: how far apart are the shortest
# and the longest?
#
# The steps are issued without waiting. So look at the time between a launch and its kernel as well,
# from the first step to the last: does it grow? And does the bar of the launch itself grow with it,
# as it would if it contained the kernel?


def hundred_steps(size, rows):
    """The profile of a hundred steps of one layer."""
    torch.manual_seed(0)
    with one_line_for_errors():
        layer = nn.Linear(size, size).to(device, dtype).eval()
        x = torch.randn(rows, size, device=device).to(dtype)  # (rows, size)
        with torch.no_grad():
            reference = F.linear(x.float(), layer.weight.float(), layer.bias.float())
            agree("eager agrees with float32", layer(x), reference)
        return record("linear_fwd", layer, x, active=100)


if lesson:
    size = 4096 if device == "cuda" else 256
    report("spread_100", hundred_steps(size, size))

# %%
# The same with a small layer, whose input, weight and output stay in the cache. Guess: is the
# spread larger or smaller, in microseconds? And relative to the kernel's time?

if lesson:
    report("spread_100_small", hundred_steps(size // 4, 64))

# %%
# The run you asked for
# ---------------------
# With flags, this is what runs: both clocks are printed, then comes the trace. It is named after
# the flags, so that one run does not overwrite another: ``regime_16_768_3072_eager``,
# ``regime_16_768_3072_reduce_overhead``, and with ``_cpu_`` in the name when it was made without a
# GPU.

if not lesson:
    variant = "eager"
    if args.compile:
        variant = "reduce-overhead" if args.mode == "reduce-overhead" else "compiled"
    parts = ["regime", *sizes.split()[1::2]]
    parts += [args.dtype] * (args.dtype != "bf16") + ["cpu"] * (device == "cpu")
    run("_".join([*parts, variant.replace("-", "_")]), args.rows, variant)
