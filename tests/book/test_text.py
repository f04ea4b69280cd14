"""Whatever a kernel is called, and whatever an example prints, is text on its page."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from kinetoscope.record.store import BlockOutput, read_example, write_example

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
    """A sample whose kernels and ops have that name."""
    document = json.loads(gzip.decompress((DATA / "linear_1024_32_64_eager.json.gz").read_bytes()))
    for event in document["traceEvents"]:
        if event.get("cat") in ("kernel", "cpu_op"):
            event["name"] = name
    return gzip.compress(json.dumps(document).encode(), mtime=0)


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_name(site, parse_html, kind: str) -> None:
    name = HOSTILE[kind]
    folder = site.recordings / "test-gpu-9000"
    old = read_example(folder / "one")
    rst = old.blocks[-1].rst + "\n.. rst-class:: sphx-glr-script-out\n\n .. code-block:: none\n\n    {}\n"
    files = {path.name: path.read_bytes() for path in old.traces.values()}
    write_example(
        folder,
        "one",
        blocks=[*old.blocks[:-1], BlockOutput(old.blocks[-1].code, old.blocks[-1].before, rst.format(name))],
        run_time=old.run_time,
        provenance=old.provenance,
        code_objects=old.code_objects,
        files={**files, "linear_eager.json.gz": hostile_trace(name)},
    )
    quoted = "'" + name.replace("'", "''") + "'"  # for MyST an option is YAML
    site.write(
        "docs/plain.md",
        "# Plain\n\nThey are called {measured}`names(linear_eager.kernels)`.\n\n"
        "```{timeline} linear_eager\n```\n\n"
        f"```{{profiler-table}} linear_eager\n:by: kernel\n:caption: {quoted}\n```\n\n"
        f"```{{timeline}} linear_eager\n:title: {quoted}\n```\n",
    )
    built = site.build("-W")
    assert built.status == 0, built.err
    usual = parse_html(site.build("-W").html("index"))
    for page in ("plain", "gallery/one", "read"):
        parsed = parse_html(built.html(page))
        assert not [text for text in parsed.scripts if "kinetoscope')" in text]
        assert {tag for tag, _ in parsed.tags if tag in ("style", "img", "script", "strong", "em")} <= {
            "script",
            *({"img"} if page == "gallery/one" else set()),
            *(tag for tag, _ in usual.tags),
        }
        assert not [attrs for _, attrs in parsed.tags if "onmouseover" in attrs or "onerror" in attrs]
        assert "&amp;lt;" not in built.html(page)
        if page == "gallery/one":
            assert name in "".join(parsed.parts)
        if page == "plain":
            text = re.sub(r"\s+", " ", "".join(parsed.parts))
            assert text.count(re.sub(r"\s+", " ", name)) >= 2, (
                kind
            )  # the table's caption and the figure's title


def test_every_cell_of_a_table_holds_the_whole_name(site, parse_html) -> None:
    name = HOSTILE["long"]
    (site.recordings / "test-gpu-9000/one/linear_eager.json.gz").write_bytes(hostile_trace(name))
    parsed = parse_html(site.build("-W").html("gallery/one"))
    told = "".join(parsed.parts) + "".join(str(value) for _, attrs in parsed.tags for value in attrs.values())
    assert name in told


def test_printed_lines_stay_inside_their_box(site, parse_html) -> None:
    """Characters that some take for the end of a line do not end the box early."""
    site.edit(
        "examples/one.py",
        'print("size", SIZE)',
        "print('a\\rb\\x0bc\\x0cd\\x85e\\u2028f\\n.. raw:: html\\n\\n   <script>x</script>\\n\\n')\n"
        "print('tail', '\\ud800')",
    )
    built = site.with_gpu("Test GPU 9000").build(mode="record")
    assert built.status == 0, built.err
    assert built.warnings == []
    parsed = parse_html(built.html("gallery/one"))
    assert "<script>x</script>" in "".join(parsed.parts)
    assert "x" not in parsed.scripts


def test_what_a_number_was_computed_from_is_text_too(site, parse_html) -> None:
    expression = 'count(linear_eager.ops["aten::t"]) < 9 and 1 > 0'
    site.write("docs/plain.md", f"# Plain\n\n{{measured}}`{expression}`\n")
    built = site.build("-W")
    assert built.status == 0, built.err
    titles = [
        attrs["title"] for _, attrs in parse_html(built.html("plain")).tags if "ks-measured" in str(attrs)
    ]
    assert titles == [expression]
