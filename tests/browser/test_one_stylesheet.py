"""The one stylesheet that the book's pages load in place of a dozen gives every page the same look."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "_extensions"))

one_stylesheet = pytest.importorskip("one_stylesheet")

LINKS = """<link rel="stylesheet" type="text/css" href="{up}_static/styles/a.css?v=1" />
<link href="{up}_static/b.css" rel="stylesheet" />
"""
A = """
@import "../basic.css";
/* words */ .used, .unused { color: red }
.unused { color: blue }
.used .unused b { color: blue }
.used:not(.unused) { background: url(../pictures/x.svg) }
.used:is(.unused, b) { background: url("https://example.org/y.png") }
#there { margin: 0 } #nowhere { margin: 1px }
.by-a-script { color: green } p[class~=unused] { color: pink }
@media (min-width: 10px) { .used { top: 0 } .unused { top: 1px } }
@media print { .unused { top: 2px } }
@font-face { font-family: F; src: url("f.woff2") }
@keyframes k { from { top: 3px } }
"""


def site(folder: Path) -> SimpleNamespace:
    """A stand-in for a Sphinx app whose site has two pages, three stylesheets and two scripts."""
    (folder / "_static/styles").mkdir(parents=True)
    (folder / "read").mkdir()
    (folder / "_static/styles/a.css").write_text(A)
    (folder / "_static/basic.css").write_text("i { top: 4px }")
    (folder / "_static/b.css").write_text("b { top: 5px }")
    (folder / "_static/s.js").write_text('node.classList.add("by-a-script")')
    (folder / "_static/elsewhere.js").write_text('node.classList.add("unused")')
    page(folder / "index.html", "", '<p class="used">unused</p><script src="_static/s.js?v=1"></script>')
    page(folder / "read/x.html", "../", '<p id="there">')
    return SimpleNamespace(outdir=str(folder), builder=SimpleNamespace(format="html"))


def page(path: Path, up: str, body: str) -> None:
    path.write_text(f"<head>{LINKS.format(up=up)}</head>{body}")


def test_a_rule_is_kept_if_a_page_or_a_script_uses_its_names(tmp_path: Path) -> None:
    one_stylesheet.put_together(site(tmp_path), None)
    rules = (tmp_path / "_static/book-all.css").read_text().splitlines()
    assert rules == [
        "i { top: 4px }",
        ".used{ color: red }",
        '.used:not(.unused) { background: url("pictures/x.svg") }',
        '.used:is(.unused, b) { background: url("https://example.org/y.png") }',
        "#there { margin: 0 }",
        ".by-a-script { color: green }",
        "p[class~=unused] { color: pink }",
        "@media (min-width: 10px) {.used { top: 0 }}",
        '@font-face { font-family: F; src: url("styles/f.woff2") }',
        "@keyframes k { from { top: 3px } }",
        "b { top: 5px }",
    ]


def test_pages_load_it_by_its_checksum(tmp_path: Path) -> None:
    app = site(tmp_path)
    one_stylesheet.put_together(app, None)
    links = [re.findall(r"<link.*?>", path.read_text()) for path in one_stylesheet._pages(tmp_path)]
    assert [len(tags) for tags in links] == [1, 1]
    version = re.fullmatch(r'<link rel="stylesheet" href="_static/book-all.css\?v=(\w{8})" />', links[0][0])
    assert version is not None
    assert links[1] == [f'<link rel="stylesheet" href="../_static/book-all.css?v={version[1]}" />']

    # The next build writes one page. Its new rule is in the stylesheet, and both pages have the new checksum.
    page(tmp_path / "read/x.html", "../", '<p class="unused">')
    one_stylesheet.put_together(app, None)
    assert ".unused { color: blue }" in (tmp_path / "_static/book-all.css").read_text()
    (first,), (second,) = (
        re.findall(r"all.css\?v=(\w+)", path.read_text()) for path in one_stylesheet._pages(tmp_path)
    )
    assert first == second != version[1]


# States that no page is in when it is loaded: they come from the pointer, a script or the reader's settings.
STATES = re.compile(r"::?(?!not|is|where|has|first|last|nth|only|root|empty)[\w-]+(\([^)]*\))?")


@pytest.mark.browser
def test_no_rule_that_was_left_out_matches_on_a_page(website, browser, served) -> None:
    whole = [
        rule
        for name in ("styles/pydata-sphinx-theme.css", "sphinx-design.min.css", "sg_gallery.css", "basic.css")
        for rule in re.findall(r"([^{}@;]+)\{[^{}]+\}", (website.html / "_static" / name).read_text("utf-8"))
    ]
    kept = (website.html / "_static/book-all.css").read_text("utf-8")
    selectors = {
        STATES.sub("", one).strip() for rule in whole for one in re.sub(r"/\*.*?\*/", "", rule).split(",")
    }
    tab = browser.new_page()
    for name in ("index", "read/linear", "gallery/02_linear", "reference/directives"):
        tab.goto(f"{served}{name}.html")
        matched = tab.evaluate(
            """all => all.filter(one => {
              try { return document.querySelector(one) } catch { return false }
            })""",
            sorted(selectors),
        )
        names = {part for one in matched for part in re.findall(r"[.#][a-zA-Z][\w-]*", one)}
        assert len(names) > 50
        assert {part for part in names if part not in kept} == set()
    tab.close()
