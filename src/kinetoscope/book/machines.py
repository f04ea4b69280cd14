"""Where the numbers come from: a line under the title of each page, and the table of ``{machines}``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.nodes import Node

from kinetoscope.book.build_context import BuildContext, context_of
from kinetoscope.book.directive import BookDirective
from kinetoscope.book.machine_variants import machine_labels, machine_switch, reading_for, side_by_side
from kinetoscope.book.nodes import document_table
from kinetoscope.book.page_data import has_switch, machines_on_page, note_all_recordings
from kinetoscope.record.provenance import Provenance
from kinetoscope.record.store import MachineRecording

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def add_banner(app: Sphinx, doctree: nodes.document) -> None:
    """``doctree-read``: a line under the title of every page that shows a recording, and the switch."""
    env = app.env
    context = context_of(env)
    if not machines_on_page(env, env.docname):
        return
    banner = nodes.container(classes=["ks-banner"])
    lines = {}
    for name in context.switch if has_switch(env, env.docname) else context.switch[:1]:
        with reading_for(env, name):
            lines[name] = _sentences(env)
    banner += side_by_side(context, lines)
    if len(lines) > 1:
        switch_name = nodes.make_id(f"ks-switch-{env.docname}")
        banner += machine_switch("", labels=machine_labels(context), name=switch_name)
    title = next(doctree.findall(nodes.title), None)
    place = title.parent if title is not None else doctree
    place.insert(place.index(title) + 1 if title is not None else 0, banner)


def _sentences(env: BuildEnvironment) -> list[Node]:
    """A paragraph for each machine whose recordings the page shows."""
    context = context_of(env)
    paragraphs: list[Node] = []
    for name in machines_on_page(env, env.docname):
        example = context.example(env.docname) if name == context.shown else None
        text = _sentence(context.machine(name).provenance if example is None else example.provenance)
        if example is not None:
            text += f" The example ran for {example.run_time:.0f} s."
        paragraphs.append(nodes.paragraph(text, text))
    return paragraphs


def _sentence(provenance: Provenance) -> str:
    """“Recorded on NVIDIA H200, driver 580.159.04, torch 2.11.0, Triton 3.6.0, on 29 Nov 2026.”"""
    machine = provenance.machine
    parts = [f"Recorded on {machine.gpu}"]
    if machine.driver:
        parts.append(f"driver {machine.driver}")
    for name, label in (("torch", "torch"), ("triton", "Triton")):
        if version := provenance.libraries.get(name):
            parts.append(f"{label} {version}")
    parts.append(f"on {_day(provenance.recorded)}")
    return ", ".join(parts) + "."


def _day(iso: str) -> str:
    """``2026-11-29`` as ``29 Nov 2026``, whatever the locale."""
    try:
        when = date.fromisoformat(iso)
    except ValueError:
        return iso
    return f"{when.day} {_MONTHS[when.month - 1]} {when.year}"


class Machines(BookDirective):
    """One section of facts and one table of examples for each machine in the recordings."""

    def run(self) -> list[Node]:
        note_all_recordings(self.env)
        context = self.context
        machines = sorted(context.machines.values(), key=lambda item: (item.name != context.shown, item.name))
        return [_section(machine, context) for machine in machines]


def _section(machine: MachineRecording, context: BuildContext) -> Node:
    section = nodes.section(ids=[nodes.make_id(f"machine-{machine.name}")])
    section += nodes.title("", machine.provenance.machine.gpu)
    section += _facts(machine)
    section += _examples(machine, [script.stem for script in context.scripts.values()])
    return section


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
        "Recorded": _day(provenance.recorded),
        "Revision": provenance.revision,
    }
    return _table(("what", "value"), [(key, value) for key, value in facts.items() if value])


def _examples(machine: MachineRecording, order: Sequence[str]) -> Node:
    """In the gallery's order; examples whose script is gone come last."""
    in_order = dict.fromkeys([*order, *sorted(machine.examples)])
    examples = [machine.examples[stem] for stem in in_order if stem in machine.examples]
    rows = [
        (
            f"{example.stem}.py",
            f"{example.run_time:.0f}\N{NO-BREAK SPACE}s",
            ", ".join(example.results),
            _day(example.provenance.recorded),
        )
        for example in examples
    ]
    return _table(("example", "ran for", "traces and tables", "recorded"), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Node:
    return nodes.container("", document_table(head, rows), classes=["ks-scroll"])
