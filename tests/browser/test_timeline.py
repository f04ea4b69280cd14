"""The interactive timeline in a real browser: every gesture by mouse, touch and keyboard."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from judging import axe_source
from visiting import Visit
from walking import Walk

from kinetoscope import Trace, load
from kinetoscope.draw.layout import drawable
from kinetoscope.draw.names import clean, forms, short_name
from kinetoscope.measure.printing import format_time
from kinetoscope.trace import Kind

pytestmark = pytest.mark.browser

PAGE, FIGURE = "read/linear", "ks-timeline-linear_eager-0"


@pytest.fixture(scope="module")
def trace(built) -> Trace:
    return load(built.recordings / "nvidia-h200" / "02_linear" / "linear_eager.json.gz")


@pytest.fixture(scope="module")
def visit(built, browser, served) -> Iterator[Visit]:
    with Visit(browser, served, "light") as visit:
        visit.page.set_viewport_size({"width": 1440, "height": 900})
        visit.open(PAGE)
        yield visit


@pytest.fixture
def walk(visit) -> Iterator[Walk]:
    walk = Walk(visit.page, FIGURE)
    walk.reset()
    yield walk
    walk.reset()


@pytest.fixture(scope="module")
def phone(built, browser, served) -> Iterator[Walk]:
    with Visit(browser, served, "dark", touch=True) as visit:
        visit.page.set_viewport_size({"width": 360, "height": 780})
        visit.open(PAGE)
        yield Walk(visit.page, FIGURE)


def home(walk: Walk) -> tuple[int, int]:
    """Return the range that the figure was drawn for, in ns."""
    return tuple(int(walk.element.get_attribute(f"data-{name}")) for name in ("start", "end"))


def everything(trace: Trace) -> tuple[int, int]:
    """Return the range from the first drawn event to the last, in ns."""
    return min(e.start for e in drawable(trace)), max(e.end for e in drawable(trace))


def inside(trace: Trace, walk: Walk, name: str):
    """Return the first event in the figure's range whose name begins with ``name``."""
    start, end = home(walk)
    return next(e for e in trace.events if start <= e.start < end and e.name.startswith(name))


def kernel_of(op):
    """Return the first kernel that an op launched."""
    return next(activity for event in op.walk() for activity in event.activities)


def selected(trace: Trace, walk: Walk):
    """Return the selected event."""
    return next(event for event in trace.events if event.index == walk.selected)


def above(event) -> set[int]:
    """Return the indexes of all events that enclose this one."""
    indexes, parent = set(), event.parent
    while parent is not None:
        indexes.add(parent.index)
        parent = parent.parent
    return indexes


# --- from the picture to the canvas --------------------------------------------------------------------


def test_nothing_jumps_when_the_picture_becomes_interactive(built, browser, served) -> None:
    """The canvas has the size, range and text of the picture."""
    with Visit(browser, served, "light") as visit:
        visit.page.set_viewport_size({"width": 1440, "height": 900})
        visit.page.add_init_script(
            "globalThis.shifts = 0; new PerformanceObserver(list => list.getEntries().forEach("
            "each => { if (each.sources.some(({node}) => node?.closest?.('.bd-article')))"
            "  shifts += each.value }"
            ")).observe({type: 'layout-shift', buffered: true});"
            "const write = CanvasRenderingContext2D.prototype.fillText; globalThis.written = new Map();"
            "CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {"
            "  const id = this.canvas.closest('figure').id;"
            "  written.set(id, [...(written.get(id) ?? []), text]); write.call(this, text, x, y) }"
        )
        visit.open("gallery/03_simple_mlp")
        figures = visit.page.locator("figure.ks-timeline")
        for k in range(figures.count()):
            walk = Walk(visit.page, figures.nth(k).get_attribute("id"))
            start, end = home(walk)
            assert walk.window == (start, max(end, start + 1))
            svg = walk.element.locator(".ks-wide svg").bounding_box()
            assert abs(svg["height"] - walk.box["height"]) < 1
            assert abs(svg["x"] - walk.box["x"]) < 1
            drawn = walk.ask(
                "[...document.querySelectorAll(`[id='${k.id}'] .ks-wide svg text`)]"
                ".flatMap(t => [...t.childNodes].map(n => n.textContent.trim())).filter(Boolean)"
            )
            visit.page.evaluate("written.clear()")
            walk.ask("k.draw()")
            assert sorted(walk.ask("written.get(k.id)")) == sorted(drawn)
        assert visit.page.evaluate("shifts") < 0.01


