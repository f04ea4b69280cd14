"""A kernel's name taken apart: who made the kernel, what it does, what each token says."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from kinetoscope.kernel_names import cpp, mangled
from kinetoscope.kernel_names import sources as of
from kinetoscope.kernel_names.families import named_family
from kinetoscope.kernel_names.parts import LONGEST, KernelName, Part, Placed, cover, scan, unknown
from kinetoscope.kernel_names.triton import PUBLIC, specialization


@lru_cache(maxsize=4096)
def decode(name: str) -> KernelName:
    """Take the name of a GPU activity apart.  It never raises; it says which parts nobody knows.

    >>> decode("triton_poi_fused_relu_0").what
    'Pointwise operations that torch.compile fused (Inductor).'
    """
    match = _ON_ROCM.search(name)
    if match is not None:
        return _on_rocm(_decode(name[: match.start()]), name)
    return _decode(name)


def _decode(name: str) -> KernelName:
    family = named_family(name)
    if family is not None:
        return family.kernel(name, scan(name, family.rules))
    return _inductor(name) or _liger(name) or mangled.read(name) or cpp.read(name) or _identifier(name)


_ON_ROCM = re.compile(r"(?<=[^ \]])(?:\.kd|(?: \[clone [^\[\]]{1,40}\])+(?:\.kd)?)\Z")
"""What the symbol of a kernel ends with in AMD's code objects: ``k.kd``, ``k [clone .kd]``"""


def _on_rocm(kernel: KernelName, name: str) -> KernelName:
    """``kernel``, whose ``name`` has the suffix of a symbol of AMD's."""
    suffix = name[len(kernel.name) :].strip()
    part = Part(
        suffix, "suffix", "the kernel's descriptor in a code object for AMD GPUs (ROCm)", True, of.CODE_OBJECT
    )
    maker = "RCCL" if kernel.maker == "NCCL" else kernel.maker
    return replace(kernel, name=name, maker=maker, parts=(*kernel.parts, part))


_GEMM_FAMILIES = frozenset(
    "cublaslt-nvjet cutlass-2 cutlass-3 xmma-gemm gemm-by-architecture trtllm-gen-gemm tensile gemv "
    "gemm-magma deep-gemm".split()
)
_SAYS_GEMM = re.compile(r"gemm|gemv|matmul|(?:^|_)b?mm(?:_|$)", re.IGNORECASE)
_CONVOLUTION = re.compile("fprop|dgrad|wgrad|conv", re.IGNORECASE)


def is_gemm(name: str) -> bool:
    """Whether the kernel multiplies matrices (or a matrix and a vector).

    Not counted: convolutions and attention, which multiply matrices inside, and the kernels that finish a
    GEMM (split-K reduction, epilogue).  Of a name anybody could have chosen: whether it says GEMM.
    """
    kernel = decode(name)
    if kernel.family in _GEMM_FAMILIES:
        return not _CONVOLUTION.search(name)
    if kernel.family == "inductor-tem":
        return _SAYS_GEMM.search(name) is not None
    if kernel.family in ("plain", "unknown"):
        return _SAYS_GEMM.search(name.partition("<")[0].partition("(")[0]) is not None
    return False


_COMMUNICATION = re.compile(
    r"hcom_|nvshmem|(?:void )?(?:(?:nccl|msccl)\w*Kernel|deep_ep::|(?:(?:\w+|\(anonymous namespace\))::)*"
    r"(?:multimem_(?:all|one|two)|(?:one|two)_shot_all_reduce|cross_device_reduce_[12]stage|allreduce_fusion))"
)


def is_communication(name: str) -> bool:
    """Whether the kernel communicates with other GPUs, and so also runs while it waits for them.

    NCCL (and AMD's RCCL and MSCCL, which use its names), HCCL, NVSHMEM, DeepEP, PyTorch's symmetric memory,
    and the all-reduce of vLLM and of TensorRT-LLM.
    """
    return _COMMUNICATION.match(name) is not None


_CATEGORIES = {
    "poi": (
        "Pointwise operations",
        "pointwise: every output element from the inputs' elements at the same place",
    ),
    "red": ("A reduction", "reduction: a loop over the reduced dimension"),
    "per": ("A reduction", "persistent reduction: the whole reduced dimension at once, kept in registers"),
    "tem": (
        "A template",
        "template: a hand-written pattern (a matrix multiplication, attention) that Inductor filled in",
    ),
    "for": ("Operations", "foreach: one kernel over a list of tensors"),
    "spl": ("Operations", "split scan: a scan that several thread blocks share"),
    "unk": ("Operations", "a category Inductor itself could not tell"),
}
"""The first three letters of Inductor's kernel categories; what a kernel holds, and what the letters mean"""

