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
Recompiles: what compiling costs, and when it is paid again
===========================================================

A compiled module holds for what it has seen: for some shapes, some strides, some data type. What
happens when something else comes along? Here the batch size changes from call to call, then the
strides do, and each time the clock says what it has cost.

Run it with no flags for the whole lesson, or with flags for one run::

    uv run 05_recompiles.py
    uv run 05_recompiles.py --batches 8 16 24
    uv run 05_recompiles.py --batches 8 16 24 --mode dynamic
    uv run 05_recompiles.py --batches 8 16 24 --mode mark_dynamic

You learn

- what the first call costs, eager and compiled, and which later calls cost as much;
- to count compilations, and to spare yourself some of them;
- what a compiled module does about strides that it was not made for;
- where the memcpy before a product comes from, when a whole matrix is added to it.

Which part needs what: the part with Liger's kernel needs a GPU, the rest does not.
"""

# %%
# The flags
# ---------
# Without flags the whole lesson; with any flag, the one run it describes.

import argparse
import csv
import os
import sys
import tempfile
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, record_function, schedule

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
SEQUENCE = [8, 8, 16, 24, 8, 48, 1, 16]


def positive(text):
    """A whole number above zero, or argparse's error."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


parser = argparse.ArgumentParser(
    description="Call a compiled MLP with one batch size after another."
)
parser.add_argument(
    "--batches", type=positive, nargs="+", default=SEQUENCE, help="rows of x, call by call"
)
parser.add_argument(
    "--mode",
    choices=["default", "dynamic", "mark_dynamic"],
    default="default",
    help="how to compile",
)
parser.add_argument("--dim", type=positive, default=768, help="numbers in a row")
parser.add_argument("--hidden", type=positive, default=3072, help="width inside the MLP")
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
dim, hidden = args.dim, args.hidden

# %%
# The workload
# ------------
# The GeGLU MLP again, small enough that what is seen below is not the time of its products. The
# inputs are made once, so that every way to compile gets the same ones.


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


sizes = f"--batches {' '.join(map(str, args.batches))} --dim {dim} --hidden {hidden}"
numbers = 3 * dim * hidden + 4 * dim * sum(args.batches) + 4 * hidden * max(args.batches)
needed = numbers * (dtype.itemsize + 4)  # once as asked for, and once in float32 to check against
if needed > memory():
    parser.error(
        f"{sizes}: needs about {needed // 2**30} GiB, {device} has {memory() // 2**30} GiB; "
        "use smaller sizes"
    )

# %%
# Right first, fast second
# ------------------------
# Before a time is printed, the result is compared with float32. The error is relative to the whole
# result, and what is allowed depends on how many digits the data type has.

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
# Counting compilations
# ---------------------
# ``torch.compile`` has two halves. Dynamo turns Python into a graph, and a *backend* turns the
# graph into code: Inductor, unless you name another. A backend is a function, so we name one that
# counts and then asks Inductor. If it was called, something was compiled.
#
# What has been compiled is kept, also on the disk, for the next process. Here we want to know what
# compiling costs, not what finding it again costs; so the caches are switched off, and Triton's is
# put into a new folder for each way to compile.

graphs = 0


def counting_backend(graph, example_inputs):
    """Inductor, counted."""
    global graphs
    graphs += 1
    return torch._dynamo.lookup_backend("inductor")(graph, example_inputs)


def forget():
    """Begin as if nothing had been compiled."""
    global graphs
    graphs = 0
    torch.compiler.reset()
    os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp(dir=scratch.name)


scratch = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
torch.compiler.config.force_disable_caches = True
warnings.filterwarnings("ignore", message="dynamo_pgo force disabled")  # as intended

# %%
# Call by call
# ------------
# One call at a time, from the call until its result is there: a call is not issued before the one
# before it is done. This is the host's clock, with everything in it.


def wait():
    """Wait until the GPU has done all it was given."""
    if device == "cuda":
        torch.cuda.synchronize()


