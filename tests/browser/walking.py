"""Drive one timeline on a page in a browser, and ask it for its state."""

from __future__ import annotations

from typing import Any


class Walk:
    """An interactive timeline. Times are ns of its trace; an event is its index in the trace's file."""

    def __init__(self, page, ident: str) -> None:
        self.page = page
        self.ident = ident
        self.element = page.locator(f"[id='{ident}']")
        self.host = self.element.locator(".ks-walk")
        self.element.scroll_into_view_if_needed()
        page.wait_for_function("id => document.getElementById(id).kinetoscope?.draws > 0", arg=ident)
        self.host.scroll_into_view_if_needed()

    def ask(self, script: str, argument: object = None) -> Any:
        """Evaluate an expression in JavaScript; it can use the figure ``k`` and the argument ``a``."""
        return self.page.evaluate(self._function(script), [self.ident, argument])

    def wait_for(self, script: str, argument: object = None) -> None:
        """Wait until an expression, as for ``ask``, is true."""
        self.page.wait_for_function(self._function(script), arg=[self.ident, argument])

    @staticmethod
    def _function(script: str) -> str:
        return f"([id, a]) => {{ const k = document.getElementById(id).kinetoscope; return {script} }}"

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
        """Put the figure into the state in which it was opened, without focus."""
        self.ask(
            "(k.layout.overlaid && k.overlay(false), k.setTape(null), k.openFind(''), k.hover(-1),"
            " k.select(-1, {quiet: true}), k.light([]), k.view.stop(),"
            " k.view.set(k.view.home.start, k.view.home.end), k.view.past.length = 0, k.view.pause(),"
            " document.activeElement.blur(), k.draw())"
        )
        self.host.scroll_into_view_if_needed()

    def place(self, index: int) -> tuple[float, float]:
        """Return x and y of the middle of an event's bar on the screen, in px."""
        self.host.scroll_into_view_if_needed()
        x, y = self.ask(
            "(() => { k.draw(); const b = k.layout.boxOf(k.model.position(a));"
            " const r = k.host.getBoundingClientRect(), s = k.scale;"
            " return [r.left + (b.x + b.w / 2) * s, r.top + (b.y + b.h / 2 - k.painter.scrollY) * s] })()",
            index,
        )
        return x, y

    def at(self, ns: float) -> float:
        """Return x on the screen of a time in ns."""
        return self.ask(
            "k.host.getBoundingClientRect().left + k.layout.xAt(a - k.layout.origin) * k.scale", ns
        )

    def time_at(self, x: float) -> float:
        """Return the time in ns at an x on the screen."""
        return self.ask(
            "k.layout.timeAt((a - k.host.getBoundingClientRect().left) / k.scale) + k.layout.origin", x
        )

    @property
    def box(self) -> dict[str, float]:
        self.host.scroll_into_view_if_needed()
        return self.host.bounding_box()

    @property
    def axis(self) -> float:
        """The y on the screen of the middle of the axis."""
        return self.box["y"] + self.box["height"] - 12
