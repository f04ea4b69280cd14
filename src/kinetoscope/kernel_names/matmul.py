"""Rules for the names of matrix multiplications, by NVIDIA (nvjet to TensorRT-LLM), AMD and Inductor.

NVIDIA documents CUTLASS's names but none of cuBLAS's.  When asked, it called them confidential (see
:data:`~kinetoscope.kernel_names.sources.NOT_TOLD`).  So we call a part of a cuBLAS name known only if it is a
plain word, or if we checked it on recorded launches.  AMD documents most parts of Tensile's names.
"""

from __future__ import annotations

import re

from kinetoscope.kernel_names import sources as of
from kinetoscope.kernel_names.parts import NOT_DOCUMENTED, Rule
from kinetoscope.kernel_names.words import (
    ARCHITECTURES,
    BLAS_LETTERS,
    DTYPE,
    any_of,
    capability,
    dtype,
    layout,
)

_CUBLASLT_TYPES = {**BLAS_LETTERS, "t": "bfloat16"}
_SHAPES = {
    "884": "8x8x4",
    "1684": "16x8x4",
    "1688": "16x8x8",
    "16816": "16x8x16",
    "16832": "16x8x32",
    "16864": "16x8x64",
    "8816": "8x8x16",
    "8832": "8x8x32",
    "161616": "16x16x16",
    "32816": "32x8x16",
    "83216": "8x32x16",
}
"""Digits run together in a name -> the M x N x K of an ``mma`` or ``wmma`` instruction."""


def _instruction(match: re.Match[str]) -> str:
    letter, digits, through, operation = match.groups()
    sums = BLAS_LETTERS.get(letter, {"i": "int32"}.get(letter, letter))
    shape = digits if "x" in digits else _SHAPES.get(digits, "")
    shape = f"{shape} (M x N x K)" if shape else "whose shape this decoder can't tell from the digits"
    rounded = f", inputs rounded to {dtype(through)}" if through else ""
    return f"{_OPERATIONS[operation]} by the Tensor Core instruction {shape}, sums in {sums}{rounded}"


def _layout(match: re.Match[str]) -> str:
    return layout(match[1], match[2])


_OPERATIONS = {
    "gemm": "matrix multiplication",
    "fprop": "convolution, forward",
    "dgrad": "convolution, gradient of the input",
    "wgrad": "convolution, gradient of the weight",
}
_OPERATION = "|".join(_OPERATIONS)
_BLAS_NAME = Rule(
    rf"([sdhcz])({_OPERATION})",
    "op",
    lambda m: f"{_OPERATIONS[m[2]]} in {BLAS_LETTERS[m[1]]}: the letter is BLAS's",
    of.CUBLAS,
    once=True,
)
_EPILOGUE = Rule(
    "bias|relu|gelu|dgelu|drelu|gelubias|relubias|bgrada|bgradb|dgelubgrad|drelubgrad|(?:relu|gelu)aux",
    "epilogue",
    lambda m: {
        "bias": "a bias vector is added before the result is stored",
        "relu": "can apply ReLU before the result is stored (a plain product may use such a kernel too)",
        "gelu": "applies GELU before the result is stored",
    }.get(m[0], f"the epilogue {m[0]} is applied before the result is stored"),
    of.CUBLASLT_EPILOGUE,
)
_SPLIT_K = Rule(
    "split[kK]", "split-k", "the sum over K is shared by several thread blocks, whose parts are added later"
)
_SM = Rule(r"sm(\d\d+)[af]?", "arch", lambda m: capability(m[1]))
ARCHITECTURE = Rule(
    "|".join(ARCHITECTURES), "arch", lambda m: f"written for {ARCHITECTURES[m[0]]}; newer GPUs run it too"
)
_SLICES = Rule(
    r"(\d+)x(\d+)",
    "stages",
    "K is walked {0} at a time; slices of A and B held in shared memory at once: {1}",
    of.SHARED_MEMORY,
    once=True,
)
_CLUSTER = "thread blocks that form a cluster and share shared memory: {0} along M, {1} along N"

