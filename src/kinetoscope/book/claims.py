"""Sentences that are judged: ``{claim}``, ours; ``{reported}``, somebody else's; ``{when}``, on condition.

A claim that fails on the machine the book is held to is a warning, so that ``-W`` fails.  On a rebuilder's
own machine the page says that it does not hold there, which is what they came for.  The verdict of a reported
sentence is never a warning.

The role ``{published}`figure <TAG>``` shows a figure of somebody else's.  All verdicts of a book are written
as ``claims.json``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from docutils import nodes
from docutils.nodes import Node, system_message
from sphinx.util.docutils import ReferenceRole

from kinetoscope.book.directive import BookDirective, Options, text_option
from kinetoscope.book.machine_variants import for_each_machine, only_on, reading_for
from kinetoscope.book.measured import Computed, compute, measured, measured_node
from kinetoscope.book.messages import warn
from kinetoscope.book.nodes import NodeVisitors, OwnNode, around, page_link
from kinetoscope.book.page_data import pages, this_page, warn_on_page
from kinetoscope.measure.expressions import show

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

Outcome = Literal["holds", "in part", "fails", "not measured"]
"""``not measured``: on a machine that is not the book's, whose recording lacks what the sentence is about"""

OUTCOME_WORDS: dict[Outcome, str] = {
    "holds": "holds here",
    "in part": "holds in part",
    "fails": "does not hold here",
    "not measured": "not measured here",
}
_MARKS: dict[Outcome, str] = {"holds": "✓", "in part": "◐", "fails": "✗", "not measured": "–"}


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The verdict on another machine; fields as in :class:`Verdict`."""

    verdict: Outcome
    expression: str
    value: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """One sentence, judged.  These are the fields of an object in ``claims.json``."""

    id: str
    kind: Literal["claim", "reported"]
    sentence: str
    said_by: tuple[str, ...]
    """tags of the sources; empty for a claim"""
    published: str
    """the figure that was published with it, as it was; empty if none was"""
    expression: str
    value: str
    """what was measured, as the page shows it; empty if the page shows only the verdict"""
    verdict: Outcome
    machine: str
    page: str
    """document name; the id of the sentence there is ``id``"""
    elsewhere: Mapping[str, Elsewhere] = field(default_factory=dict)
    """by name of the machine, where a reader can switch to others"""


class judged_by(OwnNode):
    """The expression that a verdict was computed from."""


class _Judged(BookDirective):
    """A sentence that is judged: an id, a body whose first paragraph is the sentence, conditions."""

    has_content = True
    required_arguments = 1
    kind: ClassVar[Literal["claim", "reported"]]
    needed: ClassVar[tuple[str, ...]]
    """the options that must be given; the last one is the condition of the sentence"""
    names: tuple[str, ...] = ()
    """the NAMEs that its conditions were computed from"""

    def run(self) -> list[Node]:
        body = self.parse_content_to_nodes()
        first = next((node for node in body if isinstance(node, nodes.paragraph)), None)
        sentence = " ".join(first.astext().split()) if first is not None else ""
        if sentence and all(option in self.options for option in self.needed):
            return self._judged(body, sentence)
        needed = " and ".join(f":{option}:" for option in self.needed)
        self.warn("claim", f"{self.arguments[0]!r} needs a sentence and {needed}")
        return body

    def head(self, verdict: Verdict) -> list[Node]:
        """What the box begins with."""
        return []

    def _judge(self) -> tuple[Outcome, str]:
        """The outcome on the machine shown, and the expression that decided it."""
        condition = self.needed[-1]
        holds, in_part = self._truth(condition), self._truth("in-part")
        if not holds and in_part:
            return "in part", self.options["in-part"]
        # Where it fails, it may still hold in part, if that was not measured.
        unknown = holds is None or (not holds and in_part is None and "in-part" in self.options)
        outcome: Outcome = "not measured" if unknown else "holds" if holds else "fails"
        return outcome, self.options[condition]

    def _truth(self, option: str) -> bool | None:
        """The truth of an option's expression: ``None`` where it is missing or cannot be computed."""
        computed = _compute_truth(self, self.options[option]) if option in self.options else None
        if computed is None:
            return None
        self.names += computed.names
        return bool(computed.value)

    def _judged(self, body: list[Node], sentence: str) -> list[Node]:
        """The box on the page: the sentence, and the verdict of each machine that a reader can choose."""
        verdicts: list[Verdict] = []

        def verdict_lines() -> list[Node]:
            self.names = ()
            verdict, value = self._verdict(sentence)
            verdicts.append(verdict)
            code = nodes.literal(verdict.expression, verdict.expression, classes=["ks-expression"])
            return [self._line(verdict, value), judged_by("", nodes.paragraph("", "", code))]

        lines = for_each_machine(self.env, verdict_lines)
        verdict = verdicts[0]
        if self.context.is_default:
            self._keep(verdict, verdicts[1:])
        # Where machines differ, the line has the class, and the style sheet looks at the line that is shown.
        outcome = [_outcome_class(verdict)] if len({item.verdict for item in verdicts}) == 1 else []
        classes = ["ks-judged", f"ks-{verdict.kind}", *outcome]
        box = nodes.container(classes=classes, ids=[nodes.make_id(verdict.id)])
        box += [*self.head(verdict), *body[:1], *lines, *body[1:]]
        self.set_source_info(box)
        return [box]

    def _verdict(self, sentence: str) -> tuple[Verdict, measured | None]:
        """The verdict on the machine shown, and the value to show with it."""
        outcome, expression = self._judge()
        value: measured | None = None
        if asked := self.options.get("value"):
            computed = compute(self.env, asked, self.get_location)
            value = None if computed is None else measured_node(asked, computed, "ks-value")
        if self.kind == "claim" and outcome == "fails" and self.context.is_strict:
            measured_value = f" (measured: {value.astext()})" if value is not None else ""
            self.warn(
                "claim",
                f"{self.arguments[0]} does not hold on {self.context.shown}{measured_value}: {expression}; "
                "correct the sentence, or its condition if that was wrong",
            )
        verdict = Verdict(
            id=self.arguments[0],
            kind=self.kind,
            sentence=sentence,
            said_by=tuple(self.options.get("by", "").replace(",", " ").split()),
            published=self.options.get("published", ""),
            expression=expression,
            value="" if value is None else value.astext(),
            verdict=outcome,
            machine=self.context.shown,
            page=self.env.docname,
        )
        return verdict, value

    def _keep(self, verdict: Verdict, others: list[Verdict]) -> None:
        """Keeps the verdict with its page, and makes ``{ref}`id``` lead to the sentence."""
        elsewhere = {item.machine: Elsewhere(item.verdict, item.expression, item.value) for item in others}
        this_page(self.env).verdicts.append((replace(verdict, elsewhere=elsewhere), self.get_location()))
        # A second sentence with that id gets its warning from warn_about_equal_ids, once it is known.
        standard = self.env.domains.standard_domain
        if verdict.id.lower() not in standard.labels:
            target = (self.env.docname, nodes.make_id(verdict.id), verdict.sentence)
            standard.note_hyperlink_target(verdict.id.lower(), *target)

    def _line(self, verdict: Verdict, value: measured | None) -> Node:
        outcome_class = [_outcome_class(verdict)] if len(self.context.switch) > 1 else []
        line = nodes.paragraph(classes=["ks-verdict", *outcome_class])
        line += nodes.strong("", f"{_MARKS[verdict.verdict]} {OUTCOME_WORDS[verdict.verdict]}")
        if value is not None:
            line += [nodes.Text(": "), value]
        line += self._evidence()
        return line

    def _evidence(self) -> list[Node]:
        """Links to the pages on which the traces and tables of the conditions are shown."""
        context = self.context
        owners = [context.machine().owner(name) for name in dict.fromkeys(self.names)]
        stems = dict.fromkeys(owner.stem for owner in owners if owner is not None)
        docnames = context.docnames
        links: list[Node] = []
        for stem in (stem for stem in stems if stem in docnames):
            link = page_link(self.env, f"/{docnames[stem]}", stem)
            links += [nodes.Text(", " if links else " → "), link]
        return links


