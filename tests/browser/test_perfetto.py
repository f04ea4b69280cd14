"""“Open in Perfetto”, with a stand-in for ui.perfetto.dev that notes what it gets."""

from __future__ import annotations

import base64
import time

import pytest
from visiting import Visit

pytestmark = pytest.mark.browser

PAGE, NAME = "read/linear", "linear_eager"
STAND_IN = """<!doctype html><title>stand-in</title><script>
let pings = 0;
addEventListener("message", event => {
  if (event.data === "PING") {
    // Like the real one, it misses the first pings.
    if (++pings > 2 && !location.hash) event.source.postMessage("PONG", "*");
    return;
  }
  const { buffer, ...rest } = event.data.perfetto;
  const bytes = new Uint8Array(buffer);
  globalThis.got = { file: btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join("")), ...rest,
                     isBuffer: buffer instanceof ArrayBuffer, times: (globalThis.got?.times ?? 0) + 1 };
});
%s
</script>"""
MUTE = "location.hash = 'mute';"


class Reader(Visit):
    """A visit with a stand-in at Perfetto's address; ``more`` is further JavaScript of the stand-in."""

    def __init__(self, browser, base: str, more: str = "", *, expect_faults: bool = False) -> None:
        super().__init__(browser, base, "light", expect_faults=expect_faults)
        self.asked: list[str] = []
        self.raws: list[str] = []
        self.context.route("https://*.perfetto.dev/**", lambda route: self._answer(route, STAND_IN % more))
        self.page.on("request", lambda request: ".raw.js" in request.url and self.raws.append(request.url))

    def _answer(self, route, html: str) -> None:
        self.asked.append(route.request.url)
        route.fulfill(body=html, content_type="text/html")

    def go_to_figure(self):
        """Open the page, scroll to the figure of the trace, and return it."""
        self.open(PAGE)
        figure = self.page.locator(f"figure:has(.ks-tools[data-trace$='/{NAME}'])").first
        figure.scroll_into_view_if_needed()
        figure.locator(".ks-perfetto").wait_for()
        return figure

    def press(self, figure):
        with self.page.expect_popup() as popup:
            figure.locator(".ks-perfetto").click()
        return popup.value


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_perfetto_gets_the_very_file(website, browser, served, scheme: str) -> None:
    base = served if scheme == "http" else website.html.as_uri() + "/"
    with Reader(browser, base) as reader:
        figure = reader.go_to_figure()
        button = figure.get_by_role("button", name=f"Open in Perfetto: trace {NAME}")
        assert button.bounding_box()["height"] >= 24
        assert reader.asked == [] and reader.raws == [], "nothing may be fetched before the click"
        perfetto = reader.press(figure)
        perfetto.wait_for_function("globalThis.got")
        got = perfetto.evaluate("got")
        [recorded] = website.recordings.rglob(f"{NAME}.json.gz")
        assert base64.b64decode(got.pop("file")) == recorded.read_bytes()
        machine = recorded.parents[1].name
        assert got == {
            "title": f"{NAME} ({machine})",
            "fileName": f"{NAME}.json.gz",
            "isBuffer": True,
            "times": 1,
        }
        figure.locator(".ks-said", has_text="The trace is with Perfetto").wait_for()
        assert figure.locator(".ks-said").get_attribute("role") == "status"
        assert reader.asked == ["https://ui.perfetto.dev/"] and len(reader.raws) == 1
        # The second time, the file is loaded already.
        perfetto.close()
        again = reader.press(figure)
        again.wait_for_function("globalThis.got")
        assert base64.b64decode(again.evaluate("got.file")) == recorded.read_bytes()
        assert len(reader.raws) == 1


def test_a_missing_answer_is_reported_and_no_other_window_can_give_it(website, browser, served) -> None:
    with Reader(browser, served, MUTE) as reader:
        figure = reader.go_to_figure()
        reader.page.clock.install()
        perfetto = reader.press(figure)
        perfetto.wait_for_function("pings > 0")
        reader.page.evaluate("postMessage('PONG', '*')")
        reader.page.clock.run_for(11_000)
        figure.locator(".ks-said", has_text="Still waiting").wait_for()
        reader.page.clock.run_for(50_000)
        said = figure.locator(".ks-said", has_text="ui.perfetto.dev did not answer")
        said.wait_for()
        assert "Download the trace instead" in said.text_content()
        assert perfetto.evaluate("globalThis.got") is None


def test_another_page_in_that_window_gets_nothing(website, browser, served) -> None:
    with Reader(browser, served, "location.href = 'https://elsewhere.perfetto.dev/';") as reader:
        reader.context.route(
            "https://elsewhere.perfetto.dev/**",
            lambda route: route.fulfill(body=STAND_IN % "", content_type="text/html"),
        )
        figure = reader.go_to_figure()
        perfetto = reader.press(figure)
        perfetto.wait_for_url("https://elsewhere.perfetto.dev/")
        perfetto.wait_for_function("pings > 4")
        assert perfetto.evaluate("globalThis.got") is None
        perfetto.close()
        figure.locator(".ks-said", has_text="was closed before it had the trace").wait_for()


def test_a_blocked_window_and_a_missing_trace_are_reported(website, browser, served) -> None:
    with Reader(browser, served, expect_faults=True) as reader:
        figure = reader.go_to_figure()
        reader.page.evaluate("void (globalThis.opens = open, globalThis.open = () => null)")
        figure.locator(".ks-perfetto").click()
        figure.locator(".ks-said", has_text="Your browser blocked the new window. Allow pop-ups").wait_for()
        assert reader.raws == [] and reader.faults == []
        reader.page.evaluate("void (globalThis.open = opens)")
        reader.context.route("**/*.raw.js", lambda route: route.abort())
        perfetto = reader.press(figure)
        figure.locator(".ks-said", has_text="could not be loaded from this site").wait_for()
        # Asked over and over: the event may come just before one begins to wait for it.
        deadline = time.monotonic() + 120
        while not perfetto.is_closed() and time.monotonic() < deadline:
            reader.page.wait_for_timeout(50)
        assert perfetto.is_closed()