_OPERATORS = frozenset(
    """
    _adaptive_avg_pool2d _foreach_add _foreach_mul _fused_rms_norm _grouped_mm _log_softmax
    _log_softmax_backward_data _native_batch_norm_legit_functional _scaled_dot_product_flash_attention
    _scaled_mm _softmax _softmax_backward_data _to_copy _unsafe_index _unsafe_index_put _unsafe_view abs
    adaptive_avg_pool2d add add_ addcdiv addcmul addmm alias amax amin any arange argmax argmin
    avg_pool2d baddbmm bernoulli bitwise_and bitwise_not bitwise_or bitwise_xor bmm cat clamp clamp_max
    clamp_min clone constant_pad_nd convolution convolution_backward copy copy_ cos cumprod cumsum
    detach div dropout elu embedding embedding_dense_backward empty empty_like eq erf exp expand expm1
    eye fill fill_ floor floor_divide fmod full full_like gather ge gelu gelu_backward glu gt hardswish
    hardtanh index index_add index_put index_put_ index_select isinf isnan layer_norm le leaky_relu lerp
    lift_fresh_copy linear linalg_vector_norm log log1p log2 log_softmax logical_and logical_not
    logical_or logsumexp lt masked_fill max max_pool2d_with_indices maximum mean min minimum mish mm
    mse_loss mse_loss_backward mul mul_ native_batch_norm native_batch_norm_backward native_dropout
    native_dropout_backward native_group_norm native_layer_norm native_layer_norm_backward ne neg
    new_zeros nll_loss_backward nll_loss_forward nonzero ones ones_like permute pow prod rand randn
    reciprocal relu relu_ remainder repeat repeat_interleave resize reshape rms_norm roll round rsqrt
    rsub scalar_tensor scatter scatter_add select select_scatter sigmoid sigmoid_backward sign silu
    silu_backward sin slice slice_backward slice_scatter softmax softplus sort split split_with_sizes
    sqrt squeeze stack std sub sum t tan tanh tanh_backward threshold threshold_backward topk transpose
    tril triu trunc unbind unfold unsqueeze upsample_bilinear2d upsample_nearest2d var var_mean view
    where zeros zeros_like
    """.split()
)
"""Names of ATen operators, to see where one ends and the next begins"""
_INDUCTOR = re.compile(rf"triton_({'|'.join(_CATEGORIES)})_fused(?:_(\w*?))?(?:_(\d+))?")


def _inductor(name: str) -> KernelName | None:
    """``triton_poi_fused_gelu_mul_0`` taken apart, or None if the name is not one of Inductor's."""
    end = specialization(name)
    match = _INDUCTOR.fullmatch(name, 0, end)
    if match is None:
        return None
    holds, meaning = _CATEGORIES[match[1]]
    fixed = (
        (0, "triton", "library", "a Triton kernel that Inductor (torch.compile) generated"),
        (match.start(1), match[1], "category", meaning),
        (match.end(1) + 1, "fused", "op", "several operators in one kernel (or just one)"),
    )
    placed = [Placed(at, Part(text, field, says, True, of.INDUCTOR)) for at, text, field, says in fixed]
    if match[2]:
        placed += _operators(name, *match.span(2))
    if match[3]:
        text = "number that tells kernels of one compiled graph apart; another compilation may give another"
        placed.append(Placed(match.start(3), Part(match[3], "number", text, True, of.INDUCTOR)))
    placed += _specialized(name, end)
    what = f"{holds} that torch.compile fused (Inductor)."
    return KernelName(name, f"inductor-{match[1]}", "Inductor", what, cover(name, placed))


def _operators(name: str, start: int, end: int) -> list[Placed]:
    """The operators in ``name[start:end]``, which stand in alphabetical order; of two that fit the longer."""
    placed: list[Placed] = []
    at, end = start, min(end, start + LONGEST)
    while at < end:
        edges = [i for i in range(at + 1, end) if name[i] == "_"] + [end]
        stop = next((edge for edge in reversed(edges) if name[at:edge] in _OPERATORS), None)
        if stop is None:
            stop = edges[0]
            placed.append(Placed(at, unknown(name[at:stop])))
        else:
            text = f"aten.{name[at:stop]}, from before decomposition; listed in alphabetical order, each once"
            placed.append(Placed(at, Part(name[at:stop], "op", text, True, of.INDUCTOR_OPS)))
        at = stop + 1
    return placed


_LIGER = re.compile(
    r"_?(?:(?:geglu_tanh|swiglu|rms_norm|block_rms_norm|layer_norm|group_norm|fused_add_rms_norm)_(?:forward|backward)_kernel"
    r"|triton_rope|liger_cross_entropy_kernel|kldiv_kernel_(?:forward|backward)|jsd_kernel)"
)


def _liger(name: str) -> KernelName | None:
    """A name that a Triton kernel of Liger-Kernel has (another project may have one of that name too)."""
    if not _LIGER.fullmatch(name):
        return None
    text = "the name of the Python function; Liger-Kernel has a Triton kernel of this name"
    part = Part(name, "op", text, True, of.LIGER)
    return KernelName(
        name, "liger", "Triton, hand-written", "A kernel of Liger-Kernel, by its name.", (part,)
    )


def _specialized(name: str, at: int) -> list[Placed]:
    if at == len(name):
        return []
    text = "the arguments by number, as Triton before 3.0 wrote them; d: divisible by 16, c: a constant"
    return [Placed(at + 1, Part(name[at + 1 :], "parameters", text, True, of.TRITON))]


def _identifier(name: str) -> KernelName:
    """What is left: a plain identifier, or a name of which nothing is known."""
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        what = "Nothing in the name is known to this decoder."
        return KernelName(name, "unknown", "unknown", what, cover(name, []))
    end = specialization(name)
    word = name[:end]
    is_triton = end < len(name) or word in PUBLIC or re.match(r"_[a-z]", word) is not None
    part = Part(word, "op", "the name of a function; it says what its author chose", True, of.TRITON)
    maker = "Triton" if is_triton else "unknown"
    what = (
        "A hand-written Triton kernel, under the name of its Python function; whose, the name can't tell."
        if is_triton
        else "A plain identifier: a hand-written Triton kernel (the name of its Python function) and an "
        'extern "C" CUDA one look the same, and the name alone can\'t tell which it is.'
    )
    return KernelName(name, "plain", maker, what, cover(name, [Placed(0, part), *_specialized(name, end)]))
