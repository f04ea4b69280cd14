# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.11", "numpy"]
# ///
"""
Strides and views: what copies, and what only looks different
=============================================================

A tensor is a row of numbers in memory and a note on how to walk through it. Some operations write
a new note, others write new numbers; a GPU has work to do only for the second kind.

Run it with no flags for the whole lesson, or with flags for one run::

    uv run 02_strides_and_views.py
    uv run 02_strides_and_views.py --size 8192
    uv run 02_strides_and_views.py --size 8192 --compile

You learn

- what *shape*, *stride* and *storage* are, and how to ask whether two tensors share memory;
- why ``.view`` refuses what ``.reshape`` accepts;
- to see in a trace which operations launch a kernel and which do not;
- how ``nn.Linear`` uses the transpose of its weight without ever making it.
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
from torch.profiler import ProfilerActivity, record_function, schedule

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def positive(text):
    """A whole number above zero, or argparse's error."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


parser = argparse.ArgumentParser(description="Profile operations that copy, and some that do not.")
parser.add_argument("--size", type=positive, default=4096, help="the tensor is size x size")
parser.add_argument("--compile", action="store_true", help="record each operation compiled")
parser.add_argument("--dtype", choices=DTYPES, default="bf16")
parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
parser.add_argument("--steps", type=positive, default=5, help="1 waits, 1 warms up, the rest count")
parser.add_argument("--out", type=Path, default=Path("traces"), help="folder for the traces")
argv = sys.argv[1:] if "__file__" in globals() else []  # in a notebook sys.argv is not ours
args = parser.parse_args(argv)
lesson = not argv

if args.size < 2:
    parser.error("--size: at least 2 (a single number looks the same from every side)")
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
# Shape, stride, storage
# ----------------------
# Six numbers, three rows of two. The *shape* says how many steps there are in each direction, the
# *stride* how far apart in memory two neighbours in that direction lie, and the *storage* is the
# memory itself.


def describe(name, tensor):
    """One line on how a tensor walks through its memory."""
    print(
        f"{name:18} shape {tuple(tensor.shape)!s:8} stride {tensor.stride()!s:8} "
        f"contiguous {tensor.is_contiguous()!s:6}"
    )


def same_memory(one, other):
    """Do two tensors read the same storage?"""
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


a = torch.tensor([[0, 1], [2, 3], [4, 5]])  # (3, 2)
t = a.t()  # (2, 3)
describe("a", a)
describe("a.t()", t)
print("same memory:", same_memory(a, t))
print("in memory:", a.flatten().tolist(), " walked as a.t():", t.flatten().tolist())

# %%
# The transpose has moved nothing: two numbers in the note have changed places. Write through one
# of the two, and the other has changed as well.

t[0, 2] = 40
print("a after writing to a.t():", a.tolist())
t[0, 2] = 4

# %%
# Where a view ends
# -----------------
# ``.view`` promises that nothing is copied. To lay the transposed tensor out flat, one would have
# to jump back and forth through the memory, and no single stride can say that. So it refuses.

try:
    t.view(6)
except RuntimeError as error:
    print("t.view(6):", error)

# %%
# ``.reshape`` gives a view where there is one and a copy where there is none, and does not tell
# which; ``.flatten`` is a reshape. ``.contiguous`` copies, unless there is nothing to do. Asking
# for the storage tells.

for name, result in {
    "a.view(6)": a.view(6),
    "a.reshape(6)": a.reshape(6),
    "t.reshape(6)": t.reshape(6),
    "t.flatten()": t.flatten(),
    "a.contiguous()": a.contiguous(),
    "t.contiguous()": t.contiguous(),
    "a[::2]": a[::2],
    "a.expand(4, 3, 2)": a.expand(4, 3, 2),
    "a.clone()": a.clone(),
}.items():
    print(f"{name:18} {'view' if same_memory(a, result) else 'copy':5} stride {result.stride()}")

# %%
# The same on a device, recorded
# ------------------------------
# What was printed above is what PyTorch says. A trace shows what was done. For this we take a
# tensor that is large enough for a copy to be visible, and put a bar with a name around each
# operation.


def memory():
    """Bytes that can be had: free on the GPU, installed on the CPU."""
    if device == "cuda":
        return torch.cuda.mem_get_info()[0]
    if hasattr(os, "sysconf"):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return sys.maxsize


needed = args.size**2 * dtype.itemsize * 4  # x, a copy, and two results to compare
if needed > memory():
    parser.error(
        f"--size {args.size}: needs about {needed // 2**30} GiB, {device} has "
        f"{memory() // 2**30} GiB; use a smaller --size"
    )


