"""Descriptions, sitemap, preview card, and the order of the chapters."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from xml.etree import ElementTree

import jinja2
import pytest

ROOT = Path(__file__).parents[2]


def chapters() -> list[str]:
    """Return the names of the chapters' pages in reading order."""
    listed = re.findall(r"^[\w-]+$", (ROOT / "docs/read/index.md").read_text("utf-8"), re.MULTILINE)
    return [f"read/{name}" for name in listed if (ROOT / f"docs/read/{name}.md").is_file()]


def meta(page, key: str, kind: str = "name") -> list[str]:
    return [given.get("content", "") for tag, given in page.tags if tag == "meta" and given.get(kind) == key]


def test_every_page_has_its_own_description(website) -> None:
    seen: dict[str, str] = {}
    for name in website.names():
        page = website.page(name)
        [description] = meta(page, "description")
        assert 20 <= len(description) <= 320 or name == "search", f"{name}: {description!r}"
        assert description not in seen, f"{name} and {seen.get(description)} are described alike"
        seen[description] = name
        title = re.search(r"<title>(.+?)</title>", page.html[: page.html.index("</head>")], re.DOTALL)
        assert title is not None and "Kinetoscope" in title[1], name
        if name == "search":
            continue
        assert meta(page, "og:description", "property") == [description], name
        assert meta(page, "og:url", "property") == [f"{website.address}{name}.html"]
        [canonical] = [given["href"] for given in page.by_rel("canonical")]
        assert canonical == f"{website.address}{name}.html"
        assert any(given["href"].endswith("favicon.svg") for given in page.by_rel("icon"))


def test_the_preview_card_has_the_usual_size(website) -> None:
    cards = {card for name in website.names() for card in meta(website.page(name), "og:image", "property")}
    [card] = cards
    assert card.startswith(website.address)
    picture = (website.html / card.removeprefix(website.address)).read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert [int.from_bytes(picture[at : at + 4], "big") for at in (16, 20)] == [1200, 630]
    assert len(picture) < 100_000


def test_the_sitemap_and_llms_txt_list_every_page(website) -> None:
    wanted = {f"{website.address}{name}.html" for name in website.names() if name != "search"}
    tree = ElementTree.parse(website.html / "sitemap.xml")
    listed = [place.text for place in tree.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    assert sorted(listed) == sorted(wanted)
    text = (website.html / "llms.txt").read_text("utf-8")
    assert set(re.findall(r"\]\((\S+)\)", text)) == wanted
    assert "[Linear: one layer, one kernel]" in text
    # in the order of the contents, whichever process finishes first
    for part in ("read", "gallery", "lookup", "use", "reference"):
        source = next((website.tree / "docs" / part).glob("index.*")).read_text("utf-8")
        order = [f"{website.address}{part}/{name}.html" for name in toctree(source)]
        assert order and [page for page in re.findall(r"\]\((\S+)\)", text) if page in order] == order


def toctree(source: str) -> list[str]:
    """Return the names in a page's table of contents."""
    return re.findall(r"^ *(?:/\w+/)?([\w-]+)$", source.partition("toctree")[2], re.MULTILINE)


def test_without_a_url_nothing_needs_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KINETOSCOPE_URL", "READTHEDOCS_CANONICAL_URL", "KINETOSCOPE_REPOSITORY"):
        monkeypatch.delenv(name, raising=False)
    conf = runpy.run_path(str(ROOT / "conf.py"))
    assert conf["html_baseurl"] == ""
    assert "sphinxext.opengraph" not in conf["extensions"]
    assert conf["html_theme_options"]["use_edit_page_button"] is False
    monkeypatch.setenv("READTHEDOCS_CANONICAL_URL", "https://x.example.org/")
    conf = runpy.run_path(str(ROOT / "conf.py"))
    assert conf["html_baseurl"] == conf["ogp_site_url"] == "https://x.example.org/"


def test_each_page_is_edited_where_its_source_is(website, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINETOSCOPE_REPOSITORY", "https://github.com/someone/book/")
    conf = runpy.run_path(str(ROOT / "conf.py"))
    assert conf["html_theme_options"]["use_edit_page_button"] is True
    address = jinja2.Template(conf["html_context"]["edit_page_url_template"])
    for name in website.names():
        sources = list((website.html / "_sources").glob(f"{name}.*.txt"))
        if name == "search":
            continue
        [source] = [path.relative_to(website.html / "_sources").as_posix() for path in sources]
        url = address.render(file_name=source.removesuffix(".txt"))
        assert url.startswith("https://github.com/someone/book/edit/main/")
        path = url.removeprefix("https://github.com/someone/book/edit/main/")
        assert (ROOT / path).is_file(), f"{name} is edited at {path}"


def test_a_chapter_has_its_number_and_its_script(website) -> None:
    order = chapters()
    assert len(order) >= 6
    for name in website.names():
        page = website.page(name)
        assert len(page.by_class("book-course", "nav")) == (name in order), name
        if name not in order:
            continue
        assert f"chapter {order.index(name) + 1} of {len(order)}" in page.text
        here = [
            given["href"] for tag, given in page.tags if given.get("aria-current") == "page" and tag == "a"
        ]
        assert {website.target(page, href) for href in here if href} <= {page.path.resolve(), page.path}
        assert page.by_class("ks-run", "p"), f"{name} does not offer its script"
        assert website.downloads(name), name
        assert all(path.is_file() for path in website.downloads(name).values())


def test_the_ladder_has_a_rung_for_each_chapter_and_leads_there(website) -> None:
    page = website.page("index")
    rungs = re.findall(r'<li class="ks-rung">.*?</li>', page.html, re.DOTALL)
    targets = [re.search(r'<p class="ks-rung-title"><a [^>]*href="([^"#]+)', rung)[1] for rung in rungs]
    assert targets == [f"{name}.html" for name in chapters()]
    for rung in rungs:
        strips = re.findall(r'<svg class="ks-strip" role="img" aria-label="([^"]+)"', rung)
        assert strips
        for words in strips:
            assert re.match(r"\w+\. \w+ steps? of \w+: ", words), words
