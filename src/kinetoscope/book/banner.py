"""Says at the top of every page whose numbers it shows."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from docutils import nodes

from kinetoscope.book.build_context import Book, book_of
from kinetoscope.book.dependencies import has_switch, machines_of
from kinetoscope.book.machine_variants import labels, machine_switch, reading_for, side_by_side
from kinetoscope.record.provenance import Provenance

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def add_banner(app: Sphinx, doctree: nodes.document) -> None:
    """``doctree-read``: a line under the title of every page that shows a recording."""
    env = app.env
    book = book_of(env)
    if not machines_of(env, env.docname):
        return
    banner = nodes.container(classes=["ks-banner"])
    said = {}
    for name in book.switch if has_switch(env, env.docname) else book.switch[:1]:
        with reading_for(env, name):
            said[name] = _sentences(env)
    banner += side_by_side(book, said)
    if len(said) > 1:
        banner += machine_switch("", labels=labels(book), name=nodes.make_id(f"ks-switch-{env.docname}"))
    title = next(doctree.findall(nodes.title), None)
    place = title.parent if title is not None else doctree
    place.insert(place.index(title) + 1 if title is not None else 0, banner)


def _sentences(env: BuildEnvironment) -> list[nodes.Node]:
    """A paragraph for each machine whose recordings the page shows."""
    book = book_of(env)
    found: list[nodes.Node] = []
    for name in machines_of(env, env.docname):
        provenance, run_time = _provenance(book, env.docname, name)
        text = sentence(provenance)
        if run_time is not None:
            text += f" The example ran for {run_time:.0f} s."
        found.append(nodes.paragraph(text, text))
    return found


def sentence(provenance: Provenance) -> str:
    """“Recorded on NVIDIA H200, driver 580.159.04, torch 2.11.0, Triton 3.6.0, on 29 Nov 2026.”"""
    machine = provenance.machine
    parts = [f"Recorded on {machine.gpu}"]
    if machine.driver:
        parts.append(f"driver {machine.driver}")
    for name, label in (("torch", "torch"), ("triton", "Triton")):
        if version := provenance.libraries.get(name):
            parts.append(f"{label} {version}")
    parts.append(f"on {day(provenance.recorded)}")
    return ", ".join(parts) + "."


def day(iso: str) -> str:
    """``2026-11-29`` as ``29 Nov 2026``, whatever the locale."""
    try:
        when = date.fromisoformat(iso)
    except ValueError:
        return iso
    return f"{when.day} {_MONTHS[when.month - 1]} {when.year}"


def _provenance(book: Book, docname: str, machine: str) -> tuple[Provenance, float | None]:
    example = book.example(docname) if machine == book.shown else None
    if example is not None:
        return example.provenance, example.run_time
    return book.machine(machine).provenance, None
