"""Names of Triton kernels: those Inductor generates, and the plain identifiers of hand-written ones."""

from __future__ import annotations

import re

from kinetoscope.kernel_names import sources as of
from kinetoscope.kernel_names.parts import Part, Placed, Rule, scan, unknown

CATEGORIES = {
    "poi": "pointwise: every output element from the inputs' elements at the same place",
    "red": "reduction: a loop over the reduced dimension",
    "per": "persistent reduction: the whole reduced dimension at once, kept in registers",
    "tem": "template: a hand-written pattern (a matrix multiplication, attention) that Inductor filled in",
    "for": "foreach: one kernel over a list of tensors",
    "spl": "split scan: a scan that several thread blocks share",
    "unk": "a category Inductor itself could not tell",
}
"""The first three letters of Inductor's kernel categories."""

_OPS = frozenset(
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
"""Names of ATen operators, to see where one ends and the next begins."""
_TEMPLATES = "mm|bmm|addmm|baddbmm|scaled_mm|int_mm|mm_plus_mm|flex_(?:attention|decoding)|convolution[23]d"

_LIGER = re.compile(
    r"_?(?:(?:geglu_tanh|swiglu|rms_norm|block_rms_norm|layer_norm|group_norm|fused_add_rms_norm)_(?:forward|backward)_kernel"
    r"|triton_rope|liger_cross_entropy_kernel|kldiv_kernel_(?:forward|backward)|jsd_kernel)"
)
_INDUCTOR = re.compile(r"triton_(poi|red|per|tem|for|spl|unk)_fused(?:_(\w*?))?(?:_(\d+))?")


def is_liger(name: str) -> bool:
    """Whether Liger-Kernel has a Triton kernel of this name (another project may have one too)."""
    return _LIGER.fullmatch(name) is not None


def inductor(name: str) -> list[Placed] | None:
    """The parts of ``triton_poi_fused_gelu_mul_0``, or None if the name is none of Inductor's."""
    match = _INDUCTOR.fullmatch(name)
    if match is None:
        return None
    placed = [
        Placed(
            0,
            Part(
                "triton",
                "library",
                "a Triton kernel that Inductor (torch.compile) generated",
                True,
                of.INDUCTOR,
            ),
        ),
        Placed(7, Part(match[1], "category", CATEGORIES[match[1]], True, of.INDUCTOR)),
        Placed(11, Part("fused", "op", "several operators in one kernel (or just one)", True, of.INDUCTOR)),
    ]
    if match[2]:
        placed += _operators(name, *match.span(2))
    if match[3]:
        text = "number that tells kernels of one compiled graph apart; another compilation may give another"
        placed.append(Placed(match.start(3), Part(match[3], "number", text, True, of.INDUCTOR)))
    return placed


def _operators(name: str, start: int, end: int) -> list[Placed]:
    """The operators in ``name[start:end]``, the longest name first; they stand in alphabetical order."""
    placed: list[Placed] = []
    at = start
    while at < end:
        edges = [i for i in range(at + 1, end) if name[i] == "_"] + [end]
        stop = next((edge for edge in reversed(edges) if name[at:edge] in _OPS), None)
        if stop is None:
            stop = edges[0]
            placed.append(Placed(at, unknown(name[at:stop])))
        else:
            text = f"aten.{name[at:stop]}, from before decomposition; listed in alphabetical order, each once"
            placed.append(Placed(at, Part(name[at:stop], "op", text, True, of.INDUCTOR_OPS)))
        at = stop + 1
    return placed


TEMPLATE = re.compile(rf"triton_({_TEMPLATES})(?:_(\d+))?")


def template(name: str) -> list[Placed] | None:
    """The parts of ``triton_mm_12``: a template while max-autotune tries its configurations."""
    if TEMPLATE.fullmatch(name) is None:
        return None
    rules = (
        Rule(
            "triton",
            "library",
            "a Triton kernel that Inductor (torch.compile) generated",
            of.INDUCTOR_TEMPLATE,
        ),
        Rule(_TEMPLATES, "op", "the template", of.INDUCTOR_TEMPLATE),
        Rule(r"\d+", "number", "number of the configuration tried", of.INDUCTOR_TEMPLATE),
    )
    return scan(name, rules)
