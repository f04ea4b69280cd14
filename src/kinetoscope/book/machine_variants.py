"""The switch between recordings: a page is computed for several machines, and holds what came of each.

One machine's part is the page itself: what a reader sees without JavaScript and on paper, what search engines
see, and what every builder other than HTML gets.  The other machines' parts are HTML templates beside it,
which ``machines.js`` brings out.  To compute a part, the text is read with :attr:`BuildContext.reading` set
to that machine.  Directives and roles ask the context for the machine shown, and know nothing of this.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.nodes import Node

from kinetoscope.book.build_context import BuildContext, context_of
from kinetoscope.book.nodes import NodeVisitors, around, in_place_of

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment


class on_machine(nodes.General, nodes.Element):
    """What the page shows of its default machine, where another machine has something else.

    ``machines``: their positions in :attr:`BuildContext.switch`; ``inline``: whether it is in a line of text.
    """


class on_other_machine(nodes.Invisible, nodes.Element):
    """What other machines have instead.

    It counts as no text, so that it gets into no heading, table of contents, index or description.
    """

    def __init__(self, *children: Node, **attributes: Any) -> None:
        super().__init__("", *children, classes=["no-search"], **attributes)

    def astext(self) -> str:
        return ""


class machine_switch(nodes.Invisible, nodes.Element):
    """What a reader chooses a machine with.

    ``labels``: one for each machine of :attr:`BuildContext.switch`; ``name``: of the radio buttons.
    """


@contextmanager
def reading_for(env: BuildEnvironment, *machines: str) -> Iterator[None]:
    """What is read inside is for these machines only; the first of them is the one shown."""
    context = context_of(env)
    before, context.reading = context.reading, machines
    try:
        yield
    finally:
        context.reading = before


def for_each_machine(
    env: BuildEnvironment, make: Callable[[], list[Node]], *, inline: bool = False
) -> list[Node]:
    """The nodes that ``make`` returns for each machine being read for, as :func:`side_by_side` puts them."""
    parts: dict[str, list[Node]] = {}
    for name in context_of(env).reading:
        with reading_for(env, name):
            parts[name] = make()
    return side_by_side(context_of(env), parts, inline=inline)


def side_by_side(
    context: BuildContext, parts: Mapping[str, list[Node]], *, inline: bool = False
) -> list[Node]:
    """Each machine's nodes as they go into the page: equal ones once, the default machine's first.

    Where all machines have the same, there is no box around it.
    """
    groups: dict[str, list[str]] = {}
    for name, part in parts.items():
        groups.setdefault("\n".join(node.pformat() for node in part), []).append(name)
    if len(groups) == 1:
        return next(iter(parts.values()))
    return [
        node for names in groups.values() for node in only_on(context, names, parts[names[0]], inline=inline)
    ]


def only_on(
    context: BuildContext, names: Iterable[str], part: list[Node], *, inline: bool = False
) -> list[Node]:
    """``part`` as something that the page shows on these machines only."""
    machines = [context.switch.index(name) for name in names]
    if not part:
        return []
    if 0 not in machines:
        return [on_other_machine(*part, machines=machines, inline=inline)]
    boxes: list[Node] = []
    for node in part:
        if isinstance(node, nodes.section):
            # No box: a page's contents list only sections that are directly in one another.
            node["classes"] += _classes(machines)
            boxes.append(node)
        elif boxes and isinstance(boxes[-1], on_machine):
            boxes[-1] += node
        else:
            boxes.append(on_machine("", node, machines=machines, inline=inline))
    return boxes


def keep_only(element: nodes.Element, machine: int) -> None:
    """Removes what is for other machines than this one (its position in the switch) from ``element``."""
    for node in [*element.findall(on_machine), *element.findall(on_other_machine)]:
        place = node.parent.index(node)
        node.parent[place : place + 1] = node.children if machine in node["machines"] else []


def for_each_copy(
    env: BuildEnvironment, content: list[Node], document: nodes.document
) -> dict[str, list[Node]]:
    """A copy of ``content`` for each machine being read for.

    It is parsed once and then copied, so that a fault in it is warned about once, and a target in it exists
    once: the ids stay with the first machine's.
    """
    context = context_of(env)
    first, *others = context.reading
    whole = nodes.Element("", *content)
    copies = {name: _copy(whole, context.switch.index(name), document) for name in others}
    keep_only(whole, context.switch.index(first))
    return {name: part.children for name, part in ((first, whole), *copies.items())}


def _copy(element: nodes.Element, machine: int, document: nodes.document) -> nodes.Element:
    copy = element.deepcopy()
    keep_only(copy, machine)
    for node in copy.findall(nodes.Element):
        node["ids"] = []
        # The document resolves only the references that it was told about.
        if isinstance(node, nodes.reference) and "refname" in node:
            document.note_refname(node)
        elif isinstance(node, nodes.footnote_reference) and "refname" in node:
            document.note_footnote_ref(node)
    return copy


def machine_labels(context: BuildContext) -> list[str]:
    """What each machine of the switch is called: its GPU, with its own name where two have the same GPU."""
    gpus = [context.machine(name).provenance.machine.gpu for name in context.switch]
    return [
        gpu if gpus.count(gpu) == 1 else f"{gpu} ({name})"
        for gpu, name in zip(gpus, context.switch, strict=True)
    ]


def _classes(machines: Sequence[int]) -> list[str]:
    return ["ks-for", *(f"ks-on-{number}" for number in machines)]


def _box(node: nodes.Element) -> str:
    return f'<{"span" if node["inline"] else "div"} class="{" ".join(_classes(node["machines"]))}">'


def _template(node: on_other_machine) -> str:
    classes = " ".join(f"ks-on-{number}" for number in node["machines"])
    return f'<template class="{classes}">{_box(node)}'


def _buttons(node: machine_switch) -> str:
    """Radio buttons, which are invisible where there is no JavaScript."""
    buttons = "".join(
        f'<label><input type="radio" name="{node["name"]}" value="{number}" autocomplete="off"'
        f"{' checked' if number == 0 else ''}> {escape(label)}</label>"
        for number, label in enumerate(node["labels"])
    )
    return f'<fieldset class="ks-switch"><legend>Numbers from</legend> {buttons}</fieldset>\n'


NODES: NodeVisitors = {
    on_machine: around(_box, lambda node: "</span>" if node["inline"] else "</div>\n"),
    on_other_machine: around(
        _template, lambda node: "</span></template>" if node["inline"] else "</div></template>\n"
    ),
    machine_switch: in_place_of(_buttons),
}


def add_switch_script(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """``html-page-context``: adds the script that works the switch to the pages that have one."""
    if doctree is not None and next(doctree.findall(machine_switch), None) is not None:
        attributes: dict[str, Any] = {"data-machines": json.dumps(context_of(app.env).switch)}
        app.add_js_file("machines.js", **attributes)


def keep_out_of_contents(app: Sphinx, doctree: nodes.document) -> None:
    """``doctree-read``, after Sphinx has collected titles: other pages, which show them, have no switch."""
    env = app.env
    for titles in (env.titles, env.longtitles, env.tocs):
        keep_only(titles[env.docname], 0)
