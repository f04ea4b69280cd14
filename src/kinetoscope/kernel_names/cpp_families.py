"""Families of C++ kernels, by what proves them: a namespace, or a type of the maker's among the arguments."""

from __future__ import annotations

import re
from functools import lru_cache

from kinetoscope.kernel_names import sources as of
from kinetoscope.kernel_names.families import LONGEST, Argument, Family

_IN, _OUT, _ACC = (
    Argument("dtype", "input: {0}"),
    Argument("dtype", "output: {0}"),
    Argument("dtype", "sums: {0}"),
)
_THREADS = Argument("threads", "threads of a thread block: {0}")
_EACH = Argument("threads", "elements a thread works on: {0}")
_WHAT = Argument("op", "what is computed")
_SOFTMAX = (
    _IN,
    _OUT,
    _ACC,
    Argument("tile", "2 to the power {0} is the longest row it can take"),
    Argument("flag", "log-softmax instead of softmax: {0}"),
    Argument("flag", "with a mask: {0}"),
    Argument("threads", "threads of a warp: {0}"),
)
_FLASH_FLAGS = tuple(
    Argument("flag", f"{text}: {{0}}")
    for text in (
        "dropout",
        "causal mask",
        "sliding window",
        "ALiBi position bias",
        "lengths are multiples of the tile",
        "the head size is a multiple of the tile",
    )
)

_CUBLAS_TYPE = r"[<(, ]cublas(?:Lt::)?\w"
_CUDNN_TYPE = r"[<(, ]cudnn\w*(?:Struct|_t)\b|[<(, ]cudnn::|\bcudnn::(?:\w+::)*bn_"
# A namespace is what a maker calls its own; the name after it only says which of its kernels it is.  Some
# of PyTorch's kernels are in a namespace without a name: their arguments have to say whose they are.
_NATIVE = r"at::native::(?:[\w() ]+::)*"
_ATEN = rf"(?:{_NATIVE}|\(anonymous namespace\)::)"

