"""How a page is found from elsewhere: its description, the sitemap, and the card that is shown of it.

Sitemap and card need to know where the site will be (``html_baseurl``); without that there are none.
``sphinx-sitemap`` lists only the pages that a build wrote, in the order in which its processes finished; a
second build would give another list than the first.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape as escape_xml

from docutils import nodes

from kinetoscope.book.build_context import book_of
from kinetoscope.book.ladder import ladder
from kinetoscope.draw.matplotlib_backend import save_card

if TYPE_CHECKING:
    from sphinx.application import Sphinx

CARD = "_images/card.png"
"""Where the card lies in the built site"""
_SITES = ("html", "dirhtml")
"""The builders whose pages others can link to"""
_LONGEST = 200
"""Characters of a description that others show"""


def describe_page(app: Sphinx, doctree: nodes.document) -> None:
    """``doctree-read``: a page that does not describe itself is described by its first paragraph.

    Of a gallery page that is the first of the example's docstring.  What describes the page also goes onto
    its card.
    """
    given = next((meta for meta in doctree.findall(nodes.meta) if meta.get("name") == "description"), None)
    text = given["content"] if given is not None else _first_sentences(doctree)
    if not text:
        return
    if given is None:
        doctree.append(nodes.meta(name="description", content=text))
    app.env.metadata[app.env.docname]["og:description"] = text


def _first_sentences(doctree: nodes.document) -> str:
    """The first paragraph of the text itself, cut at a word."""
    for paragraph in doctree.findall(nodes.paragraph):
        if not isinstance(paragraph.parent, (nodes.section, nodes.document)):
            continue
        text = " ".join(paragraph.astext().split())
        if len(text) > _LONGEST:
            text = text[:_LONGEST].rpartition(" ")[0].rstrip(",;:") + " …"
        if text:
            return text
    return ""


def describe_search(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """``html-page-context``: the page of the search has no document that could describe it."""
    if pagename == "search":
        text = escape(f"Search {app.config.html_title or app.config.project}.", quote=True)
        context["metatags"] = context.get("metatags", "") + f'<meta name="description" content="{text}" />\n'


def write_sitemap(app: Sphinx, exception: Exception | None) -> None:
    """``build-finished``: every page of the site, as https://www.sitemaps.org/protocol.html has it."""
    target = Path(app.outdir) / "sitemap.xml"
    base = str(app.config.html_baseurl or "")
    if exception is not None or app.builder.name not in _SITES or not base:
        return
    base = base.rstrip("/") + "/"
    lines = ['<?xml version="1.0" encoding="utf-8"?>']
    lines.append('<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">')
    for docname in sorted(app.env.found_docs):
        address = base + app.builder.get_target_uri(docname)
        lines.append(f"<url><loc>{escape_xml(address)}</loc></url>")
    lines.append("</urlset>")
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")


def in_reading_order(app: Sphinx, exception: Exception | None) -> None:
    """``build-finished``: ``sphinx-llms-txt`` lists pages as Sphinx remembers them: as its processes ended.

    From here on that is the order in which the site is read, the same in every build.
    """
    env = app.env
    order: dict[str, None] = {}

    def walk(docname: str) -> None:
        if docname not in order:
            order[docname] = None
            for child in env.toctree_includes.get(docname, ()):
                walk(child)

    walk(app.config.root_doc)
    known = [docname for docname in order if docname in env.all_docs]
    others = sorted(env.all_docs.keys() - set(known))
    env.all_docs = {docname: env.all_docs[docname] for docname in (*known, *others)}


def draw_card(app: Sphinx, exception: Exception | None) -> None:
    """``build-finished``: the card, with the ladder of the first page, if there is one."""
    if exception is not None or app.builder.name not in _SITES or not app.config.html_baseurl:
        return
    root = app.env.get_doctree(app.config.root_doc)
    found = next(root.findall(ladder), None)
    if found is None:
        return
    target = Path(app.outdir) / CARD
    target.parent.mkdir(parents=True, exist_ok=True)
    gpu = book_of(app.env).machine().provenance.machine.gpu
    title = app.env.titles[app.config.root_doc].astext()
    save_card(found["strips"], target, title=title, below=f"{app.config.project}: recorded on {gpu}")


def setup_discovery(app: Sphinx) -> None:
    """Connects what is above."""
    # After the banner, which is none of the page's own text; before nothing that reads descriptions.
    app.connect("doctree-read", describe_page, priority=300)
    # Before sphinxext-opengraph, which adds to the same tags.
    app.connect("html-page-context", describe_search, priority=400)
    app.connect("build-finished", in_reading_order, priority=100)
    app.connect("build-finished", write_sitemap)
    app.connect("build-finished", draw_card)
