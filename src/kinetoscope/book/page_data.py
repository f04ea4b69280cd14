"""What the environment keeps of each page: what it was computed from, its verdicts, the traces it shows.

Everything that a page looked at is kept with the fingerprint it had when the page was read.  A page is out of
date once one of these fingerprints has changed, whatever was built in between.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from sphinx.environment.collectors import EnvironmentCollector

from kinetoscope.book.build_context import BuildContext, UnknownName, context_of
from kinetoscope.book.messages import warn

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

    from kinetoscope.book.claims import Verdict


class Use(NamedTuple):
    """Something in the recordings that a page looked at."""

    machine: str
    """``""``: every machine"""
    example: str
    """stem of an example; ``""``: the machine itself; ``"*"``: all its examples"""
    fixed: bool = False
    """whether the page names the machine, so that a reader's choice does not change it"""


_FAULTY = Use("", "faulty")
"""A page that warned.  Its fingerprint is never met, so that every build reads it and warns again"""


@dataclass(slots=True)
class PageData:
    """What is kept of one page."""

    uses: dict[Use, str] = field(default_factory=dict)
    """the fingerprint of each use"""
    verdicts: list[tuple[Verdict, str]] = field(default_factory=list)
    """each with the location of its sentence"""
    traces: dict[str, None] = field(default_factory=dict)
    """the keys that :func:`kinetoscope.book.assets.show_trace` returned, in the order of the page"""


def pages(env: BuildEnvironment) -> dict[str, PageData]:
    """What is kept of each page, by document name; part of the pickled environment."""
    if not hasattr(env, "kinetoscope_pages"):
        env.kinetoscope_pages = {}  # type: ignore[attr-defined]
    return env.kinetoscope_pages  # type: ignore[attr-defined, no-any-return]


def this_page(env: BuildEnvironment) -> PageData:
    """What is kept of the page being read."""
    return pages(env).setdefault(env.docname, PageData())


class PageDataCollector(EnvironmentCollector):
    """Keeps :func:`pages` right in incremental and parallel builds."""

    def clear_doc(self, app: Sphinx, env: BuildEnvironment, docname: str) -> None:
        pages(env).pop(docname, None)

    def merge_other(
        self, app: Sphinx, env: BuildEnvironment, docnames: Set[str], other: BuildEnvironment
    ) -> None:
        pages(env).update({name: data for name, data in pages(other).items() if name in docnames})

    def process_doc(self, app: Sphinx, doctree: nodes.document) -> None:
        """Directives and roles have noted everything while the page was read."""

    def get_outdated_docs(
        self, app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
    ) -> list[str]:
        context = context_of(env)
        return [
            docname
            for docname, page in pages(env).items()
            if any(fingerprint != _fingerprint(context, use) for use, fingerprint in page.uses.items())
        ]


def note_use(env: BuildEnvironment, name: str, machine: str | None = None) -> None:
    """Notes that the page being read shows the trace or table NAME of a machine, or asks for it in vain."""
    context = context_of(env)
    try:
        owner = context.machine(machine).owner(name)
    except UnknownName:
        owner = None
    stem = "*" if owner is None else owner.stem
    _note(env, Use(machine or context.shown, stem, fixed=machine is not None))


def note_example(env: BuildEnvironment, stem: str) -> None:
    """Notes that the page being read shows something of the example ``stem``."""
    for machine in context_of(env).reading:
        _note(env, Use(machine, stem))


def note_machine(env: BuildEnvironment) -> None:
    """Notes that the page being read says something about the machine shown."""
    _note(env, Use(context_of(env).shown, ""))


def note_all_recordings(env: BuildEnvironment) -> None:
    """Notes that the page being read lists every machine and example."""
    _note(env, Use("", "*"))


def warn_on_page(env: BuildEnvironment, subtype: str, message: str, location: str | None) -> None:
    """Gives a warning about the page being read, and has every build read the page and warn again.

    Without that, a second build under ``-W`` would succeed with the fault still there.
    """
    warn(subtype, message, location)
    this_page(env).uses[_FAULTY] = "never met"


def has_switch(env: BuildEnvironment, docname: str) -> bool:
    """Whether a page shows something that depends on the reader's choice, and there is a choice."""
    return len(context_of(env).switch) > 1 and any(not use.fixed for use in _shown_uses(env, docname))


def machines_on_page(env: BuildEnvironment, docname: str) -> list[str]:
    """The machines whose recordings a page shows while one is chosen; the chosen one comes first."""
    shown = context_of(env).shown
    machines = {use.machine if use.fixed else shown for use in _shown_uses(env, docname)}
    return sorted(machines, key=lambda name: (name != shown, name))


def _shown_uses(env: BuildEnvironment, docname: str) -> list[Use]:
    """The uses of a page that are about something recorded."""
    machines = context_of(env).machines
    return [
        use
        for use in pages(env).get(docname, PageData()).uses
        if use.machine in machines and (use.example == "" or use.example in machines[use.machine].examples)
    ]


def _note(env: BuildEnvironment, use: Use) -> None:
    this_page(env).uses[use] = _fingerprint(context_of(env), use)


def _fingerprint(context: BuildContext, use: Use) -> str:
    parts = [*context.switch, str(context.is_held), context.bench.fingerprint]
    for name in [use.machine] if use.machine else sorted(context.machines):
        machine = context.machines.get(name)
        if machine is None:
            parts.append("no such machine")
            continue
        parts.append(repr(machine.provenance))
        stems = sorted(machine.examples) if use.example == "*" else [use.example]
        parts += [
            f"{stem} {machine.examples[stem].fingerprint}" for stem in stems if stem in machine.examples
        ]
    return "\n".join(parts)
