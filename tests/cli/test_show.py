"""The page of ``kinetoscope show`` holds everything, loads nothing, and runs nothing from a trace."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kinetoscope.draw.page import HEADINGS, page_html
from kinetoscope.draw.palette import DARK, LIGHT
from kinetoscope.trace import load, loads

if TYPE_CHECKING:
    from conftest import Run

Find = Callable[[str], Path]

NASTY = (
    "</script><script>alert(1)</script><!-- \"'> <img src=x onerror=alert(1)> {{7*7}} \x1b[31m \u2028 &amp;"
)


class Elements(HTMLParser):
    """The tags of a page, and the text in its scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.held: list[tuple[str, dict[str, str], str]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {key: value or "" for key, value in attrs}))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] in ("script", "style") and data.strip():
            self.held.append((*self.tags[-1], data))


def page(path: Path) -> Elements:
    return Elements(page_html(load(path), name=path.stem))


def policy(elements: Elements) -> dict[str, list[str]]:
    [text] = [a["content"] for tag, a in elements.tags if tag == "meta" and "http-equiv" in a]
    return {name: values for name, *values in (part.split() for part in text.split(";"))}


def test_only_what_was_put_into_the_page_may_run(sample: Find) -> None:
    elements = page(sample("geglu_eager"))
    allowed = policy(elements)
    assert allowed["default-src"] == ["'none'"]
    assert not any("unsafe" in value for values in allowed.values() for value in values)
    run = {"script": [], "style": []}
    for tag, attributes, text in elements.held:
        if attributes.get("type") != "application/json" and tag in run:
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            run[tag].append(f"'sha256-{digest}'")
    assert allowed["script-src"] == run["script"]
    assert allowed["style-src"] == run["style"]
    assert len(run["script"]) == len(run["style"]) == 1
    first = [
        tag for tag, attributes in elements.tags if tag in ("script", "style") or "http-equiv" in attributes
    ]
    assert first[0] == "meta"


def test_it_loads_nothing_and_has_no_handlers(sample: Find) -> None:
    for tag, attributes in page(sample("geglu_eager")).tags:
        assert not any(name.startswith("on") or name in ("src", "srcset", "style") for name in attributes), (
            tag
        )
        assert attributes.get("href", "#").startswith("#")
    assert not re.search(r"url\(|@import", page_html(load(sample("geglu_eager")), name="x"))


def test_the_whole_trace_is_in_it_and_every_table(sample: Find) -> None:
    trace = load(sample("geglu_eager"))
    elements = page(sample("geglu_eager"))
    [data] = [json.loads(text) for _, attributes, text in elements.held if attributes.get("type")]
    drawn = [event for event in trace.events if event.kind.value not in ("gpu_annotation", "other", "python")]
    assert sorted(data["events"]["index"]) == sorted(event.index for event in drawn)
    ids = [attributes["id"] for _, attributes in elements.tags if attributes.get("id", "").startswith("by-")]
    assert ids == [f"by-{by}" for by in HEADINGS]
    links = [a["href"] for tag, a in elements.tags if tag == "a"]
    assert links == ["#timeline", *(f"#{ident}" for ident in ids)]
    keys = {a["data-trace"] for _, a in elements.tags if "data-trace" in a}
    assert len(keys) == 1


def test_names_are_text_wherever_they_stand() -> None:
    events = [
        {"ph": "X", "cat": "cpu_op", "name": NASTY, "pid": 1, "tid": NASTY, "ts": 1, "dur": 9},
        {"ph": "X", "cat": "kernel", "name": NASTY, "pid": 0, "tid": 7, "ts": 3, "dur": 2,
         "args": {"stream": 7, "device": 0, "grid": [NASTY]}},
        {"ph": "X", "cat": "user_annotation", "name": NASTY, "pid": 1, "tid": 2, "ts": 0, "dur": -5},
    ]  # fmt: skip
    document = {"deviceProperties": [{"id": 0, "name": NASTY}], "traceEvents": events}
    text = page_html(loads(json.dumps(document).encode(), NASTY), name=NASTY)
    elements = Elements(text)
    scripts = [attributes for tag, attributes in elements.tags if tag == "script"]
    assert len(scripts) == 2 and "img" not in {tag for tag, _ in elements.tags}
    assert "alert(1)</script>" not in text and "\x1b" not in text and "<!--" not in text
    assert "negative-duration" in text


def test_findings_stand_first_in_plain_words(small: Find) -> None:
    text = page_html(load(small("25")), name="x")
    at = text.index("The call that launched a GPU activity is not in the file")
    assert at < text.index("<figure")
    assert ">assumed</span><strong>1×</strong>" in text
    assert "Nothing in it had to be repaired, left out or assumed." in page_html(load(small("22")), name="x")


def test_a_trace_of_nothing_is_a_page(small: Find) -> None:
    text = page_html(load(small("31")), name="x")
    assert "The trace holds no events." in text and "Nothing was recorded." in text


def test_light_and_dark_are_the_palette(sample: Find) -> None:
    text = page_html(load(sample("geglu_eager")), name="x")
    assert '<body data-theme="auto">' in text
    for theme in (LIGHT, DARK):
        assert f"--ks-surface: {theme.plain['surface']};" in text


def test_where_the_page_goes(run: Run, sample: Find, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
    monkeypatch.chdir(tmp_path)
    first, second = run("show", sample("geglu_eager")), run("show", sample("geglu_eager"))
    assert first.out.startswith("geglu_eager.html: ") and second.out.startswith("geglu_eager-2.html: ")
    assert opened == [(tmp_path / f"geglu_eager{n}.html").as_uri() for n in ("", "-2")]
    assert run("show", sample("geglu_eager"), "--no-open").status == 0
    assert len(opened) == 2
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    assert "no browser could be started here" in run("show", sample("geglu_eager")).err
