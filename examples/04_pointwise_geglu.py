# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "torch>=2.11",
#     "triton; sys_platform == 'linux'",
#     "liger-kernel>=0.8.5; sys_platform == 'linux'",
#     "numpy",
# ]
# ///
"""
The pointwise kernel, grown up
==============================

The kernel for ``gelu(gate) * up`` of the lesson before took two contiguous tensors. A kernel that
somebody else is to use must take what they have: halves of one wider tensor, any width, three data
types, nothing at all. This one does, and it is measured against the only thing it can be measured
against, a copy of memory.

Run it with no flags for the whole lesson, or with flags for one run::

    uv run 04_pointwise_geglu.py
    uv run 04_pointwise_geglu.py --rows 8192 --hidden 3072
    uv run 04_pointwise_geglu.py --rows 8192 --hidden 3072 --views

You learn

- to write a kernel for tensors with strides, so that a view needs no copy;
- to test it on fresh random data, against float64, with its output poisoned first;
- to say how good a memory-bound kernel is: its bytes a second, as a share of a copy's.

Without a GPU the kernels run in Triton's interpreter, for their results and not for their speed.
"""

# %%
# The flags
# ---------
# Without flags the whole lesson; with any flag, the one run it describes.

import argparse
import csv
import os
import sys
import time
from pathlib import Path

