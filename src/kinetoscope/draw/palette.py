"""The colors, signs and words for what a timeline shows, the same in tables, plots and prose.

A color says what kind of event something is, and nothing else; in a comparison of two traces, signs and
outlines say what became of an event.

On one kind of lane the fills differ in lightness, not only in hue, so that color-blind readers and gray
print can tell them apart.  ``ink`` on ``fill`` reaches the contrast that WCAG AA asks of small text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kinetoscope.trace import Event, Kind

if TYPE_CHECKING:
    from kinetoscope.measure.compare import Change


@dataclass(frozen=True, slots=True)
class Color:
    """The colors of one kind of bar: its fill, the text on it, its edge (``#rrggbb`` each)."""

    fill: str
    ink: str
    edge: str


@dataclass(frozen=True, slots=True)
class Theme:
    """Every color of a figure on one background."""

    kinds: dict[str, Color]
    plain: dict[str, str]
    """surface, text, muted, grid, band, idle, arrow, highlight"""


LIGHT = Theme(
    kinds={
        "annotation": Color("#e9ecf0", "#27303b", "#99a3b0"),
        "op": Color("#b3d1f2", "#0a2a4d", "#6f9dcd"),
        "call": Color("#e39a2d", "#2b1800", "#a9690a"),
        "copy": Color("#f2abc6", "#4a0b27", "#c56a90"),
        "kernel": Color("#1b7f74", "#ffffff", "#0f5f56"),
        "gemm": Color("#40307f", "#ffffff", "#2a1d5e"),
    },
    plain={
        "surface": "#ffffff",
        "text": "#1f2733",
        "muted": "#566070",
        "grid": "#dfe3e8",
        "band": "#f1f5fb",
        "idle": "#eef0f3",
        "arrow": "#6b7483",
        "highlight": "#c4161c",
    },
)

DARK = Theme(
    kinds={
        "annotation": Color("#333b48", "#e3e7ee", "#657082"),
        "op": Color("#2b5c94", "#ffffff", "#5a8fcb"),
        "call": Color("#dc9a3b", "#211300", "#f0bb6d"),
        "copy": Color("#8c3a63", "#ffffff", "#c4719a"),
        "kernel": Color("#2fa193", "#00140f", "#62c9bc"),
        "gemm": Color("#cabdff", "#190f40", "#e6dfff"),
    },
    plain={
        "surface": "#14181e",
        "text": "#e4e8ee",
        "muted": "#a5b0bf",
        "grid": "#2b323d",
        "band": "#1a2029",
        "idle": "#222933",
        "arrow": "#8c97a8",
        "highlight": "#ff8078",
    },
)

KIND_LABELS = {
    "annotation": "annotation",
    "op": "op",
    "call": "runtime call",
    "gemm": "GEMM kernel",
    "kernel": "other kernel",
    "copy": "copy, memset",
}
"""What the legend calls each kind of bar, in the legend's order"""

CHANGE_SIGNS: dict[Change, str] = {"gone": "−", "new": "+", "slower": "▲", "faster": "▼", "kept": "="}
"""The sign before the name of a bar that changed, in the legend's order"""

CHANGE_LABELS: dict[Change, str] = {
    "gone": "gone",
    "new": "new",
    "slower": "kept its name, slower",
    "faster": "kept its name, faster",
    "kept": "kept",
}
"""What tables, legends and tooltips call a change"""


def kind_class(event: Event) -> str:
    """Return the key of :attr:`Theme.kinds` that an event is drawn with."""
    return class_of(event.kind, event.name)


def class_of(kind: Kind, name: str) -> str:
    """Return the key of :attr:`Theme.kinds` that events of this kind and name are drawn with."""
    match kind:
        case Kind.KERNEL:
            # A table in a terminal needs no colors, and this module takes a while to load.
            from kinetoscope.kernel_names import is_gemm

            return "gemm" if is_gemm(name) else "kernel"
        case Kind.MEMCPY | Kind.MEMSET:
            return "copy"
        case Kind.ANNOTATION | Kind.GPU_ANNOTATION:
            return "annotation"
        case Kind.CALL:
            return "call"
        case _:
            return "op"


def css() -> str:
    """Return both themes as CSS custom properties, and the colors of each kind of bar as its class's own."""
    kinds = "".join(
        f".ks-{kind} {{ --ks-fill: var(--ks-{kind}); --ks-ink: var(--ks-{kind}-ink);"
        f" --ks-edge: var(--ks-{kind}-edge); }}\n"
        for kind in LIGHT.kinds
    )
    # A figure follows the page's theme, not the system's: a theme without a dark side stays light.  Paper is
    # white even if the screen is dark.
    return (
        f':root, html[data-theme="light"] {{\n{_variables(LIGHT)}}}\n'
        "@media screen and (prefers-color-scheme: dark) {\n"
        f'body[data-theme="auto"] {{\n{_variables(DARK)}}}\n}}\n'
        "@media screen {\n"
        f'html[data-theme="dark"], body[data-theme="dark"] {{\n{_variables(DARK)}}}\n}}\n'
    ) + kinds


def _variables(theme: Theme) -> str:
    plain = "".join(f"    --ks-{name}: {value};\n" for name, value in theme.plain.items())
    return plain + "".join(
        f"    --ks-{kind}: {color.fill}; --ks-{kind}-ink: {color.ink}; --ks-{kind}-edge: {color.edge};\n"
        for kind, color in theme.kinds.items()
    )