NVJET = (
    Rule(
        "nvjet",
        "library",
        "cuBLASLt's kernels for Hopper and newer; the parts of the name are not documented by NVIDIA",
        of.NVJET_IS_CUBLAS,
    ),
    _SM,
    Rule(
        "([hsdct])([hsdct])([hsdct])",
        "dtype",
        lambda m: "A and B in {}, sums in {}, result in {}".format(*map(_CUBLASLT_TYPES.get, m.groups())),
        f"letters: {of.CUBLASLT_HSH}; t: {of.RECORDED_TYPES}",
        once=True,
    ),
    Rule("mma", "unknown", NOT_DOCUMENTED, known=False),
    Rule(
        "[a-z]{3,6}(?=_(?:mma_)?[0-9]+x[0-9]+)",
        "dtype",
        "number types of operands, sums and result; these letters are not documented",
        known=False,
        once=True,
    ),
    Rule(r"\d+x\d+x\d+", "tile", "a tile in three dimensions: whose is not documented", known=False),
    Rule(
        r"(\d+)x(\d+)(?=_\d+x\d+)",
        "tile",
        "output tile of one thread block: {0} along M, {1} along N (M and N as BLAS counts)",
        of.SHARED_MEMORY,
        once=True,
    ),
    _SLICES,
    Rule(r"(\d+)x(\d+)", "cluster", _CLUSTER, of.GRID, once=True),
    Rule(
        "2cta",
        "cluster",
        "two thread blocks work as a pair and hold half of B each",
        f"{of.PTX_CTA_GROUP}; {of.SHARED_MEMORY}",
    ),
    Rule("[hv]", "unknown", "one of h and v: not documented", known=False, once=True),
    Rule(
        "bz",
        "unknown",
        "not documented; in our recordings it is on every GEMM that adds no matrix",
        known=False,
    ),
    Rule(
        "badd",
        "unknown",
        "not documented; in our recordings it is on the GEMM that adds a full-size matrix (addmm)",
        known=False,
    ),
    _EPILOGUE,
    Rule(
        "coopB",
        "unknown",
        "not documented; NVIDIA's nvFuser uses the word where two warp groups share a tile along N",
        of.NVFUSER_COOP_B,
        known=False,
    ),
    Rule("coopA", "unknown", "not documented (see coopB, its counterpart)", known=False),
    _SPLIT_K,
    Rule("([NT])([NT])(?=[NT]{1,2}$)", "layout", _layout, of.CUBLAS_LETTERS, whole=False),
    Rule(
        "[NT]{1,2}$", "unknown", "a further layout letter: not documented which matrix it is of", known=False
    ),
)

_TENSOR_CORES = (
    Rule("tensorop", "unit", "Tensor Cores", of.CUTLASS),
    Rule("sptensorop", "unit", "Tensor Cores, with a structured sparse operand", of.CUTLASS),
    Rule("wmma", "unit", "through the wmma instructions (a whole warp's 16x16x16 fragments)", of.PTX_MMA),
    Rule("simt", "unit", "CUDA cores, no Tensor Cores", of.CUTLASS),
)
_ALIGN = Rule(r"align(\d+)", "alignment", "A and B are aligned to {0} elements", of.CUTLASS)

CUTLASS_2 = (
    Rule("cutlass", "library", "generated from CUTLASS 2 templates", of.CUTLASS_2),
    *_TENSOR_CORES,
    Rule(
        rf"({DTYPE})(?=_[a-z]\d+\w*?(?:{_OPERATION}))",
        "dtype",
        lambda m: f"result: {dtype(m[1])}",
        of.CUTLASS_2,
    ),
    Rule(rf"([a-z])(\d+)({DTYPE})?({_OPERATION})", "instruction", _instruction, of.CUTLASS, once=True),
    _BLAS_NAME._replace(source=of.CUTLASS),
    Rule(DTYPE, "dtype", lambda m: f"A and B: {dtype(m[0])}", of.CUTLASS_2),
    _EPILOGUE,
    Rule(
        r"(\d+)x(\d+)(?=_\d+x\d+)",
        "tile",
        "output tile of one thread block: {0} along M, {1} along N",
        of.CUTLASS_2,
        once=True,
    ),
    _SLICES._replace(source=of.CUTLASS_2),
    _SPLIT_K,
    Rule("([nt])([nt])", "layout", _layout, of.CUTLASS),
    _ALIGN,
    _SM,
    Rule(r"(\d\d+)", "arch", lambda m: capability(m[1]), of.NOT_CUTLASS, once=True),
)

