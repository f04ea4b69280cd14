"""``{guess}``: the question first, the choices, then the answer, computed from the recording.

The first list is the choices, what lies before it the question, what follows the answer.  ``:right:`` is an
expression whose value is one of the choices.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes
from docutils.nodes import Node
from docutils.parsers.rst import directives
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from kinetoscope.book.book import book_of
from kinetoscope.book.compute import compute
from kinetoscope.book.messages import warn
from kinetoscope.book.used import note_fault
from kinetoscope.measure import show

if TYPE_CHECKING:
    from sphinx.application import Sphinx


class guess(nodes.General, nodes.Element):
    """The whole box: a question, a :class:`guess_choice` each, an answer."""


class guess_choice(nodes.General, nodes.Element):
    """One choice.  ``name``: of its group; ``right``: whether it is the one."""


class guess_answer(nodes.General, nodes.Element):
    """What is hidden until it is asked for."""


class Guess(SphinxDirective):
    """Works without JavaScript: the choices are radio buttons, the answer opens."""

    has_content = True
    option_spec: ClassVar[dict[str, Callable[[str], object]]] = {"right": directives.unchanged_required}

    def run(self) -> list[Node]:
        body = self.parse_content_to_nodes()
        at = next((n for n, node in enumerate(body) if isinstance(node, nodes.bullet_list)), None)
        if at is None or at == 0 or at == len(body) - 1:
            warn("claim", "a guess is a question, a list of choices, and an answer", self.get_location())
            note_fault(self.env)
            return body
        choices = body[at].children
        right = self._right([item.astext() for item in choices])
        name = f"ks-guess-{self.env.new_serialno('kinetoscope-guess')}"
        box = guess("", *body[:at], ids=[name])
        for item in choices:
            content = item.children[0].children if len(item.children) == 1 else item.children
            box += guess_choice("", *content, name=name, right=item.astext() == right)
        box += guess_answer("", *body[at + 1 :], right=right or "")
        return [box]

    def _right(self, choices: list[str]) -> str | None:
        if "right" not in self.options:
            return None
        found = compute(self.env, self.options["right"], self.get_location)
        if found is None:
            return None
        answer = show(found.value)
        if answer not in choices and book_of(self.env).is_strict:
            warn(
                "claim",
                f"the right answer is {answer!r}, which is none of the choices: {', '.join(choices)}",
                self.get_location(),
            )
            note_fault(self.env)
        return answer


def visit_guess_html(translator: Any, node: guess) -> None:
    """The box, named as a question."""
    translator.body.append(f'<div class="ks-guess" role="group" id="{node["ids"][0]}">\n')
    translator.body.append('<p class="ks-guess-title">Guess first</p>\n')


def depart_guess_html(translator: Any, node: guess) -> None:
    """Its end."""
    translator.body.append("</div>\n")


def visit_choice_html(translator: Any, node: guess_choice) -> None:
    """A radio button and its text."""
    right = " data-right" if node["right"] else ""
    name = escape(node["name"], quote=True)
    translator.body.append(f'<label class="ks-choice"{right}><input type="radio" name="{name}"> <span>')


def depart_choice_html(translator: Any, node: guess_choice) -> None:
    """Its end."""
    translator.body.append("</span></label>\n")


def visit_answer_html(translator: Any, node: guess_answer) -> None:
    """What opens when it is asked for."""
    translator.body.append('<details class="ks-answer"><summary>Look</summary>\n')
    if node["right"]:
        translator.body.append(
            f'<p class="ks-right">Recorded: <strong>{escape(node["right"])}</strong></p>\n'
        )


def depart_answer_html(translator: Any, node: guess_answer) -> None:
    """Its end."""
    translator.body.append("</details>\n")


class GuessForPaper(SphinxPostTransform):
    """The same for builders without forms: question, list of choices, answer."""

    default_priority = 400

    def run(self, **kwargs: Any) -> None:
        if book_of(self.env).is_html:
            return
        for node in list(self.document.findall(guess)):
            node.replace_self(_plain(node))


def setup_guess(app: Sphinx) -> None:
    """Registers the directive and its nodes."""
    app.add_directive("guess", Guess)
    app.add_node(guess, html=(visit_guess_html, depart_guess_html))
    app.add_node(guess_choice, html=(visit_choice_html, depart_choice_html))
    app.add_node(guess_answer, html=(visit_answer_html, depart_answer_html))
    app.add_post_transform(GuessForPaper)


def _plain(node: guess) -> list[Node]:
    items = [
        nodes.list_item("", nodes.paragraph("", "", *child.children))
        for child in node.children
        if isinstance(child, guess_choice)
    ]
    question = [child for child in node.children if not isinstance(child, (guess_choice, guess_answer))]
    (answer,) = (child for child in node.children if isinstance(child, guess_answer))
    return [*question, nodes.bullet_list("", *items), *answer.children]
