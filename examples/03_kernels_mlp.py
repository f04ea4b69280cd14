# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "torch>=2.11",
#     "triton; sys_platform == 'linux'",
#     "liger-kernel>=0.8.5; sys_platform == 'linux'",
#     "matplotlib",
#     "numpy",
# ]
# ///
"""
Kernels by hand: the GeGLU MLP with Liger's kernel, and with ours
=================================================================

The GeGLU MLP once more. This time the pointwise part, ``gelu(gate) * up``, is a kernel that
somebody has written by hand: first Liger's, then one of our own, in Triton, written out below.

Run it with no flags for the whole lesson, or with flags for one run::

    uv run 03_kernels_mlp.py
    uv run 03_kernels_mlp.py --batch 64 --seq 128 --dim 768 --hidden 3072
    uv run 03_kernels_mlp.py --batch 64 --seq 128 --dim 768 --hidden 3072 --compile
    uv run 03_kernels_mlp.py --source ours --batch 4
    uv run --with kernels 03_kernels_mlp.py --source hub

You learn

- to put a kernel from elsewhere into a module, and what that changes in the trace;
- to write a pointwise kernel, to test it properly, and only then to time it;
- how to compare kernels fairly: medians with quantiles, and the bytes that had to be moved.

Which part needs what: our kernel runs without a GPU as well, in Triton's interpreter, for its
results but not for its speed. Liger's kernel needs a GPU. The kernels *hub* needs the network;
**the hub itself was not run for this page**, only a kernel in a local folder (``--hub-path``),
through the same library.
"""

# %%
# The flags
# ---------
# Without flags the whole lesson; with any flag, the one run it describes.

import argparse
import csv
import os
import sys
from pathlib import Path

import numpy
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


parser = argparse.ArgumentParser(description="Profile a GeGLU MLP with a hand-written kernel.")
parser.add_argument(
    "--source",
    choices=["package", "hub", "ours"],
    help="where the kernel is from: liger-kernel, the kernels hub, this file "
    "(default: package; without a GPU: ours)",
)
parser.add_argument("--hub-version", type=positive, default=1, help="version of the hub's kernel")
parser.add_argument("--hub-path", type=Path, help="a local folder to take the hub's kernel from")
parser.add_argument("--batch", type=positive, default=64, help="sequences")
parser.add_argument("--seq", type=positive, default=128, help="tokens in a sequence")
parser.add_argument("--dim", type=positive, default=768, help="numbers in a token")
parser.add_argument("--hidden", type=positive, default=3072, help="width inside the MLP")
parser.add_argument("--compile", action="store_true", help="record the compiled module")
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
if args.hub_path and args.source != "hub":
    parser.error("--hub-path belongs to --source hub")
if args.hub_path and not args.hub_path.is_dir():
    parser.error(f"--hub-path {args.hub_path}: no such folder")
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
batch, seq, dim, hidden = args.batch, args.seq, args.dim, args.hidden
source = args.source or ("package" if device == "cuda" else "ours")

if device == "cpu" and source == "package":
    parser.error("--source package: Liger's kernel needs a GPU; --source ours runs without one")
if device == "cpu" and source == "ours" and args.compile:
    parser.error("--compile --source ours: needs a GPU; Triton's interpreter cannot be compiled")
if device == "cpu" and lesson:
    batch = 4
    print("Without a GPU: 4 sequences instead of 64, because the interpreter is slow.")

# %%
# Where the kernels are from
# --------------------------
# Triton compiles for a GPU. Where there is none it can *interpret*: the same kernel, run by Python
# and NumPy. It has to be told before it is imported.

if device == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"
    numpy.seterr(over="ignore")  # exp may become inf, as it may on a GPU

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None
    print("Triton is not installed (pip install triton): the parts with our kernel need it.")

liger = None
if device == "cpu":
    print("Liger's kernel needs a GPU: the parts with it are not run here.")
else:
    try:
        from liger_kernel.transformers.geglu import LigerGEGLUMLP as liger
    except ImportError:
        print("liger-kernel is not installed (pip install liger-kernel): its parts need it.")

