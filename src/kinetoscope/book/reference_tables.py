"""``{reference-table} NAME``: the tables and lists of the reference pages, made from those in the code.

A new configuration value, warning, option or word of the vocabulary is therefore on its page without an edit
to the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields

from docutils import nodes
from docutils.nodes import Node

from kinetoscope.book.claims import OUTCOME_WORDS, Outcome, Verdict
from kinetoscope.book.config import MODES, VALUES
from kinetoscope.book.directive import BookDirective
from kinetoscope.book.messages import SUBTYPES
from kinetoscope.book.nodes import document_table
from kinetoscope.draw.palette import CHANGE_LABELS, CHANGE_SIGNS
from kinetoscope.draw.viewer import key_help
from kinetoscope.draw.views import COLUMNS, VIEWS, columns_of_view
from kinetoscope.measure.advice import RULES
from kinetoscope.measure.compare import TOLERANCE, Change
from kinetoscope.measure.csvtable import SUFFIXES
from kinetoscope.measure.errors import suggestion
from kinetoscope.measure.printing import printed
from kinetoscope.measure.vocabulary import OPERATORS, VOCABULARY, Entry
from kinetoscope.record.provenance import MachineFacts
from kinetoscope.trace import CODES, Severity

TableRows = Sequence[tuple[str, ...]]
"""A table: its headings, then its rows.  A cell is text with code between double backticks."""
Definitions = Sequence[tuple[str, str, str]]
"""A list of words, each with a note (or "") and what it means, written like a cell."""

# Code between backticks, a call or selection of the vocabulary (selection["pattern"], us(37)), or an address.
_CODE = re.compile(r"``(.+?)``|(\w+(?:\[\"[^\"\]]*\"\]|\(\d+\)))|(https://\S+)")


class ReferenceTable(BookDirective):
    """One of :data:`TABLES` or :data:`LISTS`, as a table or list of the document, for every builder."""

    required_arguments = 1

    def run(self) -> list[Node]:
        name = self.arguments[0]
        if name in LISTS:
            node: nodes.Element = _definition_list(LISTS[name])
        elif name in TABLES:
            head, *rows = TABLES[name]
            node = nodes.container("", document_table(head, rows, inline), classes=["ks-scroll"])
        else:
            hint = suggestion(name, (*LISTS, *TABLES), limit=40)
            self.warn("name", f"no reference table {name!r}; {hint}")
            node = nodes.paragraph("", f"There is no reference table {name}.", classes=["ks-unmeasured"])
        # Every node gets it: Sphinx counts lines back from those of a list's items.
        for each in node.findall(nodes.Element):
            self.set_source_info(each)
        return [node]


def _definition_list(definitions: Definitions) -> nodes.definition_list:
    """What needs more than a few words is a list: a table's column would be cut off on a phone."""
    made = nodes.definition_list(classes=["simple"])
    for word, note, what in definitions:
        item = nodes.definition_list_item("", nodes.term("", "", *inline(word)))
        if note:
            item += nodes.classifier("", "", *inline(note))
        item += nodes.definition("", nodes.paragraph("", "", *inline(what)))
        made += item
    return made


def inline(text: str) -> Iterator[nodes.literal | nodes.reference | nodes.Text]:
    """``text`` with its code as literals and its addresses as links.

    The page's own parser cannot do it: reST would take the ``*`` of a wildcard for emphasis, and Markdown has
    other marks than reST.
    """
    end = 0
    for match in _CODE.finditer(text):
        if match.start() > end:
            yield nodes.Text(text[end : match.start()])
        if match[3]:
            yield nodes.reference(match[3], match[3], refuri=match[3])
        else:
            code = match[1] or match[2]
            yield nodes.literal(code, code)
        end = match.end()
    if end < len(text):
        yield nodes.Text(text[end:])


def document_options(directives: Mapping[str, type[BookDirective]]) -> None:
    """Adds a list of options to :data:`LISTS` for each directive that has any: ``timeline-options``."""
    for name, directive in directives.items():
        if options := directive.option_spec:
            LISTS[f"{name}-options"] = [(f"``{word}``", "", options[word].what) for word in options]


def _vocabulary(entries: Iterable[Entry]) -> Definitions:
    """Signatures and what they mean; ``min(a), min(a, b)`` becomes two pieces of code."""
    return [
        (", ".join(f"``{call}``" for call in re.split(r"(?<=\)), ", entry.signature)), "", entry.what)
        for entry in entries
    ]


def _units() -> TableRows:
    units: dict[str, list[str]] = {}
    for suffix, (unit, _) in SUFFIXES.items():
        units.setdefault(_UNIT_WORDS[unit], []).append(f"``{suffix}``")
    return [("a name that ends in", "is"), *[(", ".join(ends), unit) for unit, ends in units.items()]]


