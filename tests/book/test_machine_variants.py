"""Pages for several machines: they contain the numbers of each, and show one at a time."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Callable
from html.parser import HTMLParser

import pytest

OWN, OTHER = "test-gpu-9000", "other-gpu-1"

PAGE = """\
# Read {measured}`count(linear_eager.kernels)` kernel, {measured}`time(linear_eager.kernels)`

It takes {measured}`time(linear_eager.kernels)` on {measured}`machine.gpu`,
in {measured}`count(linear_eager.kernels)` kernel, and two layers {measured}`time(geglu_eager.kernels)`.

```{timeline} linear_eager
:highlight: aten::t
The caption says {measured}`time(linear_eager.kernels)`.
```

```{profiler-table} linear_eager
:by: kernel
```

```{profiler-table} linear_eager
:by: kernel
:machine: test-gpu-9000
:caption: Always the same machine
```

```{dispatch-chain} linear_eager
```

```{recorded-table} sweep
```

```{kernel-name} linear_eager
```

```{trace-compare} linear_eager linear_eager
What changed is {measured}`time(linear_eager.kernels)`.
```

```{claim} quick
:expect: time(linear_eager.kernels) < us(5)
:value: time(linear_eager.kernels)
It is quick, with {measured}`time(linear_eager.kernels)`.
```

```{claim} one-kernel
:expect: count(linear_eager.kernels) == 1
It is one kernel.
```

```{reported} said
:by: WIKI
:holds: count(geglu_eager.kernels) == 5
Two layers are five.
```

````{ladder}
The ladder.

```{rung} linear_eager geglu_eager
:doc: plain
A step, and another.
```
````

```{guess}
:right: time(linear_eager.kernels) < us(5)
Is it quick?

- yes
- no

So it is.
```

````{when} machine.gpu_arch == "sm_90"
## About ninety

Only ninety, {measured}`time(linear_eager.kernels)`.

```{timeline} linear_eager
```
````

````{when} machine.gpu_arch == "sm_80"
## About eighty

Only eighty, {measured}`time(linear_eager.kernels)`, see {doc}`plain`.

```{claim} only-eighty
:expect: count(linear_eager.kernels) == 7
Eighty has seven.
```
````

````{when} machine.sms > 0
## Both of them

Whatever it is.
````
"""

NUMBER = r'<span class="ks-measured" title="time\(linear_eager.kernels\)"[^>]*>([\d.]+ µs)</span>'


class Parts(HTMLParser):
    """What a reader sees who chose the machine with this number, or with -1, one without JavaScript."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.hidden: list[str] = []
        self.boxes: list[tuple[str, bool]] = []
        self.text = ""
        self.ids: list[str] = []

    @classmethod
    def of(cls, html: str, number: int) -> Parts:
        parser = cls(number)
        parser.feed(html)
        return parser

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        classes = (given.get("class") or "").split()
        shown = tag != "template" if self.number < 0 else f"ks-on-{self.number}" in classes
        if tag in ("template", "span", "div", "section"):
            of_machines = tag == "template" or "ks-for" in classes
            self.boxes.append((tag, of_machines and not shown))
        if given.get("id") and not self.is_hidden:
            self.ids.append(given["id"] or "")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("template", "span", "div", "section"):
            assert self.boxes.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if not self.is_hidden:
            self.text += data

    @property
    def is_hidden(self) -> bool:
        return any(hidden for _, hidden in self.boxes)


def text_on(html: str, number: int) -> str:
    return " ".join(Parts.of(html, number).text.split())


def add_other(site):
    """Add a second machine to the book: slower, older, and without ``two.py``."""
    write_other(site)
    site.write("docs/read.md", PAGE)
    return site.with_sources()


@pytest.fixture
def two(site):
    return add_other(site)


@pytest.fixture(scope="module")
def built(build_once: Callable):
    """The book with two machines, built once for tests that only read it."""
    return build_once("two-machines", lambda site: add_other(site).build_clean())