def record(step, operations, x):
    """The profile of args.steps passes over the operations, without the first two."""
    activities = [ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(ProfilerActivity.CUDA)

    def one_pass():
        for name, operation in operations.items():
            with record_function(name):
                operation(x)

    with torch.no_grad():
        for _ in range(3):
            one_pass()
        with torch.profiler.profile(
            activities=activities,
            schedule=schedule(wait=1, warmup=1, active=args.steps - 2, repeat=1),
            record_shapes=True,
            acc_events=True,  # there is one cycle: nothing to warn about
        ) as prof:
            for _ in range(args.steps):
                with record_function(step):
                    one_pass()
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
# Before any number is printed, each operation is checked: whether its result shares memory with
# the input, as the list says, and, when it is compiled, whether it gives exactly what eager gives.
# Nothing is rounded here, so *exactly* is meant.


def run(name, step, operations, x, shares_memory, compiled=False):
    """Record a set of operations, all of which share their input's memory or none of which do."""
    print(f"{name}: {tuple(x.shape)}, {args.dtype}, {device}")
    fns = operations
    try:
        if compiled:
            torch.compiler.reset()
            fns = {key: torch.compile(operation) for key, operation in operations.items()}
        prof = record(step, fns, x)
        with torch.no_grad():
            for key, operation in operations.items():
                result = fns[key](x)
                assert same_memory(x, result) == shares_memory, f"{key}: not what the list says"
                assert torch.equal(result, operation(x)), f"{key}: differs from eager"
    except RuntimeError as error:
        message = str(error)
        if "out of memory" in message or "allocate memory" in message:
            raise SystemExit(f"--size {args.size} does not fit: use a smaller --size") from error
        if "C++ compiler" in message or "C compiler" in message:
            raise SystemExit("torch.compile found no compiler: install one, or set CXX") from error
        raise
    print("all share the input's memory" if shares_memory else "none shares the input's memory")
    report(name, prof)


torch.manual_seed(0)
x = torch.randn(args.size, args.size, dtype=torch.float32).to(device, dtype)  # (size, size)

# %%
# Views
# -----
# Eight operations that only write a new note. Guess: how many kernels?
#
# Each has a bar of its own and in it one or more ``aten`` bars; that is real work for the CPU.
# Look for what answers them on the stream. (The last one is a trap: ``contiguous`` of a tensor
# that is contiguous already.)

VIEWS = {
    "transpose": lambda x: x.t(),
    "view": lambda x: x.view(-1),
    "reshape": lambda x: x.reshape(-1),
    "slice": lambda x: x[::2],
    "expand": lambda x: x.expand(4, -1, -1),
    "diagonal": lambda x: x.diagonal(),
    "transpose_twice": lambda x: x.t().t(),
    "contiguous_of_contiguous": lambda x: x.contiguous(),
}

if lesson:
    run("strides_views", "views", VIEWS, x, shares_memory=True)

# %%
# Copies
# ------
# Four operations that write new numbers. Now each bar should have something below it. ``clone``
# reads and writes in the same order; the other three read in one order and write in another. Is
# that free?

COPIES = {
    "clone": lambda x: x.clone(),
    "contiguous_of_transposed": lambda x: x.t().contiguous(),
    "reshape_of_transposed": lambda x: x.t().reshape(-1),
    "flatten_of_transposed": lambda x: x.t().flatten(),
}

if lesson:
    run("strides_copies", "copies", COPIES, x, shares_memory=False)

# %%
# Copies, compiled
# ----------------
# The compiler cannot leave a copy out when the copy is what was asked for. What it may do is write
# a kernel of its own for it. Compare the names on the stream.

if lesson:
    run("strides_copies_compiled", "copies", COPIES, x, shares_memory=False, compiled=True)

# %%
# What nn.Linear does
# -------------------
# The weight is stored as ``(out_dim, in_dim)`` and the product needs ``(in_dim, out_dim)``. A GEMM
# is told how to walk through each of its operands, so the transposed note is all that it needs.
# Here the same product is done twice, once with the view and once after copying the transpose into
# a tensor of its own; ``x`` serves as input and as weight.
#
# Look at how many kernels are below each of the two bars. Then at the two GEMMs: do they have the
# same name, and do they take the same time?

LINEAR = {
    "linear_with_view": lambda x: x @ x.t(),
    "linear_with_copy": lambda x: x @ x.t().contiguous(),
}

large = args.size
if device == "cpu" and "AVX512" not in torch.backends.cpu.get_cpu_capability():
    large = min(large, 1024)
    if lesson:
        print(f"This CPU has no fast bf16: size {large} instead of {args.size}.")

if lesson:
    print(f"strides_linear: ({large}, {large}), {args.dtype}, {device}")
    corner = x[:large, :large].contiguous()  # (large, large)
    with torch.no_grad():
        one, other = (product(corner).float() for product in LINEAR.values())
        reference = corner.float() @ corner.float().t()
    for name, product in zip(LINEAR, (one, other), strict=True):
        error = ((product - reference).norm() / reference.norm()).item()
        assert error < 1e-2, f"{name} differs from float32: relative error {error:.1e}"
        print(f"{name} agrees with float32: relative error {error:.1e} (allowed 1e-02)")
    report("strides_linear", record("linear_fwd", LINEAR, corner))

# %%
# The run you asked for
# ---------------------
# With flags, this is what runs: first the views, then the copies, eager or compiled, each with a
# trace that is named after the flags: ``strides_8192_views_eager``,
# ``strides_8192_copies_compiled``, and with ``_cpu_`` in the name when it was made without a GPU.

if not lesson:
    parts = ["strides", str(args.size)]
    parts += [args.dtype] * (args.dtype != "bf16") + ["cpu"] * (device == "cpu")
    ending = "compiled" if args.compile else "eager"
    run("_".join([*parts, "views", ending]), "views", VIEWS, x, True, args.compile)
    run("_".join([*parts, "copies", ending]), "copies", COPIES, x, False, args.compile)