if not lesson and source == "ours" and triton is None:
    parser.error("--source ours: needs Triton (pip install triton)")
if not lesson and source == "package" and liger is None:
    parser.error("--source package: needs liger-kernel (pip install liger-kernel)")

# %%
# The workload
# ------------
# The same MLP as in the lesson before. Its pointwise part has a method of its own, which is what
# the variants below replace. The bytes are counted before anything is allocated, so that a size
# which does not fit is told in one line.


class GeGLUMLP(nn.Module):
    """down(gelu(gate(x)) * up(x)), without biases."""

    def __init__(self, dim, hidden):
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden, bias=False)
        self.up_proj = nn.Linear(dim, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, dim, bias=False)

    def pointwise(self, gate, up):  # twice (batch, seq, hidden) -> (batch, seq, hidden)
        return F.gelu(gate, approximate="tanh") * up

    def forward(self, x):  # (batch, seq, dim)
        gate = self.gate_proj(x)  # (batch, seq, hidden)
        up = self.up_proj(x)  # (batch, seq, hidden)
        return self.down_proj(self.pointwise(gate, up))  # (batch, seq, dim)


def memory():
    """Bytes that can be had: free on the GPU, installed on the CPU."""
    if device == "cuda":
        return torch.cuda.mem_get_info()[0]
    if hasattr(os, "sysconf"):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return sys.maxsize


sizes = f"--batch {batch} --seq {seq} --dim {dim} --hidden {hidden}"
numbers = 3 * dim * hidden + batch * seq * (4 * dim + 4 * hidden)
needed = numbers * (dtype.itemsize + 4)  # once as asked for, and once in float32 to check against
if needed > memory():
    parser.error(
        f"{sizes}: needs about {needed // 2**30} GiB, {device} has {memory() // 2**30} GiB; "
        "use smaller sizes"
    )

# %%
# Liger's layer
# -------------
# ``LigerGEGLUMLP`` has three linear layers under the same names as ours, and a ``forward`` that
# calls the kernel. We give it *our* three layers, so that all variants have the same weights and
# can be compared. (This also works whether or not the layer makes layers of its own: the package's
# does, that of newer versions on the hub does not.)
#
# The kernel takes one row of ``gate`` and one of ``up`` for each of its programs. The row's length
# is a compile-time constant, so another ``hidden`` is another compilation.


def with_layer(layer, mlp):
    """A module of the class layer that uses the three linear layers of mlp."""

    class Borrowing(layer):
        def __init__(self):
            nn.Module.__init__(self)
            self.gate_proj = mlp.gate_proj
            self.up_proj = mlp.up_proj
            self.down_proj = mlp.down_proj

    return Borrowing().eval()


# %%
# The same from the hub
# ---------------------
# The ``kernels`` library downloads a kernel from the Hugging Face hub, in the version you ask for,
# and imports it; ``--hub-path`` imports it from a folder instead. What comes is Triton source,
# which is compiled on your machine. This function is only called with ``--source hub``, so it has
# left nothing on this page.


def hub_layer():
    """LigerGEGLUMLP from the hub, or from the folder --hub-path."""
    try:
        from kernels import get_kernel, get_local_kernel
    except ImportError:
        parser.error("--source hub: needs the kernels library (pip install kernels)")
    try:
        if args.hub_path:
            kernel = get_local_kernel(args.hub_path)
        else:
            kernel = get_kernel("kernels-community/liger-kernels", version=args.hub_version)
        return kernel.layers.LigerGEGLUMLP
    except Exception as error:  # whatever it is, the remedy is the same
        place = args.hub_path or f"the hub, version {args.hub_version}"
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise SystemExit(
            f"--source hub: no kernel for {device} from {place}: {reason[0]} "
            "(is there a network? --hub-path takes a local folder)"
        ) from error


# %%
# Our own kernel
# --------------
# A Triton kernel is written for one *program*, which works on a block of numbers; the launch
# starts as many programs as there are blocks. Nothing in ``gelu(gate) * up`` needs to know about
# rows, so we treat the tensors as flat: any shape will do, and no size is compiled in.
#
# Everything between the loads and the store stays in registers. That is the whole point: the
# GELU's result never goes to memory. Inside, numbers are float32, whatever they are outside.
#
# The GELU is written with a sigmoid, since ``0.5 * (1 + tanh(z))`` is ``sigmoid(2 * z)``.

