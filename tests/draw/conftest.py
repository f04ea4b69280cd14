"""Traces made by hand, for what no sample shows."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kinetoscope.trace import Kind, LaneId, Trace, load, loads

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(__file__).parents[1] / "data" / "traces"
SAMPLES = sorted(path.name.removesuffix(".json.gz") for path in DATA.glob("*.json.gz"))
NASTY = "void ns::k<a::b, 1>(`\"'|$x$<script>alert(1)</script>&amp;\x01\n" + "é" * 740 + ")"
CATEGORIES = {
    Kind.OP: "cpu_op",
    Kind.ANNOTATION: "user_annotation",
    Kind.CALL: "cuda_runtime",
    Kind.KERNEL: "kernel",
    Kind.MEMCPY: "gpu_memcpy",
    Kind.MEMSET: "gpu_memset",
}
CPU, STREAM = LaneId(1, 1), LaneId(0, 7, stream=7, device=0)


@dataclass
class Made:
    """An event of a trace to be made."""

    name: str
    kind: Kind
    start: int
    dur: int
    args: dict[str, object]
    index: int
    launch: Made | None = None
    launches: bool = False

    @property
    def lane(self) -> LaneId:
        return STREAM if self.kind.on_gpu else CPU


@dataclass
class Maker:
    """Collects events and makes a trace of them."""

    events: list[Made] = field(default_factory=list)

    def add(
        self, name: str, kind: Kind, start: int, dur: int, launch: Made | None = None, **args: object
    ) -> Made:
        event = Made(name, kind, start, dur, args, len(self.events), launch)
        if launch is not None:
            launch.launches = True
        self.events.append(event)
        return event

    def step(self, number: int, start: int, dur: int) -> Made:
        return self.add(f"ProfilerStep#{number}", Kind.ANNOTATION, start, dur)

    def trace(self) -> Trace:
        return loads(json.dumps([self._entry(event) for event in self.events]).encode(), "made.json")

    def _entry(self, event: Made) -> dict[str, object]:
        """The event as in a file; an activity and its call have the call's index as correlation id."""
        args = dict(event.args)
        if event.launch is not None or event.launches:
            args["correlation"] = (event.launch or event).index + 1
        return {
            "ph": "X",
            "cat": CATEGORIES[event.kind],
            "name": event.name,
            "pid": event.lane.pid,
            "tid": event.lane.tid,
            "ts": event.start / 1000,
            "dur": event.dur / 1000,
            "args": args | ({"stream": 7, "device": 0} if event.kind.on_gpu else {}),
        }


def empty() -> Trace:
    return Maker().trace()


def cpu_only() -> Trace:
    make = Maker()
    make.add("aten::linear", Kind.OP, 100, 5000)
    make.add("aten::t", Kind.OP, 200, 1000)
    return make.trace()


def overlapping() -> Trace:
    """Two kernels that overlap on one stream, as a dependent launch makes them."""
    make = Maker()
    calls = [make.add("cudaLaunchKernelExC", Kind.CALL, start, 500) for start in (0, 1000)]
    first = make.add("nvjet_a", Kind.KERNEL, 2000, 4000, calls[0])
    make.add("nvjet_b", Kind.KERNEL, 5500, 4000, calls[1])
    make.add("nvjet_c", Kind.KERNEL, first.start + 8000, 4000)
    return make.trace()


def edge() -> Trace:
    """A bar too thin to see at the very end."""
    make = Maker()
    make.add("aten::long", Kind.OP, 0, 1_000_000)
    make.add("aten::last", Kind.OP, 999_999, 1)
    return make.trace()


def nasty() -> Trace:
    make = Maker()
    call = make.add("cuda<Launch>", Kind.CALL, 100, 500)
    make.add(NASTY, Kind.OP, 0, 9000)
    make.add(NASTY, Kind.KERNEL, 1000, 9000, call, grid=[1, 2, 3], **{"registers per thread": 32})
    make.add("$\\frac{", Kind.KERNEL, 10500, 5000)
    return make.trace()


def crowded(count: int = 20_000) -> Trace:
    make = Maker()
    for i in range(count):
        make.add(f"aten::op{i % 7}", Kind.OP, i * 100, 60)
    return make.trace()


ODD = {
    "empty": empty,
    "edge": edge,
    "cpu_only": cpu_only,
    "overlapping": overlapping,
    "nasty": nasty,
    "crowded": crowded,
}


@pytest.fixture
def make() -> Maker:
    return Maker()


@pytest.fixture
def sample() -> Callable[[str], Trace]:
    """Loads a recorded sample, or makes an odd trace, by name."""
    return lambda name: ODD[name]() if name in ODD else load(DATA / f"{name}.json.gz")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "any_trace" in metafunc.fixturenames:
        metafunc.parametrize("any_trace", [*SAMPLES, *ODD], indirect=True)


@pytest.fixture
def any_trace(request: pytest.FixtureRequest, sample: Callable[[str], Trace]) -> Trace:
    return sample(request.param)