CUTLASS_3 = (
    Rule("cutlass3x", "library", "generated from CUTLASS 3 templates", of.CUTLASS),
    _SM,
    *_TENSOR_CORES,
    Rule(
        rf"([a-z])(\d+x\d+x\d+)({DTYPE})?({_OPERATION})", "instruction", _instruction, of.CUTLASS, once=True
    ),
    Rule(rf"()()({DTYPE})?(gemm)", "op", "matrix multiplication", of.CUTLASS, once=True),
    Rule(
        rf"({DTYPE})_({DTYPE})_({DTYPE})_({DTYPE})_({DTYPE})",
        "dtype",
        lambda m: ", ".join(
            f"{x}: {dtype(t)}" for x, t in zip(("A", "B", "sums", "C", "D"), m.groups(), strict=True)
        ),
        of.CUTLASS,
        once=True,
    ),
    Rule(DTYPE, "dtype", lambda m: dtype(m[0])),
    _EPILOGUE,
    Rule(
        r"(\d+)x(\d+)x(\d+)",
        "tile",
        "tile of one thread block: {0} along M, {1} along N, {2} along K",
        of.CUTLASS,
        once=True,
    ),
    Rule(r"(\d+)x(\d+)x(\d+)", "cluster", _CLUSTER, of.CUTLASS, once=True),
    Rule(
        "0", "stages", "number of pipeline stages left to CUTLASS's builder (0 doesn't mean none)", of.CUTLASS
    ),
    Rule(r"(\d+)", "stages", "{0} pipeline stages in shared memory", of.CUTLASS, once=True),
    Rule(
        "([nt])([nt])([nt])",
        "layout",
        lambda m: f"{layout(m[1], m[2])}; C in {'columns' if m[3] == 'n' else 'rows'}",
        of.CUTLASS,
    ),
    _ALIGN,
    Rule(
        "warpspecialized(?:_(?:cooperative|pingpong))?(?:_fp8_fastaccum)?",
        "schedule",
        "persistent kernel whose warps have different work: some load, others multiply",
        of.CUTLASS,
    ),
    Rule("epi_tma", "epilogue", "the result is stored through the TMA unit", of.CUTLASS),
)

XMMA = (
    _SM,
    Rule(
        "xmma",
        "library",
        "a code generator of NVIDIA's that cuBLAS and cuDNN use; its names are not documented",
        of.NOT_TOLD,
    ),
    Rule(_OPERATION, "op", lambda m: _OPERATIONS[m[0]]),
    Rule(
        "implicit_gemm", "op", "the convolution as a matrix multiplication whose operand is never written out"
    ),
    Rule(
        rf"((?:{DTYPE})+)_((?:{DTYPE})+)(?:_({DTYPE}))?",
        "dtype",
        "number types; which operand, sum or result each is of is not documented",
        of.NOT_TOLD,
        known=False,
        once=True,
    ),
    Rule("([nt])([nt])", "layout", _layout, of.CUBLAS_LETTERS, once=True),
    Rule("[nt]", "unknown", "a further layout letter: not documented", of.NOT_TOLD, known=False),
    Rule(r"tilesize(\d+)x(\d+)x(\d+)", "tile", "tile size {0} x {1} x {2} (M x N x K)"),
    Rule(r"tensor(\d+)x(\d+)x(\d+)", "instruction", "Tensor Core instruction {0}x{1}x{2}", of.PTX_MMA),
    Rule(r"stage(\d+)", "stages", "{0} pipeline stages"),
    Rule(
        r"(warp(?:group)?)size\S+?x\d+x\d+",
        "warps",
        "{0}s along M, N and K: not documented further",
        known=False,
    ),
    Rule(
        "nd?hwc(?:kt?rsc)?|ncd?hw", "layout", "order of the tensor's dimensions in memory (c last or first)"
    ),
    Rule("execute_(?:segment_k_(?:on|off)_)?kernel", "unknown", "not documented", of.NOT_TOLD, known=False),
    Rule(r"\dx", "unknown", "not documented", of.NOT_TOLD, known=False),
    Rule("cublas", "library", "built for cuBLAS"),
    Rule("cudnn", "library", "built for cuDNN"),
)

