"""What each page was computed from: for its banner, and to read it again when that is not so any more.

With every page goes the fingerprint, at the time it was read, of all it looked at.  A page is out of date
when one of them is another now, whatever was built in between.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from kinetoscope.book.build_context import Book, UnknownName, book_of

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment


class Use(NamedTuple):
    """Something in the recordings that a page looked at."""

    machine: str
    """``""``: every machine there is"""
    example: str
    """stem of an example; ``""``: the machine itself; ``"*"``: all its examples"""
    fixed: bool = False
    """whether the page asks for that machine by name, whichever a reader chooses"""


_FAULTY = "faulty"
"""the fingerprint of nothing: a page that warned is read, and warns, in every build"""


def note_use(env: BuildEnvironment, book: Book, name: str, machine: str | None = None) -> None:
    """Notes that the page being read shows the trace or table NAME of a machine, or asks for it in vain."""
    try:
        owner = book.machine(machine).owner(name)
    except UnknownName:
        owner = None
    stem = "*" if owner is None else owner.stem
    _note(env, book, Use(machine or book.shown, stem, fixed=machine is not None))


def note_page(env: BuildEnvironment, book: Book, stem: str) -> None:
    """Notes that the page being read is that of the example ``stem``."""
    for machine in book.here:
        _note(env, book, Use(machine, stem))


def note_machine(env: BuildEnvironment, book: Book) -> None:
    """Notes that the page being read says something about the machine shown."""
    _note(env, book, Use(book.shown, ""))


def note_all(env: BuildEnvironment, book: Book) -> None:
    """Notes that the page being read lists every machine and example."""
    _note(env, book, Use("", "*"))


def note_fault(env: BuildEnvironment) -> None:
    """Notes that the page being read has given a warning: under ``-W`` the next build must fail too."""
    _uses(env).setdefault(env.docname, {})[Use("", _FAULTY)] = _FAULTY


def has_switch(env: BuildEnvironment, docname: str) -> bool:
    """Whether a page shows something of whichever machine a reader chooses, and there is a choice."""
    book = book_of(env)
    uses = _uses(env).get(docname, {})
    return len(book.switch) > 1 and any(_is_shown(book, use) and not use.fixed for use in uses)


def machines_of(env: BuildEnvironment, docname: str) -> list[str]:
    """The machines whose recordings a page shows where one is chosen, that one first."""
    book = book_of(env)
    uses = [use for use in _uses(env).get(docname, {}) if _is_shown(book, use)]
    found = {use.machine if use.fixed else book.shown for use in uses}
    return sorted(found, key=lambda name: (name != book.shown, name))


def purge(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """``env-purge-doc``"""
    _uses(env).pop(docname, None)


def merge(app: Sphinx, env: BuildEnvironment, docnames: Iterable[str], other: BuildEnvironment) -> None:
    """``env-merge-info``"""
    for docname in docnames:
        if docname in _uses(other):
            _uses(env)[docname] = _uses(other)[docname]


def outdated(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> set[str]:
    """``env-get-outdated``: pages that were computed from something other than what is there now."""
    book = book_of(env)
    return {
        docname
        for docname, uses in _uses(env).items()
        if any(fingerprint != _fingerprint(book, use) for use, fingerprint in uses.items())
    }


def _note(env: BuildEnvironment, book: Book, use: Use) -> None:
    _uses(env).setdefault(env.docname, {})[use] = _fingerprint(book, use)


def _fingerprint(book: Book, use: Use) -> str:
    names = [use.machine] if use.machine else sorted(book.machines)
    parts = [*book.switch, str(book.is_held), book.bench.fingerprint]
    for name in names:
        machine = book.machines.get(name)
        if machine is None:
            parts.append("no such machine")
            continue
        parts.append(repr(machine.provenance))
        stems = sorted(machine.examples) if use.example == "*" else [use.example]
        parts += [
            f"{stem} {machine.examples[stem].fingerprint}" for stem in stems if stem in machine.examples
        ]
    return "\n".join(parts)


def _is_shown(book: Book, use: Use) -> bool:
    machine = book.machines.get(use.machine)
    return machine is not None and (use.example == "" or use.example in machine.examples)


def _uses(env: BuildEnvironment) -> dict[str, dict[Use, str]]:
    """Fingerprint of each use, by document; kept in the pickled environment."""
    if not hasattr(env, "kinetoscope_uses"):
        env.kinetoscope_uses = {}  # type: ignore[attr-defined]
    return env.kinetoscope_uses  # type: ignore[attr-defined, no-any-return]
