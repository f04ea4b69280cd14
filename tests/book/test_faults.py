"""Bad input and faults: one warning or error each, naming file, line and remedy, in every build."""

from __future__ import annotations

import json
import shutil

import pytest

MACHINE = "test-gpu-9000"


# --- code that is not what was recorded ---------------------------------------------------------------------


def test_a_changed_constant(site) -> None:
    first = site.edit("examples/one.py", "SIZE = 64", "SIZE = 65") - 4
    said = site.one_fault(f"examples/one.py:{first}:", "[kinetoscope.stale]", "record the example again")
    last = site.line("examples/one.py", 'print("size", SIZE)')
    assert f"code in lines {first}–{last} changed" in said
    page = site.build().text("gallery/one")
    assert "This code has changed since it was recorded on Test GPU 9000" in page
    assert "size 64" not in page


def test_code_after_a_change_lost_its_output_too(site) -> None:
    """Its own code is as recorded: what it printed may depend on the code before it."""
    site.edit("examples/one.py", "SIZE = 64", "SIZE = 65")
    line = site.line("examples/one.py", 'Path("traces")') - 1
    site.one_fault(f"the code after it (lines {line}–")
    page = site.build().text("gallery/one")
    assert "Code before this block has changed" in page
    assert "written by one" not in page


def test_code_before_a_change_keeps_its_output(site) -> None:
    site.edit("examples/one.py", '"written by", "one"', '"written by", "1"')
    page = site.build().text("gallery/one")
    assert "size 64" in page
    assert page.count("Not recorded") == 1


def test_a_change_undone(site) -> None:
    before = site.build("-W").files()
    site.edit("examples/one.py", "SIZE = 64", "SIZE = 65")
    assert site.build("-W").status == 1
    site.edit("examples/one.py", "SIZE = 65", "SIZE = 64")
    built = site.build("-W")
    assert built.status == 0, built.err
    after = built.files()
    assert {name for name in before if before[name] != after.get(name)} <= {"searchindex.js"}


def test_an_example_with_no_recording(site) -> None:
    shutil.rmtree(site.recordings / MACHINE / "two")
    site.write("docs/read.md", "# Read\n\n{measured}`count(linear_eager.kernels)`\n")
    site.one_fault(
        "examples/two.py:1:", f"two.py is not recorded on {MACHINE}", "build on a GPU (nox -s docs)"
    )
    assert "has not been recorded on Test GPU 9000" in site.build().text("gallery/two")


def test_an_unfinished_edit(site) -> None:
    line = site.edit("examples/one.py", "SIZE = 64", "SIZE = (64")
    said = site.one_fault(f"examples/one.py:{line}:", "one.py is no Python", "mend this line")
    assert "was never closed" in said


# --- what a page asks for that is not there -----------------------------------------------------------------

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


@pytest.mark.parametrize("case", IN_MYST)
def test_in_a_page_of_the_book(site, case: str) -> None:
    text, offset, said = IN_MYST[case]
    site.write("docs/plain.md", f"# Plain\n\nWords.\n\n{text}\n\nThe end.\n")
    site.one_fault(f"docs/plain.md:{5 + offset}:", *said)
    page = site.build().text("plain")
    assert "cannot be shown here" in page or "not measured here" in page
    assert "The end." in page


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


@pytest.mark.parametrize("case", IN_GALLERY)
def test_in_the_page_of_an_example(site, case: str) -> None:
    """The line is that of the ``.py``, which is what has to be mended."""
    old, new, mark, said = IN_GALLERY[case]
    site.edit("examples/one.py", old, new)
    line = site.line("examples/one.py", mark)
    site.one_fault(f"examples/one.py:{line}:", said)


def test_in_the_output_of_a_block(site) -> None:
    """What a block showed is reported at its last line."""
    path = site.recordings / MACHINE / "one/example.json"
    path.write_text(path.read_text().replace(":by: kernel", ":columns: wattage"))
    line = site.line("examples/one.py", 'print("written by", "one")')
    site.one_fault(f"examples/one.py:{line}:", "no column 'wattage'")


def test_an_unknown_option(site) -> None:
    site.write("docs/plain.md", "# Plain\n\n```{timeline} linear_eager\n:colour: red\n```\n")
    [said] = site.build().warnings
    assert "docs/plain.md:3:" in said or "docs/plain.md:4:" in said
    assert "colour" in said


def test_no_warning_on_a_machine_that_the_sentences_are_not_held_to(new_site) -> None:
    """A rebuilder's own: what is said of the reference may be otherwise there."""
    site = new_site("own").with_gpu("Own GPU")
    site.write("docs/plain.md", '# Plain\n\n{measured}`time(linear_eager.kernels["*triton*"])`.\n')
    built = site.build("-W", mode="auto")
    assert built.status == 0, built.err
    assert "not measured here" in built.text("plain")
    assert "Recorded on Own GPU" in built.text("read")
    assert site.with_gpu("Test GPU 9000").build(mode="auto").warnings != []


# --- damage -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "the file is empty"), (b"\x1f\x8b\x08\x00", "cut off"), (b'{"a": 1}', "no trace"), (b"]", "JSON")],
)
def test_a_damaged_trace(site, content: bytes, said: str) -> None:
    """However many pages show it: it is one fault."""
    site.build()
    (site.recordings / MACHINE / "one/linear_eager.json.gz").write_bytes(content)
    file = f"docs/recordings/{MACHINE}/one/linear_eager.json.gz"
    site.one_fault(f"{file}:1:", said, f"git checkout -- {file}", "[kinetoscope.recording]")
    built = site.build()
    assert "linear_eager cannot be shown here" in built.text("gallery/one")
    assert "not measured here" in built.text("read")
    assert "size 64" in built.text("gallery/one")


def test_a_damaged_table(site) -> None:
    (site.recordings / MACHINE / "two/sweep.csv").write_text("rows,rows\n1,2\n")
    site.write("docs/plain.md", "# Plain\n\n{measured}`sweep.at(rows=64).median`\n")
    site.one_fault(
        f"docs/recordings/{MACHINE}/two/sweep.csv:1:", "two columns have the same name", "git checkout"
    )


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


def test_a_file_of_a_recording_is_gone(site) -> None:
    (site.recordings / MACHINE / "one/linear_eager.json.gz").unlink()
    built = site.build()
    assert built.status == 2
    [said] = built.warnings
    assert "one/example.json: damaged or missing" in said
    assert "linear_eager.json.gz is gone" in said


def test_a_recording_of_another_format(site) -> None:
    path = site.recordings / MACHINE / "one/example.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))
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
    """One clear sentence, not a site of empty pages."""
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


def test_a_reference_that_is_not_recorded(site) -> None:
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
def test_asked_for_what_cannot_be(site, options: list[str], mode: str, said: str) -> None:
    built = site.with_gpu("").build(*options, mode=mode)
    assert built.status == 2
    assert said in built.warnings[0]
    assert not built.traceback


def test_a_scraper_that_a_worker_cannot_be_told(site) -> None:
    site.edit("conf.py", '["kinetoscope"]', '["kinetoscope", lambda *a: ""]')
    built = site.with_gpu("").build(mode="live")
    assert built.status == 2
    assert "give its dotted name" in built.warnings[0]
