"""axe-core on every page, light and dark; and what it cannot see: focus, headings, boxes that scroll."""

from __future__ import annotations

import itertools
from importlib.resources import files

import pytest
from visiting import Visit, serving

pytestmark = pytest.mark.browser

SET_THEME = """theme => {
  document.documentElement.dataset.theme = theme;
  document.documentElement.dataset.mode = theme;
}"""
RULES = {"rules": {"target-size": {"enabled": True}}}
BUT_COLOUR = {"rules": {"target-size": {"enabled": True}, "color-contrast": {"enabled": False}}}
COLOUR = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
# Code has the same few colours on every page.
PAGES_WITH_CODE = ("gallery/02_linear", "use/one-script", "reference/configuration")
# What axe would spend most of its time on to no end: the bars of a drawing, which is one picture to a screen
# reader and of which axe cannot tell the ground (tests/draw holds the palette to its contrast); each word of
# code; the tenth timeline and the hundredth row of a table, made as the others are.
PRUNE = """code => {
  for (const drawing of document.querySelectorAll("svg.ks-svg"))
    drawing.replaceChildren(...drawing.querySelectorAll(":scope > title, :scope > desc"));
  if (code) for (const part of document.querySelectorAll("pre")) part.textContent = part.textContent;
  for (const figure of [...document.querySelectorAll("figure.ks-timeline")].slice(2)) figure.remove();
  for (const row of document.querySelectorAll(".ks-table tbody tr:nth-child(n + 4)")) row.remove();
  for (const part of document.querySelectorAll(".ks-answer, .sd-dropdown")) part.open = true;
}"""
# Colours come by tag and class: what is like six others before it has theirs.
ALIKE = """() => {
  const seen = new Map();
  const parts = ".bd-article :is(p, li, dt, dd, td, th, a, code, span, button)";
  for (const part of document.querySelectorAll(parts)) {
    const kind = [part, part.parentElement].map(each => `${each.tagName}.${each.className}`).join(" in ");
    seen.set(kind, (seen.get(kind) ?? 0) + 1);
    if (seen.get(kind) > 6) part.remove();
  }
}"""
RUN = """async options => {
  const {violations} = await axe.run(document, {...options, resultTypes: ["violations"], preload: false});
  return violations.flatMap(rule => rule.nodes.map(node =>
    `${rule.id}: ${node.target.join(" ")}: ${node.failureSummary.split("\\n").slice(1).join(" ").trim()}`));
}"""
SCROLLED = """() => [...document.querySelectorAll(".bd-article *")].filter(box =>
    box.scrollWidth > box.clientWidth + 1 && box.clientWidth > 0
    && ["auto", "scroll"].includes(getComputedStyle(box).overflowX))
  .map(box => ({
    box: `${box.tagName.toLowerCase()}.${box.className}: ${box.textContent.trim().slice(0, 40)}`,
    reached: box.tabIndex >= 0 || box.querySelector("a, button, summary, [tabindex='0']") !== null,
    named: box.tagName === "PRE" || box.querySelector("a, button, [role=tree]") !== null
      || Boolean(box.ariaLabel || box.getAttribute("aria-labelledby"))}))"""
HEADINGS = """() => [...document.querySelectorAll("h1, h2, h3, h4, h5, h6, [role=heading]")]
  .filter(heading => heading.checkVisibility())
  .map(heading => Number(heading.ariaLevel || heading.tagName[1]))"""
# A control that looks the same with the focus as without it.
UNSEEN = """() => {
  const looks = element => {
    // the ring may be drawn around what the control stands for: a card, a row, a choice
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
    return files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


def examine(visit: Visit, axe: str, options: dict) -> None:
    """Note what axe finds in the page that is open."""
    if not visit.page.evaluate("typeof axe === 'object'"):
        visit.page.evaluate(axe)
    for fault in visit.page.evaluate(RUN, options):
        visit.note(fault)


def test_axe_finds_nothing_on_any_page_light_or_dark(website, browser, served, axe) -> None:
    with Visit(browser, served, "light") as visit:
        visit.page.set_viewport_size({"width": 1280, "height": 900})
        for name in website.names():
            visit.open(name)
            levels = visit.page.evaluate(HEADINGS)
            if levels.count(1) != 1 or levels[0] != 1:
                visit.note(f"not one title, and first: headings of levels {levels}")
            if any(after > before + 1 for before, after in itertools.pairwise(levels)):
                visit.note(f"a level of headings is left out: {levels}")
            visit.page.evaluate(PRUNE, name not in PAGES_WITH_CODE)
            examine(visit, axe, BUT_COLOUR)
            visit.page.evaluate(ALIKE)
            examine(visit, axe, COLOUR)
            visit.name = f"{name}, dark"
            visit.page.evaluate(SET_THEME, "dark")
            examine(visit, axe, COLOUR)
        assert visit.faults == []


def test_axe_finds_nothing_on_a_phone(website, browser, served, axe) -> None:
    """The menu is folded there, and boxes scroll."""
    with Visit(browser, served, "light") as visit:
        visit.page.set_viewport_size({"width": 360, "height": 780})
        for name in ("index", "read/linear", "gallery/05_recompiles", "lookup/said-and-measured"):
            visit.open(name)
            visit.page.evaluate(PRUNE, True)
            examine(visit, axe, RULES)
            for box in visit.page.evaluate(SCROLLED):
                if not box["reached"]:
                    visit.note(f"scrolls, and no key gets there: {box['box']}")
                if not box["named"]:
                    visit.note(f"scrolls, and has no name: {box['box']}")
        visit.page.locator("button.primary-toggle").click()
        visit.page.locator("#pst-primary-sidebar-modal").wait_for()
        examine(visit, axe, RULES)
        assert visit.faults == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_focus_is_seen_wherever_it_is(website, browser, served, theme: str) -> None:
    with Visit(browser, served, theme) as visit:
        for name in ("index", "read/linear", "gallery/index"):
            visit.open(name)
            visit.page.keyboard.press("Tab")  # what is focused after a key shows it
            for element in visit.page.evaluate(UNSEEN):
                visit.note(f"the focus is not seen on {element}")
        assert visit.faults == []


def test_the_keyboard_gets_through_a_page_and_out_of_it(website, browser, served) -> None:
    """Tab comes to the text first if one wants that, goes down the page, and is caught nowhere."""
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
            pytest.fail(f"400 times Tab, and still at {page.evaluate('document.activeElement.outerHTML')}")
        assert len(places) > 20
        assert all(after > before - 300 for before, after in itertools.pairwise(places)), places
        assert visit.faults == []


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
    (tmp_path / "x.html").write_text(PAGE.format(html), encoding="utf-8")
    with serving(tmp_path) as address, Visit(browser, address, "light") as visit:
        visit.open("x")
        examine(visit, axe, RULES)
        assert fault in "\n".join(visit.faults)


def test_a_hidden_focus_a_nameless_box_and_a_jump_are_noticed(tmp_path, browser) -> None:
    html = (
        "<h3>y</h3><a href='#x' style='outline: none'>a</a>"
        "<div style='overflow: auto; width: 100px'><p style='width: 200px'>wide</p></div>"
    )
    (tmp_path / "x.html").write_text(PAGE.format(html), encoding="utf-8")
    with serving(tmp_path) as address, Visit(browser, address, "light") as visit:
        visit.open("x")
        assert visit.page.evaluate(HEADINGS) == [1, 3]
        assert visit.page.evaluate(SCROLLED)[0] == {"box": "div.: wide", "reached": False, "named": False}
        visit.page.keyboard.press("Tab")
        assert len(visit.page.evaluate(UNSEEN)) == 1
