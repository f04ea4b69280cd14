"""Says at the top of every page whose numbers it shows."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from docutils import nodes

from kinetoscope.book.book import Book, book_of
from kinetoscope.book.used import machines_of
from kinetoscope.record.provenance import Provenance

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def add_banner(app: Sphinx, doctree: nodes.document) -> None:
    """``doctree-read``: a line under the title of every page that shows a recording."""
    env = app.env
    book = book_of(env)
    machines = machines_of(env, env.docname)
    if not machines:
        return
    banner = nodes.container(classes=["ks-banner"])
    for name in machines:
        provenance, run_time = _provenance(book, env.docname, name)
        text = sentence(provenance)
        if run_time is not None:
            text += f" The example ran for {run_time:.0f} s."
        banner += nodes.paragraph(text, text)
    title = next(doctree.findall(nodes.title), None)
    place = title.parent if title is not None else doctree
    place.insert(place.index(title) + 1 if title is not None else 0, banner)


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
