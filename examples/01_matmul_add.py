# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.11", "numpy"]
# ///
"""
Matmul and add: how to read a trace
===================================

One matrix product and one addition, ``torch.add(torch.matmul(x, w), b)``, recorded by
``torch.profiler`` at two sizes: one that is far too small for a GPU, and one that is not.

Run it with no flags for the whole lesson, or with flags for one run::

    uv run 01_matmul_add.py
    uv run 01_matmul_add.py --size 64
    uv run 01_matmul_add.py --size 64 --warmup
    uv run 01_matmul_add.py --size 4096 --warmup --compile

You learn

- how to record a few steps, and no more, with ``torch.profiler``;
- the two things it gives you: a table (*what* took the time) and a trace (*when*, and why then);
- to tell a GPU that waits for the CPU from a GPU that has enough to do;
- what ``torch.compile`` makes of two operations.
"""

# %%
# The flags
# ---------
# A script of this book does its whole lesson when it is run without flags, and exactly the one run
# you asked for when it is given any.

import argparse
import os
import sys
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, record_function, schedule

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def positive(text):
    """A whole number above zero, or argparse's error."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


parser = argparse.ArgumentParser(description="Profile torch.add(torch.matmul(x, w), b).")
parser.add_argument("--size", type=positive, default=64, help="x, w and b are size x size")
parser.add_argument("--warmup", action="store_true", help="three calls before the recording")
parser.add_argument("--compile", action="store_true", help="record the compiled function")
parser.add_argument("--dtype", choices=DTYPES, default="bf16")
parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
parser.add_argument("--steps", type=positive, default=5, help="1 waits, 1 warms up, the rest count")
parser.add_argument("--out", type=Path, default=Path("traces"), help="folder for the traces")
argv = sys.argv[1:] if "__file__" in globals() else []  # in a notebook sys.argv is not ours
args = parser.parse_args(argv)
lesson = not argv

# %%
# The device
# ----------
# Everything below runs on a GPU or on the CPU. Only the GPU has a *stream*, a queue of work that
# is filled by the CPU and emptied at the GPU's own pace; so a trace from the CPU has one lane
# less, and nothing in it is asynchronous.

if args.steps < 3:
    parser.error("--steps: at least 3 (one waits, one warms up, and one or more are recorded)")
if args.device == "cuda" and not torch.cuda.is_available():
    parser.error("--device cuda: torch sees no GPU here; use --device cpu")
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

# %%
# The workload
# ------------
# Two operations, and on a GPU a kernel for each if nobody fuses them. Before anything is allocated
# we count the bytes, because an error that names the size is worth more than a traceback.


def matmul_add(x, w, b):  # three times (size, size) -> (size, size)
    """x @ w + b, as two operations."""
    return torch.add(torch.matmul(x, w), b)


def make_inputs(size):
    """x, w and b, each (size, size), the same numbers in every run."""
    torch.manual_seed(0)
    return [torch.randn(size, size, device=device, dtype=dtype) for _ in range(3)]


def memory():
    """Bytes that can be had: free on the GPU, installed on the CPU."""
    if device == "cuda":
        return torch.cuda.mem_get_info()[0]
    if hasattr(os, "sysconf"):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return sys.maxsize


needed = args.size**2 * (5 * dtype.itemsize + 5 * 4)  # five matrices, and five in float32 to check
if needed > memory():
    parser.error(
        f"--size {args.size}: needs about {needed // 2**30} GiB, {device} has "
        f"{memory() // 2**30} GiB; use a smaller --size"
    )

# %%
# Recording
# ---------
# A profiler slows down what it watches and its first step is unlike the others. The *schedule*
# deals with both: it waits for one step, runs the next with the recording switched on but thrown
# away, and keeps those that follow. ``prof.step()`` tells it that a step is over; in the trace
# each one is a ``ProfilerStep#n``. ``record_function`` adds a bar with a name of our own.


def record(fn, inputs):
    """The profile of args.steps calls of fn, the first two of which are not in it."""
    activities = [ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(ProfilerActivity.CUDA)
    with (
        torch.no_grad(),
        torch.profiler.profile(
            activities=activities,
            schedule=schedule(wait=1, warmup=1, active=args.steps - 2, repeat=1),
            record_shapes=True,
            acc_events=True,  # there is one cycle: nothing to warn about
        ) as prof,
    ):
        for _ in range(args.steps):
            with record_function("matmul_add"):
                fn(*inputs)
            prof.step()
    return prof


# %%
# The table comes from ``key_averages()``, which adds up all recorded steps. The trace is a file;
# reading it is what the rest of this book is about.


def report(name, prof):
    """Print the table and write the trace to OUT/name.json.gz."""
    sort_by = "device_time_total" if device == "cuda" else "cpu_time_total"
    averages = prof.key_averages()
    print(averages.table(sort_by=sort_by, row_limit=15, max_name_column_width=55))
    path = args.out / f"{name}.json.gz"
    prof.export_chrome_trace(str(path))
    print(f"Trace: {path}\n")


# %%
# Right first, fast second
# ------------------------
# A result is compared before its time is printed. Two ways to compute the same thing round
# differently, so we ask how large the error is relative to the whole result, and allow what the
# data type can explain.

ALLOWED = {"bf16": 1e-2, "fp16": 2e-3, "fp32": 1e-4}


def agree(what, result, reference):
    """Print how far result is from reference, and stop if that is too far."""
    result, reference = result.float(), reference.float()
    difference = (result - reference).abs().max().item()
    error = ((result - reference).norm() / reference.norm()).item()
    verdict = f"max |difference| {difference:.2g}, relative error {error:.1e}"
    # Written so that NaN fails as well.
    assert error <= ALLOWED[args.dtype], f"{what}: NOT so: {verdict}"
    print(f"{what}: {verdict} (allowed {ALLOWED[args.dtype]:.0e})")


# %%
# A run is then: make the inputs, warm up if asked, record, compare, report. Dynamo, the part of
# ``torch.compile`` that remembers what it has compiled, is made to forget before each compiled
# run. This is the only place where the script ends early: if memory runs out all the same, or if
# there is no compiler for ``torch.compile`` to call, one line is a better answer than a traceback.


def run(name, size, warmup, compiled):
    """Record one variant at one size."""
    print(f"{name}: {size} x {size}, {args.dtype}, {device}")
    fn = matmul_add
    if compiled:
        torch.compiler.reset()
        fn = torch.compile(matmul_add)
    try:
        inputs = make_inputs(size)
        with torch.no_grad():
            for _ in range(3 if warmup else 0):
                fn(*inputs)
        prof = record(fn, inputs)
        with torch.no_grad():
            eager = matmul_add(*inputs)
            agree("eager agrees with float32", eager, matmul_add(*(t.float() for t in inputs)))
            if compiled:
                agree("compiled agrees with eager", fn(*inputs), eager)
    except RuntimeError as error:
        message = str(error)
        if "out of memory" in message or "allocate memory" in message:
            raise SystemExit(f"--size {size} does not fit: use a smaller --size") from error
        if "C++ compiler" in message or "C compiler" in message:
            raise SystemExit("torch.compile found no compiler: install one, or set CXX") from error
        raise
    report(name, prof)


# %%
# Size 64, cold
# -------------
# No call comes before the recording. Before you look, guess: how many bars are there on the stream
# in one step, and how much of the step do they fill?
#
# Then look at the three steps one after the other. Is the first as wide as the others?

if lesson:
    run("matmul_add_64_cold_eager", 64, warmup=False, compiled=False)

# %%
# Size 64, after three calls
# --------------------------
# The same again, with three calls that nobody watched. Whatever happens only once in the life of a
# process (loading a library, choosing a kernel, reserving memory) is over now. Compare the first
# recorded step with the one above.

if lesson:
    run("matmul_add_64_eager", 64, warmup=True, compiled=False)

# %%
# Size 64, compiled
# -----------------
# Guess first: two operations became how many kernels? And the CPU side, which had little to do
# anyway: is it shorter or longer? Look for the rows that were not there before.

if lesson:
    run("matmul_add_64_compiled", 64, warmup=True, compiled=True)

# %%
# Size 4096
# ---------
# The same two lines of Python, with a very different amount of arithmetic below them. Look at the
# gaps on the stream: who waits for whom now? And at the last two lines of the table, where the
# CPU's total contains whatever time it spent waiting.
#
# On a processor on which this would take minutes the script takes a smaller size, says so, and
# names its trace after it.

large = 4096
if device == "cpu" and "AVX512" not in torch.backends.cpu.get_cpu_capability():
    large = 1024
    if lesson:
        print("This CPU has no fast bf16: size 1024 instead of 4096.")

if lesson:
    run(f"matmul_add_{large}_eager", large, warmup=True, compiled=False)

# %%
# Size 4096, compiled
# -------------------
# A GEMM can add a matrix to its result while it still has it at hand; that is what the compiler
# asks for here. But the library adds to what it finds in the output, so look at what happens to
# ``b`` first, and whether it is a kernel.

if lesson:
    run(f"matmul_add_{large}_compiled", large, warmup=True, compiled=True)

# %%
# The run you asked for
# ---------------------
# With flags, this is the only part that runs. The trace is named after the flags, so that one run
# does not overwrite another: ``matmul_add_64_cold_eager``, ``matmul_add_512_fp32_compiled``, and
# ``_cpu_`` in the name when it was made without a GPU.

if not lesson:
    parts = ["matmul_add", str(args.size)]
    parts += [args.dtype] * (args.dtype != "bf16") + ["cpu"] * (device == "cpu")
    parts += ["cold"] * (not args.warmup) + ["compiled" if args.compile else "eager"]
    run("_".join(parts), args.size, args.warmup, args.compile)
