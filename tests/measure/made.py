"""Traces made by hand, in whole µs: calls on threads, activities on streams, steps."""

from __future__ import annotations

import json
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from kinetoscope.measure.intervals import busy
from kinetoscope.trace import Event, Trace, loads


def busy_between(events: Iterable[Event], start: int, end: int) -> int:
    """ns between two times (ns) in which at least one of the events ran."""
    ranges = [(max(event.start, start), min(event.end, end)) for event in events]
    return busy(ranged((a, b) for a, b in ranges if b > a))


def ranged(ranges: Iterable[tuple[int, int]]) -> Any:
    """Things with these starts and ends, as events have them."""
    return [SimpleNamespace(start=start, end=end) for start, end in ranges]


class Made:
    """Collects events; each ``launch`` is a call and what it started."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self._ids = 0

    def step(self, number: int, start: int, end: int) -> Made:
        return self._add(f"ProfilerStep#{number}", "user_annotation", start, end)

    def op(self, name: str, start: int, end: int, cat: str = "cpu_op") -> Made:
        """An op, or another event of a thread."""
        return self._add(name, cat, start, end)

    def call(self, name: str, start: int, end: int, *, thread: int = 1, pid: int = 1) -> Made:
        """A call that started nothing."""
        return self._add(name, "cuda_runtime", start, end, tid=thread, pid=pid)

    def launch(
        self,
        call: tuple[int, int],
        *activities: tuple[int, int],
        name: str = "cudaLaunchKernel",
        thread: int = 1,
        stream: int = 7,
        what: tuple[str, str] = ("k", "kernel"),
    ) -> Made:
        """A call and the activities it started, each (start, end)."""
        self._ids += 1
        args = {"correlation": self._ids}
        self._add(name, "cuda_runtime", *call, tid=thread, args=args)
        for start, end in activities:
            self.activity(start, end, stream=stream, what=what, **args)
        return self

    def activity(
        self, start: int, end: int, *, stream: int = 7, what: tuple[str, str] = ("k", "kernel"), **args: int
    ) -> Made:
        """A GPU activity whose launch is not in the file, unless ``correlation`` says which it is."""
        args = {"stream": stream, "device": 0, **args}
        return self._add(*what, start, end, pid=0, tid=stream, args=args)

    def trace(self) -> Trace:
        return loads(json.dumps(self.events).encode(), "made.json")

    def _add(
        self,
        name: str,
        cat: str,
        start: int,
        end: int,
        *,
        tid: int = 1,
        pid: int = 1,
        args: dict[str, int] | None = None,
    ) -> Made:
        event = {"ph": "X", "name": name, "cat": cat, "ts": start, "dur": end - start, "pid": pid, "tid": tid}
        self.events.append({**event, "args": args or {}})
        return self
