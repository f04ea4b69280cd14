"""What was repaired, dropped or assumed while a trace was read, and the error for a file that is not a trace.

Nothing is repaired, dropped or assumed silently.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class TraceError(ValueError):
    """A file that cannot be read as a trace.

    The message is one sentence that names the file, says what is wrong with it and what to do next.
    """


class Severity(Enum):
    """How much a finding limits what can be said about the trace."""

    LOST = "lost"
    """the file is damaged, and something that was in it is not in the trace"""
    REPAIRED = "repaired"
    """the file was damaged, and it is clear what was meant"""
    ASSUMED = "assumed"
    """the file says something that is impossible, or leaves something open"""
    MISSING = "missing"
    """the trace lacks something that one would expect in it"""


class Code(NamedTuple):
    """A kind of finding."""

    severity: Severity
    meaning: str
    """one sentence, without the count"""


CODES: dict[str, Code] = {
    "gzip-cut": Code(Severity.LOST, "The gzip stream ends before its end; what it held until there is read."),
    "gzip-damaged": Code(
        Severity.LOST, "The gzip stream is damaged; what could be unpacked before the fault is read."
    ),
    "gzip-trailing": Code(Severity.REPAIRED, "Bytes after the end of the gzip stream are left out."),
    "bad-utf8": Code(Severity.REPAIRED, "Bytes that are no UTF-8 are shown as U+FFFD."),
    "not-utf8": Code(
        Severity.REPAIRED,
        "The file is not UTF-8 but UTF-16 or UTF-32, as PowerShell's > writes; it is decoded.",
    ),
    "control-character": Code(
        Severity.REPAIRED,
        "A control character stands in a string unescaped (a line end in a name); it is read as it is.",
    ),
    "several-lists": Code(Severity.ASSUMED, "There is more than one list traceEvents; they are read as one."),
    "several-documents": Code(
        Severity.LOST, "After the end of the trace another begins (files put together); it is left out."
    ),
    "bad-comma": Code(
        Severity.REPAIRED, "Between events a comma is missing, or is one too many; the events are read."
    ),
    "bad-escape": Code(
        Severity.REPAIRED,
        "A backslash in a string starts no escape of JSON (a Windows path); it is read as a backslash.",
    ),
    "bad-quote": Code(
        Severity.REPAIRED,
        "A quotation mark inside a string was not escaped; it is read as part of the string.",
    ),
    "not-finite": Code(
        Severity.REPAIRED, "A number is written as inf or nan (a bandwidth over no time); it is missing."
    ),
    "cut": Code(Severity.LOST, "The file is cut off; the whole events before the cut are read."),
    "damaged-event": Code(
        Severity.LOST, "An event cannot be read, not even by mending its strings; left out."
    ),
    "deep-args": Code(
        Severity.LOST, "The args of an event are nested too deeply to be read; they are left out."
    ),
    "junk": Code(Severity.LOST, "Between events there is something that is not an event; left out."),
    "damaged-metadata": Code(
        Severity.LOST, "What stands before or after the list of events is damaged; the events are read."
    ),
    "no-object": Code(Severity.LOST, "An entry of traceEvents is not an object; left out."),
    "no-time": Code(Severity.LOST, "An event has no readable time; left out."),
    "no-begin": Code(Severity.LOST, "A range ends (E) that has not begun (B) on its thread; left out."),
    "unknown-phase": Code(
        Severity.LOST, "An entry of traceEvents has no phase (ph) that the format knows; left out."
    ),
    "asynchronous": Code(
        Severity.LOST, "A range belongs to no thread (b, e, n: asynchronous events); left out."
    ),
    "no-end": Code(Severity.ASSUMED, "A range begins (B) and has no end (E); it is read as lasting 0 ns."),
    "no-duration": Code(Severity.ASSUMED, "An event has no readable duration; it is read as lasting 0 ns."),
    "negative-duration": Code(
        Severity.ASSUMED, "An event ends before it starts; it is read as lasting 0 ns."
    ),
    "absurd-duration": Code(
        Severity.ASSUMED,
        "An event lasts longer than a year, so it was never finished; it is read as lasting 0 ns.",
    ),
    "lost-record": Code(
        Severity.MISSING,
        "The profiler lost the time of an event and wrote 0: it is counted, and takes part in no span, "
        "delay, idle time or median.",
    ),
    "impossible-length": Code(
        Severity.ASSUMED,
        "A GPU activity lasts longer than the file allows: what its stream ran after it has ended before, or "
        "nothing else comes near its end. It is counted, and takes part in no other statistic.",
    ),
    "unfinished": Code(
        Severity.ASSUMED,
        "The profiler missed the end of a call from Python into C: it is read as ending where the next frame "
        "begins, and has no self time.",
    ),
    "before-its-launch": Code(
        Severity.ASSUMED,
        "A GPU activity starts before the call that launched it: the clocks of CPU and GPU differ. It has no "
        "launch delay, and the cause of a gap before it is unknown.",
    ),
    "ambiguous-launch": Code(
        Severity.ASSUMED,
        "Calls of several processes have the id of a GPU activity, and nothing tells which of them launched "
        "it; it is linked to none.",
    ),
    "no-launch": Code(
        Severity.ASSUMED,
        "The call that launched a GPU activity is not in the file; the activity counts all the same, but in "
        "no step if it was launched before the recording began.",
    ),
    "step-by-time": Code(
        Severity.ASSUMED,
        "The file does not tell in which step a GPU activity was launched; it belongs to the step in which "
        "it ran, and to none if that may be one of several processes.",
    ),
    "recorded-in-graph": Code(
        Severity.ASSUMED,
        "A launch was recorded into a graph: it starts nothing by itself, and the launches of the graph do.",
    ),
    "crossing": Code(
        Severity.ASSUMED,
        "An event of a thread begins in another and ends after it; they stand side by side. An op that does "
        "this to an op is counted, and takes part in no other statistic; a range or a call may be right.",
    ),
    "overlapping-stream": Code(
        Severity.ASSUMED,
        "A GPU activity starts before the one before it on its stream ends, as kernels of one graph may, or "
        "with programmatic dependent launch: their union is less than their sum.",
    ),
    "no-gpu-events": Code(
        Severity.MISSING,
        "There are launches and no GPU events: the profiler (CUPTI, roctracer) did not record the GPU.",
    ),
    "lost-activity": Code(
        Severity.MISSING,
        "A call launched something that is not in the file: its record was lost, or it ran after the "
        "recording had ended.",
    ),
    "no-events": Code(Severity.MISSING, "The trace holds no events."),
    "unknown-categories": Code(
        Severity.MISSING,
        "An event is of no category that is known here: it counts as an event and is in no table or picture.",
    ),
}
"""Every kind of finding; the table in the documentation is this one."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that was repaired, dropped or assumed."""

    code: str
    """a key of :data:`CODES`"""
    count: int
    first: str
    """where it occurs first: a line and column, or an event"""

    @property
    def meaning(self) -> str:
        return CODES[self.code].meaning

    @property
    def severity(self) -> Severity:
        return CODES[self.code].severity

    def __str__(self) -> str:
        return f"{self.code} ({self.count}×, first at {self.first}): {self.meaning}"


class Findings:
    """Collects findings while a file is read."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[int, str]] = {}

    def add(self, code: str, first: str | Callable[[], str], count: int = 1) -> None:
        """Counts ``count`` more of a kind; ``first`` tells where, and is called only for the first.

        Raises ``KeyError`` for a code that is none of :data:`CODES`.
        """
        _ = CODES[code]
        if not count:
            return
        if code in self._found:
            before, place = self._found[code]
        else:
            before, place = 0, first if isinstance(first, str) else first()
        self._found[code] = (before + count, place)

    def __iter__(self) -> Iterator[Finding]:
        """In the order of :data:`CODES`."""
        for code in CODES:
            if code in self._found:
                count, first = self._found[code]
                yield Finding(code, count, first)


def refuse(findings: Iterable[Finding], path: str) -> None:
    """Raises :class:`TraceError`, naming ``path``, where there are any."""
    if said := " ".join(str(finding) for finding in findings):
        raise TraceError(f"{path}: {said} Record it again, or take a whole copy of it.")


def refuse_damaged(findings: Iterable[Finding], path: str) -> None:
    """Raises :class:`TraceError`, naming ``path``, where something that was in the file is lost."""
    refuse([finding for finding in findings if finding.severity is Severity.LOST], path)
