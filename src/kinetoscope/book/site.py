"""What a site has beyond the text of its pages.

- the chapters of the course for the theme's templates, and a download of the script that a page says to run
- a description of each page, the sitemap, and the card that other sites show.  Sitemap and card need to know
  where the site will be (``html_baseurl``); without it there are none
- the removal of what no page shows any more: Sphinx writes, and never deletes

``sphinx-sitemap`` would not do: it lists only the pages that a build wrote, in the order in which its
processes finished, so that a second build gives another list than the first.
"""

from __future__ import annotations

import contextlib
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary
from xml.sax.saxutils import escape as escape_xml

from docutils import nodes
from sphinx import addnodes

from kinetoscope.book.build_context import context_of
from kinetoscope.book.ladder import ladder
from kinetoscope.book.nodes import page_link
from kinetoscope.draw.matplotlib_backend import save_card

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

CARD = "_images/card.png"
"""Where the card lies in the built site"""
_LINKABLE = ("html", "dirhtml")
"""The builders whose pages have an address each"""
_LONGEST = 200
"""Characters of a description that other sites show"""
_RUN = re.compile(r"\buv run (?:\S*/)?([\w-]+)\.py\b")

# What the last build published, from the time its environment was read to the end of this build
_PUBLISHED: WeakKeyDictionary[BuildEnvironment, set[Path]] = WeakKeyDictionary()


def add_course(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """``html-page-context``: on a page of the course, ``ks_course`` is all of its chapters, in order.

    The chapters are what the table of contents of ``kinetoscope_course`` lists.  On other pages it is empty.
    """
    start = app.config.kinetoscope_course
    chapters = app.env.toctree_includes.get(start, []) if start else []
    context["ks_course"] = [
        {
            "title": app.env.titles[chapter].astext(),
            "uri": app.builder.get_relative_uri(pagename, chapter),
            "is_here": chapter == pagename,
        }
        for chapter in (chapters if pagename in chapters else ())
    ]


def add_run_line(app: Sphinx, doctree: nodes.document) -> None:
    """``doctree-read``: adds a download of the script under a page's first ``uv run NAME.py``.

    Only for an example of this book; on other pages than its own with a link to its page, too.
    """
    docnames = context_of(app.env).docnames
    for block in doctree.findall(nodes.literal_block):
        names = [name for name in dict.fromkeys(_RUN.findall(block.astext())) if name in docnames]
        if names:
            line = nodes.paragraph(classes=["ks-run"])
            for name in names:
                line += _script_links(app, name, docnames[name])
            block.parent.insert(block.parent.index(block) + 1, line)
            return


def _script_links(app: Sphinx, name: str, docname: str) -> list[nodes.Node]:
    file = f"{name}.py"
    target = f"/{docname}.py"
    download = addnodes.download_reference("", "", refdoc=app.env.docname, reftarget=target, refexplicit=True)
    download += nodes.literal(file, file, classes=["download"])
    links: list[nodes.Node] = [nodes.Text("Download "), download]
    if app.env.docname != docname:
        links += [nodes.Text(", or read "), page_link(app.env, f"/{docname}", "what it did")]
    return [*links, nodes.Text(". ")]


def describe_page(app: Sphinx, doctree: nodes.document) -> None:
    """``doctree-read``: a page that does not describe itself is described by its first paragraph.

    For a gallery page that is the first paragraph of the example's docstring.  The description also goes onto
    the page's card.
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
    """``html-page-context``: the search page has no document that could describe it."""
    if pagename == "search":
        text = escape(f"Search {app.config.html_title or app.config.project}.", quote=True)
        context["metatags"] = context.get("metatags", "") + f'<meta name="description" content="{text}" />\n'


def sort_documents(app: Sphinx, exception: Exception | None) -> None:
    """``build-finished``: puts the documents into reading order, the same in every build.

    ``sphinx-llms-txt`` lists pages in the order of ``env.all_docs``, in which Sphinx puts them as its
    processes finish.
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


def write_sitemap(app: Sphinx, exception: Exception | None) -> None:
    """``build-finished``: every page of the site; format: https://www.sitemaps.org/protocol.html."""
    base = str(app.config.html_baseurl or "")
    if exception is not None or app.builder.name not in _LINKABLE or not base:
        return
    base = base.rstrip("/") + "/"
    pages = (base + app.builder.get_target_uri(docname) for docname in sorted(app.env.found_docs))
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">',
        *(f"<url><loc>{escape_xml(page)}</loc></url>" for page in pages),
        "</urlset>",
    ]
    Path(app.outdir, "sitemap.xml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def draw_card(app: Sphinx, exception: Exception | None) -> None:
    """``build-finished``: the card, with the ladder of the first page, if there is one."""
    if exception is not None or app.builder.name not in _LINKABLE or not app.config.html_baseurl:
        return
    first_page = app.env.get_doctree(app.config.root_doc)
    figure = next(first_page.findall(ladder), None)
    if figure is None:
        return
    target = Path(app.outdir) / CARD
    target.parent.mkdir(parents=True, exist_ok=True)
    gpu = context_of(app.env).machine().provenance.machine.gpu
    title = app.env.titles[app.config.root_doc].astext()
    save_card(figure["strips"], target, title=title, below=f"{app.config.project}: recorded on {gpu}")


def note_published(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """``env-get-outdated``: notes what is published, before Sphinx forgets the documents that are gone."""
    _PUBLISHED[env] = _published_files(app, env)
    return []


def remove_unpublished(app: Sphinx, exception: Exception | None) -> None:
    """``build-finished``: removes what the last build published and this one does not.

    Otherwise the page of an example that is gone, its pictures and its downloads would stay in the site.
    """
    before = _PUBLISHED.pop(app.env, set())
    if exception is not None:
        return
    for path in before - _published_files(app, app.env):
        path.unlink(missing_ok=True)
        # dirhtml has a folder for each page, and downloads have one for each file.
        with contextlib.suppress(OSError):
            path.parent.rmdir()


def _published_files(app: Sphinx, env: BuildEnvironment) -> set[Path]:
    """The files of a site that belong to its documents; none where no site is built."""
    builder = app.builder
    if builder.format != "html":
        return set()
    outdir = Path(app.outdir)
    pictures = {outdir / builder.imagedir / name for _, name in env.images.values()}
    downloads = {outdir / "_downloads" / str(name) for _, name in env.dlfiles.values()}
    pages = {Path(builder.get_outfilename(docname)) for docname in env.all_docs}  # type: ignore[attr-defined]
    link = app.config.html_sourcelink_suffix
    endings = [suffix if suffix == link else suffix + link for suffix in app.config.source_suffix]
    sources = {outdir / "_sources" / f"{docname}{ending}" for docname in env.all_docs for ending in endings}
    return pictures | downloads | pages | sources
