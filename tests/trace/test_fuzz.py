"""Mutated real traces through everything that reads one: a short run; and what longer runs have found.

Ten minutes of the same, by hand: ``KINETOSCOPE_FUZZ=600 python -m pytest tests/trace/test_fuzz.py -s``;
``tests/fuzz_commands.py`` does it with all commands.  What they find is kept in ``tests/data/fuzz``.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import random
import time
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from fuzz_inputs import DATA, seeds, with_other_bytes, with_other_values

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

FOUND = sorted((DATA / "fuzz").iterdir())
SECONDS = float(os.environ.get("KINETOSCOPE_FUZZ", "3"))
SLOWEST = 10.0
"""seconds of CPU for one input of at most 60 kB"""


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
        copy = summarize(loads(scrub_trace(data, Scrubber((), ()), "some/file.json"), "a copy"))
        assert replace(copy, findings=summary.findings) == summary


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_was_found_stays_mended(path: Path) -> None:
    use(path.read_bytes())


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