import torch
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, record_function, schedule

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def positive(text):
    """A whole number above zero, or argparse's error."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


parser = argparse.ArgumentParser(description="Check, time and profile a kernel for gelu(gate) * up.")
parser.add_argument("--rows", type=positive, default=8192, help="rows of gate and of up")
parser.add_argument("--hidden", type=positive, default=3072, help="numbers in a row")
parser.add_argument("--views", action="store_true", help="gate and up are halves of one tensor")
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
rows, hidden = args.rows, args.hidden
if device == "cpu" and lesson:
    rows, hidden = 16, 512
    print("Without a GPU: 16 rows of 512 instead of 8192 of 3072; the interpreter is slow.")


def memory():
    """Bytes that can be had: free on the GPU, installed on the CPU."""
    if device == "cuda":
        return torch.cuda.mem_get_info()[0]
    if hasattr(os, "sysconf"):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return sys.maxsize


sizes = f"--rows {rows} --hidden {hidden}"
needed = rows * hidden * (5 * dtype.itemsize + 4 * 8)  # as asked for, and in float64 to check against
if needed > memory():
    parser.error(
        f"{sizes}: needs about {needed // 2**30} GiB, {device} has {memory() // 2**30} GiB; "
        "use smaller sizes"
    )

# %%
# Where there is no GPU, Triton interprets its kernels; it has to be told before it is imported.

if device == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"
    import numpy

    numpy.seterr(over="ignore")  # exp may become inf, as it may on a GPU

try:
    import triton
    import triton.language as tl
except ImportError:
    raise SystemExit("Triton is not installed: pip install triton") from None

liger = None
if device == "cpu":
    print("Liger's kernel needs a GPU: it is not compared with here.")
else:
    try:
        from liger_kernel.ops import LigerGELUMulFunction

        liger = LigerGELUMulFunction.apply
    except ImportError:
        print("liger-kernel is not installed (pip install liger-kernel): not compared with.")

# %%
# Two kernels and one formula
# ---------------------------
# The formula is a function of its own, used by both kernels. It is exact as far as float32 goes:
# ``0.5 * (1 + tanh(z))`` is ``sigmoid(2 * z)``, which is an exponential and a division. (The GPU
# also has one instruction for an approximate tanh. A memory-bound kernel has nothing to gain by it.)
#
# The *flat* kernel does not know about rows. It is for tensors whose numbers lie one behind the
# other. The *strided* kernel is told how far apart the rows are, for gate, for up and for the
# result: that is all it takes to read the two halves of ``(rows, 2 * hidden)`` where they are.


@triton.jit
def gelu_times(gate, up):
    """gelu(gate) * up in float32; 0.79788 is sqrt(2 / pi)."""
    z = 0.7978845608028654 * (gate + 0.044715 * gate * gate * gate)
    return gate / (1.0 + tl.exp(-2.0 * z)) * up  # gate * sigmoid(2 * z) * up


@triton.jit
def flat_kernel(
    gate_ptr,  # where gate begins (read)
    up_ptr,  # where up begins (read)
    out_ptr,  # where the result begins (written)
    count,  # how many numbers there are in each of the three
    BLOCK: tl.constexpr,  # how many of them one program takes; a power of two
):
    """out = gelu(gate) * up, BLOCK numbers at a time."""
    start = tl.program_id(0).to(tl.int64) * BLOCK  # int64: there may be more than 32 bits can count
    offsets = start + tl.arange(0, BLOCK)  # (BLOCK,)
    inside = offsets < count  # the last block may hang over the end
    gate = tl.load(gate_ptr + offsets, mask=inside).to(tl.float32)
    up = tl.load(up_ptr + offsets, mask=inside).to(tl.float32)
    tl.store(out_ptr + offsets, gelu_times(gate, up).to(out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def strided_kernel(
    gate_ptr,  # where gate begins (read)
    up_ptr,  # where up begins (read)
    out_ptr,  # where the result begins (written)
    hidden,  # how many numbers there are in a row; any number
    gate_stride,  # from one row of gate to the next, in numbers
    up_stride,  # the same for up
    out_stride,  # the same for the result
    BLOCK: tl.constexpr,  # how many numbers of a row one program takes; a power of two
):
    """out = gelu(gate) * up for tensors of (rows, hidden) whose rows may lie apart."""
    row = tl.program_id(0).to(tl.int64)  # the first index of the grid: it may be large, others not
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)  # (BLOCK,)
    inside = columns < hidden
    gate = tl.load(gate_ptr + row * gate_stride + columns, mask=inside).to(tl.float32)
    up = tl.load(up_ptr + row * up_stride + columns, mask=inside).to(tl.float32)
    result = gelu_times(gate, up).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + row * out_stride + columns, result, mask=inside)


# %%
# What one calls
# --------------
# The function around the kernels looks at what it was given. What the kernels cannot take is an
# error that says what to do; what needs no kernel (nothing to compute) gets none: a grid of zero
# programs is not allowed.

FLAT_BLOCK = 2048 if device == "cuda" else 2**16  # the interpreter runs one after the other
ROW_BLOCK = 1024 if device == "cuda" else 2**12


def rows_of(tensor):
    """The tensor as (rows, hidden) without a copy, or None if there is no such view."""
    try:
        return tensor.view(-1, tensor.shape[-1])
    except RuntimeError:
        return None


def geglu(gate, up, out=None):  # twice (..., hidden) -> (..., hidden)
    """gelu(gate) * up, in one kernel and without a copy of either."""
    if gate.shape != up.shape:
        raise ValueError(f"gate is {tuple(gate.shape)}, up {tuple(up.shape)}: give both one shape")
    if gate.dtype != up.dtype or gate.dtype not in DTYPES.values():
        raise TypeError(f"gate is {gate.dtype}, up {up.dtype}: give both one of {', '.join(DTYPES)}")
    if gate.device != up.device:
        raise ValueError(f"gate is on {gate.device}, up on {up.device}: move one of them")
    if out is None:
        out = torch.empty(gate.shape, dtype=gate.dtype, device=gate.device)
    elif (out.shape, out.dtype, out.device) != (gate.shape, gate.dtype, gate.device):
        raise ValueError(f"out must be like gate: {tuple(gate.shape)}, {gate.dtype}, {gate.device}")
    if gate.numel() == 0:
        return out

    if gate.is_contiguous() and up.is_contiguous() and out.is_contiguous():
        programs = triton.cdiv(gate.numel(), FLAT_BLOCK)
        flat_kernel[(programs,)](gate, up, out, gate.numel(), BLOCK=FLAT_BLOCK, num_warps=8)
        return out

    views = [rows_of(tensor) for tensor in (gate, up, out)]  # each (rows, hidden)
    if any(view is None or view.stride(1) != 1 for view in views):
        raise ValueError("the last dimension must be contiguous, the others one row after another")
    (rows, hidden), strides = views[0].shape, [view.stride(0) for view in views]
    grid = (rows, triton.cdiv(hidden, ROW_BLOCK))
    strided_kernel[grid](*views, hidden, *strides, BLOCK=ROW_BLOCK)
    return out


# %%
# Right first
# -----------
# Random numbers, new for every case; a reference in float64; an output filled with NaN, with room
# around it that must still be NaN afterwards. What is allowed is not a number from the air. It is
# the error that eager makes with the same inputs: it has to round the GELU to the data type before
# it multiplies, so a kernel that rounds once must not be worse. For a handful of numbers that would
# be a matter of luck; there, one rounding of the data type is allowed.


def error_of(result, reference):
    """The error of the whole result, relative to the whole reference."""
    return ((result.double() - reference).norm() / reference.norm()).item()


def eager(gate, up):
    """What the kernel replaces."""
    return F.gelu(gate, approximate="tanh") * up


def check(gate, up, what):
    """Stop unless geglu(gate, up) is as near to float64 as eager is, and nothing else is written."""
    reference = F.gelu(gate.double(), approximate="tanh") * up.double()
    frame = torch.full((gate.numel() + 256,), float("nan"), dtype=gate.dtype, device=gate.device)
    out = frame[128:-128].view(gate.shape)
    geglu(gate, up, out)
    ours, theirs = error_of(out, reference), error_of(eager(gate, up), reference)
    assert frame[:128].isnan().all(), f"{what}: written before the beginning"
    assert frame[-128:].isnan().all(), f"{what}: written behind the end"
    # Where there are few numbers, which of the two is nearer is luck, by a few units of the last place.
    last_place = max(torch.finfo(gate.dtype).eps, 4 * torch.finfo(torch.float32).eps)
    allowed = max(theirs, last_place)
    # Written so that NaN fails as well.
    assert ours <= allowed, f"{what}: NOT so: error {ours:.1e}, eager's {theirs:.1e}"
    print(f"{what}: agrees with float64, relative error {ours:.1e} (eager's {theirs:.1e})")


def halves(rows, hidden, dtype):
    """gate and up as the two halves of one tensor (rows, 2 * hidden): views, not contiguous."""
    return (3 * torch.randn(rows, 2 * hidden, device=device)).to(dtype).chunk(2, dim=-1)


def pair(rows, hidden, dtype):
    """gate and up, each (rows, hidden), contiguous."""
    return (3 * torch.randn(2, rows, hidden, device=device)).to(dtype).unbind()


shapes = [(1, 1), (3, 5), (7, 1000), (33, 3071)] if lesson else [(7, 1000)]
for name in DTYPES if lesson else [args.dtype]:
    for shape in shapes:
        check(*pair(*shape, DTYPES[name]), f"{name} {shape}")
        check(*halves(*shape, DTYPES[name]), f"{name} {shape}, views")
assert geglu(*pair(0, 8, dtype)).shape == (0, 8), "nothing in, nothing out"

# %%
# Far from zero
# -------------
# Random numbers are rarely large. Where the GELU has become 0 or the identity, an exponential may
# overflow on the way. So the ends are looked at as well.

ends = torch.tensor([-1e4, -60.0, -9.0, -3.0, 0.0, 3.0, 9.0, 60.0, 1e4], device=device)
result = geglu(ends.to(dtype), torch.ones_like(ends).to(dtype))
expected = F.gelu(ends.to(dtype).double(), approximate="tanh")
torch.testing.assert_close(result.double(), expected, rtol=1e-2, atol=1e-3)
print("far from zero:", ", ".join(f"{a:g} -> {b:g}" for a, b in zip(ends, result, strict=True)))

# %%
# How fast
# --------
# As in the lesson before: each variant is captured into a CUDA graph that works through several sets
# of inputs, together much larger than the cache, and the graph is replayed. Here the variants take
# turns, round by round, so that a GPU which gets warmer does so for all of them, and before each
# replay there is a pause, so that each begins in the same state.
#
# The limit is measured in the same rounds: a copy of one gibibyte, which reads it and writes it. (It
# is not in a graph: there, a part of the GPU made for copies would do it, which is slower.) A kernel
# like ours can only be as fast as the memory is.

LAYOUTS = {"flat": pair, "views": halves}


def capture(fn, inputs):
    """A CUDA graph of one call for each of the inputs, and their outputs."""
    for each in inputs[:2]:
        fn(*each)  # compiles what is to be compiled
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outputs = [fn(*each) for each in inputs]  # kept, so that each has memory of its own
    graph.replay()
    return graph, outputs


def gpu_us(run, calls):
    """Microseconds of one of the calls that run() makes, by the GPU's clock; after a pause."""
    torch.cuda.synchronize()
    time.sleep(0.004)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    run()
    end.record()
    end.synchronize()
    return 1e3 * begin.elapsed_time(end) / calls


