"""Rules for the names that other libraries write as plain text: cuDNN, attention, NCCL, copies."""

from __future__ import annotations

from kinetoscope.kernel_names import sources as of
from kinetoscope.kernel_names.matmul import ARCHITECTURE
from kinetoscope.kernel_names.parts import NOT_DOCUMENTED, Rule
from kinetoscope.kernel_names.words import any_of, capability, dtype

CUDNN = (
    Rule(
        "cudnn",
        "library",
        "NVIDIA's library for convolutions and more; its kernels' names are not documented",
    ),
    Rule("infer|train|cnn|ops|adv", "library", "which of cuDNN's libraries the kernel is in"),
    Rule("generated", "library", "generated when the plan was built"),
    ARCHITECTURE,
    Rule(r"sm(\d\d+)", "arch", lambda m: capability(m[1])),
    Rule("scudnn", "op", "a convolution in float32 (the letter s is BLAS's)"),
    Rule(r"h\d*cudnn", "op", "a convolution in float16 (the letter h is BLAS's)"),
    Rule("winograd", "op", "by Winograd's method: fewer multiplications for small filters"),
    Rule("3dconv", "op", "three-dimensional convolution"),
    Rule("fprop", "op", "forward"),
    Rule("dgrad", "op", "gradient of the input"),
    Rule("wgrad", "op", "gradient of the weight"),
    Rule("bprop", "op", "backward"),
    Rule("sdpa", "op", "scaled dot-product attention"),
    Rule("flash", "op", "attention tile by tile, without writing the matrix of scores"),
    Rule("relu", "epilogue", "can apply ReLU before the result is stored"),
    Rule("split[kK]", "split-k", "a sum is shared by several thread blocks, whose parts are added later"),
    Rule("nhwc|nchw", "layout", "order of the dimensions in memory: channels last (nhwc) or first (nchw)"),
    Rule("(f16|bf16|f32|fp8|e4m3|e5m2)", "dtype", lambda m: dtype(m[1])),
    Rule("wgmma", "instruction", "Hopper's Tensor Core instruction of a whole warp group", of.PTX_MMA),
    Rule(r"v\d+", "version", "version of the kernel"),
    Rule(r"\d+x\d+(?:x\d+)?", "tile", "a tile size; along what is not documented", known=False),
)

_FMHA_TYPES = {
    "E4m3": "float8 (e4m3)",
    "E2m1": "float4",
    "Bfloat16": "bfloat16",
    "Fp16": "float16",
    "Fp32": "float32",
}
_FMHA_OPERANDS = {
    "Qkv": "queries, keys and values",
    "Q": "queries",
    "Kv": "keys and values",
    "Acc": "sums",
    "O": "output",
}

# The tokens of these names follow each other without separators.
FMHA = tuple(
    rule._replace(whole=False)
    for rule in (
        Rule("fmha", "op", "fused multi-head attention", of.TRTLLM_FMHA),
        Rule(r"Sm(\d+)[af]?(?=Kernel)", "arch", lambda m: capability(m[1]), of.TRTLLM_FMHA),
        Rule("Kernel", "op", "kernel"),
        Rule(
            f"({any_of(_FMHA_OPERANDS)})({any_of(_FMHA_TYPES)})",
            "dtype",
            lambda m: f"{_FMHA_OPERANDS[m[1]]} in {_FMHA_TYPES[m[2]]}",
            of.TRTLLM_FMHA,
        ),
        Rule(r"H(\d+)", "head", "size of a head: {0}", of.TRTLLM_FMHA),
        Rule(r"HQk(\d+)", "head", "size of a head of queries and keys: {0}", of.TRTLLM_FMHA),
        Rule(r"HV(\d+)", "head", "size of a head of values: {0}", of.TRTLLM_FMHA),
        Rule(
            "(?:Layout)?(PagedKv|SeparateQkv|PackedQkv|ContiguousKv)",
            "layout",
            "how queries, keys and values lie in memory (PagedKv: keys and values in pages)",
            of.TRTLLM_FMHA,
        ),
        Rule(
            "(?:Mask)?(SlidingOrChunkedCausal|Causal|Dense|Custom)",
            "mask",
            "which positions a query sees (Dense: all; Causal: none after it; Sliding: only the last ones)",
            of.TRTLLM_FMHA,
        ),
        Rule(r"P(\d+)", "layout", "pages of {0} tokens", of.TRTLLM_FMHA),
        Rule("VarSeq(?:Len)?", "layout", "sequences of different lengths in one batch", of.TRTLLM_FMHA),
        Rule(r"(?:TileSize)?Q(\d+)", "tile", "{0} queries at a time", of.TRTLLM_FMHA),
        Rule(r"(?:TileSize)?Kv(\d+)", "tile", "{0} keys and values at a time", of.TRTLLM_FMHA),
        Rule("Persistent", "schedule", "one thread block stays and takes one piece of work after another"),
        Rule("Static", "schedule", "each thread block has a fixed piece of work"),
        Rule("Context", "op", "for the prompt (many queries at once)", of.TRTLLM_FMHA),
        Rule("ForGen(?:eration)?", "op", "for generating (few queries at once)", of.TRTLLM_FMHA),
        Rule("(?:[A-Z][a-z]+|[A-Z]+|[a-z]+|[0-9]+)", "unknown", "not in this decoder", known=False),
    )
)

HELION = (
    Rule("helion", "library", "a Triton kernel that Helion generated", of.HELION),
    Rule(r"\w+", "op", "the name of the Python function that Helion compiled", of.HELION),
)