if triton is not None:

    @triton.jit
    def geglu_kernel(
        gate_ptr,  # where gate begins (read)
        up_ptr,  # where up begins (read)
        out_ptr,  # where the result begins (written)
        count,  # how many numbers there are in each of the three
        BLOCK: tl.constexpr,  # how many of them one program takes; a power of two
    ):
        """out = gelu(gate) * up, BLOCK numbers at a time."""
        # int64: there may be more numbers than 32 bits can count.
        start = tl.program_id(0).to(tl.int64) * BLOCK
        offsets = start + tl.arange(0, BLOCK)  # (BLOCK,)
        inside = offsets < count  # the last block may hang over the end
        gate = tl.load(gate_ptr + offsets, mask=inside).to(tl.float32)
        up = tl.load(up_ptr + offsets, mask=inside).to(tl.float32)
        z = 0.7978845608028654 * (gate + 0.044715 * gate * gate * gate)  # sqrt(2 / pi) * ...
        result = gate / (1.0 + tl.exp(-2.0 * z)) * up  # gate * sigmoid(2 * z) * up
        tl.store(out_ptr + offsets, result.to(out_ptr.dtype.element_ty), mask=inside)

    # A GPU wants many small blocks, the interpreter few large ones: it runs one after the other.
    BLOCK = 2048 if device == "cuda" else 2**16

    def geglu_into(gate, up, out):
        """Write gelu(gate) * up to the beginning of out; all three contiguous."""
        assert gate.is_contiguous() and up.is_contiguous(), "the kernel knows no strides"
        programs = triton.cdiv(gate.numel(), BLOCK)
        geglu_kernel[(programs,)](gate, up, out, gate.numel(), BLOCK=BLOCK)

    def geglu(gate, up):  # twice (..., hidden) -> (..., hidden)
        """gelu(gate) * up in one kernel."""
        out = torch.empty_like(gate)
        geglu_into(gate, up, out)
        return out

    class TritonGeGLUMLP(GeGLUMLP):
        """The MLP with our kernel in the middle."""

        def pointwise(self, gate, up):
            return geglu(gate, up)


# %%
# Right first
# -----------
# A kernel that leaves part of its output alone may look right, because what was in memory before
# was right. So the output is filled with NaN, and is longer than it should be: every number inside
# must have been written, none behind the end. The data are random and new for every shape, the
# shapes fit no block, and the reference is computed in float32.

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


torch.manual_seed(0)
if triton is not None and (lesson or source == "ours"):
    for shape in [(1, 1), (3, 5), (7, 1000), (33, 3071)]:
        gate, up = (3 * torch.randn(2, *shape, device=device)).to(dtype)
        out = torch.full((gate.numel() + 100,), float("nan"), device=device, dtype=dtype)
        geglu_into(gate, up, out)
        written, behind = out[: gate.numel()].view(shape), out[gate.numel() :]
        assert behind.isnan().all(), f"our kernel wrote behind the end of its output, {shape}"
        reference = F.gelu(gate.float(), approximate="tanh") * up.float()
        agree(f"our kernel agrees with float32, {shape}", written, reference)

# %%
# Recording
# ---------
# Three calls before the recording, then five steps of which the schedule keeps the last three.


def record(step, fn, x):
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
# One run makes the MLP twice over the same weights, once plain and once with the kernel, and
# records the latter; before a number is printed it is compared with the former. It is the only
# place where the script ends early: when memory runs out all the same, or when there is no
# compiler to call, one line is a better answer than a traceback.


def make_mlp():
    """The plain MLP and its input, the same numbers in every run."""
    torch.manual_seed(0)
    mlp = GeGLUMLP(dim, hidden).to(device, dtype).eval()
    return mlp, torch.randn(batch, seq, dim).to(device, dtype)  # (batch, seq, dim)