def call_by_call(mode, fn, inputs, counted=lambda: graphs):
    """(mode, call, rows, milliseconds, compilations so far) of each call, and the results."""
    table, outputs = [], []
    with torch.no_grad():
        for call, x in enumerate(inputs, start=1):
            wait()
            begin = time.perf_counter()
            outputs.append(fn(x))
            wait()
            host_ms = 1e3 * (time.perf_counter() - begin)
            table.append([mode, call, len(x), host_ms, counted()])
    return table, outputs


def check_and_print(table, outputs):
    """The calls of one mode, after their results have been compared."""
    agree(f"{table[0][0]} agrees with float32", torch.cat(outputs), references)
    for mode, call, rows, host_ms, compiled in table:
        print(
            f"{mode:13} call {call} rows {rows:3} {host_ms:10.2f} ms   {compiled} compiled so far"
        )
    results.extend(table)


torch.manual_seed(0)
results = []
mlp = GeGLUMLP(dim, hidden).to(device, dtype).eval()
batches = [torch.randn(rows, dim).to(device, dtype) for rows in args.batches]  # (rows, dim) each

# %%
# Eager
# -----
# Eager compiles nothing. Is its first call like the others, all the same? Guess before you look.
# (There has been no product in this process before this block.)

if lesson:
    with one_line_for_errors():
        table, outputs = call_by_call("eager", mlp, batches)

with one_line_for_errors(), torch.no_grad():  # after eager's first call, not before it
    exact = GeGLUMLP(dim, hidden).to(device)
    exact.load_state_dict(mlp.state_dict())
    references = torch.cat([exact(x.float()) for x in batches])

if lesson:
    check_and_print(table, outputs)

# %%
# The compiler itself
# -------------------
# The first compilation in a process loads the compiler. To keep that apart from the rest, we
# compile something that is not worth it: one addition. In the table its mode is *start*.

if lesson:
    with one_line_for_errors():
        forget()
        add_one = torch.compile(lambda x: x + 1, backend=counting_backend)
        table, outputs = call_by_call("start", add_one, batches[:1])
    assert torch.equal(outputs[0], batches[0] + 1), "start differs from eager"
    for mode, call, rows, host_ms, compiled in table:
        print(
            f"{mode:13} call {call} rows {rows:3} {host_ms:10.2f} ms   {compiled} compiled so far"
        )
    results.extend(table)

# %%
# Compiled, by default
# --------------------
# The first batch size is taken for a constant. Guess what happens at the second one, at the third,
# when the first comes back, and when there is a single row.
#
# Then look at the calls that compiled nothing. They should be alike, whatever their batch size; are
# they like eager's?


def compile_in(mode):
    """The MLP, compiled in one of the three modes, and the inputs to call it with."""
    forget()
    fn = torch.compile(mlp, backend=counting_backend, dynamic=True if mode == "dynamic" else None)
    inputs = [x.clone() for x in batches]  # a mark stays on its tensor
    if mode == "mark_dynamic":
        for x in inputs:
            if len(x) > 1:
                torch._dynamo.mark_dynamic(x, 0)
    return fn, inputs


def run_sequence(mode):
    """Compile in one mode, make all the calls, and give the compiled MLP and its last input."""
    print(f"{mode}: batches {args.batches}, ({dim},) to ({hidden},), {args.dtype}, {device}")
    with one_line_for_errors():
        fn, inputs = compile_in(mode)
        table, outputs = call_by_call(mode, fn, inputs)
    check_and_print(table, outputs)
    return fn, inputs[-1]


if lesson:
    run_sequence("default")

# %%
# Compiled with dynamic=True
# --------------------------
# Now every size is a variable from the beginning. Does that spare a compilation? And is there still
# a batch size that is not covered?

if lesson:
    run_sequence("dynamic")

# %%
# Compiled with one dimension marked
# ----------------------------------
# ``torch._dynamo.mark_dynamic(x, 0)`` says which dimension will vary, and leaves the rest
# constant. An input of a single row is not marked: zero and one are constants to the compiler,
# always, because so many rules are different for them.

if lesson:
    run_sequence("mark_dynamic")

# %%
# A kernel written by hand
# ------------------------
# The same calls with Liger's kernel in the middle and no ``torch.compile``. The kernel is Triton
# source, so it is compiled as well, at the first call; what is counted is how often Triton does
# that. Its launch takes the number of rows as it comes. The width of a row, however, is a constant
# in it: in the second table it is doubled. Guess both counts.

