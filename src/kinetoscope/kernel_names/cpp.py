"""Demangled C++ names: split into return type, scope, name, template arguments and parameters, then read."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from kinetoscope.kernel_names import sources as of
from kinetoscope.kernel_names.cpp_families import cpp_family
from kinetoscope.kernel_names.families import Argument, Family, named_family
from kinetoscope.kernel_names.parts import KernelName, Part, Placed, cover, scan
from kinetoscope.kernel_names.words import CPP_TYPES

Span = tuple[int, int]
"""Start and end of a piece of a name"""

_PAIRS = {">": "<", ")": "(", "}": "{", "]": "["}
# Brackets that open nothing: they are part of a name.
_ATOMS = re.compile(
    r"\(anonymous namespace\)|<unnamed>|\(unnamed[^()]*\)|operator\s*(?:\(\)|\[\]|->|[<>]{1,2}=?)|->"
)


@dataclass(frozen=True, slots=True)
class Demangled:
    """Where the pieces of a demangled function's name are; one that is missing is empty."""

    returns: Span
    scope: Span
    base: Span
    templates: tuple[Span, ...]
    parameters: Span


def split(name: str) -> Demangled | None:
    """``name`` split, or None if it is not a demangled C++ function's.

    >>> at = split("void a::f<4, g<int> >(int, int)")
    >>> [at.base, at.templates, at.parameters]
    [(8, 9), ((10, 11), (13, 19)), (22, 30)]
    >>> name = "std::enable_if<(((8)>(0)))&&v::t<B>::exists, void>::type vllm::fused<B, 8>(B*, long)"
    >>> at = split(name)
    >>> [name[slice(*span)] for span in (at.scope, at.base, *at.templates, at.parameters)]
    ['vllm', 'fused', 'B', '8', 'B*, long']
    """
    stack: list[str] = []
    begin = base = 0
    opened = closed = -1
    commas: list[int] = []
    at = 0
    while at < len(name):
        atom = _ATOMS.match(name, at)
        if atom:
            at = atom.end()
            continue
        char = name[at]
        if char in "<({[":
            if not stack:
                if char == "(":
                    break
                if char == "<":
                    opened, closed, commas = at, -1, []
            stack.append(char)
        elif char in _PAIRS:
            if stack and stack[-1] == _PAIRS[char]:
                stack.pop()
                if not stack and char == ">":
                    closed = at
        elif not stack and char == " ":
            begin = base = at + 1
            opened = closed = -1
        elif not stack and name.startswith("::", at):
            base = at + 2
            opened = closed = -1
            at += 1
        elif char == "," and stack == ["<"]:
            commas.append(at)
        at += 1
    end = at
    if end == len(name) and base == 0 and opened < 0:
        return None
    base_end = opened if opened >= 0 else end
    inside = (opened + 1, closed if closed >= 0 else end) if opened >= 0 else (end, end)
    edges = [inside[0], *(edge for comma in commas for edge in (comma, comma + 1)), inside[1]]
    templates = (_strip(name, *pair) for pair in zip(edges[::2], edges[1::2], strict=True))
    last = name.rfind(")")
    return Demangled(
        returns=_strip(name, 0, begin),
        scope=_strip(name, begin, base),
        base=_strip(name, base, base_end),
        templates=tuple(span for span in templates if span[0] < span[1]),
        parameters=_strip(name, min(end + 1, len(name)), last if last > end else len(name)),
    )


def _strip(name: str, start: int, end: int) -> Span:
    """``start, end`` without white space and colons at the ends."""
    end = max(start, end)
    while start < end and name[start] in " :":
        start += 1
    while end > start and name[end - 1] in " :":
        end -= 1
    return start, end


def read(name: str) -> KernelName | None:
    """``name`` taken apart, or None if it is not a demangled C++ function's."""
    at = split(name)
    if at is None or at.base[0] == at.base[1]:
        return None
    scope, base = name[slice(*at.scope)], name[slice(*at.base)]
    arguments = [name[slice(*span)] for span in at.templates]
    family = cpp_family(f"{scope}::{base}" if scope else base, name)
    placed = _frame(name, at)
    if family is not None and family.slug == "cutlass" and arguments:
        named, family = inside_cutlass(family, arguments[0])
        if named:
            return family.kernel(name, [*placed, *scan(name, family.rules, *at.templates[0])])
    places = _places(family, name, arguments)
    for (start, _), text, place in zip(at.templates, arguments, places, strict=True):
        placed.append(Placed(start, argument(text, place, family.source if family else "")))
    if family is None:
        what = "A C++ kernel of a project this decoder doesn't know."
        return KernelName(name, "unknown", "unknown", what, cover(name, placed))
    return family.kernel(name, placed)


_WRAPPED = re.compile(r"(?:[\w:]*enable_\w+<\s*)?([\w:]+)")


def inside_cutlass(family: Family, first: str) -> tuple[bool, Family]:
    """What a CUTLASS kernel computes: its common name has it as the first template argument, ``first``.

    Returns whether that is itself a name that is plain text, and the family.  A wrapper that compiles
    to nothing on older GPUs (``enable_sm90_or_later<...>``) may stand around it.
    """
    named = named_family(first)
    if named is not None and named.maker == "CUTLASS":
        return True, named
    match = _WRAPPED.match(first)
    inner = match[1] if match else ""
    if inner.startswith(("flash::", "pytorch_flash::")):
        return False, cpp_family("flash::kernel", "") or family
    if re.match(r"cutlass::(?:\w+::)*gemm::", inner):
        text = "Matrix multiplication built from CUTLASS 3 templates."
        return False, family._replace(slug="cutlass-3", what=text)
    return False, family


