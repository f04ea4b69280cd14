"""The real book, built from its committed recordings: pages, links, prose, and whose numbers it shows."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from altered import in_us

import kinetoscope

ROOT = Path(__file__).parents[2]
RECORDINGS = ROOT / "docs" / "recordings"
TRACES = sorted(RECORDINGS.rglob("*.json.gz"))
CHAPTERS = sorted(path.stem for path in (ROOT / "docs" / "read").glob("*.md") if path.stem != "index")

# The CPU time that a build may take, in units of `unit_of_work`: 30 s where a unit takes 0.14 s. Machines
# differ in speed and a busy one is slower, but both times grow together.
CPU_UNITS = 220
# Bytes. A reader on a train would not wait for more.
HEAVIEST_PAGE = 4_000_000


def unit_of_work() -> float:
    """Return the CPU seconds that five million additions take here: the median of three tries."""
    tries = []
    for _ in range(3):
        begin, total = time.process_time(), 0
        for number in range(5_000_000):
            total += number
        tries.append(time.process_time() - begin)
    return sorted(tries)[1]


def test_is_built_without_a_warning_and_without_torch(built, say) -> None:
    limit = CPU_UNITS * unit_of_work()
    say(f"built in {built.seconds:.1f} s, {built.cpu_seconds:.1f} s of CPU time (limit {limit:.1f} s)")
    assert built.status == 0, built.err[-4000:]
    assert built.err == ""
    assert "build succeeded." in built.out
    assert built.cpu_seconds < limit


def test_torch_could_not_have_been_imported(own_tree, built) -> None:
    """The same build fails if conf.py imports torch."""
    conf = own_tree / "conf.py"
    conf.write_text("import torch\n" + conf.read_text(encoding="utf-8"), encoding="utf-8")
    other = replace(built, tree=own_tree).again("html")
    assert other.status != 0
    assert "torch was imported by a build that only lays out" in other.err


def test_every_page_is_there(website) -> None:
    wanted = {"index", "read/index", "gallery/index", "lookup/machines", "use/one-script", "use/rebuild"}
    assert {"reading-a-trace", "linear", "views-and-strides", "simple-mlp", "fused-kernels"} <= set(CHAPTERS)
    wanted |= {f"read/{name}" for name in CHAPTERS}
    wanted |= {f"gallery/{name}" for name in website.examples}
    assert wanted <= set(website.names())


# --- pages make no request to other sites -------------------------------------------------------------------

ELSEWHERE = re.compile(r"^\s*(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
# An import or a URL in a style sheet.
IN_CSS = re.compile(r"""@import\s+(?:url\()?\s*["']?([^"')\s;]+)|url\(\s*("[^"]*"|'[^']*'|[^)]*?)\s*\)""")
# A URL in a script. Names of XML vocabularies look like URLs, but nothing fetches them.
IN_JS = re.compile(r"""["'`]((?:https?:|wss?:)?//[\w.-]+\.[a-z]{2,}[^"'`\s]*)""")
VOCABULARY = re.compile(r"https?://www\.w3\.org/")


def from_elsewhere(addresses) -> list[str]:
    return [address for address in addresses if ELSEWHERE.match(address) and not VOCABULARY.match(address)]


def in_css(text: str) -> list[str]:
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return [(first or second).strip("\"' ") for first, second in IN_CSS.findall(text)]


def in_svg(text: str) -> list[str]:
    return IN_JS.findall(re.sub(r"""\bxmlns(?::\w+)?=("[^"]*"|'[^']*')""", "", text))


def in_js(text: str) -> list[str]:
    return IN_JS.findall(re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))


def test_no_page_fetches_from_elsewhere(website) -> None:
    elsewhere = {}
    for name in website.names():
        page = website.page(name)
        scripts = re.findall(r"<script\b[^>]*>(.*?)</script>", page.html, re.DOTALL)
        wanted = [*page.fetched, *in_css("\n".join(page.styles)), *in_js("\n".join(scripts))]
        assert len(page.fetched) > 5, f"{name} seems to fetch only {page.fetched}"
        if outside := from_elsewhere(wanted):
            elsewhere[name] = outside
    assert elsewhere == {}


