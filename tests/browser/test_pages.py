"""The built book in a real browser: phone, tablet and desktop, light and dark, with and without JavaScript.

`KINETOSCOPE_CHROMIUM` names the browser; `KINETOSCOPE_REQUIRE_BROWSER=1` makes its absence a failure.
`KINETOSCOPE_SCREENSHOTS` names a folder for a screenshot of every page. They take longer than all the rest.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from judging import SET_THEME, axe_source, judge
from visiting import Visit, visiting

pytestmark = pytest.mark.browser

WIDTHS = {360: 780, 768: 1024, 1440: 900}
PARTS = 2  # the longest test is cut in two, so that two processes can share it
SMALLEST_TEXT = 10.5  # CSS px on the screen
SIZES = ((320, 640, ""), (1280, 900, "200%"), (3840, 900, ""))
LONGEST_LINE = 50  # em: about a hundred characters
BOXES = """() => [...document.querySelectorAll(".bd-article *")]
  .filter(box => ["auto", "scroll"].includes(getComputedStyle(box).overflowX)
    && box.scrollWidth > box.clientWidth + 1 && box.getClientRects().length
    && box.tabIndex < 0 && !box.matches(".ks-frame")  // the viewer makes it focusable
    && !box.querySelector("a, button, input, summary, [tabindex]"))
  .map(box => `${box.tagName}.${box.className}: ${box.textContent.trim().slice(0, 30)}`)"""
# The theme makes code that scrolls focusable, but only a moment after the window's size has changed.
REACHED = """() => [...document.querySelectorAll("pre")]
  .every(box => box.scrollWidth <= box.clientWidth || box.tabIndex >= 0)"""
MEASURE = """() => Math.max(0, ...[...document.querySelectorAll(".bd-article section > p")]
  .map(text => text.getBoundingClientRect().width / parseFloat(getComputedStyle(text).fontSize)))"""

LOOK = """smallest => {
  const seen = {wide: 0, narrow: 0, both: [], none: [], small: [], out: [], tables: 0};
  const root = document.documentElement;
  seen.scroll = root.scrollWidth - innerWidth;
  seen.theme = root.dataset.theme || "";
  seen.ground = getComputedStyle(document.body).backgroundColor;
  seen.surfaces = [...new Set([...document.querySelectorAll(".ks-frame, .ks-table")]
    .map(box => getComputedStyle(box).backgroundColor))];
  const shown = node => node && node.getClientRects().length > 0;
  for (const figure of document.querySelectorAll("figure.ks-timeline")) {
    if (!shown(figure)) continue;  // in a tab that is not open
    const wide = shown(figure.querySelector(".ks-wide .ks-svg"));
    const narrow = shown(figure.querySelector(".ks-narrow .ks-svg"));
    seen.wide += wide; seen.narrow += narrow;
    if (wide && narrow) seen.both.push(figure.id);
    if (!wide && !narrow) seen.none.push(figure.id);
  }
  for (const svg of document.querySelectorAll(".ks-svg")) {
    if (!shown(svg)) continue;
    for (const text of svg.querySelectorAll("text")) {
      const size = parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a;
      if (size < smallest) seen.small.push(`${text.textContent}: ${size.toFixed(1)} px`);
    }
  }
  const scrolls = node => {
    // the theme lets the whole article scroll, but to a reader that is a broken page
    for (let box = node; box && !box.matches(".bd-article-container, body"); box = box.parentElement)
      if (["auto", "scroll"].includes(getComputedStyle(box).overflowX)) return true;
    return false;
  };
  for (const node of document.querySelectorAll(".bd-article-container *")) {
    const box = node.getBoundingClientRect();
    if (box.width > 1 && box.right > innerWidth + 1 && !node.closest("figure svg") && !scrolls(node))
      seen.out.push(`${node.tagName}.${node.className}: ${node.textContent.trim().slice(0, 40)}`);
  }
  for (const box of document.querySelectorAll(".bd-article-container"))
    if (box.scrollWidth > box.clientWidth)
      seen.out.push(`something, by ${box.scrollWidth - box.clientWidth} px`);
  for (const box of document.querySelectorAll(".ks-table")) seen.tables += shown(box);
  return seen;
}"""


def look(visit: Visit, name: str, width: int, theme: str, timelines: int) -> None:
    """Note what is wrong with the page at one width."""
    seen = visit.page.evaluate(LOOK, SMALLEST_TEXT)
    visit.name = f"{name} at {width} px, {theme}"
    if seen["scroll"] > 0:
        visit.note(f"scrolls sideways by {seen['scroll']} px")
    if seen["out"]:
        visit.note(f"sticks out: {seen['out'][:5]}")
    if seen["theme"] != theme:
        visit.note(f"the theme is {seen['theme']!r}")
    dark = [is_dark(color) for color in (seen["ground"], *seen["surfaces"])]
    if any(is_so != (theme == "dark") for is_so in dark):
        visit.note(f"backgrounds are {seen['ground']} and {seen['surfaces']}")
    if seen["both"] or seen["none"]:
        visit.note(f"drawn twice: {seen['both']}, not at all: {seen['none']}")
    if width == 360 and seen["wide"]:
        visit.note(f"{seen['wide']} wide timelines on a phone")
    if width == 1440 and seen["narrow"]:
        visit.note(f"{seen['narrow']} narrow timelines on a desktop")
    if seen["wide"] + seen["narrow"] != timelines:
        visit.note(f"{seen['wide'] + seen['narrow']} of {timelines} timelines are shown")
    if seen["small"]:
        visit.note(f"text too small: {seen['small'][:5]}")


def stretch(visit: Visit, name: str) -> None:
    """Note what sticks out or gets too long at extreme sizes of screen and text."""
    for width, height, text in SIZES:
        visit.name = f"{name} at {width} px {text}"
        visit.page.set_viewport_size({"width": width, "height": height})
        visit.page.evaluate("size => document.documentElement.style.fontSize = size", text)
        seen = visit.page.evaluate(LOOK, SMALLEST_TEXT)
        if seen["scroll"] > 0 or seen["out"]:
            visit.note(f"scrolls sideways by {seen['scroll']} px; sticks out: {seen['out'][:5]}")
        if (measure := visit.page.evaluate(MEASURE)) > LONGEST_LINE:
            visit.note(f"a line of text is {measure:.0f} em long")
        if width == SIZES[0][0] and (boxes := visit.page.evaluate(BOXES)):
            visit.note(f"scrolls, but no key reaches it: {boxes[:3]}")


def is_dark(color: str) -> bool:
    """Tell whether a computed color, ``rgb(…)``, is nearer to black than to white."""
    red, green, blue = (float(part) for part in color[color.index("(") + 1 : -1].split(",")[:3])
    return 0.3 * red + 0.6 * green + 0.1 * blue < 128


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_page_at_every_width_light_and_dark(website, browser, served, screenshots, part: int) -> None:
    """Check everything about a page in one visit, because opening it takes longer than looking at it."""
    from playwright.sync_api import TimeoutError as TimeoutReached  # only installed where browsers are used

    axe, known = axe_source(), {}
    with Visit(browser, served, "light") as visit:
        for name in website.names()[part::PARTS]:
            timelines = len(website.page(name).by_class("ks-timeline", "figure"))
            # The theme makes what scrolls focusable when the page opens, so open it at the smallest size.
            visit.page.set_viewport_size({"width": SIZES[0][0], "height": SIZES[0][1]})
            visit.open(name)
            stretch(visit, name)
            for theme in ("light", "dark"):
                visit.page.evaluate(SET_THEME, theme)
                # A theme changes only colors, and these are the same at every width.
                widths = WIDTHS if theme == "light" or screenshots else (1440,)
                for width in widths:
                    visit.page.set_viewport_size({"width": width, "height": WIDTHS[width]})
                    look(visit, name, width, theme, timelines)
                    if screenshots:
                        path = screenshots / f"{name.replace('/', '-')}-{width}-{theme}.png"
                        visit.page.screenshot(path=path, full_page=True)
            visit.page.evaluate(SET_THEME, "light")
            visit.page.set_viewport_size({"width": 1280, "height": 900})
            with contextlib.suppress(TimeoutReached):  # axe reports what no key reaches
                visit.page.wait_for_function(REACHED, timeout=30_000)
            known = judge(visit, axe, name, known)


def test_a_page_of_each_kind_from_a_file(website, browser) -> None:
    """Only loading differs from a served page, so one page of each set of scripts and styles is enough."""
    kinds = {}
    for name in website.names():
        loaded = {Path(link.partition("?")[0]) for link in website.page(name).fetched}
        loaded = {path.name for path in loaded if path.suffix in (".js", ".css") and path.parts[0] == ".."}
        kinds.setdefault((Path(name).parent, frozenset(loaded)), name)
    assert {"index", "read/across-the-operator-boundary"} < set(kinds.values())
    with Visit(browser, website.html.as_uri() + "/", "light") as visit:
        visit.page.set_viewport_size({"width": 1440, "height": WIDTHS[1440]})
        for name in kinds.values():
            visit.open(name)
            visit.page.evaluate(SET_THEME, "light")
            look(visit, name, 1440, "light", len(website.page(name).by_class("ks-timeline", "figure")))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_readers_own_theme_is_kept(website, browser, served, theme: str) -> None:
    """The page opens in the theme that the reader chose last time."""
    with Visit(browser, served, theme) as visit:
        visit.open("read/linear")
        seen = visit.page.evaluate(LOOK, SMALLEST_TEXT)
        assert seen["theme"] == theme
        assert {is_dark(color) for color in (seen["ground"], *seen["surfaces"])} == {theme == "dark"}


@pytest.mark.parametrize(
    ("width", "theme"),
    [
        (360, "light"),
        (1440, "light"),
        (360, "dark"),
    ],
)
def test_without_javascript_figures_and_tables_are_there(website, browser, served, width, theme) -> None:
    with Visit(browser, served, theme, javascript=False) as visit:
        visit.page.set_viewport_size({"width": width, "height": WIDTHS[width]})
        for name in ("read/simple-mlp", "read/linear", "read/fused-kernels", "gallery/02_linear"):
            page = website.page(name)
            visit.open(name)
            kind = "narrow" if width == 360 else "wide"
            drawn = visit.page.locator(f"figure.ks-timeline .ks-{kind} .ks-svg:visible").count()
            # tables in folded answers become visible when a reader opens them
            folded = visit.page.locator("details .ks-table").count()
            tables = visit.page.locator(".ks-table:visible").count() + folded
            assert drawn == len(page.by_class("ks-timeline", "figure")) > 0, name
            assert tables == len(page.by_class("ks-table")), name
            assert visit.page.locator(".ks-banner:visible").count() == 1, name
            seen = visit.page.evaluate(LOOK, SMALLEST_TEXT)
            assert len({is_dark(color) for color in (seen["ground"], *seen["surfaces"])}) == 1, name


def test_the_search_finds(website, browser, served) -> None:
    with Visit(browser, served, "light") as visit:
        visit.name = "search"
        visit.page.goto(f"{served}search.html?q=epilogue", wait_until="load")
        visit.page.locator("#search-results a[href*='read/linear']").first.wait_for()


# --- paper --------------------------------------------------------------------------------------------------


def test_paper_has_the_text_the_figures_and_the_answers_and_no_navigation(website, browser, served) -> None:
    with Visit(browser, served, "dark") as visit:
        visit.page.set_viewport_size({"width": 672, "height": 1000})
        visit.open("read/linear")
        visit.page.emulate_media(media="print")
        for css in (".bd-header", ".bd-sidebar-primary", ".prev-next-footer", ".headerlink", ".copybtn"):
            assert visit.page.locator(f"{css}:visible").count() == 0, css
        shown = visit.page.locator("figure.ks-timeline .ks-svg:visible").count()
        assert shown == len(website.page("read/linear").by_class("ks-timeline", "figure"))
        text = visit.page.evaluate("() => getComputedStyle(document.querySelector('.bd-article p')).color")
        assert is_dark(text), "text is dark on paper even if the screen is dark"
        closed = visit.page.locator(".ks-answer:not([open])")
        assert closed.count() > 0
        hidden = closed.evaluate_all(
            "answers => answers.filter(it => !it.lastElementChild.checkVisibility("
            "{contentVisibilityAuto: true})).map(it => it.textContent)"
        )
        assert hidden == []


# --- would these tests notice? ------------------------------------------------------------------------------

PAGE = "<!doctype html><html data-theme='light'><title>x</title><body style='background: #fff'>{}"


@pytest.mark.parametrize(
    ("html", "fault"),
    [
        ("<div style='width: 400px'>wide</div>", "scrolls sideways by"),
        (
            "<div style='overflow-x: auto' class=bd-article-container><p style='width: 400px'>x",
            "sticks out: ['P.: x'",
        ),
        (
            "<div style='overflow-x: auto' class=bd-article-container><p>" + "x" * 99,
            "sticks out: ['something, by",
        ),
        ("<script>console.error('broken')</script>", "console: broken"),
        ("<script>nowhere()</script>", "script: nowhere is not defined"),
        ("<img src='gone.png' alt=''>", "404: http://127.0.0.1"),
        (
            "<img src='http://example.invalid/x.png' alt=''>",
            "a request left the site: http://example.invalid",
        ),
        ("<link rel=stylesheet href='//example.invalid/x.css'>", "a request left the site"),
        ("<figure class=ks-timeline id=f><svg></svg></figure>", "not at all: ['f']"),
        ("<svg class=ks-svg><text font-size=9 y=9>tiny</text></svg>", "text too small: ['tiny: 9.0 px']"),
        (
            "<figure class=ks-timeline><div class=ks-wide><svg class=ks-svg></svg></div></figure>",
            "1 wide timelines on a phone",
        ),
        ("<div class=ks-table style='background: #111'>x</div>", "backgrounds are"),
    ],
)
def test_a_fault_is_noticed(tmp_path, browser, html: str, fault: str) -> None:
    with visiting(browser, tmp_path, PAGE.format(html), expect_faults=True) as visit:
        visit.page.set_viewport_size({"width": 360, "height": 780})
        look(visit, "x", 360, "light", html.count("ks-timeline"))
        assert fault in "\n".join(visit.faults)
