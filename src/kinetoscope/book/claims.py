"""Sentences that are judged: ``{claim}``, ours; ``{reported}``, somebody else's; ``{when}``, on condition.

A claim that fails on the machine the book is held to is a warning, so that ``-W`` fails.  On a rebuilder's
own machine it is shown as not holding there, which is what they came for.  A reported sentence never warns
for its verdict.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from docutils import nodes
from docutils.nodes import Node
from docutils.parsers.rst import directives
from sphinx.addnodes import pending_xref
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from kinetoscope.book.build_context import Book, book_of
from kinetoscope.book.dependencies import note_fault
from kinetoscope.book.evaluate import compute
from kinetoscope.book.machine_variants import for_each_machine, only_on, reading_for
from kinetoscope.book.measured import measured, measured_node
from kinetoscope.book.messages import warn
from kinetoscope.book.verdicts import Elsewhere, Outcome, Verdict, add_verdict
from kinetoscope.measure.expressions import show

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SAID: dict[Outcome, str] = {
    "holds": "holds here",
    "in part": "holds in part",
    "fails": "does not hold here",
    "not measured": "not measured here",
}
_MARKS: dict[Outcome, str] = {"holds": "✓", "in part": "◐", "fails": "✗", "not measured": "–"}


class judged_by(nodes.General, nodes.Element):
    """The expression that a verdict was computed from."""


class _Judged(SphinxDirective):
    """What both have: an id, a body whose first paragraph is the sentence, conditions."""

    has_content = True
    required_arguments = 1
    asked: tuple[str, ...] = ()
    """the NAMEs that its conditions were computed from"""

    @property
    def book(self) -> Book:
        return book_of(self.env)

    def judge(self, body: list[Node]) -> tuple[Verdict, measured | None]:
        """The verdict on the machine shown, and the figure to show with it."""
        raise NotImplementedError

    def condition(self, option: str) -> bool | None:
        """The truth of an option's expression: ``None`` where it is missing or cannot be computed."""
        expression = self.options.get(option)
        if not expression:
            return None
        found = compute(self.env, expression, self.get_location)
        value = None if found is None else found.value
        self.asked += () if found is None else found.names
        if value is None or isinstance(value, bool):
            return value
        self.refuse("claim", f"{expression} is {show(value)}, which is neither true nor false; compare it")
        return None

    def value(self) -> measured | None:
        """What ``:value:`` gives, as it stands in the box."""
        expression: str = self.options.get("value", "")
        found = compute(self.env, expression, self.get_location) if expression else None
        return None if found is None else measured_node(expression, found, "ks-value")

    def refuse(self, subtype: str, message: str) -> None:
        if self.book.is_default:
            warn(subtype, message, self.get_location())
            note_fault(self.env)

    def judged(self, body: list[Node], head: Callable[[Verdict], list[Node]]) -> list[Node]:
        """The box on the page: a sentence, and the verdict of each machine that a reader can choose."""
        verdicts: list[Verdict] = []

        def line() -> list[Node]:
            self.asked = ()
            verdict, value = self.judge(body)
            verdicts.append(verdict)
            return [self._line(verdict, value), _how(verdict)]

        lines = for_each_machine(self.env, line)
        verdict = verdicts[0]
        if self.book.is_default:
            self._keep(verdict, verdicts[1:])
        outcomes = {item.verdict for item in verdicts}
        # where machines differ in it the line says it, and the box looks at the line that is shown
        outcome = [_outcome_class(verdict)] if len(outcomes) == 1 else []
        classes = ["ks-judged", f"ks-{verdict.kind}", *outcome]
        box = nodes.container(classes=classes, ids=[nodes.make_id(verdict.id)])
        box += [*head(verdict), *body[:1], *lines, *body[1:]]
        self.set_source_info(box)
        return [box]

    def _keep(self, verdict: Verdict, others: list[Verdict]) -> None:
        elsewhere = {item.machine: Elsewhere(item.verdict, item.expression, item.value) for item in others}
        add_verdict(self.env, replace(verdict, elsewhere=elsewhere), self.get_location())
        # {ref}`id` leads here; a second sentence of that id is warned about once, and not here
        standard = self.env.domains.standard_domain
        if verdict.id.lower() not in standard.labels:
            target = (self.env.docname, nodes.make_id(verdict.id), verdict.sentence)
            standard.note_hyperlink_target(verdict.id.lower(), *target)

    def _line(self, verdict: Verdict, value: measured | None) -> Node:
        outcome = verdict.verdict
        marked = [_outcome_class(verdict)] if len(self.book.switch) > 1 else []
        line = nodes.paragraph(classes=["ks-verdict", *marked])
        line += nodes.strong("", f"{_MARKS[outcome]} {SAID[outcome]}")
        if value is not None:
            line += [nodes.Text(": "), value]
        line += self._evidence()
        return line

    def _evidence(self) -> list[Node]:
        """Links to the pages on which the traces and tables of the conditions are shown."""
        book = self.book
        owners = [book.machine().owner(name) for name in dict.fromkeys(self.asked)]
        stems = dict.fromkeys(owner.stem for owner in owners if owner is not None)
        pages = {script.stem: docname for docname, script in book.scripts.items()}
        found: list[Node] = []
        for stem in (stem for stem in stems if stem in pages):
            link = pending_xref(
                "", refdomain="std", reftype="doc", reftarget=f"/{pages[stem]}", refexplicit=True
            )
            link["refdoc"], link["refwarn"] = self.env.docname, True
            link += nodes.inline("", stem)
            found += [nodes.Text(" → " if not found else ", "), link]
        return found

    def sentence(self, body: list[Node]) -> str:
        first = next((node for node in body if isinstance(node, nodes.paragraph)), None)
        return " ".join(first.astext().split()) if first is not None else ""


