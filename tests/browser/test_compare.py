"""Two timelines compared on a page: they zoom together, and matching events light up together."""

from __future__ import annotations

import pytest
from visiting import Visit

from kinetoscope import load
from kinetoscope.draw.viewer import key_help
from kinetoscope.measure.compare import compare

pytestmark = pytest.mark.browser

PAGE, BEFORE, AFTER = "reference/directives", "geglu_eager", "geglu_compiled"
ALIVE = """names => names.every(name => document.querySelector(
  `figure.ks-compared:has(.ks-tools[data-trace$='/${name}'])`)?.kinetoscope?.draws)"""
GET = """(name) => {
  const figure = document.querySelector(`figure.ks-compared:has(.ks-tools[data-trace$='/${name}'])`);
  const it = figure.kinetoscope;
  return { start: it.view.start, end: it.view.end, overlaid: it.layout.overlaid, tape: it.painter.tape,
           lit: (it.lit ?? []).map(i => it.model.index[i]), span: it.view.span, max: it.view.max,
           steps: (it.lit ?? []).map(i => it.model.stepOf[i]), home: [...it.layout.homeSteps] };
}"""
# The place on the screen of the first bar, in the step shown, whose name begins with `start`.
WHERE = """([name, start]) => {
  const figure = document.querySelector(`figure.ks-compared:has(.ks-tools[data-trace$='/${name}'])`);
  const it = figure.kinetoscope;
  for (let i = 0; i < it.model.count; i++) {
    if (!it.model.nameOf(i).startsWith(start) || !it.layout.homeSteps.has(it.model.stepOf[i])) continue;
    const box = it.layout.boxOf(i);
    if (box.x < 0 || box.x > it.layout.width) continue;
    const place = it.canvas.getBoundingClientRect();
    return { x: place.left + (box.x + box.w / 2) * it.scale, index: it.model.index[i],
             y: place.top + (box.y + box.h / 2 - it.painter.scrollY) * it.scale };
  }
}"""


@pytest.fixture
def reader(website, browser, served):
    with Visit(browser, served, "light") as visit:
        visit.page.set_viewport_size({"width": 1440, "height": 1400})
        visit.open(PAGE)
        visit.page.locator("figure.ks-compared").first.scroll_into_view_if_needed()
        visit.page.wait_for_function(ALIVE, arg=[BEFORE, AFTER])
        yield visit


def test_two_timelines_are_one(reader, website) -> None:
    page = reader.page
    traces = {name: load(next(website.recordings.rglob(f"{name}.json.gz"))) for name in (BEFORE, AFTER)}
    pairs = compare(*traces.values())
    figures = {
        name: page.locator(f"figure.ks-compared:has(.ks-tools[data-trace$='/{name}'])") for name in traces
    }

    # the manual lists the keys that the viewer knows
    assert [tuple(line) for line in page.evaluate("kinetoscope.keyHelp")] == key_help()

    # both show the same range, counted from the start of their steps
    at = [page.evaluate(GET, name) for name in traces]
    assert at[0]["start"] == at[1]["start"] == 0 and at[0]["end"] == at[1]["end"]
    figures[AFTER].get_by_role("button", name="Zoom in").click()
    nearer = [page.evaluate(GET, name) for name in traces]
    assert nearer[0]["span"] == nearer[1]["span"] < at[0]["span"]
    figures[BEFORE].get_by_role("button", name="Back").click()
    assert page.evaluate(GET, BEFORE)["span"] == at[0]["span"]

    # pointing at an event lights up its match, in the step that is shown
    kept = next(
        pair for pair in pairs if pair.change not in ("gone", "new") and pair.name.startswith("nvjet")
    )
    figures[BEFORE].scroll_into_view_if_needed()
    place = page.evaluate(WHERE, [BEFORE, kept.name])
    page.mouse.move(place["x"], place["y"])
    page.wait_for_function(f"({GET})('{AFTER}').lit.length > 0")
    partner = page.evaluate(GET, AFTER)
    assert set(partner["lit"]) <= {event.index for event in kept.events_after}
    assert set(partner["steps"]) == set(partner["home"])
    told = figures[BEFORE].locator(".ks-facts div", has_text=f"in {AFTER}").text_content()
    assert "kept" in told and "×" in told

    # an event that is gone has no match
    gone = next(pair for pair in pairs if pair.change == "gone")
    place = page.evaluate(WHERE, [BEFORE, gone.name])
    page.mouse.move(place["x"], place["y"])
    page.wait_for_function(f"({GET})('{AFTER}').lit.length === 0")
    assert "gone" in figures[BEFORE].locator(".ks-facts").text_content()
    page.mouse.move(5, 5)

    # a row of the table lights up both
    table = page.locator(f".ks-table[data-trace*='{BEFORE} '][data-trace$='/{AFTER}']")
    row = table.locator("tr[data-events]", has_text=kept.name[:30])
    row.hover()
    for name, events in ((BEFORE, kept.events_before), (AFTER, kept.events_after)):
        page.wait_for_function(f"({GET})('{name}').lit.length === {len(events)}")
        assert set(page.evaluate(GET, name)["lit"]) == {event.index for event in events}
    page.mouse.move(5, 5)

    # steps are overlaid in both figures or in none; afterwards all is as before
    figures[AFTER].get_by_role("button", name="Overlay").click()
    over = [page.evaluate(GET, name) for name in traces]
    assert all(each["overlaid"] for each in over) and over[0]["max"] == over[1]["max"]
    figures[BEFORE].get_by_role("button", name="Overlay").click()
    back = [page.evaluate(GET, name) for name in traces]
    for each, first in zip(back, at, strict=True):
        assert (each["start"], each["end"], each["max"]) == (first["start"], first["end"], first["max"])

    # both show the same tape
    canvas = figures[BEFORE].locator("canvas").bounding_box()
    axis = canvas["y"] + canvas["height"] - 8
    page.mouse.move(canvas["x"] + 100, axis)
    page.mouse.down()
    page.mouse.move(canvas["x"] + 300, axis, steps=3)
    page.mouse.up()
    tapes = [page.evaluate(GET, name)["tape"] for name in traces]
    assert tapes[0] is not None and tapes[0] == tapes[1]
