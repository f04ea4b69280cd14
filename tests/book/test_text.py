"""Names of kernels and output of examples are always text on a page, never markup."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from kinetoscope.record.store import read_example

DATA = Path(__file__).parents[1] / "data/traces"
HOSTILE = {
    "script": "<script>alert('kinetoscope')</script>",
    "bar": "void k|ernel|<int> ||",
    "backticks": "`backtick` ``two`` :math:`x` {measured}`1`",
    "quotes": '"double" \'single\' &amp; " onmouseover="alert(1)',
    "reST": "*emph* **strong** .. note:: |sub| link_ `x <http://a>`_",
    "long": "void at::native::" + "very_long_name<" * 53 + "end",
    "template": "{{ 7 * 7 }} {% raw %} ${x} \\alpha \\\\",
    "comment": "--><!-- ]]> <style>body{display:none}</style> <img src=x onerror=alert(1)>",
}


def hostile_trace(name: str) -> bytes:
    """Return a sample trace in which all kernels and ops have this name."""
    document = json.loads(gzip.decompress((DATA / "linear_1024_32_64_eager.json.gz").read_bytes()))
    for event in document["traceEvents"]:
        if event.get("cat") in ("kernel", "cpu_op"):
            event["name"] = name
    return gzip.compress(json.dumps(document).encode(), mtime=0)


def build_hostile(site):
    """For each name, add an example, a page that shows its trace, and the usual page with that trace."""
    one = (site.examples / "one.py").read_text(encoding="utf-8")
    read = (site.docs / "read.md").read_text(encoding="utf-8")
    shown = read_example(site.recordings / "test-gpu-9000/one").blocks[-1].rst
    printed = "\n.. rst-class:: sphx-glr-script-out\n\n .. code-block:: none\n\n    {}\n"
    for kind, name in HOSTILE.items():
        trace = f"of_{kind}"
        rst = shown.replace("linear_eager", trace) + printed.format(name)
        site.recorded(trace, one, "", rst, files={f"{trace}.json.gz": hostile_trace(name)})
        quoted = "'" + name.replace("'", "''") + "'"  # for MyST an option is YAML
        site.write(
            f"docs/shown/{kind}.md",
            f"# Plain\n\nThey are called {{measured}}`names({trace}.kernels)`.\n\n"
            f"```{{timeline}} {trace}\n```\n\n"
            f"```{{profiler-table}} {trace}\n:by: kernel\n:caption: {quoted}\n```\n\n"
            f"```{{timeline}} {trace}\n:title: {quoted}\n```\n",
        )
        site.write(f"docs/read/{kind}.md", read.replace("linear_eager", trace))
    pages = [f"{folder}/{kind}" for folder in ("shown", "read") for kind in HOSTILE]
    site.edit("docs/index.md", "read\n", "\n".join(["read", *pages, ""]))
    return site.build_clean()


@pytest.fixture(scope="module")
def hostile(build_once):
    return build_once("hostile", build_hostile)


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_name(hostile, parse_html, kind: str) -> None:
    name = HOSTILE[kind]
    usual = parse_html(hostile.html("index"))
    for page in (f"shown/{kind}", f"gallery/of_{kind}", f"read/{kind}"):
        parsed = parse_html(hostile.html(page))
        is_gallery = page.startswith("gallery")
        assert not [text for text in parsed.scripts if "kinetoscope')" in text]
        assert {tag for tag, _ in parsed.tags if tag in ("style", "img", "script", "strong", "em")} <= {
            "script",
            *({"img"} if is_gallery else set()),
            *(tag for tag, _ in usual.tags),
        }
        assert not [attrs for _, attrs in parsed.tags if "onmouseover" in attrs or "onerror" in attrs]
        assert "&amp;lt;" not in hostile.html(page)
        if is_gallery:
            assert name in "".join(parsed.parts)
        if page.startswith("shown"):
            # the table's caption and the figure's title
            text = re.sub(r"\s+", " ", "".join(parsed.parts))
            assert text.count(re.sub(r"\s+", " ", name)) >= 2


def test_every_cell_of_a_table_holds_the_whole_name(hostile, parse_html) -> None:
    parsed = parse_html(hostile.html("read/long"))
    told = "".join(parsed.parts) + "".join(str(value) for _, attrs in parsed.tags for value in attrs.values())
    assert HOSTILE["long"] in told


def test_printed_lines_stay_inside_their_box(site, parse_html) -> None:
    """Characters that Python or docutils take for line ends do not end the box."""
    site.edit(
        "examples/one.py",
        'print("size", SIZE)',
        "print('a\\rb\\x0bc\\x0cd\\x85e\\u2028f\\n.. raw:: html\\n\\n   <script>x</script>\\n\\n')\n"
        "print('tail', '\\ud800')",
    )
    built = site.with_gpu("Test GPU 9000").build("-D", "kinetoscope_only=one", mode="record")
    assert built.status == 0, built.err
    assert built.warnings == []
    parsed = parse_html(built.html("gallery/one"))
    assert "<script>x</script>" in "".join(parsed.parts)
    assert "x" not in parsed.scripts


def test_what_a_number_was_computed_from_is_text_too(site, parse_html) -> None:
    expression = 'count(linear_eager.ops["aten::t"]) < 9 and 1 > 0'
    site.write("docs/plain.md", f"# Plain\n\n{{measured}}`{expression}`\n")
    built = site.build_clean()
    titles = [
        attrs["title"] for _, attrs in parse_html(built.html("plain")).tags if "ks-measured" in str(attrs)
    ]
    assert titles == [expression]
