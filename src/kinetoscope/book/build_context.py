"""The book being built: which recordings there are, which one is shown, and what they hold.

One :class:`Book` belongs to each build environment; directives and roles find it with :func:`book_of`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from kinetoscope.measure.csvtable import CsvTable
from kinetoscope.record.provenance import MachineFacts
from kinetoscope.record.script import Script
from kinetoscope.record.store import BENCH, BenchRecording, ExampleRecording, MachineRecording
from kinetoscope.trace import Trace, load_whole

if TYPE_CHECKING:
    from sphinx.environment import BuildEnvironment


class UnknownName(LookupError):
    """A NAME or machine that is not in the recordings; the message says what is."""


@dataclass(eq=False)
class Book:
    """What a build lays out."""

    root: Path
    """the folder messages are relative to: that of conf.py"""
    machines: Mapping[str, MachineRecording]
    shown: str
    """name of the machine whose recording the pages show"""
    is_reference: bool
    """whether it is the machine the book's sentences are held to (not a rebuilder's own)"""
    switch: tuple[str, ...] = ()
    """the machines a reader of a page can choose from, the one shown to who does not choose first"""
    here: tuple[str, ...] = ()
    """those of :attr:`switch` that what is being read is for; see :mod:`kinetoscope.book.machine_variants`"""
    scripts: Mapping[str, Script] = field(default_factory=dict)
    """example by the document name of its gallery page"""
    failed: frozenset[Path] = frozenset()
    """scripts that could not be recorded in this build"""
    is_html: bool = True
    """whether pages of a site are built, and not a document for paper or words only"""
    picture: str = ""
    """suffix of the files that other builders can show: ``pdf``, ``png``, or empty for none"""
    bench: BenchRecording = field(default_factory=lambda: BenchRecording(Path(BENCH)))
    """tables and figures that no example wrote"""
    _cache: dict[Path, Trace | CsvTable] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.switch = self.switch or (self.shown,)
        self.here = self.here or self.switch

    @property
    def is_strict(self) -> bool:
        """Whether it is a fault when what a page asks for is not there.

        It is none of the page's where the example that should have written it failed in this very build, and
        none on a machine that a reader has to choose first.
        """
        return self.is_default and self.is_held

    @property
    def is_default(self) -> bool:
        """Whether the machine shown is the one of who does not choose."""
        return self.shown == self.switch[0]

    @property
    def is_held(self) -> bool:
        """Whether the book's sentences are held to its default machine, in this build."""
        recorded = self.machine(self.switch[0]).examples
        return self.is_reference and all(path.stem in recorded for path in self.failed)

    def machine(self, name: str | None = None) -> MachineRecording:
        """The machine ``name``, or the one shown.  Raises :class:`UnknownName`."""
        wanted = name or self.shown
        if wanted not in self.machines:
            raise UnknownName(_not_there("machine", wanted, self.machines))
        return self.machines[wanted]

    def example(self, docname: str) -> ExampleRecording | None:
        """The recording behind a gallery page, on the machine shown."""
        script = self.scripts.get(docname)
        return None if script is None else self.machine().examples.get(script.stem)

    def file(self, name: str, machine: str | None = None) -> Path:
        """Where the trace or table NAME lies.  Raises :class:`UnknownName`."""
        names = {**self.bench.tables, **self.machine(machine).names}
        if name not in names:
            raise UnknownName(_not_there("trace or table", name, names))
        return names[name]

    def trace(self, name: str, machine: str | None = None) -> Trace:
        """The trace NAME.  Raises :class:`UnknownName`, or ``TraceError`` where it is damaged."""
        path = self.file(name, machine)
        if path.suffix == ".csv":
            raise UnknownName(f"{name!r} is a table, not a trace")
        if path not in self._cache:
            self._cache[path] = load_whole(path)
        found = self._cache[path]
        assert isinstance(found, Trace)
        return found

    def table(self, name: str, machine: str | None = None) -> CsvTable:
        """The table NAME.  Raises :class:`UnknownName`, or ``ValueError`` where it is damaged."""
        path = self.file(name, machine)
        if path.suffix != ".csv":
            raise UnknownName(f"{name!r} is a trace, not a table")
        if path not in self._cache:
            self._cache[path] = CsvTable.read(path)
        found = self._cache[path]
        assert isinstance(found, CsvTable)
        return found

    def vocabulary(self, machine: str | None = None) -> Names:
        """The names an expression may use.  Raises :class:`UnknownName` for an unknown machine."""
        return Names(self, self.machine(machine))


class Names(Mapping[str, "Trace | CsvTable | MachineFacts"]):
    """The recorded NAMEs of one machine and ``machine`` itself; a trace is read when it is asked for."""

    def __init__(self, book: Book, machine: MachineRecording) -> None:
        self._book = book
        self._machine = machine
        self.used: list[str] = []
        """the NAMEs that were asked for, in order; those that are not there, too"""
        self.asked_machine = False
        """whether ``machine`` was asked for"""

    @property
    def machine_name(self) -> str:
        """Whose names these are."""
        return self._machine.name

    def __getitem__(self, name: str) -> Trace | CsvTable | MachineFacts:
        if name == "machine":
            self.asked_machine = True
            return self._machine.provenance.facts(self._machine.name)
        self.used.append(name)
        path = self._book.file(name, self._machine.name)
        if path.suffix == ".csv":
            return self._book.table(name, self._machine.name)
        return self._book.trace(name, self._machine.name)

    def __iter__(self) -> Iterator[str]:
        yield "machine"
        yield from {**self._book.bench.tables, **self._machine.names}

    def __len__(self) -> int:
        return sum(1 for _ in self)


_BOOKS: WeakKeyDictionary[BuildEnvironment, Book] = WeakKeyDictionary()


def set_book(env: BuildEnvironment, book: Book) -> None:
    """Makes ``book`` that of the build of ``env``."""
    _BOOKS[env] = book


def book_of(env: BuildEnvironment) -> Book:
    """The book of this build.  Raises ``KeyError`` before the builder is there."""
    return _BOOKS[env]


def _not_there(what: str, name: str, known: Mapping[str, object]) -> str:
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(sorted(known)) or 'none'}"
    return f"no {what} {name!r} in the recordings; {hint}"