kernels = 0
triton = None
if lesson and device == "cpu":
    print("Liger's kernel needs a GPU: the part with it is not run here.")
elif lesson:
    try:
        import triton
        from liger_kernel.ops import LigerGELUMulFunction
    except ImportError:
        triton = None
        print("liger-kernel is not installed (pip install liger-kernel): its part needs it.")


def count_kernel(**compiled):
    """Triton calls this when it has compiled a kernel."""
    global kernels
    kernels += 1


def liger_forward(mlp, x):  # (rows, dim) -> (rows, dim)
    """The forward pass of mlp with Liger's kernel."""
    return mlp.down_proj(LigerGELUMulFunction.apply(mlp.gate_proj(x), mlp.up_proj(x)))


if triton is not None:
    forget()
    triton.knobs.runtime.jit_post_compile_hook = count_kernel
    check_and_print(
        *call_by_call("liger", lambda x: liger_forward(mlp, x), batches, lambda: kernels)
    )
    wide = GeGLUMLP(dim, 2 * hidden).to(device, dtype).eval()
    table, outputs = call_by_call(
        "liger_wide", lambda x: liger_forward(wide, x), batches, lambda: kernels
    )
    triton.knobs.runtime.jit_post_compile_hook = None
    with torch.no_grad():
        references = torch.cat([wide.float()(x.float()) for x in batches])
    check_and_print(table, outputs)

# %%
# All calls, as a table for the pages of this book.

