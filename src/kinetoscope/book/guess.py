"""``{guess}``: the question first, the choices, then the answer, computed from the recording.

The first list is the choices, what lies before it the question, what follows the answer.  ``:right:`` is an
expression whose value is one of the choices.

What is written here works without JavaScript: radio buttons, and an answer that opens.  ``guess.js`` adds the
button that commits to a choice and the verdict on it.  It reads which choice is right from the page
(``.ks-right``), so it agrees with whatever recording the page shows.
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

from kinetoscope.book.build_context import book_of
from kinetoscope.book.dependencies import note_fault
from kinetoscope.book.evaluate import compute
from kinetoscope.book.machine_variants import for_each_machine
from kinetoscope.book.measured import measured_node
from kinetoscope.book.messages import warn
from kinetoscope.measure.expressions import show

if TYPE_CHECKING:
    from sphinx.application import Sphinx


class guess(nodes.General, nodes.Element):
    """The whole box: what leads to the question, a :class:`guess_choices`, a :class:`guess_answer`."""


class guess_choices(nodes.General, nodes.Element):
    """A :class:`guess_question`, and a :class:`guess_choice` each.  ``name``: of group and box."""


class guess_question(nodes.General, nodes.TextElement):
    """The question itself, in a line: what the group of choices is called."""


class guess_choice(nodes.General, nodes.Element):
    """One choice.  ``name``: of its group; ``right``: whether it is the one."""


class guess_answer(nodes.General, nodes.Element):
    """What is hidden until it is asked for.  ``name``: of the group of choices."""


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
        items = body[at].children
        texts = [_text(item) for item in items]
        rights: list[str | None] = []

        def line() -> list[Node]:
            right, said = self._right(texts)
            rights.append(right)
            return said

        said = for_each_machine(self.env, line)
        right = rights[0]
        name = f"ks-guess-{self.env.new_serialno('kinetoscope-guess')}"
        before, question = _question(body[:at])
        choices = guess_choices("", question, name=name)
        for item in items:
            content = item.children[0].children if len(item.children) == 1 else item.children
            choices += guess_choice("", *content, name=name, right=_text(item) == right)
        answer = guess_answer("", *said, *body[at + 1 :], name=name)
        return [guess("", *before, choices, answer, ids=[name])]

    def _right(self, choices: list[str]) -> tuple[str | None, list[Node]]:
        """The text of the right choice, and the line that says it on the page."""
        if "right" not in self.options:
            return None, []
        expression = self.options["right"]
        found = compute(self.env, expression, self.get_location)
        if found is None:
            line = nodes.paragraph(text="Not measured here.", classes=["ks-unmeasured"])
            return None, [line]
        answer = show(found.value)
        if answer not in choices and book_of(self.env).is_strict:
            warn(
                "claim",
                f"the right answer is {answer!r}, which is none of the choices: {', '.join(choices)}",
                self.get_location(),
            )
            note_fault(self.env)
        line = nodes.paragraph("", "The recording says: ", classes=["ks-right"])
        line += nodes.strong("", "", measured_node(expression, found, "ks-value"))
        return answer, [line]


def visit_guess_html(translator: Any, node: guess) -> None:
    """The box."""
    translator.body.append(f'<div class="ks-guess" id="{node["ids"][0]}">\n')
    translator.body.append('<p class="ks-guess-title">Guess first</p>\n')


def depart_guess_html(translator: Any, node: guess) -> None:
    """Its end."""
    translator.body.append("</div>\n")


def visit_choices_html(translator: Any, node: guess_choices) -> None:
    """The group."""
    translator.body.append('<fieldset class="ks-choices">\n')


def depart_choices_html(translator: Any, node: guess_choices) -> None:
    """Its end."""
    translator.body.append("</fieldset>\n")


def visit_question_html(translator: Any, node: guess_question) -> None:
    """The name of the group."""
    translator.body.append(f'<legend id="{node.parent["name"]}-question">')


def depart_question_html(translator: Any, node: guess_question) -> None:
    """Its end."""
    translator.body.append("</legend>\n")


def visit_choice_html(translator: Any, node: guess_choice) -> None:
    """A radio button and its text.  Browsers that restore forms must not restore a guess."""
    right = " data-right" if node["right"] else ""
    name = escape(node["name"], quote=True)
    translator.body.append(
        f'<label class="ks-choice"{right}><input type="radio" name="{name}" autocomplete="off"> <span>'
    )


def depart_choice_html(translator: Any, node: guess_choice) -> None:
    """Its end."""
    translator.body.append("</span></label>\n")


def visit_answer_html(translator: Any, node: guess_answer) -> None:
    """What opens when it is asked for."""
    translator.body.append(
        f'<details class="ks-answer"><summary aria-describedby="{node["name"]}-question">'
        '<span class="ks-closed">Just show me</span><span class="ks-open">The answer</span></summary>\n'
        '<div class="ks-evidence">\n'
    )


def depart_answer_html(translator: Any, node: guess_answer) -> None:
    """Its end."""
    translator.body.append("</div>\n</details>\n")


class GuessForPaper(SphinxPostTransform):
    """The same for builders without forms: question, list of choices, answer."""

    default_priority = 400

    def run(self, **kwargs: Any) -> None:
        if book_of(self.env).is_html:
            return
        for node in list(self.document.findall(guess)):
            node.replace_self(_plain(node))


def add_script(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """``html-page-context``: only a page that asks something needs the script."""
    if doctree is not None and next(doctree.findall(guess), None) is not None:
        app.add_js_file("guess.js", loading_method="defer")


def setup_guess(app: Sphinx) -> None:
    """Registers the directive, its nodes and its script."""
    app.add_directive("guess", Guess)
    app.add_node(guess, html=(visit_guess_html, depart_guess_html))
    app.add_node(guess_choices, html=(visit_choices_html, depart_choices_html))
    app.add_node(guess_question, html=(visit_question_html, depart_question_html))
    app.add_node(guess_choice, html=(visit_choice_html, depart_choice_html))
    app.add_node(guess_answer, html=(visit_answer_html, depart_answer_html))
    app.add_post_transform(GuessForPaper)
    app.connect("html-page-context", add_script)


def _question(body: list[Node]) -> tuple[list[Node], guess_question]:
    """What leads to the question, and the question: the last paragraph before the choices."""
    *before, last = body
    if isinstance(last, nodes.paragraph):
        return before, guess_question("", "", *last.children)
    return body, guess_question("", "What do you think?")


def _text(choice: Node) -> str:
    """A choice as a reader reads it, to be compared with the recording's answer."""
    return " ".join(choice.astext().split())


def _plain(node: guess) -> list[Node]:
    *before, choices, answer = node.children
    assert isinstance(choices, guess_choices) and isinstance(answer, guess_answer)
    question, *items = choices.children
    listed = [nodes.list_item("", nodes.paragraph("", "", *item.children)) for item in items]
    return [
        *before,
        nodes.paragraph("", "", *question.children),
        nodes.bullet_list("", *listed),
        *answer.children,
    ]