_UNIT_WORDS = {
    "ns": "a time",
    "bytes/ns": "bytes a second",
    "flop/ns": "floating-point operations a second",
    "1/s": "a rate, a number a second",
    "flop": "floating-point operations",
    "bytes": "a number of bytes",
    "count": "a count",
    "ratio": "a ratio",
    "share": "a share",
}


def _table_columns() -> TableRows:
    rows = []
    for name, column in COLUMNS.items():
        views = {by: view for by, view in VIEWS.items() if name in columns_of_view(view)}
        always = [f"``{by}``" for by, view in views.items() if name in view.columns]
        asked = [f"``{by}``" for by, view in views.items() if name not in view.columns]
        rows.append((f"``{name}``", column.heading, ", ".join(always) or "–", ", ".join(asked) or "–"))
    return [("column", "heading", "shown by", "with :columns: also by"), *rows]


SEVERITIES = {
    Severity.LOST: "Something that was in the file is not in the trace.",
    Severity.REPAIRED: "The file was damaged, and what was meant could be told.",
    Severity.ASSUMED: "The file says what cannot be, or leaves something open.",
    Severity.MISSING: "What one would look for in a trace is not there.",
}

_WITHIN = printed(TOLERANCE, "share")
CHANGES: dict[Change, str] = {
    "gone": "The second trace has none of this name.",
    "new": "The first trace has none of this name.",
    "slower": f"Both have it, and its time grew by more than {_WITHIN} of the time before.",
    "faster": f"Both have it, and its time shrank by more than {_WITHIN} of the time before.",
    "kept": f"Both have it, and its time changed by no more than {_WITHIN} of the time before.",
}
"""What each change means"""

VERDICTS: dict[Outcome, str] = {
    "holds": "The condition is true: ``expect`` of a claim, ``holds`` of a reported sentence.",
    "in part": "Of a reported sentence only: ``holds`` is not true, ``in-part`` is.",
    "fails": "The condition is false, and so is ``in-part`` if there is one.",
    "not measured": "The condition cannot be computed: the recording lacks what the sentence is about.",
}

CLAIM_FIELDS: dict[str, tuple[str, str]] = {
    "id": ("text", "The argument of the directive, unique in the book."),
    "kind": ("``claim`` or ``reported``", "Whether it is our sentence or somebody else's."),
    "sentence": ("text", "The sentence, without its markup."),
    "said_by": ("list of text", "The tags of those who said it; empty for a claim."),
    "published": ("text", "The figure that was published with it, as it was; empty if none was given."),
    "expression": (
        "text",
        "The condition that decided: ``expect``, ``holds``, or ``in-part`` if it holds in part.",
    ),
    "value": ("text", "What was measured, as the page prints it; empty if the author did not ask for it."),
    "verdict": ("text", "One of the verdicts."),
    "machine": ("text", "The machine whose recording was judged: its folder."),
    "page": ("text", "The name of the document; its address is this and ``.html#``, then the id."),
    "elsewhere": (
        "object",
        "By machine that a reader can switch to, an object with ``verdict``, ``expression`` and ``value``.",
    ),
}

LISTS: dict[str, Definitions] = {
    "configuration": [
        (
            f"``{value.name}``",
            "default empty" if value.default == "" else f"default ``{value.default}``",
            value.what,
        )
        for value in VALUES
    ],
    "warnings": [(f"``kinetoscope.{subtype}``", "", what) for subtype, what in SUBTYPES.items()],
    "expressions": _vocabulary(VOCABULARY.values()),
    "functions": _vocabulary(entry for entry in VOCABULARY.values() if entry.function),
    "attributes": _vocabulary(entry for entry in VOCABULARY.values() if not entry.function),
    "operators": _vocabulary(OPERATORS.values()),
    "changes": [
        (f"``{CHANGE_SIGNS[change]}`` {CHANGE_LABELS[change]}", f"``{change}``", what)
        for change, what in CHANGES.items()
    ],
    "findings": [(f"``{name}``", code.severity.value, code.meaning) for name, code in CODES.items()],
    "advice": [
        (f"``{name}``", "", f"{rule.when} {rule.says} Source: {rule.source}") for name, rule in RULES.items()
    ],
    "severities": [(severity.value, "", SEVERITIES[severity]) for severity in Severity],
    "verdicts": [(f"``{outcome}``", OUTCOME_WORDS[outcome], what) for outcome, what in VERDICTS.items()],
    "claim-fields": [(f"``{field.name}``", *CLAIM_FIELDS[field.name]) for field in fields(Verdict)],
}
TABLES: dict[str, TableRows] = {
    "modes": [("mode", "what a build does"), *[(f"``{mode}``", what) for mode, what in MODES.items()]],
    "machine": [
        ("what you write",),
        *[(f"``machine.{name}``",) for name in sorted(MachineFacts.VOCABULARY_ATTRS)],
    ],
    "units": _units(),
    "table-columns": _table_columns(),
    "timeline-keys": [("key", "what it does"), *key_help()],
}
"""The arguments of the directive, with :data:`LISTS`"""