@pytest.mark.parametrize(("suffix", "addresses"), [("css", in_css), ("js", in_js), ("svg", in_svg)])
def test_no_asset_fetches_from_elsewhere(website, suffix, addresses) -> None:
    paths = sorted(website.html.rglob(f"*.{suffix}"))
    assert len(paths) > 1
    elsewhere = {path.name: from_elsewhere(addresses(path.read_text("utf-8"))) for path in paths}
    if suffix == "js":
        # Opened only when a reader asks for it (tests/browser/test_perfetto.py).
        assert elsewhere.pop("kinetoscope-timeline.js") == ["https://ui.perfetto.dev"]
    assert {name: urls for name, urls in elsewhere.items() if urls} == {}


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ('@import "https://fonts.example.org/a.css";', in_css),
        ("@import url(//fonts.example.org/a.css);", in_css),
        ("a { background: URL(x.png) } @font-face { src: url( 'https://example.org/a.woff2' ) }", in_css),
        ('fetch("https://example.org/x.json")', in_js),
        ("import('//cdn.example.org/x.js')", in_js),
    ],
)
def test_addresses_elsewhere_are_found(text, addresses) -> None:
    assert len(from_elsewhere(addresses(text))) == 1


# --- links --------------------------------------------------------------------------------------------------


def test_every_link_and_every_asset_is_there(website) -> None:
    pages = {website.html.resolve() / f"{name}.html": website.page(name) for name in website.names()}
    broken, seen = [], 0
    for name in website.names():
        page = website.page(name)
        for link in [*page.links, *page.fetched]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                assert parts.scheme in ("https", "mailto", "data"), f"{name} links to {link}"
                continue
            seen += 1
            target = website.target(page, link)
            if not target.is_file():
                broken.append(f"{name}: {link}: no such file")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                broken.append(f"{name}: {link}: no such place in that page")
    assert seen > 1000
    assert broken == []


def test_no_id_is_given_twice(website) -> None:
    twice = {}
    for name in website.names():
        ids = [given["id"] for _, given in website.page(name).tags if given.get("id")]
        if repeated := sorted(
            {ident for ident in ids if ids.count(ident) > 1} - {"__primary", "__secondary"}
        ):
            twice[name] = repeated
    assert twice == {}


def test_every_picture_has_an_alternative_text(website) -> None:
    """It may be empty in the gallery's index, where it would repeat the title beside the picture."""
    for name in website.names():
        for tag, given in website.page(name).tags:
            if tag == "img":
                assert "alt" in given, f"{name}: {given.get('src')}"
                assert given["alt"] or name == "gallery/index", f"{name}: {given.get('src')}"


# --- whose numbers these are --------------------------------------------------------------------------------


def sentences(provenance: dict) -> list[str]:
    """Return what a banner must say about a machine."""
    year, month, day = provenance["recorded"].split("-")
    months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
    return [
        f"Recorded on {provenance['machine']['gpu']},",
        f"driver {provenance['machine']['driver']},",
        f"torch {provenance['libraries']['torch']},",
        f"on {int(day)} {months[int(month) - 1]} {year}.",
    ]


