"""The size of each chapter on a first visit, scrolled to its end, and the share of our own files.

Text counts gzipped, as a host sends it. 1 kB is 1000 bytes.
"""

from __future__ import annotations

import functools
import gzip
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from visiting import serving

ROOT = Path(__file__).parents[2]
COURSE_PAGE_KB = 200
OURS_KB = 60
TEXT = {".html", ".css", ".js", ".svg", ".json", ".txt", ".xml"}

TO_THE_END = """async () => {
  const frame = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));
  for (let y = 0; y < document.documentElement.scrollHeight; y += innerHeight) {
    scrollTo(0, y);
    await frame();
  }
}"""


@functools.cache
def kilobytes(path: Path) -> float:
    """Return the size of a file as it is sent, in kB, without headers."""
    content = path.read_bytes()
    return len(gzip.compress(content, 6) if path.suffix in TEXT else content) / 1000


def weigh(browser, base: str, site: Path, name: str) -> dict[str, float]:
    """Return the kB of each file that the browser fetches while a first visitor scrolls through the page."""
    asked: set[str] = set()
    context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    page.on("request", lambda request: asked.add(request.url))
    page.goto(f"{base}{name}.html", wait_until="load")
    page.evaluate(TO_THE_END)
    page.wait_for_load_state("networkidle")
    context.close()
    paths = {unquote(urlsplit(url).path).lstrip("/") for url in asked if url.startswith(base)}
    return {path: kilobytes(site / path) for path in paths}


def heaviest(files: dict[str, float], count: int) -> str:
    """List the largest files with their kB."""
    most = sorted(files.items(), key=lambda item: -item[1])[:count]
    return ", ".join(f"{Path(path).name} {weight:.1f}" for path, weight in most)


@pytest.mark.browser
def test_a_page_of_the_course_is_light(website, browser, served, say) -> None:
    pages = [name for name in website.names() if name.startswith("read/")]
    assert len(pages) > 5
    weights = {name: weigh(browser, served, website.html, name) for name in pages}
    total = {name: sum(files.values()) for name, files in weights.items()}
    for name, weight in sorted(total.items()):
        say(f"{name}: {weight:.0f} kB gzip in {len(weights[name])} requests; {COURSE_PAGE_KB} at most")
    name = max(total, key=total.__getitem__)
    say(f"heaviest on {name}: {heaviest(weights[name], 8)} kB")
    heavy = {name: heaviest(weights[name], 8) for name in pages if total[name] > COURSE_PAGE_KB}
    assert heavy == {}


OURS = (
    *(f"kinetoscope{part}.css" for part in ("", "-figures", "-timeline")),
    *(f"{name}.js" for name in ("kinetoscope", "kinetoscope-timeline", "guess")),
)


def test_our_scripts_and_styles_are_light(website, say) -> None:
    """The limit is for all of them together, although no page loads all."""
    own = {path.name for end in ("js", "css") for path in (ROOT / "docs" / "_static").glob(f"*.{end}")}
    own |= {path.name for end in ("js", "css") for path in (ROOT / "src").glob(f"**/book/static/*.{end}")}
    files = {
        path.name: kilobytes(path)
        for path in (website.html / "_static").iterdir()
        if path.name in own.union(OURS)
    }
    assert files.keys() >= {*OURS, "book.css"}
    total = sum(files.values())
    say(f"our JavaScript and CSS: {total:.1f} kB gzip, {OURS_KB} at most: {heaviest(files, 5)}")
    assert total <= OURS_KB, heaviest(files, 8)


@pytest.mark.browser
def test_files_that_are_loaded_late_count(tmp_path, browser) -> None:
    late = "document.head.append(Object.assign(document.createElement('script'), {src: 'late.js'}))"
    (tmp_path / "x.html").write_text(
        "<!doctype html><link rel=stylesheet href='a.css?v=1'><img src=b.png alt=''>"
        "<div style='height: 4000px'></div><p id=end>end<script>"
        f"new IntersectionObserver(seen => seen[0].isIntersecting && {late}).observe(end)</script>"
    )
    (tmp_path / "a.css").write_text("/* " + "a" * 50_000 + " */")
    (tmp_path / "b.png").write_bytes(bytes(20_000))
    (tmp_path / "late.js").write_text("// late")
    (tmp_path / "not-asked-for.js").write_text("// no")
    with serving(tmp_path) as address:
        sizes = weigh(browser, address, tmp_path, "x")
    assert sizes.keys() == {"x.html", "a.css", "b.png", "late.js"}
    assert sizes["b.png"] == 20
    assert sizes["a.css"] < 1