def test_names_and_times_are_written_as_in_the_picture(walk, trace) -> None:
    names = walk.ask("k.model.names")
    ways = {(clean(event.name), *forms(event.name, event.kind)) for event in drawable(trace)}
    written = zip(names, walk.ask("k.model.forms"), strict=True)
    assert {(name, *each) for name, each in written} == ways
    times = [
        0,
        1,
        999,
        1000,
        1250,
        1750,
        37_312,
        99_950,
        999_949,
        999_950,
        999_960,
        1_005_000,
        1_125_000,
        10**9,
        61 * 10**9,
    ]
    times += [event.dur for event in trace.events]
    assert walk.ask("a.map(kinetoscope.text.formatTime)", times) == [format_time(ns) for ns in times]


def test_a_viewer_is_loaded_only_for_a_figure_near_the_screen(built, browser, served) -> None:
    with Visit(browser, served, "light") as visit:
        asked: list[str] = []
        visit.page.on("request", lambda request: asked.append(request.url))
        visit.open("lookup/glossary")
        assert not [url for url in asked if "kinetoscope-timeline" in url or "_kinetoscope/" in url]
        visit.page.set_viewport_size({"width": 1440, "height": 400})
        visit.open("gallery/03_simple_mlp")
        Walk(visit.page, "ks-timeline-relu_eager-0")
        assert not [url for url in asked if "geglu_compiled" in url]
        Walk(visit.page, "ks-timeline-geglu_compiled-3")
        assert len([url for url in asked if "kinetoscope-timeline.js" in url]) == 1


def test_without_its_data_the_picture_stays(built, browser, served) -> None:
    with Visit(browser, served, "light", expect_faults=True) as visit:
        visit.context.route("**/_kinetoscope/**", lambda route: route.abort())
        with visit.page.expect_event("requestfailed", lambda request: "_kinetoscope" in request.url):
            visit.open(PAGE)
            visit.page.locator(f"[id='{FIGURE}']").scroll_into_view_if_needed()
        assert visit.page.locator(f"[id='{FIGURE}'] .ks-wide svg").is_visible()
        assert visit.page.locator(".ks-walk").count() == 0
        assert all("_kinetoscope/" in fault or "ERR_FAILED" in fault for fault in visit.faults)


def test_paper_shows_the_picture(walk) -> None:
    walk.page.emulate_media(media="print")
    try:
        assert walk.element.locator(".ks-svg:visible").count() == 1
        assert not walk.host.is_visible()
    finally:
        walk.page.emulate_media(media="screen")
    assert walk.host.is_visible()


def test_the_canvas_follows_the_theme(walk) -> None:
    pixel = (
        "(() => { k.draw(); const c = k.painter.context.canvas, d = k.painter.dense * k.scale;"
        " const i = k.layout.of[0], b = k.layout.boxOf(i);"
        " const x = (b.x + b.w * .6) * d, y = (b.y + b.h / 2) * d;"
        " return [...k.painter.context.getImageData(x, y, 1, 1).data] })()"
    )
    light = walk.ask(pixel)
    walk.page.evaluate("document.documentElement.dataset.theme = 'dark'")
    walk.wait_for("k.painter.color.surface === '#14181e'")
    dark = walk.ask(pixel)
    walk.page.evaluate("document.documentElement.dataset.theme = 'light'")
    assert sum(light[:3]) > 600 > 300 > sum(dark[:3])


# --- mouse ---------------------------------------------------------------------------------------------


def test_the_wheel_zooms_only_where_a_reader_means_it(walk) -> None:
    page, box = walk.page, walk.box
    x = box["x"] + box["width"] * 0.75
    page.mouse.move(x, box["y"] + 40)
    before, scrolled = walk.window, page.evaluate("scrollY")
    page.mouse.wheel(0, 60)
    page.wait_for_function("y => scrollY > y", arg=scrolled)
    assert walk.window == before, "over a figure without focus, the wheel scrolls the page"
    assert "wheel" in walk.element.locator(".ks-hint").text_content()

    walk.host.scroll_into_view_if_needed()
    page.mouse.move(x, walk.box["y"] + 40)
    moment = walk.time_at(x)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    walk.wait_for("k.view.span < a", 0.8 * (before[1] - before[0]))
    assert abs(walk.time_at(x) - moment) < walk.span / 500, "the time under the pointer stays there"

    page.mouse.click(x, walk.box["y"] + 4)
    near, scrolled = walk.span, page.evaluate("scrollY")
    page.mouse.wheel(0, -200)
    walk.wait_for("k.view.span < a", 0.9 * near)
    assert page.evaluate("scrollY") == scrolled
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    assert walk.window == before


