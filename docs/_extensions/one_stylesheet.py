"""One stylesheet for all pages, with only the rules that some page can use.

The theme, Sphinx and the extensions bring a dozen stylesheets.  Most of their rules are about things that
this book does not have (a thousand icons, carousels, cards), and a browser draws nothing before the last of
them has arrived.  When a site is built, this extension writes them into one file without the rules about
classes and ids that no page and no script contains, and links that file from the pages.  The stylesheets
themselves stay.
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
# Kept whole: our scripts compose class names, and we use all that we write.
_WHOLE = ("_static/kinetoscope-figures.css", "_static/kinetoscope.css", "_static/book.css")
_NESTED = {"media", "supports", "container", "layer"}


def put_together(app: Sphinx, exception: Exception | None) -> None:
    """``build-finished``: write the stylesheet, and link it from each page."""
    if exception is not None or app.builder.format != "html":
        return
    site = Path(app.outdir)
    pages = {path: path.read_text(encoding="utf-8") for path in _pages(site)}
    # Pages of an earlier build link our file already; those that this build wrote link all the others.
    linked = Counter(names for path, html in pages.items() if len(names := _sheets(path, html, site)) > 1)
    if not linked:
        return
    sheets = linked.most_common(1)[0][0]
    used = names_in(pages.values()) | _words_of_scripts(site, pages.values())
    css = "".join(lean(sheet, site, used) for sheet in sheets)
    (site / NAME).write_text(css, encoding="utf-8")
    version = hashlib.sha256(css.encode()).hexdigest()[:8]
    for path, html in pages.items():
        changed = html
        first = _LINK.search(html)
        if first is not None and _sheets(path, html, site) == sheets:
            up = "../" * (len(path.relative_to(site).parts) - 1)
            link = f'<link rel="stylesheet" href="{up}{NAME}?v={version}" />\n'
            changed = html[: first.start()] + link + _LINK.sub("", html[first.end() :])
        changed = _OURS.sub(rf'\g<1>{version}"', changed)
        if changed != html:
            path.write_text(changed, encoding="utf-8")


def _pages(site: Path) -> list[Path]:
    """The pages of a site.  HTML in a folder that begins with _ is no page."""
    return [
        path
        for path in sorted(site.rglob("*.html"))
        if not any(part.startswith("_") for part in path.relative_to(site).parts)
    ]


def _sheets(page: Path, html: str, site: Path) -> tuple[str, ...]:
    """The stylesheets of the site that a page links, in their order, as paths in the site."""
    folder = PurePosixPath(page.relative_to(site).parent.as_posix())
    return tuple(normpath(str(folder / urlsplit(href).path)) for href in _LINK.findall(html))


def names_in(pages: Iterable[str]) -> set[str]:
    """All classes and ids in some HTML."""
    return {
        name
        for html in pages
        for match in _NAMED.finditer(html)
        for name in (match[1] or match[2] or "").split()
    }


def _words_of_scripts(site: Path, pages: Iterable[str]) -> set[str]:
    """All words of the scripts that some page loads: a script may use any of them as a class."""
    wanted = {PurePosixPath(name).name for html in pages for name in _SCRIPT.findall(html)}
    # Scripts load others, so any file name of a script that stands in a page counts.
    scripts = [path for path in sorted((site / "_static").rglob("*.js")) if path.name in wanted]
    return {
        word for path in scripts for word in _WORD.findall(path.read_text(encoding="utf-8", errors="replace"))
    }


def lean(sheet: str, site: Path, used: set[str]) -> str:
    """A stylesheet and what it imports, without comments and without rules for names that are not ``used``.

    Addresses in it are relative to the new file's folder.
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
    """The rules that can match something; inside a condition (such as ``@media``), each by itself."""
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
    """The single selectors of a list."""
    selectors: list[list[Node]] = [[]]
    for part in parts:
        if part == ",":
            selectors.append([])
        else:
            selectors[-1].append(part)
    return selectors


def _can_match(selector: list[Node], used: set[str]) -> bool:
    """Tell whether every class and id in a selector is used; arguments in parentheses are not looked at."""
    dots = [False, *(part == "." for part in selector)]
    return all(
        part.value in used
        for part, is_class in zip(selector, dots, strict=False)
        if (is_class and isinstance(part, IdentToken)) or isinstance(part, HashToken)
    )


def _tidy(parts: list[Node] | None, folder: PurePosixPath) -> None:
    """Remove comments, shorten white space, and make addresses relative to the new file."""
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
    """An address in a stylesheet in ``folder``, as it is from the folder of the new file."""
    if address.startswith(("/", "#")) or urlsplit(address).scheme:
        return address
    path = normpath(str(folder / address))
    return path.removeprefix("_static/") if path.startswith("_static/") else f"../{path}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    # After the theme, which writes the colors of code at the end of a build.
    app.connect("build-finished", put_together, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
