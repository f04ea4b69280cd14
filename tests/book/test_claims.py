"""Claims, reported sentences, conditions and guesses: what pages and ``claims.json`` say about them.

``test_faults.py`` tests their warnings.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from kinetoscope import load
from kinetoscope.cli import main

DATA = Path(__file__).parents[1] / "data" / "traces"

GPU, MACHINE = "Test GPU 9000", "test-gpu-9000"

CLAIM = """\
# Read

```{{claim}} one-kernel
:expect: {expect}
:value: time(linear_eager.kernels)
A Linear is *one* kernel.
```
"""

REPORTED = """\
# Read

```{{reported}} said-08
:by: WIKI, HF2
:published: 9 → 3
:holds: {holds}
:in-part: {in_part}
:value: count(geglu_eager.kernels)
Nine kernels eager.

And what we say to it.
```
"""


CASES = {
    "holds": ("count(geglu_eager.kernels) == 5", "count(geglu_eager.kernels) > 9"),
    "in part": ("count(geglu_eager.kernels) == 9", "count(geglu_eager.kernels) < 9"),
    "fails": ("count(geglu_eager.kernels) == 9", "count(geglu_eager.kernels) > 9"),
}
EXPECT = "count(linear_eager.kernels) < count(geglu_eager.kernels)"
PAGES = {
    "holds": CLAIM.format(expect="count(linear_eager.kernels) == 1")
    + "\nBoth: {measured}`time(linear_eager.kernels) / time(geglu_eager.kernels)`,\n"
    + "{measured}`machine.gpu`.\n",
    "evidence": CLAIM.format(expect=EXPECT).replace("one-kernel", "fewer"),
    **{
        f"said-{number}": REPORTED.format(holds=holds, in_part=in_part).replace("said-08", f"said-{number}")
        for number, (holds, in_part) in enumerate(CASES.values())
    },
    "when": '# Read\n\n```{when} machine.gpu == "Test GPU 9000"\nAbout this one.\n```\n\n'
    '```{when} machine.gpu_arch == "sm_70"\nAbout another one.\n```\n',
    "asks": "# Read\n\n```{guess}\nThere are *two*.\n\nWhich one?\n\n- 3\n- 5\n\nFive.\n```\n\n"
    "````{guess}\n```python\nf()\n```\n\n- 3\n- 5\n\nThree.\n````\n",
    "compared": "# Read\n\n```{trace-compare} linear_eager geglu_eager\n```\n",
    "chain": "# Read\n\n```{dispatch-chain} linear_eager\n:from: aten::linear\n```\n\n"
    "```{kernel-name} linear_eager\n```\n",
    "link": "# Read\n\nSee {ref}`one-kernel`.\n",
}


def build_pages(site):
    site.with_sources()
    site.edit("docs/index.md", "read\n", "\n".join(["read", *PAGES, ""]))
    for name, text in PAGES.items():
        site.write(f"docs/{name}.md", text)
    return site.build_clean()


@pytest.fixture(scope="module")
def shown(build_once):
    """One book with all pages that tests only read."""
    return build_once("sentences", build_pages)


def verdict(built, name: str) -> dict:
    [item] = [item for item in verdicts(built) if item["id"] == name]
    return item


@pytest.fixture
def judged(site):
    return site.with_sources()


def verdicts(built) -> list[dict]:
    return json.loads((built.outdir / "claims.json").read_text(encoding="utf-8"))


def test_a_claim_that_holds(shown) -> None:
    assert "holds here: 2.72 µs" in " ".join(shown.text("holds").split())
    assert [item["id"] for item in verdicts(shown)] == ["fewer", "one-kernel", "said-0", "said-1", "said-2"]
    assert verdict(shown, "one-kernel") == (
        {
            "id": "one-kernel",
            "kind": "claim",
            "sentence": "A Linear is one kernel.",
            "said_by": [],
            "published": "",
            "expression": "count(linear_eager.kernels) == 1",
            "value": "2.72 µs",
            "verdict": "holds",
            "machine": MACHINE,
            "page": "holds",
            "elsewhere": {},
        }
    )


def test_a_false_claim_on_another_machine_is_shown_without_a_warning(judged) -> None:
    judged.write("docs/read.md", CLAIM.format(expect="count(linear_eager.kernels) == 2"))
    built = judged.with_gpu("Other GPU 1").build_clean(mode="record")
    assert "does not hold here" in built.text("read")
    assert [(item["verdict"], item["machine"]) for item in verdicts(built)] == [("fails", "other-gpu-1")]
    # readers can choose the book's reference machine
    assert verdicts(built)[0]["elsewhere"][MACHINE]["verdict"] == "fails"
    assert re.search(r"<legend>Numbers from</legend> .*> Other GPU 1</label>.*> " + GPU, built.html("read"))


@pytest.mark.parametrize("number", range(len(CASES)), ids=CASES)
def test_a_reported_sentence_gets_a_verdict_and_never_warns(shown, number: int) -> None:
    expected, (holds, in_part) = list(CASES.items())[number]
    item = verdict(shown, f"said-{number}")
    assert (item["verdict"], item["value"], item["said_by"]) == (expected, "5", ["WIKI", "HF2"])
    assert item["published"] == "9 → 3"
    assert item["expression"] == (in_part if expected == "in part" else holds)
    page = shown.html(f"said-{number}")
    assert 'href="https://example.org/post"' in page
    assert "published: 9 → 3" in page and "And what we say to it." in page


def test_when_leaves_out_prose_about_another_machine(shown) -> None:
    page = shown.text("when")
    assert "About this one." in page and "About another one." not in page


def test_a_guess_knows_the_right_choice_from_the_recording(judged, parse_html) -> None:
    guess = (
        "# Read\n\n```{guess}\n:right: count(geglu_eager.kernels)\nHow many kernels?\n\n"
        '- 3\n- 5\n\nFive: {measured}`names(geglu_eager.ops["aten::gelu"])` is one.\n```\n'
    )
    judged.write("docs/read.md", guess)
    built = judged.build_clean()
    parsed = parse_html(built.html("read"))
    labels = [
        attrs for tag, attrs in parsed.tags if tag == "label" and "ks-choice" in (attrs.get("class") or "")
    ]
    assert ["data-right" in attrs for attrs in labels] == [False, True]
    assert (
        len({attrs["name"] for tag, attrs in parsed.tags if tag == "input" and attrs.get("type") == "radio"})
        == 1
    )
    page = built.html("read")
    assert re.search(r"<legend [^>]*>How many kernels\?</legend>", page)
    right = re.search(r'<p class="ks-right">.*?</p>', page)
    assert right is not None and ' data-events="' in right[0] and ">5</span>" in right[0]
    assert "guess.js" in page and "guess.js" not in built.html("plain")
    judged.write("docs/read.md", guess.replace("- 5\n", "- 4\n"))
    (warning,) = judged.build().warnings
    assert "the right answer is '5', which is none of the choices: 3, 4" in warning
    judged.write("docs/read.md", guess.replace("count(geglu_eager.kernels)", "count(nowhere.kernels)"))
    built = judged.build()
    page = built.html("read")
    assert len(built.warnings) == 1 and "Not measured here." in page
    assert "data-right" not in page and "ks-right" not in page


def test_the_last_paragraph_is_the_question_of_a_guess(shown) -> None:
    legends = re.findall(r"<legend [^>]*>(.*?)</legend>", shown.html("asks"))
    assert legends == ["Which one?", "What do you think?"]
    assert "There are <em>two</em>." in shown.html("asks") and "data-right" not in shown.html("asks")


def test_a_comparison_says_what_changed(shown) -> None:
    page = shown.html("compared")
    assert page.count('<figure class="ks-timeline ks-compared"') == 2
    text = " ".join(shown.text("compared").split())
    assert "gone" in text and "new" in text


def test_a_dispatch_chain_and_a_kernel_name(shown) -> None:
    text = " ".join(shown.text("chain").split())
    assert text.index("aten::linear") < text.index("aten::addmm") < text.index("cuLaunchKernelEx")
    assert "cuBLASLt" in text and "sm90" in text


def test_the_text_builder_shows_all_of_it(judged) -> None:
    judged.write(
        "docs/read.md",
        CLAIM.format(expect="1 == 1")
        + "\n```{guess}\nHow many?\n\n- 3\n- 5\n\nFive.\n```\n"
        + "\n```{trace-compare} linear_eager geglu_eager\n```\n",
    )
    built = judged.build_clean(builder="text")
    text = (built.outdir / "read.txt").read_text(encoding="utf-8")
    assert "holds here" in text and "* 5" in text


def test_the_same_in_parallel_and_after_an_edit(judged) -> None:
    judged.write("docs/read.md", CLAIM.format(expect="1 == 1"))
    judged.write("docs/plain.md", REPORTED.format(holds="1 == 1", in_part="1 == 1"))
    serial = verdicts(judged.build("-W", out="serial"))
    assert verdicts(judged.build("-W", "-j", "2", out="parallel")) == serial
    assert [item["id"] for item in serial] == ["said-08", "one-kernel"]
    judged.write("docs/plain.md", "# Plain\n\nNo verdict any more.\n")
    assert [item["id"] for item in verdicts(judged.build("-W", out="serial"))] == ["one-kernel"]


def test_the_command_line_fails_for_claims_only(judged, capsys) -> None:
    judged.write("docs/read.md", REPORTED.format(holds="1 == 2", in_part="1 == 2"))
    built = judged.build()
    assert main(["claims", str(built.outdir)]) == 0
    assert "- said-08: WIKI, HF2: Nine kernels eager.  [5]" in capsys.readouterr().out
    judged.write("docs/read.md", CLAIM.format(expect="1 == 2"))
    built = judged.build()
    assert main(["claims", str(built.outdir / "claims.json")]) == 1
    assert "1 claim, 1 of which fails;" in capsys.readouterr().out
    (built.outdir / "claims.json").write_text("{", encoding="utf-8")
    assert main(["claims", str(built.outdir)]) == 2
    assert "is not a claims.json" in capsys.readouterr().err
    assert main(["claims", str(judged.root / "nowhere")]) == 2
    assert "build the book first" in capsys.readouterr().err


def test_an_empty_cell_of_a_table_was_not_measured(judged) -> None:
    (judged.recordings / MACHINE / "two" / "sweep.csv").write_text("rows,median_us\n64,3.5\n128,\n")
    judged.write("docs/read.md", "# Read\n\n```{recorded-table} sweep\n```\n")
    built = judged.build()
    assert not built.traceback, built.err
    assert "–" in built.text("read")


def test_a_claim_can_be_linked_to(shown) -> None:
    assert 'href="holds.html#one-kernel"' in shown.html("link")
    assert "A Linear is one kernel." in shown.text("link")


def test_a_number_keeps_the_events_it_was_computed_from(shown, parse_html) -> None:
    spans = [
        attrs
        for tag, attrs in parse_html(shown.html("holds")).tags
        if "ks-measured" in (attrs.get("class") or "")
    ]
    linear, both, machine = (attrs.get("data-events") for attrs in spans)
    kernels = [kernel.index for kernel in load(DATA / "linear_1024_32_64_eager.json.gz").kernels]
    assert linear == f"test-gpu-9000/linear_eager:{' '.join(map(str, kernels))}"
    assert both.startswith(linear + "; test-gpu-9000/geglu_eager:")
    assert machine is None


def test_the_evidence_is_one_click_away(shown, parse_html) -> None:
    box = shown.html("evidence").partition("ks-verdict")[2]
    links = [
        attrs["href"]
        for tag, attrs in parse_html(box).tags
        if tag == "a" and "gallery" in (attrs.get("href") or "")
    ]
    assert links[:2] == ["gallery/one.html", "gallery/two.html"]


def test_a_trace_of_the_cpu_alone_measured_no_gpu(judged) -> None:
    [path] = judged.recordings.rglob("linear_eager.json.gz")
    path.write_bytes(gzip.compress((DATA.parent / "small/second/cpu_only.json").read_bytes(), mtime=0))
    judged.write(
        "docs/read.md",
        CLAIM.format(expect="count(linear_eager.kernels) <= 12")
        + REPORTED.format(holds="count(linear_eager.ops) == 1", in_part="count(linear_eager.kernels) == 0")
        + "\n```{guess}\n:right: count(linear_eager.kernels)\nHow many?\n\n- 0\n- 1\n\nSo many.\n```\n"
        "\n```{when} count(linear_eager.kernels) == 0\nThere is no kernel.\n```\n"
        "\n```{profiler-table} linear_eager\n:by: kernel\n```\n\n```{kernel-name} linear_eager\n```\n"
        "\n```{trace-compare} geglu_eager linear_eager\n```\n"
        "\n{measured}`time(linear_eager.kernels)`, {measured}`busy(linear_eager)`; but ops: "
        "{measured}`count(linear_eager.ops)`\n"
        "\n```{profiler-table} linear_eager\n```\n\n```{timeline} linear_eager\n```\n",
    )
    built = judged.build()
    assert not built.traceback, built.err
    assert {item["verdict"] for item in verdicts(built)} == {"not measured"}
    page = built.text("read")
    assert "There is no kernel." not in page and "ops: 12" in page
    # a claim, a reported sentence, two in the line, a condition and a guess, three tables
    assert len(re.findall("(?i)not measured here", page)) == 9
    assert not re.search("self GPU|total GPU|nothing ran", page)
    assert "the GPU was not measured" in built.html("read")
    assert any("no GPU activity in the file" in warning for warning in built.warnings)