def test_dragging_moves_and_escape_goes_back(walk, trace) -> None:
    page, box = walk.page, walk.box
    y = box["y"] + 4
    start = walk.window
    page.mouse.move(box["x"] + 400, y)
    page.mouse.down()
    held = walk.time_at(box["x"] + 400)
    page.mouse.move(box["x"] + 250, y, steps=5)
    assert abs(walk.time_at(box["x"] + 250) - held) < 2
    page.mouse.up()
    assert walk.selected == -1, "a drag is no click"
    op = inside(trace, walk, "aten::addmm")
    page.mouse.dblclick(*walk.place(op.index))
    assert walk.selected == op.index
    first, last = walk.window
    kernel = op.children[-1].activities[0] if op.children else op.activities[0]
    assert first <= op.start and last >= max(op.end, kernel.end), (
        "the range includes the kernel that the op launched"
    )
    assert last - first < 1.2 * (kernel.end - op.start)
    for _ in range(2):
        page.keyboard.press("Escape")
    assert walk.window == start
    assert walk.selected == op.index
    page.keyboard.press("Escape")
    assert walk.selected == -1


def test_pointing_shows_details_and_lights_related_events(walk, trace) -> None:
    op = inside(trace, walk, "aten::addmm")
    kernel = kernel_of(op)
    page, panel = walk.page, walk.element.locator(".ks-panel")
    height = walk.box["height"]
    page.mouse.move(*walk.place(op.index))
    page.mouse.move(*(part + 1 for part in walk.place(op.index)))
    assert walk.lit == {e.index for e in op.walk()} | {kernel.index}
    text = panel.inner_text()
    for part in (
        op.name,
        format_time(op.dur),
        format_time(op.self_dur),
        "shapes",
        "strides",
        short_name(kernel.name, kernel.kind),
    ):
        assert part in text
    page.mouse.move(*walk.place(kernel.index))
    assert walk.lit == {kernel.index, kernel.launch.index} | above(kernel.launch)
    text = panel.inner_text()
    for part in (
        kernel.name,
        format_time(kernel.dur),
        format_time(kernel.launch_delay),
        "grid",
        "block",
        "registers",
    ):
        assert part in text
    assert walk.box["height"] == height, "the panel covers nothing and moves no bar"
    panel.get_by_role("button", name=kernel.launch.name).click()
    assert walk.selected == kernel.launch.index
    assert kernel.launch.name in panel.inner_text()
    # a page that scrolls under a resting mouse must not select anything
    walk.reset()
    resting = "k.host.dispatchEvent(new PointerEvent('pointermove', {clientX: a[0], clientY: a[1]}))"
    x, y = walk.place(op.index)
    walk.ask(resting, [x, y])
    assert op.index in walk.lit
    walk.ask("k.hover(-1)")
    walk.ask(resting, [x, y])
    assert walk.lit == set()


def busy(trace: Trace, on_gpu: bool, start: float, end: float) -> float:
    """Return the ns between ``start`` and ``end`` in which the only CPU or GPU lane has an event."""
    kinds = (Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET) if on_gpu else (Kind.OP, Kind.CALL)
    total, until = 0.0, start
    for event in sorted(trace.of(*kinds), key=lambda e: e.start):
        begin, finish = max(event.start, until), min(event.end, end)
        if finish > begin:
            total, until = total + finish - begin, finish
    return total


@pytest.mark.parametrize("way", ["axis", "shift", "keys"])
def test_the_tape_measures_exactly(walk, trace, way: str) -> None:
    page = walk.page
    op = inside(trace, walk, "aten::linear")
    if way == "keys":
        walk.host.focus()
        walk.ask("k.select(k.model.position(a))", op.index)
        page.keyboard.press("m")
        tape = [op.start, op.end]
        assert walk.ask("[k.painter.tape.from, k.painter.tape.to]") == tape
        kernel = kernel_of(op)
        walk.ask("k.select(k.model.position(a))", kernel.index)
        page.keyboard.press("m")
        assert walk.ask("[k.painter.tape.from, k.painter.tape.to]") == [op.start, kernel.end]
    else:
        y = walk.axis if way == "axis" else walk.place(op.index)[1]
        a, b = walk.at(op.start), walk.at(op.end) + 40
        if way == "shift":
            page.keyboard.down("Shift")
        page.mouse.move(a, y)
        page.mouse.down()
        page.mouse.move(b, y, steps=4)
        page.mouse.up()
        page.keyboard.up("Shift")
        assert walk.selected == -1
    start, end = walk.ask("[k.painter.tape.from, k.painter.tape.to]")
    assert end - start > 0
    card = walk.element.locator(".ks-tape")
    assert format_time(end - start) in card.inner_text()
    shown = walk.ask("kinetoscope.measure(k, k.painter.tape).map(each => each.busy)")
    assert shown == [busy(trace, False, start, end), busy(trace, True, start, end)]
    rows = [row.inner_text() for row in card.locator("tbody tr").all()]
    assert [format_time(ns) in row for ns, row in zip(shown, rows, strict=True)] == [True, True]
    assert format_time(end - start) in walk.said and "busy" in walk.said
    walk.host.focus()
    page.keyboard.press("Escape")
    assert not card.is_visible()


