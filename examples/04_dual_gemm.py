# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "torch>=2.11",
#     "triton>=3.6; sys_platform == 'linux'",
#     "matplotlib",
#     "numpy",
# ]
# ///
"""
Two products and a GELU in one kernel
=====================================

``gelu(x @ gate.T) * (x @ up.T)`` is two matrix products and a pointwise part. A compiler fuses the
pointwise part and leaves the products to a library; so both results, each as large as the hidden
layer, are written to memory and read again. Here all of it is one kernel, in six steps from plain
to fast. Each step has one idea and is measured.

Run it with no flags for the whole lesson, or with flags for one run::

    uv run 04_dual_gemm.py
    uv run 04_dual_gemm.py --step plain
    uv run 04_dual_gemm.py --step pingpong --rows 4096

You learn

- to put a pointwise part where the products' results still are in registers;
- what makes a matrix product fast: tiles, one wide product, an order, TMA, specialised warps;
- to let one group of warps multiply while another computes the GELU, so that it costs nothing;
- to ask ``ncu``, the hardware's counters, whether the tensor cores were busy.

Which part needs what: the first four steps are Triton, and run without a GPU in its interpreter,
for their results. The last two are Gluon, Triton's lower level, and need a GPU of the Hopper
generation (H100, H200).
"""

# %%
# The flags
# ---------
# Without flags the whole lesson; with any flag, the one run it describes.

import argparse
import csv
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import torch
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, record_function, schedule

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
STEPS = ["plain", "wide", "persistent", "tma", "specialised", "pingpong"]


