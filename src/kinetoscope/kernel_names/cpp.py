"""A demangled C++ name split into return type, scope, name, template arguments and parameters."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PAIRS = {">": "<", ")": "(", "}": "{", "]": "["}
# Brackets that open nothing: they are part of a name.
_ATOMS = re.compile(
    r"\(anonymous namespace\)|<unnamed>|\(unnamed[^()]*\)|operator\s*(?:\(\)|\[\]|->|[<>]{1,2}=?)|->"
)


@dataclass(frozen=True, slots=True)
class Demangled:
    """Offsets into the name, each a (start, end)."""

    returns: tuple[int, int]
    scope: tuple[int, int]
    base: tuple[int, int]
    templates: tuple[tuple[int, int], ...]
    parameters: tuple[int, int]


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
    last = name.rfind(")")
    return Demangled(
        returns=_strip(name, 0, begin),
        scope=_strip(name, begin, base),
        base=_strip(name, base, base_end),
        templates=tuple(
            arg for pair in zip(edges[::2], edges[1::2], strict=True) if _filled(arg := _strip(name, *pair))
        ),
        parameters=_strip(name, min(end + 1, len(name)), last if last > end else len(name)),
    )


def _filled(at: tuple[int, int]) -> bool:
    return at[1] > at[0]


def _strip(name: str, start: int, end: int) -> tuple[int, int]:
    """``start, end`` without white space and colons at the ends."""
    end = max(start, end)
    while start < end and name[start] in " :":
        start += 1
    while end > start and name[end - 1] in " :":
        end -= 1
    return start, end