class Claim(_Judged):
    """Our sentence.  ``:expect:`` must be true; ``:value:`` is the figure that is shown and kept with it."""

    kind = "claim"
    needed = ("expect",)
    option_spec: ClassVar[Options] = {
        "expect": text_option("needed: an expression that is true or false"),
        "value": text_option("an expression: what was measured, shown beside the verdict"),
    }


class Reported(_Judged):
    """Somebody else's sentence.  If ``:holds:`` is true it holds here, else in part if ``:in-part:`` is."""

    kind = "reported"
    needed = ("by", "holds")
    option_spec: ClassVar[Options] = {
        "by": text_option(
            "needed: who said it, tags out of ``kinetoscope_sources`` with spaces or commas between them"
        ),
        "holds": text_option("needed: an expression; if it is true, the sentence holds here"),
        "in-part": text_option(
            "an expression; if it is true and the one of ``holds`` is not, the sentence holds in part"
        ),
        "published": text_option("the figure that was published with it, as it was"),
        "value": text_option("an expression: what was measured, shown beside the verdict"),
    }

    def head(self, verdict: Verdict) -> list[Node]:
        """Who said it, and the figure that was published."""
        line = nodes.paragraph(classes=["ks-said-by"])
        sources: dict[str, tuple[str, str]] = self.config.kinetoscope_sources
        for number, tag in enumerate(verdict.said_by):
            if number:
                line += nodes.Text(", ")
            if tag in sources:
                line += _source(tag, *sources[tag])
                continue
            self.warn("name", f"no source {tag!r}; kinetoscope_sources has: {', '.join(sources) or 'none'}")
            line += nodes.Text(tag)
        if verdict.published:
            line += nodes.Text(f" · published: {verdict.published}")
        return [line]


