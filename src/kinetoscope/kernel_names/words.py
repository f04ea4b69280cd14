"""Words that mean the same in the names of several makers: number types, architectures, layout letters."""

from __future__ import annotations

from collections.abc import Iterable

DTYPES = {
    "f64": "float64",
    "f32": "float32",
    "tf32": "TF32: float32 with the mantissa cut to 10 bits for the Tensor Cores",
    "f16": "float16",
    "bf16": "bfloat16",
    "e4m3": "float8 with 4 exponent and 3 mantissa bits",
    "e5m2": "float8 with 5 exponent and 2 mantissa bits",
    "e2m1": "float4 with 2 exponent bits and 1 mantissa bit",
    "s8": "int8",
    "u8": "uint8",
    "s4": "int4",
    "s32": "int32",
    "void": "none",
}
"""Short names of number types, as CUTLASS writes them"""
_ALIASES = {
    "fp64": "f64",
    "fp32": "f32",
    "fp16": "f16",
    "half": "f16",
    "float": "f32",
    "double": "f64",
    "bfloat16": "bf16",
}


def any_of(words: Iterable[str]) -> str:
    """A regular expression for any of ``words``, the longest that fits."""
    return "|".join(sorted(words, key=len, reverse=True))


DTYPE = any_of([*DTYPES, *_ALIASES])
"""A regular expression for any short name of a number type."""

CPP_TYPES = {
    "float": "float32",
    "double": "float64",
    "__half": "float16",
    "half": "float16",
    "c10::Half": "float16",
    "cutlass::half_t": "float16",
    "__nv_bfloat16": "bfloat16",
    "nv_bfloat16": "bfloat16",
    "c10::BFloat16": "bfloat16",
    "cutlass::bfloat16_t": "bfloat16",
    "c10::Float8_e4m3fn": "float8 (e4m3)",
    "c10::Float8_e5m2": "float8 (e5m2)",
    "__nv_fp8_e4m3": "float8 (e4m3)",
    "bool": "bool",
    "char": "an 8-bit integer",
    "signed char": "int8",
    "unsigned char": "uint8 (or 8 raw bits)",
    "short": "int16",
    "int": "int32",
    "unsigned int": "uint32",
    "long": "int64",
    "long long": "int64",
    "unsigned long": "uint64",
    "unsigned long long": "uint64",
    "float2": "a pair of float32",
    "float4": "four float32",
    "c10::complex<float>": "complex64",
    "c10::complex<double>": "complex128",
}

ARCHITECTURES = {
    "kepler": "Kepler (2012)",
    "maxwell": "Maxwell (2014)",
    "pascal": "Pascal (2016)",
    "volta": "Volta (V100)",
    "turing": "Turing (T4, RTX 20)",
    "ampere": "Ampere (A100, RTX 30)",
    "ada": "Ada (L40, RTX 40)",
    "hopper": "Hopper (H100, H200)",
    "blackwell": "Blackwell (B200)",
}
CAPABILITIES = {
    "70": "Volta (V100)",
    "75": "Turing",
    "80": "Ampere (A100)",
    "86": "Ampere (RTX 30)",
    "89": "Ada",
    "90": "Hopper (H100, H200)",
    "100": "Blackwell (B200)",
    "103": "Blackwell (B300)",
    "120": "Blackwell (RTX 50)",
}

BLAS_LETTERS = {"s": "float32", "d": "float64", "h": "float16", "c": "complex64", "z": "complex128"}


def dtype(word: str) -> str:
    """A number type spelled out; ``word`` itself if we do not know it."""
    return DTYPES.get(_ALIASES.get(word.lower(), word.lower()), word)


def capability(digits: str) -> str:
    """Compute capability in words: ``90`` -> ``9.0: Hopper (H100, H200)``."""
    known = CAPABILITIES.get(digits)
    number = f"{digits[:-1]}.{digits[-1]}"
    return f"compute capability {number}" + (f": {known}" if known else "")


def layout(a: str, b: str) -> str:
    """What two layout letters, n or t, say about op(A) and op(B).

    BLAS counts a matrix column by column.  For C = op(A) op(B), with C of M x N and K summed over, N means
    that the operand is used as it lies in memory, and T that it is transposed.  An N for A has M contiguous,
    a T has K contiguous; an N for B has K contiguous, a T has N contiguous.  PyTorch's tensors are row by
    row, and such a tensor read column by column is its transpose.  So for C = X W PyTorch asks for the
    transpose, C' = W' X': BLAS's A is PyTorch's *second* operand, and BLAS's M is its number of columns.
    ``x @ w`` on contiguous tensors is NN; nn.Linear, whose weight is stored as (out, in), is TN.
    """
    first = "K" if a.lower() == "t" else "M"
    second = "N" if b.lower() == "t" else "K"
    common = {
        "tn": "; what nn.Linear gives: BLAS's A is the weight, B the input",
        "nn": "; what a product of two contiguous PyTorch tensors gives, with BLAS's A the second one",
    }.get((a + b).lower(), "")
    return (
        f"op(A)={a.upper()}, op(B)={b.upper()}, counted column by column as BLAS does: "
        f"A lies with {first} contiguous, B with {second}{common}"
    )