def _how(verdict: Verdict) -> Node:
    """The expression behind a verdict."""
    code = nodes.literal(verdict.expression, verdict.expression, classes=["ks-expression"])
    return judged_by("", nodes.paragraph("", "", code))


def visit_judged_by(translator: HTML5Translator, node: judged_by) -> None:
    """On a screen with room it is always seen, which the stylesheet does; else it is opened."""
    translator.body.append('<details class="ks-how"><summary>What was asked of the recording</summary>\n')


def depart_judged_by(translator: HTML5Translator, node: judged_by) -> None:
    """Its end."""
    translator.body.append("</details>\n")


def _outcome_class(verdict: Verdict) -> str:
    return f"ks-{verdict.verdict.replace(' ', '-')}"


class Claim(_Judged):
    """Our sentence.  ``:expect:`` must be true; ``:value:`` is what is shown and kept as its figure."""

    option_spec: ClassVar[dict[str, Callable[[str], object]]] = {
        "expect": directives.unchanged_required,
        "value": directives.unchanged_required,
    }

    def run(self) -> list[Node]:
        body = self.parse_content_to_nodes()
        if "expect" not in self.options or not self.sentence(body):
            self.refuse("claim", f"the claim {self.arguments[0]!r} needs a sentence and an :expect:")
            return body
        return self.judged(body, lambda verdict: [])

    def judge(self, body: list[Node]) -> tuple[Verdict, measured | None]:
        held = self.condition("expect")
        outcome: Outcome = "not measured" if held is None else "holds" if held else "fails"
        value = self.value()
        book = self.book
        if outcome == "fails" and book.is_strict:
            shown = f" (measured: {value.astext()})" if value is not None else ""
            self.refuse(
                "claim",
                f"{self.arguments[0]} does not hold on {book.shown}{shown}: {self.options['expect']}; "
                "correct the sentence, or its condition if that was wrong",
            )
        verdict = Verdict(
            id=self.arguments[0],
            kind="claim",
            sentence=self.sentence(body),
            said_by=(),
            published="",
            expression=self.options["expect"],
            value="" if value is None else value.astext(),
            verdict=outcome,
            machine=book.shown,
            page=self.env.docname,
        )
        return verdict, value


