"""C++ names that nobody demangled (``_ZN7cutlass7Kernel2I...``): the function's name, and whose it is.

Only as much is read as tells the maker: the nested name, and that of the first template argument.  The
grammar is the Itanium C++ ABI's (:data:`~kinetoscope.kernel_names.sources.ITANIUM`).
"""

from __future__ import annotations

import re

from kinetoscope.kernel_names import sources as of
from kinetoscope.kernel_names.cpp import inside_cutlass
from kinetoscope.kernel_names.cpp_families import cpp_family
from kinetoscope.kernel_names.families import Family
from kinetoscope.kernel_names.parts import KernelName, Part, Placed, cover, scan, unknown

_START = re.compile(r"_Z(?=N|L?\d|St)")
_LENGTH = re.compile(r"[1-9]\d{0,3}(?!\d)")
# Qualifiers of a member function, a name private to its file, and the namespace std: they name nobody.
_SKIPPED = re.compile(r"[rVKRO](?=\d|S|L)|L(?=\d)|St|S[0-9A-Z]+_")


def read(name: str) -> KernelName | None:
    """``name`` taken apart, or None if it is not a mangled C++ function's.

    >>> read("_ZN2at6native12_GLOBAL__N_118some_kernelIfEEvPT_").maker
    'ATen'
    """
    start = _START.match(name)
    if start is None:
        return None
    words, end = _nested(name, start.end(), "")
    if not words:
        return None
    qualified = "::".join(words)
    text = f"the C++ function {qualified}, with the length of each word before it (mangled)"
    placed = [
        Placed(0, Part("_Z", "c++", "a C++ name, mangled", True, of.ITANIUM)),
        Placed(2, Part(name[2:end], "op", text, True, of.ITANIUM)),
    ]
    first: list[str] = []
    inner = end
    if name.startswith("I", end):
        first, inner = _nested(name, end + 1, words[0])
        if first and first[-1].startswith("enable_") and name.startswith("I", inner):
            first, inner = _nested(name, inner + 1, words[0])
    argument = "::".join(first)
    family = cpp_family(qualified, f"{qualified}<{argument}>")
    if family is not None and family.slug == "cutlass" and argument:
        family = _of_cutlass(family, argument, placed, name, inner)
    rest = max(start + len(part.text) for start, part in placed)
    meaning = "template arguments and parameters, mangled: this decoder doesn't read them"
    placed.append(Placed(rest, Part(name[rest:], "parameters", meaning, True, of.ITANIUM)))
    if family is None:
        what = "A C++ kernel, its name mangled, of a project this decoder doesn't know."
        return KernelName(name, "unknown", "unknown", what, cover(name, placed))
    return family.kernel(name, placed)


def _of_cutlass(family: Family, argument: str, placed: list[Placed], name: str, end: int) -> Family:
    named, family = inside_cutlass(family, argument)
    if named:
        at = end - len(argument)
        placed.append(
            Placed(
                placed[-1].start + len(placed[-1].part.text),
                unknown(name[placed[-1].start + len(placed[-1].part.text) : at]),
            )
        )
        placed += scan(name, family.rules, at, end)
    return family


def _nested(name: str, at: int, first: str) -> tuple[list[str], int]:
    """The words of the name at ``at``, and where they end.  ``first``: what ``S_`` stands for."""
    words: list[str] = []
    nested = name.startswith("N", at)
    at += nested
    while at < len(name):
        if name.startswith("S_", at) and first and not words:
            words.append(first)
            at += 2
        elif skipped := _SKIPPED.match(name, at):
            at = skipped.end()
        elif length := _LENGTH.match(name, at):
            stop = length.end() + int(length[0])
            word = name[length.end() : stop]
            if len(word) < int(length[0]) or not word.isidentifier():
                break
            words.append("(anonymous namespace)" if word.startswith("_GLOBAL__N_") else word)
            at = stop
            if not nested:
                break
        else:
            break
    return words, at