def write_other(site, name: str = OTHER, gpu: str = "Other GPU 1", times: float = 3) -> None:
    folder = site.recordings / name
    shutil.copytree(site.recordings / OWN, folder)
    shutil.rmtree(folder / "two")
    for path in (folder / "machine.json", folder / "one/example.json"):
        recorded = json.loads(path.read_text(encoding="utf-8"))
        machine = recorded.get("provenance", recorded)["machine"]
        machine.update(gpu=gpu, gpu_arch="sm_80", sms=108)
        for block in recorded.get("blocks", ()):
            block["rst"] = block["rst"].replace("written by one", "written by the other")
        path.write_text(json.dumps(recorded), encoding="utf-8")
    path = folder / "one/linear_eager.json.gz"
    trace = json.loads(gzip.decompress(path.read_bytes()))
    for event in trace["traceEvents"]:
        if event.get("cat") == "kernel":
            event["dur"] *= times
    path.write_bytes(gzip.compress(json.dumps(trace).encode(), mtime=0))


def test_a_page_has_the_numbers_of_each_machine(built) -> None:
    html = built.html("read")
    for number, (gpu, time, other) in enumerate(
        [("Test GPU 9000", "2.72 µs", "8.16 µs"), ("Other GPU 1", "8.16 µs", "2.72 µs")]
    ):
        text = text_on(html, number)
        assert f"Recorded on {gpu}, " in text
        assert f"It takes {time} on {gpu}, in 1 kernel" in text
        assert f"The caption says {time}." in text
        assert f"What changed is {time}." in text
        assert f"It is quick, with {time}." in text
        assert f"linear_eager1 kernel, {time} on the GPU" in text
        assert f"The recording says: {'no' if number else 'yes'}" in text
        # the table of contents repeats the headings, always with the numbers of the first machine
        assert other not in text[: text.index("Table of Contents")][text.index("Recorded on") :]
    mine, others = text_on(html, 0), text_on(html, 1)
    assert "two layers not measured here" in others and "not measured here" not in mine
    assert "holds here: 2.72 µs" in mine and "does not hold here: 8.16 µs" in others
    assert "– not measured here What was asked of the recording count(geglu_eager.kernels) == 5" in others
    assert "sweep cannot be shown here." in others and "cannot be shown" not in mine
    assert "geglu_eager cannot be shown here." in others
    assert "Only ninety, 2.72 µs" in mine and "Only ninety" not in others
    assert "Only eighty, 8.16 µs, see Plain." in others and "Only eighty" not in mine
    # without JavaScript the page is that of the first machine
    assert text_on(html, -1) == mine


def test_no_id_is_there_twice(built) -> None:
    html = built.html("read")
    for number in (0, 1):
        ids = Parts.of(html, number).ids
        assert len(ids) == len(set(ids))
    everywhere = re.findall(r'<figure [^>]*id="([^"]+)"', html)
    assert len(everywhere) == len(set(everywhere)) == 7


def test_what_all_machines_share_is_there_once(built) -> None:
    html = built.html("read")
    assert len(re.findall("It is one kernel.", html)) == 1
    assert len(re.findall("Whatever it is.", html)) == 1
    assert len(re.findall("Always the same machine", html)) == 2  # the caption, and the name of its box
    # the claim with the same verdict on both has a colored box; the other has a colored line
    assert 'class="ks-judged ks-claim ks-holds docutils container" id="one-kernel"' in html
    assert 'class="ks-judged ks-claim docutils container" id="quick"' in html


def test_titles_contents_and_search_have_one_machine(built) -> None:
    html = built.html("read")
    assert "<title>Read 1 kernel, 2.72 µs" in html
    index = built.html("index")
    assert (
        "Read 1 kernel, 2.72 µs" in text_on(index, -1) and "template" not in index and "ks-for" not in index
    )
    words = (built.outdir / "searchindex.js").read_text(encoding="utf-8")
    assert "ninety" in words or "nineti" in words
    assert "eighti" not in words and "eighty" not in words
    # no table of contents lists a section of the other machine
    contents = re.findall(r'<li><a class="reference internal" href="#[^"]*">(.*?)</a>', html)
    assert [re.sub("<.*?>", "", entry) for entry in contents if "About" in entry or "Both" in entry] == [
        "About ninety",
        "Both of them",
    ]


