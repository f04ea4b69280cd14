"""The files beside the pages that make timelines interactive, for every builder and after rebuilds."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from kinetoscope.draw.layout import DRAWN
from kinetoscope.draw.viewer_data import data_script
from kinetoscope.measure.compare import compare
from kinetoscope.trace import Kind, load

MACHINE = "test-gpu-9000"
FILES = {
    f"_kinetoscope/{MACHINE}/{name}{ending}"
    for name in ("linear_eager", "geglu_eager")
    for ending in (".js", ".raw.js", ".json.gz")
}


def beside(built) -> dict[str, bytes]:
    return {name: data for name, data in built.files().items() if name.startswith("_kinetoscope/")}


def tools(built, parse_html, page: str) -> list[dict[str, str]]:
    """Return the attributes of each toolbar on a page and of its download link."""
    tags = parse_html(built.html(page)).tags
    boxes = [i for i, (_, attrs) in enumerate(tags) if attrs.get("class") == "ks-tools"]
    assert all(tags[i + 1][0] == "a" for i in boxes)
    return [{**tags[i + 1][1], **tags[i][1]} for i in boxes]


@pytest.mark.parametrize(
    ("builder", "pages"),
    [
        ("html", ("read", "gallery/one")),
        ("dirhtml", ("read/index", "gallery/one/index")),
        ("singlehtml", ("index",)),
    ],
)
def test_the_whole_trace_is_beside_the_pages(
    site, laid_out, parse_html, builder: str, pages: tuple[str, ...]
) -> None:
    """The URLs on a page are right, wherever the builder put the page."""
    built = laid_out(builder)
    assert set(beside(built)) == FILES
    for page in pages:
        boxes = tools(built, parse_html, page)
        assert boxes
        styles = re.findall(r'href="[^"]*_static/(kinetoscope[\w-]*\.css)', built.html(page))
        assert styles == ["kinetoscope-figures.css", "kinetoscope.css"]
        assert all((built.outdir / "_static" / style).is_file() for style in styles)
        for box in boxes:
            name = box["data-trace"].removeprefix(f"{MACHINE}/")
            recorded = load_path(site, name)
            place = (built.outdir / f"{page}.html").parent
            data, raw, file = (
                (place / unquote(box[key])).resolve().read_bytes() for key in ("data-src", "data-raw", "href")
            )
            assert file == recorded.read_bytes()
            assert (
                raw.decode() == f'kinetoscope.raw("{MACHINE}/{name}", "{base64.b64encode(file).decode()}");\n'
            )
            assert data.decode() == data_script(load(recorded), machine=MACHINE, name=name)
            assert box["aria-label"] == f"Download trace {name}" and "download" in box


def load_path(site, name: str) -> Path:
    [path] = site.recordings.rglob(f"{name}.json.gz")
    return path


@pytest.mark.parametrize("builder", ["epub", "json"])
def test_only_sites_have_these_files(laid_out, builder: str) -> None:
    built = laid_out(builder)
    assert not beside(built)
    assert not [name for name, data in built.files().items() if b"ks-tools" in data and "_static" not in name]


def test_unchanged_files_are_not_written_again(site) -> None:
    built = site.build("-W")
    path = built.outdir / "_kinetoscope" / MACHINE / "linear_eager.js"
    other = path.with_name("geglu_eager.js")
    before, content = path.stat().st_mtime_ns, other.read_bytes()
    other.write_bytes(b"spoiled")
    site.edit("docs/plain.md", "Nothing is measured", "Nothing at all is measured")
    built = site.build("-W")
    assert built.read == ["plain"], "the pages that show traces are not read again"
    assert path.stat().st_mtime_ns == before
    assert other.read_bytes() == content


def test_files_that_no_page_shows_any_more_are_deleted(site) -> None:
    site.write("docs/plain.md", "# Plain\n\n```{timeline} geglu_eager\n```\n")
    site.build("-W")
    (site.examples / "two.py").unlink()
    site.write("docs/read.md", "# Read\n\nText.\n")
    built = site.build()
    left = {name for name in FILES if "linear" in name}
    assert set(beside(built)) == left, "example two and its trace are gone"
    (site.examples / "one.py").unlink()
    site.write("docs/plain.md", "# Plain\n\nText.\n")
    site.write("docs/index.md", "# Miniature\n\nText.\n\n```{toctree}\nread\nplain\n```\n")
    built = site.build()
    assert beside(built) == {}
    assert not (built.outdir / "_kinetoscope").exists()


def test_several_processes_give_the_same(site, new_site) -> None:
    for number in range(6):
        site.write(
            f"docs/more/{number}.md",
            f"---\norphan: true\n---\n# More {number}\n\n```{{timeline}} linear_eager\n```\n",
        )
    one = site.build("-W", "-j", "1", out="one")
    several = site.build_clean("-j", "2", out="several")
    assert beside(one) == beside(several) and set(beside(one)) == FILES
    assert one.html("more/3") == several.html("more/3")


@pytest.mark.parametrize(
    "directive", ["profiler-table", "dispatch-chain", "timeline"], ids=["table", "chain", "timeline"]
)
def test_everything_that_shows_a_trace_names_it(site, parse_html, directive: str) -> None:
    """Rows and lines name their events by index in that trace."""
    for stem in ("one", "two"):
        with site.example_json(stem) as content:
            for block in content["blocks"]:
                block["rst"] = ""
    site.write("docs/read.md", f"# Read\n\n```{{{directive}}} linear_eager\n```\n")
    built = site.build_clean()
    assert set(beside(built)) == {name for name in FILES if "linear_eager" in name}
    tags = parse_html(built.html("read")).tags
    whose = {attrs["data-trace"] for _, attrs in tags if "data-trace" in attrs}
    assert whose == {f"{MACHINE}/linear_eager"}
    trace = load(load_path(site, "linear_eager"))
    places = [attrs["data-events"] for _, attrs in tags if "data-events" in attrs]
    if directive == "dispatch-chain":
        lines = re.findall(
            r'<span class="ks-chain-line" data-events="(\d+)"[^>]*><code[^>]*>(.*?)</code>',
            built.html("read"),
        )
        names = {event.index: event.name for event in trace.events}
        assert lines and len(lines) == len(places)
        for index, name in lines:
            told = re.sub(r"<[^>]*>", "", name)
            assert told.replace("&lt;", "<").replace("…", "")[:8] in names[int(index)]
    if directive == "profiler-table":
        known = {event.index for event in trace.ops}
        told = [int(place) for text in places for place in text.split()]
        assert sorted(told) == sorted(set(told)) and set(told) <= known
        assert len(told) == sum(any(s.start <= e.start < s.event.end for s in trace.steps) for e in trace.ops)


def test_the_rows_of_a_comparison_name_the_events_of_both(site, parse_html) -> None:
    site.write("docs/read.md", "# Read\n\n```{trace-compare} linear_eager geglu_eager\n:by: op\n```\n")
    built = site.build_clean()
    tags = parse_html(built.html("read")).tags
    [table] = [attrs for _, attrs in tags if attrs.get("class") == "ks-table"]
    keys = [f"{MACHINE}/{name}" for name in ("linear_eager", "geglu_eager")]
    assert table["data-trace"].split() == keys
    both = 0
    for _, attrs in tags:
        parts = [part.partition(":")[::2] for part in attrs.get("data-events", "").split("; ") if part]
        assert {key for key, _ in parts} <= set(keys)
        names = set()
        for key, places in parts:
            events = {e.index: e for e in load(load_path(site, key.partition("/")[2])).events}
            names |= {events[int(place)].name for place in places.split()}
        assert len(names) == bool(parts)
        both += len(parts) == 2
    assert both, "some op is in both"


def test_an_odd_name_is_quoted_in_urls(site, parse_html) -> None:
    name = "a#b%"
    old = site.recordings / MACHINE / "one"
    [path] = old.glob("linear_eager.json.gz")
    (old / f"{name}.json.gz").write_bytes(path.read_bytes())
    site.write("docs/read.md", f"# Read\n\n```{{timeline}} {name}\n```\n")
    built = site.build()
    [box] = tools(built, parse_html, "read")
    assert (built.outdir / unquote(box["data-src"])).is_file()
    assert "#" not in box["href"] and box["aria-label"] == f"Download trace {name}"


@pytest.mark.parametrize("by", ["kernel", "op"])
def test_a_comparison_gives_the_viewer_the_pairs_of_events(site, parse_html, by: str) -> None:
    site.write(
        "docs/read.md",
        f"# Read\n\n```{{trace-compare}} linear_eager geglu_eager\n:by: {by}\nWhat came of it.\n```\n",
    )
    built = site.build_clean()
    page = built.html("read")
    [text] = re.findall(r'<script type="application/json" class="ks-pairs">(.*?)</script>', page)
    shown = json.loads(text)
    figures = [attrs["id"] for tag, attrs in parse_html(page).tags if tag == "figure"]
    assert shown["figures"] == figures and len(figures) == 2
    for figure, name in zip(figures, ("linear_eager", "geglu_eager"), strict=True):
        whole = page.partition(f'id="{figure}"')[2].partition("</figure>")[0]
        assert f'data-trace="{MACHINE}/{name}"' in whole
        assert f'<span class="pre">{name}</span>' in whole, "a reader is told which is which"
    traces = [load(load_path(site, name)) for name in ("linear_eager", "geglu_eager")]
    pairs = compare(*traces, *(kind for kind in Kind if kind in DRAWN))
    expected = {
        (pair.change, tuple(e.index for e in pair.events_before), tuple(e.index for e in pair.events_after))
        for pair in pairs
    }
    assert {(pair["change"], *map(tuple, pair["places"])) for pair in shown["pairs"]} == expected
    told = {index for pair in shown["pairs"] if pair["told"] for index in pair["places"][0]}
    kinds = {event.kind for event in traces[0].events if event.index in told}
    assert kinds == ({Kind.OP} if by == "op" else {Kind.KERNEL})
