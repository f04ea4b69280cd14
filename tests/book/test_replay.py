"""Laying out from a recording: same bytes, which pages are read again, what is deleted."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from sphinx_gallery.utils import get_md5sum

HEAD = "# Sphinx inventory version 2\n# Project: torch\n# Version: 1\n"
PAGES = ["gallery/one", "gallery/two", "read"]


def differing(files: dict[str, bytes], others: dict[str, bytes]) -> list[str]:
    assert files.keys() == others.keys()
    return [name for name in files if files[name] != others[name]]


# --- the same bytes -----------------------------------------------------------------------------------------


def test_recording_and_replaying_give_the_same_bytes(recorded_site: Path, site) -> None:
    replayed = site.build_clean()
    recorded = replace(replayed, outdir=recorded_site / "_build/html")
    assert differing(replayed.files(), recorded.files()) == []
    assert "size 64" in replayed.text("gallery/one")
    assert "two was here" in replayed.text("gallery/two")
    assert replayed.html("gallery/one").count("<figure") == 1


def test_live_and_replay_of_the_live_recording_give_the_same_bytes(new_site) -> None:
    live = new_site("a").with_gpu("")
    built = live.build_clean(mode="live")
    machine = next((live.root / "_build/.html/kinetoscope-live").iterdir())
    replay = new_site("b")
    shutil.copytree(machine, replay.recordings / machine.name)
    replayed = replay.build_clean("-D", f"kinetoscope_machine={machine.name}")
    assert differing(built.files(), replayed.files()) == []


def test_live_leaves_the_committed_recordings_alone(site) -> None:
    before = {path: path.read_bytes() for path in site.recordings.rglob("*") if path.is_file()}
    site.with_gpu("").build(mode="live")
    assert {path: path.read_bytes() for path in site.recordings.rglob("*") if path.is_file()} == before


def test_two_processes_give_the_same_bytes_as_one(new_site) -> None:
    one, two = new_site("a"), new_site("b")
    for number in range(6):  # enough pages for Sphinx to use both processes
        for book in (one, two):
            text = "# {n}\n\n{{measured}}`count(linear_eager.kernels)`\n\n```{{timeline}} geglu_eager\n```\n"
            book.write(f"docs/more{number}.md", "---\norphan: true\n---\n\n" + text.format(n=number))
    serial, parallel = one.build("-W", "-j", "1"), two.build("-W", "-j", "2")
    assert serial.status == parallel.status == 0, parallel.err
    assert differing(serial.files(), parallel.files()) == []


def test_an_incremental_build_gives_the_same_bytes_as_a_fresh_one(new_site) -> None:
    edited, fresh = new_site("a"), new_site("b")
    edited.build()
    for book in (edited, fresh):
        book.edit("examples/one.py", "Prose about the start", "Other words about the start")
        book.edit("docs/read.md", "One step of the layer", "Each step of the layer")
    # Sphinx keeps words in its search index that no page has any more
    assert differing(edited.build("-W").files(), fresh.build("-W").files()) in ([], ["searchindex.js"])


def test_zips_do_not_change_with_the_clock(new_site) -> None:
    first, second = new_site("a"), new_site("b")
    for path in second.examples.iterdir():
        os.utime(path, (1_000_000_000, 1_000_000_000))
    zips = first.build().files(".zip")
    assert len(zips) == 4
    assert differing(zips, second.build().files(".zip")) == []
    [page] = [name for name in zips if name.endswith("/one.zip")]
    with zipfile.ZipFile(first.root / "_build/html" / page) as archive:
        assert {info.filename.rpartition("/")[2] for info in archive.infolist()} == {"one.py", "one.ipynb"}
        assert archive.testzip() is None


# --- which pages are read again -----------------------------------------------------------------------------


def test_an_unchanged_build_reads_nothing(site) -> None:
    assert site.build().read == ["gallery/index", "gallery/one", "gallery/two", "index", "plain", "read"]
    assert site.build("-W").read == []


def test_a_word_of_prose_in_an_example_rebuilds_its_page_with_its_outputs(site) -> None:
    site.build()
    site.edit("examples/one.py", "Prose about the start", "Other words about the start")
    built = site.build_clean()
    assert built.warnings == []
    assert built.read == ["gallery/index", "gallery/one"]  # the zip of all examples is on the index
    assert "Other words about the start" in built.text("gallery/one")
    assert "size 64" in built.text("gallery/one")
    assert "written by one" in built.text("gallery/one")
    assert "Not recorded" not in built.text("gallery/one")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SIZE = 64\n", "SIZE = 64  # a comment\n\n"),
        ('print("written by", "one")', "print('written by',\n      'one')"),
    ],
)
def test_a_comment_or_other_quotes_keep_the_outputs(site, old: str, new: str) -> None:
    site.edit("examples/one.py", old, new)
    built = site.build_clean()
    assert "size 64" in built.text("gallery/one")


def test_only_pages_that_show_a_changed_recording_are_read_again(site) -> None:
    site.build()
    trace = site.recordings / "test-gpu-9000/two/geglu_eager.json.gz"
    whole = trace.read_bytes()
    before = site.build().html("read")
    shutil.copyfile(site.recordings / "test-gpu-9000/one/linear_eager.json.gz", trace)
    changed = site.build("-W")
    assert changed.read == ["gallery/index", "gallery/two", "read"]  # the index has the thumbnail
    assert changed.html("read") != before
    trace.write_bytes(whole)
    os.utime(trace, (1_000_000_000, 1_000_000_000))  # as old as a checkout may be
    back = site.build("-W")
    assert back.read == ["gallery/index", "gallery/two", "read"]
    assert back.html("read") == before


def test_a_recording_with_a_new_time_but_the_same_content_is_not_read_again(site) -> None:
    site.build()
    for path in site.recordings.rglob("*"):
        os.utime(path)
    assert site.build().read == []


def test_numbers_follow_the_machine_with_no_edit_to_prose(site) -> None:
    """Another machine's recording changes the numbers on a page."""
    other = site.recordings / "other-gpu"
    shutil.copytree(site.recordings / "test-gpu-9000", other)
    data = json.loads((other / "machine.json").read_text())
    data["machine"]["gpu"] = "Other GPU"
    (other / "machine.json").write_text(json.dumps(data))
    shutil.copyfile(other / "two/geglu_eager.json.gz", other / "one/linear_eager.json.gz")
    first = site.build("-W")
    assert "on Test GPU 9000" in first.text("read")
    second = site.build_clean("-D", "kinetoscope_machine=other-gpu")
    assert set(second.read) == {"gallery/index", *PAGES}
    assert "on Other GPU" in second.text("read")
    assert "Recorded on Other GPU" in second.text("read")
    assert first.text("read") != second.text("read").replace("Other GPU", "Test GPU 9000")
    third = site.build("-W")
    assert set(third.read) == {"gallery/index", *PAGES}