def test_verdicts_are_for_the_first_machine_and_list_the_others(built) -> None:
    verdicts = {item["id"]: item for item in json.loads((built.outdir / "claims.json").read_text("utf-8"))}
    assert set(verdicts) == {"quick", "one-kernel", "said"}
    assert {item["machine"] for item in verdicts.values()} == {OWN}
    assert verdicts["quick"]["verdict"] == "holds"
    assert verdicts["quick"]["elsewhere"] == {
        OTHER: {"verdict": "fails", "expression": "time(linear_eager.kernels) < us(5)", "value": "8.16 µs"}
    }
    assert verdicts["said"]["elsewhere"][OTHER]["verdict"] == "not measured"


def test_the_page_of_an_example_has_what_each_machine_printed(built) -> None:
    html = built.html("gallery/one")
    mine, others = text_on(html, 0), text_on(html, 1)
    assert "written by one" in mine and "written by the other" not in mine
    assert "written by the other" in others and "written by one" not in others
    assert html.count("size 64") == 1  # both printed the same
    missing = text_on(built.html("gallery/two"), 1)
    assert "This code has not been recorded on Other GPU 1." in missing and "Out:" not in missing


def test_a_figure_of_each_machine(two) -> None:
    """Both machines have figures with the same file names."""
    for machine in (OWN, OTHER):
        files = {
            "sphx_glr_one_001.png": two.PNG + machine.encode(),  # readers of a PNG ignore what follows it
            "sphx_glr_one_002.png": two.PNG,
            "sphx_glr_one_002.svg": (
                f'<svg viewBox="0 0 9 9"><g id="part"><text>drawn on {machine}</text></g></svg>'.encode()
            ),
        }
        for name, data in files.items():
            (two.recordings / machine / "one" / name).write_bytes(data)
        first, second = "/gallery/images/sphx_glr_one_001.png", "/gallery/images/sphx_glr_one_002.png"
        with two.example_json(machine=machine) as content:
            content["files"] += files
            content["blocks"][-1]["rst"] += (
                f"\n\n.. image-sg:: {first}\n   :alt: drawn\n   :srcset: {first}\n\n"
                f"\n\n.. image-sg:: {second}\n   :alt: it\n\n"
            )
    built = two.build_clean()
    images = re.findall(r'<img src="\.\./(_images/[^"]+)"[^>]*alt="drawn"', built.html("gallery/one"))
    drawn = [(built.outdir / image).read_bytes().removeprefix(two.PNG).decode() for image in images]
    assert drawn == [OWN, OTHER]
    for number, (mine, others) in enumerate([(OWN, OTHER), (OTHER, OWN)]):
        page = Parts.of(built.html("gallery/one"), number)
        assert f"drawn on {mine}" in page.text and f"drawn on {others}" not in page.text
    assert len(re.findall('id="([^"]*-part)"', built.html("gallery/one"))) == 2
    assert len(set(re.findall('id="([^"]*-part)"', built.html("gallery/one")))) == 2


def test_the_control_that_chooses_a_machine(built, parse_html: Callable) -> None:
    page = parse_html(built.html("read"))
    buttons = [
        given for tag, given in page.tags if {"type": "radio"}.items() <= given.items() and "value" in given
    ]
    assert [("checked" in given, given["value"]) for given in buttons] == [(True, "0"), (False, "1")]
    labels = r"<legend>Numbers from</legend> <label>.*> Test GPU 9000</label><label>.*> Other GPU 1<"
    assert re.search(labels, built.html("read"))
    scripts = [given for tag, given in page.tags if "machines.js" in (given.get("src") or "")]
    assert [json.loads(given["data-machines"]) for given in scripts] == [[OWN, OTHER]]
    assert all("defer" not in given and "async" not in given for given in scripts)
    plain = built.html("plain")
    assert "machines.js" not in plain and "ks-switch" not in plain


def test_a_page_that_names_its_machine_has_no_switch(two) -> None:
    two.write("docs/read.md", f"# Read\n\n```{{timeline}} linear_eager\n:machine: {OTHER}\n```\n")
    html = two.build("-W").html("read")
    assert "ks-switch" not in html and "template" not in html
    assert "Recorded on Other GPU 1, " in html


