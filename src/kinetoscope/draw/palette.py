"""The colours: one meaning each, in timelines, tables, plots and prose, light and dark.

This is their one home.  ``book/static/kinetoscope.css`` holds the same values between two
markers; ``python -m kinetoscope.draw.palette`` prints that part, and a test compares them.

On one kind of lane the fills differ in lightness, not only in hue, so that colour-blind readers and
grey print tell them apart; ``ink`` on ``fill`` reaches the contrast WCAG AA asks of small text.
"""

from __future__ import annotations

from dataclasses import dataclass

from kinetoscope.trace.events import Event, Kind


@dataclass(frozen=True, slots=True)
class Colour:
    """How one kind of bar is filled, written on, and edged (``#rrggbb`` each)."""

    fill: str
    ink: str
    edge: str


@dataclass(frozen=True, slots=True)
class Theme:
    """Every colour of a figure on one background."""

    kinds: dict[str, Colour]
    plain: dict[str, str]
    """surface, text, muted, grid, band, idle, arrow, highlight"""


LIGHT = Theme(
    kinds={
        "annotation": Colour("#e9ecf0", "#27303b", "#99a3b0"),
        "op": Colour("#b3d1f2", "#0a2a4d", "#6f9dcd"),
        "call": Colour("#e39a2d", "#2b1800", "#a9690a"),
        "python": Colour("#d8e6cd", "#22361a", "#8fae7d"),
        "copy": Colour("#f2abc6", "#4a0b27", "#c56a90"),
        "kernel": Colour("#1b7f74", "#ffffff", "#0f5f56"),
        "gemm": Colour("#40307f", "#ffffff", "#2a1d5e"),
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
        "annotation": Colour("#333b48", "#e3e7ee", "#657082"),
        "op": Colour("#2b5c94", "#ffffff", "#5a8fcb"),
        "call": Colour("#dc9a3b", "#211300", "#f0bb6d"),
        "python": Colour("#36512f", "#e4f1dc", "#648659"),
        "copy": Colour("#8c3a63", "#ffffff", "#c4719a"),
        "kernel": Colour("#2fa193", "#00140f", "#62c9bc"),
        "gemm": Colour("#cabdff", "#190f40", "#e6dfff"),
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
    "python": "Python",
    "gemm": "GEMM kernel",
    "kernel": "other kernel",
    "copy": "copy, memset",
}
"""What the legend calls each kind, in the order it lists them."""


def kind_class(event: Event) -> str:
    """The key of :attr:`Theme.kinds` that an event is drawn with."""
    match event.kind:
        case Kind.KERNEL:
            # A table needs no colours, and the words of kernel names take a while to load.
            from kinetoscope.kernel_names import is_gemm

            return "gemm" if is_gemm(event.name) else "kernel"
        case Kind.MEMCPY | Kind.MEMSET:
            return "copy"
        case Kind.ANNOTATION | Kind.GPU_ANNOTATION:
            return "annotation"
        case Kind.CALL:
            return "call"
        case Kind.PYTHON:
            return "python"
        case _:
            return "op"


def css_variables(theme: Theme) -> str:
    """The theme as CSS custom properties, a line each."""
    lines = [f"--ks-{name}: {value};" for name, value in theme.plain.items()]
    for name, colour in theme.kinds.items():
        lines += [
            f"--ks-{name}: {colour.fill};",
            f"--ks-{name}-ink: {colour.ink};",
            f"--ks-{name}-edge: {colour.edge};",
        ]
    return "\n".join(lines)


def css() -> str:
    """The part of the style sheet between its ``palette`` markers."""

    def block(selector: str, theme: Theme, indent: str = "") -> str:
        body = "\n".join(f"{indent}    {line}" for line in css_variables(theme).splitlines())
        return f"{indent}{selector} {{\n{body}\n{indent}}}\n"

    return (
        block(':root,\nhtml[data-theme="light"]', LIGHT)
        # A figure goes by the page's theme, not by the system's: a theme that cannot be dark stays light.
        + "\n@media (prefers-color-scheme: dark) {\n"
        + block('body[data-theme="auto"]', DARK, "    ")
        + "}\n\n"
        + block('html[data-theme="dark"],\nbody[data-theme="dark"]', DARK)
        # Paper is white, whatever the screen was.
        + "\n@media print {\n"
        + block("html, html[data-theme], body[data-theme]", LIGHT, "    ")
        + "}\n"
    )


if __name__ == "__main__":
    print(css(), end="")
