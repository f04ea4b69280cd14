"""Readers who see no color, or fewer colors, can tell the bars of one lane apart."""

from __future__ import annotations

from itertools import combinations

import pytest

from kinetoscope.draw.palette import DARK, LIGHT, Theme

# Kinds that can stand side by side: on a CPU's lane, and on a stream.
LANES = (("annotation", "op", "call"), ("copy", "kernel", "gemm"))
APART = 10  # steps of L*; side by side an eye tells 2 or 3 apart


def linear(color: str) -> list[float]:
    """Linear RGB of an sRGB color (IEC 61966-2-1)."""
    channels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def lightness(rgb: list[float]) -> float:
    """CIE L* of linear RGB."""
    y = 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]
    return 116 * y ** (1 / 3) - 16 if y > 0.008856 else 903.3 * y


def deuteranope(rgb: list[float]) -> list[float]:
    """What an eye without middle cones sees, in linear RGB: Viénot, Brettel and Mollon, 1999."""
    red, green, blue = rgb
    both = 0.29275 * red + 0.70725 * green
    return [both, both, -0.02234 * red + 0.02234 * green + blue]


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("seen", [list, deuteranope], ids=["gray print", "deuteranopia"])
def test_kinds_on_one_lane_differ_in_lightness(theme: Theme, seen) -> None:
    for lane in LANES:
        light = {kind: lightness(seen(linear(theme.kinds[kind].fill))) for kind in lane}
        for one, other in combinations(lane, 2):
            assert abs(light[one] - light[other]) >= APART, f"{one} and {other}: {light}"
