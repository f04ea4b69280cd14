"""What a decoded kernel name consists of, and how a name is cut into parts by rules."""

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
    """One token of a kernel's name.

    ``known`` means: documented, or a plain word, or checked against recorded launches (``source`` says
    which).  A part that is not known may still carry what was observed about it, never a guess.
    """

    text: str
    """exactly as it stands in the name"""
    field: str
    """a slug: library, arch, dtype, instruction, tile, cluster, stages, layout, epilogue, op, ..., unknown"""
    meaning: str
    known: bool
    source: str = ""
    """URL or document; empty if the word says it itself or nothing is known"""


@dataclass(frozen=True, slots=True)
class KernelName:
    """A kernel's name taken apart; ``parts``, joined by the separators between them, are the whole name."""

    name: str
    family: str
    """a slug; ``plain``: an identifier anybody could have chosen; ``unknown``: nothing recognised"""
    maker: str
    """who wrote or generated the kernel, or "unknown\""""
    what: str
    """one sentence"""
    parts: tuple[Part, ...]

    @property
    def decoded(self) -> bool:
        """Whether the family is known, so that the name says more than itself."""
        return self.family not in ("plain", "unknown")


class Placed(NamedTuple):
    """A part and where in the name it starts."""

    start: int
    part: Part


class Rule(NamedTuple):
    """How a token is recognised and what it means."""

    pattern: str
    """a regular expression, tried where a token may start"""
    field: str
    meaning: str | Callable[[re.Match[str]], str]
    """``{0}``, ``{1}`` are the pattern's groups"""
    source: str = ""
    known: bool = True
    once: bool = False
    """the rule holds for the first token it fits; a later one is read by the rules after it"""
    whole: bool = True
    """the token has to end where the match ends (False: the next token follows without separator)"""


@lru_cache(maxsize=1024)
def _compiled(pattern: str, whole: bool) -> re.Pattern[str]:
    return re.compile(rf"(?:{pattern})(?![^\W_])" if whole else pattern, re.ASCII)


def scan(name: str, rules: Iterable[Rule], start: int = 0, end: int | None = None) -> list[Placed]:
    """The parts of ``name[start:end]`` by the first rule that fits at each token; unknown where none does."""
    end = len(name) if end is None else end
    left = list(rules)
    found: list[Placed] = []
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
                found.append(Placed(at, Part(match[0], rule.field, text, rule.known, rule.source)))
                at = match.end()
                if rule.once:
                    del left[index]
                break
        else:
            stop = at
            while stop < end and name[stop] not in SEPARATORS:
                stop += 1
            found.append(Placed(at, unknown(name[at:stop])))
            at = stop
    return found


def unknown(text: str) -> Part:
    """The part nothing is known about."""
    return Part(text, "unknown", f"unknown: {NOT_DOCUMENTED}, or not in this decoder", False)


def cover(name: str, placed: Iterable[Placed]) -> tuple[Part, ...]:
    """``placed`` in order, without overlaps, and the gaps between them as unknown parts."""
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