if lesson:
    with (args.out / "recompiles.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["mode", "call", "rows", "host_ms", "graphs"])
        for *what, host_ms, compiled in results:
            writer.writerow([*what, f"{host_ms:.4f}", compiled])
    print(f"Table: {args.out / 'recompiles.csv'}")

# %%
# Other strides
# -------------
# A compiled layer was made for the strides of its first input and of its weight, and its code
# contains them. Give it an input of the same shape that is walked through in another order, and
# then such a weight. Guess: an error, a wrong result, or another compilation?

stride_cases = []  # (what was other than when it was compiled, did it raise, compiled so far)

if lesson:
    with one_line_for_errors(), torch.no_grad():
        forget()
        layer = nn.Linear(64, 64).to(device, dtype).eval()
        compiled_layer = torch.compile(layer, backend=counting_backend)
        x = torch.randn(64, 64, device=device).to(dtype)  # (rows, in_dim)

        def call_layer(what, x):
            """Call the compiled layer, compare, and say how often it has been compiled."""
            result = compiled_layer(x)
            exact = F.linear(x.float(), layer.weight.float(), layer.bias.float())
            agree(f"{what}: agrees with float32", result, exact)
            strides = f"input {x.stride()}, weight {layer.weight.stride()}"
            print(f"{what}: strides: {strides}; {graphs} compiled so far")
            stride_cases.append([what, 0, graphs])

        call_layer("as compiled", x)
        call_layer("other input", x.t())
        layer.weight = nn.Parameter(layer.weight.t().contiguous().t())
        call_layer("other weight", x)

# %%
# So the strides are guarded: they are compared at every call, and when they differ, there is
# another compilation. If you would rather have an error than a pause, you can say so, and get one.

if lesson:
    forget()
    compiled_layer = torch.compile(layer, backend=counting_backend)
    try:
        with one_line_for_errors(), torch.no_grad():
            compiled_layer(x)
            with torch.compiler.set_stance("fail_on_recompile"):
                compiled_layer(x.t())
    except RuntimeError as error:
        # Behind the first sentence of its first line there are only paths.
        print(f"{type(error).__name__}: {str(error).partition('. ')[0]}.")
        print(*(line.strip() for line in str(error).splitlines() if "stride mismatch" in line))
        stride_cases.append(["told to fail", 1, graphs])
    else:
        print("No error.")
        stride_cases.append(["told to fail", 0, graphs])

# %%
# Guards look at what comes in. There is one more case: strides *inside* the graph that are not what
# the compiler was told. It believes an operation of yours when that says what its result looks like
# (the *fake* version below), and makes its code accordingly. This one says that its result is laid
# out like its input, and lays it out the other way round. Eager takes what it gets. And the
# compiled code?

if lesson:

    @torch.library.custom_op("lesson::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        """2 x, in memory column by column."""
        return (2 * x).t().contiguous().t()

    @twice.register_fake
    def _(x):
        return torch.empty_like(x)  # row by row: not so

    def twice_plus_one(x):  # (rows, columns) -> (rows, columns)
        """2 x + 1, the first half of it by our operation."""
        return twice(x) + 1

    with torch.no_grad():
        agree("eager agrees with float32", twice_plus_one(x), 2 * x.float() + 1)
        forget()
        compiled = torch.compile(twice_plus_one, backend=counting_backend)
        try:
            with one_line_for_errors():
                compiled(x)
        except AssertionError as error:
            print(f"{type(error).__name__}: {str(error).splitlines()[0]}")
            stride_cases.append(["wrong fake", 1, graphs])
        else:
            print("No error.")
            stride_cases.append(["wrong fake", 0, graphs])

    with (args.out / "stride_guard.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["case", "raised", "graphs"])
        writer.writerows(stride_cases)
    print(f"Table: {args.out / 'stride_guard.csv'}")

# %%
# Recording
# ---------
# Three calls before the recording, then five steps of which the schedule keeps the last three.


def record(step, fn, *inputs):
    """The profile of args.steps calls of fn, the first two of which are not in it."""
    activities = [ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(ProfilerActivity.CUDA)
    with torch.no_grad():
        for _ in range(3):
            fn(*inputs)
        with torch.profiler.profile(
            activities=activities,
            schedule=schedule(wait=1, warmup=1, active=args.steps - 2, repeat=1),
            record_shapes=True,
            acc_events=True,  # there is one cycle: nothing to warn about
        ) as prof:
            for _ in range(args.steps):
                with record_function(step):
                    fn(*inputs)
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
# A bias as large as the result
# -----------------------------
# ``nn.Linear`` adds one vector to every row, and the product's kernel does it on the way. Here a
# whole matrix is added, in one operation: ``torch.addmm(bias, x, w)``. Guess the number of kernels.
#
# Then look for what comes before the product. The library adds to what it finds in the output. So
# who puts the bias there, and is it the compiler's doing?


def add_product(bias, x, w):  # three times (size, size) -> (size, size)
    """bias + x @ w, as one operation."""
    return torch.addmm(bias, x, w)


def run(name, fn):
    """Record one of the two."""
    size = 4096 if device == "cuda" else 1024
    print(f"{name}: three times {(size, size)}, {args.dtype}, {device}")
    torch.manual_seed(0)
    with one_line_for_errors(), torch.no_grad():
        inputs = [torch.randn(size, size, device=device).to(dtype) for _ in range(3)]
        result = fn(*inputs)
        agree(f"{name} agrees with float32", result, add_product(*(t.float() for t in inputs)))
        prof = record("addmm", fn, *inputs)
    report(name, prof)


if lesson:
    if device == "cpu":
        print("Without a GPU: size 1024 instead of 4096.")
    run("full_bias_eager", add_product)

# %%
# The same, compiled
# ------------------
# Guess which of eager's bars are still there. If the copy is, has it got another name, or another
# place? (What it costs to compile is not asked any more, so the caches may be used again.)

if lesson:
    torch.compiler.config.force_disable_caches = False
    forget()
    run("full_bias_compiled", torch.compile(add_product))

# %%
# The run you asked for
# ---------------------
# With flags, this is what runs: the calls one after the other, then a recording of the last one.
# Its trace is named after the flags, so that one run does not overwrite another:
# ``recompiles_8_16_24_768_3072_default``, and with ``_cpu_`` in the name when it was made without
# a GPU.

if not lesson:
    fn, x = run_sequence(args.mode)
    parts = ["recompiles", *map(str, args.batches), str(dim), str(hidden)]
    parts += [args.dtype] * (args.dtype != "bf16") + ["cpu"] * (device == "cpu")
    report("_".join([*parts, args.mode]), record("mlp_fwd", fn, x))
