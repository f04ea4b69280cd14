"""The control that chooses a recording: keys, the next page, a URL, pages from a file, no JavaScript."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest
from sphinx.cmd.build import main as sphinx_build
from visiting import Visit, serving

from kinetoscope.record.provenance import Machine, Provenance
from kinetoscope.record.script import read_script
from kinetoscope.record.store import BlockOutput, write_example, write_machine

pytestmark = pytest.mark.browser
TRACE = Path(__file__).parents[1] / "data/traces/linear_1024_32_64_eager.json.gz"

CONF = """
extensions = ["kinetoscope", "sphinx_gallery.gen_gallery", "myst_parser"]
exclude_patterns = ["recordings", "gallery/sg_execution_times.rst"]
html_theme = "basic"
kinetoscope_machine = "new"
sphinx_gallery_conf = {
    "examples_dirs": "../examples", "gallery_dirs": "gallery", "write_computation_times": False,
}
"""
INDEX = """\
# First

It takes {measured}`time(linear.kernels)`.

```{guess}
:right: time(linear.kernels) < us(5)
Is it quick?

- yes
- no

That is so.
```

```{claim} quick
:expect: time(linear.kernels) < us(5)
It is quick.
```

```{timeline} linear
```

````{when} machine.gpu_arch == "sm_90"
## New things

Only new.
````

````{when} machine.gpu_arch == "sm_80"
## Old things

Only old.
````

[To the second](second.md)

```{toctree}
second
gallery/index
```
"""
SECOND = """\
# Second

