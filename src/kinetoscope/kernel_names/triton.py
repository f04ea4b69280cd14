"""What tells a hand-written Triton kernel: its name is that of a Python function, and says nothing else.

A name with a leading underscore is one: C and C++ reserve such names for the compiler
(:data:`~kinetoscope.kernel_names.sources.RESERVED`), Python's authors write them for what is private.
"""

from __future__ import annotations

PUBLIC = frozenset(
    # Triton's tutorials
    "add_kernel softmax_kernel matmul_kernel matmul_kernel_persistent matmul_kernel_tma_persistent "
    "matmul_kernel_descriptor_persistent grouped_matmul_kernel grouped_matmul_tma_kernel "
    # vLLM and SGLang
    "fused_moe_kernel fused_moe_kernel_gptq_awq batched_triton_kernel kernel_unified_attention_2d "
    "kernel_unified_attention_3d kernel_paged_attention_2d reduce_segments merge_attn_states_kernel "
    "reshape_and_cache_kernel_flash write_req_to_token_pool_triton create_flashinfer_kv_indices_triton "
    # Flash Linear Attention
    "chunk_fwd_kernel_h chunk_fwd_kernel_o chunk_gated_delta_rule_fwd_kernel_h_blockdim64 "
    "fused_recurrent_gated_delta_rule_fwd_kernel recompute_w_u_fwd_kernel l2norm_fwd_kernel "
    "l2norm_fwd_kernel2 "
    "chunk_local_cumsum_scalar_kernel chunk_scaled_dot_kkt_fwd_kernel "
    # FlashAttention
    "rotary_kernel".split()
)
"""Names of public Triton kernels that do not begin with an underscore"""


def specialization(name: str) -> int:
    """Where the suffix begins that Triton before 3.0 put behind a kernel's name, or the length of ``name``.

    It numbers the arguments, each with letters for what is known about it.

    >>> name = "matmul_kernel_0d1d2d34c5de"
    >>> name[specialization(name) :]
    '_0d1d2d34c5de'
    >>> specialization("conv_0")
    6
    """
    at = name.rfind("_")
    end, number = at + 1, 0
    while at >= 0 and name.startswith(str(number), end):
        end += len(str(number))
        number += 1
        while end < len(name) and name[end] in "dce":
            end += 1
    return at if number > 1 and end == len(name) else len(name)
