# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.11", "numpy"]
# ///
"""
A simple MLP: where the compiler finds something to fuse
========================================================

Two small networks made of linear layers with something pointwise in between: a three-layer ReLU
MLP, and the GeGLU MLP of today's language models, ``down(gelu(gate(x)) * up(x))``.

Run it with no flags for the whole lesson, or with flags for one run::

    uv run 03_simple_mlp.py
    uv run 03_simple_mlp.py --batch 64 --seq 128 --dim 768 --hidden 3072
    uv run 03_simple_mlp.py --batch 64 --seq 128 --dim 768 --hidden 3072 --compile
    uv run 03_simple_mlp.py --kind relu --batch 1024 --hidden 1024 --compile

You learn

- to predict the kernels of a forward pass from its source, and to check the prediction;
- what a tensor costs that is written by one kernel only to be read by the next;
- which operations ``torch.compile`` merges, and which it leaves to the library.
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
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, record_function, schedule

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def positive(text):
    """A whole number above zero, or argparse's error."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


parser = argparse.ArgumentParser(description="Profile a small MLP.")
parser.add_argument("--kind", choices=["geglu", "relu"], default="geglu")
parser.add_argument("--batch", type=positive, help="sequences (geglu: 64) or rows (relu: 1024)")
parser.add_argument("--seq", type=positive, help="tokens in a sequence (geglu only: 128)")
parser.add_argument("--dim", type=positive, help="numbers in a token (geglu only: 768)")
parser.add_argument("--hidden", type=positive, help="width inside (geglu: 3072, relu: 1024)")
parser.add_argument("--compile", action="store_true", help="record the compiled module")
parser.add_argument("--dtype", choices=DTYPES, default="bf16")
parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
parser.add_argument("--steps", type=positive, default=5, help="1 waits, 1 warms up, the rest count")
parser.add_argument("--out", type=Path, default=Path("traces"), help="folder for the traces")
argv = sys.argv[1:] if "__file__" in globals() else []  # in a notebook sys.argv is not ours
args = parser.parse_args(argv)
lesson = not argv

if args.kind == "relu" and (args.seq or args.dim):
    parser.error("--seq and --dim belong to --kind geglu; relu has --batch and --hidden")
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
# The two networks
# ----------------
# Written out, because the names in the trace come from these lines. Count the operations in each
# ``forward`` before you look at a trace.


class ReLUMLP(nn.Module):
    """Three linear layers of one width, with a bias, and a ReLU between them."""

    def __init__(self, width):
        super().__init__()
        self.fc1 = nn.Linear(width, width)
        self.fc2 = nn.Linear(width, width)
        self.fc3 = nn.Linear(width, width)

    def forward(self, x):  # (batch, width)
        x = F.relu(self.fc1(x))  # (batch, width)
        x = F.relu(self.fc2(x))  # (batch, width)
        return self.fc3(x)  # (batch, width)


class GeGLUMLP(nn.Module):
    """Two projections up, one of them through a GELU; their product; one projection down."""

    def __init__(self, dim, hidden):
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden, bias=False)
        self.up_proj = nn.Linear(dim, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, dim, bias=False)

    def forward(self, x):  # (batch, seq, dim)
        gate = self.gate_proj(x)  # (batch, seq, hidden)
        up = self.up_proj(x)  # (batch, seq, hidden)
        activated = F.gelu(gate, approximate="tanh") * up  # (batch, seq, hidden)
        return self.down_proj(activated)  # (batch, seq, dim)


# %%
# Sizes
# -----
# The GeGLU MLP gets 64 sequences of 128 tokens, which are 8192 rows for every one of its products.
# The bytes are counted before anything is allocated, so that a size which does not fit is told in
# one line.

if args.kind == "geglu":
    batch, seq = args.batch or 64, args.seq or 128
    dim, hidden = args.dim or 768, args.hidden or 3072
    sizes = f"--batch {batch} --seq {seq} --dim {dim} --hidden {hidden}"
    numbers = 3 * dim * hidden + batch * seq * (4 * dim + 4 * hidden)
else:
    batch, hidden = args.batch or 1024, args.hidden or 1024
    sizes = f"--batch {batch} --hidden {hidden}"
    numbers = 3 * hidden * hidden + 6 * batch * hidden


def memory():
    """Bytes that can be had: free on the GPU, installed on the CPU."""
    if device == "cuda":
        return torch.cuda.mem_get_info()[0]
    if hasattr(os, "sysconf"):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return sys.maxsize


