"""What a build shows: the recordings there are, the machine that is shown, and what it recorded.

Each build environment has one :class:`BuildContext`.  Directives and roles get it from :func:`context_of`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from kinetoscope.measure.csvtable import CsvTable
from kinetoscope.measure.errors import suggestion
from kinetoscope.record.provenance import MachineFacts
from kinetoscope.record.script import Script
from kinetoscope.record.store import BENCH, BenchRecording, ExampleRecording, MachineRecording
from kinetoscope.trace import Trace, load_whole

if TYPE_CHECKING:
    from sphinx.environment import BuildEnvironment


class UnknownName(LookupError):
    """A NAME or machine that is not in the recordings; the message lists what is."""


@dataclass(eq=False)
class BuildContext:
    """The recordings of one build, and the machines that are being read for."""

    root: Path
    """the folder that paths in messages are relative to: that of conf.py"""
    machines: Mapping[str, MachineRecording]
    switch: tuple[str, ...]
    """the machines that a reader of a page can choose from; a page shows the first until another is chosen"""
    is_reference: bool
    """whether the first machine of the switch is the one the book's sentences are held to"""
    scripts: Mapping[str, Script] = field(default_factory=dict)
    """each example, by the document name of its gallery page"""
    failed: frozenset[Path] = frozenset()
    """scripts that could not be recorded in this build"""
    is_html: bool = True
    """whether the builder writes HTML"""
    picture: str = ""
    """suffix of the picture files that other builders can show: ``pdf``, ``png``, or empty for none"""
    bench: BenchRecording = field(default_factory=lambda: BenchRecording(Path(BENCH)))
    """tables and figures that no example wrote"""
    reading: tuple[str, ...] = ()
    """the machines of :attr:`switch` that the text at hand is read for; see
    :func:`kinetoscope.book.machine_variants.reading_for`"""
    _cache: dict[Path, Trace | CsvTable] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.reading = self.reading or self.switch

    @property
    def shown(self) -> str:
        """The machine whose recording directives and roles show at the moment."""
        return self.reading[0]

    @property
    def is_default(self) -> bool:
        """Whether :attr:`shown` is the machine that pages show until a reader chooses another."""
        return self.shown == self.switch[0]

    @property
    def is_held(self) -> bool:
        """Whether the book's sentences are held to its default machine in this build.

        They are not if an example failed in this build and has no older recording: what is missing then is
        not the page's fault.
        """
        recorded = self.machine(self.switch[0]).examples
        return self.is_reference and all(path.stem in recorded for path in self.failed)

    @property
    def is_strict(self) -> bool:
        """Whether a page that asks for something that is not recorded gets a warning."""
        return self.is_default and self.is_held

    def machine(self, name: str | None = None) -> MachineRecording:
        """The machine ``name``, or the one shown.  Raises :class:`UnknownName`."""
        wanted = name or self.shown
        if wanted not in self.machines:
            raise _unknown("machine", wanted, self.machines)
        return self.machines[wanted]

    @property
    def docnames(self) -> dict[str, str]:
        """The document name of each example's gallery page, by the example's stem."""
        return {script.stem: docname for docname, script in self.scripts.items()}

    def example(self, docname: str, machine: str | None = None) -> ExampleRecording | None:
        """The recording behind a gallery page.  Raises :class:`UnknownName` for an unknown machine."""
        script = self.scripts.get(docname)
        return None if script is None else self.machine(machine).examples.get(script.stem)

    def file(self, name: str, machine: str | None = None) -> Path:
        """Where the trace or table NAME lies.  Raises :class:`UnknownName`."""
        names = {**self.bench.tables, **self.machine(machine).names}
        if name not in names:
            raise _unknown("trace or table", name, names)
        return names[name]

    def load(self, name: str, machine: str | None = None) -> Trace | CsvTable:
        """The trace or table NAME, read once in a build.

        Raises :class:`UnknownName`; ``TraceError`` or ``TableError`` if the file is damaged.
        """
        path = self.file(name, machine)
        if path not in self._cache:
            self._cache[path] = CsvTable.read(path) if path.suffix == ".csv" else load_whole(path)
        return self._cache[path]

    def trace(self, name: str, machine: str | None = None) -> Trace:
        """The trace NAME.  Raises as :meth:`load` does."""
        recorded = self.load(name, machine)
        if not isinstance(recorded, Trace):
            raise UnknownName(f"{name!r} is a table, not a trace")
        return recorded

    def table(self, name: str, machine: str | None = None) -> CsvTable:
        """The table NAME.  Raises as :meth:`load` does."""
        recorded = self.load(name, machine)
        if not isinstance(recorded, CsvTable):
            raise UnknownName(f"{name!r} is a trace, not a table")
        return recorded

    def names(self) -> Names:
        """The names that an expression can use on the machine shown."""
        return Names(self, self.machine())


class Names(Mapping[str, "Trace | CsvTable | MachineFacts"]):
    """The recorded NAMEs of one machine, and ``machine`` itself.  A trace is read when it is asked for."""

    def __init__(self, context: BuildContext, machine: MachineRecording) -> None:
        self._context = context
        self._machine = machine
        self.used: list[str] = []
        """the NAMEs that were asked for, in order, with those that do not exist"""
        self.asked_machine = False
        """whether ``machine`` was asked for"""

    @property
    def machine_name(self) -> str:
        """The machine that recorded them."""
        return self._machine.name

    def __getitem__(self, name: str) -> Trace | CsvTable | MachineFacts:
        if name == "machine":
            self.asked_machine = True
            return self._machine.provenance.facts(self._machine.name)
        self.used.append(name)
        return self._context.load(name, self._machine.name)

    def __iter__(self) -> Iterator[str]:
        yield "machine"
        yield from {**self._context.bench.tables, **self._machine.names}

    def __len__(self) -> int:
        return sum(1 for _ in self)


_CONTEXTS: WeakKeyDictionary[BuildEnvironment, BuildContext] = WeakKeyDictionary()


def set_context(env: BuildEnvironment, context: BuildContext) -> None:
    """Registers ``context`` for the build of ``env``."""
    _CONTEXTS[env] = context


def context_of(env: BuildEnvironment) -> BuildContext:
    """The context of this build.  Raises ``KeyError`` before ``builder-inited``."""
    return _CONTEXTS[env]


def _unknown(what: str, name: str, known: Iterable[str]) -> UnknownName:
    return UnknownName(f"no {what} {name!r} in the recordings; {suggestion(name, known, limit=40)}")