def banner(page) -> str:
    """Return the text of a page's only banner."""
    [html] = re.findall(r'<div class="ks-banner[^>]*>(.*?)</div>', page.html, re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_says_whose_numbers_it_shows(website, name: str) -> None:
    said = banner(website.page(f"read/{name}"))
    for part in sentences(website.provenance()):
        assert part in said


def test_an_example_says_where_it_ran(website) -> None:
    for name in website.examples:
        said = banner(website.page(f"gallery/{name}"))
        for part in sentences(website.provenance(name)):
            assert part in said, name
        assert re.search(r"The example ran for \d+ s\.", said), name


def test_pages_without_numbers_have_no_banner(website) -> None:
    for name in ("read/index", "gallery/index", "use/index", "reference/index"):
        assert "ks-banner" not in website.page(name).html, name


def test_linear_shows_another_machines_numbers_without_an_edit(website, own_tree) -> None:
    """In a copy of the recording, kernels take twice as long, on a GPU of another name."""
    elsewhere = own_tree / "docs" / "elsewhere"
    folder = elsewhere / "slow-gpu-9000"
    shutil.copytree(own_tree / "docs" / "recordings" / "nvidia-h200", folder)
    for path in folder.rglob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert text.count("NVIDIA H200") > 0
        path.write_text(text.replace("NVIDIA H200", "Slow GPU 9000"), encoding="utf-8")
    for path in folder.rglob("*.json.gz"):
        path.write_bytes(gzip.compress(with_slower_kernels(gzip.decompress(path.read_bytes()))))
    # the benchmark of trace readers does not depend on the GPU
    shutil.copytree(own_tree / "docs" / "recordings" / "bench", elsewhere / "bench")
    shutil.rmtree(own_tree / "docs" / "recordings")

    options = ["-D", "kinetoscope_recordings=elsewhere", "-D", "kinetoscope_machine=slow-gpu-9000"]
    other = replace(website, tree=own_tree).again("html", *options)
    assert other.status == 0, other.err[-2000:]
    # our claims may fail there, but every expression must have a value
    assert set(re.findall(r"\[(kinetoscope\.\w+)\]", other.err)) <= {"kinetoscope.claim"}, other.err
    here, there = website.page("read/linear"), other.page("read/linear")

    assert "Recorded on Slow GPU 9000," in banner(there)
    assert "Slow GPU 9000" in other.page("index").text
    assert "NVIDIA H200" not in there.text + other.page("index").text
    assert [expression for expression, _ in here.measured()] == [name for name, _ in there.measured()]
    before, after = dict(here.measured()), dict(there.measured())
    doubled = [expression for expression in before if re.fullmatch(r"time\(\w+\.kernels\)", expression)]
    assert len(doubled) >= 4
    for expression in doubled:
        assert in_us(after[expression]) == pytest.approx(2 * in_us(before[expression]), rel=0.01), expression
    for expression in before:
        if re.match(r"(count|names|same_names)\(", expression):
            assert after[expression] == before[expression]
    assert figures(there) != figures(here)
    assert words(there) == words(here)


def with_slower_kernels(trace: bytes) -> bytes:
    document = json.loads(trace.replace(b"NVIDIA H200", b"Slow GPU 9000"), parse_float=Decimal)
    for event in document["traceEvents"]:
        if event.get("cat") == "kernel":
            event["dur"] *= 2
    return json.dumps(document, default=float).encode()


def figures(page) -> list[str]:
    return re.findall(r"<figure.*?</figure>", page.html, re.DOTALL)


def words(page) -> str:
    """Return the text that the page has for every machine."""
    html = page.html
    for measured in (
        "<figure.*?</figure>",
        "<table.*?</table>",
        '<span class="ks-measured".*?</span>',
        '<div class="ks-banner.*?</div>',
        '<p class="ks-verdict".*?</p>',
        '<details class="ks-how".*?</details>',
    ):
        html = re.sub(measured, "", html, flags=re.DOTALL)
    return re.sub(r"<[^>]+>", "", html)


# --- what is on the pages -----------------------------------------------------------------------------------


def asked_for(path: Path, directive: str) -> int:
    """Count how often a page of the book uses a directive."""
    return len(re.findall(rf"^[`:~]{{3,}}\{{{directive}\}}", without_quotes(path), re.MULTILINE))


def without_quotes(path: Path) -> str:
    """Return a page without the blocks that show how to write something."""
    text = path.read_text(encoding="utf-8")
    return re.sub(r"^(````+)\w+\n.*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", ["index", *(f"read/{name}" for name in CHAPTERS), "reference/directives"])
def test_every_timeline_and_table_is_drawn(website, name: str) -> None:
    source, page = ROOT / "docs" / f"{name}.md", website.page(name)
    timelines = asked_for(source, "timeline")
    tables = asked_for(source, "profiler-table") + asked_for(source, "recorded-table")
    text = without_quotes(source)
    measured = len(re.findall(r"\{measured\}`", text))
    # a condition on the recording may leave these out
    conditional = sum(
        block.count("{measured}`") for block in re.findall(r"^```\{when\}.*?^```$", text, re.M | re.S)
    )
    strips = len(page.by_class("ks-strip", "svg"))
    # each strip of a ladder has two numbers above it
    measured += 2 * strips
    assert timelines + strips > 0
    assert len(page.by_class("ks-rung", "li")) == asked_for(source, "rung")
    drawn = len(page.by_class("ks-timeline", "figure"))
    # a comparison draws two
    assert timelines <= drawn <= timelines + 2 * asked_for(source, "trace-compare")
    assert len(page.by_class("ks-table")) >= tables
    assert measured - conditional <= len(page.measured()) <= measured
    assert "ks-unmeasured" not in page.html


def test_a_gallery_page_shows_every_trace_of_its_example(website) -> None:
    for name in website.examples:
        page = website.page(f"gallery/{name}")
        drawn = " ".join(given["id"] for given in page.by_class("ks-timeline", "figure"))
        for trace in (website.recordings / "nvidia-h200" / name).glob("*.json.gz"):
            assert f"ks-timeline-{trace.name.removesuffix('.json.gz')}-" in drawn, f"{name}: {trace.name}"
        assert page.by_class("ks-table"), name
        assert page.by_class("sphx-glr-script-out"), f"{name} printed nothing"


@pytest.mark.parametrize(
    ("name", "targets"),
    [
        ("01_matmul_add", ["torch.matmul.html", "torch.add.html", "torch.compile.html", "profiler.html"]),
        ("02_linear", ["torch.nn.Linear.html", "profiler.html"]),
        (
            "02_strides_and_views",
            ["tensors.html", "torch.compile.html", "torch.autograd.profiler.record_function.html"],
        ),
        ("03_simple_mlp", ["torch.nn.Linear.html", "torch.nn.functional.gelu.html"]),
        ("03_kernels_mlp", ["torch.nn.functional.gelu.html"]),
    ],
)
def test_names_in_code_lead_to_torchs_documentation(website, name: str, targets: list[str]) -> None:
    links = [urlsplit(link) for link in website.page(f"gallery/{name}").links]
    torchs = {link.path.rpartition("/")[2] for link in links if link.netloc == "docs.pytorch.org"}
    assert set(targets) <= torchs, sorted(torchs)


def test_our_own_kernel_leads_to_tritons_documentation(website) -> None:
    links = [urlsplit(link) for link in website.page("gallery/03_kernels_mlp").links]
    assert "triton.language.load" in {link.fragment for link in links if link.netloc == "triton-lang.org"}


def test_the_gallery_is_in_the_order_of_conf_py(website) -> None:
    page = website.page("gallery/index")
    article = page.html[page.html.index("<article") : page.html.index("</article>")]
    order = re.findall(r'<div class="sphx-glr-thumbcontainer".*?href="([\w/]+)\.html"', article, re.DOTALL)
    assert order == website.examples
    assert len(page.by_class("sphx-glr-thumbcontainer")) == len(website.examples)
    # the link at the foot of each page leads to the next one
    for name, follows in zip(website.examples, website.examples[1:], strict=False):
        forward = [given["href"] for given in website.page(f"gallery/{name}").by_class("right-next", "a")]
        assert forward == [f"{follows}.html"]


def test_how_heavy_the_pages_are(website, say) -> None:
    weights = {name: weight(website, name) for name in website.names()}
    heaviest = max(weights, key=weights.__getitem__)
    html = (website.html / f"{heaviest}.html").stat().st_size
    said = f"{weights[heaviest] / 1e3:.0f} kB with all its assets, {html / 1e3:.0f} kB without"
    say(f"largest page: {heaviest}, {said}")
    say(f"the landing page: {weights['index'] / 1e3:.0f} kB with all its assets")
    assert weights[heaviest] < HEAVIEST_PAGE


def weight(site, name: str) -> int:
    """Return the uncompressed bytes of a page and of everything that it fetches, directly or not."""
    page = site.page(name)
    todo = [site.target(page, link) for link in page.fetched if not urlsplit(link).scheme]
    done = {page.path.resolve()}
    while todo:
        path = todo.pop().resolve()
        if path in done or not path.is_file():
            continue
        done.add(path)
        if path.suffix == ".css":
            links = [link for link in in_css(path.read_text("utf-8")) if not link.startswith("data:")]
            todo += [path.parent / unquote(urlsplit(link).path) for link in links]
    return sum(path.stat().st_size for path in done)


# --- the prose ----------------------------------------------------------------------------------------------

MEASUREMENT = re.compile(
    r"\d\s?(?:[µμ]s|us|ms|ns|s|%|GB/s|TB/s|GiB/s|[GT]FLOPS?(?:/s)?)(?![\w/])"
    r"|\d\s?[×x](?!\s?\d)(?=\s|[.,;:)]|$)"
    r"|\d(?:\.\d+)? (?:micro|milli)?seconds\b"
    r"|\d (?:times|per ?cent)\b"
)
# These look like measurements, but are none.
DEFINITIONS = {"the range in which the middle 60 % of the repetitions lie"}

FENCED = r"^[ ]*([`~]{3,})([^\n]*)\n(.*?)^[ ]*\1[ \t]*$"


def prose(text: str) -> str:
    """Return a page's own words: no front matter, no code, nothing that is computed or quoted."""
    text = re.sub(r"\A---\n.*?^---\n", "", text, flags=re.DOTALL | re.MULTILINE)

    def kept(match: re.Match[str]) -> str:
        # the text of a directive is prose, a code block is not
        directive = match[2].strip()
        if not directive.startswith("{"):
            return ""
        words = re.sub(r"^[ ]*:[\w-]+:.*\n?", "", match[3], flags=re.MULTILINE).lstrip("\n")
        # the first paragraph of a reported sentence quotes somebody else
        words = words.partition("\n\n")[2] if directive.startswith("{reported}") else words
        # a directive may contain others
        return f"{prose(words)}\n"

    def said(match: re.Match[str]) -> str:
        # computed and published numbers are not typed by us; the text of a link is
        return "CODE" if match[1] in (None, "{measured}", "{published}") else match[3]

    text = re.sub(FENCED, kept, text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"(\{[\w:-]+\})?(`+)((?:(?!\2).)+?)\2", said, text, flags=re.DOTALL)
    return " ".join(text.split())


def typed(text: str) -> list[str]:
    """Return each measurement in a text, with some words around it."""
    for definition in DEFINITIONS:
        text = text.replace(definition, "")
    return [text[max(0, match.start() - 40) : match.end() + 20] for match in MEASUREMENT.finditer(text)]


# Generated pages are no sources. tests/examples checks the prose of the examples.
MADE = {"_build", "gallery", "recordings"}
SOURCES = [path for path in sorted(ROOT.glob("docs/**/*.md")) if not MADE & set(path.relative_to(ROOT).parts)]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT / "docs").as_posix())
def test_no_measurement_is_typed(path: Path) -> None:
    words = prose(path.read_text(encoding="utf-8"))
    assert len(words) > 40
    assert typed(words) == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT / "docs").as_posix())
