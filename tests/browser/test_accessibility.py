"""axe-core on a phone, and what axe cannot see: focus, and boxes that scroll.

tests/browser/test_pages.py runs axe on every page, light and dark.
"""

from __future__ import annotations

import itertools

import pytest
from judging import ALIKE, HEADINGS, PRUNE, RULES, axe_source, examine, judge
from visiting import Visit, visiting

pytestmark = pytest.mark.browser

SCROLLED = """() => [...document.querySelectorAll(".bd-article *")].filter(box =>
    box.scrollWidth > box.clientWidth + 1 && box.clientWidth > 0
    && ["auto", "scroll"].includes(getComputedStyle(box).overflowX))
  .map(box => ({
    box: `${box.tagName.toLowerCase()}.${box.className}: ${box.textContent.trim().slice(0, 40)}`,
    reached: box.tabIndex >= 0 || box.querySelector("a, button, summary, [tabindex='0']") !== null,
    named: box.tagName === "PRE" || box.querySelector("a, button, [role=tree]") !== null
      || Boolean(box.ariaLabel || box.getAttribute("aria-labelledby"))}))"""
# The controls that look the same with and without focus.
UNSEEN = """() => {
  const looks = element => {
    // the ring may be drawn around a parent of the control: a card, a row, a choice
    const parts = [];
    for (let part = element; part && parts.length < 5; part = part.parentElement) parts.push(part);
    return parts.map(part => {
      const style = getComputedStyle(part);
      return [style.outlineStyle, style.outlineWidth, style.outlineColor, style.boxShadow, style.borderColor,
              style.backgroundColor, style.textDecoration].join(" ");
    }).join("; ");
  };
  const unseen = [];
  const controls = "a[href], button, input, summary, select, [tabindex='0']";
  for (const element of document.querySelectorAll(controls)) {
    if (!element.checkVisibility({visibilityProperty: true}) || element.disabled) continue;
    document.activeElement.blur();
    const before = looks(element);
    element.focus({preventScroll: true});
    if (document.activeElement !== element) continue;
    if (looks(element) === before || !element.checkVisibility({opacityProperty: true}))
      unseen.push(element.outerHTML.slice(0, 120));
  }
  return unseen;
}"""


@pytest.fixture(scope="module")
def axe() -> str:
    return axe_source()


def test_axe_finds_nothing_on_a_phone(website, browser, served, axe) -> None:
    """There the menu is folded, and tables and code scroll."""
    with Visit(browser, served, "light") as visit:
        visit.page.set_viewport_size({"width": 360, "height": 780})
        for name in ("index", "read/linear", "gallery/05_recompiles", "lookup/said-and-measured"):
            visit.open(name)
            visit.page.evaluate(PRUNE, True)
            examine(visit, axe, RULES)
            for box in visit.page.evaluate(SCROLLED):
                if not box["reached"]:
                    visit.note(f"scrolls, but no key reaches it: {box['box']}")
                if not box["named"]:
                    visit.note(f"scrolls, but has no name: {box['box']}")
        visit.page.locator("button.primary-toggle").click()
        visit.page.locator("#pst-primary-sidebar-modal").wait_for()
        examine(visit, axe, RULES)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_focus_is_visible_on_every_control(website, browser, served, theme: str) -> None:
    with Visit(browser, served, theme) as visit:
        for name in ("index", "read/linear", "gallery/index"):
            visit.open(name)
            visit.page.keyboard.press("Tab")  # browsers show the focus only once a key was used
            for element in visit.page.evaluate(UNSEEN):
                visit.note(f"the focus is not visible on {element}")


def test_the_keyboard_gets_through_a_page_and_out_of_it(website, browser, served) -> None:
    """The first Tab offers to skip to the text; then Tab goes down the page and is trapped nowhere."""
    with Visit(browser, served, "light") as visit:
        visit.page.set_viewport_size({"width": 1280, "height": 900})
        visit.open("read/linear")
        page = visit.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent").strip() == "Skip to main content"
        page.keyboard.press("Enter")
        inside = "document.querySelector('.bd-article').contains(document.activeElement)"
        place = "document.activeElement.getBoundingClientRect().top + scrollY"
        places: list[float] = []
        for _ in range(400):
            page.keyboard.press("Tab")
            if page.evaluate(inside):
                places.append(page.evaluate(place))
            elif places:
                break
        else:
            pytest.fail(f"after 400 tabs still at {page.evaluate('document.activeElement.outerHTML')}")
        assert len(places) > 20
        assert all(after > before - 300 for before, after in itertools.pairwise(places)), places


# --- would these tests notice? ------------------------------------------------------------------------------

PAGE = (
    "<!doctype html><html lang=en data-theme=light><title>x</title><link rel=icon href='data:,'>"
    "<body style='background: #fff'><main class=bd-article><h1>x</h1>{}</main>"
)


@pytest.mark.parametrize(
    ("html", "fault"),
    [
        ("<img src='data:,'>", "image-alt"),
        ("<p style='color: #aaa'>pale", "color-contrast"),
        ("<a href='#x'></a>", "link-name"),
        ("<div role=region aria-label=x>a</div><div role=region aria-label=x>b</div>", "landmark-unique"),
        ("<button style='width: 9px; height: 9px'>a</button><button>b</button>", "target-size"),
    ],
)
def test_a_fault_is_noticed(tmp_path, browser, axe, html: str, fault: str) -> None:
    with visiting(browser, tmp_path, PAGE.format(html), expect_faults=True) as visit:
        examine(visit, axe, RULES)
        assert fault in "\n".join(visit.faults)


def test_a_second_title_a_skipped_level_and_a_color_of_the_dark_theme_are_noticed(
    tmp_path, browser, axe
) -> None:
    dark = (
        "<style>[data-theme=dark] em { color: #333 } [data-theme=dark] body { background: #222 !important }"
    )
    html = f"<h3>y</h3><h1>z</h1><p>said</p><p>said <em>once</em></p>{dark}"
    with visiting(browser, tmp_path, PAGE.format(html), expect_faults=True) as visit:
        known = judge(visit, axe, "x", {"P. MAIN.bd-article ": 9})
        assert known["P. MAIN.bd-article "] == 11
        assert visit.faults[0] == "x: the first heading must be the only title, but the levels are [1, 3, 1]"
        assert visit.faults[1].startswith("x: the headings skip a level")
        assert [fault for fault in visit.faults if fault.startswith("x: color-contrast")] == []
        assert "x, dark: color-contrast: em: " in visit.faults[-1]


def test_elements_with_something_new_in_them_are_kept(tmp_path, browser) -> None:
    html = "".join(f"<p>{number}</p>" for number in range(6)) + "<p>7 <a href='#x'>x</a></p>"
    with visiting(browser, tmp_path, PAGE.format(html)) as visit:
        visit.page.evaluate(ALIKE, {})
        assert visit.page.locator("p").all_text_contents() == ["0", "1", "2", "7 x"]


def test_an_invisible_focus_and_a_box_without_name_are_noticed(tmp_path, browser) -> None:
    html = (
        "<h3>y</h3><a href='#x' style='outline: none'>a</a>"
        "<div style='overflow: auto; width: 100px'><p style='width: 200px'>wide</p></div>"
    )
    with visiting(browser, tmp_path, PAGE.format(html)) as visit:
        assert visit.page.evaluate(HEADINGS) == [1, 3]
        assert visit.page.evaluate(SCROLLED)[0] == {"box": "div.: wide", "reached": False, "named": False}
        visit.page.keyboard.press("Tab")
        assert len(visit.page.evaluate(UNSEEN)) == 1