BY_ARCHITECTURE = (
    ARCHITECTURE,
    Rule(rf"([a-z])(\d+)({DTYPE})?({_OPERATION})", "instruction", _instruction, of.PTX_MMA, once=True),
    _BLAS_NAME,
    Rule(DTYPE, "dtype", lambda m: f"{dtype(m[0])}; of which matrix is not documented"),
    Rule(
        r"(\d+)x(\d+)",
        "tile",
        "output tile of one thread block: {0} along M, {1} along N (M and N as BLAS counts)",
        of.GRID,
        once=True,
    ),
    Rule(
        r"stages_(\d+)x(\d+)",
        "stages",
        "stages: {0} and {1}; by the same scheme in CUTLASS, the slice of K and how many are in flight",
        of.CUTLASS_2,
    ),
    Rule(r"sliced\d+x\d+", "unknown", "not documented", of.NOT_CUTLASS, known=False),
    _EPILOGUE,
    _SPLIT_K,
    Rule(
        "([nt])([nt])|([NT])([NT])",
        "layout",
        lambda m: layout(*[g for g in m.groups() if g]),
        of.CUBLAS_LETTERS,
    ),
)

TRTLLM_GEN = (
    Rule("bmm", "op", "batched matrix multiplication"),
    Rule("gemm", "op", "matrix multiplication"),
    Rule(
        "(?:Mx)?(?:Bfloat16|Fp16|Fp32|E4m3|E5m2|E2m1)+(?:MxE2m1|MxE4m3|E2m1|E4m3)*",
        "dtype",
        "number types (Mx: with a scale to each block); which matrix each is of is not documented",
        known=False,
    ),
    Rule(r"cga(\d+)x(\d+)x(\d+)", "cluster", "{0} x {1} x {2} thread blocks form a cluster (CGA)"),
    Rule("([NT])([NT])", "layout", _layout, of.CUBLAS_LETTERS),
    Rule("swiGlu|silu|gelu|relu2?", "epilogue", "this activation is applied before the result is stored"),
    _SM,
    Rule("(?i:nvfp4|mxfp4|splitk)", "unknown", "not documented", known=False),
)

_TENSILE_TYPES = {
    "S": "float32",
    "D": "float64",
    "C": "complex64",
    "Z": "complex128",
    "H": "float16",
    "B": "bfloat16",
    "I8": "int8",
    "I": "int32",
    "F8": "float8",
    "B8": "bfloat8",
    "X": "xfloat32",
}
_TENSILE_PARAMETERS = {
    "1LDSB": "1LDSBuffer",
    "APM": "AggressivePerfMode",
    "AF0EM": "AssertFree0ElementMultiple",
    "AF1EM": "AssertFree1ElementMultiple",
    "ASEM": "AssertSummationElementMultiple",
    "BL": "BufferLoad",
    "BS": "BufferStore",
    "DU": "DepthU",
    "DTL": "DirectToLds",
    "DTVA": "DirectToVgprA",
    "DTVB": "DirectToVgprB",
    "EPS": "ExpandPointerSwap",
    "FL": "FractionalLoad",
    "GLS": "GroupLoadStore",
    "GRCGA": "GlobalReadCoalesceGroupA",
    "GRCGB": "GlobalReadCoalesceGroupB",
    "GRPM": "GlobalReadPerMfma",
    "GRVW": "GlobalReadVectorWidth",
    "GSU": "GlobalSplitU",
    "GSUA": "GlobalSplitUAlgorithm",
    "IU": "InnerUnroll",
    "KL": "KernelLanguage",
    "LBSPP": "LdsBlockSizePerPad",
    "LDL": "LocalDotLayout",
    "LPA": "LdsPadA",
    "LPB": "LdsPadB",
    "LRVW": "LocalReadVectorWidth",
    "LWPM": "LocalWritePerMfma",
    "MIAV": "MIArchVgpr",
    "MO": "MaxOccupancy",
    "NEPBS": "NumElementsPerBatchStore",
    "NLCA": "NumLoadsCoalescedA",
    "NLCB": "NumLoadsCoalescedB",
    "NTA": "NonTemporalA",
    "NTB": "NonTemporalB",
    "NTC": "NonTemporalC",
    "NTD": "NonTemporalD",
    "ONLL": "OptNoLoadLoop",
    "PAP": "PrefetchAcrossPersistent",
    "PGR": "PrefetchGlobalRead",
    "PK": "PersistentKernel",
    "PLR": "PrefetchLocalRead",
    "SGR": "ScheduleGlobalRead",
    "SIA": "ScheduleIterAlg",
    "SLW": "ScheduleLocalWrite",
    "SPO": "StorePriorityOpt",
    "SRVW": "StoreRemapVectorWidth",
    "SS": "SourceSwap",
    "SSO": "StoreSyncOpt",
    "SU": "StaggerU",
    "SUM": "StaggerUMapping",
    "SUS": "StaggerUStride",
    "SVW": "StoreVectorWidth",
    "TLDS": "TransposeLDS",
    "USFGRO": "UseSgprForGRO",
    "VAW": "VectorAtomicWidth",
    "VS": "VectorStore",
    "VW": "VectorWidth",
    "WGM": "WorkGroupMapping",
    "WS": "WavefrontSize",
    "WSGRA": "WaveSeparateGlobalReadA",
    "WSGRB": "WaveSeparateGlobalReadB",
}
"""From the table in AMD's documentation.  Parameters of newer releases are not in it and stay unknown."""


