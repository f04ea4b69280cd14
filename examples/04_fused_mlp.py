# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "torch>=2.11",
#     "triton>=3.6; sys_platform == 'linux'",
#     "liger-kernel>=0.8.5; sys_platform == 'linux'",
#     "matplotlib",
#     "numpy",
# ]
# ///
"""
A fused MLP to put into your model
==================================

The kernel of the lesson before becomes a module: ``FusedGeGLUMLP.from_mlp(mlp)`` takes the three
layers of a GeGLU MLP and computes the same in two kernels, for inference. A module has to do more
than be fast: it says what it cannot take, falls back where the fast way is not possible, and works
inside ``torch.compile`` and CUDA graphs.

Run it with no flags for the whole lesson, or with flags for one run::

    uv run 04_fused_mlp.py
    uv run 04_fused_mlp.py --rows 16
    uv run 04_fused_mlp.py --rows 8192 --compile

You learn

- to wrap a kernel as a module, with checks, with a fallback, and as an operator for ``torch.compile``;
- what a launch from Python costs, and how to make it cheaper where the rows are few;
- to keep a ledger of bytes and operations, and to draw a roofline;
- where such a kernel pays, and where it does not.

Without a GPU of the Hopper generation the module falls back to plain PyTorch, and says so.
"""

# %%
# The flags
# ---------
# Without flags the whole lesson; with any flag, the one run it describes.

import argparse
import copy
import csv
import importlib
import importlib.util
import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
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


parser = argparse.ArgumentParser(description="Check, time and profile a fused GeGLU MLP.")
parser.add_argument("--rows", type=positive, default=8192, help="rows of x: batch times sequence")
parser.add_argument("--dim", type=positive, default=768, help="numbers in a row")
parser.add_argument("--hidden", type=positive, default=3072, help="width inside the MLP")
parser.add_argument("--compile", action="store_true", help="record the compiled module")
parser.add_argument("--quack", action="store_true", help="compare with QuACK, which is installed")
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
rows, dim, hidden = args.rows, args.dim, args.hidden
if device == "cpu" and lesson:
    rows, dim, hidden = 32, 64, 128
    print("Without a GPU: (32, 64), hidden 128 instead of (8192, 768), hidden 3072.")
hopper = device == "cuda" and torch.cuda.get_device_capability() == (9, 0)
if args.quack and not hopper:
    parser.error("--quack: needs a GPU of the Hopper generation (H100, H200)")


def memory():
    """Bytes that can be had: free on the GPU, installed on the CPU."""
    if device == "cuda":
        return torch.cuda.mem_get_info()[0]
    if hasattr(os, "sysconf"):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return sys.maxsize


sizes = f"--rows {rows} --dim {dim} --hidden {hidden}"
numbers = 3 * dim * hidden + rows * (4 * dim + 4 * hidden)
needed = numbers * (dtype.itemsize + 8)  # once as asked for, and once in float64 to check against
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

    numpy.seterr(over="ignore")  # exp2 may become inf, as it may on a GPU

try:
    import triton
    import triton.language as tl
except ImportError:
    raise SystemExit("Triton is not installed: pip install triton") from None

# %%
# The kernel for many rows
# ------------------------
# Word for word the last step of the lesson before, two warpgroups by turns; that lesson explains it.
# Only the frame is shorter, since there are no other steps to choose from.