# --- keyboard ------------------------------------------------------------------------------------------


def test_everything_can_be_done_by_keyboard(walk, trace) -> None:
    page = walk.page
    walk.host.focus()
    press = page.keyboard.press
    start = walk.window
    span = walk.span
    for key, check in {
        "w": lambda: walk.span < span,
        "s": lambda: abs(walk.span - span) < 1,
        "d": lambda: walk.window[0] > start[0],
        "ArrowRight": lambda: walk.window[0] > start[0],
        "a": lambda: True,
        "Home": lambda: walk.window == start,
        "ArrowLeft": lambda: walk.window[0] < start[0],
        "0": lambda: walk.window == everything(trace),
    }.items():
        press(key)
        assert check(), key
    for _ in range(12):
        press("Escape")
    assert walk.window == start
    assert page.evaluate("scrollY") > 0
    press(".")
    first = walk.selected
    assert first >= 0
    assert walk.said.startswith(walk.ask("k.model.shortNameOf(k.selected)"))
    press(".")
    press(",")
    assert walk.selected == first
    press("?")
    assert walk.element.locator(".ks-help").is_visible()
    press("?")
    press("Control+d")  # belongs to the browser
    assert walk.selected == first
    outline = walk.ask("getComputedStyle(k.host).outlineStyle")
    assert outline == "solid", "the focus is visible"


def test_arrows_go_down_to_a_kernel_and_up_again(walk, trace) -> None:
    press = walk.page.keyboard.press
    op = next(e for e in drawable(trace) if e.name == "aten::addmm")
    walk.ask(f"k.select(k.model.position({op.index}))")
    walk.host.focus()
    press("ArrowDown")
    call = selected(trace, walk)
    assert call.parent is not None and call.parent.index == op.index
    press("ArrowDown")
    assert [e.index for e in call.activities][:1] == [walk.selected]
    hint = walk.element.locator(".ks-walk .ks-hint")
    press("ArrowDown")
    assert hint.is_visible() and "Nothing inside" in hint.inner_text()
    press("ArrowUp")
    assert walk.selected == call.index
    # pressing a chip by key removes it, and the focus moves to the timeline
    chip = walk.element.locator(".ks-jumps button").first
    chip.focus()
    press("Enter")
    assert walk.selected != call.index
    assert walk.ask("document.activeElement === k.host")


def test_find_lights_all_hits_and_enter_goes_through_them(walk, trace) -> None:
    page = walk.page
    walk.host.focus()
    page.keyboard.press("f")
    page.keyboard.type("ATEN::*mm")
    hits = [e.index for e in drawable(trace) if e.name == "aten::addmm"]
    assert len(hits) > 1
    walk.wait_for("k.hits.length === a", len(hits))
    assert walk.lit == set(hits)
    count = walk.ask("k.model.count")
    assert walk.said == f"{len(hits)} of {count} events"
    seen = []
    for _ in hits:
        page.keyboard.press("Enter")
        seen.append(walk.selected)
        start, end = walk.window
        event = selected(trace, walk)
        assert event.start < end and event.end > start, "each hit is brought into view"
    assert sorted(seen) == hits
    page.keyboard.press("Shift+Enter")
    assert walk.selected == seen[-2]
    page.keyboard.press("Escape")
    assert walk.ask("k.hits.length") == 0
    assert walk.ask("document.activeElement === k.host")
    assert walk.ask("k.model.find('linea').length") == sum("linea" in e.name for e in drawable(trace))
    assert walk.ask("k.model.find('a(*[').length") == 0


def test_buttons_do_it_too(walk, trace) -> None:
    start, span = walk.window, walk.span
    tools = walk.element.locator(".ks-tools")
    tools.get_by_role("button", name="Zoom in").click()
    assert walk.span < span
    tools.get_by_role("button", name="Back").click()
    assert walk.window == start
    tools.get_by_role("button", name="All", exact=True).click()
    assert walk.window == everything(trace)
    tools.get_by_role("button", name="Zoom out").click()
    assert walk.window == everything(trace)
    tools.get_by_role("button", name="Find").click()
    assert walk.ask("document.activeElement === k.findInput")
    small = [
        box
        for button in tools.locator("button:visible").all()
        if (box := button.bounding_box())["height"] < 24 or box["width"] < 24
    ]
    assert small == []