@pytest.mark.parametrize("option", ["kinetoscope_switch=", f"kinetoscope_switch={OWN}"])
def test_a_page_for_one_machine_is_the_same_as_without_other_recordings(two, option: str) -> None:
    asked = two.build("-W", "-D", option, out="asked")
    shutil.rmtree(two.recordings / OTHER)
    alone = two.build("-W", out="alone")
    assert alone.status == asked.status == 0, alone.err + asked.err
    # no page of this book is a list of all machines, which would differ
    assert asked.files(".html", ".js", ".json") == alone.files(".html", ".js", ".json")
    assert not [
        name for name, page in alone.files(".html").items() if b"ks-for" in page or b"<template" in page
    ]


def test_three_of_which_two_are_offered(two) -> None:
    write_other(two, "third-gpu", "Test GPU 9000", times=5)
    two.edit("docs/read.md", 'machine.gpu_arch == "sm_80"', "machine.sms == 108")
    all_three = two.build_clean()
    html = all_three.html("read")
    assert [text_on(html, number).count("It takes 13.6 µs") for number in range(3)] == [0, 0, 1]
    # a section for two of the three
    assert "Only eighty, 8.16 µs" in text_on(html, 1) and "Only eighty, 13.6 µs" in text_on(html, 2)
    # machines with the same GPU also show their names
    assert "> Test GPU 9000 (third-gpu)</label>" in html and f"> Test GPU 9000 ({OWN})</label>" in html
    chosen = two.build("-W", "-D", "kinetoscope_switch=third-gpu").html("read")
    assert "13.6 µs" in chosen and "8.16 µs" not in chosen


def test_an_unknown_machine_ends_the_build(two) -> None:
    built = two.build("-D", "kinetoscope_switch=nobody")
    assert built.status == 2 and not built.traceback
    assert "kinetoscope_switch names nobody, of which there is no recording; there are: " in built.err


def test_another_recording_is_another_page(two) -> None:
    assert two.build("-W").status == 0
    assert two.build("-W").read == []
    shutil.rmtree(two.recordings / OTHER)
    write_other(two, times=4)
    again = two.build_clean()
    assert again.read == ["gallery/one", "read"]
    assert "It takes 10.9 µs" in text_on(again.html("read"), 1)
    # pages that offer the choice are read again when a machine is added or removed
    shutil.rmtree(two.recordings / OTHER)
    gone = two.build("-W")
    assert gone.read == ["gallery/one", "gallery/two", "read"]
    assert "ks-switch" not in gone.html("read")
    write_other(two)
    assert two.build("-W").read == ["gallery/one", "gallery/two", "read"]


def test_several_processes_give_the_same(two) -> None:
    for number in range(6):
        two.write(f"docs/more{number}.md", f"# More {number}\n\n{{measured}}`time(linear_eager.kernels)`\n")
    two.edit("docs/index.md", "read\n", "read\n" + "".join(f"more{number}\n" for number in range(6)))
    one, several = two.build("-W", out="one"), two.build("-W", "-j", "2", out="several")
    assert several.status == 0, several.err
    assert one.files(".html", ".json") == several.files(".html", ".json")


@pytest.mark.parametrize("builder", ["text", "epub"])
def test_other_builders_have_one_machine(two, builder: str) -> None:
    built = two.build("-W" if builder != "epub" else "-q", builder=builder)
    assert built.status == 0, built.err
    written = [path for path in built.outdir.rglob("*") if path.suffix in (".txt", ".xhtml")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in written)
    assert "2.72 µs" in text
    assert "8.16 µs" not in text and "eighty" not in text and "<template" not in text


def test_a_fault_is_reported_once_for_all_machines(two) -> None:
    two.write(
        "docs/read.md",
        "# Read\n\n```{timeline} linear_eager\nA {nobody}`role`.\n```\n\n"
        "```{profiler-table} linear_eager\n:columns: nobody\n```\n\n{measured}`count(nobody.kernels)`\n",
    )
    built = two.build()
    assert len(built.warnings) == 3, built.err


def test_references_in_a_caption_lead_somewhere_on_each_machine(two) -> None:
    (two.docs / "read.md").unlink()
    two.write(
        "docs/read.rst",
        "Read\n====\n\n.. timeline:: linear_eager\n\n   See there_ and [#note]_.\n\n"
        ".. _there: https://example.org\n\n.. [#note] A note.\n",
    )
    built = two.build_clean()
    html = built.html("read")
    assert html.count('href="https://example.org"') == html.count('href="#note"') == 2
    assert html.count('id="id1"') == 1
