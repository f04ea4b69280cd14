"""Template arguments of C++ kernels: number types, functors, sizes, helpers."""

from __future__ import annotations

import re

from kinetoscope.kernel_names import sources as of
from kinetoscope.kernel_names.kinds import Role
from kinetoscope.kernel_names.parts import Part
from kinetoscope.kernel_names.words import CPP_TYPES

_LITERAL = re.compile(r"(?:\([\w: ]+\))?(-?\d+)[uUlL]*|true|false")
_POINTERS = re.compile(r"(?:std|at::detail)::(?:array|Array)<char\s*\*, (\d+)u?l*>")
_FLASH = re.compile(r"(?:\w+::)*Flash_\w+_kernel_traits<(\d+), (\d+), (\d+), (\d+)")
_LISTS = re.compile(r"TensorList\w*Metadata<(?:\w[\w:]*, )?(\d+)")
_REDUCTION = re.compile(
    r"(MeanOps|WelfordOps|Arg(?:Max|Min)Ops|NormTwoOps|NormOneOps|AbsMaxOps|(\w+)_functor<|(\w+)_kernel_cuda)"
)
_HELPERS = (
    ("OffsetCalculator", "memory", "how an element's number becomes an address (Trivial: contiguous)"),
    ("LoadWith", "memory", "how inputs are read: with or without conversion of their type"),
    ("StoreWith", "memory", "how the output is written: with or without conversion of its type"),
)
# What names the operation inside a functor, the most telling first.
_FUNCTIONS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(\w+?)_kernel_cuda\b",
        r"(\w+?)_cuda_kernel\b",
        r"\b(\w+?)CUDAKernelImpl",
        r"CUDAFunctor(?:OnSelf)?_(\w+)",
        r"std::(plus|minus|multiplies|divides)\b",
        r"(?:binary_internal::|::)(\w+?)Functor<[^<>]*> ?>",
        r"::(?!operator|lambda)(\w+?)_(?:scalar_)?kernel_impl\b",
        r"::launch_(\w+)\(",
        r"\b(masked_fill)_kernel\(",
        r"::(Copy)<",
        r"(?:^|::)(\w+?)Functor\b",
        r"::(copy_device_to_device|\w+_cuda_out)\(",
    )
)


def argument(text: str, role: Role | None, source: str = "") -> Part:
    """One template argument, read by its place (``role``) and by what it is."""
    if _LITERAL.fullmatch(text):
        if role is None or role.field in ("op", "dtype", "memory"):
            return Part(
                text,
                "template-argument",
                "a compile-time constant; of what, this decoder doesn't know",
                False,
            )
        return Part(text, role.field, role.meaning.format(text), True, source)
    if text in CPP_TYPES:
        told = role.meaning if role is not None and role.field == "dtype" else "a number type: {0}"
        return Part(text, "dtype", told.format(CPP_TYPES[text]), True, source if role else "")
    return _by_content(text) or _as_function(text, role, source)


def _by_content(text: str) -> Part | None:
    pointers = _POINTERS.fullmatch(text)
    if pointers:
        number = int(pointers[1])
        inputs = {0: "no input", 1: "1 input"}.get(number - 1, f"{number - 1} inputs")
        meaning = f"{number} pointer{'s' if number > 1 else ''}: one output and {inputs}, as a rule"
        return Part(text, "memory", meaning, True, of.ATEN_LOOPS)
    flash = _FLASH.match(text)
    if flash:
        head, queries, keys, warps = flash.groups()
        meaning = f"head size {head}, tiles of {queries} queries and {keys} keys, {warps} warps"
        return Part(text, "tile", meaning, True, of.FLASH_TRAITS)
    lists = _LISTS.search(text)
    if lists and "Functor" not in text:
        return Part(text, "memory", f"addresses of the tensors, in {lists[1]} list(s)", True, of.ATEN_MULTI)
    for word, field, meaning in _HELPERS:
        if re.match(rf"(?:\w+::)*\w*{word}\w*(?:<.*>)?$", text):
            return Part(text, field, meaning, True, of.ATEN_LOOPS)
    return None


def _as_function(text: str, role: Role | None, source: str) -> Part:
    """A functor or lambda: the operation it is named for."""
    reduction = _REDUCTION.search(text) if "ReduceOp" in text else None
    if reduction:
        name = reduction[2] or reduction[3] or reduction[1]
        return Part(text, "op", f"the reduction: {name}", True, source)
    for pattern in _FUNCTIONS:
        match = pattern.search(text)
        if match:
            return Part(text, "op", f"what is computed: {match[1]}{_types(text)}", True, source)
    if role is not None and role.field not in ("op", "dtype"):
        return Part(text, role.field, role.meaning.format(text), True, source)
    return Part(text, "template-argument", "a C++ type or function this decoder doesn't know", False)


def _types(text: str) -> str:
    """The number types of the lambda's or functor's arguments, where they are spelt out."""
    lists = re.findall(r"\{lambda\(([^(){}]+)\)#\d+\}", text)
    if "gpu_kernel_impl" in text or "gpu_index_kernel" in text:
        lists = lists[:-1]  # the outermost lambda takes the element's number
    for words in [*reversed(lists), *re.findall(r"<([\w:, ]+)", text)]:
        types = {CPP_TYPES[word.strip()] for word in words.split(",") if word.strip() in CPP_TYPES}
        if types:
            return f", in {' and '.join(sorted(types))}"
    return ""