def test_a_measurement_planted_in_a_page_is_found(path: Path) -> None:
    """A measurement after any paragraph is noticed: no part of a page goes unchecked."""
    text = path.read_text(encoding="utf-8")
    head = re.match(r"---\n.*?^---\n", text, re.DOTALL | re.MULTILINE)
    begin = head.end() if head else 0
    # not inside a block of code or a directive
    blank = re.sub(FENCED, lambda match: "`" * len(match[0]), text, flags=re.DOTALL | re.MULTILINE)
    places = [match.start() for match in re.finditer(r"\n\n", blank) if match.start() >= begin]
    assert len(places) > 1
    for place in places:
        planted = f"{text[:place]}\n\nThat takes 37.3 µs.{text[place:]}"
        assert typed(prose(planted)), text[place : place + 80]


@pytest.mark.parametrize(
    "text",
    [
        "It takes 37.3 µs.",
        "It takes 37us, no more",
        "Eager is 1.88× as long",
        "is 2 × as fast",
        "of which 3 % is work",
        "at 4.1 TB/s, or 650 TFLOP/s",
        "ran for 12 ms, or 12 s.",
        "is 3 times as long",
        "takes 40 per cent of it",
        "see {doc}`what takes 3 ms <read/linear>`",
        "````{when} x\n```{claim} y\n:expect: z\nIt takes 3 ms.\n```\n````\n",
        ":::{admonition} So\n:class: tip\nIt takes 3 ms.\n:::\n",
        "```{timeline} x\nIt takes 3 ms\n```\n",
        "```{reported} x\n:by: A\nIt takes 3 ms.\n\nNo, it takes 4 ms.\n```\n",
    ],
)
def test_a_typed_measurement_is_found(text: str) -> None:
    assert typed(prose(text))


