"""Names of AMD's matrix multiplications, as Tensile (rocBLAS, hipBLASLt) builds them."""

from __future__ import annotations

import re

from kinetoscope.kernel_names import sources as of
from kinetoscope.kernel_names.parts import Rule

_TYPES = {
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
_ABBREVIATIONS = {
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
"""Of the table in AMD's page; what newer releases added is not in it and stays unknown."""


def _operand(match: re.Match[str]) -> str:
    name, indices = match[1], match[2]
    if name == "C":
        return f"the result, with indices {', '.join(indices)} (the first is the one contiguous in memory)"
    transposed = indices.find("l") < indices.find("i" if name == "A" else "j")
    flag = (transposed and name == "A") or (not transposed and name == "B")
    return (
        f"{name}, with indices {', '.join(indices)}: {indices[0]} is contiguous, l is summed over, "
        f"k counts the batch; in BLAS's letters {'T' if flag else 'N'}"
    )


def _types(match: re.Match[str]) -> str:
    return f"{_TYPES[match[1]]}; B: the kernel can use beta, that is add to C"


def _isa(match: re.Match[str]) -> str:
    return f"the GPU's instruction set: gfx{match[1].lower()}"


TENSILE = (
    Rule("(C)([ijklm]{2,5})", "op", _operand, of.TENSILE),
    Rule("(A)([ijklm]{2,5})", "layout", _operand, of.TENSILE),
    Rule("(B)([ijklm]{2,5})", "layout", _operand, of.TENSILE),
    Rule(f"({'|'.join(sorted(_TYPES, key=len, reverse=True))})B", "dtype", _types, of.TENSILE, once=True),
    Rule(
        r"MT(\d+)x(\d+)x(\d+)",
        "tile",
        "macro tile of one work-group: {0} x {1} of the result; {2} along the sum at a time",
        of.TENSILE,
    ),
    Rule(r"MI(\d+)x(\d+)x(\d+)(?:x(\d+))?", "instruction", "the matrix instruction's size", of.TENSILE),
    Rule(r"ISA(\d+[a-z]?)", "arch", _isa, of.TENSILE),
    Rule(r"WG(\d+)_(\d+)_(\d+)", "threads", "work-group of {0} x {1} threads, sum split {2}", of.TENSILE),
    Rule(r"TT(\d+)_(\d+)", "tile", "tile of one thread: {0} x {1}", of.TENSILE),
    Rule("Bias", "epilogue", "can add a bias"),
    Rule(
        rf"({'|'.join(sorted(_ABBREVIATIONS, key=len, reverse=True))})(n?\d+)",
        "parameter",
        lambda m: f"Tensile's {_ABBREVIATIONS[m[1]]} = {m[2].replace('n', '-')}",
        of.TENSILE,
    ),
)