It takes {measured}`time(linear.kernels)`, says {measured}`machine.gpu`.
"""
EXAMPLE = '"""\nLinear\n======\n"""\nprint(1)\n'

SHOWN = "document.querySelector('[role=main]').innerText.replace(/\\s+/g, ' ')"
# Before deferred scripts run and anything is drawn: is what the page shows without the script visible?
AT_FIRST = """
document.addEventListener("readystatechange", () => {
  const box = document.querySelector(".ks-for");
  if (document.readyState === "interactive" && box) globalThis.atFirst ??= getComputedStyle(box).visibility;
}, true);
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A book with two machines; on the second, kernels take three times as long."""
    root = tmp_path_factory.mktemp("switch")
    for name, text in {
        "conf.py": CONF,
        "docs/index.md": INDEX,
        "docs/second.md": SECOND,
        "examples/GALLERY_HEADER.rst": "Examples\n========\n",
        "examples/linear.py": EXAMPLE,
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    (block,) = read_script(root / "examples/linear.py").blocks
    for name, gpu, arch, times in (("new", "New GPU", "sm_90", 1), ("old", "Old GPU", "sm_80", 3)):
        trace = json.loads(gzip.decompress(TRACE.read_bytes()))
        for event in trace["traceEvents"]:
            if event.get("cat") == "kernel":
                event["dur"] *= times
        provenance = Provenance(machine=Machine(gpu=gpu, gpu_arch=arch), python="3.12", recorded="2026-11-29")
        folder = root / "docs/recordings" / name
        write_example(
            folder,
            "linear",
            code_objects={},
            blocks=[BlockOutput(block.code, block.before, "")],
            files={"linear.json.gz": gzip.compress(json.dumps(trace).encode(), mtime=0)},
            run_time=1.0,
            provenance=provenance,
        )
        write_machine(folder, provenance)
    options = ["-q", "-W", "-c", str(root), "-D", "kinetoscope_mode=replay"]
    assert sphinx_build([*options, str(root / "docs"), str(root / "html")]) == 0
    return root / "html"


@pytest.fixture
def visit(site, browser):
    with serving(site) as address, Visit(browser, address, "light") as visit:
        visit.context.add_init_script(AT_FIRST)
        yield visit


def test_the_whole_page_changes_and_the_next_page_keeps_the_choice(visit) -> None:
    page = visit.page
    visit.open("index")
    shown = page.evaluate(SHOWN)
    assert "It takes 2.72 µs." in shown and "Recorded on New GPU" in shown and "Only new." in shown
    assert page.evaluate("globalThis.atFirst") == "visible"

    # by keyboard: focus the chosen machine, then choose the next one
    page.get_by_role("radio", name="New GPU").focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("group", name="Numbers from").get_by_role("radio", checked=True).count() == 1
    shown = page.evaluate(SHOWN)
    assert "It takes 8.16 µs." in shown and "Recorded on Old GPU" in shown
    assert "Only old." in shown and "Only new." not in shown and "2.72" not in shown
    box = page.locator("#quick")
    assert "does not hold here" in box.inner_text()
    assert box.evaluate("box => getComputedStyle(box).borderInlineStartColor") == page.evaluate(
        "(() => { const p = document.createElement('p'); p.style.color = 'var(--ks-highlight)';"
        " document.body.append(p); return getComputedStyle(p).color; })()"
    )
    # the chosen machine answers the guess
    page.get_by_label("no", exact=True).check()
    page.get_by_role("button", name="That is my guess").click()
    assert page.locator(".ks-guess").get_attribute("data-state") == "right"
    page.get_by_role("radio", name="New GPU").check()
    page.wait_for_function("document.querySelector('.ks-guess').dataset.state === 'wrong'")
    page.get_by_role("radio", name="Old GPU").check()

    # the next page never shows the other machine's numbers, not even at first; then go back
    page.get_by_role("link", name="To the second").click()
    page.wait_for_url("**/second.html")
    assert "It takes 8.16 µs, says Old GPU" in page.evaluate(SHOWN)
    assert page.evaluate("globalThis.atFirst") == "hidden"
    page.get_by_role("radio", name="New GPU").check()
    page.go_back()
    page.wait_for_function("document.querySelector('[role=main]').innerText.includes('2.72 µs')")
    assert page.get_by_role("radio", name="New GPU").is_checked()


def test_the_timeline_of_the_other_machine_becomes_interactive(visit) -> None:
    page = visit.page
    visit.open("index")
    page.get_by_role("radio", name="Old GPU").check()
    figure = page.locator("figure.ks-timeline:visible")
    assert figure.get_attribute("id").endswith("-on-old")
    figure.scroll_into_view_if_needed()
    page.wait_for_function("id => document.getElementById(id).kinetoscope", arg=figure.get_attribute("id"))
    assert figure.evaluate("figure => figure.kinetoscope.key") == "old/linear"
    # a number in the text leads to it
    page.locator(".ks-measured.ks-walkable:visible").first.click()
    page.wait_for_function("location.hash.includes('-on-old@')")
    address = page.evaluate("location.href")

    # a URL with a place chooses the machine of that place; choosing another machine drops the place
    page.evaluate("sessionStorage.clear()")
    page.goto("about:blank")
    page.goto(address)
    assert page.get_by_role("radio", name="Old GPU").is_checked()
    assert "It takes 8.16 µs." in page.evaluate(SHOWN)
    page.get_by_role("radio", name="New GPU").check()
    page.wait_for_function("!location.href.includes('#')")
    page.reload()
    assert "It takes 2.72 µs." in page.evaluate(SHOWN)


def test_the_contents_list_only_visible_sections(visit) -> None:
    page = visit.page
    visit.open("index")
    contents = page.locator("li", has_text="New things").last
    assert contents.is_visible()
    page.get_by_role("radio", name="Old GPU").check()
    assert not contents.is_visible()


def test_without_javascript_and_from_a_disk(site, browser, tmp_path: Path) -> None:
    with serving(site) as address, Visit(browser, address, "light", javascript=False) as visit:
        visit.open("index")
        assert visit.page.get_by_role("radio", name="New GPU").count() == 0
        text = visit.page.locator("[role=main]").inner_text()
        assert "It takes 2.72 µs." in text and "8.16" not in text and "Only old." not in text
    shutil.copytree(site, tmp_path / "disk")
    with Visit(browser, (tmp_path / "disk").as_uri() + "/", "dark") as visit:
        visit.open("index")
        visit.page.get_by_role("radio", name="Old GPU").check()
        visit.page.get_by_role("link", name="To the second").click()
        visit.page.wait_for_url("**/second.html")
        assert "It takes 8.16 µs, says Old GPU" in visit.page.evaluate(SHOWN)
