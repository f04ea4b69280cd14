"""``{guess}``: the question first, the choices, then the answer, computed from the recording.

The first list is the choices.  What is above it leads to the question, what is below it is the answer.
``:right:`` is an expression whose value is one of the choices.

All of this works without JavaScript: the choices are radio buttons, and the answer opens.  ``guess.js`` adds
the button that commits to a choice, and the verdict on it.  It reads from the page which choice is right
(``.ks-right``), so that it agrees with whatever recording the page shows.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes
from docutils.nodes import Node

from kinetoscope.book.directive import BookDirective, Options, text_option
from kinetoscope.book.machine_variants import for_each_machine
from kinetoscope.book.measured import compute, measured_node
from kinetoscope.book.nodes import NodeVisitors, OwnNode, around
from kinetoscope.measure.expressions import show

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment


class guess(OwnNode):
    """The whole box: what leads to the question, a :class:`guess_choices`, a :class:`guess_answer`."""

    def for_paper(self, env: BuildEnvironment) -> list[Node]:
        """Question, list of choices, answer: paper has no forms."""
        *before, choices, answer = self.children
        assert isinstance(choices, guess_choices) and isinstance(answer, guess_answer)
        question, *items = choices.children
        listed = [nodes.list_item("", nodes.paragraph("", "", *item.children)) for item in items]
        return [
            *before,
            nodes.paragraph("", "", *question.children),
            nodes.bullet_list("", *listed),
            *answer.children,
        ]


class guess_choices(nodes.General, nodes.Element):
    """A :class:`guess_question`, and a :class:`guess_choice` each.  ``name``: of group and box."""


class guess_question(nodes.General, nodes.TextElement):
    """The question itself, in a line: the name of the group of choices."""


class guess_choice(nodes.General, nodes.Element):
    """One choice.  ``name``: of its group; ``right``: whether it is the right one."""


class guess_answer(nodes.General, nodes.Element):
    """What is hidden until the reader opens it.  ``name``: of the group of choices."""


class Guess(BookDirective):
    """A question, choices, and an answer."""

    has_content = True
    option_spec: ClassVar[Options] = {
        "right": text_option(
            "an expression: its value, as ``measured`` would print it, is the text of the right choice"
        )
    }

    def run(self) -> list[Node]:
        body = self.parse_content_to_nodes()
        at = next((n for n, node in enumerate(body) if isinstance(node, nodes.bullet_list)), None)
        if at is None or at == 0 or at == len(body) - 1:
            self.warn("claim", "a guess is a question, a list of choices, and an answer")
            return body
        items = body[at].children
        texts = [_text(item) for item in items]
        rights: list[str | None] = []

        def answer_line() -> list[Node]:
            right, line = self._right(texts)
            rights.append(right)
            return line

        answer_lines = for_each_machine(self.env, answer_line)
        right = rights[0]
        name = f"ks-guess-{self.env.new_serialno('kinetoscope-guess')}"
        before, question = _question(body[:at])
        choices = guess_choices("", question, name=name)
        for item in items:
            content = item.children[0].children if len(item.children) == 1 else item.children
            choices += guess_choice("", *content, name=name, right=_text(item) == right)
        answer = guess_answer("", *answer_lines, *body[at + 1 :], name=name)
        return [guess("", *before, choices, answer, ids=[name])]

    def _right(self, choices: list[str]) -> tuple[str | None, list[Node]]:
        """The text of the right choice on the machine shown, and the line of the page that says it."""
        if "right" not in self.options:
            return None, []
        expression = self.options["right"]
        computed = compute(self.env, expression, self.get_location)
        if computed is None:
            line = nodes.paragraph(text="Not measured here.", classes=["ks-unmeasured"])
            return None, [line]
        answer = show(computed.value)
        if answer not in choices and self.context.is_strict:
            self.warn(
                "claim",
                f"the right answer is {answer!r}, which is none of the choices: {', '.join(choices)}",
            )
        line = nodes.paragraph("", "The recording says: ", classes=["ks-right"])
        line += nodes.strong("", "", measured_node(expression, computed, "ks-value"))
        return answer, [line]


def _question(body: list[Node]) -> tuple[list[Node], guess_question]:
    """What leads to the question, and the question: the last paragraph before the choices."""
    *before, last = body
    if isinstance(last, nodes.paragraph):
        return before, guess_question("", "", *last.children)
    return body, guess_question("", "What do you think?")


def _text(choice: Node) -> str:
    """A choice as a reader reads it, to be compared with the recording's answer."""
    return " ".join(choice.astext().split())


def _radio_button(node: guess_choice) -> str:
    """A browser that restores forms must not restore a guess."""
    right = " data-right" if node["right"] else ""
    name = escape(node["name"], quote=True)
    return f'<label class="ks-choice"{right}><input type="radio" name="{name}" autocomplete="off"> <span>'


NODES: NodeVisitors = {
    guess: around(
        lambda node: (
            f'<div class="ks-guess" id="{node["ids"][0]}">\n<p class="ks-guess-title">Guess first</p>\n'
        ),
        "</div>\n",
    ),
    guess_choices: around('<fieldset class="ks-choices">\n', "</fieldset>\n"),
    guess_question: around(lambda node: f'<legend id="{node.parent["name"]}-question">', "</legend>\n"),
    guess_choice: around(_radio_button, "</span></label>\n"),
    guess_answer: around(
        lambda node: (
            f'<details class="ks-answer"><summary aria-describedby="{node["name"]}-question">'
            '<span class="ks-closed">Just show me</span><span class="ks-open">The answer</span></summary>\n'
            '<div class="ks-evidence">\n'
        ),
        "</div>\n</details>\n",
    ),
}


def add_guess_script(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """``html-page-context``: adds the script to the pages that ask something."""
    if doctree is not None and next(doctree.findall(guess), None) is not None:
        app.add_js_file("guess.js", loading_method="defer")
