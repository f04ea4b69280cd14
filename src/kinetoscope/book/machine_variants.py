"""The switch between recordings: a page is computed for several machines, and holds what came of each.

One machine's part is the page: what is seen without JavaScript, on paper, by search engines, and what every
other builder gets.  The others' parts are HTML templates beside it, which ``machines.js`` brings out.  To
compute a part is to read it again with another :class:`Book`, of which that machine is the one shown; so
directives and roles ask :func:`book_of` as they always do, and know nothing of this.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.nodes import Node

from kinetoscope.book.build_context import Book, book_of, set_book

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment


class on_machine(nodes.General, nodes.Element):
    """What the page shows of its default machine, where another has something else.

    ``machines``: places in :attr:`Book.switch`; ``inline``: whether it stands in a line of text.
    """


class on_other_machine(nodes.Invisible, nodes.Element):
    """The same of other machines: no part of the text, so in no heading, contents, index or description."""

    def __init__(self, *children: Node, **attributes: Any) -> None:
        super().__init__("", *children, classes=["no-search"], **attributes)

    def astext(self) -> str:
        return ""


class machine_switch(nodes.Invisible, nodes.Element):
    """What a reader chooses with.  ``labels``: of each of :attr:`Book.switch`; ``name``: of the buttons."""


@contextmanager
def reading_for(env: BuildEnvironment, *machines: str) -> Iterator[Book]:
    """What is read inside is for these machines only; the first of them is the one shown."""
    book = book_of(env)
    narrowed = replace(book, shown=machines[0], here=machines)
    set_book(env, narrowed)
    try:
        yield narrowed
    finally:
        set_book(env, book)


def for_each_machine(
    env: BuildEnvironment, make: Callable[[], list[Node]], *, inline: bool = False
) -> list[Node]:
    """What ``make`` makes for each machine that is being read for; just that if it is all the same."""
    parts: dict[str, list[Node]] = {}
    for name in book_of(env).here:
        with reading_for(env, name):
            parts[name] = make()
    return side_by_side(book_of(env), parts, inline=inline)


def side_by_side(book: Book, parts: Mapping[str, list[Node]], *, inline: bool = False) -> list[Node]:
    """``parts``, by machine, as they go into the page: each different one once, the default's first."""
    groups: dict[str, list[str]] = {}
    for name, part in parts.items():
        groups.setdefault("\n".join(node.pformat() for node in part), []).append(name)
    if len(groups) == 1:
        return next(iter(parts.values()))
    found: list[Node] = []
    for names in groups.values():
        found += only_on(book, names, parts[names[0]], inline=inline)
    return found


def only_on(book: Book, names: Iterable[str], part: list[Node], *, inline: bool = False) -> list[Node]:
    """``part`` as something that the page shows on these machines only."""
    machines = [book.switch.index(name) for name in names]
    if not part:
        return []
    if 0 not in machines:
        return [on_other_machine(*part, machines=machines, inline=inline)]
    found: list[Node] = []
    for node in part:
        if isinstance(node, nodes.section):
            # no box around it: a page's contents list the sections that lie in each other
            node["classes"] += _classes(machines)
            found.append(node)
        elif found and isinstance(found[-1], on_machine):
            found[-1] += node
        else:
            found.append(on_machine("", node, machines=machines, inline=inline))
    return found


def keep_only(element: nodes.Element, machine: int) -> None:
    """Takes out of ``element`` what is of other machines than this one, named by its place in the switch."""
    for node in [*element.findall(on_machine), *element.findall(on_other_machine)]:
        place = node.parent.index(node)
        node.parent[place : place + 1] = node.children if machine in node["machines"] else []


def for_each_copy(
    env: BuildEnvironment, content: list[Node], document: nodes.document
) -> dict[str, list[Node]]:
    """What was parsed once, by machine: what is wrong with it was said once, a target in it is there once."""
    book = book_of(env)
    first, *others = book.here
    whole = nodes.Element("", *content)
    copies = {name: copy_of(whole, book.switch.index(name), document) for name in others}
    keep_only(whole, book.switch.index(first))
    return {name: part.children for name, part in ((first, whole), *copies.items())}