def measure(variants, copy, rounds=60):
    """(median, 20 %, 80 %) in microseconds for each name: (fn, inputs), and for the copy."""
    graphs = {name: capture(*variant) for name, variant in variants.items()}
    runs = {name: (graph.replay, len(outputs)) for name, (graph, outputs) in graphs.items()}
    runs["copy"] = (lambda: [copy() for _ in range(4)], 4)
    times = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            times[name].append(gpu_us(*run))
    marks = torch.tensor([0.5, 0.2, 0.8])
    return {name: torch.tensor(each).quantile(marks).tolist() for name, each in times.items()}


if lesson and device == "cuda":
    torch.manual_seed(1)
    results = []
    with torch.no_grad():
        block = torch.randn(2**28, device=device)  # 1 GiB
        target = torch.empty_like(block)
        for layout, make in LAYOUTS.items():
            torch.compiler.reset()
            fns = {"eager": eager, "compiled": torch.compile(eager, dynamic=False), "ours": geglu}
            if liger is not None:
                fns["liger"] = liger
            inputs = [make(rows, hidden, dtype) for _ in range(6)]
            reference = F.gelu(inputs[0][0].double(), approximate="tanh") * inputs[0][1].double()
            errors = {name: error_of(fn(*inputs[0]), reference) for name, fn in fns.items()}
            del reference
            times = measure(
                {name: (fn, inputs * 6) for name, fn in fns.items()}, lambda: target.copy_(block)
            )
            bytes_moved = dict.fromkeys(fns, 3 * rows * hidden * dtype.itemsize)
            bytes_moved["copy"] = 2 * block.nbytes
            for name, (median, low, high) in times.items():
                rate = bytes_moved[name] / median / 1e3  # in GB/s
                print(f"{layout:6}{name:9}{median:9.1f} us ({low:.1f} to {high:.1f}) {rate:7.0f} GB/s")
                error = f"{errors[name]:.3e}" if name in errors else ""
                results.append([layout, name, median, low, high, bytes_moved[name], error])

    with (args.out / "pointwise_layouts.csv").open("w", newline="") as file:
        table = csv.writer(file)
        head = ["layout", "variant", "median_us", "low_us", "high_us", "bytes", "relative_error"]
        table.writerow(head)
        for layout, name, median, low, high, moved, error in results:
            table.writerow(
                [layout, name, f"{median:.3f}", f"{low:.3f}", f"{high:.3f}", moved, error]
            )
    print(f"Table: {args.out / 'pointwise_layouts.csv'}")
    del block, target
