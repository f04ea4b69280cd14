"""What a first visit waits for: one stylesheet, of the rules that some page can use.

The theme, Sphinx, and the extensions bring a dozen stylesheets, most of them about things this book does not
have (a thousand icons, carousels, cards).  No page is drawn before the last of them is there.  When a site is
built, this puts them into one file, leaves out rules about classes and names that stand in no page and in no
script, and lets the pages load that file.  The stylesheets themselves stay where they were.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import tinycss2
from tinycss2.ast import (
    AtRule,
    FunctionBlock,
    HashToken,
    IdentToken,
    LiteralToken,
    Node,
    QualifiedRule,
    StringToken,
    URLToken,
)

if TYPE_CHECKING:
    from sphinx.application import Sphinx

NAME = "_static/book-all.css"
_LINK = re.compile(r'[ \t]*<link\b(?=[^>]*\brel="stylesheet")[^>]*\bhref="([^"]*)"[^>]*>\n?')
_OURS = re.compile(rf'(href="[^"]*{re.escape(NAME)}\?v=)\w*"')
_NAMED = re.compile(r"""\b(?:class|id)=(?:"([^"]*)"|'([^']*)')""")
_SCRIPT = re.compile(r"([\w./-]+\.js)\b")
_WORD = re.compile(r"[\w-]+")
# Our scripts put names together; and what is ours is used.
_WHOLE = ("_static/kinetoscope-figures.css", "_static/kinetoscope.css", "_static/book.css")
_NESTED = {"media", "supports", "container", "layer"}


def put_together(app: Sphinx, exception: Exception | None) -> None:
    """``build-finished``: makes the stylesheet, and lets each page load it."""
    if exception is not None or app.builder.format != "html":
        return
    site = Path(app.outdir)
    pages = {path: path.read_text(encoding="utf-8") for path in _pages(site)}
    # A page written by an earlier build has one link already, and this build wrote at least one anew.
    asked = Counter(found for path, html in pages.items() if len(found := _sheets(path, html, site)) > 1)
    if not asked:
        return
    sheets = asked.most_common(1)[0][0]
    used = names_in(pages.values()) | _words_of_scripts(site, pages.values())
    css = "".join(lean(sheet, site, used) for sheet in sheets)
    (site / NAME).write_text(css, encoding="utf-8")
    version = hashlib.sha256(css.encode()).hexdigest()[:8]
    for path, html in pages.items():
        changed = html
        if _sheets(path, html, site) == sheets:
            up = "../" * (len(path.relative_to(site).parts) - 1)
            first = True

            def one(_: re.Match[str], up: str = up) -> str:
                nonlocal first
                link, first = (
                    (f'<link rel="stylesheet" href="{up}{NAME}?v={version}" />\n' if first else ""),
                    False,
                )
                return link

            changed = _LINK.sub(one, html)
        changed = _OURS.sub(rf'\g<1>{version}"', changed)
        if changed != html:
            path.write_text(changed, encoding="utf-8")


def _pages(site: Path) -> list[Path]:
    """The pages of a site; what lies under folders that begin with _ is no page of its own."""
    return [
        path
        for path in sorted(site.rglob("*.html"))
        if not any(part.startswith("_") for part in path.relative_to(site).parts)
    ]


def _sheets(page: Path, html: str, site: Path) -> tuple[str, ...]:
    """The site's own stylesheets that a page loads, in their order, as paths in the site."""
    folder = PurePosixPath(page.relative_to(site).parent.as_posix())
    return tuple(normpath(str(folder / urlsplit(href).path)) for href in _LINK.findall(html))


def names_in(pages: Iterable[str]) -> set[str]:
    """All classes and ids in some HTML."""
    return {
        name
        for html in pages
        for found in _NAMED.finditer(html)
        for name in (found[1] or found[2] or "").split()
    }