def _tensile_operand(match: re.Match[str]) -> str:
    name, indices = match[1], match[2]
    if name == "C":
        return f"the result, with indices {', '.join(indices)} (the first is the one contiguous in memory)"
    transposed = indices.find("l") < indices.find("i" if name == "A" else "j")
    flag = (transposed and name == "A") or (not transposed and name == "B")
    return (
        f"{name}, with indices {', '.join(indices)}: {indices[0]} is contiguous, l is summed over, "
        f"k counts the batch; in BLAS's letters {'T' if flag else 'N'}"
    )


def _tensile_types(match: re.Match[str]) -> str:
    return f"{_TENSILE_TYPES[match[1]]}; B: the kernel can use beta, that is add to C"


TENSILE = (
    Rule("(C)([ijklm]{2,5})", "op", _tensile_operand, of.TENSILE),
    Rule("(A)([ijklm]{2,5})", "layout", _tensile_operand, of.TENSILE),
    Rule("(B)([ijklm]{2,5})", "layout", _tensile_operand, of.TENSILE),
    Rule(f"({any_of(_TENSILE_TYPES)})B", "dtype", _tensile_types, of.TENSILE, once=True),
    Rule(
        r"MT(\d+)x(\d+)x(\d+)",
        "tile",
        "macro tile of one work-group: {0} x {1} of the result; {2} along the sum at a time",
        of.TENSILE,
    ),
    Rule(r"MI(\d+)x(\d+)x(\d+)(?:x(\d+))?", "instruction", "the matrix instruction's size", of.TENSILE),
    Rule(r"ISA(\d+[a-z]?)", "arch", lambda m: f"the GPU's instruction set: gfx{m[1].lower()}", of.TENSILE),
    Rule(r"WG(\d+)_(\d+)_(\d+)", "threads", "work-group of {0} x {1} threads, sum split {2}", of.TENSILE),
    Rule(r"TT(\d+)_(\d+)", "tile", "tile of one thread: {0} x {1}", of.TENSILE),
    Rule("Bias", "epilogue", "can add a bias"),
    Rule(
        rf"({any_of(_TENSILE_PARAMETERS)})(n?\d+)",
        "parameter",
        lambda m: f"Tensile's {_TENSILE_PARAMETERS[m[1]]} = {m[2].replace('n', '-')}",
        of.TENSILE,
    ),
)

INDUCTOR_TEMPLATES = (
    "mm|bmm|addmm|baddbmm|scaled_mm|int_mm|mm_plus_mm|flex_(?:attention|decoding)|convolution[23]d"
)
INDUCTOR_TEMPLATE = (
    Rule(
        "triton", "library", "a Triton kernel that Inductor (torch.compile) generated", of.INDUCTOR_TEMPLATE
    ),
    Rule(INDUCTOR_TEMPLATES, "op", "the template", of.INDUCTOR_TEMPLATE),
    Rule(r"\d+", "number", "number of the configuration tried", of.INDUCTOR_TEMPLATE),
)
