"""How HTML shows a node of ours: what is written before its children, and what after them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from docutils import nodes

Text = str | Callable[[Any], str]
"""What is written: a text, or what a function says of the node"""
Visitors = tuple[Callable[[Any, Any], None], Callable[[Any, Any], None] | None]
"""A visit and a depart function, as for ``app.add_node(node, html=...)``"""
NodeVisitors = dict[type[nodes.Element], Visitors]


def around(before: Text, after: Text) -> Visitors:
    """Writes ``before``, the node's children, ``after``."""

    def write(text: Text) -> Callable[[Any, Any], None]:
        return lambda translator, node: translator.body.append(text(node) if callable(text) else text)

    return write(before), write(after)


def in_place_of(text: Text) -> Visitors:
    """Writes ``text``, and nothing of the node's children."""

    def visit(translator: Any, node: nodes.Element) -> None:
        translator.body.append(text(node) if callable(text) else text)
        raise nodes.SkipNode

    return visit, None
