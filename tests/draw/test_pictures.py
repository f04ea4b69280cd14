"""SVG, HTML and paper: well-formed, escaped, the same each time, and of one palette."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kinetoscope.draw import palette
from kinetoscope.draw.figure import draw_figure, svg
from kinetoscope.draw.layout import LayoutError, TimelineOptions, lay_out
from kinetoscope.draw.matplotlib_backend import FADED, draw_timeline, save_timeline, thumbnail
from kinetoscope.draw.viewer import figure_style
from kinetoscope.trace import Trace, loads

SVG = "{http://www.w3.org/2000/svg}"


def picture(trace: Trace) -> str:
    return svg(lay_out(trace, width=720), ident="x", title="A <title>", description='"&"')


def test_svg_is_well_formed_and_complete(any_trace: Trace) -> None:
    root = ElementTree.fromstring(picture(any_trace))
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    assert root.get("role") == "img"
    assert {root.get("aria-labelledby"), root.get("aria-describedby")} <= set(ids)
    assert root.find(f"{SVG}title").text == "A <title>" and root.find(f"{SVG}desc").text == '"&"'
    bars = [g for g in root.iter(f"{SVG}g") if g.get("data-event")]
    assert len(bars) == len(lay_out(any_trace, width=720).bars)
    assert all(bar.find(f"{SVG}title").text for bar in bars)


def test_names_are_text_and_never_markup(sample) -> None:
    trace = sample("nasty")
    for text in (picture(trace), draw_figure(trace, ident="f").html()):
        assert "<script" not in text
        assert "&lt;script&gt;" in text and "&amp;amp;" in text
        assert "\x01" not in text
    figure = ElementTree.fromstring(draw_figure(trace, ident="f", title="<b>").html("<p>c</p>"))
    assert figure.find("p").text == "c"


def test_tooltips_tell_everything(sample) -> None:
    root = ElementTree.fromstring(picture(sample("linear_1024_32_64_eager")))
    titles = [e.find(f"{SVG}title").text for e in root.iter(f"{SVG}g") if e.get("data-event")]
    kernel = next(t for t in titles if t.startswith("nvjet"))
    for fact in ("takes 2.7 µs", "launched by cuLaunchKernelEx, 11.0 µs before", "grid 2 × 64 × 1",
                 "block 384 × 1 × 1", "registers 168 a thread", "shared memory 164308 B",
                 "stream 7"):  # fmt: skip
        assert fact in kernel
    op = next(t for t in titles if t.startswith("aten::linear"))
    assert "starts at 21.0 µs" in op and "total 39.7 µs, self " in op and "shapes [1024, 32]" in op


def test_no_color_is_written_into_the_picture(sample) -> None:
    text = picture(sample("geglu_eager"))
    assert not re.search(r"(fill|stroke|style)=|#[0-9a-f]{6}\b", text)


def test_the_same_trace_gives_the_same_bytes(sample, tmp_path: Path) -> None:
    first, second = (draw_figure(sample("geglu_eager"), ident="f") for _ in range(2))
    assert first == second
    for suffix in ("png", "pdf"):
        for name in ("a", "b"):
            save_timeline(lay_out(sample("geglu_eager"), width=640), tmp_path / f"{name}.{suffix}", dpi=48)
        data = (tmp_path / f"a.{suffix}").read_bytes()
        assert data == (tmp_path / f"b.{suffix}").read_bytes()
        assert b"CreationDate" not in data and b"atplotlib" not in data


def test_figure_has_two_drawings_and_a_legend_of_what_is_there(sample) -> None:
    figure = draw_figure(sample("geglu_eager"), TimelineOptions(highlight=["aten::mm"]), ident="f")
    root = ElementTree.fromstring(figure.html())
    ids = [e.get("id") for e in root.iter() if e.get("id")]
    assert len(ids) == len(set(ids)) and root.get("id") == "f"
    assert len(list(root.iter(f"{SVG}svg"))) == 2
    legend = ["".join(li.itertext()) for li in root.iter("li")]
    assert legend == ["annotation", "op", "runtime call", "GEMM kernel", "other kernel", "copy, memset",
                      "stream idle", "launch", "highlighted", "outside the step"]  # fmt: skip
    with pytest.raises(ValueError, match="is not an id"):
        draw_figure(sample("empty"), ident='x" onload="')
    with pytest.raises(LayoutError):
        draw_figure(sample("empty"), TimelineOptions(steps=1), ident="x")
    assert "Nothing was recorded." in draw_figure(sample("empty"), ident="x").html()


def test_paper_draws_any_trace(any_trace: Trace, tmp_path: Path) -> None:
    figure = draw_timeline(lay_out(any_trace, width=340), dark=True)
    assert not [text for text in figure.axes[0].texts if text.get_parse_math()]
    thumbnail(any_trace, tmp_path / "t.png")
    header = (tmp_path / "t.png").read_bytes()[16:24]
    assert (int.from_bytes(header[:4]), int.from_bytes(header[4:])) == (400, 280)


def test_paper_refuses_more_lanes_than_it_can_hold(tmp_path: Path) -> None:
    entries = [{"ph": "X", "cat": "cpu_op", "name": "a", "tid": n, "ts": n, "dur": 1} for n in range(500)]
    trace = loads(json.dumps(entries).encode(), "made.json")
    with pytest.raises(LayoutError, match="500 lanes; choose one step or a zoom, or write an"):
        save_timeline(lay_out(trace, width=340), tmp_path / "x.png")


def test_paper_refuses_other_formats(sample, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"saved as \.png or \.pdf"):
        save_timeline(lay_out(sample("empty"), width=340), tmp_path / "x.jpg")


def test_the_style_sheet_has_the_palette() -> None:
    style = figure_style()
    assert style.startswith(palette.css())
    for kind, color in palette.LIGHT.kinds.items():
        assert f"--ks-{kind}: {color.fill};" in style
        assert f".ks-{kind} {{ --ks-fill: var(--ks-{kind});" in style
    assert f"opacity: {FADED}" in style
    assert "@import" not in style and "url(" not in style


def luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [palette.LIGHT, palette.DARK], ids=["light", "dark"])
def test_colors_can_be_read_and_told_apart_without_hue(theme: palette.Theme) -> None:
    for color in theme.kinds.values():
        assert contrast(color.fill, color.ink) >= 4.5
    for ground in ("surface", "band", "idle"):
        assert contrast(theme.plain["text"], theme.plain[ground]) >= 7
        assert contrast(theme.plain["muted"], theme.plain[ground]) >= 4.5
    assert contrast(theme.plain["highlight"], theme.plain["surface"]) >= 4.5
    for lane in (("annotation", "op", "call"), ("copy", "kernel", "gemm")):
        fills = [theme.kinds[kind].fill for kind in lane]
        pairs = [(a, b) for i, a in enumerate(fills) for b in fills[i + 1 :]]
        assert all(contrast(a, b) >= 1.3 for a, b in pairs)
