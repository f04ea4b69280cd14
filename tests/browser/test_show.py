"""The page of ``kinetoscope show``, opened from the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from kinetoscope.draw.page import page_html
from kinetoscope.trace import load

pytestmark = pytest.mark.browser

SAMPLE = Path(__file__).parents[1] / "data" / "traces" / "geglu_eager.json.gz"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("show") / "page.html"
    path.write_text(page_html(load(SAMPLE), name="geglu_eager"), encoding="utf-8")
    return path


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_it_lives_under_its_own_policy(browser, page_file: Path, scheme: str, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    window = context.new_page()
    faults, asked = [], []
    window.on("console", lambda message: faults.append(message.text))
    window.on("pageerror", lambda error: faults.append(str(error)))
    window.on("request", lambda request: asked.append(request.url))
    window.goto(page_file.as_uri())
    window.wait_for_selector("figure.ks-timeline canvas")
    assert asked == [page_file.as_uri()]
    surface = window.evaluate("getComputedStyle(document.body).backgroundColor")
    assert surface == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 30)"}[scheme]
    assert window.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # a row of a table leads to its events
    window.locator("#by-kernel tbody tr").first.locator("td").nth(1).click()
    window.wait_for_function("document.querySelector('figure.ks-timeline').kinetoscope.pinned?.length === 6")
    window.locator("figure.ks-timeline .ks-walk").press("s")
    assert faults == []
    # what a trace could bring in must not run
    window.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.ran = true";
        document.body.append(script);
    }""")
    assert window.evaluate("window.ran") is None
    context.close()