def test_a_page_with_an_unknown_name_is_read_again_when_the_name_is_recorded(site) -> None:
    site.write("docs/plain.md", "# Plain\n\n{measured}`count(later.kernels)`\n")
    assert len(site.build().warnings) == 1
    shutil.copyfile(
        site.recordings / "test-gpu-9000/one/linear_eager.json.gz",
        site.recordings / "test-gpu-9000/one/later.json.gz",
    )
    built = site.build_clean()
    assert "not measured here" not in built.text("plain")


def test_a_page_that_lists_machines_is_read_again_when_one_is_added(site) -> None:
    site.write("docs/plain.md", "# Machines\n\n```{machines}\n```\n")
    # without the control, which would change the other pages too
    without = ("-W", "-D", "kinetoscope_switch=")
    first = site.build(*without)
    assert "Test GPU 9000" in first.text("plain")
    assert "Recorded on Test GPU 9000," not in first.text("plain")
    shutil.copytree(site.recordings / "test-gpu-9000", site.recordings / "second")
    assert site.build(*without).read == ["plain"]


def test_md5_files_of_builds_that_executed_do_not_keep_a_page(site) -> None:
    """Sphinx-Gallery keeps a page, even a wrong one, if the md5 file beside it matches the script."""
    site.build()
    gallery = site.docs / "gallery"
    page = (gallery / "one.rst").read_text()
    (gallery / "one.rst").write_text(page.replace("Prose about the start", "Traceback of yesterday"))
    (gallery / "one.py.md5").write_text(get_md5sum(gallery / "one.py", mode="t"))
    built = site.build_clean()
    assert "Traceback of yesterday" not in built.text("gallery/one")
    assert (gallery / "one.rst").read_text() == page


# --- what a page says about its recording -------------------------------------------------------------------


def test_every_page_that_shows_a_recording_says_whose(site) -> None:
    built = site.build("-W")
    for page in PAGES:
        assert built.text(page).count("Recorded on Test GPU 9000, torch 9.9.9+stand.in, ") == 1, page
    for page in ("index", "plain", "gallery/index"):
        assert "Recorded on" not in built.text(page)
    recorded = json.loads((site.recordings / "test-gpu-9000/one/example.json").read_text())
    assert f"The example ran for {recorded['run_time_s']:.0f} s." in built.text("gallery/one")


def test_the_page_of_an_example_without_recording_claims_none(site) -> None:
    shutil.rmtree(site.recordings / "test-gpu-9000/two")
    built = site.build()
    assert "has not been recorded on Test GPU 9000" in built.text("gallery/two")
    assert "Recorded on" not in built.text("gallery/two")