@pytest.mark.parametrize(
    "text",
    [
        "tensors of 8192 × 3072, 4096 in every direction",
        "{measured}`time(a.kernels) / 37.3` and `37.3 µs`, {published}`40 µs <HF1>`",
        "````{when} x\n```{claim} y\n:expect: z < 3 * us(4)\nIt is so.\n```\n````\n",
        "```console\n$ sleep 3 ms\n```\n",
        "```{timeline} x\n:zoom: 3 ms\n```\n",
        "```{reported} x\n:by: A\nIt takes 3 ms.\n```\n",
    ],
)
def test_other_numbers_are_accepted(text: str) -> None:
    assert typed(prose(text)) == []


# --- the recordings -----------------------------------------------------------------------------------------


def test_every_example_is_recorded_and_its_code_is_unchanged(built) -> None:
    stale = [line for line in built.err.splitlines() if "[kinetoscope.stale]" in line]
    assert stale == []
    for name in built.examples:
        assert (RECORDINGS / "nvidia-h200" / name / "example.json").is_file(), name
    assert {path.parent.name for path in TRACES} == set(built.examples)


# An absolute path. (Relative ones are fine: the profiler and torch name files of their own source.)
FOLDER = re.compile(r"(?<![\w.:/<>~*+-])/(?!/)(?:[\w.@+~-]+/)+[\w.@+~-]*|\b[A-Za-z]:\\\\?\w+")
# Environment variables, and names and addresses of machines. (An address has four numbers, a driver's version
# three.)
ENVIRONMENT = re.compile(
    r"\b(?:LD_LIBRARY_PATH|PYTHONPATH|HOSTNAME|HOME|SSH_\w+|AWS_\w+|HF_TOKEN|\w*_API_KEY|\w*SECRET\w*|LOGNAME)\b"
    r"|\b(?:ip-\d+-\d+-\d+-\d+|[\w-]+\.(?:internal|local|lan|compute|cluster)|\d{1,3}(?:\.\d{1,3}){3})\b"
)
# The only keys that a committed trace may have at its top.
KEYS = set(
    "schemaVersion deviceProperties record_shapes with_stack with_flops profile_memory cuda_driver_version"
    " cuda_runtime_version cupti_version displayTimeUnit baseTimeNanoseconds traceEvents".split()
)


