"""Text as a real browser shows it: it fits where it was estimated to, and nothing in it hides or turns."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from kinetoscope.draw.figure import draw_figure
from kinetoscope.draw.page import page_html
from kinetoscope.draw.viewer import figure_style
from kinetoscope.trace import loads

if TYPE_CHECKING:
    from playwright.sync_api import Browser

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = os.environ.get("KINETOSCOPE_CHROMIUM") or shutil.which("chromium")

MEASURE = """() => {
  const out = {left: [], smallest: 99, shown: 0, wide: document.documentElement.scrollWidth};
  for (const svg of document.querySelectorAll("svg")) {
    if (!svg.getClientRects().length) continue;
    out.shown += 1;
    for (const text of svg.querySelectorAll("text")) {
      const t = text.getBBox(), size = parseFloat(getComputedStyle(text).fontSize);
      out.smallest = Math.min(out.smallest, size * text.getScreenCTM().a);
      const place = text.closest(".ks-bar") && !text.classList.contains("ks-beside")
        ? text.closest(".ks-bar").querySelector("rect").getBBox() : svg.viewBox.baseVal;
      if (t.x < place.x || t.x + t.width > place.x + place.width) out.left.push(text.textContent);
    }
  }
  return out;
}"""


pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: set KINETOSCOPE_CHROMIUM"),
]


@pytest.fixture
def browser() -> Iterator[Browser]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.mark.parametrize("width", [360, 700, 1200])
def test_text_fits_and_is_large_enough(browser, sample, width: int) -> None:
    names = ["linear_1024_32_64_eager", "geglu_eager", "geglu_cudagraph", "nasty", "empty"]
    figures = "".join(draw_figure(sample(name), ident=name).html() for name in names)
    content = f"<!doctype html><style>{figure_style()}</style><body style='margin: 0 16px'>{figures}"
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.set_content(content)
    seen = page.evaluate(MEASURE)
    assert seen["left"] == []
    assert seen["smallest"] >= 11
    assert seen["shown"] == len(names), "one of the two drawings each"
    assert seen["wide"] <= width, "the page itself never scrolls sideways"


UNCLEAN = "\x01\x9f\u061c\u200b\u200f\u2028\u202e\u2060\u2066\ufeff\U000e0041"
"""Control characters, a line end, and characters that turn text or cannot be seen"""

NOTE_WRITTEN = """globalThis.written = [];
for (const name of ["fillText", "strokeText"]) {
  const write = CanvasRenderingContext2D.prototype[name];
  CanvasRenderingContext2D.prototype[name] = function (text, ...at) {
    written.push(text);
    write.call(this, text, ...at);
  };
}"""

SHOW_ALL = """() => {
  const k = document.querySelector("figure.ks-timeline").kinetoscope;
  const shown = [];
  for (let i = 0; i < k.model.count; i++) {
    k.select(i);
    k.draw();
    shown.push(k.element.outerHTML);
  }
  return shown.join();
}"""


def test_the_viewer_shows_no_character_that_hides_or_turns_text(browser, tmp_path) -> None:
    """On the canvas, in the panel, in tooltips and in what a screen reader says."""
    cpu, gpu = {"ph": "X", "pid": 1, "tid": 1}, {"ph": "X", "pid": 0, "tid": 7}
    launch, runs = {"correlation": 1}, {"correlation": 1, "stream": 7, "device": 0}
    events = [
        {**cpu, "cat": "cpu_op", "name": f"aten::op{UNCLEAN}", "ts": 0, "dur": 9,
         "args": {"Input Dims": [[1]], "Input type": [UNCLEAN]}},
        {**cpu, "cat": "cuda_runtime", "name": f"cuda{UNCLEAN}", "ts": 10, "dur": 9, "args": launch},
        {**gpu, "cat": "kernel", "name": f"void k{UNCLEAN}<int>(a)", "ts": 20, "dur": 9, "args": runs},
    ]  # fmt: skip
    devices = [{"id": 0, "name": UNCLEAN}]
    trace = loads(json.dumps({"deviceProperties": devices, "traceEvents": events}).encode(), "x")
    path = tmp_path / "page.html"
    path.write_text(page_html(trace, name=f"name{UNCLEAN}"), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    page.add_init_script(NOTE_WRITTEN)
    page.goto(path.as_uri())
    page.wait_for_function("document.querySelector('figure.ks-timeline')?.kinetoscope?.draws > 0")
    html, written = page.evaluate(SHOW_ALL), page.evaluate("written")
    mark = "\ufffd" * len(UNCLEAN)
    assert {f"cuda{mark}", f"k{mark}<…>", f"aten::op{mark}"} <= set(written)
    assert f'title="void k{mark}&lt;int&gt;(a)"' in html
    assert set("".join(written) + html) & set(UNCLEAN) == set()
