"""Two traces compared: every bar says what became of it, without color and in any width."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from kinetoscope.draw.describe import describe
from kinetoscope.draw.figure import draw_figure, svg
from kinetoscope.draw.layout import TimelineOptions, lay_out
from kinetoscope.draw.matplotlib_backend import draw_timeline
from kinetoscope.draw.palette import CHANGE_LABELS, CHANGE_SIGNS
from kinetoscope.measure.compare import changes, compare
from kinetoscope.trace import Kind

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("kinds", [(), (Kind.OP,)], ids=["kernels", "ops"])
@pytest.mark.parametrize("width", [640, 340])
def test_every_bar_tells_what_became_of_it(sample, kinds: tuple[Kind, ...], width: int) -> None:
    traces = [sample("geglu_eager"), sample("geglu_compiled")]
    pairs = compare(*traces, *kinds)
    met = set()
    for trace, changed in zip(traces, changes(pairs), strict=True):
        by_name = {(pair.kind, pair.name): pair.change for pair in pairs}
        for event in trace.events:
            expected = by_name.get((event.kind, event.name)) if event.index in changed else None
            assert changed.get(event.index) == expected
        picture = lay_out(trace, TimelineOptions(changes=changed), width=width)
        root = ElementTree.fromstring(svg(picture, ident="x", title="t", description="d"))
        groups = {int(g.get("data-event")): g for g in root.iter(f"{SVG}g") if g.get("data-event")}
        for bar in picture.bars:
            expected = {changed[e.index] for e in (bar.event, *bar.merged) if e.index in changed}
            group = groups[bar.event.index]
            assert {css[6:] for css in group.get("class").split() if css.startswith("ks-is-")} == expected
            met |= expected
            if bar.merged or not expected:
                continue
            [change] = expected
            assert group.find(f"{SVG}title").text.startswith(CHANGE_LABELS[change] + "\n")
            if bar.label:
                assert bar.label.name.startswith(CHANGE_SIGNS[change])
                assert bar.label.start >= 0 and bar.label.end <= width
            elif not bar.faded:
                assert bar.w < 12, "there is room for the sign at least"
    assert {"gone", "new"} < met


def test_without_a_comparison_nothing_is_signed(sample) -> None:
    html = draw_figure(sample("geglu_eager"), ident="f").html()
    assert "ks-is-" not in html and "ks-compared" not in html
    assert not [bar for bar in lay_out(sample("geglu_eager"), width=640).bars if bar.sign]


def test_the_legend_and_the_words_tell_it(sample) -> None:
    before, after = sample("geglu_eager"), sample("geglu_compiled")
    of_before, _ = changes(compare(before, after))
    html = draw_figure(before, TimelineOptions(changes=of_before), ident="f").html()
    root = ElementTree.fromstring(html)
    assert root.get("class") == "ks-timeline ks-compared"
    signs = ["".join(li.itertext()) for li in root.iter("li") if "ks-is-" in li[0].get("class")]
    assert signs[0] == "−gone" and "+new" not in signs
    text = describe(before, lay_out(before, TimelineOptions(changes=of_before), width=640))
    assert text.endswith("Against the other trace: two bars gone and five bars kept.")
    assert CHANGE_LABELS["gone"] in root.find(f".//{SVG}desc").text


def test_paper_shows_it_too(sample) -> None:
    before, after = sample("geglu_eager"), sample("geglu_compiled")
    of_before, _ = changes(compare(before, after))
    figure = draw_timeline(lay_out(before, TimelineOptions(changes=of_before), width=640))
    assert [text for text in figure.axes[0].texts if text.get_text().startswith("− ")]
    dashed = [patch for patch in figure.axes[0].patches if patch.get_linestyle() == "--"]
    assert len(dashed) >= 2