if hopper:
    from triton.experimental import gluon
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.language.nvidia import hopper as gh
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor as Boxes

    @gluon.jit
    def gelu_times_gluon(gate, up, APPROXIMATE: gl.constexpr):
        """The same formula; the GPU's own approximate tanh if asked for (it is one instruction)."""
        z = gate * (0.7978845608028654 + 0.035677408136300125 * gate * gate)
        if APPROXIMATE:
            tanh: gl.constexpr = "tanh.approx.f32 $0, $1;"
            t = gl.inline_asm_elementwise(tanh, "=f,f", [z], dtype=gl.float32, is_pure=True, pack=1)
            return 0.5 * gate * (1.0 + t) * up
        # Not a division: 1 / y to the last bit but one, without the cases that cannot happen here.
        inverse: gl.constexpr = "rcp.approx.ftz.f32 $0, $1;"
        y = 1.0 + gl.exp2(-2.8853900817779268 * z)
        r = gl.inline_asm_elementwise(inverse, "=f,f", [y], dtype=gl.float32, is_pure=True, pack=1)
        return gate * up * r

    @gluon.jit
    def tile_at_gluon(number, tiles_m, tiles_n, GROUP: gl.constexpr):
        """Which tile comes as the number-th, as before."""
        group = number // (GROUP * tiles_n)
        first = group * GROUP
        height = gl.minimum(tiles_m - first, GROUP)
        within = number % (GROUP * tiles_n)
        return first + within % height, within // height

    @gluon.jit
    def fetch(x_box, gate_box, up_box, ring, tiles_m, tiles_n, steps, GROUP: gl.constexpr):
        """The warp that fetches: for each tile, for each step along dim, fill the next buffer."""
        x_bufs, w_bufs, full, empty = ring
        BM: gl.constexpr = x_box.block_shape[0]
        BN: gl.constexpr = gate_box.block_shape[0]
        BK: gl.constexpr = gate_box.block_shape[1]
        DEPTH: gl.constexpr = full.shape[0]
        fetched = 0  # how many buffers have been filled so far
        for number in range(gl.program_id(0), tiles_m * tiles_n, gl.num_programs(0)):
            tile_m, tile_n = tile_at_gluon(number, tiles_m, tiles_n, GROUP)
            for step in range(steps):
                buf = fetched % DEPTH
                # The first time round nobody has to give the buffer back: hence the ^ 1.
                gh.mbarrier.wait(empty.index(buf), (fetched // DEPTH) & 1 ^ 1)
                done = full.index(buf)
                size: gl.constexpr = x_box.block_type.nbytes + 2 * gate_box.block_type.nbytes
                gh.mbarrier.expect(done, size)  # full once so many bytes have come
                weights = w_bufs.index(buf)
                copy: gl.constexpr = gh.tma.async_copy_global_to_shared
                copy(x_box, [tile_m * BM, step * BK], done, x_bufs.index(buf))
                copy(gate_box, [tile_n * BN, step * BK], done, weights.slice(0, BN))
                copy(up_box, [tile_n * BN, step * BK], done, weights.slice(BN, BN))
                fetched += 1

    @gluon.jit
    def finish(total, out_box, out_buf, row, column, APPROXIMATE: gl.constexpr):
        """GELU and product of a tile's sum, and its way out: registers, shared memory, engine."""
        BM: gl.constexpr = out_box.block_shape[0]
        BN: gl.constexpr = out_box.block_shape[1]
        gate, up = total.reshape((BM, 2, BN)).permute((0, 2, 1)).split()
        result = gelu_times_gluon(gate, up, APPROXIMATE).to(out_box.dtype)
        gh.tma.store_wait(pendings=0)  # the tile before has left out_buf
        out_buf.store(result)
        gh.fence_async_shared()  # what threads have written, the engine may read
        gh.tma.async_copy_shared_to_global(out_box, [row, column], out_buf)

    @gluon.jit
    def multiply_by_turns(
        WHICH: gl.constexpr,  # which of the two warpgroups we are, 0 or 1
        out_box,
        ring,
        out_bufs,
        turn,  # two barriers: turn[0] lets warpgroup 0 multiply, turn[1] the other
        tiles_m,
        tiles_n,
        steps,
        GROUP: gl.constexpr,
        EARLY: gl.constexpr,  # 1: the other may begin with our last step, 0: after it
        APPROXIMATE: gl.constexpr,
    ):
        """A warpgroup of step 6: every other tile of this program, all its rows."""
        x_bufs, w_bufs, full, empty = ring
        BM: gl.constexpr = out_box.block_shape[0]
        BN: gl.constexpr = out_box.block_shape[1]
        DEPTH: gl.constexpr = full.shape[0]
        layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 2 * BN, 16])
        used = WHICH * steps  # the other warpgroup's buffers count as well
        phase = 0
        first = gl.program_id(0) + WHICH * gl.num_programs(0)
        for number in range(first, tiles_m * tiles_n, 2 * gl.num_programs(0)):
            tile_m, tile_n = tile_at_gluon(number, tiles_m, tiles_n, GROUP)
            gh.mbarrier.wait(turn.index(WHICH), phase)
            phase ^= 1
            total = gl.zeros((BM, 2 * BN), gl.float32, layout)
            for step in range(steps):
                buf = used % DEPTH
                gh.mbarrier.wait(full.index(buf), (used // DEPTH) & 1)
                # All our buffers have come: only now may the other wait for buffers of the same ring.
                gh.mbarrier.arrive(turn.index(1 - WHICH), count=1, pred=step == steps - EARLY)
                x, weights = x_bufs.index(buf), w_bufs.index(buf)
                total = gh.warpgroup_mma(x, weights.permute((1, 0)), total, is_async=True)
                total = gh.warpgroup_mma_wait(num_outstanding=1, deps=(total,))
                gh.mbarrier.arrive(empty.index((used + DEPTH - 1) % DEPTH), count=1, pred=step > 0)
                used += 1
            total = gh.warpgroup_mma_wait(num_outstanding=0, deps=(total,))
            gh.mbarrier.arrive(empty.index((used + DEPTH - 1) % DEPTH), count=1)
            gh.mbarrier.arrive(turn.index(1 - WHICH), count=1, pred=EARLY == 0)
            used += steps  # those are the other's
            finish(total, out_box, out_bufs.index(WHICH), tile_m * BM, tile_n * BN, APPROXIMATE)
        gh.tma.store_wait(pendings=0)

    @gluon.jit(do_not_specialize=["rows"])
    def many_rows_kernel(
        x_box,  # descriptor of x (rows, dim), boxes of (BM, BK)
        gate_box,  # descriptor of gate (hidden, dim), boxes of (BN, BK)
        up_box,  # descriptor of up (hidden, dim), boxes of (BN, BK)
        out_box,  # descriptor of the result (rows, hidden), boxes of (BM, BN)
        rows,
        hidden,
        dim,
        DEPTH: gl.constexpr,  # how many buffers the ring has
        GROUP: gl.constexpr,  # how many rows of tiles are worked through together
        EARLY: gl.constexpr,  # 1: a warpgroup's turn is over with its last step, 0: after it
    ):
        """out = gelu(x @ gate.T) * (x @ up.T)."""
        BM: gl.constexpr = x_box.block_shape[0]
        BN: gl.constexpr = gate_box.block_shape[0]
        BK: gl.constexpr = gate_box.block_shape[1]
        bits: gl.constexpr = gh.mbarrier.MBarrierLayout()
        x_bufs = gl.allocate_shared_memory(x_box.dtype, [DEPTH, BM, BK], x_box.layout)
        w_bufs = gl.allocate_shared_memory(x_box.dtype, [DEPTH, 2 * BN, BK], gate_box.layout)
        out_bufs = gl.allocate_shared_memory(out_box.dtype, [2, BM, BN], out_box.layout)
        full = gl.allocate_shared_memory(gl.int64, [DEPTH, 1], bits)
        empty = gl.allocate_shared_memory(gl.int64, [DEPTH, 1], bits)
        turn = gl.allocate_shared_memory(gl.int64, [2, 1], bits)
        for buf in gl.static_range(DEPTH):
            gh.mbarrier.init(full.index(buf), count=1)
            gh.mbarrier.init(empty.index(buf), count=1)
        for which in gl.static_range(2):
            gh.mbarrier.init(turn.index(which), count=1)
        gh.fence_async_shared()
        gh.mbarrier.arrive(turn.index(0), count=1)

        tiles_m, tiles_n, steps = gl.cdiv(rows, BM), gl.cdiv(hidden, BN), gl.cdiv(dim, BK)
        ring = (x_bufs, w_bufs, full, empty)
        gl.warp_specialize(
            [
                (multiply_by_turns, (0, out_box, ring, out_bufs, turn, tiles_m, tiles_n, steps,
                                     GROUP, EARLY, False)),
                (multiply_by_turns, (1, out_box, ring, out_bufs, turn, tiles_m, tiles_n, steps,
                                     GROUP, EARLY, False)),
                (fetch, (x_box, gate_box, up_box, ring, tiles_m, tiles_n, steps, GROUP)),
            ],
            [4, 1],
            [232, 40],
        )


# %%
# A kernel for few rows
# ---------------------
# One row is not enough for a tile of 128. All that has to be done with few rows is to read the
# weights once, from as many processors as possible. So each program takes a few rows of the
# weights and all rows of x. The same kernel does the last product as well: without DUAL it is just
# ``x @ w.T``.


@triton.jit(do_not_specialize=["rows"])
def few_rows_kernel(
    x_ptr,  # (rows, dim), read
    w_ptr,  # (hidden, dim), read: gate, or the only weight
    up_ptr,  # (hidden, dim), read if DUAL
    out_ptr,  # (rows, hidden), written
    rows,  # at most BM
    hidden,
    dim,
    BM: tl.constexpr,  # 16, 32 or 64: tensor cores take no fewer than 16 rows
    BN: tl.constexpr,  # how many columns of the result one program computes
    BK: tl.constexpr,  # how far along dim one step of the loop goes
    DUAL: tl.constexpr,  # gelu(x @ w.T) * (x @ up.T), and not x @ w.T
):
    """All rows and BN columns of the result."""
    m, n = tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    w_sum = tl.zeros((BM, BN), tl.float32)
    up_sum = tl.zeros((BM, BN), tl.float32)
    for start in range(0, dim, BK):
        k = start + tl.arange(0, BK)
        ours = (n[:, None] < hidden) & (k[None, :] < dim)
        inside = (m[:, None] < rows) & (k[None, :] < dim)
        w = tl.load(w_ptr + n[:, None] * dim + k[None, :], mask=ours, other=0.0)  # (BN, BK)
        x = tl.load(x_ptr + m[:, None] * dim + k[None, :], mask=inside, other=0.0)  # (BM, BK)
        w_sum = tl.dot(x, w.T, w_sum)
        if DUAL:
            up = tl.load(up_ptr + n[:, None] * dim + k[None, :], mask=ours, other=0.0)
            up_sum = tl.dot(x, up.T, up_sum)
    if DUAL:
        z = w_sum * (0.7978845608028654 + 0.035677408136300125 * w_sum * w_sum)
        w_sum = w_sum / (1.0 + tl.exp2(-2.8853900817779268 * z)) * up_sum
    inside = (m[:, None] < rows) & (n[None, :] < hidden)
    result = w_sum.to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + m[:, None] * hidden + n[None, :], result, mask=inside)


# %%
# A launch that costs less
# ------------------------
# ``kernel[grid](...)`` looks at every argument to find out whether it has compiled this kernel for
# such arguments before. With few rows that takes longer than the kernel runs. What it returns is
# the compiled kernel, which can be launched itself, without the look. Then it is on us to know that
# it fits: the same types, sizes divisible by 16 or not as before, and addresses divisible by 16. So
# ours are kept under all that a launch depends on, and the module checks the addresses.
#
# A descriptor costs as well: to make one anew for each tensor takes as long as a launch. So four
# are kept, and only what differs is put in; a lock keeps two threads from using them at once.


class Launches:
    """The compiled kernels for one data type and one pair of widths on one GPU."""

    PROCESSORS = torch.cuda.get_device_properties(0).multi_processor_count if device == "cuda" else 4
    BM, BN, BK, DEPTH, GROUP, EARLY = 128, 64, 64, 6, 8, 1

    def __init__(self, dtype, dim, hidden):
        self.dtype, self.dim, self.hidden = dtype, dim, hidden
        self.compiled = {}
        self.boxes = None
        self.lock = threading.Lock()

    def launch(self, key, kernel, grid, *arguments, **options):
        """Launch a kernel: through Triton the first time, then as it was compiled."""
        if key in self.compiled:
            self.compiled[key][(*grid, 1, 1)](*arguments)
        else:
            self.compiled[key] = kernel[grid](*arguments, **options)

    def few_rows(self, x, w, up, out):
        """out = x @ w.T, or with up gelu(x @ w.T) * (x @ up.T), for at most 64 rows."""
        (rows, dim), hidden = x.shape, w.shape[0]
        bm = 16 if rows <= 16 else 32 if rows <= 32 else 64
        dual = up is not None
        # Large boxes, few programs: with so little to do it is the waiting that has to overlap. But
        # three of them (num_stages) must fit into the shared memory.
        bn, bk = (32, 128 if bm == 64 else 256) if dual else (16, 512 if bm == 16 else 256)
        self.launch(
            (dual, bm),
            few_rows_kernel,
            (triton.cdiv(hidden, bn),),
            *(x, w, up if dual else w, out, rows, hidden, dim, bm, bn, bk, dual),
            num_warps=4,
            num_stages=3,
        )

    def box(self, tensor, shape):
        """A descriptor for boxes of some shape, laid out as the tensor cores want them."""
        kind = {torch.bfloat16: gl.bfloat16, torch.float16: gl.float16}[self.dtype]
        layout = gl.NVMMASharedLayout.get_default_for(shape, kind)
        return Boxes(tensor, list(tensor.shape), list(tensor.stride()), shape, layout)

    def many_rows(self, x, gate, up, out):
        """out = gelu(x @ gate.T) * (x @ up.T)."""
        tensors = (x, gate, up, out)
        with self.lock:
            if self.boxes is None:
                shapes = ([self.BM, self.BK], [self.BN, self.BK], [self.BN, self.BK], [self.BM, self.BN])
                self.boxes = [self.box(*each) for each in zip(tensors, shapes, strict=True)]
            for box, tensor in zip(self.boxes, tensors, strict=True):
                box.base, box.shape[0], box.strides[0] = tensor, tensor.shape[0], tensor.stride(0)
            rows, hidden = out.shape
            tiles = -(-rows // self.BM) * -(-hidden // self.BN)
            self.launch(
                "many",
                many_rows_kernel,
                (min(self.PROCESSORS, tiles),),
                *(*self.boxes, rows, hidden, self.dim, self.DEPTH, self.GROUP, self.EARLY),
                num_warps=4,
                maxnreg=168,
            )
            for box in self.boxes:
                box.base = None  # or it would keep the tensor's memory from being used again


LAUNCHES = {}  # (device, dtype, dim, hidden): Launches


def launches_for(x, gate):
    """The Launches for these tensors."""
    key = (x.device, x.dtype, gate.shape[1], gate.shape[0])
    if key not in LAUNCHES:
        LAUNCHES[key] = Launches(x.dtype, gate.shape[1], gate.shape[0])
    return LAUNCHES[key]


# %%
# When it can, and when it cannot
# -------------------------------
# Two kinds of "no". What is *wrong* is an error, with what to do about it. What is right but not for
# our kernels goes to plain PyTorch, and the reason is told, once.

FEW, ALIGNED = 64, 16
KNOWN = (torch.Tensor, nn.Parameter)


def check(x, gate, up, down):
    """Raise an error if these tensors do not fit together."""
    if x.dim() == 0 or x.shape[-1] != gate.shape[1]:
        raise ValueError(f"x is {tuple(x.shape)}: its last dimension must be {gate.shape[1]}")
    if up.shape != gate.shape or down.shape != gate.shape[::-1]:
        shapes = ", ".join(str(tuple(w.shape)) for w in (gate, up, down))
        raise ValueError(f"weights of {shapes} do not make a GeGLU MLP")
    for weight in (gate, up, down):
        # Under autocast whoever multiplies converts.
        if x.dtype != weight.dtype and not torch.is_autocast_enabled(x.device.type):
            raise TypeError(f"x is {x.dtype}, the weights are {weight.dtype}: convert one of them")
        if x.device != weight.device:
            raise ValueError(f"x is on {x.device}, the weights are on {weight.device}: move one of them")


def why_not(x, gate, up, down):
    """Why our kernels cannot be used for these tensors, or None if they can."""
    if not x.is_cuda:
        return f"there is no kernel for {x.device.type}"
    tensors = (x, gate, up, down)
    if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
        return "gradients are wanted (torch.no_grad() says that they are not)"
    if torch.is_autocast_enabled(x.device.type):
        return "autocast is on, which decides itself on data types"
    if any(type(t) not in KNOWN for t in tensors):
        return "a tensor is of a class of its own, which may hold its numbers otherwise"
    if x.dtype not in (torch.bfloat16, torch.float16):
        return f"there is no kernel for {x.dtype}"
    if torch.cuda.get_device_capability(x.device) != (9, 0):
        return "the GPU is not of the Hopper generation"
    (hidden, dim), size = gate.shape, x.element_size()
    if dim * size % ALIGNED or hidden * size % ALIGNED:
        return f"rows of {dim} or of {hidden} numbers are no multiple of {ALIGNED} bytes"
    if any(t.data_ptr() % ALIGNED for t in tensors):
        return f"a tensor does not begin at a multiple of {ALIGNED} bytes"
    if not (gate.is_contiguous() and up.is_contiguous() and down.is_contiguous()):
        return "the weights are not contiguous"
    return None


SAID = set()


def say_once(reason):
    """Warn that plain PyTorch is used, once for each reason."""
    if reason not in SAID:
        SAID.add(reason)
        warnings.warn(f"FusedGeGLUMLP uses plain PyTorch: {reason}", stacklevel=3)


def plain(x, gate, up, down):
    """The MLP in plain PyTorch."""
    return F.linear(F.gelu(F.linear(x, gate), approximate="tanh") * F.linear(x, up), down)


def fused(x, gate, up, down):  # (..., dim), twice (hidden, dim), (dim, hidden) -> (..., dim)
    """The MLP in two kernels where that is possible, else in plain PyTorch."""
    check(x, gate, up, down)
    reason = why_not(x, gate, up, down)
    if reason is not None:
        say_once(reason)
        return plain(x, gate, up, down)
    shape = x.shape
    if x.dim() != 2 or not x.is_contiguous():
        x = x.reshape(-1, shape[-1]).contiguous()  # copies only what cannot be viewed
    if x.device.index != torch.cuda.current_device():
        with torch.cuda.device(x.device):
            return fused(x, gate, up, down).view(shape)
    rows = x.shape[0]
    if rows == 0:
        return torch.empty_like(x).view(shape)
    launches = launches_for(x, gate)
    h = x.new_empty((rows, gate.shape[0]))  # (rows, hidden)
    if rows > FEW:
        launches.many_rows(x, gate, up, h)
        out = F.linear(h, down)  # (rows, dim)
    else:
        out = torch.empty_like(x)
        launches.few_rows(x, gate, up, h)
        launches.few_rows(h, down, None, out)
    return out if len(shape) == 2 else out.view(shape)


# %%
# An operator for the compiler
# ----------------------------
# ``torch.compile`` cannot look into a Gluon kernel. As an *operator* of our own it need not: it is
# told what goes in, what comes out, and by the *fake* implementation which shape that has. Then it
# compiles what is around, and calls us.


@torch.library.custom_op("geglu::fused_mlp", mutates_args=())
def fused_mlp(
    x: torch.Tensor, gate: torch.Tensor, up: torch.Tensor, down: torch.Tensor
) -> torch.Tensor:
    """The operator: fused(), for the compiler to call."""
    return fused(x, gate, up, down)


@fused_mlp.register_fake
def _(x, gate, up, down):
    check(x, gate, up, down)
    return x.new_empty(x.shape)


# %%
# The module
# ----------
# It has the layers of the MLP it was made from: the same parameters, not copies, under the same
# names. So a state dict fits, and ``.to(...)`` works. As nothing is copied, nothing can become stale
# when the weights change.
#
# It must not silently compute something else than the MLP did. A layer may do more than multiply:
# have a hook, or a ``forward`` of its own. Then it is called as it is. And an MLP with the same three
# layers may have another activation between them. No look at the layers would tell; so it is tried, on
# a few rows.


def only_multiplies(layer):
    """Whether a layer does no more than x @ weight.T."""
    hooks = layer._forward_hooks or layer._forward_pre_hooks
    hooks = hooks or layer._backward_hooks or layer._backward_pre_hooks
    own = type(layer).forward is not nn.Linear.forward or "forward" in layer.__dict__
    return not (hooks or own or layer._parameters.get("bias") is not None)


class FusedGeGLUMLP(nn.Module):
    """down(gelu(gate(x)) * up(x)) in two kernels, for inference on a Hopper GPU."""

    def __init__(self, gate_proj, up_proj, down_proj):
        super().__init__()
        layers = {"gate_proj": gate_proj, "up_proj": up_proj, "down_proj": down_proj}
        for name, layer in layers.items():
            if not isinstance(layer, nn.Linear):
                raise TypeError(f"{name} is {type(layer).__name__}: it must be nn.Linear")
            if layer.bias is not None:
                raise ValueError(f"{name} has a bias: the kernel has none")
        gate, up, down = (tuple(layer.weight.shape) for layer in layers.values())
        if gate != up or down != gate[::-1]:
            raise ValueError(f"weights of {gate}, {up} and {down} do not make a GeGLU MLP")
        kinds = {(layer.weight.dtype, layer.weight.device) for layer in layers.values()}
        if len(kinds) > 1:
            raise ValueError("the layers differ in data type or device: convert or move them")
        self.gate_proj, self.up_proj, self.down_proj = layers.values()

    @classmethod
    def from_mlp(cls, mlp):
        """The same MLP, fused: of any module with gate_proj, up_proj and down_proj."""
        missing = [n for n in ("gate_proj", "up_proj", "down_proj") if not hasattr(mlp, n)]
        if missing:
            raise TypeError(f"{type(mlp).__name__} has no {', '.join(missing)}")
        ours = cls(mlp.gate_proj, mlp.up_proj, mlp.down_proj)
        weight = mlp.gate_proj.weight
        if not weight.is_meta:
            few = torch.randn(4, weight.shape[1], generator=torch.Generator().manual_seed(0))
            few = few.to(weight.device, weight.dtype)
            with torch.no_grad():
                expected, got = mlp(few).float(), ours.layer_by_layer(few).float()
            allowed = max(8 * torch.finfo(weight.dtype).eps, 1e-4) * expected.norm()
            if expected.shape != got.shape or (expected - got).norm() > allowed:
                raise ValueError(
                    f"{type(mlp).__name__} does not compute down(gelu(gate(x)) * up(x)), "
                    "with GELU's tanh form: keep it as it is"
                )
        return ours.train(mlp.training)

    def layer_by_layer(self, x):
        """The MLP by calls of its layers."""
        gate, up = self.gate_proj(x), self.up_proj(x)
        return self.down_proj(F.gelu(gate, approximate="tanh") * up)

    def forward(self, x):  # (..., dim) -> (..., dim)
        layers = (self.gate_proj, self.up_proj, self.down_proj)
        if not all(only_multiplies(layer) for layer in layers):
            return self.layer_by_layer(x)
        weights = tuple(layer.weight for layer in layers)
        if not torch.compiler.is_compiling():
            return fused(x, *weights)  # not through the operator: that would cost a detour
        wanted = torch.is_grad_enabled() and (x.requires_grad or any(w.requires_grad for w in weights))
        if wanted or torch.is_autocast_enabled(x.device.type):
            return plain(x, *weights)
        return fused_mlp(x, *weights)


class GeGLUMLP(nn.Module):
    """The MLP of the lessons before."""

    def __init__(self, dim, hidden):
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden, bias=False)
        self.up_proj = nn.Linear(dim, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, dim, bias=False)

    def forward(self, x):  # (..., dim)
        gate = self.gate_proj(x)  # (..., hidden)
        up = self.up_proj(x)  # (..., hidden)
        return self.down_proj(F.gelu(gate, approximate="tanh") * up)  # (..., dim)


# %%
# Right first
# -----------
# New random weights and inputs for each number of rows, memory full of NaN beforehand, a reference in
# float64, and as the limit the error that the plain module makes. Then everywhere a module is used:
# as it is, compiled, in a CUDA graph, with leading dimensions, and where it must fall back.


def error_of(result, reference):
    """The error of the whole result, relative to the whole reference."""
    return ((result.double() - reference).norm() / reference.norm()).item()


def make(dim, hidden):
    """A plain MLP with random weights."""
    return GeGLUMLP(dim, hidden).to(device, dtype).eval().requires_grad_(False)


def poison(numbers):
    """Leave memory full of NaN for whoever allocates next."""
    torch.full((numbers,), float("nan"), device=device, dtype=dtype)


def agree(what, result, reference, allowed):
    """Print how far result is from reference, and stop if that is too far."""
    error = error_of(result, reference)
    # Written so that NaN fails as well.
    assert error <= allowed, f"{what}: NOT so: relative error {error:.2e}, allowed {allowed:.2e}"
    print(f"{what}: agrees with float64, relative error {error:.2e} (allowed {allowed:.2e})")


torch.manual_seed(0)
many = [1, 5, 16, 17, 64, 65, 200, 1000] if device == "cuda" else [1, 5, 33]
for some in many if lesson else [rows]:
    mlp = make(dim, hidden)
    x = torch.randn(some, dim, device=device).to(dtype)  # (some, dim)
    with torch.no_grad():
        reference = copy.deepcopy(mlp).double()(x.double())
        eager = mlp(x)
        poison(some * (hidden + dim))
        result = FusedGeGLUMLP.from_mlp(mlp)(x)
    limit = max(error_of(eager, reference), torch.finfo(dtype).eps / 4)
    agree(f"fused, {some} rows", result, reference, limit)

if lesson:
    mlp = make(dim, hidden)
    ours = FusedGeGLUMLP.from_mlp(mlp)
    x = torch.randn(4, 40, dim, device=device).to(dtype)  # (batch, sequence, dim)
    with torch.no_grad():
        reference = copy.deepcopy(mlp).double()(x.double())
        limit = error_of(mlp(x), reference)
        agree("with a batch and a sequence", ours(x), reference, limit)
        strided = x.transpose(0, 1).contiguous().transpose(0, 1)  # the same numbers, other strides
        agree("with other strides", ours(strided), reference, limit)
        agree("compiled", torch.compile(ours)(x), reference, limit)
        if device == "cuda":
            graph, out = torch.cuda.CUDAGraph(), None
            with torch.cuda.graph(graph):
                out = ours(x)
            out.fill_(float("nan"))
            graph.replay()
            agree("in a CUDA graph", out, reference, limit)
        assert ours(x[:0]).shape == (0, 40, dim), "nothing in, nothing out"
    wanted = x.clone().requires_grad_()
    ours(wanted).float().sum().backward()  # falls back, and says so
    assert wanted.grad is not None
    wrong = (
        lambda: ours(x[..., 1:]),
        lambda: ours(x.to(torch.float64)),
        lambda: FusedGeGLUMLP.from_mlp(nn.Linear(2, 2)),
    )
    for attempt in wrong:
        try:
            attempt()
        except (TypeError, ValueError) as error:
            print(f"{type(error).__name__}: {error}")

# %%
# Two clocks, two states
# ----------------------
# The host's clock and the GPU's, as in the lesson on regimes. And something that has not mattered
# before. A GPU which multiplies for some milliseconds draws more power than it may, and lowers its
# clock. Whoever comes next in a round pays for that. So before each replay there is a pause, in which
# the GPU recovers: each variant begins in the same state. What happens without pauses is measured as
# well, each variant on its own for a while: *sustained*.


def wait():
    """Wait until the GPU has done all it was given."""
    if device == "cuda":
        torch.cuda.synchronize()


def capture(calls):
    """A CUDA graph of some calls (each a function that returns what it has computed)."""
    for call in calls[:2]:
        call()  # compiles what is to be compiled
    wait()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = [call() for call in calls]
    graph.replay()
    wait()
    return graph, kept


def gpu_us(graph, kept, pause=0.004):
    """Microseconds of one call by the GPU's clock."""
    wait()
    time.sleep(pause)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return 1e3 * begin.elapsed_time(end) / len(kept)


def sustained_us(graph, kept, seconds=0.15):
    """The same after the GPU has worked for some time without a pause."""
    wait()
    time.sleep(0.4)  # whatever was before is forgotten
    times, stop = [], time.perf_counter() + seconds
    while time.perf_counter() < stop:
        times.append(gpu_us(graph, kept, pause=0))
    return quantiles(times[len(times) // 3 :])[0]


def host_us(calls):
    """Microseconds of one call by the host's clock."""
    wait()
    begin = time.perf_counter()
    for call in calls:
        call()
    wait()
    return 1e6 * (time.perf_counter() - begin) / len(calls)


def quantiles(times):
    """Median, 20 % and 80 % quantile."""
    return torch.tensor(times).quantile(torch.tensor([0.5, 0.2, 0.8])).tolist()


def measure(variants, rounds=20, host=40, sustained=True):
    """For each list of calls: the GPU's quantiles, the host's, and the sustained median.

    rounds and host say how often; the host's clock needs more, since the CPU has other work as well.
    """
    graphs = {name: capture(calls) for name, calls in variants.items()}
    gpu, cpu = ({name: [] for name in variants} for _ in range(2))
    for _ in range(rounds):
        for name, graph in graphs.items():
            gpu[name].append(gpu_us(*graph))
    for _ in range(host):
        for name, calls in variants.items():
            cpu[name].append(host_us(calls))
    return {
        name: (
            quantiles(gpu[name]),
            quantiles(cpu[name]) if host else None,
            sustained_us(*graphs[name]) if sustained else None,
        )
        for name in variants
    }


def write(name, head, lines):
    """Write OUT/name.csv; numbers with three digits behind the point, what is None left empty."""
    with (args.out / f"{name}.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(head)
        for line in lines:
            table.writerow(
                [f"{v:.3f}" if isinstance(v, float) else "" if v is None else v for v in line]
            )
    print(f"Table: {args.out / f'{name}.csv'}\n")


# %%
# The peers
# ---------
# The plain module; ``torch.compile`` of it, and with ``max-autotune``, which tries other kernels for
# the products as well; the compiler with gate's and up's weights put together by hand, so that there
# are two products and not three; and Liger's layer.
#
# Among what ``max-autotune`` tries are kernels that need more shared memory than there is. It leaves them
# out, but not without a traceback for each, which we do without.

logging.getLogger("torch._inductor.select_algorithm").setLevel(logging.CRITICAL)
warnings.filterwarnings("ignore", message="TypedStorage is deprecated")


def concatenated(x, both, down):
    """The MLP with gate's and up's weights in one."""
    gate, up = F.linear(x, both).chunk(2, dim=-1)
    return F.linear(F.gelu(gate, approximate="tanh") * up, down)


def liger_mlp():
    """Liger's kernel between the three products, or None if it is not installed."""
    try:
        from liger_kernel.ops import LigerGELUMulFunction
    except ImportError:
        print("liger-kernel is not installed (pip install liger-kernel): not compared with.")
        return None
    return lambda x, gate, up, down: F.linear(
        LigerGELUMulFunction.apply(F.linear(x, gate), F.linear(x, up)), down
    )


def peers(mlp, autotune):
    """Functions of x for each way to compute the MLP, all with the weights of mlp."""
    torch.compiler.reset()
    weights = [mlp.gate_proj.weight, mlp.up_proj.weight, mlp.down_proj.weight]
    both = torch.cat(weights[:2])
    variants = {"eager": mlp, "compiled": torch.compile(mlp, dynamic=False)}
    if autotune:
        mode = "max-autotune-no-cudagraphs"  # the replays below are CUDA graphs already
        variants["max-autotune"] = torch.compile(mlp, mode=mode, dynamic=False)
    wide = torch.compile(concatenated, dynamic=False)
    variants["concatenated"] = lambda x: wide(x, both, weights[2])
    if (liger := liger_mlp()) is not None:
        variants["liger"] = lambda x: liger(x, *weights)
    variants["fused"] = FusedGeGLUMLP.from_mlp(mlp)
    return variants


def errors_of(variants, mlp, x):
    """The relative error of each variant; ours must not be larger than eager's."""
    reference = copy.deepcopy(mlp).double()(x.double())
    errors = {name: error_of(fn(x), reference) for name, fn in variants.items()}
    assert errors["fused"] <= errors["eager"], f"less exact than eager: {errors}"
    return errors


def show(name, gpu, host, more=""):
    """One line on one variant."""
    text = f"{name:16} GPU{gpu[0]:9.1f} us ({gpu[1]:.1f} to {gpu[2]:.1f})"
    print(text + (f"   host{host[0]:9.1f} us ({host[1]:.1f} to {host[2]:.1f})" if host else "") + more)


CLOCKS = ["gpu_us", "gpu_low_us", "gpu_high_us", "host_us", "host_low_us", "host_high_us"]

if lesson and device == "cuda":
    torch.manual_seed(1)
    with torch.no_grad():
        mlp = make(dim, hidden)
        inputs = [torch.randn(rows, dim, device=device).to(dtype) for _ in range(6)]
        variants = peers(mlp, autotune=True)
        errors = errors_of(variants, mlp, inputs[0])
        calls = {n: [lambda f=f, x=x: f(x) for x in inputs] * 4 for n, f in variants.items()}
        times = measure(calls)
        # For a look into them at the end: a profiler would disturb what is still to be timed. The calls
        # are kept as well, since a graph does not keep what it reads.
        looked_at = {n: calls[n][:1] for n in ("compiled", "max-autotune", "concatenated")}
        looked_at = {n: (call, capture(call)) for n, call in looked_at.items()}
    lines = []
    for name, (gpu, host, sustained) in times.items():
        show(name, gpu, host, f"   sustained{sustained:8.1f} us")
        lines.append([name, rows, *gpu, *host, sustained, f"{errors[name]:.4e}"])
    head = ["variant", "rows", *CLOCKS, "sustained_us", "relative_error"]
    write("fused_mlp", head, lines)
elif lesson:
    print("Times need a GPU: there is nothing fast to time without one.")

# %%
# From one row to many, and larger models
# ---------------------------------------
# The same module at other sizes: eight numbers of rows, and the widths of two models of Google's, at
# 4096 rows. Guess first: at which end does the fused kernel win more, and by which clock? And a wider
# model has more work for each byte: does fusing save more there, or less? The two columns of ratios in
# the second table answer, one for each clock: above one is a gain. The chapter goes through them.
#
# The same weights are used in every call, as in the lesson on regimes; what comes in is new for each.
# The second table has one line for each size: ours, the best of the peers, and its time over ours.

MODELS = {"course": (768, 3072), "gemma-3-4b": (2560, 10240), "gemma-2-9b": (3584, 14336)}

if lesson and device == "cuda":
    cells = [("course", some) for some in (1, 16, 128, 1024, 2048, 4096, 8192, 16384)]
    cells += [("gemma-3-4b", 4096), ("gemma-2-9b", 4096)]
    lines, summary = [], []
    for model, some in cells:
        with torch.no_grad():
            mlp = make(*MODELS[model])
            work = 6 * some * MODELS[model][0] * MODELS[model][1]  # operations of one forward pass
            # About 3 ms of work for a replay: the pause before it helps for no longer than that.
            count = max(2, min(48, int(2e12 / work)))
            inputs = [torch.randn(some, MODELS[model][0], device=device).to(dtype) for _ in range(count)]
            variants = peers(mlp, autotune=False)
            errors_of(variants, mlp, inputs[0])
            calls = {n: [lambda f=f, x=x: f(x) for x in inputs] for n, f in variants.items()}
            times = measure(calls, rounds=15, host=60, sustained=False)
        print(f"{model}, {some} rows")
        for name, (gpu, host, _) in times.items():
            show(name, gpu, host)
        lines += [[model, some, name, *gpu, *host] for name, (gpu, host, _) in times.items()]
        line = [model, some]
        for clock in (0, 1):
            medians = {name: each[clock][0] for name, each in times.items()}
            mine = medians.pop("fused")
            best = min(medians, key=medians.get)
            line += [mine, best, medians[best], medians[best] / mine]
        summary.append(line)
        del mlp, inputs, variants, calls
        torch.cuda.empty_cache()
    write("fused_mlp_sizes", ["model", "rows", "variant", *CLOCKS], lines)
    head = ["gpu_us", "gpu_best_peer", "gpu_time_of_peer_us", "gpu_ratio"]
    head += ["host_us", "host_best_peer", "host_time_of_peer_us", "host_ratio"]
    write("fused_mlp_cells", ["model", "rows", *head], summary)

# %%
# The ledger
# ----------
# For each kernel of each way: how many operations it must do, and how many bytes it must read and
# write if everything is read once and written once. Divided by the fastest that this GPU has been
# seen to do either, that is a floor, a time no kernel gets below by much. The two ceilings are
# measured here as well: a copy of a gibibyte, and one large product.


def event_us(fn, repeat):
    """Median time of fn(), by the GPU's clock: four in a row, after a pause each time."""
    times = []
    for _ in range(repeat):
        wait()
        time.sleep(0.01)
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(4):
            fn()
        end.record()
        end.synchronize()
        times.append(1e3 * begin.elapsed_time(end) / 4)
    return quantiles(times[2:])[0]


if lesson and device == "cuda":
    with torch.no_grad():
        block = torch.randn(2**29, device=device).to(dtype)  # 1 GiB
        target = torch.empty_like(block)
        copy_us = event_us(lambda: target.copy_(block), 15)
        bandwidth = 2 * block.nbytes / copy_us  # bytes per microsecond
        a, b = (torch.randn(8192, 8192, device=device).to(dtype) for _ in range(2))
        product_us = event_us(lambda: a @ b, 15)
        rate = 2 * 8192**3 / product_us  # operations per microsecond
        del block, target, a, b
    print(f"copy: {bandwidth / 1e3:.0f} GB/s; 8192 x 8192 x 8192: {rate / 1e6:.0f} TFLOP/s")
    write(
        "ceilings",
        ["what", "median_us", "bytes", "flop"],
        [["copy", copy_us, 2 * 2**30, 0], ["product", product_us, 0, 2 * 8192**3]],
    )

    size, product = dtype.itemsize, 2 * rows * dim * hidden
    x_bytes, h_bytes, w_bytes = (size * n for n in (rows * dim, rows * hidden, dim * hidden))
    ledger = [  # way, kernel, operations, bytes
        ("eager", "gate", product, x_bytes + w_bytes + h_bytes),
        ("eager", "up", product, x_bytes + w_bytes + h_bytes),
        ("eager", "gelu", 8 * rows * hidden, 2 * h_bytes),
        ("eager", "multiplication", rows * hidden, 3 * h_bytes),
        ("eager", "down", product, h_bytes + w_bytes + x_bytes),
        ("compiled", "gelu and multiplication", 9 * rows * hidden, 3 * h_bytes),
        ("fused", "gate, up, gelu", 2 * product + 9 * rows * hidden, x_bytes + 2 * w_bytes + h_bytes),
        ("fused", "down", product, h_bytes + w_bytes + x_bytes),
    ]
    with torch.no_grad():
        mlp = make(dim, hidden)
        w = [mlp.gate_proj.weight, mlp.up_proj.weight, mlp.down_proj.weight]
        xs = [torch.randn(rows, dim, device=device).to(dtype) for _ in range(4)]
        gs, us = ([torch.randn(rows, hidden, device=device).to(dtype) for _ in xs] for _ in range(2))
        torch.compiler.reset()
        pointwise = torch.compile(lambda g, u: F.gelu(g, approximate="tanh") * u, dynamic=False)

        def fused_stage(x):
            """The first of the two kernels alone."""
            h = x.new_empty((rows, hidden))
            launches_for(x, w[0]).many_rows(x, w[0], w[1], h)
            return h

        stages = {
            "gate": [lambda x=x: F.linear(x, w[0]) for x in xs],
            "up": [lambda x=x: F.linear(x, w[1]) for x in xs],
            "gelu": [lambda g=g: F.gelu(g, approximate="tanh") for g in gs],
            "multiplication": [lambda g=g, u=u: g * u for g, u in zip(gs, us, strict=True)],
            "gelu and multiplication": [
                lambda g=g, u=u: pointwise(g, u) for g, u in zip(gs, us, strict=True)
            ],
            "down": [lambda g=g: F.linear(g, w[2]) for g in gs],
        }
        if hopper and dtype != torch.float32:
            stages["gate, up, gelu"] = [lambda x=x: fused_stage(x) for x in xs]
        call = stages["gelu and multiplication"][:1]
        looked_at["ledger"] = call, capture(call)
        times = measure({n: c * 6 for n, c in stages.items()}, rounds=20, host=0, sustained=False)
    lines = []
    for way, kernel, flops, moved in ledger:
        if kernel in times:
            floor = max(flops / rate if flops > rows * dim * hidden else 0.0, moved / bandwidth)
            median = times[kernel][0][0]
            print(f"{way:9}{kernel:24} floor{floor:7.1f} us, took{median:7.1f} us")
            lines.append([way, kernel, flops, moved, floor, median])
    write("geglu_ledger", ["way", "kernel", "flop", "bytes", "floor_us", "median_us"], lines)

# %%
# The same as a *roofline*. To the right, operations per byte; upwards, operations per second. The
# sloping roof is the memory's, the level one the tensor cores'. A kernel under the slope can only
# become faster by moving fewer bytes: by going to the right.

if lesson and device == "cuda":
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(4.4, 5.2), layout="constrained")  # narrow: for a phone as well
    axes.set_xscale("log")
    axes.set_yscale("log")
    ridge = rate / bandwidth
    roof = [[0.1, ridge, 4000], [0.1 * bandwidth / 1e6, rate / 1e6, rate / 1e6]]
    axes.plot(*roof, color="#222222", zorder=0)
    axes.annotate("the memory", (6, 9 * bandwidth / 1e6), fontsize=13, ha="right")
    axes.annotate("the tensor cores", (4000, 1.5 * rate / 1e6), fontsize=13, ha="right")
    looks = {"eager": ("#0072b2", "o"), "compiled": ("#d55e00", "s"), "fused": ("#00795c", "^")}
    places = {  # which name, where it stands as a share of the picture
        ("eager", "gate"): ("gate, up,\ndown", 0.66, 0.62),
        ("eager", "gelu"): ("gelu", 0.46, 0.43),
        ("eager", "multiplication"): ("multiplication", 0.24, 0.11),
        ("compiled", "gelu and multiplication"): ("gelu and\nmultiplication", 0.42, 0.26),
        ("fused", "gate, up, gelu"): ("gate, up,\ngelu", 0.76, 0.73),
    }
    for way, (color, marker) in looks.items():
        mine = [line for line in lines if line[0] == way]
        at = {k: (flops / moved, flops / median / 1e6) for _, k, flops, moved, _, median in mine}
        axes.plot(*zip(*at.values(), strict=True), marker, color=color, markersize=9, label=way)
        for kernel, point in at.items():
            if (way, kernel) in places:
                name, *place = places[way, kernel]
                axes.annotate(
                    name,
                    point,
                    xytext=place,
                    textcoords="axes fraction",
                    va="center",
                    fontsize=13,
                    color=color,
                    arrowprops={"arrowstyle": "-", "color": color, "linewidth": 0.8},
                )
    axes.set_ylim(0.2, 5 * rate / 1e6)
    axes.set_xlim(0.06, 6000)
    axes.set_xlabel("operations per byte", fontsize=13)
    axes.set_ylabel("TFLOP/s", fontsize=13)
    axes.set_title(f"{rows} rows, {dim} to {hidden}, {args.dtype}", fontsize=13)
    axes.legend(loc="upper left", fontsize=13, frameon=False, handletextpad=0.2)
    axes.grid(color="#dddddd", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=12)
    figure.savefig(args.out / "geglu_roofline.png", dpi=150)

# %%
# Against QuACK
# -------------
# QuACK is a library of kernels for this generation of GPUs, by people who know it well; its
# ``gemm_gated`` is the same fusion. It is written in CuTe, NVIDIA's language for such things, which is
# large, and changes what other libraries do when it is there; so the comparison is a run of its own, in
# a process of its own, with ``--quack``. It needs ``pip install quack-kernels``; where it is not
# installed, this is said, and there is no table.
#
# Its GELU uses the GPU's approximate tanh, ours does not: the errors stand in the table as well.

site = os.environ.get("QUACK_SITE")  # a folder it is installed in, if not where Python looks
script = Path(write.__code__.co_filename)  # where this code lies; that of a notebook lies nowhere
if lesson and hopper and script.is_file():
    found = site is not None or importlib.util.find_spec("quack") is not None
    if found:
        command = [sys.executable, str(script), "--quack", "--out", str(args.out)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=400)
        print(*(line for line in ran.stdout.splitlines() if " us " in line or "Table" in line), sep="\n")
        if ran.returncode:
            print("The comparison failed:", *ran.stderr.splitlines()[-3:], sep="\n")
    else:
        print("QuACK is not installed (pip install quack-kernels): not compared with.")

if args.quack:
    if site is not None:
        paths = [site, str(Path(site, "nvidia_cutlass_dsl", "dsl_packages"))]
        sys.path[:0] = paths
        os.environ["PYTHONPATH"] = os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])
    try:
        gemm_gated = importlib.import_module("quack.gemm_interface").gemm_gated
        versions = [importlib.import_module(name).__version__ for name in ("quack", "cutlass")]
    except ImportError as error:
        raise SystemExit(f"--quack: {error} (pip install quack-kernels)") from error
    torch.manual_seed(1)
    with torch.no_grad():
        mlp = make(dim, hidden)
        w = [mlp.gate_proj.weight, mlp.up_proj.weight, mlp.down_proj.weight]
        # QuACK wants one row of gate, one of up, and so on.
        woven = torch.stack(w[:2], dim=1).reshape(2 * hidden, dim).contiguous()
        inputs = [torch.randn(rows, dim, device=device).to(dtype) for _ in range(6)]

        def quack_stage(x):
            """gelu(x @ gate.T) * (x @ up.T) by QuACK, with the configuration it finds fastest."""
            return gemm_gated(x, woven.T, activation="geglu", store_preact=False, tuned=True)[1]

        def fused_stage(x):
            """The same by our kernel."""
            h = x.new_empty((rows, hidden))
            launches_for(x, w[0]).many_rows(x, w[0], w[1], h)
            return h

        ours = FusedGeGLUMLP.from_mlp(mlp)
        x64 = inputs[0].double()
        gate64, up64, down64 = (weight.double() for weight in w)
        stage64 = F.gelu(F.linear(x64, gate64), approximate="tanh") * F.linear(x64, up64)
        exact = {"stage": stage64, "mlp": F.linear(stage64, down64)}
        fns = {
            ("stage", "fused"): fused_stage,
            ("stage", "quack"): quack_stage,
            ("mlp", "eager"): mlp,
            ("mlp", "fused"): ours,
            ("mlp", "quack"): lambda x: F.linear(quack_stage(x), w[2]),
        }
        errors = {name: error_of(fn(inputs[0]), exact[name[0]]) for name, fn in fns.items()}
        calls = {name: [lambda f=f, x=x: f(x) for x in inputs] * 4 for name, f in fns.items()}
        times = measure(calls, rounds=40, host=0)
    lines = []
    for (part, name), (gpu, _, sustained) in times.items():
        show(f"{part} {name}", gpu, None, f"   sustained{sustained:8.1f} us")
        lines.append([part, name, *gpu, sustained, f"{errors[part, name]:.4e}", *versions])
    head = ["part", "variant", *CLOCKS[:3], "sustained_us", "relative_error"]
    write("fused_mlp_quack", [*head, "quack_version", "cutlass_version"], lines)

# %%
# In a trace
# ----------
# Two kernels. Compare the CPU's lane with that of the eager module: what has become less, and what
# is still there between the two launches? Less: the launches, and with them the gaps. Still there:
# memory for the results is asked for, and ``F.linear`` goes its usual way through PyTorch's layers.


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


def run(name, rows, compiled=False):
    """Record the fused MLP, compiled or not."""
    torch.manual_seed(2)
    ours = FusedGeGLUMLP.from_mlp(make(dim, hidden))
    x = torch.randn(rows, dim, device=device).to(dtype)  # (rows, dim)
    if compiled:
        torch.compiler.reset()
        ours = torch.compile(ours)
    report(name, record("fused_mlp_fwd", ours, x))


if lesson:
    run("fused_mlp_many", rows)

# %%
# Compiled
# --------
# The compiler has nothing to compile here: the operator is opaque to it. What does its way into the
# operator cost? Compare the bar of the step with that of the trace before: the guards are checked, the
# operator goes through PyTorch's dispatcher, and only then does our Python begin.

if lesson:
    run("fused_mlp_compiled", rows, compiled=True)

# %%
# Sixteen rows
# ------------
# Two small kernels, and a CPU that has little to do between them. Compare with the eager module at
# sixteen rows, in the lesson on regimes.

if lesson:
    run("fused_mlp_few", 16)

# %%
# What the compiler chose
# -----------------------
# For its pointwise kernel the compiler times a few ways to launch it, once, while it compiles: with so
# many programs of so many threads. What it takes may differ from one process to the next, and so does
# the time. Which was it in this one? A short profile of each graph that was timed above tells.


def chosen(graph):
    """(programs, threads of one, median us) of the compiler's pointwise kernel in a CUDA graph."""
    with torch.profiler.profile(activities=[ProfilerActivity.CUDA]) as prof:
        for _ in range(9):
            graph.replay()
            torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        prof.export_chrome_trace(str(path))
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    found = [e for e in events if e.get("cat") == "kernel" and e["name"].startswith("triton_poi")]
    if not found:
        return None, None, None
    programs, threads = (found[0]["args"][key][0] for key in ("grid", "block"))
    return programs, threads, torch.tensor([float(e["dur"]) for e in found]).median().item()


if lesson and device == "cuda":
    lines = [[name, *chosen(graph)] for name, (_, (graph, _)) in looked_at.items()]
    for name, programs, threads, us in lines:
        if us is not None:
            print(f"{name:16}{programs} programs of {threads} threads, {us:.1f} us")
    write("fused_mlp_choice", ["variant", "programs", "threads", "kernel_us"], lines)

# %%
# The run you asked for
# ---------------------
# With flags, this is what runs. The trace is named after the flags: ``fused_8192_768_3072_eager``,
# ``fused_16_64_128_cpu_compiled``.

if not lesson and not args.quack:
    parts = ["fused", str(rows), str(dim), str(hidden)]
    parts += [args.dtype] * (args.dtype != "bf16") + ["cpu"] * (device == "cpu")
    run("_".join([*parts, "compiled" if args.compile else "eager"]), rows, args.compile)