def _frame(name: str, at: Demangled) -> list[Placed]:
    """Everything of a C++ name except its template arguments."""
    pieces = (
        (at.returns, "c++", "what the function returns (a kernel: nothing)"),
        (at.scope, "library", "C++ namespace (an anonymous one: private to one source file)"),
        (at.base, "op", "the kernel function's name"),
        (at.parameters, "parameters", "types of the function's C++ parameters"),
    )
    return [
        Placed(start, Part(name[start:end], field, meaning, True))
        for (start, end), field, meaning in pieces
        if end > start
    ]


def _places(family: Family | None, name: str, arguments: list[str]) -> list[Argument | None]:
    """What each template argument is by its place; None where the family's source does not say."""
    places: tuple[Argument, ...] = family.arguments if family else ()
    if family is not None and family.slug == "flash-attention":
        flags = arguments[1:]
        if not flags or "flash_fwd_kernel" not in name or not {"true", "false"}.issuperset(flags):
            places = ()
    return [*places, *[None] * len(arguments)][: len(arguments)]


_SEARCHED = 2000
"""Characters of a template argument that are searched for what it is; a hostile one has millions"""

_LITERAL = re.compile(r"(?:\([\w: ]+\))?(-?\d+)[uUlL]*|true|false")
_POINTERS = re.compile(r"(?:std|at::detail)::(?:array|Array)<char\s*\*, (\d+)u?l*>")
_FLASH = re.compile(r"(?:\w+::)*Flash_\w+_kernel_traits<(\d+), (\d+), (\d+), (\d+)")
_LISTS = re.compile(r"TensorList\w*Metadata<(?:\w[\w:]*, )?(\d+)")
_REDUCTION = re.compile(
    r"(MeanOps|WelfordOps|Arg(?:Max|Min)Ops|NormTwoOps|NormOneOps|AbsMaxOps|(\w+)_functor<|(\w+)_kernel_cuda)"
)
_HELPERS = (
    ("OffsetCalculator", "how an element's number becomes an address (Trivial: contiguous)"),
    ("LoadWith", "how inputs are read: with or without conversion of their type"),
    ("StoreWith", "how the output is written: with or without conversion of its type"),
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


def argument(text: str, place: Argument | None, source: str = "") -> Part:
    """One template argument, read by its place and by what it is; ``source`` tells the meaning of a place."""
    if _LITERAL.fullmatch(text):
        if place is None or place.field in ("op", "dtype", "memory"):
            meaning = "a compile-time constant; of what, this decoder doesn't know"
            return Part(text, "template-argument", meaning, False)
        return Part(text, place.field, place.meaning.format(text), True, source)
    if text in CPP_TYPES:
        meaning = place.meaning if place is not None and place.field == "dtype" else "a number type: {0}"
        return Part(text, "dtype", meaning.format(CPP_TYPES[text]), True, source if place else "")
    searched = text[:_SEARCHED]
    found = _by_content(searched) or _as_function(searched, place, source)
    return replace(found, text=text)


def _by_content(text: str) -> Part | None:
    if pointers := _POINTERS.fullmatch(text):
        number = int(pointers[1])
        inputs = {0: "no input", 1: "1 input"}.get(number - 1, f"{number - 1} inputs")
        meaning = f"{number} pointer{'s' if number > 1 else ''}: one output and {inputs}, as a rule"
        return Part(text, "memory", meaning, True, of.ATEN_LOOPS)
    if flash := _FLASH.match(text):
        head, queries, keys, warps = flash.groups()
        meaning = f"head size {head}, tiles of {queries} queries and {keys} keys, {warps} warps"
        return Part(text, "tile", meaning, True, of.FLASH_TRAITS)
    lists = _LISTS.search(text)
    if lists and "Functor" not in text:
        return Part(text, "memory", f"addresses of the tensors, in {lists[1]} list(s)", True, of.ATEN_MULTI)
    for word, meaning in _HELPERS:
        if re.match(rf"(?:\w+::)*\w*{word}\w*(?:<.*>)?$", text):
            return Part(text, "memory", meaning, True, of.ATEN_LOOPS)
    return None


def _as_function(text: str, place: Argument | None, source: str) -> Part:
    """A functor or lambda: the operation it is named for."""
    reduction = _REDUCTION.search(text) if "ReduceOp" in text else None
    if reduction:
        name = reduction[2] or reduction[3] or reduction[1]
        return Part(text, "op", f"the reduction: {name}", True, source)
    for pattern in _FUNCTIONS:
        match = pattern.search(text)
        if match:
            return Part(text, "op", f"what is computed: {match[1]}{_types(text)}", True, source)
    if place is not None and place.field not in ("op", "dtype"):
        return Part(text, place.field, place.meaning.format(text), True, source)
    return Part(text, "template-argument", "a C++ type or function this decoder doesn't know", False)


def _types(text: str) -> str:
    """The number types of the lambda's or functor's arguments, where they are spelled out."""
    lists = re.findall(r"\{lambda\(([^(){}]+)\)#\d+\}", text)
    if "gpu_kernel_impl" in text or "gpu_index_kernel" in text:
        lists = lists[:-1]  # the outermost lambda takes the element's number
    for words in [*reversed(lists), *re.findall(r"<([\w:, ]+)", text)]:
        types = {CPP_TYPES[word.strip()] for word in words.split(",") if word.strip() in CPP_TYPES}
        if types:
            return f", in {' and '.join(sorted(types))}"
    return ""
