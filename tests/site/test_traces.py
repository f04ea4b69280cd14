"""The traces beside the real book's pages are those that were recorded."""

from __future__ import annotations

import base64
import re

from kinetoscope.draw.viewer_data import data_script
from kinetoscope.trace import load


def test_every_figure_leads_to_its_trace(website) -> None:
    """A reader who downloads a trace gets the recorded file, byte for byte."""
    recorded = {
        f"{path.parents[1].name}/{path.name.removesuffix('.json.gz')}": path
        for path in website.recordings.rglob("*.json.gz")
    }
    seen: dict[str, set[str]] = {}
    for name in website.names():
        page = website.page(name)
        tools = page.by_class("ks-tools")
        links = page.by_class("ks-download", "a")
        assert len(tools) == len(links) == len(page.by_class("ks-timeline", "figure"))
        for box, link in zip(tools, links, strict=True):
            files = [
                website.target(page, address) for address in (box["data-src"], box["data-raw"], link["href"])
            ]
            assert all(path.is_file() for path in files), (name, files)
            seen.setdefault(box["data-trace"], set()).update(files)
            assert box["data-trace"].partition("/")[2] in link["aria-label"]
        keys = {key for _, attrs in page.tags for key in attrs.get("data-trace", "").split()}
        assert keys <= set(recorded)
    assert len(seen) > 20
    for key, files in seen.items():
        machine, _, trace = key.partition("/")
        data, raw, file = (
            next(p for p in files if p.name == trace + end) for end in (".js", ".raw.js", ".json.gz")
        )
        assert len(files) == 3, "all pages link to the same three files"
        assert file.read_bytes() == recorded[key].read_bytes()
        assert base64.b64encode(file.read_bytes()).decode() in raw.read_text(encoding="utf-8")
        expected = data_script(load(recorded[key]), machine=machine, name=trace)
        assert data.read_text(encoding="utf-8") == expected


def test_events_that_light_up_are_in_the_trace(website) -> None:
    """Table rows, dispatch chains and numbers name events by trace and index."""
    known: dict[str, set[int]] = {}
    count = 0
    for name in website.names():
        trace = ""
        for _, attrs in website.page(name).tags:
            trace = attrs.get("data-trace", trace)
            if not (places := attrs.get("data-events")):
                continue
            for part in places.split("; "):
                key, numbers = part.split(":") if ":" in part else (trace, part)
                if key not in known:
                    machine, _, stem = key.partition("/")
                    [path] = (website.recordings / machine).rglob(f"{stem}.json.gz")
                    known[key] = {event.index for event in load(path).events}
                assert re.fullmatch(r"\d+( \d+)*", numbers)
                assert {int(number) for number in numbers.split()} <= known[key]
                count += 1
    assert count > 500
