"""Check an open page with axe-core, and its headings, in the light and the dark theme."""

from __future__ import annotations

import itertools
from importlib.resources import files

from visiting import Visit

SET_THEME = """theme => {
  document.documentElement.dataset.theme = theme;
  document.documentElement.dataset.mode = theme;
}"""
RULES = {"rules": {"target-size": {"enabled": True}}}
ALL_BUT_COLOR = {"rules": {"target-size": {"enabled": True}, "color-contrast": {"enabled": False}}}
COLOR = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
# Highlighted code has the same few colors on every page, so we check it on these pages only.
PAGES_WITH_CODE = ("gallery/02_linear", "use/one-script", "reference/configuration")
# axe would spend most of its time on parts where it can find nothing new. We remove the bars of a drawing: to
# a screen reader the drawing is one picture, and axe cannot see a bar's background (tests/draw checks the
# contrast of the palette). We also remove the highlighting of code, all timelines but the first two, and all
# rows of a table but the first three.
PRUNE = """code => {
  for (const drawing of document.querySelectorAll("svg.ks-svg"))
    drawing.replaceChildren(...drawing.querySelectorAll(":scope > title, :scope > desc"));
  if (code) for (const part of document.querySelectorAll("pre")) part.textContent = part.textContent;
  for (const figure of [...document.querySelectorAll("figure.ks-timeline")].slice(2)) figure.remove();
  for (const row of document.querySelectorAll(".ks-table tbody tr:nth-child(n + 4)")) row.remove();
  for (const part of document.querySelectorAll(".ks-answer, .sd-dropdown")) part.open = true;
}"""
# An element gets its colors from its tag, class and style and those of its parents. If three elements of the
# site share all of these, axe has checked their colors, and we remove further ones.
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
    """Return the script of axe-core."""
    return files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


def examine(visit: Visit, axe: str, options: dict) -> None:
    """Note what axe finds in the open page."""
    if not visit.page.evaluate("typeof axe === 'object'"):
        visit.page.evaluate(axe)
    for fault in visit.page.evaluate(RUN, options):
        visit.note(fault)


def judge(visit: Visit, axe: str, name: str, known: dict[str, int]) -> dict[str, int]:
    """Note what is wrong with the open page; this removes parts of it.

    ``known`` counts the elements of each kind that earlier pages had; returned with those of this page added.
    """
    visit.name = name
    levels = visit.page.evaluate(HEADINGS)
    if levels.count(1) != 1 or levels[0] != 1:
        visit.note(f"the first heading must be the only title, but the levels are {levels}")
    if any(after > before + 1 for before, after in itertools.pairwise(levels)):
        visit.note(f"the headings skip a level: {levels}")
    visit.page.evaluate(PRUNE, name not in PAGES_WITH_CODE)
    examine(visit, axe, ALL_BUT_COLOR)
    known = visit.page.evaluate(ALIKE, known)
    examine(visit, axe, COLOR)
    visit.name = f"{name}, dark"
    visit.page.evaluate(SET_THEME, "dark")
    examine(visit, axe, COLOR)
    return known