def test_steps_on_top_of_each_other(walk, trace) -> None:
    button = walk.element.get_by_role("button", name="Overlay")
    button.click()
    lengths = [step.end - step.start for step in trace.steps]
    assert format_time(min(lengths)) in walk.said and format_time(max(lengths)) in walk.said
    assert walk.ask("k.view.start") == 0 and walk.ask("k.view.end") >= max(lengths)
    walk.ask("k.draw()")
    boxes = [walk.ask("k.layout.boxOf(k.model.position(a))", step.event.index) for step in trace.steps]
    assert len({round(box["x"], 3) for box in boxes}) == 1, "each starts at its own beginning"
    assert [box["y"] for box in boxes] == sorted({box["y"] for box in boxes}), "none covers another"
    x, y = walk.place(trace.steps[1].event.index)
    walk.page.mouse.click(x, y)
    assert walk.selected == trace.steps[1].event.index
    button.click()
    assert walk.window == home(walk)


# --- touch ---------------------------------------------------------------------------------------------


def fingers(page):
    """Return a function that sends a touch event with a finger at each of the given points."""
    session = page.context.new_cdp_session(page)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        places = [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(points)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})

    return touch


def test_two_fingers_zoom_and_move(phone) -> None:
    phone.reset()
    touch, box = fingers(phone.page), phone.box
    y = box["y"] + 60
    a, b = box["x"] + 120, box["x"] + 180
    left, right = phone.time_at(a), phone.time_at(b)
    touch("touchStart", (a, y))
    touch("touchStart", (a, y), (b, y))
    for k in range(1, 6):
        touch("touchMove", (a - 8 * k, y), (b + 16 * k, y))
    touch("touchEnd")
    assert abs(phone.time_at(a - 40) - left) < phone.span / 100
    assert abs(phone.time_at(b + 80) - right) < phone.span / 100
    zoomed = phone.span
    moment = phone.time_at(box["x"] + 100)
    touch("touchStart", (a, y))
    touch("touchStart", (a, y), (b, y))
    for k in range(1, 6):
        touch("touchMove", (a + 8 * k, y), (b + 8 * k, y))
    touch("touchEnd")
    assert abs(phone.span - zoomed) < zoomed / 100
    assert abs(phone.time_at(box["x"] + 140) - moment) < zoomed / 50
    assert phone.selected == -1


def test_one_finger_moves_sideways_taps_and_leaves_scrolling_to_the_page(phone, trace) -> None:
    phone.reset()
    touch, page = fingers(phone.page), phone.page
    op = inside(trace, phone, "aten::linear")
    x, y = phone.place(op.index)
    touch("touchStart", (x, y))
    touch("touchEnd")
    assert phone.selected == op.index
    assert op.name in phone.element.locator(".ks-panel").inner_text()
    window = phone.window
    x, y = phone.place(op.index)
    for _ in range(2):
        touch("touchStart", (x, y))
        touch("touchEnd")
    phone.wait_for("k.view.span < a", window[1] - window[0])
    assert abs(phone.window[0] - op.start) < op.dur / 5
    phone.reset()
    x, y = phone.box["x"] + 200, phone.box["y"] + 60
    moment = phone.time_at(x)
    touch("touchStart", (x, y))
    for k in range(1, 11):
        touch("touchMove", (x - 10 * k, y))
    touch("touchEnd")
    assert phone.window != window
    # The browser uses the first few px to find out which way the finger moves.
    assert abs(phone.time_at(x - 100) - moment) < phone.span / 10
    phone.reset()
    scrolled = page.evaluate("scrollY")
    touch("touchStart", (x, y + 40))
    for k in range(1, 11):
        touch("touchMove", (x, y + 40 - 8 * k))
    touch("touchEnd")
    page.wait_for_function("y => scrollY > y + 20", arg=scrolled)
    assert phone.window == window
    assert phone.ask("k.layout.width") < 480, "a phone has the narrow picture"


def test_a_zoom_is_animated_if_the_reader_allows_motion(built, browser, served) -> None:
    with Visit(browser, served, "light") as visit:
        visit.page.emulate_media(reduced_motion="no-preference")
        visit.open(PAGE)
        walk = Walk(visit.page, FIGURE)
        span, draws = walk.span, walk.ask("k.draws")
        walk.host.focus()
        visit.page.keyboard.press("w")
        assert walk.span > span / 1.5 * 1.001 or walk.ask("k.draws") > draws + 1, "the zoom is animated"
        walk.wait_for("Math.abs(k.view.span - a) < 1", span / 1.5)
        visit.page.keyboard.press("w")  # Escape goes back to the first range even while a zoom is under way
        visit.page.keyboard.press("Escape")
        visit.page.keyboard.press("Escape")
        walk.wait_for("Math.abs(k.view.span - a) < 1", span)


