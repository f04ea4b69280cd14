"""Which launches were recorded into a graph: they start nothing, and the graph launch owns the kernels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from kinetoscope.trace.categories import Kind
from kinetoscope.trace.columns import among, distinct
from kinetoscope.trace.fields import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kinetoscope.trace.columns import Columns

_BEGIN = re.compile(r"StreamBeginCapture")
_ENDS = (re.compile(r"StreamEndCapture"), re.compile(r"GraphInstantiate"), re.compile(r"GraphLaunch"))
"""What comes after the recording of a graph.  A file may lack one and have the next."""


def recorded_in_graph(columns: Columns, launching: NDArray[np.intp]) -> NDArray[np.bool_]:
    """(len(launching)) which of some launches (positions, in order) that started nothing are in a graph.

    These are the ones between the begin and the end of a capture, on any thread of the process: the
    backward pass has its own.  If the begin isn't in the file, they are those after which the process
    launched nothing that ran until the end.
    """
    calls, names = columns.where(Kind.CALL), columns.names
    answered = among(calls, distinct(columns.launch[columns.launch != NONE]), len(columns))
    begins = among(columns.name[calls], [n for n, s in enumerate(names) if _BEGIN.search(s)], len(names))
    for what in _ENDS:
        ends = among(columns.name[calls], [n for n, s in enumerate(names) if what.search(s)], len(names))
        if what is _ENDS[-1]:
            ends &= answered
        if ends.any():
            break
    asked = among(calls, launching, len(columns))
    seen = np.flatnonzero(begins | ends | answered | asked)
    process = columns.process[columns.lane[calls[seen]]]
    seen = seen[np.argsort(process, kind="stable")]
    process = np.sort(process)
    place = np.arange(len(seen))
    first = np.searchsorted(process, process, "left")
    behind = np.searchsorted(process, process, "right")

    def last(which: NDArray[np.bool_]) -> NDArray[np.intp]:
        """The last of them up to each place; -1 if there is none."""
        return np.maximum.accumulate(np.where(which[seen], place, -1))

    def following(which: NDArray[np.bool_]) -> NDArray[np.intp]:
        """The first of them from each place on; the number of places if there is none."""
        return np.minimum.accumulate(np.where(which[seen], place, len(seen))[::-1])[::-1]

    begin, end = last(begins), following(ends)
    is_open = (begin >= first) & (begin > last(ends))
    unbegun = (begin < first) & (end < behind) & (end < following((answered | begins) & ~ends))
    found = np.zeros(len(columns), bool)
    found[calls[seen[is_open | unbegun]]] = True
    return found[launching]
