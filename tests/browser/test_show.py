"""The page of ``kinetoscope show``, opened from a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kinetoscope.draw.page import page_html
from kinetoscope.trace import load, loads

pytestmark = pytest.mark.browser

FIGURE = "document.querySelector('figure.ks-timeline').kinetoscope"
SAMPLE = Path(__file__).parents[1] / "data" / "traces" / "geglu_eager.json.gz"


def opened(browser, **options: object):
    """Return a window that keeps every message of its console and every error in ``window.faults``."""
    window = browser.new_context(**options).new_page()
    window.faults = []
    window.on("console", lambda message: window.faults.append(message.text))
    window.on("pageerror", lambda error: window.faults.append(str(error)))
    return window


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("show") / "page.html"
    path.write_text(page_html(load(SAMPLE), name="geglu_eager"), encoding="utf-8")
    return path


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_it_works_under_its_own_content_security_policy(
    browser, page_file: Path, scheme: str, width: int
) -> None:
    window = opened(browser, viewport={"width": width, "height": 800}, color_scheme=scheme)
    asked = []
    window.on("request", lambda request: asked.append(request.url))
    window.goto(page_file.as_uri())
    window.wait_for_selector("figure.ks-timeline canvas")
    assert asked == [page_file.as_uri()]
    surface = window.evaluate("getComputedStyle(document.body).backgroundColor")
    assert surface == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 30)"}[scheme]
    assert window.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # a row of a table leads to its events
    window.locator("#by-kernel tbody tr").first.locator("td").nth(1).click()
    window.wait_for_function(f"{FIGURE}.pinned?.length === 6")
    window.locator("figure.ks-timeline .ks-walk").press("s")
    assert window.faults == []
    # a script that came in with a trace must not run
    window.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.ran = true";
        document.body.append(script);
    }""")
    assert window.evaluate("window.ran") is None
    window.context.close()


def test_the_viewer_fades_what_python_has_in_no_step(browser, tmp_path: Path) -> None:
    trace = load(SAMPLE.parents[1] / "small" / "second" / "unlaunched_in_steps.json")
    path = tmp_path / "page.html"
    path.write_text(page_html(trace, name="unlaunched"), encoding="utf-8")
    window = opened(browser, viewport={"width": 1280, "height": 800})
    window.goto(path.as_uri())
    window.wait_for_function(FIGURE)
    belongs = "k => [...k.model.start.keys()].filter(i => k.model.onGpu(i) && k.layout.belongs(i))"
    shown, home = window.evaluate(
        f"(k => [({belongs})(k).map(i => k.model.index[i]), [...k.layout.homeSteps]])({FIGURE})"
    )
    assert len(home) == 1 and shown == [event.index for event in trace.steps[home[0]].gpu]
    assert window.faults == []
    window.context.close()


@pytest.fixture(scope="module")
def packed(browser, tmp_path_factory: pytest.TempPathFactory):
    """A page that embeds its trace gzipped, with a table long enough for a filter."""
    events = [
        {
            "ph": "X",
            "cat": "cpu_op",
            "name": f"aten::op{k % 20:02}",
            "pid": 1,
            "tid": 1,
            "ts": 20 * k,
            "dur": 9,
        }
        for k in range(4000)
    ]
    events += [
        {"ph": "X", "cat": "kernel", "name": f"kernel_{k}", "pid": 0, "tid": 7, "ts": 90_000 + 30 * k,
         "dur": 10 + k, "args": {"stream": 7, "device": 0}}
        for k in range(3)
    ]  # fmt: skip
    text = page_html(loads(json.dumps({"traceEvents": events}).encode(), "x"), name="packed")
    assert '<script type="application/gzip"' in text
    path = tmp_path_factory.mktemp("packed") / "page.html"
    path.write_text(text, encoding="utf-8")
    window = opened(browser, viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    window.goto(path.as_uri())
    window.wait_for_function(FIGURE)
    yield window
    window.context.close()


def test_a_gzipped_trace_is_unpacked_completely(packed) -> None:
    assert packed.evaluate(f"{FIGURE}.model.count") == 4003
    assert packed.faults == []


def test_tables_can_be_sorted_and_filtered(packed) -> None:
    names = "[...document.querySelectorAll('#by-kernel tbody tr')].map(row => row.cells[0].textContent)"
    head = packed.locator("#by-kernel th", has=packed.get_by_role("button", name="max"))
    head.get_by_role("button").click()
    assert packed.evaluate(names) == ["kernel_2", "kernel_1", "kernel_0"]
    head.get_by_role("button").click()
    assert packed.evaluate(names) == ["kernel_0", "kernel_1", "kernel_2"]
    assert head.get_attribute("aria-sort") == "ascending"
    packed.get_by_label("Only ops with").fill("OP1")
    assert packed.locator("#by-op tbody tr:visible").count() == 10
    assert packed.locator("#by-op .ks-count").text_content() == "10 of 20 rows"
    packed.get_by_label("Only ops with").fill("")
    assert packed.locator("#by-op tbody tr:visible").count() == 20


def test_a_row_of_the_overview_leads_to_its_events(packed) -> None:
    packed.locator(".ks-glance tr[data-events]").first.click()
    packed.wait_for_function(f"{FIGURE}.pinned?.length === 1")


def test_a_key_measures_a_gap_and_a_button_leads_back_to_the_selection(packed) -> None:
    first = packed.evaluate(f"{FIGURE}.model.find('kernel_0')[0]")
    packed.evaluate(f"{FIGURE}.select({first})")
    walk = packed.locator(".ks-walk")
    walk.press("g")
    tape = packed.evaluate(f"{FIGURE}.painter.tape.to - {FIGURE}.painter.tape.from")
    assert tape == 20_000
    walk.press("Escape")
    again = packed.get_by_role("button", name="Back to the selected event")
    packed.evaluate(f"{FIGURE}.view.set(0, 1000)")
    again.click()
    packed.wait_for_function(f"{FIGURE}.inView({first})")
    again.wait_for(state="hidden")
    assert packed.evaluate("document.activeElement.className") == "ks-walk"
    assert packed.faults == []


def test_a_very_deep_trace_opens(browser, tmp_path: Path) -> None:
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": k, "dur": 800 - 2 * k}
        for k in range(400)
    ]
    page = tmp_path / "page.html"
    page.write_text(page_html(loads(json.dumps({"traceEvents": events}).encode(), "x"), name="deep"), "utf-8")
    window = opened(browser, viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    window.goto(page.as_uri())
    window.wait_for_function(FIGURE)
    assert window.evaluate(f"{FIGURE}.model.count") == 200
    assert window.evaluate(f"{FIGURE}.model.lanes[0].label") == "CPU · 200 below row 200 not drawn"
    # The arguments of one call are few: a row with more events than fit on the stack leads to them, too.
    row = window.locator("#by-op tbody tr").first
    row.evaluate("row => row.dataset.events = '0 1 2 3 '.repeat(50000)")
    row.locator("td").nth(1).click()
    window.wait_for_function(f"{FIGURE}.pinned?.length === 200000")
    assert window.faults == []
    window.context.close()