def run(name, what, variant, compiled=False):
    """Record one variant of the MLP; variant makes it from the plain one."""
    print(f"{name}: {(batch, seq, dim)}, hidden {hidden}, {args.dtype}, {device}")
    try:
        mlp, x = make_mlp()
        fn = variant(mlp)
        if compiled:
            torch.compiler.reset()  # forget what earlier runs have compiled
            fn = torch.compile(fn)
        prof = record("kernels_mlp_fwd", fn, x)
        with torch.no_grad():
            agree(f"{what} agrees with eager", fn(x), mlp(x))
    except RuntimeError as error:
        message = str(error)
        if "out of memory" in message or "allocate memory" in message:
            raise SystemExit(f"{sizes} does not fit: use smaller sizes") from error
        if "C++ compiler" in message or "C compiler" in message:
            raise SystemExit("no compiler found: install one, or set CC and CXX") from error
        raise
    report(name, prof)


# %%
# The MLP with Liger's kernel
# ---------------------------
# Guess: how many kernels in one step, and which of the eager MLP's names have gone? Then look at
# the CPU lane. There is no lookup and there are no guards here, as there are in a compiled module;
# but what is there between the second product and the launch of the kernel?

if lesson and liger is not None:
    run("geglu_liger", "Liger", lambda mlp: with_layer(liger, mlp))

# %%
# The same, compiled
# ------------------
# ``torch.compile`` can take a Triton kernel that somebody else has written into its graph. It does
# not look inside. So what can it still save, and what does it add?

if lesson and liger is not None:
    run("geglu_liger_compiled", "Liger, compiled", lambda mlp: with_layer(liger, mlp), True)

# %%
# The MLP with our kernel
# -----------------------
# The same module, our pointwise kernel. Look for its name on the stream, and compare its length
# with that of Liger's. (From the interpreter there is no kernel to see.)


def with_ours(mlp):
    """The MLP with our kernel and the weights of mlp."""
    ours = TritonGeGLUMLP(dim, hidden).to(device, dtype).eval()
    ours.load_state_dict(mlp.state_dict())
    return ours


if lesson and triton is not None:
    run("geglu_triton", "our kernel", with_ours)

# %%
# The pointwise part alone
# ------------------------
# Four ways to compute ``gelu(gate) * up``, each in a bar with its name. Before you look: how many
# bytes does each of them have to read and to write?

if lesson:
    torch.manual_seed(1)
    rows = batch * seq
    variants = {"eager": lambda gate, up: F.gelu(gate, approximate="tanh") * up}
    torch.compiler.reset()
    variants["compiled"] = torch.compile(variants["eager"], dynamic=False)
    if liger is not None:
        from liger_kernel.ops import LigerGELUMulFunction

        variants["liger"] = LigerGELUMulFunction.apply
    if triton is not None:
        variants["ours"] = geglu

    gate, up = torch.randn(2, rows, hidden, device=device).to(dtype)  # each (rows, hidden)
    with torch.no_grad():
        reference = F.gelu(gate.float(), approximate="tanh") * up.float()
        for name, fn in variants.items():
            agree(f"{name} agrees with float32", fn(gate, up), reference)
    del reference

    def all_variants(pair):
        """Each variant once, in a bar with its name."""
        for name, fn in variants.items():
            with record_function(name):
                fn(*pair)

    report("geglu_pointwise", record("pointwise", all_variants, (gate, up)))

# %%
# How fast
# --------
# A profiler is not a stopwatch: it slows the CPU down, and here the CPU may be what is slow. Timing
# single calls has the same fault: a kernel this short is over before the next call has been
# prepared. So the calls are captured into a CUDA graph, which launches them all at once, and what is
# timed is the GPU alone.
#
# A kernel that runs again at once finds its data in the cache. So every call in the graph has
# inputs and an output of its own, together several times as large as the cache. The graph is
# replayed many times; the median is given, and the range in which the middle 60 % of the replays lie.
#
# Every variant has to read two numbers and write one. What one of them moves beyond that is not
# counted, so *bytes* is the same for all, and a variant that moves more has a worse rate.
#
# Without a GPU only eager and compiled are timed, by ``torch.utils.benchmark``; the interpreter's
# time would say nothing about the kernel.


