"""What is wrong with a run of a command."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from fuzz_inputs import LARGEST, MARK

SLOW, SLOW_ANYWAY = 10.0, 2.5
"""Seconds of CPU for :data:`LARGEST` bytes, and for any file"""
MOST_SAID = 10_000
"""Bytes on standard error"""


@dataclass
class Ran:
    """What a command left behind."""

    words: list[str]
    status: int
    """negative: the signal that ended it"""
    cpu: float
    """in seconds"""
    peak: int
    """bytes in memory"""
    out: bytes
    err: bytes
    fault: str
    """a traceback, where it was not an error that the user can mend"""
    files: dict[str, bytes]
    """what lay in the output folder"""


class Page(HTMLParser):
    """The scripts of a page and what could run in it besides."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.in_script = False
        self.wrong: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "script":
            self.in_script = True
            self.scripts.append("")
        self.wrong += [f"an attribute {name}" for name, _ in attrs if name[:2] == "on" or "ks_marker" in name]
        if tag in ("img", "iframe", "object", "embed", "base"):
            self.wrong.append(f"an element {tag}")

    def handle_endtag(self, tag: str) -> None:
        self.in_script = self.in_script and tag != "script"

    def handle_data(self, data: str) -> None:
        if self.in_script:
            self.scripts[-1] += data


def judged_page(text: str, scripts: int) -> Iterator[str]:
    page = Page(text)
    yield from page.wrong
    if len(page.scripts) != scripts:
        yield f"{len(page.scripts)} scripts in the page"
    elif text.count("</script") != scripts:
        yield "</script in the page's data"
    data = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL)
    rest = text.replace(data[1], "") if data else text
    if data:
        try:
            json.loads(data[1])
        except ValueError:
            yield "the page's data is no JSON"
    for mark in (MARK, "<img", "<!--<"):
        if mark in rest:
            yield f"{mark} stands in the page"


def judged_text(text: str) -> Iterator[str]:
    bad = {
        char
        for char in text
        if char != "\n" and not char.isprintable() and unicodedata.category(char) != "Zs"
    }
    if bad:
        yield f"control characters are printed: {sorted(map(ascii, bad))[:3]}"


def no_number(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


def judged(ran: Ran, size: int) -> Iterator[str]:
    """What is wrong with a run, a line each."""
    command = next(word for word in ran.words if word != "--strict")
    if ran.status < 0:
        yield f"ended by {signal.Signals(-ran.status).name}"
        return
    allowed = {
        0,
        2,
        *([1] if command in ("assert", "claims") else []),
        *([3] if "--strict" in ran.words else []),
    }
    if command in ("assert", "compare", "table", "timeline"):
        allowed.add(4)
    if ran.fault:
        lines = [line for line in ran.fault.splitlines() if line.strip()]
        at = [line for line in lines if "/kinetoscope/" in line and "/cli/" not in line]
        place = re.sub(r".*/kinetoscope/(\S+)\", line (\d+).*", r"\1:\2", at[-1]) if at else "?"
        yield f"{lines[-1].split(':')[0].strip()} at {place}"
    elif ran.status not in allowed:
        yield f"exit status {ran.status}"
    err = ran.err.decode("utf-8", "replace")
    if len(ran.err) > MOST_SAID:
        yield f"more than {MOST_SAID} bytes on standard error"
    elif any(not line.startswith("kinetoscope: ") for line in err.splitlines()):
        odd = next(line for line in err.splitlines() if not line.startswith("kinetoscope: "))
        yield f"on standard error: {re.sub(r'[0-9]+', 'N', odd)[:90]}"
    if ran.status in (2, 4) and not err:
        yield f"status {ran.status} without a word"
    # The time of paper is that of the picture's size, and the notebook's view is eight tables and pictures.
    paper = any(word in ran.words for word in ("OUT.png", "OUT.pdf"))
    allowed_time = max(SLOW if paper else SLOW_ANYWAY, SLOW * size / LARGEST) * (3 if command == "api" else 1)
    if ran.cpu > allowed_time:
        yield "slow"
    yield from judged_text(err)
    out = ran.out.decode("utf-8", "replace")
    if ran.status == 0 and not out and command != "api":
        yield "nothing on standard output"
    if "--json" in ran.words:
        if ran.status == 0:
            try:
                json.loads(out, parse_constant=no_number)
            except ValueError:
                yield "no JSON on standard output"
    elif "--csv" in ran.words:
        csv.field_size_limit(LARGEST)
        yield from judged_text(out)
        rows = list(csv.reader(io.StringIO(out)))
        if len({len(row) for row in rows}) > 1:
            yield "CSV rows of several lengths"
        if any(cell[:1] in ("=", "@") for row in rows for cell in row):
            yield "a cell of the CSV is a formula"
    else:
        yield from judged_text(out)
    wanted = {Path(word).name for word in ran.words if word.startswith("OUT.")} if ran.status == 0 else set()
    if set(ran.files) != wanted:
        left = [re.sub("-.*", "", name) for name in ran.files]
        yield f"files {left} where there should be {sorted(wanted)}"
        return
    for name, data in ran.files.items():
        if name.endswith(".svg"):
            yield from judged_picture(data)
        elif name.endswith(".png") and not data.startswith(b"\x89PNG"):
            yield "no PNG"
        elif name.endswith(".html"):
            yield from judged_page(data.decode(), scripts=2 if command == "show" else 0)


def judged_picture(data: bytes) -> Iterator[str]:
    try:
        root = ElementTree.fromstring(data)
    except ElementTree.ParseError as error:
        yield f"the picture is no XML: {str(error).split(':')[0]}"
        return
    for element in root.iter():
        if element.tag.endswith("}script") or any(name.startswith("on") for name in element.attrib):
            yield "the picture has a script"
        if any(
            "nan" in value or "inf" in value.split()
            for key, value in element.attrib.items()
            if key in ("x", "y", "width", "height", "d")
        ):
            yield "the picture has a length that is no number"


def judged_copy(before: Ran, after: Ran) -> Iterator[str]:
    """What is wrong with a scrubbed copy, from ``summary --json`` of the trace and of the copy."""
    if after.status:
        yield f"the copy cannot be read: status {after.status}"
    elif not before.status:
        one, two = json.loads(before.out), json.loads(after.out)
        if differ := [key for key in one if key != "findings" and one[key] != two[key]]:
            yield f"the copy differs in {differ}"