def test_an_example_that_wrote_only_a_trace_nobody_shows_still_has_a_banner(site) -> None:
    """A page depends on its recording even if none of its directives does."""
    with site.example_json() as content:
        for block in content["blocks"]:
            block["rst"] = ""
    built = site.build("-W")
    assert "Recorded on Test GPU 9000" in built.text("gallery/one")
    with site.example_json() as content:
        content["run_time_s"] = 77.0
    built = site.build("-W")
    assert "gallery/one" in built.read
    assert "The example ran for 77 s." in built.text("gallery/one")


# --- what is deleted ----------------------------------------------------------------------------------------


def test_a_deleted_example_leaves_nothing_behind(site) -> None:
    built = site.build("-W")
    everything = built.files()
    assert [name for name in everything if "two" in name]
    assert b"gallery/two" in everything["searchindex.js"]
    (site.examples / "two.py").unlink()
    site.write("docs/read.md", "# Read\n\n{measured}`count(linear_eager.kernels)`\n")
    built = site.build_clean()
    assert [name for name in built.files() if "two" in name] == []
    assert b"gallery/two" not in built.files()["searchindex.js"]
    assert b"Two layers" not in built.files()["searchindex.js"]
    generated = [path.name for path in (site.docs / "gallery").rglob("*")]
    assert [name for name in generated if "two" in name] == []
    assert [path for path in (built.outdir / "_downloads").iterdir() if not any(path.iterdir())] == []


def test_a_deleted_example_leaves_no_folder_in_dirhtml(site) -> None:
    assert (site.build("-W", builder="dirhtml").outdir / "gallery/two/index.html").is_file()
    (site.examples / "two.py").unlink()
    site.write("docs/read.md", "# Read\n\n{measured}`count(linear_eager.kernels)`\n")
    built = site.build_clean(builder="dirhtml")
    assert not (built.outdir / "gallery/two").exists()


def test_a_figure_that_is_gone_leaves_no_picture(site) -> None:
    figure = site.recordings / "test-gpu-9000/one/sphx_glr_one_002.png"
    site.build()
    figure.write_bytes((site.docs / "gallery/images/sphx_glr_one_001.png").read_bytes())
    path = figure.with_name("example.json")
    text = path.read_text()
    with site.example_json() as content:
        rst = "\n.. image:: /gallery/images/sphx_glr_one_002.png\n   :alt: a figure\n"
        content["blocks"][0]["rst"] += rst
    built = site.build_clean()
    assert (built.outdir / "_images/sphx_glr_one_002.png").is_file()
    path.write_text(text)
    figure.unlink()
    built = site.build("-W")
    assert not (built.outdir / "_images/sphx_glr_one_002.png").exists()


def test_a_page_cannot_show_traces_of_a_deleted_example(site) -> None:
    (site.examples / "two.py").unlink()
    built = site.build()
    assert len(built.warnings) == 1
    assert "geglu_eager" in built.warnings[0]


# --- code links ---------------------------------------------------------------------------------------------


def with_links(site) -> None:
    """Add a name in the example's code that links to torch's documentation."""
    lines = ["torch.nn.functional.linear py:function 1 generated/x.html -"]
    inventory = HEAD.encode() + b"# The remainder of this file is compressed using zlib.\n"
    (site.root / "torch.inv").write_bytes(inventory + zlib.compress("\n".join([*lines, ""]).encode()))
    conf = (site.root / "conf.py").read_text()
    conf = conf.replace('"myst_parser"]', '"myst_parser", "sphinx.ext.intersphinx"]')
    conf += (
        f'intersphinx_mapping = {{"torch": ("https://torch.example/", {str(site.root / "torch.inv")!r})}}\n'
    )
    conf = conf.replace('"show_signature"', '"reference_url": {},\n    "show_signature"')
    (site.root / "conf.py").write_text(conf)
    linear = {"module": "torch.nn.functional", "module_short": "torch.nn.functional", "name": "linear"}
    with site.example_json() as content:
        content["code_objects"]["SIZE"] = [{**linear, "is_class": False, "is_explicit": False}]


def test_names_in_code_lead_to_torch_without_torch(site) -> None:
    with_links(site)
    built = site.build_clean()
    assert 'href="https://torch.example/generated/x.html' in built.html("gallery/one")


def test_names_of_changed_code_lead_nowhere(site) -> None:
    """The names were resolved in the old code."""
    with_links(site)
    site.edit("examples/one.py", "SIZE = 64", "SIZE = 65")
    assert "torch.example" not in site.build().html("gallery/one")


def test_a_build_with_nothing_stale_says_so(site) -> None:
    built = site.with_gpu("Test GPU 9000").build_clean(mode="auto")
    assert "nothing to record on Test GPU 9000: every example is up to date" in built.out
    assert "recorded 0 of 0" not in built.out