def quantiles_us(fn, rows, replays=200):
    """Median, 20 % and 80 % quantile of the time of one fn(gate, up), in microseconds."""
    quantiles = torch.tensor([0.5, 0.2, 0.8])

    def pair():  # gate and up, each (rows, hidden)
        return torch.randn(2, rows, hidden, device=device).to(dtype)

    if device == "cpu":
        from torch.utils.benchmark import Timer

        names = {"fn": fn, "pair": pair()}
        timer = Timer("fn(*pair)", globals=names, num_threads=torch.get_num_threads())
        times = torch.tensor(timer.blocked_autorange(min_run_time=0.3).times)  # in s
        return (1e6 * times.quantile(quantiles)).tolist()

    cache = torch.cuda.get_device_properties(0).L2_cache_size
    calls = 2 + 4 * cache // (3 * rows * hidden * dtype.itemsize)
    pairs = [pair() for _ in range(calls)]
    fn(*pairs[0])  # compiles what is to be compiled
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outputs = [fn(*pair) for pair in pairs]  # kept, so that each has memory of its own
    times = []
    for _ in range(replays):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / len(outputs))  # in ms
    return (1e3 * torch.tensor(times).quantile(quantiles)).tolist()


results = []
if lesson:
    timed = [name for name in variants if device == "cuda" or name in ("eager", "compiled")]
    print(f"{'variant':10}{'rows':>7}{'hidden':>8}{'median':>12}{'20 %':>12}{'80 %':>12}")
    for rows in sorted({max(1, batch * seq // part) for part in (1, 4, 16)}):
        torch.compiler.reset()
        for name in timed:
            with torch.no_grad():
                median, low, high = quantiles_us(variants[name], rows)
            print(f"{name:10}{rows:7}{hidden:8}{median:9.1f} us{low:9.1f} us{high:9.1f} us")
            bytes_moved = 3 * rows * hidden * dtype.itemsize
            results.append([name, rows, hidden, median, low, high, bytes_moved])

    with (args.out / "pointwise_geglu.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["variant", "rows", "hidden", "median_us", "low_us", "high_us", "bytes"])
        for *what, median, low, high, bytes_moved in results:
            table.writerow([*what, f"{median:.3f}", f"{low:.3f}", f"{high:.3f}", bytes_moved])
    print(f"Table: {args.out / 'pointwise_geglu.csv'}")

# %%
# The same as a picture, for the largest number of rows: how long, and the range of the middle 60 %.

if results:
    import matplotlib.pyplot as plt

    largest = [row for row in results if row[1] == results[-1][1]]
    names, medians = [row[0] for row in largest], [row[3] for row in largest]
    below = [row[3] - row[4] for row in largest]
    above = [row[5] - row[3] for row in largest]

    figure, axes = plt.subplots(figsize=(6.4, 0.6 * len(names) + 1.4), layout="constrained")
    axes.barh(names, medians, xerr=[below, above], capsize=4, color="#1b7f74", ecolor="#222222")
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set_xlabel("time of one call in µs")
    axes.set_title(f"gelu(gate) * up, {largest[0][1]} x {hidden}, {args.dtype}, {device}")
    figure.savefig(args.out / "pointwise_geglu.png", dpi=150)
    print(f"Figure: {args.out / 'pointwise_geglu.png'}")

# %%
# The run you asked for
# ---------------------
# With flags, this is what runs. The trace is named after the flags, so that one run does not
# overwrite another: ``geglu_package_64_128_768_3072_eager``,
# ``geglu_ours_4_128_768_3072_cpu_eager``.

if not lesson:
    parts = ["geglu", source, *sizes.split()[1::2]]
    parts += [args.dtype] * (args.dtype != "bf16") + ["cpu"] * (device == "cpu")
    name = "_".join([*parts, "compiled" if args.compile else "eager"])
    if source == "ours":
        run(name, "our kernel", with_ours, args.compile)
    else:
        layer = hub_layer() if source == "hub" else liger
        run(name, f"{source}'s kernel", lambda mlp: with_layer(layer, mlp), args.compile)
