"""The scripts of the pages: what holds for each of them (`nox -s lint` looks for mistakes)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NEVER = {
    r"^\s*(?:import|export)\b": "a module does not load from a file:// address",
    r"\b(?:inner|outer)HTML\s*\+?=(?!=)|\binsertAdjacentHTML\b|\bdocument\.write": (
        "a trace's names are not to be read as HTML"
    ),
    r"\beval\(|\bnew Function\b": "runs text as code",
    r"\bfetch\(|\bXMLHttpRequest\b|\bsendBeacon\b|\bWebSocket\b": (
        "asks for a file, which file:// refuses, or leaves the site"
    ),
    r"\blocalStorage\b": "remembers something beyond the page",
}


def faults(script: str) -> list[str]:
    """What is wrong with a script's text, comments left out."""
    code = re.sub(r"/\*.*?\*/|(?<![:\"'`\\])//[^\n]*", "", script, flags=re.DOTALL)
    found = [why for pattern, why in NEVER.items() if re.search(pattern, code, re.MULTILINE)]
    if not re.match(r"\s*\((?:\(\)\s*=>|function\s*\(\))\s*\{\s*[\"']use strict[\"'];", code):
        found.append('begins with other than (() => {"use strict";')
    if script.count("\n") > 420:
        found.append("is longer than about 400 lines")
    return found


def test_every_script_is_small_strict_and_harmless() -> None:
    scripts = [path for path in (ROOT / "src").rglob("static/**/*.js") if "vendor" not in path.parts]
    found = {path.relative_to(ROOT).as_posix(): faults(path.read_text(encoding="utf-8")) for path in scripts}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


GOOD = """// What it is for.  fetch( is only named here.
(() => {
  "use strict";
  const kinetoscope = (globalThis.kinetoscope ??= {});
  /* not innerHTML = */
  kinetoscope.address = "https://ui.perfetto.dev";
})();
"""


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("", ""),
        ("box.innerHTML = name;", "not to be read as HTML"),
        ("box.insertAdjacentHTML('beforeend', name);", "not to be read as HTML"),
        ("eval(name);", "runs text"),
        ("fetch('x.json');", "asks for a file"),
        ("localStorage.guess = 1;", "remembers"),
        ("\n" * 420, "longer"),
    ],
)
def test_a_fault_is_noticed(line: str, fault: str) -> None:
    found = faults(GOOD.replace("})();", f"{line}\n}})();"))
    assert len(found) == bool(fault)
    assert fault in "".join(found)


@pytest.mark.parametrize("script", ["import x from './x.js';\n" + GOOD, GOOD.replace('"use strict";', "")])
def test_what_a_script_begins_with_is_noticed(script: str) -> None:
    assert faults(script)