needed = numbers * (dtype.itemsize + 4)  # once as asked for, and once in float32 to check against
if needed > memory():
    parser.error(
        f"{sizes}: needs about {needed // 2**30} GiB, {device} has {memory() // 2**30} GiB; "
        "use smaller sizes"
    )


def make_relu():
    """The ReLU MLP and its input, the same numbers in every run."""
    torch.manual_seed(0)
    width = 1024 if lesson else hidden
    rows = 1024 if lesson else batch
    return ReLUMLP(width).to(device).eval(), torch.randn(rows, width).to(device)


def make_geglu():
    """The GeGLU MLP and its input, the same numbers in every run."""
    torch.manual_seed(0)
    return GeGLUMLP(dim, hidden).to(device).eval(), torch.randn(batch, seq, dim).to(device)


# %%
# Recording
# ---------
# Three calls before the recording, then five steps of which the schedule keeps the last three.


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
                with record_function("mlp_fwd"):
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
# Before a number is printed, the result is compared: eager against the same network in float32,
# compiled against eager. Fused operations round less often than separate ones, so the two need not
# be equal; the error is relative to the whole result, and what is allowed depends on how many
# digits the data type has.

ALLOWED = {"bf16": 2e-2, "fp16": 4e-3, "fp32": 1e-4}


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
# One run makes a network, records it, compares and reports. It is the only place where the script
# ends early: when memory runs out all the same, or when there is no compiler for ``torch.compile``
# to call, one line is a better answer than a traceback.


def run(name, make, compiled):
    """Record one variant of one network."""
    try:
        model, x = make()  # in float32
        print(f"{name}: {tuple(x.shape)}, {args.dtype}, {device}")
        with torch.no_grad():
            reference = model.to(dtype).float()(x.to(dtype).float())  # same weights, more digits
        model, x = model.to(dtype), x.to(dtype)
        fn = model
        if compiled:
            torch.compiler.reset()  # forget what earlier runs have compiled
            fn = torch.compile(model)
        prof = record(fn, x)
        with torch.no_grad():
            eager = model(x)
            agree("eager agrees with float32", eager, reference)
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
# ReLU MLP, eager
# ---------------
# Three linear layers and two ReLUs. From the lesson on ``nn.Linear`` you know how many kernels a
# layer with a bias is. So, before you look: how many in one step?

if lesson:
    run("relu_eager", make_relu, compiled=False)

# %%
# ReLU MLP, compiled
# ------------------
# A ReLU is pointwise, and it comes right after a product. Will the compiler put it into the
# product's kernel, or make a kernel of its own for it? And what has happened to the biases? The
# names answer both: what Inductor has written itself starts with ``triton_``, followed by the
# names of what went into it.

if lesson:
    run("relu_compiled", make_relu, compiled=True)

# %%
# GeGLU MLP, eager
# ----------------
# Three products, a GELU and a multiplication. Guess the number of kernels and which of them is the
# longest. Then look at the two pointwise kernels: the first writes a tensor of the size of
# ``gate`` into memory, and the second reads it back. Nobody else ever needs it.
#
# ``gate_proj`` and ``up_proj`` have the same shapes, ``down_proj`` the same amount of arithmetic
# in another shape. Compare the three kernels, by name and by length.

if lesson:
    run("geglu_eager", make_geglu, compiled=False)

# %%
# GeGLU MLP, compiled
# -------------------
# Guess which kernels will keep their names and which will go. Then look for the tensor that eager
# wrote only to read it back: is it still there? Compare the pointwise part of the two traces, and
# then the whole step. If the one is shorter by more than the other, look at the gaps.

if lesson:
    run("geglu_compiled", make_geglu, compiled=True)

# %%
# The run you asked for
# ---------------------
# With flags, this is the only part that runs. The trace is named after the flags, so that one run
# does not overwrite another: ``geglu_64_128_768_3072_compiled``, ``relu_1024_1024_fp32_eager``,
# and with ``_cpu_`` in the name when it was made without a GPU.

if not lesson:
    parts = [args.kind, *sizes.split()[1::2]]
    parts += [args.dtype] * (args.dtype != "bf16") + ["cpu"] * (device == "cpu")
    parts += ["compiled" if args.compile else "eager"]
    run("_".join(parts), make_geglu if args.kind == "geglu" else make_relu, args.compile)