class Published(ReferenceRole):
    """A figure of somebody else's, with its source: a tag of ``kinetoscope_sources``."""

    def run(self) -> tuple[list[Node], list[system_message]]:
        sources: dict[str, tuple[str, str]] = self.config.kinetoscope_sources
        if not self.has_explicit_title or self.target not in sources:
            known = ", ".join(sources) or "none"
            warn_on_page(
                self.env,
                "name",
                f"{self.rawtext}: write the figure and its source, figure <TAG>; the sources are: {known}",
                self.get_location(),
            )
            return [nodes.inline("", self.title)], []
        box = nodes.inline("", self.title, classes=["ks-published"])
        source = _source(self.target, *sources[self.target])
        return [box, nodes.Text(" ("), source, nodes.Text(")")], []


class When(BookDirective):
    """``{when} EXPRESSION``: prose about one kind of machine, left out where the expression is false."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[Node]:
        context = self.context
        machines, unmeasured = [], []
        for name in context.reading:
            with reading_for(self.env, name):
                computed = _compute_truth(self, self.arguments[0])
            if computed is None:
                unmeasured.append(name)
            elif computed.value:
                machines.append(name)
        said: list[Node] = [nodes.paragraph(text="Not measured here.", classes=["ks-unmeasured"])]
        if unmeasured and len(unmeasured) < len(context.reading):
            said = only_on(context, unmeasured, said)
        return [*self._content(machines), *(said if unmeasured else [])]

    def _content(self, machines: list[str]) -> list[Node]:
        """The content, as it reads for these machines and shown on them alone."""
        context = self.context
        if not machines:
            return []
        before = set(self.state.document.findall(nodes.section))
        with reading_for(self.env, *machines):
            content = self.parse_content_to_nodes(allow_section_headings=True)
        if len(machines) == len(context.reading):
            return content
        # MyST has already put sections into the document; reST returns them with the rest.
        for section in set(self.state.document.findall(nodes.section)) - before:
            parent = section.parent
            place = parent.index(section)
            if parent in before or isinstance(parent, nodes.document):
                parent[place : place + 1] = only_on(context, machines, [section])
        return only_on(context, machines, content)


def _compute_truth(directive: BookDirective, expression: str) -> Computed | None:
    """As :func:`compute`, but ``None`` after a warning if the value is neither true nor false."""
    computed = compute(directive.env, expression, directive.get_location)
    if computed is None or isinstance(computed.value, bool):
        return computed
    value = show(computed.value)
    directive.warn("claim", f"{expression} is {value}, which is neither true nor false; compare it")
    return None


def _source(tag: str, title: str, address: str) -> Node:
    if not address:
        return nodes.abbreviation("", tag, explanation=title)
    return nodes.reference("", tag, refuri=address, reftitle=title, internal=False)


def _outcome_class(verdict: Verdict) -> str:
    return f"ks-{verdict.verdict.replace(' ', '-')}"


# On a screen with room the style sheet keeps it open.
NODES: NodeVisitors = {
    judged_by: around(
        '<details class="ks-how"><summary>What was asked of the recording</summary>\n', "</details>\n"
    )
}


def warn_about_equal_ids(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """``env-updated``: in every build, since two pages may have been read by different processes."""
    first_location: dict[str, str] = {}
    for docname in sorted(pages(env)):
        for verdict, location in pages(env)[docname].verdicts:
            if verdict.id in first_location:
                first = first_location[verdict.id]
                warn("claim", f"a second sentence is called {verdict.id!r}; the first is {first}", location)
            first_location.setdefault(verdict.id, location)
    return []


def write_claims_json(app: Sphinx, exception: Exception | None) -> None:
    """``build-finished``: ``claims.json`` at the root of the site, by page and by position on the page."""
    if exception is not None or app.builder.format != "html":
        return
    kept = pages(app.env)
    items = [asdict(verdict) for docname in sorted(kept) for verdict, _ in kept[docname].verdicts]
    text = json.dumps(items, indent=1, ensure_ascii=False) + "\n"
    Path(app.outdir, "claims.json").write_text(text, encoding="utf-8")