def leaks(text: str) -> list[str]:
    """Return the parts of a text that say something about the machine or its user."""
    return [match.group() for pattern in (FOLDER, ENVIRONMENT) for match in pattern.finditer(text)]


def strings(value) -> list[str]:
    """Return all strings in a JSON value, keys included."""
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in (key, *strings(item))]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.removesuffix(".json.gz"))
def test_a_trace_says_nothing_about_who_made_it(path: Path) -> None:
    packed = path.read_bytes()
    assert packed[3:8] == bytes(5), "the gzip header holds a name or a time"
    document = json.loads(gzip.decompress(packed))
    assert set(document) <= KEYS
    assert [leak for text in strings(document) for leak in leaks(text)] == []
    assert kinetoscope.load(path).steps


@pytest.mark.parametrize("path", sorted(RECORDINGS.rglob("*.json")), ids=lambda path: path.parent.name)
def test_a_recording_says_nothing_about_who_made_it(path: Path) -> None:
    texts = strings(json.loads(path.read_text(encoding="utf-8")))
    # paths of pictures begin at the root of the book
    texts = [text.replace(" /gallery/images/", " ") for text in texts]
    assert [leak for text in texts for leak in leaks(text)] == []


def test_a_recorded_page_finds_its_pictures(built) -> None:
    """Paths of figures begin at the root of the book; scrubbing must not take them for absolute paths."""
    for name in built.examples:
        path = RECORDINGS / "nvidia-h200" / name / "example.json"
        for block in json.loads(path.read_text(encoding="utf-8"))["blocks"]:
            for picture in re.findall(r"^\.\. image(?:-sg)?:: (.+)$", block["rst"], re.MULTILINE):
                assert picture.startswith("/gallery/images/"), f"{name}: {picture}"
                assert (path.parent / picture.rpartition("/")[2]).is_file(), f"{name}: {picture}"


@pytest.mark.parametrize(
    "text",
    [
        "/usr/lib/python3.12/site-packages/torch/nn/linear.py(116): forward",
        "/opt/someone/x",
        "C:\\Users\\someone",
        "HOSTNAME=gpu-7",
        "ran on ip-10-0-3-77",
        "10.0.3.77",
        "node3.cluster",
    ],
)
def test_a_leak_is_found(text: str) -> None:
    assert leaks(text)


@pytest.mark.parametrize(
    "text",
    ["torch/nn/linear.py(116): forward", "void f<a, b>(int, float*)", "580.159.04", "n/a", "12.5 / 3 us"],
)
def test_other_text_is_accepted(text: str) -> None:
    assert leaks(text) == []
