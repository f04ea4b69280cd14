"""The viewer's data: complete, exact, on the rows of the drawn figure, and harmless in a page."""

from __future__ import annotations

import base64
import json
import re
from itertools import accumulate
from pathlib import Path

import pytest

from kinetoscope.draw.describe import facts
from kinetoscope.draw.layout import DRAWN, TimelineOptions, lay_out
from kinetoscope.draw.names import clean, forms
from kinetoscope.draw.palette import KIND_LABELS, kind_class
from kinetoscope.draw.viewer_data import data_script, raw_script
from kinetoscope.trace import Kind, Trace, TraceError, load

ROOT = Path(__file__).parents[2]
RECORDED = sorted(ROOT.glob("docs/recordings/*/*/*.json.gz"))
CORPUS = sorted(ROOT.glob("tests/data/small/*.*")) + sorted(ROOT.glob("tests/data/traces/*.json.gz"))


def read(script: str, function: str = "data") -> tuple[str, object]:
    """What a script gives to its function."""
    call = re.fullmatch(rf'kinetoscope\.{function}\(("[^"]*"), (.*)\);\n', script, re.DOTALL)
    assert call, script[:200]
    return json.loads(call[1]), json.loads(call[2])


def named(entry: str | list[str]) -> list[str]:
    """A name in full and its forms, from its entry in the data."""
    return [entry, entry] if isinstance(entry, str) else entry


def rows_of(data: dict) -> list[dict]:
    """A row for each event, with times since the trace's first event, and texts in place of their numbers."""
    events = data["events"]
    assert len({len(column) for column in events.values()}) == 1
    rows = [dict(zip(events, row, strict=True)) for row in zip(*events.values(), strict=True)]
    for row, start in zip(rows, accumulate(events["start"]), strict=True):
        row["start"] = start
        row["detail"] = [] if row["detail"] < 0 else data["details"][row["detail"]]
        for key, table in (("kind", "kinds"), ("category", "categories")):
            row[key] = data[table][row[key]]
        row["name"], *row["forms"] = named(data["names"][row["name"]])
    return rows


def check(trace: Trace) -> None:
    text = data_script(trace, machine="a-machine", name="a_name")
    assert text == data_script(trace, machine="a-machine", name="a_name")
    key, data = read(text)
    assert key == "a-machine/a_name" == f"{data['machine']}/{data['name']}" and data["version"] == 3
    rows = rows_of(data)
    drawn = {event.index: event for event in trace.events if event.kind in DRAWN}
    steps = {
        event.index: number
        for number, step in enumerate(trace.steps)
        for event in (step.event, *(each for top in step.cpu for each in top.walk()), *step.gpu)
    }
    assert sorted(row["index"] for row in rows) == sorted(drawn)
    assert [row["start"] for row in rows] == sorted(row["start"] for row in rows)
    assert data["start"] == min((e.start for e in drawn.values()), default=0)
    assert data["end"] == max((e.end for e in drawn.values()), default=0)
    for number, row in enumerate(rows):
        event = drawn[row["index"]]
        assert (row["start"], row["dur"]) == (event.start, event.dur)
        assert type(row["start"]) is int and type(row["dur"]) is int
        assert (row["name"], row["category"]) == (clean(event.name), event.kind.value)
        assert tuple(row["forms"]) == forms(event.name, event.kind)
        assert row["kind"] == kind_class(event)
        for column, other in (("parent", event.parent), ("launch", event.launch)):
            pointed_at = None if row[column] < 0 else drawn[rows[row[column]]["index"]]
            assert pointed_at is other
        assert row["parent"] < number
        assert row["step"] == steps.get(event.index, -1)
        details = facts(event, trace.device_names)
        assert [tuple(pair) for pair in row["detail"]][: len(details)] == list(details)
        lane = data["lanes"][row["lane"]]
        assert lane["gpu"] == event.lane.on_gpu and 0 <= row["row"] < lane["rows"]
    self_times = [row["dur"] for row in rows]
    for row in rows:
        if row["parent"] >= 0:
            self_times[row["parent"]] -= row["dur"]
    assert [max(0, time) for time in self_times] == [drawn[row["index"]].self_dur for row in rows]
    assert data["steps"] == [
        {"number": s.number, "start": s.start, "end": s.end, "cpuEnd": s.event.end} for s in trace.steps
    ]
    assert data["kindLabels"] == {kind: KIND_LABELS[kind] for kind in data["kinds"]}
    assert data["kinds"] == [k for k in KIND_LABELS if k in {row["kind"] for row in rows}]


def test_recorded_traces_are_told_exactly() -> None:
    assert len(RECORDED) > 20
    for path in RECORDED:
        check(load(path))


def test_so_are_those_of_other_profilers_and_damaged_ones() -> None:
    checked = 0
    for path in CORPUS:
        if path.name.endswith(".table.json"):
            continue
        try:
            trace = load(path)
        except TraceError:
            continue
        check(trace)
        checked += 1
    assert checked > 30


@pytest.mark.parametrize("name", ["empty", "nasty", "edge", "overlapping", "cpu_only"])
def test_so_are_odd_ones(sample, name: str) -> None:
    check(sample(name))


def test_every_event_is_on_the_row_where_the_figure_has_it() -> None:
    """Whatever step is drawn: in the second of these a kernel of the step before still runs."""
    for path in [*RECORDED, *CORPUS[-30:]]:
        if path.name.endswith(".table.json"):
            continue
        trace = load(path)
        data = read(data_script(trace, machine="m", name="n"))[1]
        places = {row["index"]: (row["lane"], row["row"]) for row in rows_of(data)}
        for step in [None, *(step.number for step in trace.steps[:3])]:
            picture = lay_out(trace, TimelineOptions(steps=step), width=640)
            lanes = [lane.label for lane in picture.lanes]
            drawn = {
                event.index: (lanes[bar.lane], bar.row)
                for bar in picture.bars
                for event in (bar.event, *bar.merged)
            }
            assert drawn == {i: (data["lanes"][places[i][0]]["label"], places[i][1]) for i in drawn}
            order = [lane["label"] for lane in data["lanes"]]
            assert lanes == [label for label in order if label in lanes]