class Reported(_Judged):
    """Somebody else's sentence.  If ``:holds:`` is true it holds here, else in part if ``:in-part:`` is."""

    option_spec: ClassVar[dict[str, Callable[[str], object]]] = {
        "by": directives.unchanged_required,
        "published": directives.unchanged_required,
        "holds": directives.unchanged_required,
        "in-part": directives.unchanged_required,
        "value": directives.unchanged_required,
    }

    def run(self) -> list[Node]:
        body = self.parse_content_to_nodes()
        missing = [name for name in ("by", "holds") if name not in self.options]
        if missing or not self.sentence(body):
            self.refuse("claim", f"{self.arguments[0]!r} needs a sentence, and the options :by: and :holds:")
            return body
        return self.judged(body, lambda verdict: [self._who(verdict)])

    def judge(self, body: list[Node]) -> tuple[Verdict, measured | None]:
        said_by = tuple(self.options["by"].replace(",", " ").split())
        held, in_part = self.condition("holds"), self.condition("in-part")
        value = self.value()
        outcome: Outcome = (
            "holds" if held else "in part" if in_part else "not measured" if held is None else "fails"
        )
        verdict = Verdict(
            id=self.arguments[0],
            kind="reported",
            sentence=self.sentence(body),
            said_by=said_by,
            published=self.options.get("published", ""),
            expression=self.options["in-part"] if outcome == "in part" else self.options["holds"],
            value="" if value is None else value.astext(),
            verdict=outcome,
            machine=self.book.shown,
            page=self.env.docname,
        )
        return verdict, value

    def _who(self, verdict: Verdict) -> Node:
        line = nodes.paragraph(classes=["ks-said-by"])
        sources: dict[str, tuple[str, str]] = self.config.kinetoscope_sources
        for number, tag in enumerate(verdict.said_by):
            if number:
                line += nodes.Text(", ")
            if tag not in sources:
                self.refuse(
                    "name", f"no source {tag!r}; kinetoscope_sources has: {', '.join(sources) or 'none'}"
                )
                line += nodes.Text(tag)
                continue
            title, address = sources[tag]
            line += (
                nodes.reference("", tag, refuri=address, reftitle=title, internal=False)
                if address
                else nodes.abbreviation("", tag, explanation=title)
            )
        if verdict.published:
            line += nodes.Text(f" · published: {verdict.published}")
        return line


class When(SphinxDirective):
    """``{when} EXPRESSION``: prose about one kind of machine, left out where the expression is false."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[Node]:
        book = book_of(self.env)
        machines = []
        for name in book.here:
            with reading_for(self.env, name):
                machines += [name] if self._is_true() else []
        if not machines:
            return []
        before = set(self.state.document.findall(nodes.section))
        with reading_for(self.env, *machines):
            content = self.parse_content_to_nodes(allow_section_headings=True)
        if len(machines) == len(book.here):
            return content
        # MyST has put sections into the document already; reST gives them back with the rest
        for section in set(self.state.document.findall(nodes.section)) - before:
            parent = section.parent
            place = parent.index(section)
            if parent in before or isinstance(parent, nodes.document):
                parent[place : place + 1] = only_on(book, machines, [section])
        return only_on(book, machines, content)

    def _is_true(self) -> bool:
        found = compute(self.env, self.arguments[0], self.get_location)
        value = None if found is None else found.value
        if value is not None and not isinstance(value, bool) and book_of(self.env).is_default:
            warn(
                "claim", f"{self.arguments[0]} is {show(value)}, neither true nor false", self.get_location()
            )
            note_fault(self.env)
        return value is True


def setup_claims(app: Sphinx) -> None:
    """Registers the three directives, and what opens in the box of the first two."""
    app.add_node(judged_by, html=(visit_judged_by, depart_judged_by))
    app.add_directive("claim", Claim)
    app.add_directive("reported", Reported)
    app.add_directive("when", When)