def _words_of_scripts(site: Path, pages: Iterable[str]) -> set[str]:
    """All words of all scripts that some page names: a script may give an element any of them as a class."""
    wanted = {PurePosixPath(name).name for html in pages for name in _SCRIPT.findall(html)}
    # Scripts load others: whatever is named like one is taken for one.
    scripts = [path for path in sorted((site / "_static").rglob("*.js")) if path.name in wanted]
    return {
        word for path in scripts for word in _WORD.findall(path.read_text(encoding="utf-8", errors="replace"))
    }


def lean(sheet: str, site: Path, used: set[str]) -> str:
    """A stylesheet and what it imports, without comments and without rules about what is not ``used``.

    Addresses in it are made relative to the new file's folder.
    """
    rules = tinycss2.parse_stylesheet(
        (site / sheet).read_text(encoding="utf-8"), skip_comments=True, skip_whitespace=True
    )
    out = []
    for rule in rules if sheet in _WHOLE else _kept(rules, used):
        if isinstance(rule, AtRule) and rule.lower_at_keyword == "import":
            (address,) = (part for part in rule.prelude if part.type in ("url", "string"))
            out.append(lean(normpath(str(PurePosixPath(sheet).parent / address.value)), site, used))
        elif not (isinstance(rule, AtRule) and rule.lower_at_keyword == "charset"):
            for part in (rule.prelude, rule.content):
                _tidy(part, PurePosixPath(sheet).parent)
            out.append(rule.serialize().strip() + "\n")
    return "".join(out)


def _kept(rules: Iterable[Node], used: set[str]) -> Iterator[Node]:
    """The rules that can match something; those of a condition are looked at one by one."""
    for rule in rules:
        if isinstance(rule, QualifiedRule):
            selectors = [one for one in _between_commas(rule.prelude) if _can_match(one, used)]
            if selectors:
                rule.prelude = [part for one in selectors for part in (LiteralToken(0, 0, ","), *one)][1:]
                yield rule
        elif isinstance(rule, AtRule) and rule.lower_at_keyword in _NESTED and rule.content is not None:
            inside = tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True)
            rule.content = list(_kept(inside, used))
            if rule.content:
                yield rule
        else:
            yield rule


def _between_commas(parts: Iterable[Node]) -> list[list[Node]]:
    """The selectors of a list of them."""
    selectors: list[list[Node]] = [[]]
    for part in parts:
        if part == ",":
            selectors.append([])
        else:
            selectors[-1].append(part)
    return selectors


def _can_match(selector: list[Node], used: set[str]) -> bool:
    """Tell whether every class and id that a selector asks for is used; brackets may hold anything."""
    dots = [False, *(part == "." for part in selector)]
    return all(
        part.value in used
        for part, is_class in zip(selector, dots, strict=False)
        if (is_class and isinstance(part, IdentToken)) or isinstance(part, HashToken)
    )


def _tidy(parts: list[Node] | None, folder: PurePosixPath) -> None:
    """Take out comments and runs of white space, and make addresses relative to the new file."""
    if parts is None:
        return
    parts[:] = [part for part in parts if part.type != "comment"]
    for part in parts:
        if part.type == "whitespace":
            part.value = " "
        elif isinstance(part, URLToken):
            part.value = _moved(part.value, folder)
            part.representation = f'url("{part.value}")'
        elif isinstance(part, FunctionBlock):
            if part.lower_name == "url":
                for inner in part.arguments:
                    if isinstance(inner, StringToken):
                        inner.value = _moved(inner.value, folder)
                        inner.representation = f'"{inner.value}"'
            _tidy(part.arguments, folder)
        elif isinstance(part, (AtRule, QualifiedRule)):
            _tidy(part.prelude, folder)
            _tidy(part.content, folder)
        elif hasattr(part, "content") and isinstance(part.content, list):
            _tidy(part.content, folder)


def _moved(address: str, folder: PurePosixPath) -> str:
    """An address in a stylesheet of ``folder``, as seen from the new file's."""
    if address.startswith(("/", "#")) or urlsplit(address).scheme:
        return address
    path = normpath(str(folder / address))
    return path.removeprefix("_static/") if path.startswith("_static/") else f"../{path}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    # The theme writes the colours of code at the end of a build.
    app.connect("build-finished", put_together, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
