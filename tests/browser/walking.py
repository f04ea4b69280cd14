"""One figure in a browser's page, as the tests of the timeline see it."""

from __future__ import annotations

from typing import Any


class Walk:
    """A living timeline; moments are ns of its trace, events are indexes among those of its file."""

    def __init__(self, page, ident: str) -> None:
        self.page = page
        self.ident = ident
        self.element = page.locator(f"[id='{ident}']")
        self.host = self.element.locator(".ks-walk")
        self.element.scroll_into_view_if_needed()
        page.wait_for_function("id => document.getElementById(id).kinetoscope?.draws > 0", arg=ident)
        self.host.scroll_into_view_if_needed()

    def ask(self, script: str, argument: object = None) -> Any:
        """What `script`, an expression over the figure `k` and the argument `a`, comes to."""
        return self.page.evaluate(
            f"([id, a]) => {{ const k = document.getElementById(id).kinetoscope; return {script} }}",
            [self.ident, argument],
        )

    @property
    def window(self) -> tuple[float, float]:
        start, end = self.ask("[k.view.start + k.layout.origin, k.view.end + k.layout.origin]")
        return start, end

    @property
    def span(self) -> float:
        return self.window[1] - self.window[0]

    @property
    def selected(self) -> int:
        return self.ask("k.selected < 0 ? -1 : k.model.index[k.selected]")

    @property
    def lit(self) -> set[int]:
        return set(self.ask("k.lit.map(i => k.model.index[i])"))

    @property
    def said(self) -> str:
        return self.element.locator(".ks-unseen[role=status]").text_content() or ""

    def reset(self) -> None:
        """As it was opened, with the focus nowhere."""
        self.ask(
            "(k.layout.overlaid && k.overlay(false), k.setTape(null), k.openFind(''), k.hover(-1),"
            " k.select(-1, {quiet: true}), k.light([]), k.view.stop(),"
            " k.view.set(k.view.home.start, k.view.home.end), k.view.past.length = 0, k.view.pause(),"
            " document.activeElement.blur(), k.draw())"
        )
        self.host.scroll_into_view_if_needed()

    def place(self, index: int) -> tuple[float, float]:
        """Where an event is on the screen."""
        self.host.scroll_into_view_if_needed()
        x, y = self.ask(
            "(() => { k.draw(); const b = k.layout.boxOf(k.model.position(a));"
            " const r = k.host.getBoundingClientRect(), s = k.scale;"
            " return [r.left + (b.x + b.w / 2) * s, r.top + (b.y + b.h / 2 - k.painter.scrollY) * s] })()",
            index,
        )
        return x, y

    def at(self, ns: float) -> float:
        """x on the screen of a moment."""
        return self.ask(
            "k.host.getBoundingClientRect().left + k.layout.xAt(a - k.layout.origin) * k.scale", ns
        )

    def moment(self, x: float) -> float:
        """The moment at an x on the screen."""
        return self.ask(
            "k.layout.timeAt((a - k.host.getBoundingClientRect().left) / k.scale) + k.layout.origin", x
        )

    @property
    def box(self) -> dict[str, float]:
        self.host.scroll_into_view_if_needed()
        return self.host.bounding_box()

    @property
    def axis(self) -> float:
        """y on the screen in the middle of the axis."""
        return self.box["y"] + self.box["height"] - 12