elif lesson:
    print("Times need a GPU: the interpreter's would say nothing about the kernel.")

# %%
# Views, in a trace
# -----------------
# gate and up are halves of one tensor now, as they are when both products are one wide product.
# Each variant has a bar with its name. Guess before you look: which of them copies first? (It is the one
# whose kernel knows no strides: Liger's has two kernels more than ours.)


def record(step, fn):
    """The profile of args.steps calls fn(), the first two of which are not in it."""
    activities = [ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(ProfilerActivity.CUDA)
    with torch.no_grad():
        for _ in range(3):
            fn()
        with torch.profiler.profile(
            activities=activities,
            schedule=schedule(wait=1, warmup=1, active=args.steps - 2, repeat=1),
            record_shapes=True,
            acc_events=True,  # there is one cycle: nothing to warn about
        ) as prof:
            for _ in range(args.steps):
                with record_function(step):
                    fn()
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


if lesson:
    shown = {"eager": eager, "ours": geglu} | ({"liger": liger} if liger is not None else {})
    gate, up = halves(rows, hidden, dtype)

    def all_variants():
        """Each variant once, in a bar with its name."""
        for name, fn in shown.items():
            with record_function(name):
                fn(gate, up)

    report("geglu_views", record("pointwise_views", all_variants))

# %%
# The run you asked for
# ---------------------
# With flags, this is what runs. The trace is named after the flags:
# ``pointwise_views_8192_3072``, ``pointwise_flat_16_100_fp32_cpu``.

if not lesson:
    layout = "views" if args.views else "flat"
    gate, up = LAYOUTS[layout](rows, hidden, dtype)
    check(gate, up, f"{args.dtype} {(rows, hidden)}, {layout}")
    parts = ["pointwise", layout, str(rows), str(hidden)]
    parts += [args.dtype] * (args.dtype != "bf16") + ["cpu"] * (device == "cpu")
    report("_".join(parts), record("geglu", lambda: geglu(gate, up)))
