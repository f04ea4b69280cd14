"""What axe-core and the eye of a reader of headings find in a page that is open, light and dark."""

from __future__ import annotations

import itertools
from importlib.resources import files

from visiting import Visit

SET_THEME = """theme => {
  document.documentElement.dataset.theme = theme;
  document.documentElement.dataset.mode = theme;
}"""
RULES = {"rules": {"target-size": {"enabled": True}}}
BUT_COLOR = {"rules": {"target-size": {"enabled": True}, "color-contrast": {"enabled": False}}}
COLOR = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
# Code has the same few colors on every page.
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
# Colors come by tag, class and style: what stands in the same as three others of the site has theirs.
ALIKE = """known => {
  const kept = new Set();
  for (const part of document.querySelectorAll("body *:not(svg *)")) {
    let kind = "";
    for (let outer = part; outer && outer !== document.body; outer = outer.parentElement)
      kind += `${outer.tagName}.${outer.getAttribute("class") ?? ""}${outer.getAttribute("style") ?? ""} `;
    known[kind] = (known[kind] ?? 0) + 1;
    if (known[kind] <= 3) for (let outer = part; outer; outer = outer.parentElement) kept.add(outer);
  }
  for (const part of document.querySelectorAll("body :is(p, li, dt, dd, td, th, a, code, span, button)"))
    if (!kept.has(part)) part.remove();
  return known;
}"""
RUN = """async options => {
  const {violations} = await axe.run(document, {...options, resultTypes: ["violations"], preload: false});
  return violations.flatMap(rule => rule.nodes.map(node =>
    `${rule.id}: ${node.target.join(" ")}: ${node.failureSummary.split("\\n").slice(1).join(" ").trim()}`));
}"""
HEADINGS = """() => [...document.querySelectorAll("h1, h2, h3, h4, h5, h6, [role=heading]")]
  .filter(heading => heading.checkVisibility())
  .map(heading => Number(heading.ariaLevel || heading.tagName[1]))"""


def axe_source() -> str:
    """axe-core, as it is given to a page."""
    return files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


def examine(visit: Visit, axe: str, options: dict) -> None:
    """Note what axe finds in the page that is open."""
    if not visit.page.evaluate("typeof axe === 'object'"):
        visit.page.evaluate(axe)
    for fault in visit.page.evaluate(RUN, options):
        visit.note(fault)


def judge(visit: Visit, axe: str, name: str, known: dict[str, int]) -> dict[str, int]:
    """Note what is wrong with the page that is open, which is taken apart; tell what is known afterwards."""
    visit.name = name
    levels = visit.page.evaluate(HEADINGS)
    if levels.count(1) != 1 or levels[0] != 1:
        visit.note(f"not one title, and first: headings of levels {levels}")
    if any(after > before + 1 for before, after in itertools.pairwise(levels)):
        visit.note(f"a level of headings is left out: {levels}")
    visit.page.evaluate(PRUNE, name not in PAGES_WITH_CODE)
    examine(visit, axe, BUT_COLOR)
    known = visit.page.evaluate(ALIKE, known)
    examine(visit, axe, COLOR)
    visit.name = f"{name}, dark"
    visit.page.evaluate(SET_THEME, "dark")
    examine(visit, axe, COLOR)
    return known