# --- tables, numbers, address --------------------------------------------------------------------------


def test_tables_and_numbers_light_their_events(walk, trace) -> None:
    page = walk.page
    row = page.locator(".ks-table[data-trace='nvidia-h200/linear_eager'] tr[data-events]").first
    places = {int(part) for part in row.get_attribute("data-events").split()}
    row.scroll_into_view_if_needed()
    row.locator("td").first.hover()
    assert walk.lit == places
    page.mouse.move(1, 1)
    page.mouse.move(2, 2)
    number = page.locator(".ks-measured[data-events^='nvidia-h200/linear_eager:']:visible").first
    places = {int(part) for part in number.get_attribute("data-events").partition(":")[2].split()}
    number.hover()
    assert walk.lit == places
    number.click()
    assert walk.selected in places and walk.lit == places
    assert number.text_content() in walk.said and f"{len(places)} event" in walk.said
    box = walk.host.bounding_box()
    assert box["y"] < 900 and box["y"] + box["height"] > 0, "the figure is scrolled to"
    # the other way round: pointing at an event in the figure marks its row
    walk.reset()
    kernel = trace.kernels[1]
    page.mouse.move(1, 1)
    page.mouse.move(*walk.place(kernel.index))
    marked = page.locator("tr.ks-of-event").all()
    assert marked and all(str(kernel.index) in row.get_attribute("data-events").split() for row in marked)


def test_tables_and_numbers_by_keyboard(walk) -> None:
    page = walk.page
    stops = page.locator(".ks-walkable.ks-measured[tabindex='0'], span.ks-walkable[tabindex='0']")
    assert stops.count() == 1, "one tab stop for all numbers of the page"
    assert stops.evaluate("number => number.checkVisibility()"), "the tab stop is not folded away"
    assert page.locator("tr[tabindex='0']").count() == 0
    stops.focus()
    page.keyboard.press("ArrowRight")
    assert stops.count() == 1
    assert page.evaluate("document.activeElement.matches('.ks-walkable[role=button]')")
    asked = page.evaluate("document.activeElement.dataset.events").partition("nvidia-h200/linear_eager:")[2]
    assert walk.lit == {int(part) for part in asked.partition(";")[0].split()}
    page.keyboard.press("Enter")
    page.wait_for_function("[...kinetoscope.figures].some(k => k.selected >= 0)")
    table = page.locator(".ks-table[data-trace='nvidia-h200/linear_eager']").first
    table.focus()
    page.keyboard.press("ArrowDown")
    places = page.evaluate("document.activeElement.closest('tr').dataset.events").split()
    assert walk.lit == set(map(int, places))
    page.keyboard.press("Enter")
    assert str(walk.selected) in places
    page.evaluate("[...kinetoscope.figures].forEach(k => { k.select(-1); k.view.goHome() })")


def test_a_number_far_below_leads_to_the_whole_timeline_and_back(walk) -> None:
    page = walk.page
    number = page.locator(".ks-measured.ks-walkable[data-events^='nvidia-h200/linear_eager:']:visible").last
    number.scroll_into_view_if_needed()
    number.click()
    back = page.locator(".ks-return")
    back.wait_for()
    frame = back.locator("xpath=..").locator(".ks-frame").bounding_box()
    header = page.locator(".bd-header").bounding_box()
    assert frame["y"] >= header["y"] + header["height"], "the header covers nothing of the figure"
    back.click()
    assert back.count() == 0
    assert 0 < number.bounding_box()["y"] < 900
    assert number.evaluate("number => document.activeElement === number")
    page.evaluate("[...kinetoscope.figures].forEach(k => { k.select(-1); k.view.goHome() })")


def test_the_url_keeps_the_view(built, walk, trace, served) -> None:
    page = walk.page
    kernel = trace.kernels[0]
    walk.ask("(k.openFind('aten::t'), k.select(k.model.position(a)), k.zoomTo(k.selected))", kernel.index)
    page.wait_for_function("location.hash.includes('find=')")
    start, end = walk.window
    address = page.evaluate("location.href")
    assert f"#{FIGURE}@{round(start)}-{round(end)},e={kernel.index},find=aten" in address
    for base in (address, address.replace(served, f"{built.html.as_uri()}/")):
        size = {"width": 1440, "height": 900}
        tab = page.context.browser.new_context(viewport=size, reduced_motion="reduce").new_page()
        tab.add_init_script("localStorage.mode = localStorage.theme = 'light'")
        errors: list[str] = []
        tab.on("pageerror", lambda error, errors=errors: errors.append(str(error)))
        tab.on("console", lambda said, errors=errors: said.type == "error" and errors.append(said.text))
        tab.goto(base)
        again = Walk(tab, FIGURE)
        assert again.selected == kernel.index
        assert again.window == pytest.approx((start, end), abs=1)
        assert again.ask("k.hits.length") == sum("aten::t" in e.name for e in drawable(trace))
        box = again.host.bounding_box()
        assert 0 <= box["y"] < 900, "the page is scrolled to it"
        # keys work in a page from a file, too
        again.host.focus()
        tab.keyboard.press("0")
        assert again.window == everything(trace)
        assert errors == []
        tab.context.close()
    walk.reset()
    page.wait_for_function("!location.hash.includes('@')")
    page.evaluate("location.hash = '#no-such-place'")
    walk.ask("k.view.pan(0)")
    assert page.evaluate("location.hash") == "#no-such-place"