CUTE_DSL = (
    Rule("kernel_cutlass", "library", "a kernel written in CuTe DSL", of.CUTE_DSL),
    Rule(r"object_at_", "unknown", NOT_DOCUMENTED, known=False, whole=False),
    Rule(
        r"tensor\w*|TiledMMA\w*|CopyAtom\w*|Swizzle\w*",
        "memory",
        "types and layouts of the arguments, run together and cut off",
        of.CUTE_DSL,
    ),
    Rule(r"\d+$", "number", "number of the kernel in its module", of.CUTE_DSL),
    Rule(
        r"[A-Za-z]\w*?(?=_object_at_|_tensor|_TiledMMA|_CopyAtom|_\d+$|$)",
        "op",
        "the function's name, its module and its class, run together",
    ),
)

_PARAMETERS = Rule(r"(?<=\()[^()]+", "parameters", "types of the kernel's C++ parameters", whole=False)

MEMORY_EFFICIENT = (
    Rule("fmha", "op", "fused multi-head attention", of.MEM_EFF),
    Rule("cutlassF", "op", "forward, built from CUTLASS templates", of.MEM_EFF),
    Rule("cutlassB", "op", "backward, built from CUTLASS templates", of.MEM_EFF),
    Rule("(f16|bf16|f32)", "dtype", lambda m: dtype(m[1]), of.MEM_EFF),
    Rule("(?:not)?aligned", "alignment", "whether addresses are aligned for vector loads", of.MEM_EFF),
    Rule(r"(\d+)x(\d+)", "tile", "{0} queries and {1} keys at a time", of.MEM_EFF),
    Rule("rf", "epilogue", "the output stays in registers until it is done", of.MEM_EFF),
    Rule("gmem", "epilogue", "the output is kept in global memory between steps", of.MEM_EFF),
    Rule(r"sm(\d\d+)", "arch", lambda m: capability(m[1]), of.MEM_EFF),
    _PARAMETERS,
)

_COPYING = ("AllGather", "SendRecv", "Broadcast")
"""Collectives that combine no values, even where their names carry a sum and a type"""
_ALGORITHMS = {
    "RING": "around a ring of GPUs",
    "TREE": "up and down a tree of GPUs",
    "NVLS": "with the NVLink switch doing the sums (SHARP)",
    "NVLS_TREE": "NVLink switches inside the machines, a tree between them",
    "COLLNET_DIRECT": "with the network doing the sums, each GPU by itself",
    "COLLNET_CHAIN": "with the network doing the sums, GPUs chained",
    "PAT": "parallel aggregated trees",
}
_PROTOCOLS = {
    "SIMPLE": "large pieces, a flag for each: full bandwidth",
    "LL128": "low latency, 120 of 128 bytes are data",
    "LL": "low latency, half of the bytes are flags",
}

NCCL = (
    Rule(
        "nccl(?:Dev)?Kernel",
        "library",
        "NVIDIA's collective communication library (AMD's RCCL has the same names)",
        of.NCCL,
    ),
    Rule(
        "AllReduce|AllGather|ReduceScatter|Broadcast|Reduce|SendRecv|AlltoAll\\w*?|AllToAll\\w*?",
        "op",
        lambda m: f"the collective {m[0]}" + ("; it only copies" if m[0] in _COPYING else ""),
        of.NCCL,
        once=True,
    ),
    Rule(any_of(_ALGORITHMS), "algorithm", lambda m: _ALGORITHMS[m[0]], of.NCCL_ENV),
    Rule(any_of(_PROTOCOLS), "protocol", lambda m: _PROTOCOLS[m[0]], of.NCCL_ENV),
    Rule(
        "Sum|Prod|MinMax|Min|Max|Avg|PreMulSum|SumPostDiv",
        "op",
        "how values of the GPUs are combined",
        of.NCCL,
    ),
    Rule(
        "u?int(?:8|32|64)_t|[uif]\\d+|bf16|half|float|double|f8e\\dm\\d",
        "dtype",
        lambda m: dtype(m[0]),
        of.NCCL,
    ),
    Rule("Generic", "op", "the kernel for every case that has none of its own", of.NCCL),
    _PARAMETERS,
)

_PLACES = {
    "Device": "GPU memory",
    "Pinned": "page-locked host memory, which the GPU reads and writes by itself",
    "Pageable": "ordinary host memory: the driver copies through a page-locked buffer, and the call may wait",
    "Host": "host memory",
    "Array": "a CUDA array",
    "Managed": "managed memory",
    "Unknown": "memory of a kind the profiler doesn't tell",
}
_PLACE = "|".join(_PLACES)
_DIRECTIONS = {
    "HtoD": "host to GPU",
    "DtoH": "GPU to host",
    "DtoD": "inside one GPU",
    "PtoP": "GPU to GPU",
    "HtoH": "host to host",
}

COPIES = (
    Rule(
        "Memcpy",
        "op",
        "a copy, made by a copy engine or (inside a GPU) by the GPU itself: not a kernel",
        of.KINETO_COPIES,
    ),
    Rule("Memset", "op", "memory set to one value: not a kernel", of.KINETO_COPIES),
    Rule("|".join(_DIRECTIONS), "direction", lambda m: _DIRECTIONS[m[0]], of.KINETO_COPIES),
    Rule(
        f"({_PLACE}) -> ({_PLACE})",
        "memory",
        lambda m: f"from {_PLACES[m[1]]}; to {_PLACES[m[2]]}",
        of.CUDA_MEMORY,
    ),
    Rule(_PLACE, "memory", lambda m: _PLACES[m[0]], of.CUDA_MEMORY),
)
