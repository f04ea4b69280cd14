"""What a decoded kernel name consists of, and how rules cut a name into parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

SEPARATORS = frozenset(" _<>,:()")
"""What may stand between two parts; everything else in a name belongs to a part."""

NOT_DOCUMENTED = "not documented by its maker"


@dataclass(frozen=True, slots=True)
class Part:
    """One token of a kernel's name."""

    text: str
    """exactly as it stands in the name"""
    field: str
    """a slug: library, arch, dtype, instruction, tile, cluster, stages, layout, epilogue, op, ..., unknown"""
    meaning: str
    known: bool
    """The meaning is documented, or is that of a plain word, or was checked on recorded launches.  An unknown
    part may still say what we observed about it, but never a guess."""
    source: str = ""
    """a URL or a document; empty where the word speaks for itself or nothing is known"""


@dataclass(frozen=True, slots=True)
class KernelName:
    """A kernel's name taken apart; ``parts``, joined by the separators between them, are the whole name."""

    name: str
    family: str
    """a slug; ``plain``: an identifier anybody could have chosen; ``unknown``: nothing recognized"""
    maker: str
    """who wrote or generated the kernel, or "unknown\""""
    what: str
    """one sentence"""
    parts: tuple[Part, ...]


class Placed(NamedTuple):
    """A part and where in the name it starts."""

    start: int
    part: Part


class Rule(NamedTuple):
    """How a token is recognized and what it means."""

    pattern: str
    """a regular expression, tried where a token may start"""
    field: str
    meaning: str | Callable[[re.Match[str]], str]
    """``{0}``, ``{1}`` are the pattern's groups"""
    source: str = ""
    known: bool = True
    once: bool = False
    """The rule applies only to the first token it fits; the rules after it read a later one."""
    whole: bool = True
    """The token has to end where the match ends.  If false, another token may follow without a separator."""


LONGEST = 2000
"""Characters of a name that are read token by token; the rest is one unknown part"""


@lru_cache(maxsize=1024)
def _compiled(pattern: str, whole: bool) -> re.Pattern[str]:
    return re.compile(rf"(?:{pattern})(?![^\W_])" if whole else pattern, re.ASCII)


def scan(name: str, rules: Iterable[Rule], start: int = 0, end: int | None = None) -> list[Placed]:
    """The parts of ``name[start:end]``, each by the first rule that fits; unknown where none does."""
    end = min(len(name) if end is None else end, start + LONGEST)
    left = list(rules)
    placed: list[Placed] = []
    at = start
    while at < end:
        if name[at] in SEPARATORS:
            at += 1
            continue
        for index, rule in enumerate(left):
            match = _compiled(rule.pattern, rule.whole).match(name, at, end)
            if match is not None and match.end() > at:
                meaning = rule.meaning
                text = meaning.format(*match.groups()) if isinstance(meaning, str) else meaning(match)
                placed.append(Placed(at, Part(match[0], rule.field, text, rule.known, rule.source)))
                at = match.end()
                if rule.once:
                    del left[index]
                break
        else:
            stop = at
            while stop < end and name[stop] not in SEPARATORS:
                stop += 1
            placed.append(Placed(at, unknown(name[at:stop])))
            at = stop
    return placed


def unknown(text: str) -> Part:
    """A part about which nothing is known."""
    return Part(text, "unknown", f"unknown: {NOT_DOCUMENTED}, or not in this decoder", False)


def cover(name: str, placed: Iterable[Placed]) -> tuple[Part, ...]:
    """The parts in order and without overlaps, with unknown parts for the gaps between them."""
    parts: list[Part] = []
    at = 0
    for start, part in sorted(placed, key=lambda p: p.start):
        if start < at or not part.text:
            continue
        parts += _gap(name[at:start])
        parts.append(part)
        at = start + len(part.text)
    return (*parts, *_gap(name[at:]))


def _gap(text: str) -> list[Part]:
    stripped = text.strip("".join(SEPARATORS))
    return [unknown(stripped)] if stripped else []