# --- the tree ------------------------------------------------------------------------------------------


def test_the_timeline_is_a_tree_for_screen_readers(walk, trace) -> None:
    page = walk.page
    walk.element.locator(".ks-outline summary").click()
    tree = walk.element.get_by_role("tree")
    items = tree.get_by_role("treeitem")
    items.first.wait_for()
    assert items.count() == 2, "only the lanes, until one is expanded"
    items.first.focus()
    press = page.keyboard.press
    press("ArrowRight")
    press("ArrowRight")
    op = inside(trace, walk, "aten::linear")
    while walk.selected != op.index:
        before = page.evaluate("document.activeElement.dataset.item")
        if page.evaluate("document.activeElement.ariaExpanded") == "false" and walk.selected in above(op):
            press("ArrowRight")
        press("ArrowDown")
        assert page.evaluate("document.activeElement.dataset.item") != before, "the op is in the tree"
    name = page.evaluate("document.activeElement.textContent")
    step = next(step for step in trace.steps if step.start <= op.start < step.event.end)
    assert name == (
        f"aten::linear, op, {format_time(op.dur)}, self {format_time(op.self_dur)},"
        f" starts at {format_time(op.start - step.start)} of step {step.number}, launches 1 kernel"
    )
    first, last = walk.window
    assert first < op.end and last > op.start
    level = int(page.evaluate("document.activeElement.ariaLevel"))
    for _ in range(12):  # down to the kernel, through the call that launched it
        press("ArrowRight")
        if page.evaluate("document.activeElement.textContent").split(", ")[1] == "kernel":
            break
        if page.evaluate("document.activeElement.ariaExpanded") is None:
            press("ArrowDown")
    kernel = kernel_of(op)
    assert walk.selected == kernel.index
    assert int(page.evaluate("document.activeElement.ariaLevel")) > level
    press("Enter")
    assert walk.span < 3 * kernel.dur
    press("ArrowLeft")
    assert walk.selected == kernel.launch.index
    press("Home")
    assert page.evaluate("document.activeElement.ariaLevel") == "1"
    press("ArrowLeft")
    assert items.count() == 2
    assert items.evaluate_all("nodes => nodes.filter(node => node.tabIndex === 0).length") == 1
    walk.element.locator(".ks-outline summary").click()


def test_axe_finds_nothing_in_an_interactive_timeline(walk, trace, visit) -> None:
    op = inside(trace, walk, "aten::addmm")
    walk.ask("(k.openFind('aten'), k.select(k.model.position(a)), k.markTape(), k.toggleHelp())", op.index)
    walk.element.locator(".ks-outline summary").click()
    walk.page.evaluate(axe_source())
    for theme in ("light", "dark"):
        walk.page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        faults = walk.page.evaluate(
            "async id => (await axe.run(document.getElementById(id),"
            " {preload: false, rules: {'target-size': {enabled: true}}}))"
            ".violations.flatMap(rule => rule.nodes.map(node => `${rule.id}: ${node.html}`))",
            FIGURE,
        )
        assert faults == []
    walk.page.evaluate("document.documentElement.dataset.theme = 'light'")
    walk.ask("k.toggleHelp()")
    walk.element.locator(".ks-outline summary").click()


# --- a real model's trace ------------------------------------------------------------------------------

