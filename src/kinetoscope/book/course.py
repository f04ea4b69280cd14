"""Where a chapter stands in the course, for the theme's templates; and the way to the script it is about."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes

from kinetoscope.book.build_context import book_of
from kinetoscope.book.gallery import gallery_dir

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_RUN = re.compile(r"\buv run (?:\S*/)?([\w-]+)\.py\b")


@dataclass(frozen=True, slots=True)
class Place:
    """One chapter, seen from another."""

    title: str
    uri: str
    is_here: bool


def add_course(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """``html-page-context``: on a page of the course, ``ks_course`` is all of its chapters, in order.

    The chapters are what the table of contents of ``kinetoscope_course`` lists; elsewhere there are none.
    """
    start = app.config.kinetoscope_course
    chapters = app.env.toctree_includes.get(start, []) if start else []
    context["ks_course"] = [
        Place(
            app.env.titles[chapter].astext(),
            app.builder.get_relative_uri(pagename, chapter),
            chapter == pagename,
        )
        for chapter in (chapters if pagename in chapters else ())
    ]


def add_run_line(app: Sphinx, doctree: nodes.document) -> None:
    """``doctree-read``: under a page's first ``uv run NAME.py`` the script can be had.

    Only of an example of this book; on the other pages than its own with the way to that, too.
    """
    scripts = {script.stem: docname for docname, script in book_of(app.env).scripts.items()}
    for block in doctree.findall(nodes.literal_block):
        found = [name for name in dict.fromkeys(_RUN.findall(block.astext())) if name in scripts]
        if found:
            line = nodes.paragraph(classes=["ks-run"])
            for name in found:
                line += _script(app, name, scripts[name])
            block.parent.insert(block.parent.index(block) + 1, line)
            return


def _script(app: Sphinx, name: str, docname: str) -> list[nodes.Node]:
    file = f"{name}.py"
    target = f"/{gallery_dir(app)}/{file}"
    download = addnodes.download_reference("", "", refdoc=app.env.docname, reftarget=target, refexplicit=True)
    download += nodes.literal(file, file, classes=["download"])
    shown: list[nodes.Node] = [nodes.Text("Download "), download]
    if app.env.docname != docname:
        link = addnodes.pending_xref(
            "", nodes.inline("", "what it did", classes=["std", "std-doc"]), refdoc=app.env.docname,
            refdomain="std", reftype="doc", reftarget=f"/{docname}", refexplicit=True, refwarn=True,
        )  # fmt: skip
        shown += [nodes.Text(", or read "), link]
    return [*shown, nodes.Text(". ")]


def setup_course(app: Sphinx) -> None:
    """Connects what is above."""
    # Before Sphinx collects what is to be downloaded.
    app.connect("doctree-read", add_run_line, priority=200)
    app.connect("html-page-context", add_course)
