"""What a matplotlib figure is called in words, whatever is drawn in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, datetime
from typing import Any

import numpy as np
import pytest

from kinetoscope.draw import plots
from kinetoscope.draw.plots import describe_figure, figure_svg

pytest.importorskip("matplotlib").use("agg")
plt = pytest.importorskip("matplotlib.pyplot")

Axes = Any
NAN = float("nan")


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def stacked(axes: Axes) -> None:
    axes.bar(["small", "large"], [1, 2], label="host")
    axes.bar(["small", "large"], [3, NAN], bottom=[1, 2], label="device")


def labels_at_some_ticks(axes: Axes) -> None:
    axes.bar(range(3), [4, 5, 6])
    axes.set_xticks([0, 2], ["first", "last"])


def beside(axes: Axes) -> None:
    axes.bar(["a", "b"], [1, 2])
    other = axes.twinx()
    other.plot(["a", "b"], [10, 20])
    other.set_ylabel("GB/s")


def across_the_plot(axes: Axes) -> None:
    axes.plot([10, 20], [1, 2])
    axes.axhline(1.5)
    axes.axvline(12)


def image(axes: Axes) -> None:
    axes.figure.colorbar(axes.imshow(np.ones((3, 4))))


def minutes(axes: Axes) -> None:
    axes.plot([datetime(2026, 1, 1, 10, n) for n in range(20)], range(20))


KINDS: list[tuple[Callable[[Axes], Any], str]] = [
    (stacked, "host: small 1, large 2; device: small 3, large no value."),
    (labels_at_some_ticks, "first 4, 1 5, last 6."),
    (beside, "a 1, b 2. GB/s, a 10, b 20."),
    (across_the_plot, "y against x; a line; from 10 to 20 across, and from 1 to 2 in height."),
    (image, "an image of 3 by 4 values."),
    (
        minutes,
        "y against x; a line; from 1 January 10:00 to 1 January 10:19 across, and from 0 to 19 in height.",
    ),
    (
        lambda axes: axes.barh([date(2025, 12, 31), date(2026, 1, 2)], [1, 2]),
        "31 December 2025 1, 2 January 2026 2.",
    ),
    (
        lambda axes: axes.plot([1, 2], ["a", "b"]),
        "y against x; a line; from 1 to 2 across, and from a to b in height.",
    ),
    (
        lambda axes: axes.bar(range(20), range(20), width=0.5),
        "0 0, 1 1, 2 2, 3 3, 4 4, 5 5, 6 6, 7 7, and 12 more.",
    ),
    (lambda axes: axes.pie([1, 3], labels=["eager", "compiled"]), "eager 25 %, compiled 75 %."),
    (lambda axes: axes.pie([1, 3]), "25 %, 75 %."),
    (lambda axes: axes.scatter(["a", "b"], [3, 2]), "a 3, b 2."),
    (
        lambda axes: axes.scatter([1, 2, 3], [3, NAN, 2]),
        "y against x; points; from 1 to 3 across, and from 2 to 3 in height.",
    ),
    (
        lambda axes: axes.errorbar([1, 2], [3, 5], yerr=2, capsize=3, label="eager"),
        "y against x; lines: eager; from 1 to 2 across, and from 3 to 5 in height.",
    ),
    (
        lambda axes: axes.stem([1, 2], [3, 5]),
        "y against x; a line; from 1 to 2 across, and from 3 to 5 in height.",
    ),
    (
        lambda axes: axes.loglog([1, 1000], [0.5, NAN]),
        "y against x; a line; from 1 to 1 across, and from 0.5 to 0.5 in height.",
    ),
    (lambda axes: axes.plot([1, 2], [NAN, NAN]), "y against x, without values."),
    (
        lambda axes: axes.plot([1, 2, 3], [np.inf, 2, 4]),
        "y against x; a line; from 2 to 3 across, and from 2 to 4 in height.",
    ),
    (lambda axes: axes.violinplot([[1, 2, 3]]), "a plot of y against x."),
    (lambda axes: axes.plot([], []), "a plot of y against x."),
    (lambda axes: axes.text(0.5, 0.5, "only words"), ""),
]


@pytest.mark.parametrize(("draw", "words"), KINDS)
def test_what_is_drawn(draw: Callable[[Axes], Any], words: str) -> None:
    figure = plt.figure()
    draw(figure.add_subplot())
    assert describe_figure(figure) == words


@pytest.mark.parametrize(
    ("projection", "draw", "words"),
    [
        ("3d", lambda axes: axes.scatter([1, 2], [3, 4], [5, 6]), "a plot in three dimensions."),
        ("polar", lambda axes: axes.plot([0, 1], [1, 2]), "a polar plot."),
    ],
)
def test_what_is_drawn_elsewhere(projection: str, draw: Callable[[Axes], Any], words: str) -> None:
    figure = plt.figure()
    draw(figure.add_subplot(projection=projection))
    assert describe_figure(figure) == words


def test_dates_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    figure = plt.figure()
    index = pandas.date_range("2026-01-01", periods=2)
    pandas.Series([3, 2], index).plot(ax=figure.add_subplot())
    assert describe_figure(figure) == "1 January 3, 2 January 2."


def test_what_cannot_be_described_fails_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(axes: Axes) -> str:
        raise TypeError("what is this?")

    monkeypatch.setattr(plots, "_lines", fails)
    figure = plt.figure()
    axes = figure.add_subplot()
    axes.plot([1, 2])
    axes.set_title("Time")
    assert describe_figure(figure) == "Time: a plot."
    assert figure_svg(figure).startswith("<svg")