BIG = """n => {
  const columns = {index: [], name: [], kind: [], category: [], lane: [], row: [], start: [], dur: [],
                   parent: [], launch: [], step: [], detail: []};
  const add = (start, dur, lane, row, name, kind, parent, launch) => {
    all.push({start, dur, lane, row, name, kind, category: kind, parent, launch, step: -1, detail: -1});
    return all.length - 1;
  };
  const all = [];
  let seed = 1;
  const random = most => (seed = (seed * 48271) % 2147483647) % most;
  for (let t = 0, gpu = 0; all.length < n;) {
    const depth = 2 + random(8);
    let start = t, dur = depth * 4000 + random(9000), parent = -1;
    for (let row = 0; row < depth; row++, start += 50 + random(900), dur -= 2200)
      parent = add(start, Math.max(dur, 1), 0, row, random(60), 0, parent, -1);
    const call = add(start, Math.max(900, dur), 0, depth, 60, 1, parent, -1);
    gpu = Math.max(gpu, start + 3000);
    add(gpu, 800 + random(20000), 1, 0, 61 + random(40), 2 + random(2), -1, call);
    gpu += all.at(-1).dur;
    t += depth * 4000 + 9000 + random(4000);
  }
  const order = all.map((_, k) => k).sort((a, b) => all[a].start - all[b].start || all[a].row - all[b].row);
  const place = [];
  order.forEach((k, at) => (place[k] = at));
  let before = 0;
  order.forEach((k, at) => {
    const event = all[k];
    for (const name of Object.keys(columns))
      columns[name].push(name === "index" ? at : name === "start" ? event.start - before
        : name === "parent" || name === "launch" ? place[event[name]] ?? -1 : event[name]);
    before = event.start;
  });
  const names = Array.from({length: 101}, (_, k) => k === 60 ? "cudaLaunchKernel"
    : k < 60 ? [`aten::op_${k}`, `aten::op_${k}`, `op_${k}`]
    : [`void at::native::kernel_${k}<float>(int)`, `kernel_${k}<float>`, `kernel_${k}`]);
  kinetoscope.data("m/big", {version: 3, machine: "m", name: "big", start: 0, end: before + 10000,
    kinds: ["op", "call", "gemm", "kernel"], kindLabels: {}, names,
    categories: ["op", "call", "kernel", "kernel"],
    lanes: [{label: "CPU", brief: "CPU", gpu: false, rows: 10},
            {label: "GPU", brief: "GPU", gpu: true, rows: 1}],
    steps: [], details: [], events: columns});
  const figure = document.createElement("figure");
  figure.className = "ks-timeline";
  figure.id = "big";
  figure.innerHTML = '<div class="ks-frame"></div><div class="ks-tools" data-trace="m/big"></div>';
  document.querySelector("article").replaceChildren(figure);
  kinetoscope.enliven(figure);
}"""
PAN = """async zoom => {
  const k = document.getElementById("big").kinetoscope;
  const {view} = k;
  // Each frame counts with its fastest of several rounds, because other load only adds time.
  const least = new Float64Array(60).fill(Infinity);
  const p95 = () => least.toSorted()[56];
  for (let round = 0; round < 6 && !(p95() <= 8); round++) {
    view.set(view.min, view.max);
    view.zoom(zoom, view.max / 3);
    for (let frame = 0; frame < least.length; frame++) {
      await new Promise(requestAnimationFrame);
      view.pan(view.span * (frame < 30 ? 0.01 : -0.01));
      const begin = performance.now();
      k.draw();
      least[frame] = Math.min(least[frame], performance.now() - begin);
    }
  }
  return {p95: p95(), bars: k.layout.count};
}"""


def test_a_hundred_thousand_events_move_smoothly(visit, say) -> None:
    page = visit.page
    Walk(page, FIGURE)
    page.evaluate(BIG, 100_000)
    walk = Walk(page, "big")
    try:
        assert walk.ask("k.model.count") >= 100_000
        frames = [page.evaluate(PAN, zoom) for zoom in (1, 0.03)]
        worst = max(each["p95"] for each in frames)
        say(f"a frame while panning over 100,000 events: {worst:.1f} ms of scripting at the 95th percentile")
        assert worst <= 8
        assert max(each["bars"] for each in frames) < 12_000, "events narrower than a pixel are merged"
        # pointing at merged events says so, and find counts each of them
        walk.ask("(k.view.goAll(), k.draw())")
        box = walk.box
        page.mouse.move(box["x"] + 300, box["y"] + 60)
        page.mouse.move(box["x"] + 301, box["y"] + 60)
        assert "too close to tell apart" in walk.element.locator(".ks-panel").inner_text()
        walk.ask("k.openFind('aten::op_1?')")
        assert walk.ask("k.hits.length") > 5000
        walk.ask("k.openFind('')")
        # the tree holds a few hundred items at most
        walk.element.locator(".ks-outline summary").click()
        tree = walk.element.get_by_role("treeitem")
        tree.first.focus()
        page.evaluate(
            "for (let k = 0; k < 500; k++) document.activeElement.dispatchEvent("
            "new KeyboardEvent('keydown', {key: k % 2 ? 'ArrowDown' : 'ArrowRight', bubbles: true}))"
        )
        assert 100 < tree.count() <= 300
        assert page.evaluate("document.querySelectorAll('*').length") <= 5000
    finally:
        visit.open(PAGE)