def positive(text):
    """A whole number above zero, or argparse's error."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


parser = argparse.ArgumentParser(description="gelu(x @ gate.T) * (x @ up.T) in one kernel.")
parser.add_argument("--step", choices=STEPS, default="tma", help="which of the kernels")
parser.add_argument("--rows", type=positive, default=8192, help="rows of x: batch times sequence")
parser.add_argument("--dim", type=positive, default=768, help="numbers in a row of x")
parser.add_argument("--hidden", type=positive, default=3072, help="numbers in a row of the result")
parser.add_argument("--dtype", choices=DTYPES, help="default: bf16; without a GPU: fp32")
parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
parser.add_argument("--steps", type=positive, default=5, help="1 waits, 1 warms up, the rest count")
parser.add_argument("--counters", action="store_true", help="run every kernel once, for ncu to see")
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
dtype_name = args.dtype or ("bf16" if device == "cuda" else "fp32")
dtype = DTYPES[dtype_name]
rows, dim, hidden = args.rows, args.dim, args.hidden

hopper = device == "cuda" and torch.cuda.get_device_capability() == (9, 0)
if device == "cpu" and dtype_name == "bf16":
    parser.error("--dtype bf16: Triton's interpreter multiplies it wrongly; use fp32 or fp16")
if args.step in ("specialised", "pingpong") and not hopper:
    parser.error(f"--step {args.step}: needs a GPU of the Hopper generation (H100, H200)")
if args.step in ("specialised", "pingpong") and dtype_name == "fp32":
    parser.error(f"--step {args.step}: is for bf16 and fp16")
if dim * dtype.itemsize % 16 or hidden * dtype.itemsize % 16:
    parser.error("--dim, --hidden: rows must be multiples of 16 bytes, for TMA's sake")
if args.counters and device == "cpu":
    parser.error("--counters: needs a GPU")
if device == "cpu" and lesson:
    rows, dim, hidden = 48, 64, 96
    print("Without a GPU: (48, 64), hidden 96 instead of (8192, 768), hidden 3072.")


def memory():
    """Bytes that can be had: free on the GPU, installed on the CPU."""
    if device == "cuda":
        return torch.cuda.mem_get_info()[0]
    if hasattr(os, "sysconf"):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return sys.maxsize


sizes = f"--rows {rows} --dim {dim} --hidden {hidden}"
numbers = rows * dim + 4 * dim * hidden + 4 * rows * hidden
needed = numbers * (dtype.itemsize + 8)  # once as asked for, and once in float64 to check against
if needed > memory():
    parser.error(
        f"{sizes}: needs about {needed // 2**30} GiB, {device} has {memory() // 2**30} GiB; "
        "use smaller sizes"
    )

# %%
# Where there is no GPU, Triton interprets its kernels; it has to be told before it is imported. Tiles
# are small there, so that small sizes still have several.

if device == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"
    import numpy

    numpy.seterr(over="ignore")  # exp2 may become inf, as it may on a GPU

try:
    import triton
    import triton.language as tl
    from triton.tools.tensor_descriptor import TensorDescriptor
except ImportError:
    raise SystemExit("Triton is not installed: pip install triton") from None

if device == "cuda":
    PROCESSORS = torch.cuda.get_device_properties(0).multi_processor_count
    TILE = {"BM": 128, "BN": 128, "BK": 64}
else:
    PROCESSORS = 4
    TILE = {"BM": 32, "BN": 32, "BK": 32}

# %%
# Step 1: both products in one loop
# ---------------------------------
# One program computes one *tile* of the result, BM rows by BN columns. For that it needs BM rows of
# x, BN rows of gate and BN rows of up (``nn.Linear`` keeps its weight as (out, in), so a column of
# the result belongs to a row of the weight). It walks along ``dim`` in steps of BK, and adds up two
# products at once, each in an *accumulator* of its own: BM × BN numbers in float32, in registers.
#
# The GELU and the product with ``up`` happen when both sums are complete, where they are, in
# registers. This is the whole idea; the rest of the lesson is about speed. What was x, once read,
# now serves two products; and the two results, which used to be written and read again, are never
# written at all.


@triton.jit
def gelu_times(gate, up):
    """gelu(gate) * up in float32: gate * sigmoid(2 z) * up, where z is what tanh is taken of."""
    z = gate * (0.7978845608028654 + 0.035677408136300125 * gate * gate)
    return gate / (1.0 + tl.exp2(-2.8853900817779268 * z)) * up  # exp(-2 z) = 2 ** (-2.885... z)


@triton.jit
def plain_kernel(
    x_ptr,  # (rows, dim), read
    gate_ptr,  # (hidden, dim), read
    up_ptr,  # (hidden, dim), read
    out_ptr,  # (rows, hidden), written
    rows,
    hidden,
    dim,
    BM: tl.constexpr,  # rows of a tile of the result
    BN: tl.constexpr,  # its columns
    BK: tl.constexpr,  # how far along dim one step of the loop goes
):
    """One tile of out = gelu(x @ gate.T) * (x @ up.T)."""
    m = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)  # our rows of x and of out
    n = tl.program_id(1).to(tl.int64) * BN + tl.arange(0, BN)  # our rows of gate and of up
    gate_sum = tl.zeros((BM, BN), tl.float32)
    up_sum = tl.zeros((BM, BN), tl.float32)
    for start in range(0, dim, BK):
        k = start + tl.arange(0, BK)
        rows_of_x = (m[:, None] < rows) & (k[None, :] < dim)
        rows_of_w = (n[:, None] < hidden) & (k[None, :] < dim)
        x = tl.load(x_ptr + m[:, None] * dim + k[None, :], mask=rows_of_x, other=0.0)  # (BM, BK)
        gate = tl.load(gate_ptr + n[:, None] * dim + k[None, :], mask=rows_of_w, other=0.0)
        up = tl.load(up_ptr + n[:, None] * dim + k[None, :], mask=rows_of_w, other=0.0)  # (BN, BK)
        gate_sum = tl.dot(x, gate.T, gate_sum)
        up_sum = tl.dot(x, up.T, up_sum)
    result = gelu_times(gate_sum, up_sum).to(out_ptr.dtype.element_ty)
    inside = (m[:, None] < rows) & (n[None, :] < hidden)
    tl.store(out_ptr + m[:, None] * hidden + n[None, :], result, mask=inside)


def plain(x, gate, up, out):
    """Step 1: one program a tile, two accumulators."""
    grid = (triton.cdiv(x.shape[0], TILE["BM"]), triton.cdiv(gate.shape[0], TILE["BN"]))
    size = (x.shape[0], gate.shape[0], x.shape[1])
    plain_kernel[grid](x, gate, up, out, *size, **TILE, num_warps=8, num_stages=3)


# %%
# Step 2: one wide product
# ------------------------
# The tensor cores of this generation multiply tiles of up to 256 columns in one instruction, with one
# operand after the other fed from the shared memory. Two products of 128 columns feed x twice; one
# product of 256 columns feeds it once. So we *weave* the two weights into one before we start: BN
# rows of gate, BN rows of up, BN rows of gate, and so on. The left half of a tile's sum is gate's
# then, the right half up's, and both halves of a row are in the same thread's registers: taking them
# apart moves nothing.


def weave(gate, up, block):  # twice (hidden, dim) -> (2 * hidden, rounded up to blocks, dim)
    """Rows of gate and of up by turns, block rows of each."""
    missing = -gate.shape[0] % block
    gate, up = (F.pad(weight, (0, 0, 0, missing)) for weight in (gate, up))
    both = torch.stack([weight.view(-1, block, gate.shape[1]) for weight in (gate, up)], dim=1)
    return both.view(-1, gate.shape[1]).contiguous()


@triton.jit
def wide_tile(x_ptr, woven_ptr, out_ptr, tile_m, tile_n, rows, hidden, dim, BM, BN, BK):
    """The tile (tile_m, tile_n) of the result, from woven weights, by way of pointers."""
    m = tile_m.to(tl.int64) * BM + tl.arange(0, BM)
    w = tile_n.to(tl.int64) * 2 * BN + tl.arange(0, 2 * BN)  # BN rows of gate, BN rows of up
    both = tl.zeros((BM, 2 * BN), tl.float32)
    for start in range(0, dim, BK):
        k = start + tl.arange(0, BK)
        inside = (m[:, None] < rows) & (k[None, :] < dim)
        x = tl.load(x_ptr + m[:, None] * dim + k[None, :], mask=inside, other=0.0)
        # There are enough rows: weave has rounded them up.
        weights = tl.load(woven_ptr + w[:, None] * dim + k[None, :], mask=k[None, :] < dim, other=0.0)
        both = tl.dot(x, weights.T, both)
    # (BM, 2 * BN) -> (BM, 2, BN) -> (BM, BN, 2): split takes the last dimension apart
    gate, up = both.reshape(BM, 2, BN).permute(0, 2, 1).split()
    n = tile_n.to(tl.int64) * BN + tl.arange(0, BN)
    inside = (m[:, None] < rows) & (n[None, :] < hidden)
    result = gelu_times(gate, up).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + m[:, None] * hidden + n[None, :], result, mask=inside)


@triton.jit
def wide_kernel(
    x_ptr,  # (rows, dim), read
    woven_ptr,  # (2 * hidden, dim), read: BN rows of gate, BN of up, and so on
    out_ptr,  # (rows, hidden), written
    rows,
    hidden,
    dim,
    BM: tl.constexpr,  # rows of a tile of the result
    BN: tl.constexpr,  # its columns; the product is twice as wide
    BK: tl.constexpr,  # how far along dim one step of the loop goes
):
    """One tile of out, from one product of 2 * BN columns."""
    tile_m, tile_n = tl.program_id(0), tl.program_id(1)
    wide_tile(x_ptr, woven_ptr, out_ptr, tile_m, tile_n, rows, hidden, dim, BM, BN, BK)


def wide(x, woven, hidden, out):
    """Step 2: one program a tile, one accumulator twice as wide."""
    grid = (triton.cdiv(x.shape[0], TILE["BM"]), triton.cdiv(hidden, TILE["BN"]))
    size = (x.shape[0], hidden, x.shape[1])
    wide_kernel[grid](x, woven, out, *size, **TILE, num_warps=8, num_stages=3)


# %%
# Step 3: as many programs as processors, and an order
# ----------------------------------------------------
# A program that is done makes room for another one, which starts from nothing: no data in its
# shared memory, no addresses computed. A *persistent* kernel starts one program per processor and
# lets each of them work through many tiles.
#
# That also lets us choose the order. Tiles worked on at the same time should share what they read,
# so that it is found in the cache: we go through GROUP rows of tiles column by column, and not
# through whole columns. By itself the step gains nothing here, as the table below shows: at this size
# memory is not what the kernel waits for. It prepares the next one.


@triton.jit
def tile_at(number, tiles_m, tiles_n, GROUP: tl.constexpr):
    """Which tile comes as the number-th: GROUP rows of tiles at a time, column by column."""
    group = number // (GROUP * tiles_n)
    first = group * GROUP
    height = tl.minimum(tiles_m - first, GROUP)  # the last group may have fewer rows
    within = number % (GROUP * tiles_n)
    return first + within % height, within // height


@triton.jit
def persistent_kernel(
    x_ptr,  # (rows, dim), read
    woven_ptr,  # (2 * hidden, dim), read
    out_ptr,  # (rows, hidden), written
    rows,
    hidden,
    dim,
    BM: tl.constexpr,  # as before
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP: tl.constexpr,  # how many rows of tiles are worked through together
    PROGRAMS: tl.constexpr,  # how many programs there are
):
    """Every PROGRAMS-th tile of out, beginning with the number of this program."""
    tiles_m, tiles_n = tl.cdiv(rows, BM), tl.cdiv(hidden, BN)
    for number in tl.range(tl.program_id(0), tiles_m * tiles_n, PROGRAMS):
        tile_m, tile_n = tile_at(number, tiles_m, tiles_n, GROUP)
        wide_tile(x_ptr, woven_ptr, out_ptr, tile_m, tile_n, rows, hidden, dim, BM, BN, BK)


def persistent(x, woven, hidden, out, group=8):
    """Step 3: one program a processor, tiles in groups."""
    tiles = triton.cdiv(x.shape[0], TILE["BM"]) * triton.cdiv(hidden, TILE["BN"])
    programs = min(PROCESSORS, tiles)
    size = (x.shape[0], hidden, x.shape[1])
    persistent_kernel[(programs,)](
        x, woven, out, *size, **TILE, GROUP=group, PROGRAMS=programs, num_warps=8, num_stages=3
    )


# %%
# Step 4: let the TMA fetch
# -------------------------
# So far every thread computed addresses, for every number it fetched. Hopper has a part of its own for
# that, the *tensor memory accelerator* (TMA); where comments say "the engine", it is meant. It is given
# a *descriptor*, which says where a tensor is, how large, and how large a box to fetch. A box outside
# the tensor is filled with zeros, and what hangs over is not written; so the masks go as well. In the
# kernel a load is one line.


@triton.jit
def tma_kernel(
    x_box,  # descriptor of x, boxes of (BM, BK)
    woven_box,  # descriptor of the woven weights, boxes of (2 * BN, BK)
    out_box,  # descriptor of the result, boxes of (BM, BN)
    rows,
    hidden,
    dim,
    BM: tl.constexpr,  # as before
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP: tl.constexpr,
    PROGRAMS: tl.constexpr,
):
    """Every PROGRAMS-th tile of out, fetched and written in boxes."""
    tiles_m, tiles_n = tl.cdiv(rows, BM), tl.cdiv(hidden, BN)
    # flatten: one loop of both, so that the next tile's first boxes are fetched during this one
    for number in tl.range(tl.program_id(0), tiles_m * tiles_n, PROGRAMS, flatten=True):
        tile_m, tile_n = tile_at(number, tiles_m, tiles_n, GROUP)
        both = tl.zeros((BM, 2 * BN), tl.float32)
        for k in range(0, dim, BK):
            x = x_box.load([tile_m * BM, k])  # (BM, BK)
            weights = woven_box.load([tile_n * 2 * BN, k])  # (2 * BN, BK)
            both = tl.dot(x, weights.T, both)
        gate, up = both.reshape(BM, 2, BN).permute(0, 2, 1).split()
        out_box.store([tile_m * BM, tile_n * BN], gelu_times(gate, up).to(out_box.dtype))


def tma(x, woven, hidden, out, group=8):
    """Step 4: the same through descriptors."""
    bm, bn, bk = TILE.values()
    boxes = [
        TensorDescriptor.from_tensor(tensor, box)
        for tensor, box in ((x, [bm, bk]), (woven, [2 * bn, bk]), (out, [bm, bn]))
    ]
    programs = min(PROCESSORS, triton.cdiv(x.shape[0], bm) * triton.cdiv(hidden, bn))
    size = (x.shape[0], hidden, x.shape[1])
    tma_kernel[(programs,)](
        *boxes, *size, **TILE, GROUP=group, PROGRAMS=programs, num_warps=8, num_stages=3
    )


# %%
# Step 5: a warp that fetches, warps that multiply
# ------------------------------------------------
# In all these kernels the same warps fetch, multiply, and compute the GELU, one after the other,
# and while they compute the GELU the tensor cores rest. Warps can be *specialised* instead: some do
# only this, others only that. Triton has a switch for it, ``tl.range(..., warp_specialize=True)``; in
# the version these pages were made with it did nothing on Hopper. So from here on we write it out, in
# *Gluon*, which is Triton with the layouts and the memory left to us.
#
# The parts:
#
# - A *ring* of buffers in shared memory, each for one box of x and one of each weight. Gate's rows
#   and up's land side by side in one buffer, so the weights need not be woven any more.
# - Two *barriers* for each buffer: ``full`` (the TMA has delivered) and ``empty`` (nobody needs it any
#   more). Who waits at a barrier goes on when it completes.
# - One warp that fetches: it waits for ``empty``, and tells the TMA what to put where.
# - Two *warpgroups* (four warps each, which is what issues one product) that wait for ``full`` and
#   multiply. In this step they share a tile, each has half of its rows.
#
# **Phases.** A barrier completes again and again, once for each time the ring goes round. It does not
# count. It only knows whether it is in phase 0 or in phase 1, and each completion takes it to the other
# one. Who waits names the phase whose end is waited for. A new barrier is in phase 0, and the phase 1
# before that counts as over. For one buffer it goes like this:
#
# ===== ================================== ====================================
# round the fetching warp waits for          the multiplying warps wait for
# ===== ================================== ====================================
# 0     end of phase 1 of *empty*: is over   end of phase 0 of *full*: first box
# 1     end of phase 0: given back once      end of phase 1: second box
# 2     end of phase 1: given back twice     end of phase 0: third box
# ===== ================================== ====================================
#
# ``fetched // DEPTH`` is the round, and ``& 1`` its parity: that is the phase for *full*. For *empty* it
# is the phase of the round before, the other one: hence ``^ 1``.
#
# **When a buffer is given back.** A product is issued and not waited for; only the one before it is
# (``num_outstanding=1``). Then the buffer of the one before is free. At the first step of a tile there is
# nothing to give back, since the last tile's last buffer went after its loop: hence ``pred=step > 0``, an
# arrival on condition.
#
# **The layout.** ``NVMMADistributedLayout([3, 0], [4, 1], [16, 2 * BN, 16])`` says which thread has which
# number of the sum, as Hopper's instruction (version 3.0) leaves it: four warps one below the other, of
# each 16 rows, as wide as the product, and 16 numbers along ``dim`` in one instruction.
#
# **The fences.** What threads write to shared memory and what the TMA reads there go different ways. A
# fence makes sure that what was written on one is seen on the other: of the barriers before their first
# use, and of each result before it is sent out. ``store_wait`` is the way back: before a result is
# put into its buffer, the one before must have left it.
#
# **Registers.** The work is done by 4 + 4 + 1 warps. Registers are handed out to four warps at a time, so
# three warps are started that have nothing to do, and ``ncu`` counts 12 warps, 384 threads. A processor
# has 65536 registers: at most 170 for each thread, and as they come in eights, ``maxnreg=168``. Then they
# are dealt out anew. The sum alone takes 128 in each thread that multiplies; so those get 232, and those
# of the fetching warp 40. Together that is what there was: 232 + 232 + 40 is 3 × 168.

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
    def multiply_half(
        WHICH: gl.constexpr,  # which half of each tile is ours, 0 or 1
        out_box,
        ring,
        out_bufs,
        tiles_m,
        tiles_n,
        steps,
        GROUP: gl.constexpr,
        APPROXIMATE: gl.constexpr,
    ):
        """A warpgroup of step 5: half the rows of every tile of this program."""
        x_bufs, w_bufs, full, empty = ring
        HALF: gl.constexpr = out_box.block_shape[0]
        BN: gl.constexpr = out_box.block_shape[1]
        DEPTH: gl.constexpr = full.shape[0]
        layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 2 * BN, 16])
        used = 0  # how many buffers have been multiplied so far
        for number in range(gl.program_id(0), tiles_m * tiles_n, gl.num_programs(0)):
            tile_m, tile_n = tile_at_gluon(number, tiles_m, tiles_n, GROUP)
            total = gl.zeros((HALF, 2 * BN), gl.float32, layout)
            for step in range(steps):
                buf = used % DEPTH
                gh.mbarrier.wait(full.index(buf), (used // DEPTH) & 1)
                x, weights = x_bufs.index(buf).slice(WHICH * HALF, HALF), w_bufs.index(buf)
                total = gh.warpgroup_mma(x, weights.permute((1, 0)), total, is_async=True)
                total = gh.warpgroup_mma_wait(num_outstanding=1, deps=(total,))
                # The product before this one is complete: its buffer may be filled again.
                gh.mbarrier.arrive(empty.index((used + DEPTH - 1) % DEPTH), count=1, pred=step > 0)
                used += 1
            total = gh.warpgroup_mma_wait(num_outstanding=0, deps=(total,))
            gh.mbarrier.arrive(empty.index((used + DEPTH - 1) % DEPTH), count=1)
            row = (2 * tile_m + WHICH) * HALF
            finish(total, out_box, out_bufs.index(WHICH), row, tile_n * BN, APPROXIMATE)
        gh.tma.store_wait(pendings=0)

# %%
# Step 6: by turns
# ----------------
# Both warpgroups still come to the GELU at the same time, and then the tensor cores rest. So let
# them have *different* tiles, by turns: while one computes the GELU of its tile, the other
# multiplies. (CUTLASS, NVIDIA's library, calls this ping-pong.) Its tile is as high as before and
# half as wide, so that its accumulator fits into the registers of one warpgroup. That gives back what
# the second step gained: a product is 128 columns wide again, 64 of gate and 64 of up. And it takes two
# instructions, one for each 64 of the 128 rows. To hide the GELU is worth more.
#
# Whose turn it is, another pair of barriers says. Who has a turn ends it by arriving at the other's. The
# very first turn nobody would give: so the kernel arrives once at ``turn[0]`` before it starts.
#
# A turn is over just before its last product is issued (``EARLY = 1``); by the time the other warpgroup
# has noticed, that product has been issued. Both may have products in flight then, which does no harm,
# since each has a sum of its own.
#
# The turns also keep the phases honest. A phase is one bit: it cannot tell this time round the ring from
# the one after next. With 12 slices along ``dim`` and a ring of 6 buffers, the first tile takes rounds 0
# and 1, and the second tile begins in round 2, whose phase is that of round 0. A warpgroup that started
# to wait for its tile's buffers before the other one had had its own could take those for its own. How
# early may a turn end, then? Not before the last of our buffers has come: hence the place of the line,
# after the wait for that buffer.

if hopper:

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
    def gluon_kernel(
        x_box,  # descriptor of x, boxes of (BM, BK)
        gate_box,  # descriptor of gate, boxes of (BN, BK)
        up_box,  # descriptor of up, boxes of (BN, BK)
        out_box,  # descriptor of the result; boxes of (BM / 2, BN) in step 5, (BM, BN) in step 6
        rows,
        hidden,
        dim,
        DEPTH: gl.constexpr,  # how many buffers the ring has
        GROUP: gl.constexpr,  # how many rows of tiles are worked through together
        TURNS: gl.constexpr,  # step 6, and not step 5
        EARLY: gl.constexpr,  # in step 6, 1: a turn is over with its last step, 0: after it
        APPROXIMATE: gl.constexpr,  # tanh by the GPU's one instruction
    ):
        """Steps 5 and 6: allocate, then let every group of warps do its part."""
        BM: gl.constexpr = x_box.block_shape[0]
        BN: gl.constexpr = gate_box.block_shape[0]
        BK: gl.constexpr = gate_box.block_shape[1]
        bits: gl.constexpr = gh.mbarrier.MBarrierLayout()
        x_bufs = gl.allocate_shared_memory(x_box.dtype, [DEPTH, BM, BK], x_box.layout)
        w_bufs = gl.allocate_shared_memory(x_box.dtype, [DEPTH, 2 * BN, BK], gate_box.layout)
        out_bufs = gl.allocate_shared_memory(out_box.dtype, [2] + out_box.block_shape, out_box.layout)
        full = gl.allocate_shared_memory(gl.int64, [DEPTH, 1], bits)
        empty = gl.allocate_shared_memory(gl.int64, [DEPTH, 1], bits)
        turn = gl.allocate_shared_memory(gl.int64, [2, 1], bits)
        for buf in gl.static_range(DEPTH):
            gh.mbarrier.init(full.index(buf), count=1)
            gh.mbarrier.init(empty.index(buf), count=1 if TURNS else 2)  # how many give it back
        for which in gl.static_range(2):
            gh.mbarrier.init(turn.index(which), count=1)
        gh.fence_async_shared()

        tiles_m, tiles_n, steps = gl.cdiv(rows, BM), gl.cdiv(hidden, BN), gl.cdiv(dim, BK)
        ring = (x_bufs, w_bufs, full, empty)
        # The first entry runs in the four warps there are; then four warps and one warp more are
        # started, with at most 232 and 40 registers a thread.
        if TURNS:
            gh.mbarrier.arrive(turn.index(0), count=1)
            gl.warp_specialize(
                [
                    (multiply_by_turns, (0, out_box, ring, out_bufs, turn, tiles_m, tiles_n, steps,
                                         GROUP, EARLY, APPROXIMATE)),
                    (multiply_by_turns, (1, out_box, ring, out_bufs, turn, tiles_m, tiles_n, steps,
                                         GROUP, EARLY, APPROXIMATE)),
                    (fetch, (x_box, gate_box, up_box, ring, tiles_m, tiles_n, steps, GROUP)),
                ],
                [4, 1],
                [232, 40],
            )
        else:
            gl.warp_specialize(
                [
                    (multiply_half, (0, out_box, ring, out_bufs, tiles_m, tiles_n, steps,
                                     GROUP, APPROXIMATE)),
                    (multiply_half, (1, out_box, ring, out_bufs, tiles_m, tiles_n, steps,
                                     GROUP, APPROXIMATE)),
                    (fetch, (x_box, gate_box, up_box, ring, tiles_m, tiles_n, steps, GROUP)),
                ],
                [4, 1],
                [232, 40],
            )

    GLUON = {torch.bfloat16: gl.bfloat16, torch.float16: gl.float16}

    def boxes(tensor, shape):
        """A descriptor for boxes of some shape, laid out as the tensor cores want them."""
        layout = gl.NVMMASharedLayout.get_default_for(shape, GLUON[tensor.dtype])
        return Boxes.from_tensor(tensor, shape, layout)

    def in_gluon(
        x, gate, up, out, turns, bm, bn, bk=64, depth=4, group=8, early=1, approximate=False
    ):
        """Launch step 5 or 6."""
        tiles = triton.cdiv(x.shape[0], bm) * triton.cdiv(gate.shape[0], bn)
        gluon_kernel[(min(PROCESSORS, tiles),)](
            boxes(x, [bm, bk]),
            boxes(gate, [bn, bk]),
            boxes(up, [bn, bk]),
            boxes(out, [bm if turns else bm // 2, bn]),
            *(x.shape[0], gate.shape[0], x.shape[1]),
            DEPTH=depth,
            GROUP=group,
            TURNS=turns,
            EARLY=early,
            APPROXIMATE=approximate,
            num_warps=4,
            maxnreg=168,  # three groups of four warps: 65536 registers / 384 threads
        )

    def specialised(x, gate, up, out, **choices):
        """Step 5: both warpgroups on one tile of 128 x 128."""
        in_gluon(x, gate, up, out, **{"turns": False, "bm": 128, "bn": 128, "depth": 4} | choices)

    def pingpong(x, gate, up, out, **choices):
        """Step 6: the warpgroups by turns, on tiles of 128 x 64."""
        in_gluon(x, gate, up, out, **{"turns": True, "bm": 128, "bn": 64, "depth": 6} | choices)


# %%
# Right first
# -----------
# Sizes that fit no tile, fresh random numbers, the output full of NaN and with room behind it. The
# reference is float64; what is allowed is the error of eager, which rounds four times where we
# round once. In float32 there is no such difference, but another order of adding up.


def make(rows, dim, hidden):
    """x, gate and up: random, scaled so that the products are about as large as x."""
    x, gate, up = (torch.randn(n, dim, device=device) for n in (rows, hidden, hidden))
    return [x.to(dtype), (gate / dim**0.5).to(dtype), (up / dim**0.5).to(dtype)]


def eager(x, gate, up):
    """What all the kernels replace."""
    return F.gelu(F.linear(x, gate), approximate="tanh") * F.linear(x, up)


def exact(x, gate, up):
    """The same in float64."""
    return eager(x.double(), gate.double(), up.double())


def error_of(result, reference):
    """The error of the whole result, relative to the whole reference."""
    return ((result.double() - reference).norm() / reference.norm()).item()


def prepare(step, inputs, **choices):
    """A function fn(out) that computes a step, with the weights woven where it needs that."""
    x, gate, up = inputs
    if step == "plain":
        return lambda out: plain(x, gate, up, out)
    if step in ("wide", "persistent", "tma"):
        woven, kernel = weave(gate, up, TILE["BN"]), {"wide": wide, "persistent": persistent, "tma": tma}
        return lambda out: kernel[step](x, woven, gate.shape[0], out, **choices)
    kernel = {"specialised": specialised, "pingpong": pingpong}[step] if hopper else None
    return lambda out: kernel(x, gate, up, out, **choices)


def check(step, inputs, **choices):
    """Stop unless a step is as near to float64 as eager is, and writes nothing else."""
    (rows, dim), hidden = inputs[0].shape, inputs[1].shape[0]
    what = f"{step} {(rows, dim, hidden)}"
    memory = torch.full((rows * hidden + 512,), float("nan"), device=device, dtype=dtype)
    out, behind = memory[: rows * hidden].view(rows, hidden), memory[rows * hidden :]
    prepare(step, inputs, **choices)(out)
    reference = exact(*inputs)
    ours, theirs = error_of(out, reference), error_of(eager(*inputs), reference)
    assert behind.isnan().all(), f"{what}: written behind the end of its output"
    # tf32, what the tensor cores make of float32, is no better than float16
    allowed = max(theirs, {"fp32": 1e-3 if device == "cuda" else 1e-6}.get(dtype_name, 0))
    # Written so that NaN fails as well.
    assert ours <= allowed, f"{what}: NOT so: error {ours:.2e}, allowed {allowed:.2e}"
    print(f"{what}: agrees with float64, relative error {ours:.2e} (eager's {theirs:.2e})")
    return ours


available = STEPS if hopper and dtype_name != "fp32" else STEPS[:4]
torch.manual_seed(0)
if lesson:
    shapes = [(200, 136, 328), (1, 64, 64), (1000, 768, 3072)]
    for shape in shapes if device == "cuda" else [(40, 40, 72), (1, 32, 32)]:
        for step in available:
            check(step, make(*shape))
    print("last step" if hopper else "Steps 5 and 6 need a Hopper GPU: not run here.", available[-1])

# %%
# The same result every time
# --------------------------
# Where groups of warps run side by side, a forgotten barrier shows as a result that is right most of
# the time. So the last step runs again and again on the same inputs; every bit must be the same.

if lesson and hopper:
    inputs = make(rows, dim, hidden)
    for step in ("specialised", "pingpong"):
        outs = [torch.full((rows, hidden), float("nan"), device=device, dtype=dtype) for _ in range(2)]
        run = prepare(step, inputs)
        run(outs[0])
        for _ in range(50):
            outs[1].fill_(float("nan"))
            run(outs[1])
            assert torch.equal(*outs), f"{step}: two runs differ: a race"
        print(f"{step}: 50 times the same bits")
    del inputs, outs

# %%
# How fast
# --------
# Guess first. What is saved is known: two results of 8192 × 3072, written once and read once each.
# Which of the steps saves the most beyond that? Write it down; the picture below has the answer, and the
# chapter what we know of the reason.
#
# Every variant is captured into a CUDA graph that works through several sets of inputs, weights
# included, so that nothing is found in the cache which would not be there in a larger model. The
# variants take turns, round by round. *compiled* is ``torch.compile`` of the two products and the
# pointwise part; *concatenated* the same over one product of weights put together by hand.
#
# Something that has not mattered before: a GPU which multiplies for some milliseconds draws more power
# than it may, and lowers its clock. Whoever comes next in a round would pay for that. So there is a
# pause before each replay, in which the GPU recovers, and each variant begins in the same state. What
# becomes of it without pauses is measured as well, each variant on its own for a while: *sustained*.


def concatenated(x, both):
    """Both products as one, gate's weight on top of up's."""
    gate, up = F.linear(x, both).chunk(2, dim=-1)
    return F.gelu(gate, approximate="tanh") * up


def capture(calls):
    """A CUDA graph of some calls (each a function that returns what it has computed)."""
    for call in calls[:2]:
        call()  # compiles what is to be compiled
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = [call() for call in calls]
    graph.replay()
    return graph, kept


def gpu_us(graph, kept, pause=0.004):
    """Microseconds of one call, by the GPU's clock."""
    torch.cuda.synchronize()
    time.sleep(pause)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return 1e3 * begin.elapsed_time(end) / len(kept)


