"""What the book claims and what others said, each with its verdict; written as ``claims.json``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kinetoscope.book.build_context import book_of
from kinetoscope.book.messages import warn

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

Outcome = Literal["holds", "in part", "fails", "not measured"]
"""``not measured``: on a machine that is not the book's, whose recording lacks what the sentence is about"""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What came of a sentence on another machine, as in :class:`Verdict`."""

    verdict: Outcome
    expression: str
    value: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """One sentence, judged.  These are the fields of an object in ``claims.json``."""

    id: str
    kind: Literal["claim", "reported"]
    sentence: str
    said_by: tuple[str, ...]
    """tags of the sources; empty for a claim"""
    published: str
    """the figure that was published with it, as it was; empty if none was"""
    expression: str
    value: str
    """what was measured, as it stands on the page; empty if nothing but the verdict is"""
    verdict: Outcome
    machine: str
    page: str
    """document name; the id of the sentence there is ``id``"""
    elsewhere: Mapping[str, Elsewhere] = field(default_factory=dict)
    """by name of the machine, where a reader can switch to others"""


def add_verdict(env: BuildEnvironment, verdict: Verdict, location: str) -> None:
    """Keeps a verdict with its page."""
    _verdicts(env).setdefault(env.docname, []).append((verdict, location))


def all_verdicts(env: BuildEnvironment) -> list[Verdict]:
    """Every verdict of the book, by page and by place on the page."""
    return [verdict for docname in sorted(_verdicts(env)) for verdict, _ in _verdicts(env)[docname]]


def warn_about_twins(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """``env-updated``, in every build: an id is there once in a book, whichever process read the pages."""
    seen: dict[str, str] = {}
    for docname in sorted(_verdicts(env)):
        for verdict, location in _verdicts(env)[docname]:
            if verdict.id in seen:
                first = seen[verdict.id]
                warn("claim", f"a second sentence is called {verdict.id!r}; the first is {first}", location)
            seen.setdefault(verdict.id, location)
    return []


def write_json(app: Sphinx, exception: Exception | None) -> None:
    """``build-finished``: ``claims.json`` at the root of the built site."""
    if exception is not None or app.builder.format != "html":
        return
    items = [asdict(verdict) for verdict in all_verdicts(app.env)]
    text = json.dumps(items, indent=1, ensure_ascii=False) + "\n"
    Path(app.outdir, "claims.json").write_text(text, encoding="utf-8")


def purge(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """``env-purge-doc``"""
    _verdicts(env).pop(docname, None)


def merge(app: Sphinx, env: BuildEnvironment, docnames: Iterable[str], other: BuildEnvironment) -> None:
    """``env-merge-info``"""
    for docname in docnames:
        if docname in _verdicts(other):
            _verdicts(env)[docname] = _verdicts(other)[docname]


def machine_name(env: BuildEnvironment) -> str:
    """The machine a verdict is about."""
    return book_of(env).shown


def _verdicts(env: BuildEnvironment) -> dict[str, list[tuple[Verdict, str]]]:
    if not hasattr(env, "kinetoscope_verdicts"):
        env.kinetoscope_verdicts = {}  # type: ignore[attr-defined]
    return env.kinetoscope_verdicts  # type: ignore[attr-defined, no-any-return]
