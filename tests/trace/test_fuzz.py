"""Mutated real traces through everything that reads one: a short run; and what longer runs have found.

Ten minutes of the same, by hand: ``KINETOSCOPE_FUZZ=600 python -m pytest tests/trace/test_fuzz.py -s``.  What
it finds is kept as a small file in ``tests/data/fuzz``.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import random
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from kinetoscope.draw.describe import describe, headline
from kinetoscope.draw.figure import standalone_svg
from kinetoscope.draw.layout import TimelineOptions, lay_out
from kinetoscope.draw.page import page_html
from kinetoscope.draw.table import html_table, text_table
from kinetoscope.draw.views import VIEWS, choose_rows
from kinetoscope.measure.compare import compare
from kinetoscope.measure.summary import busy_by_device, summarize
from kinetoscope.record.scrub import Scrubber, scrub_trace
from kinetoscope.trace import TraceError, loads

DATA = Path(__file__).parents[1] / "data"
FOUND = sorted((DATA / "fuzz").iterdir())
SECONDS = float(os.environ.get("KINETOSCOPE_FUZZ", "3"))
SLOWEST = 10.0
"""seconds of CPU for one input of at most 60 kB"""

PIECES = [
    *('"ph":"B"', '"ph":"E"', '{"ph":', "NaN", "-Infinity", "inf", "null", "true", "1e400", '""', '"'),
    *("\\", "\\u", "\\ud800", "\0", "\n", "{", "}", "[", "]", ",", '"traceEvents": [', '"args": {'),
    *("</script>", "\u202e", '"dur": -5', '"ts": "1.5"', '"correlation": "7"', "[" * 50, '{"a":' * 50),
    *("1" * 400, "9223372036854775807", '{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 5},'),
]
VALUES: list[Any] = [
    *(None, True, 0, -1, 7, 2**53, 2**63, 2**64, 1e300, 0.0005, 10**400, "", "-1", "1.5", "nan", "stream 7"),
    *([], {}, [1], {"a": 1}, [[[]]], "\u202e", "\0", "ProfilerStep#3", "kernel", "Memcpy HtoD", "<b>"),
    "void f<int>(int)",
]
KEYS = ["ph", "cat", "name", "pid", "tid", "ts", "dur", "args"]


def use(data: bytes) -> None:
    """Everything there is to see of a trace, or one clear error."""
    try:
        trace = loads(data, "some/file.json")
    except TraceError as error:
        assert str(error).startswith("some/file.json: ") and str(error).endswith(".")
        return
    summary = summarize(trace)
    assert summary.kernel_sum_ns == sum(event.dur for event in trace.kernels)
    assert summary.gpu_busy_ns <= summary.gpu_span_ns
    assert summary.linked + summary.unlinked == len(trace.gpu)
    assert all(event.dur >= 0 and event.start >= 0 and event.self_dur >= 0 for event in trace.events)
    busy_by_device(trace)
    for by in VIEWS:
        shown = choose_rows(trace, by)
        text_table(shown.columns, shown.rows, width=90)
        html_table(shown.columns, shown.rows)
    compare(trace, trace)
    layout = lay_out(trace, TimelineOptions(steps="all"), width=640)
    title, description = headline(trace, layout), describe(trace, layout)
    ElementTree.fromstring(standalone_svg(layout, title=title, description=description))
    page = page_html(trace, name="x")
    assert page.count("</script>") == 2
    page.encode()
    with contextlib.suppress(TraceError):
        scrub_trace(data, Scrubber((), ()), "some/file.json")


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_was_found_stays_mended(path: Path) -> None:
    use(path.read_bytes())


def seeds() -> list[bytes]:
    small = [path.read_bytes() for path in sorted((DATA / "small").rglob("*.json*"))]
    large = [gzip.decompress(path.read_bytes()) for path in sorted((DATA / "traces").glob("*.json.gz"))]
    return [*small, *(data[:30_000] for data in large), *(data[-30_000:] for data in large)]


def with_other_bytes(data: bytes, chance: random.Random) -> bytes:
    mutated = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 5, 20])):
        at, length = chance.randrange(len(mutated) + 1), chance.choice([1, 2, 20, 400])
        what = chance.randrange(7)
        if what == 0 and at < len(mutated):
            mutated[at] ^= 1 << chance.randrange(8)
        elif what == 1:
            del mutated[at : at + length]
        elif what == 2:
            mutated[at:at] = mutated[at : at + length]
        elif what == 3:
            mutated[at:at] = chance.choice(PIECES).encode()
        elif what == 4:
            mutated[at : at + length] = chance.choice(PIECES).encode()
        elif what == 5:
            piece = bytes(mutated[at : at + length])
            del mutated[at : at + length]
            other = chance.randrange(len(mutated) + 1)
            mutated[other:other] = piece
        elif chance.random() < 0.3:
            del mutated[at:]
    return bytes(mutated)


def with_other_values(data: bytes, chance: random.Random) -> bytes:
    try:
        document = json.loads(data, strict=False)
        events = document if isinstance(document, list) else document["traceEvents"]
    except (ValueError, RecursionError):
        return with_other_bytes(data, chance)
    for _ in range(chance.choice([1, 2, 4, 12])):
        at = chance.randrange(len(events))
        event = events[at] = dict(events[at]) if isinstance(events[at], dict) else {}
        args = event.get("args")
        what = chance.randrange(6)
        if what == 0:
            events.insert(chance.randrange(len(events)), event)
        elif what == 1:
            events[at] = chance.choice(VALUES)
        elif what == 2:
            event["ph"] = chance.choice("BEXBEXiCbensftMN")
        elif what == 3 and isinstance(args, dict):
            key = chance.choice(
                [*args, "correlation", "stream", "device", "External id", "Python id", "grid"]
            )
            event["args"] = {**args, key: chance.choice(VALUES)}
        elif what == 4:
            event.pop(chance.choice(KEYS), None)
        else:
            event[chance.choice(KEYS)] = chance.choice(VALUES)
    return json.dumps(document).encode()


def test_mutated_traces_are_read_or_refused() -> None:
    chance = random.Random(int(os.environ.get("KINETOSCOPE_FUZZ_SEED", "6")))
    known, tried = seeds(), 0
    begin = time.process_time()
    while (now := time.process_time()) < begin + SECONDS:
        change = chance.choice([with_other_bytes, with_other_values])
        data = change(chance.choice(known), chance)
        if chance.random() < 0.1:
            data = with_other_bytes(gzip.compress(data, 1), chance)
        tried += 1
        try:
            use(data)
        except Exception:
            kept = Path(os.environ.get("TMPDIR", "/tmp")) / f"kinetoscope-fuzz-{tried}.json"
            kept.write_bytes(data)
            print(f"input {tried} is kept as {kept}")
            raise
        assert time.process_time() - now < SLOWEST
    print(f"{tried} inputs")
    assert tried > 5
