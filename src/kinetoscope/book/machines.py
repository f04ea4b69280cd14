"""``{machines}``: a table of every recording's provenance, for the page that answers "on what?"."""

from __future__ import annotations

from collections.abc import Sequence

from docutils import nodes
from docutils.nodes import Node
from sphinx.util.docutils import SphinxDirective

from kinetoscope.book.banner import day
from kinetoscope.book.build_context import book_of
from kinetoscope.book.dependencies import note_all
from kinetoscope.book.nodes import document_table
from kinetoscope.record.store import MachineRecording


class Machines(SphinxDirective):
    """One section of facts and one table of examples for each machine in the recordings."""

    def run(self) -> list[Node]:
        book = book_of(self.env)
        note_all(self.env, book)
        found: list[Node] = []
        for machine in sorted(book.machines.values(), key=lambda item: (item.name != book.shown, item.name)):
            section = nodes.section(ids=[nodes.make_id(f"machine-{machine.name}")])
            section += nodes.title("", machine.provenance.machine.gpu)
            section += _facts(machine)
            section += _examples(machine, [script.stem for script in book.scripts.values()])
            found.append(section)
        return found


def _facts(machine: MachineRecording) -> Node:
    provenance = machine.provenance
    hardware = provenance.machine
    facts = {
        "Folder": f"recordings/{machine.name}",
        "GPU": f"{hardware.gpu} ({hardware.gpu_arch})" if hardware.gpu_arch else "none",
        "Streaming multiprocessors": str(hardware.sms) if hardware.sms else "",
        "GPU memory": f"{hardware.memory_bytes / 2**30:.1f} GiB" if hardware.memory_bytes else "",
        "Driver": hardware.driver,
        "CUDA": hardware.cuda,
        "CPU": hardware.cpu,
        "Python": provenance.python,
        **provenance.libraries,
        "Recorded": day(provenance.recorded),
        "Revision": provenance.revision,
    }
    return _table(("what", "value"), [(key, value) for key, value in facts.items() if value])


def _examples(machine: MachineRecording, order: Sequence[str]) -> Node:
    """In the gallery's order; those of which the script is gone last."""
    place = {stem: number for number, stem in enumerate(order)}
    rows = [
        (
            f"{stem}.py",
            f"{example.run_time:.0f}\N{NO-BREAK SPACE}s",
            ", ".join((*example.traces, *example.tables)),
            day(example.provenance.recorded),
        )
        for stem, example in sorted(
            machine.examples.items(), key=lambda item: (place.get(item[0], len(place)), item[0])
        )
    ]
    return _table(("example", "ran for", "traces and tables", "recorded"), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Node:
    return nodes.container("", document_table(head, rows), classes=["ks-scroll"])