def sustained_us(graph, kept, seconds=0.15):
    """The same after the GPU has worked for some time without a pause."""
    torch.cuda.synchronize()
    time.sleep(0.4)  # whatever was before is forgotten
    times, stop = [], time.perf_counter() + seconds
    while time.perf_counter() < stop:
        times.append(gpu_us(graph, kept, pause=0))
    return torch.tensor(times[len(times) // 3 :]).median().item()


def measure(variants, rounds=40):
    """(median, 20 %, 80 %, sustained) in microseconds for each list of calls."""
    graphs = {name: capture(calls) for name, calls in variants.items()}
    times = {name: [] for name in variants}
    for _ in range(rounds):
        for name, graph in graphs.items():
            times[name].append(gpu_us(*graph))
    marks = torch.tensor([0.5, 0.2, 0.8])
    return {
        name: [*torch.tensor(each).quantile(marks).tolist(), sustained_us(*graphs[name])]
        for name, each in times.items()
    }


def calls_of(step, sets, **choices):
    """One call of a step for each set of inputs, three times over."""

    def call_of(inputs):
        out = torch.empty(inputs[0].shape[0], inputs[1].shape[0], device=device, dtype=dtype)
        run = prepare(step, inputs, **choices)
        return lambda: (run(out), out)

    return [call_of(inputs) for inputs in sets] * 6


def tail_error(result, reference, inputs):
    """The relative error where gate is below -2: small results, easily lost by an approximation."""
    tail = F.linear(inputs[0].double(), inputs[1].double()) < -2
    return error_of(result[tail], reference[tail])


def write_table(name, results):
    """Write OUT/name.csv from (variant, times, error, error in the tail)."""
    with (args.out / f"{name}.csv").open("w", newline="") as file:
        table = csv.writer(file)
        head = ["variant", "median_us", "low_us", "high_us", "sustained_us"]
        table.writerow([*head, "tflops", "relative_error", "tail_error"])
        for variant, clocks, error, tail in results:
            median, low, high, sustained = clocks
            rate = 4 * rows * dim * hidden / median / 1e6
            print(
                f"{variant:22}{median:8.1f} us ({low:.1f} to {high:.1f}), "
                f"sustained {sustained:.1f} us, {rate:.0f} TFLOP/s"
            )
            times = [f"{value:.3f}" for value in clocks]
            table.writerow([variant, *times, f"{rate:.1f}", f"{error:.4e}", f"{tail:.4e}"])
    print(f"Table: {args.out / f'{name}.csv'}\n")


if lesson and device == "cuda":
    torch.manual_seed(1)
    with torch.no_grad():
        sets = [make(rows, dim, hidden) for _ in range(4)]
        reference = exact(*sets[0])
        compiled, wide_compiled = (torch.compile(f, dynamic=False) for f in (eager, concatenated))
        both = [torch.cat(inputs[1:]) for inputs in sets]
        variants = {
            "eager": [lambda i=i: eager(*i) for i in sets] * 6,
            "compiled": [lambda i=i: compiled(*i) for i in sets] * 6,
            "concatenated": [
                lambda i=i, b=b: wide_compiled(i[0], b) for i, b in zip(sets, both, strict=True)
            ]
            * 6,
        }
        results = {name: calls[0]() for name, calls in variants.items()}
        for step in available:
            variants[step] = calls_of(step, sets)
            results[step] = variants[step][0]()[1]
        quality = {
            name: (error_of(result, reference), tail_error(result, reference, sets[0]))
            for name, result in results.items()
        }
        for step in available:
            assert quality[step][0] <= quality["eager"][0], f"{step} is less exact than eager"
        del results
        times = measure(variants)
        # For a look into it at the end: a profiler would disturb what is still to be timed.
        compiled_graph = capture(variants["compiled"][:1])[0]
    write_table("dual_gemm", [(name, times[name], *quality[name]) for name in variants])
elif lesson:
    print("Times need a GPU: the interpreter's would say nothing about the kernels.")

# %%
# The steps as a picture: how long each takes, and the range of the middle 60 %.

if lesson and device == "cuda":
    import matplotlib.pyplot as plt

    names = list(times)
    medians = [times[name][0] for name in names]
    below = [times[name][0] - times[name][1] for name in names]
    above = [times[name][2] - times[name][0] for name in names]
    colors = ["#777777"] * 3 + ["#4477aa"] * len(available)
    figure, axes = plt.subplots(figsize=(6.4, 0.5 * len(names) + 1.2), layout="constrained")
    axes.barh(names, medians, xerr=[below, above], capsize=3, color=colors, ecolor="#222222")
    axes.invert_yaxis()
    axes.set_xlabel("time of one call in µs")
    axes.set_title(f"gelu(x @ gate.T) * (x @ up.T), {rows} x {dim}, hidden {hidden}, {dtype_name}")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(args.out / "dual_gemm.png", dpi=150)

# %%
# What else was tried
# -------------------
# One choice of the last step changed at a time. The GPU's approximate tanh is an instruction instead
# of four; while the GELU is hidden behind the other warpgroup's products, there should be little to
# gain, and the column *tail_error* says what is lost. If a turn lasts to the very end, the tensor cores
# wait for the other warpgroup to notice. A shorter step along ``dim`` needs more
# barriers for the same work, a longer one leaves fewer buffers. And without groups, a column of tiles
# at a time or a row at a time, the cache has more to do.

if lesson and hopper and dtype_name != "fp32":
    tried = {
        "as above": {},
        "tanh.approx": {"approximate": True},
        "turns to the end": {"early": 0},
        "half a step": {"bk": 32, "depth": 12},
        "double step": {"bk": 128, "depth": 3},
        "row by row": {"group": 1},
        "column by column": {"group": 1024},
        "groups of 16": {"group": 16},
    }
    with torch.no_grad():
        variants = {name: calls_of("pingpong", sets, **how) for name, how in tried.items()}
        variants["tma, column by column"] = calls_of("tma", sets, group=1024)
        quality = {}
        for name, calls in variants.items():
            result = calls[0]()[1]
            quality[name] = error_of(result, reference), tail_error(result, reference, sets[0])
        times = measure(variants)
    write_table("dual_gemm_tried", [(name, times[name], *quality[name]) for name in variants])

# %%
# In a trace
# ----------
# Eager, then the last of the steps that runs here: four kernels, and one. What is the CPU doing
# meanwhile? For eager it launches the next kernel while one runs. For ours it makes descriptors, and Triton
# looks at every argument, before there is a launch at all. The next lesson does without both.


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
    inputs = make(rows, dim, hidden)
    out = torch.empty(rows, hidden, device=device, dtype=dtype)
    last = prepare(available[-1], inputs)
    report("dual_gemm_eager", record("dual_gemm", lambda: eager(*inputs)))
    report("dual_gemm_fused", record("dual_gemm", lambda: last(out)))

# %%
# What the compiler chose
# -----------------------
# For its pointwise kernel the compiler times a few ways to launch it, once, while it compiles: with so
# many programs of so many threads. What it takes may differ from one process to the next, and so does
# the time. Which was it in this one? A short profile of the graph that was timed above tells.


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
    programs, threads, us = chosen(compiled_graph)
    if us is not None:
        print(f"compiled: {programs} programs of {threads} threads, {us:.1f} us")
    with (args.out / "dual_gemm_choice.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["variant", "programs", "threads", "kernel_us"])
        table.writerow(["compiled", programs, threads, us])
    print(f"Table: {args.out / 'dual_gemm_choice.csv'}")

# %%
# The clock
# ---------
# A GPU lowers its clock when it would draw more power than it may. How far? ``nvidia-smi``, which
# comes with the driver, reads both twenty times a second, while a variant runs for two seconds without
# a pause.
# Where there is no ``nvidia-smi``, this is said, and there is no table.


def clock_of(call, program, seconds=2.0):
    """(MHz, W): medians of what is read in the second half of some seconds of call()."""
    gpu = f"GPU-{torch.cuda.get_device_properties(0).uuid}"
    command = [program, "-i", gpu, "--query-gpu=clocks.sm,power.draw", "--format=csv,noheader,nounits"]
    graph, _ = capture([call] * 24)
    with subprocess.Popen([*command, "-lms", "50"], stdout=subprocess.PIPE, text=True) as reader:
        stop = time.perf_counter() + seconds
        while time.perf_counter() < stop:
            graph.replay()
            torch.cuda.synchronize()
        reader.terminate()
        said = reader.communicate()[0].splitlines()
    read = [line.split(",") for line in said[len(said) // 2 : -1]]
    try:
        return torch.tensor([[float(value) for value in pair] for pair in read]).median(0)[0].tolist()
    except (ValueError, IndexError):
        return None


if lesson and device == "cuda":
    program = shutil.which("nvidia-smi")
    names = ["eager", "compiled", *(n for n in ("tma", "pingpong") if n in available)]
    with torch.no_grad():
        calls = {"eager": partial(eager, *sets[0]), "compiled": partial(compiled, *sets[0])}
        for name in names[2:]:
            calls[name] = calls_of(name, sets[:1])[0]
        clocks = {name: clock_of(calls[name], program) for name in names} if program else {}
    if clocks and None not in clocks.values():
        with (args.out / "dual_gemm_clock.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["variant", "clock_mhz", "power_w"])
            for name, (clock, power) in clocks.items():
                print(f"{name:22}{clock:6.0f} MHz {power:6.0f} W")
                table.writerow([name, f"{clock:.0f}", f"{power:.1f}"])
        print(f"Table: {args.out / 'dual_gemm_clock.csv'}")
    else:
        print("nvidia-smi was not found, or reads no clock here: no table of clocks.")

# %%
# What the hardware counted
# -------------------------
# ``ncu``, NVIDIA's Nsight Compute, reads the counters of the hardware while a kernel runs, several
# times if it must. It starts the program itself; so this script asks it to start this script again,
# with ``--counters``, which runs every variant once. What we want to know: for how much of the time
# the tensor cores were busy; and how many bytes went to memory and came from it, to hold against what
# we think must.
#
# It needs the program ``ncu`` and the right to read counters. Where either is missing, this is said,
# and there is no table. The clocks are left alone, so its times are not those of above.

COUNTERS = {
    "gpu_us": "gpu__time_duration.sum",
    "tensor_percent": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_write_bytes": "dram__bytes_write.sum",
    "l2_bytes": "lts__t_bytes.sum",
}
UNITS = {"ns": 1e-3, "us": 1, "ms": 1e3, "byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "%": 1}


def counted_variants():
    """(name, kernels, call) of everything that is counted, in order."""
    inputs = make(rows, dim, hidden)
    x, gate, up = inputs
    g, u = F.linear(x, gate), F.linear(x, up)
    out = torch.empty(rows, hidden, device=device, dtype=dtype)
    yield "product with gate", lambda: F.linear(x, gate)
    yield "gelu", lambda: F.gelu(g, approximate="tanh")
    yield "multiplication", lambda: torch.mul(g, u)
    for step in available:
        yield step, partial(prepare(step, inputs), out)


def read_counters(text):
    """[{counter: value}] for each kernel, from what ncu --csv printed."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    kernels = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines))):
        value = float(row["Metric Value"].replace(",", "")) * UNITS[row["Metric Unit"]]
        kernels.setdefault(row["ID"], {})[row["Metric Name"]] = value
    return list(kernels.values())


if args.counters:
    for _, call in (variants := list(counted_variants())):
        call()  # compiles what is to be compiled, and is not counted
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    for _, call in variants:
        call()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()

# Where this code lies; that of a notebook lies nowhere.
script = Path(counted_variants.__code__.co_filename)
if lesson and device == "cuda" and script.is_file():
    program = shutil.which("ncu") or "/usr/local/cuda/bin/ncu"
    ran = None
    if Path(program).exists():
        command = [program, "--csv", "--clock-control", "none", "--profile-from-start", "off"]
        command += ["--metrics", ",".join(COUNTERS.values())]
        command += [sys.executable, str(script), "--counters", "--out", str(args.out)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if ran is None:
        print("ncu was not found: no counters. It is a part of the CUDA toolkit.")
    elif ran.returncode or len(read_counters(ran.stdout)) != len(list(counted_variants())):
        said = [line for line in (ran.stdout + ran.stderr).splitlines() if "==ERROR==" in line]
        print("ncu could not read the counters:", *(said or ["no table"]), sep="\n")
    else:
        with (args.out / "dual_gemm_counters.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["variant", *COUNTERS])
            for (name, _), kernel in zip(
                counted_variants(), read_counters(ran.stdout), strict=True
            ):
                values = [kernel[counter] for counter in COUNTERS.values()]
                table.writerow([name, *(f"{value:.10g}" for value in values)])
                print(f"{name:20}", *(f"{k} {v:.4g}" for k, v in zip(COUNTERS, values, strict=True)))
        print(f"Table: {args.out / 'dual_gemm_counters.csv'}")

# %%
# The run you asked for
# ---------------------
# With flags, this is what runs. The trace is named after the flags: ``dual_pingpong_8192_768_3072``,
# ``dual_plain_32_64_64_cpu``.

if not lesson and not args.counters:
    inputs = make(rows, dim, hidden)
    check(args.step, inputs)
    out = torch.empty(rows, hidden, device=device, dtype=dtype)
    call = prepare(args.step, inputs)
    parts = ["dual", args.step, str(rows), str(dim), str(hidden)]
    parts += [dtype_name] * (args.dtype is not None) + ["cpu"] * (device == "cpu")
    report("_".join(parts), record("dual_gemm", lambda: call(out)))
