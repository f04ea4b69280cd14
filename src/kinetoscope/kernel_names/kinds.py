"""C++ kernels by their scope and name: who wrote them, what they do, what their template arguments are."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from kinetoscope.kernel_names import sources as of


class Role(NamedTuple):
    """What the template argument at one position is; ``{0}`` in the meaning is the argument."""

    field: str
    meaning: str


class Kind(NamedTuple):
    """A family of C++ kernels: the scope and name it is recognised by, and its template arguments."""

    pattern: str
    """has to be found in ``scope::name``"""
    family: str
    maker: str
    what: str
    roles: tuple[Role, ...] = ()
    source: str = ""


_IN, _OUT, _ACC = Role("dtype", "input: {0}"), Role("dtype", "output: {0}"), Role("dtype", "sums: {0}")
_THREADS = Role("threads", "threads of a thread block: {0}")
_EACH = Role("threads", "elements a thread works on: {0}")
_WHAT = Role("op", "what is computed")
_SOFTMAX = (
    _IN,
    _OUT,
    _ACC,
    Role("tile", "2 to the power {0} is the longest row it can take"),
    Role("flag", "log-softmax instead of softmax: {0}"),
    Role("flag", "with a mask: {0}"),
    Role("threads", "threads of a warp: {0}"),
)
_FLASH_FLAGS = tuple(
    Role("flag", f"{text}: {{0}}")
    for text in (
        "dropout",
        "causal mask",
        "sliding window",
        "ALiBi position bias",
        "lengths are multiples of the tile",
        "the head size is a multiple of the tile",
    )
)

KINDS = (
    Kind(
        r"cutlass(::\w+)*::(Kernel2?|device_kernel)$",
        "cutlass",
        "CUTLASS",
        "A kernel built from CUTLASS templates.",
    ),
    Kind(
        r"flash::|\bflash_(fwd|bwd)|FlashAttn",
        "flash-attention",
        "FlashAttention",
        "Attention computed tile by tile, so that the matrix of scores is never written to memory.",
        (Role("tile", "sizes and number type of the tiles: head, queries, keys, warps"), *_FLASH_FLAGS),
        of.FLASH_LAUNCH,
    ),
    Kind(
        r"\bfmha|attention_kernel_batched|mha_(fwd|bwd)",
        "memory-efficient-attention",
        "xFormers / CUTLASS",
        "Attention computed tile by tile (the memory-efficient backend of scaled_dot_product_attention).",
    ),
    Kind(
        r"split[kK]reduce",
        "split-k-reduce",
        "cuBLAS",
        "Adds up the parts of a split-K GEMM: a product whose K several thread blocks shared.",
    ),
    Kind(
        r"epilogue::impl::globalKernel",
        "cublaslt-epilogue",
        "cuBLASLt",
        "An epilogue (bias, activation) as a kernel of its own, after a GEMM that could not apply it.",
    ),
    Kind(
        r"\bgemv|^gemmSN_|^gemmk1_|gemv\w*_kernel|internal::gemvx",
        "gemv",
        "cuBLAS",
        "Matrix times vector, or a product so thin that it is computed like one: bound by memory.",
    ),
    Kind(r"magma_\w*gemm", "gemm-magma", "cuBLAS", "Matrix multiplication; the code stems from MAGMA."),
    Kind(
        r"^(dot_kernel|reduce_1Block_kernel|asum_kernel|nrm2_kernel)",
        "blas-1",
        "cuBLAS",
        "A sum over vectors (dot product, norm).",
    ),
    Kind(
        r"^(scal|axpy|copy|swap)_kernel|cublas",
        "cublas",
        "cuBLAS",
        "A kernel of cuBLAS; the name says no more.",
    ),
    Kind(
        r"deep_gemm::",
        "deep-gemm",
        "DeepGEMM",
        "Matrix multiplication of DeepSeek's DeepGEMM, compiled when first used.",
    ),
    Kind(
        r"cask_(cudnn|plugin)",
        "cudnn-helper",
        "cuDNN",
        "Computes offsets for a cuDNN convolution that follows.",
    ),
    Kind(
        r"(^|::)(implicit|explicit|precomputed)_convolve_\w+|(^|::)conv2d_grouped_direct|([dw]grad|fprop)\w*_engine",
        "cudnn-convolution",
        "cuDNN",
        "A convolution, or its gradient by input (dgrad) or weight (wgrad).",
    ),
    Kind(r"winograd", "cudnn-winograd", "cuDNN", "A step of a convolution by Winograd's method."),
    Kind(
        r"cudnn.*::bn_|(^|::)bn_(fw|bw)_",
        "cudnn-batch-norm",
        "cuDNN",
        "Batch normalisation, forward (fw) or backward (bw).",
    ),
    Kind(
        r"nchwToNhwc|nhwcToNchw|nchwAddPadding",
        "cudnn-layout",
        "cuDNN",
        "Rewrites a tensor from channels-first to channels-last order or back.",
    ),
    Kind(r"RNN_|LSTM_elementWise|GRU_elementWise", "cudnn-rnn", "cuDNN", "A step of a recurrent network."),
    Kind(r"cudnn", "cudnn", "cuDNN", "A kernel of cuDNN; the name is the only description."),
    Kind(
        r"fbgemm_gpu|(split|dense)_embedding\w*codegen|linearize_index|bounds_check_indices",
        "fbgemm",
        "FBGEMM",
        "Embedding tables and jagged tensors of recommendation models (FBGEMM_GPU).",
    ),
    Kind(
        r"vectorized_elementwise_kernel$",
        "aten-elementwise",
        "ATen",
        "One operation on every element of contiguous tensors, several elements to each load.",
        (Role("vector", "elements moved by one load: {0}"), _WHAT),
        of.ATEN_LOOPS,
    ),
    Kind(
        r"unrolled_elementwise_kernel$",
        "aten-elementwise",
        "ATen",
        "One operation on every element, where types are converted or addresses don't allow vector loads.",
        (
            _WHAT,
            Role("memory", "pointers: output and inputs"),
            Role("threads", "elements a thread works on: {0}"),
        ),
        of.ATEN_LOOPS,
    ),
    Kind(
        r"index_elementwise_kernel$",
        "aten-index",
        "ATen",
        "Elements fetched or stored by index tensors (x[i], index_put).",
        (_THREADS, _EACH, _WHAT),
        of.ATEN_INDEX,
    ),
    Kind(
        r"scatter_gather_elementwise_kernel|index(Select|Add|Fill|Copy|Func)\w*|indexing_backward|vectorized_gather|gather_kernel|"
        r"take_|masked_(scatter|select)",
        "aten-index",
        "ATen",
        "Rows or elements fetched, stored or added by index (embedding, gather, scatter, gradients).",
    ),
    Kind(
        r"embedding_(backward|bag|renorm)|EmbeddingBag|compute_grad_weight|krn_partial",
        "aten-embedding",
        "ATen",
        "Gradient or lookup of an embedding.",
    ),
    Kind(
        r"elementwise_kernel(_manual_unroll)?$|vectorized_templated_elementwise_kernel|elementwise_kernel_with_index|"
        r"distribution_elementwise",
        "aten-elementwise",
        "ATen",
        "One operation on every element, for tensors that are not contiguous or need an index.",
        (_THREADS, _EACH, _WHAT),
        of.ATEN_LOOPS,
    ),
    Kind(
        r"at::native::reduce_kernel$",
        "aten-reduce",
        "ATen",
        "A reduction (sum, mean, max, norm) over one or several dimensions.",
        (
            Role("threads", "most threads of a thread block: {0}"),
            Role("vector", "outputs written at once: {0}"),
            _WHAT,
        ),
        of.ATEN_REDUCE,
    ),
    Kind(
        r"multi_tensor_apply_kernel$",
        "aten-foreach",
        "ATen",
        "One operation over a list of tensors in one launch: foreach ops and fused optimizers.",
        (Role("memory", "addresses of the tensors; the number in it says how many lists"), _WHAT),
        of.ATEN_MULTI,
    ),
    Kind(
        r"softmax_warp_(forward|backward)",
        "aten-softmax",
        "ATen",
        "Softmax, a warp to each row (short rows).",
        _SOFTMAX,
        of.ATEN_SOFTMAX,
    ),
    Kind(r"[sS]oft_?[mM]ax", "aten-softmax", "ATen", "Softmax, a thread block to each row."),
    Kind(
        r"layer_norm|LayerNorm|RowwiseMoments|GammaBetaBackward|ComputeInternalGradients|GroupNorm",
        "aten-layer-norm",
        "ATen",
        "Layer or group normalisation, or a part of its gradient.",
        (Role("dtype", "elements: {0}"), Role("dtype", "sums: {0}")),
        of.ATEN_NORM,
    ),
    Kind(r"batch_norm", "aten-batch-norm", "ATen", "Batch normalisation."),
    Kind(
        r"CatArrayBatchedCopy",
        "aten-cat",
        "ATen",
        "Tensors copied one behind the other (torch.cat, torch.stack).",
        (Role("dtype", "elements: {0}"),),
        of.ATEN_CAT,
    ),
    Kind(r"(max|avg|average)_pool", "aten-pool", "ATen", "Pooling over windows."),
    Kind(
        r"ClassNLLCriterion|nll_loss|cross_entropy",
        "aten-loss",
        "ATen",
        "Negative log likelihood loss, or its gradient.",
    ),
    Kind(r"dropout", "aten-dropout", "ATen", "Dropout."),
    Kind(r"upsample|interpolate", "aten-resize", "ATen", "Images resized by interpolation."),
    Kind(
        r"gatherTopK|bitonicSort|radixSort|sort_postprocess|mbtopk|sbtopk",
        "aten-sort",
        "ATen",
        "Sorting, or the k largest elements.",
    ),
    Kind(r"tensor_kernel_scan|scan_(inner|outer)", "aten-scan", "ATen", "Cumulative sum or product."),
    Kind(r"triu_tril", "aten-other", "ATen", "The triangle of a matrix."),
    Kind(
        r"multimem_|one_shot_all_reduce|two_shot_all_reduce",
        "symmetric-memory",
        "ATen",
        "A collective on symmetric memory: the GPU reads and writes other GPUs' memory itself.",
    ),
    Kind(r"\bcub::|cub::", "cub", "CUB", "A sort, scan or reduction of NVIDIA's CUB library."),
    Kind(r"thrust::", "thrust", "Thrust", "A parallel algorithm of NVIDIA's Thrust library."),
    Kind(
        r"^at::native|at::native::",
        "aten-other",
        "ATen",
        "A kernel of PyTorch itself; its name says what it does.",
    ),
    Kind(r"\bvllm::", "vllm", "vLLM", "A kernel of vLLM's own; its name says what it does."),
    Kind(
        r"\btensorrt_llm::|\bmoe::dev::",
        "tensorrt-llm",
        "TensorRT-LLM",
        "A kernel from TensorRT-LLM (also shipped by FlashInfer); moe: mixture of experts.",
    ),
    Kind(
        r"\bflashinfer::",
        "flashinfer",
        "FlashInfer",
        "A kernel of FlashInfer (attention and sampling for serving).",
    ),
    Kind(
        r"ck::|ck_tile::",
        "composable-kernel",
        "AMD Composable Kernel",
        "A kernel built from AMD's Composable Kernel templates.",
    ),
)


@cache
def kind_of(qualified: str) -> Kind | None:
    """The kind of the C++ kernel with this scope and name."""
    return next((kind for kind in KINDS if re.search(kind.pattern, qualified)), None)
