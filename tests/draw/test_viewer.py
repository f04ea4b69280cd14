"""What the viewer of timelines is put together from."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from kinetoscope.draw import viewer
from kinetoscope.draw.page import fragment, page_html

SOURCE = """// What it is for.
(() => {
  "use strict";
  /**
   * Two lines
   * of it.
   */
  const address = "https://ui.perfetto.dev/"; // not https://other/
  const star = 2
    * 3; /* stays */
})();
"""


COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def test_every_script_is_in_it_once() -> None:
    there = {path.name for path in viewer.STATIC.iterdir()}
    assert len(viewer.SCRIPTS) == len({*viewer.SCRIPTS})
    assert {*viewer.SCRIPTS} == {name for name in there if name.endswith(".js")} - {"page.js"}


def test_comments_are_left_out_and_nothing_else() -> None:
    kept = [
        "(() => {",
        '"use strict";',
        'const address = "https://ui.perfetto.dev/";',
        "const star = 2",
        "* 3; /* stays */",
        "})();",
    ]
    assert viewer.without_comments(SOURCE).splitlines() == kept
    assert "\n//" not in viewer.viewer_script()
    assert "kinetoscope" in viewer.viewer_script()


def styles(pages: list[str]) -> list[str]:
    """The rules of each page, without comments and blanks."""
    held = [re.findall(r"<style>(.*?)</style>", page, re.DOTALL) for page in pages]
    return ["".join(COMMENT.sub("", style).split()) for [style] in held]


def test_no_rule_depends_on_the_words_of_a_comment(
    sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = sample("geglu_eager")
    before = styles([page_html(trace, name="x"), fragment(trace)])
    for path in viewer.STATIC.iterdir():
        text = path.read_text(encoding="utf-8")
        text = COMMENT.sub("/* other words */", text) if path.suffix == ".css" else text
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(viewer, "STATIC", tmp_path)
    assert styles([page_html(trace, name="x"), fragment(trace)]) == before
    for page in before:
        for rule in (".ks-timeline{", ".ks-table{", ".ks-sums{", "@media(forced-colors:active){.ks-barrect{"):
            assert rule in page
    assert ".ks-judged" not in before[0]


def test_it_is_small() -> None:
    both = (viewer.viewer_script() + viewer.viewer_style()).encode()
    assert len(gzip.compress(both, 9)) <= 32_000
