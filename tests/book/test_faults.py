"""Faults in pages, examples and recordings: each gives one warning, with file, line and remedy.

One book has all faults that do not end the build. It is built in four ways: from scratch; with ``-W`` after a
build without faults; once more with nothing changed; and by two processes. Each build must report every fault
once.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

MACHINE = "test-gpu-9000"

OUTPUT = ".. rst-class:: sphx-glr-script-out\n\n .. code-block:: none\n\n    {}\n"


@dataclass(frozen=True)
class Fault:
    """The warning that a fault must cause."""

    place: str
    """file and line, ``docs/plain.md:3``"""
    said: list[str]
    """parts of its text"""

    def is_reported_by(self, warning: str) -> bool:
        return warning.partition(": ")[0].endswith(self.place)


# --- a page asks for something that does not exist ----------------------------------------------------------

# the text that begins in line 5 of a page; how many lines below that the warning points; parts of the warning
IN_MYST = {
    "unknown NAME in a directive": (
        "```{timeline} linear_eagre\n```",
        0,
        ["no trace or table 'linear_eagre'", "did you mean 'linear_eager'?", "[kinetoscope.name]"],
    ),
    "unknown NAME in a role": (
        "Some words and\nmore words {measured}`count(linear_eagre.kernels)` in the text.",
        1,
        ["linear_eagre", "linear_eager", "[kinetoscope.expression]"],
    ),
    "unknown column": (
        "```{profiler-table} linear_eager\n:columns: name, wattage\n```",
        0,
        ["no column 'wattage'", "there are: name, calls", "[kinetoscope.name]"],
    ),
    "unknown column to sort by": (
        "```{profiler-table} linear_eager\n:sort: wattage\n```",
        0,
        ["no column 'wattage'", "[kinetoscope.name]"],
    ),
    "unknown column of a table": (
        "```{recorded-table} sweep\n:columns: rows, wattage\n```",
        0,
        ["no column 'wattage'", "there are: rows, median_us", "[kinetoscope.name]"],
    ),
    "unknown machine": (
        "```{timeline} linear_eager\n:machine: test-gpu-900\n```",
        0,
        ["no machine 'test-gpu-900'", "did you mean 'test-gpu-9000'?", "[kinetoscope.name]"],
    ),
    "unknown step of a timeline": (
        "```{timeline} linear_eager\n:step: 77\n```",
        0,
        ["77", "[kinetoscope.option]"],
    ),
    "unknown step of a table": (
        "```{profiler-table} linear_eager\n:step: 77\n```",
        0,
        ["no step 77; the trace has steps: ", "[kinetoscope.option]"],
    ),
    "unknown op to zoom to": (
        "```{timeline} linear_eager\n:zoom: aten::nothing\n```",
        0,
        ["aten::nothing", "[kinetoscope.option]"],
    ),
    "a pattern that matches nothing": (
        'Words\n\n{measured}`time(linear_eager.kernels["*triton*"])`.',
        2,
        ["*triton*", "[kinetoscope.expression]"],
    ),
    "a table as a trace": ("```{timeline} sweep\n```", 0, ["'sweep' is a table, not a trace"]),
    "a trace as a table": (
        "```{recorded-table} linear_eager\n```",
        0,
        ["'linear_eager' is a trace, not a table"],
    ),
    "no such attribute": ("{measured}`linear_eager.__class__`", 0, ["__class__", "[kinetoscope.expression]"]),
    "a division by zero": (
        "{measured}`1 / (count(linear_eager.kernels) - 1)`",
        0,
        ["zero", "[kinetoscope.expression]"],
    ),
}

# the text of an example that is replaced; its replacement; the text in the line of the warning; part of the
# warning
IN_GALLERY = {
    "directive in the docstring": (
        "Some words about one layer.",
        "Some words about one layer.\n\n.. timeline:: linear_eagre",
        ".. timeline:: linear_eagre",
        "no trace or table 'linear_eagre'",
    ),
    "role in the docstring": (
        "Some words about one layer.",
        "Some words about one layer.\n\n- an item\n- with :measured:`count(nothing.kernels)`",
        ":measured:",
        "nothing",
    ),
    "directive in a text block": (
        "# Prose about the start.",
        "# Prose about the start.\n#\n# .. profiler-table:: linear_eager\n#    :columns: wattage",
        ".. profiler-table:: linear_eager",
        "no column 'wattage'",
    ),
    "role in a text block": (
        "# And is traced here.",
        "# And is traced here,\n# in :measured:`count(nothing.kernels)` kernels.",
        ":measured:",
        "nothing",
    ),
    "text block after empty comment lines": (
        "# And is traced here.",
        "#\n#\n# And is traced here.\n#\n# .. timeline:: linear_eagre",
        ".. timeline:: linear_eagre",
        "no trace or table 'linear_eagre'",
    ),
}

# --- sentences that are malformed or false ------------------------------------------------------------------


def claim(name: str, expect: str) -> str:
    value = ":value: time(linear_eager.kernels)"
    return f"```{{claim}} {name}\n:expect: {expect}\n{value}\nA Linear is *one* kernel.\n```\n"


def reported(name: str, by: str) -> str:
    return f"```{{reported}} {name}\n:by: {by}\n:holds: 1 == 1\n:in-part: 1 == 1\nNine kernels.\n```\n"


# the text below the title, where the warning points (line 3); parts of the warning
SENTENCES = {
    "a claim that is not true": (
        claim("untrue", "count(linear_eager.kernels) == 2"),
        [f"untrue does not hold on {MACHINE} (measured: 2.72 µs)", "[kinetoscope.claim]"],
    ),
    "a claim that is a number": (claim("number", "count(linear_eager.kernels)"), ["neither true nor false"]),
    "a claim without an expression": (
        claim("nothing", "1 == 1").replace(":expect: 1 == 1\n", ""),
        ["needs a sentence and :expect:"],
    ),
    "a claim without a sentence": ("```{claim} empty\n:expect: 1 == 1\n```\n", ["needs a sentence"]),
    "an unknown source": (reported("somebody", "NOBODY, HF2"), ["no source 'NOBODY'"]),
    "an unknown source of a number": ("{published}`0.17 ms <NOBODY>`\n", ["the sources are: HF2, WIKI"]),
    "a guess without choices": (
        "```{guess}\nA question?\n```\n",
        ["a question, a list of choices, and an answer"],
    ),
    "a condition that is a name": ("```{when} machine.gpu\nProse.\n```\n", ["neither true nor false"]),
    "an unknown NAME to compare with": (
        "```{trace-compare} linear_eager nothing\n```\n",
        ["no trace or table 'nothing'"],
    ),
    "an unknown beginning of a chain": (
        "```{dispatch-chain} linear_eager\n:from: aten::gelu\n```\n",
        ["nothing in step"],
    ),
    "an unknown kernel": (
        "```{kernel-name} linear_eager\n:kernel: triton*\n```\n",
        ["no kernel called 'triton*'"],
    ),
}

# --- a file that is damaged ---------------------------------------------------------------------------------

DAMAGED = {
    "an empty trace": (b"", "the file is empty"),
    "a trace that is cut off": (b"\x1f\x8b\x08\x00", "cut off"),
    "JSON that is not a trace": (b'{"a": 1}', "no trace"),
    "no JSON": (b"]", "JSON"),
}

# --- other faults -------------------------------------------------------------------------------------------

OTHERS = (
    "a changed constant",
    "a change at the end",
    "an example with no recording",
    "an unfinished edit",
    "an output that cannot be shown",
    "a damaged table",
    "two sentences with one id",
    "one id twice on a page",
)


def page_of(kind: str, case: str, cases: Any) -> str:
    """Return the name of the page for a fault."""
    return f"faults/{kind}{[*cases].index(case)}"


def prepare(site) -> None:
    """Add the pages and examples into which :func:`spoil` puts the faults."""
    site.with_sources()
    pages = [page_of("myst", case, IN_MYST) for case in IN_MYST]
    pages += [page_of("sentence", case, SENTENCES) for case in SENTENCES]
    pages += [page_of("damaged", case, DAMAGED) for case in DAMAGED]
    pages += ["faults/table", "faults/id-first", "faults/id-second", "faults/id-twice"]
    for page in pages:
        site.write(f"docs/{page}.md", "# Page\n\nWords.\n")
    site.edit("docs/index.md", "read\n", "\n".join(["read", *pages, ""]))

    one = (site.examples / "one.py").read_text(encoding="utf-8")
    printed = [OUTPUT.format("size 64"), OUTPUT.format("written by one")]
    for stem in ("changed", "changed_late", "unfinished", "output"):
        site.recorded(stem, one, *printed)
    for number in range(len(IN_GALLERY)):
        site.recorded(f"gallery{number}", one, *printed)
    trace = (site.recordings / MACHINE / "one/linear_eager.json.gz").read_bytes()
    for case in DAMAGED:
        page = page_of("damaged", case, DAMAGED)
        name = page.removeprefix("faults/")
        shown = f"```{{timeline}} {name}\n```\n\n{{measured}}`count({name}.kernels)`\n"
        site.write(f"docs/{page}.md", f"# Page\n\n{shown}")
        site.recorded(name, one, printed[0], f".. timeline:: {name}\n", files={f"{name}.json.gz": trace})
    site.write("docs/faults/table.md", "# Page\n\n{measured}`measured.at(rows=64).median`\n")
    site.recorded("table", one, *printed, files={"measured.csv": b"rows,median\n64,2\n"})


def spoil(site) -> dict[str, Fault]:
    """Put every fault into the book."""
    faults = {}
    for case, (text, offset, said) in IN_MYST.items():
        page = page_of("myst", case, IN_MYST)
        site.write(f"docs/{page}.md", f"# Page\n\nWords.\n\n{text}\n\nThe end.\n")
        faults[case] = Fault(f"docs/{page}.md:{5 + offset}", said)
    for case, (text, said) in SENTENCES.items():
        page = page_of("sentence", case, SENTENCES)
        site.write(f"docs/{page}.md", f"# Page\n\n{text}")
        faults[case] = Fault(f"docs/{page}.md:3", said)
    for number, (case, (old, new, mark, said)) in enumerate(IN_GALLERY.items()):
        path = f"examples/gallery{number}.py"
        site.edit(path, old, new)
        faults[case] = Fault(f"{path}:{site.line(path, mark)}", [said])
    for case, (content, said) in DAMAGED.items():
        name = page_of("damaged", case, DAMAGED).removeprefix("faults/")
        file = f"docs/recordings/{MACHINE}/{name}/{name}.json.gz"
        (site.root / file).write_bytes(content)
        faults[case] = Fault(f"{file}:1", [said, f"git checkout -- {file}", "[kinetoscope.recording]"])
    file = f"docs/recordings/{MACHINE}/table/measured.csv"
    site.write(file, "rows,rows\n1,2\n")
    faults["a damaged table"] = Fault(f"{file}:1", ["two columns have the same name", "git checkout"])

    first = site.edit("examples/changed.py", "SIZE = 64", "SIZE = 65") - 4
    last = site.line("examples/changed.py", 'print("size", SIZE)')
    after = site.line("examples/changed.py", 'Path("traces")') - 1
    faults["a changed constant"] = Fault(
        f"examples/changed.py:{first}",
        [
            "[kinetoscope.stale]",
            "record the example again",
            f"code in lines {first}–{last} changed",
            f"the code after it (lines {after}–",
        ],
    )
    site.edit("examples/changed_late.py", '"written by", "one"', '"written by", "1"')
    faults["a change at the end"] = Fault(f"examples/changed_late.py:{after}", ["[kinetoscope.stale]"])
    site.write("examples/unrecorded.py", (site.examples / "one.py").read_text(encoding="utf-8"))
    faults["an example with no recording"] = Fault(
        "examples/unrecorded.py:1",
        [f"unrecorded.py is not recorded on {MACHINE}", "build on a GPU (nox -s docs)"],
    )
    line = site.edit("examples/unfinished.py", "SIZE = 64", "SIZE = (64")
    faults["an unfinished edit"] = Fault(
        f"examples/unfinished.py:{line}",
        ["unfinished.py is not valid Python", "correct this line", "was never closed"],
    )
    one = (site.examples / "output.py").read_text(encoding="utf-8")
    site.recorded("output", one, "", ".. profiler-table:: linear_eager\n   :columns: wattage\n")
    # a warning about a block's output points to the last line of the block
    line = site.line("examples/output.py", 'print("written by", "one")')
    faults["an output that cannot be shown"] = Fault(f"examples/output.py:{line}", ["no column 'wattage'"])

    for page in ("id-first", "id-second"):
        site.write(f"docs/faults/{page}.md", f"# Page\n\n{claim('one-kernel', '1 == 1')}")
    faults["two sentences with one id"] = Fault(
        "docs/faults/id-second.md:3",
        ["a second sentence is called 'one-kernel'", "docs/faults/id-first.md:3"],
    )
    twice = claim("twice", "1 == 1")
    site.write("docs/faults/id-twice.md", f"# Page\n\n{twice}\n{twice}")
    faults["one id twice on a page"] = Fault(
        "docs/faults/id-twice.md:9", ["a second sentence is called 'twice'", "docs/faults/id-twice.md:3"]
    )
    return faults


@dataclass(frozen=True)
class Faulty:
    """The book with all faults in it."""

    faults: dict[str, Fault]
    builds: dict[str, Any]

    def text(self, page: str) -> list[str]:
        """Return the text of a page from each build."""
        return [built.text(page) for built in self.builds.values()]


def build_faulty(site) -> Faulty:
    prepare(site)
    site.build_clean()
    faults = spoil(site)
    builds = {
        "after a healthy build": site.build("-W"),
        "with nothing changed": site.build("-W"),
        "fresh": site.build(out="fresh"),
        "by two processes": site.build("-W", "-j", "2", out="parallel"),
    }
    return Faulty(faults, builds)


@pytest.fixture(scope="module")
def faulty(build_once: Callable[..., Faulty]) -> Faulty:
    return build_once("faults", build_faulty)


@pytest.mark.parametrize("case", [*IN_MYST, *SENTENCES, *IN_GALLERY, *DAMAGED, *OTHERS])
def test_every_build_reports_a_fault_once(faulty: Faulty, case: str) -> None:
    fault = faulty.faults[case]
    for how, built in faulty.builds.items():
        warnings = [warning for warning in built.warnings if fault.is_reported_by(warning)]
        assert len(warnings) == 1, f"{how}: {fault.place} is in {len(warnings)} warnings of:\n{built.err}"
        for part in fault.said:
            assert part in warnings[0], f"{how}: {part!r} is not in {warnings[0]}"


def test_nothing_else_is_reported(faulty: Faulty) -> None:
    for how, built in faulty.builds.items():
        faults = faulty.faults.values()
        others = [text for text in built.warnings if not any(fault.is_reported_by(text) for fault in faults)]
        assert others == [], how
        assert len(built.warnings) == len(faults), how
        assert not built.traceback
        assert built.status == (0 if how == "fresh" else 1), how


@pytest.mark.parametrize("case", IN_MYST)
def test_a_page_says_what_cannot_be_shown(faulty: Faulty, case: str) -> None:
    for text in faulty.text(page_of("myst", case, IN_MYST)):
        assert "cannot be shown here" in text or "not measured here" in text
        assert "The end." in text


def test_a_claim_that_is_not_true_says_so(faulty: Faulty) -> None:
    for text in faulty.text(page_of("sentence", "a claim that is not true", SENTENCES)):
        assert "does not hold here" in text


@pytest.mark.parametrize("case", DAMAGED)
def test_pages_say_that_a_trace_cannot_be_shown(faulty: Faulty, case: str) -> None:
    """Two pages show the trace, but it is one fault."""
    page = page_of("damaged", case, DAMAGED)
    name = page.removeprefix("faults/")
    for text in faulty.text(f"gallery/{name}"):
        assert f"{name} cannot be shown here" in text
        assert "size 64" in text
    for text in faulty.text(page):
        assert f"{name} cannot be shown here" in text
        assert "not measured here" in text


def test_pages_say_that_code_has_changed(faulty: Faulty) -> None:
    for text in faulty.text("gallery/changed"):
        assert "This code has changed since it was recorded on Test GPU 9000" in text
        assert "size 64" not in text
        # this block's own code is unchanged, but its output may depend on the code before it
        assert "Code before this block has changed" in text
        assert "written by one" not in text
    for text in faulty.text("gallery/changed_late"):
        assert "size 64" in text
        assert text.count("Not recorded") == 1
    for text in faulty.text("gallery/unrecorded"):
        assert "has not been recorded on Test GPU 9000" in text


# --- an option, a change undone, another machine ------------------------------------------------------------


def test_an_unknown_option(site) -> None:
    """MyST itself warns about it."""
    site.write("docs/plain.md", "# Plain\n\n```{timeline} linear_eager\n:colour: red\n```\n")
    [said] = site.build().warnings
    assert "docs/plain.md:3:" in said or "docs/plain.md:4:" in said
    assert "colour" in said


def test_a_change_undone(site) -> None:
    before = site.build("-W").files()
    site.edit("examples/one.py", "SIZE = 64", "SIZE = 65")
    assert site.build("-W").status == 1
    site.edit("examples/one.py", "SIZE = 65", "SIZE = 64")
    after = site.build_clean().files()
    assert {name for name in before if before[name] != after.get(name)} <= {"searchindex.js"}


def test_a_machine_that_is_not_the_reference_causes_no_warnings(new_site) -> None:
    """Somebody builds the book on their own GPU, where a sentence about the reference may be false."""
    site = new_site("own").with_gpu("Own GPU")
    site.write("docs/plain.md", '# Plain\n\n{measured}`time(linear_eager.kernels["*triton*"])`.\n')
    built = site.build_clean(mode="auto")
    assert "not measured here" in built.text("plain")
    assert "Recorded on Own GPU" in built.text("read")
    assert site.with_gpu("Test GPU 9000").build(mode="auto").warnings != []


# --- damage that ends the build -----------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["one/example.json", "machine.json"])
@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 1, "provenance": "x"}', None])
def test_a_damaged_recording(site, file: str, content: str | None) -> None:
    path = site.recordings / MACHINE / file
    path.unlink() if content is None else path.write_text(content)
    for options in ([], ["-W"], ["-W"]):
        built = site.build(*options)
        assert built.status == 2
        [said] = built.warnings
        assert f"{file}: damaged or missing" in said
        assert "git checkout -- " in said
        assert not built.traceback


def test_a_missing_file_of_a_recording(site) -> None:
    (site.recordings / MACHINE / "one/linear_eager.json.gz").unlink()
    built = site.build()
    assert built.status == 2
    [said] = built.warnings
    assert "one/example.json: damaged or missing" in said
    assert "linear_eager.json.gz is gone" in said


def test_a_recording_of_another_format(site) -> None:
    with site.example_json() as content:
        content["format"] = 99
    [said] = site.build().warnings
    assert "example.json: format 99 is not 1; record this example again" in said


def test_two_recordings_with_one_name(site) -> None:
    folder = site.recordings / MACHINE
    shutil.copyfile(folder / "one/linear_eager.json.gz", folder / "two/linear_eager.json.gz")
    built = site.build()
    assert built.status == 2
    [said] = built.warnings
    assert "two results are called 'linear_eager': one of one.py and one of two.py" in said


# --- no recording at all ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["replay", "auto"])
def test_no_recordings_and_no_gpu(site, mode: str) -> None:
    """The build ends with one sentence, not with a site of empty pages."""
    shutil.rmtree(site.recordings)
    site.with_gpu("")
    built = site.build(mode=mode)
    assert built.status == 2
    [said] = built.warnings
    assert "there is no recording in docs/recordings" in said
    assert "git checkout -- docs/recordings" in said
    assert "NVIDIA GPU" in said
    assert len(built.err.strip().splitlines()) == 1
    assert not built.traceback
    assert not list(built.outdir.glob("*.html"))


def test_a_reference_machine_without_recording(site) -> None:
    built = site.build("-D", "kinetoscope_machine=no-such-gpu")
    assert built.status == 2
    [said] = built.warnings
    assert "kinetoscope_machine is 'no-such-gpu'" in said
    assert f"there are: {MACHINE}" in said


@pytest.mark.parametrize(
    ("options", "mode", "said"),
    [
        ([], "rehearse", "kinetoscope_mode is 'rehearse'; it can be auto, record, replay, live"),
        (
            ["-D", "kinetoscope_only=three.py"],
            "live",
            "kinetoscope_only names three; the examples are: one, two",
        ),
        (["-D", "kinetoscope_machine_name=../x"], "live", "kinetoscope_machine_name is '../x'"),
        ([], "record", "torch sees no GPU here; 'live' runs"),
    ],
)
def test_options_that_make_no_sense(site, options: list[str], mode: str, said: str) -> None:
    built = site.with_gpu("").build(*options, mode=mode)
    assert built.status == 2
    assert said in built.warnings[0]
    assert not built.traceback


def test_a_scraper_that_is_no_dotted_name(site) -> None:
    site.edit("conf.py", '["kinetoscope"]', '["kinetoscope", lambda *a: ""]')
    built = site.with_gpu("").build(mode="live")
    assert built.status == 2
    assert "give its dotted name" in built.warnings[0]