def test_a_row_does_not_change_with_what_is_shown(make) -> None:
    """Two kernels overlap; a step is drawn in which only the second of them runs."""
    make.add("a", Kind.KERNEL, 0, 1000)
    make.add("b", Kind.KERNEL, 900, 2000)
    make.step(1, 1500, 1000)
    trace = make.trace()
    [bar] = [bar for bar in lay_out(trace, TimelineOptions(steps=1), width=640).bars if bar.event.name == "b"]
    assert bar.row == 1
    rows = rows_of(read(data_script(trace, machine="m", name="n"))[1])
    assert {row["name"]: row["row"] for row in rows if row["name"] in "ab"} == {"a": 0, "b": 1}


def test_an_event_stands_before_what_is_in_it(make) -> None:
    """Though the file has the inner one first, and both begin at once."""
    for start, dur in ((0, 10), (20, 4)):
        make.add("aten::inner", Kind.OP, start, dur)
        make.add("outer", Kind.ANNOTATION, start, 10)
    trace = make.trace()
    check(trace)
    rows = rows_of(read(data_script(trace, machine="m", name="n"))[1])
    assert [row["name"] for row in rows] == ["outer", "aten::inner"] * 2


def test_no_name_ends_the_script(make) -> None:
    names = ["</script><script>alert(1)</script>", "<!--", "a\u2028b\u2029c", 'q"\\', "\ud800", "\x00", "]]>"]
    for start, name in enumerate(names):
        make.add(name, Kind.OP, start, 1, **{"Input Dims": [[1]], "Input type": [name]})
    trace = make.trace()
    trace.device_names[0] = names[0]
    text = data_script(trace, machine="m", name="</script>")
    assert "<" not in text and not set(text) & set("\u2028\u2029\ud800\x00")
    key, data = read(text)
    assert key == "m/</script>"
    assert [named(entry)[0] for entry in data["names"]] == list(dict.fromkeys(clean(name) for name in names))
    text.encode("utf-8")


def test_what_is_told_of_an_event(sample) -> None:
    trace = sample("geglu_eager")

    def of(kind: Kind, name: str) -> dict[str, str]:
        event = next(event for event in trace.of(kind) if name in event.name)
        return dict(facts(event, trace.device_names))

    kernel = of(Kind.KERNEL, "vectorized_elementwise")
    assert kernel["grid"].count(" × ") == 2 and kernel["block"] == "128 × 1 × 1"
    assert kernel["registers"] == "32 a thread" and kernel["shared memory"] == "0 B a block"
    assert kernel["occupancy"].endswith(" %, the profiler's estimate")
    assert (kernel["stream"], kernel["device"]) == ("7", f"0, {trace.device_names[0]}")
    op = of(Kind.OP, "aten::linear")
    assert op["shapes"].count("[") == op["strides"].count("[") == len(op["dtypes"].split(", "))
    assert "BFloat16" in op["dtypes"] and "c10" not in op["dtypes"]
    assert of(Kind.MEMSET, "Memset")["bytes"] == "4 B"
    assert of(Kind.CALL, "cuLaunchKernelEx") == {}


def test_odd_arguments_are_no_fault(make) -> None:
    odd = make.add(
        "k", Kind.KERNEL, 0, 10, grid="?", **{"blocks per SM": "many", "registers per thread": None}
    )
    details = dict(facts(odd, {}))
    assert details == {"blocks": "many per SM", "stream": "7", "device": "0"}
    copy = make.add("Memcpy", Kind.MEMCPY, 0, 10, bytes=12_345)
    assert dict(facts(copy, {}))["bandwidth"] == "1234 GB/s"
    assert "bandwidth" not in dict(facts(make.add("Memcpy", Kind.MEMCPY, 0, 0, bytes=1), {}))
    assert "bytes" not in dict(facts(make.add("Memset", Kind.MEMSET, 0, 0, bytes="?"), {}))
    long = make.add("aten::cat", Kind.OP, 0, 1, **{"Input Dims": [[1]] * 500, "Input Strides": None})
    assert len(dict(facts(long, {}))["shapes"]) == 240
    assert dict(
        facts(make.add("aten::x", Kind.OP, 0, 1, **{"Input Dims": [], "Concrete Inputs": ["", "1"]}), {})
    ) == {"other inputs": "1"}


def test_the_queue_is_told_of_what_has_a_launch(make) -> None:
    calls = [make.add("cudaLaunchKernel", Kind.CALL, start, 10) for start in (0, 20)]
    make.add("a", Kind.KERNEL, 100, 100, calls[0])
    make.add("b", Kind.KERNEL, 300, 100, calls[1])
    make.add("c", Kind.KERNEL, 500, 100)
    rows = rows_of(read(data_script(make.trace(), machine="m", name="n"))[1])
    queues = {row["name"]: dict(map(tuple, row["detail"])).get("queue") for row in rows}
    assert queues["a"] == "nothing ahead of it when it was launched"
    assert queues["b"] == "1 ahead of it when it was launched"
    assert queues["c"] is None


def test_the_raw_script_holds_the_file() -> None:
    for data in (RECORDED[0].read_bytes(), b""):
        key, text = read(raw_script(data, machine="m", name="n"), "raw")
        assert key == "m/n" and base64.b64decode(text) == data