_CPP = (
    Family(
        r"cutlass(::\w+)*::(Kernel2?|device_kernel)$",
        "cutlass",
        "CUTLASS",
        "A kernel built from CUTLASS templates.",
    ),
    Family(
        r"(\w+::)?flash_(fwd|bwd)_\w*mla\w*_kernel$",
        "flash-mla",
        "FlashMLA",
        "Attention by DeepSeek's FlashMLA, for keys and values that are stored compressed.",
    ),
    Family(
        r"(pytorch_)?flash::|flash_(fwd|bwd)_\w*kernel$",
        "flash-attention",
        "FlashAttention",
        "Attention computed tile by tile, so that the matrix of scores is never written to memory.",
        arguments=(
            Argument("tile", "sizes and number type of the tiles: head, queries, keys, warps"),
            *_FLASH_FLAGS,
        ),
        source=of.FLASH_LAUNCH,
    ),
    Family(
        r"(PyTorchMemEffAttention::)?attention_kernel_(backward_)?batched(_impl)?$",
        "memory-efficient-attention",
        "xFormers / CUTLASS",
        "Attention computed tile by tile (the memory-efficient backend of scaled_dot_product_attention).",
    ),
    Family(
        r"(cublasLt::)?splitKreduce_kernel$",
        "split-k-reduce",
        "cuBLAS",
        "Adds up the parts of a split-K GEMM: a product whose K several thread blocks shared.",
    ),
    Family(
        r"epilogue::impl::globalKernel$",
        "cublaslt-epilogue",
        "cuBLASLt",
        "An epilogue (bias, activation) as a kernel of its own, after a GEMM that could not apply it.",
    ),
    Family(
        r"gemv2[NT]_kernel\w*$|gemvN?SP_kernel$|gemmSN_[NT]{2}_kernel\w*$|gemmk1_kernel$|(internal::)?gemvx::kernel$",
        "gemv",
        "cuBLAS",
        "Matrix times vector, or a product so thin that it is computed like one: bound by memory.",
    ),
    Family(
        r"magma_(lds128_)?[sdczh]gemm\w*_kernel$",
        "gemm-magma",
        "cuBLAS",
        "Matrix multiplication; the code stems from MAGMA.",
    ),
    Family(
        r"(dot_kernel|reduce_1Block_kernel|asum_kernel|nrm2_kernel)$",
        "blas-1",
        "cuBLAS",
        "A sum over vectors (dot product, norm).",
        proof=_CUBLAS_TYPE,
    ),
    Family(
        r"\w+$",
        "cublas",
        "cuBLAS",
        "A kernel of cuBLAS; the name says no more.",
        proof=_CUBLAS_TYPE,
    ),
    Family(
        r"cublas(Lt)?::",
        "cublas",
        "cuBLAS",
        "A kernel of cuBLAS; the name says no more.",
    ),
    Family(
        r"deep_gemm::",
        "deep-gemm",
        "DeepGEMM",
        "Matrix multiplication of DeepSeek's DeepGEMM, compiled when first used.",
    ),
    Family(
        r"cask_(cudnn|plugin)\w*::",
        "cudnn-helper",
        "cuDNN",
        "Computes offsets for a cuDNN convolution that follows.",
    ),
    Family(
        r"(cudnn::(\w+::)*)?((implicit|explicit|precomputed)_convolve_[sdhci]gemm|(conv|[dw]grad)2d_grouped_direct_kernel|"
        r"[dw]grad\w*_engine|fprop\w*_engine)$",
        "cudnn-convolution",
        "cuDNN",
        "A convolution, or its gradient by input (dgrad) or weight (wgrad).",
    ),
    Family(
        r"cudnn::(\w+::)*(?i:winograd)",
        "cudnn-winograd",
        "cuDNN",
        "A step of a convolution by Winograd's method.",
    ),
    Family(
        r"(cudnn::(\w+::)*)?bn_(fw|bw)_\w+$",
        "cudnn-batch-norm",
        "cuDNN",
        "Batch normalisation, forward (fw) or backward (bw).",
        proof=_CUDNN_TYPE,
    ),
    Family(
        r"(cudnn::(\w+::)*)?(nchwToNhwc|nhwcToNchw|nchwAddPadding)\w*Kernel$",
        "cudnn-layout",
        "cuDNN",
        "Rewrites a tensor from channels-first to channels-last order or back.",
        proof=_CUDNN_TYPE,
    ),
    Family(
        r"(cudnn::(\w+::)*)?(RNN_blockPersist|LSTM_elementWise|GRU_elementWise)_\w+$",
        "cudnn-rnn",
        "cuDNN",
        "A step of a recurrent network.",
    ),
    Family(r"cudnn(::|_)", "cudnn", "cuDNN", "A kernel of cuDNN; the name is the only description."),
    Family(
        r"\w+$", "cudnn", "cuDNN", "A kernel of cuDNN; the name is the only description.", proof=_CUDNN_TYPE
    ),
    Family(
        r"fbgemm_gpu::|(split|dense)_embedding\w*_codegen_\w+$|(linearize_index|bounds_check_indices)_kernel$",
        "fbgemm",
        "FBGEMM",
        "Embedding tables and jagged tensors of recommendation models (FBGEMM_GPU).",
    ),
    Family(
        _NATIVE + r"vectorized_elementwise_kernel$",
        "aten-elementwise",
        "ATen",
        "One operation on every element of contiguous tensors, several elements to each load.",
        arguments=(Argument("vector", "elements moved by one load: {0}"), _WHAT),
        source=of.ATEN_LOOPS,
    ),
    Family(
        _NATIVE + r"unrolled_elementwise_kernel$",
        "aten-elementwise",
        "ATen",
        "One operation on every element, where types are converted or addresses don't allow vector loads.",
        arguments=(
            _WHAT,
            Argument("memory", "pointers: output and inputs"),
            Argument("threads", "elements a thread works on: {0}"),
        ),
        source=of.ATEN_LOOPS,
    ),
    Family(
        _NATIVE + r"index_elementwise_kernel$",
        "aten-index",
        "ATen",
        "Elements fetched or stored by index tensors (x[i], index_put).",
        arguments=(_THREADS, _EACH, _WHAT),
        source=of.ATEN_INDEX,
    ),
    Family(
        _NATIVE + r"(_?scatter_gather_elementwise_kernel|index(Select|Add|Fill|Copy|Func)|"
        r"vectorized_gather|gather_kernel|take_|masked_(scatter|select))|"
        rf"{_ATEN}indexing_backward_kernel\w*$",
        "aten-index",
        "ATen",
        "Rows or elements fetched, stored or added by index (embedding, gather, scatter, gradients).",
    ),
    Family(
        _NATIVE + r"(embedding_(backward|bag|renorm)|EmbeddingBag|compute_grad_weight)|"
        rf"{_ATEN}krn_partials?_\w+$",
        "aten-embedding",
        "ATen",
        "Gradient or lookup of an embedding.",
    ),
    Family(
        _NATIVE + r"(elementwise_kernel(_manual_unroll)?$|vectorized_templated_elementwise_kernel|"
        rf"distribution_elementwise)|{_ATEN}elementwise_kernel_with_index$",
        "aten-elementwise",
        "ATen",
        "One operation on every element, for tensors that are not contiguous or need an index.",
        arguments=(_THREADS, _EACH, _WHAT),
        source=of.ATEN_LOOPS,
    ),
    Family(
        _NATIVE + r"reduce_kernel$",
        "aten-reduce",
        "ATen",
        "A reduction (sum, mean, max, norm) over one or several dimensions.",
        arguments=(
            Argument("threads", "most threads of a thread block: {0}"),
            Argument("vector", "outputs written at once: {0}"),
            _WHAT,
        ),
        source=of.ATEN_REDUCE,
    ),
    Family(
        _NATIVE + r"multi_tensor_apply_kernel$",
        "aten-foreach",
        "ATen",
        "One operation over a list of tensors in one launch: foreach ops and fused optimizers.",
        arguments=(
            Argument("memory", "addresses of the tensors; the number in it says how many lists"),
            _WHAT,
        ),
        source=of.ATEN_MULTI,
    ),
    Family(
        _ATEN + r"softmax_warp_(forward|backward)$",
        "aten-softmax",
        "ATen",
        "Softmax, a warp to each row (short rows).",
        arguments=_SOFTMAX,
        source=of.ATEN_SOFTMAX,
        proof=r"softmax_warp_\w+<[^<>]*, (?:true|false)[,>]",  # Apex has one of this name, without flags
    ),
    Family(_NATIVE + r"(\w*[sS]oft_?[mM]ax)", "aten-softmax", "ATen", "Softmax, a thread block to each row."),
    Family(
        _NATIVE
        + r"\w*(layer_norm|LayerNorm|RowwiseMoments|GammaBetaBackward|ComputeInternalGradients|GroupNorm)",
        "aten-layer-norm",
        "ATen",
        "Layer or group normalisation, or a part of its gradient.",
        arguments=(Argument("dtype", "elements: {0}"), Argument("dtype", "sums: {0}")),
        source=of.ATEN_NORM,
    ),
    Family(_NATIVE + r"\w*batch_norm", "aten-batch-norm", "ATen", "Batch normalisation."),
    Family(
        _NATIVE + r"CatArrayBatchedCopy",
        "aten-cat",
        "ATen",
        "Tensors copied one behind the other (torch.cat, torch.stack).",
        arguments=(Argument("dtype", "elements: {0}"),),
        source=of.ATEN_CAT,
    ),
    Family(_NATIVE + r"\w*(max|avg|average)_pool", "aten-pool", "ATen", "Pooling over windows."),
    Family(
        _NATIVE + r"(nll_loss|\w*cross_entropy)|cunn_ClassNLLCriterion_",
        "aten-loss",
        "ATen",
        "Negative log likelihood loss, or its gradient.",
    ),
    Family(_NATIVE + r"\w*dropout", "aten-dropout", "ATen", "Dropout."),
    Family(_NATIVE + r"\w*(upsample|interpolate)", "aten-resize", "ATen", "Images resized by interpolation."),
    Family(
        _NATIVE + r"((mbtopk|sbtopk)::|gatherTopK|bitonicSort|radixSort|sort_postprocess)",
        "aten-sort",
        "ATen",
        "Sorting, or the k largest elements.",
    ),
    Family(
        _NATIVE + r"\w*(tensor_kernel_scan|scan_(inner|outer))",
        "aten-scan",
        "ATen",
        "Cumulative sum or product.",
    ),
    Family(_NATIVE + r"triu_tril", "aten-other", "ATen", "The triangle of a matrix."),
    Family(
        r"\(anonymous namespace\)::(multimem_\w+|(one|two)_shot_all_reduce\w*)_kernel$",
        "symmetric-memory",
        "ATen",
        "A collective on symmetric memory: the GPU reads and writes other GPUs' memory itself.",
        proof=r"\bc10::|\bat::",
    ),
    Family(r"(\w+::)*?cub::", "cub", "CUB", "A sort, scan or reduction of NVIDIA's CUB library."),
    Family(r"(\w+::)*?thrust::", "thrust", "Thrust", "A parallel algorithm of NVIDIA's Thrust library."),
    Family(
        r"(\w+::)*?rocprim::", "rocprim", "rocPRIM", "A sort, scan or reduction of AMD's rocPRIM library."
    ),
    Family(
        r"at::|cunn_\w+$", "aten-other", "ATen", "A kernel of PyTorch itself; its name says what it does."
    ),
    Family(
        r"(\(anonymous namespace\)::)?\w+$",
        "aten-other",
        "ATen",
        "A kernel of PyTorch itself; its name says what it does.",
        proof=r"[<(, ]at::native::",
    ),
    Family(r"vllm::", "vllm", "vLLM", "A kernel of vLLM's own; its name says what it does."),
    Family(
        r"tensorrt_llm::|moe::dev::",
        "tensorrt-llm",
        "TensorRT-LLM",
        "A kernel from TensorRT-LLM (also shipped by FlashInfer); moe: mixture of experts.",
    ),
    Family(
        r"flashinfer::",
        "flashinfer",
        "FlashInfer",
        "A kernel of FlashInfer (attention and sampling for serving).",
    ),
    Family(
        r"(ck|ck_tile)::",
        "composable-kernel",
        "AMD Composable Kernel",
        "A kernel built from AMD's Composable Kernel templates.",
    ),
    Family(r"cudapy::", "numba", "Numba", "A kernel written in Python and compiled by Numba."),
    Family(r"aiter::", "aiter", "AITER", "A kernel of AMD's AITER, for inference on AMD GPUs."),
    Family(
        r"transformer_engine::",
        "transformer-engine",
        "Transformer Engine",
        "A kernel of NVIDIA's Transformer Engine; its name says what it does.",
    ),
    Family(
        r"deep_ep::",
        "deep-ep",
        "DeepEP",
        "Tokens sent to their experts on other GPUs, or brought back; it also waits for the other GPUs.",
    ),
    Family(
        r"marlin\w*::Marlin$",
        "marlin",
        "Marlin",
        "Matrix multiplication with 4- or 8-bit weights, for few rows.",
    ),
)
"""Families of C++ kernels; the first that fits counts"""


@lru_cache(maxsize=4096)
def cpp_family(qualified: str, name: str) -> Family | None:
    """The family of the C++ kernel with this scope and name; ``name`` is the whole, with its arguments."""
    qualified, name = qualified[:LONGEST], name[: 4 * LONGEST]
    return next(
        (
            family
            for family in _CPP
            if re.match(family.pattern, qualified) and (not family.proof or re.search(family.proof, name))
        ),
        None,
    )