def copy_of(element: nodes.Element, machine: int, document: nodes.document) -> nodes.Element:
    """A copy for another machine than the first: ids are those of the first one's."""
    copy = element.deepcopy()
    keep_only(copy, machine)
    for node in copy.findall(nodes.Element):
        node["ids"] = []
        # what is not yet resolved is known to the document, which must know the copy, too
        if isinstance(node, nodes.reference) and "refname" in node:
            document.note_refname(node)
        elif isinstance(node, nodes.footnote_reference) and "refname" in node:
            document.note_footnote_ref(node)
    return copy


def labels(book: Book) -> list[str]:
    """What each machine of the switch is called: its GPU, and its own name where two have the same."""
    gpus = [book.machine(name).provenance.machine.gpu for name in book.switch]
    return [
        gpu if gpus.count(gpu) == 1 else f"{gpu} ({name})"
        for gpu, name in zip(gpus, book.switch, strict=True)
    ]


def _classes(machines: Sequence[int]) -> list[str]:
    return ["ks-for", *(f"ks-on-{number}" for number in machines)]


def _box(node: nodes.Element) -> str:
    return f'{"span" if node["inline"] else "div"} class="{" ".join(_classes(node["machines"]))}"'


def visit_on_machine_html(translator: Any, node: on_machine) -> None:
    """A box that can be hidden."""
    translator.body.append(f"<{_box(node)}>")


def depart_on_machine_html(translator: Any, node: on_machine) -> None:
    """Its end."""
    translator.body.append("</span>" if node["inline"] else "</div>\n")


def visit_on_other_machine_html(translator: Any, node: on_other_machine) -> None:
    """The same box in a template: no part of the page until it is brought out."""
    classes = " ".join(f"ks-on-{number}" for number in node["machines"])
    translator.body.append(f'<template class="{classes}"><{_box(node)}>')


def depart_on_other_machine_html(translator: Any, node: on_other_machine) -> None:
    """Its end."""
    translator.body.append("</span></template>" if node["inline"] else "</div></template>\n")


def visit_machine_switch_html(translator: Any, node: machine_switch) -> None:
    """Radio buttons, which nobody sees where there is no JavaScript."""
    buttons = "".join(
        f'<label><input type="radio" name="{node["name"]}" value="{number}" autocomplete="off"'
        f"{' checked' if number == 0 else ''}> {escape(label)}</label>"
        for number, label in enumerate(node["labels"])
    )
    translator.body.append(
        f'<fieldset class="ks-switch"><legend>Numbers from</legend> {buttons}</fieldset>\n'
    )
    raise nodes.SkipNode


def add_script(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """``html-page-context``: what brings the others out, on the pages that have others."""
    if doctree is not None and next(doctree.findall(machine_switch), None) is not None:
        names = json.dumps(book_of(app.env).switch)
        attributes: dict[str, Any] = {"data-machines": names}
        app.add_js_file("machines.js", **attributes)


def keep_out_of_contents(app: Sphinx, doctree: nodes.document) -> None:
    """``doctree-read``, after Sphinx has collected titles: they are also shown where there is no switch."""
    env = app.env
    for titles in (env.titles, env.longtitles, env.tocs):
        keep_only(titles[env.docname], 0)


def setup_switch(app: Sphinx) -> None:
    """Registers the nodes and what goes with them."""
    app.add_node(on_machine, html=(visit_on_machine_html, depart_on_machine_html))
    app.add_node(on_other_machine, html=(visit_on_other_machine_html, depart_on_other_machine_html))
    app.add_node(machine_switch, html=(visit_machine_switch_html, None))
    app.connect("html-page-context", add_script)
    app.connect("doctree-read", keep_out_of_contents, priority=900)
