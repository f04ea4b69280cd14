# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.11", "numpy"]
# ///
"""
nn.Linear: one layer, taken apart
=================================

``nn.Linear(32, 64)`` on a batch of 1024, then a layer large enough to keep a GPU busy; each of them
eager and compiled.

Run it with no flags for the whole lesson, or with flags for one run::

    uv run 02_linear.py
    uv run 02_linear.py --batch 1024 --in-dim 32 --out-dim 64
    uv run 02_linear.py --batch 1024 --in-dim 32 --out-dim 64 --compile

You learn

- what ``y = x @ w.T + b`` is called on its way from Python to the GPU;
- where the transpose goes, and where the bias goes;
- what is left for ``torch.compile`` to do when a layer is a single operation.
"""

# %%
# The flags
# ---------
# Without flags the whole lesson; with any flag, the one run it describes.

import argparse
import os
import sys
from pathlib import Path

import torch
from torch import nn
from torch.profiler import ProfilerActivity, record_function, schedule

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def positive(text):
    """A whole number above zero, or argparse's error."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


parser = argparse.ArgumentParser(description="Profile one nn.Linear with a bias.")
parser.add_argument("--batch", type=positive, default=1024, help="rows of x")
parser.add_argument("--in-dim", "--in_dim", type=positive, default=32, help="columns of x")
parser.add_argument("--out-dim", "--out_dim", type=positive, default=64, help="columns of y")
parser.add_argument("--compile", action="store_true", help="record the compiled layer")
parser.add_argument("--dtype", choices=DTYPES, default="bf16")
parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
parser.add_argument("--steps", type=positive, default=5, help="1 waits, 1 warms up, the rest count")
parser.add_argument("--out", type=Path, default=Path("traces"), help="folder for the traces")
argv = sys.argv[1:] if "__file__" in globals() else []  # in a notebook sys.argv is not ours
args = parser.parse_args(argv)
lesson = not argv

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
# A linear layer keeps its weight as ``(out_dim, in_dim)``, one row for each output. The product
# needs it the other way round, which is the first thing to look for in the trace. The bytes are
# counted before anything is allocated, so that a size which does not fit is told in one line.


def make_layer(batch, in_dim, out_dim):
    """The layer and its input, the same numbers in every run."""
    torch.manual_seed(0)
    layer = nn.Linear(in_dim, out_dim, bias=True)  # weight (out_dim, in_dim), bias (out_dim,)
    x = torch.randn(batch, in_dim)  # (batch, in_dim)
    return layer.to(device, dtype).eval(), x.to(device, dtype)


def memory():
    """Bytes that can be had: free on the GPU, installed on the CPU."""
    if device == "cuda":
        return torch.cuda.mem_get_info()[0]
    if hasattr(os, "sysconf"):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return sys.maxsize


sizes = f"--batch {args.batch} --in-dim {args.in_dim} --out-dim {args.out_dim}"
numbers = args.batch * args.in_dim + args.in_dim * args.out_dim + 3 * args.batch * args.out_dim
needed = numbers * (dtype.itemsize + 4)  # once as asked for, and once in float32 to check against
if needed > memory():
    parser.error(
        f"{sizes}: needs about {needed // 2**30} GiB, {device} has {memory() // 2**30} GiB; "
        "use smaller sizes"
    )

# %%
# Recording
# ---------
# Three calls before the recording, then five steps of which the schedule keeps the last three. The
# bar named ``linear_fwd`` around each call is ours, all others are PyTorch's.


def record(fn, x):
    """The profile of args.steps calls fn(x), the first two of which are not in it."""
    activities = [ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(ProfilerActivity.CUDA)
    with torch.no_grad():
        for _ in range(3):
            fn(x)
        with torch.profiler.profile(
            activities=activities,
            schedule=schedule(wait=1, warmup=1, active=args.steps - 2, repeat=1),
            record_shapes=True,
            acc_events=True,  # there is one cycle: nothing to warn about
        ) as prof:
            for _ in range(args.steps):
                with record_function("linear_fwd"):
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
# Right first, fast second
# ------------------------
# Before a number is printed, the result is compared: eager against the same layer in float32,
# compiled against eager. The error is relative to the whole result, and what is allowed depends on
# how many digits the data type has.

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
# One run makes a layer, records it, compares and reports. It is the only place where the script
# ends early: when memory runs out all the same, or when there is no compiler for ``torch.compile``
# to call, one line is a better answer than a traceback.


def run(name, batch, in_dim, out_dim, compiled):
    """Record one variant of one layer."""
    print(f"{name}: ({batch}, {in_dim}) -> ({batch}, {out_dim}), {args.dtype}, {device}")
    try:
        layer, x = make_layer(batch, in_dim, out_dim)
        fn = layer
        if compiled:
            torch.compiler.reset()  # forget what earlier runs have compiled
            fn = torch.compile(layer)
        prof = record(fn, x)
        with torch.no_grad():
            eager = layer(x)  # (batch, out_dim)
            weight, bias = layer.weight.float(), layer.bias.float()
            agree("eager agrees with float32", eager, nn.functional.linear(x.float(), weight, bias))
            if compiled:
                agree("compiled agrees with eager", fn(x), eager)
    except RuntimeError as error:
        message = str(error)
        if "out of memory" in message or "allocate memory" in message:
            raise SystemExit(f"{sizes} does not fit: use smaller sizes") from error
        if "C++ compiler" in message or "C compiler" in message:
            raise SystemExit("torch.compile found no compiler: install one, or set CXX") from error
        raise
    report(name, prof)


# %%
# A small layer, eager
# --------------------
# Guess first: ``y = x @ w.T + b`` is a transpose, a product and a sum. How many kernels will there
# be in one step?
#
# Then read the chain downwards from ``linear_fwd``. Which of the names in it has something below
# it on the stream? Is there an ``aten::add``? If not, who has added the bias?

if lesson:
    run("linear_eager", 1024, 32, 64, compiled=False)

# %%
# A small layer, compiled
# -----------------------
# Guess first: is there anything here to fuse? Compare the *name* of the kernel with eager's,
# letter by letter, and then the two CPU lanes: which rows have gone, and which are new?

if lesson:
    run("linear_compiled", 1024, 32, 64, compiled=True)

# %%
# A large layer, eager
# --------------------
# The same line of mathematics, 4096 in every direction. The CPU has as many calls to make as
# before. Look at how long the kernel is beside the calls that launched it, and at the time between
# the launch and the start of the kernel.
#
# On a processor on which this would take minutes the script takes a smaller size, says so, and
# names its trace after it.

large = 4096
if device == "cpu" and "AVX512" not in torch.backends.cpu.get_cpu_capability():
    large = 1024
    if lesson:
        print("This CPU has no fast bf16: size 1024 instead of 4096.")

if lesson:
    run(f"linear_{large}_eager", large, large, large, compiled=False)

# %%
# A large layer, compiled
# -----------------------
# If compiling has changed only the CPU's side, then what does it save, now that the GPU is the one
# that is waited for?

if lesson:
    run(f"linear_{large}_compiled", large, large, large, compiled=True)

# %%
# The run you asked for
# ---------------------
# With flags, this is the only part that runs. The trace is named after the flags, so that one run
# does not overwrite another: ``linear_1024_32_64_compiled``, ``linear_8_32_64_fp32_eager``, and
# with ``_cpu_`` in the name when it was made without a GPU.

if not lesson:
    parts = ["linear", str(args.batch), str(args.in_dim), str(args.out_dim)]
    parts += [args.dtype] * (args.dtype != "bf16") + ["cpu"] * (device == "cpu")
    parts += ["compiled" if args.compile else "eager"]
    run("_".join(parts), args.batch, args.in_dim, args.out_dim, args.compile)
