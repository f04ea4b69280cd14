"""What the widths of text are estimated for: a real browser's text, in a real page."""

from __future__ import annotations

import os
import shutil

import pytest

from kinetoscope.draw.figure import draw_figure
from kinetoscope.draw.viewer import figure_style

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


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: set KINETOSCOPE_CHROMIUM")
@pytest.mark.parametrize("width", [360, 700, 1200])
def test_text_fits_and_is_large_enough(sample, width: int) -> None:
    names = ["linear_1024_32_64_eager", "geglu_eager", "geglu_cudagraph", "nasty", "empty"]
    figures = "".join(draw_figure(sample(name), ident=name).html() for name in names)
    page_html = f"<!doctype html><style>{figure_style()}</style><body style='margin: 0 16px'>{figures}"
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.set_content(page_html)
        seen = page.evaluate(MEASURE)
        browser.close()
    assert seen["left"] == []
    assert seen["smallest"] >= 11
    assert seen["shown"] == len(names), "one of the two drawings each"
    assert seen["wide"] <= width, "the page itself never scrolls sideways"
