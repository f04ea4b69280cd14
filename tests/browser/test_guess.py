"""The guess box: choose, commit, read the answer; by mouse and keyboard, on paper, without JavaScript."""

from __future__ import annotations

from pathlib import Path

import pytest
from visiting import Visit, visiting

import kinetoscope.book

pytestmark = pytest.mark.browser

STATIC = Path(kinetoscope.book.__file__).with_name("static")

FOCUSED = "document.activeElement.textContent.trim().replace(/\\s+/g, ' ')"
SHOWN = """element => element.checkVisibility({contentVisibilityAuto: true, opacityProperty: true})
  && element.getBoundingClientRect().height > 10"""
KEPT = "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href])"


def visible(locator) -> bool:
    return locator.evaluate(SHOWN)


def state(box) -> str | None:
    return box.get_attribute("data-state")


def texts(box) -> list[str]:
    return [" ".join(text.split()) for text in box.locator(".ks-choice").all_inner_texts()]


def test_the_keyboard_alone_chooses_commits_and_reads_on(website, browser, served) -> None:
    with Visit(browser, served, "light") as visit:
        visit.open("read/linear")
        page, box = visit.page, visit.page.locator(".ks-guess").first
        kept = page.evaluate(KEPT)
        assert not visible(box.locator(".ks-evidence"))
        box.locator("legend a").focus()

        # Enter with nothing chosen asks for a choice.
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        assert page.evaluate(FOCUSED) == "That is my guess"
        page.keyboard.press("Enter")
        hint = box.locator("[role=status]")
        assert "Choose one first" in hint.inner_text() and visible(hint)
        assert hint.evaluate("hint => getComputedStyle(hint).position") == "static"
        assert page.evaluate("document.activeElement.type") == "radio"
        assert state(box) == "asked"

        page.keyboard.press("ArrowDown")  # from the first, which has the focus, to the second
        assert box.locator("input").nth(1).is_checked()
        assert box.locator("[role=status]").inner_text() == ""
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert state(box) == "wrong"
        assert page.evaluate(FOCUSED).startswith("✗ Not this time: you guessed 2.")
        assert visible(box.locator(".ks-evidence"))
        assert "The recording says: 1" in box.locator(".ks-evidence").inner_text()
        assert texts(box) == ["1 ✓ recorded", "2 ✗ your guess", "3"]
        assert box.locator("input:enabled").count() == 0 and not box.locator(".ks-commit").is_visible()

        # the next Tab goes to what follows the verdict
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.getBoundingClientRect().top") > 0
        assert page.evaluate(KEPT) == kept
        visit.open("read/linear")
        assert state(box) == "asked" and box.locator("input:checked").count() == 0


def test_a_right_guess_by_mouse_and_a_look_at_the_answer(website, browser, served) -> None:
    with Visit(browser, served, "light") as visit:
        visit.open("read/linear")
        first, second = (visit.page.locator(".ks-guess").nth(n) for n in (0, 1))
        second.locator(".ks-choices").get_by_text("yes", exact=True).click()
        second.get_by_role("button", name="That is my guess").click()
        assert state(second) == "right" and state(first) == "asked"
        assert second.locator(".ks-guess-verdict").inner_text() == "✓ Right. The recording agrees with you."
        assert texts(second) == ["yes ✓ your guess", "no"]

        first.get_by_text("Just show me").click()
        visit.page.wait_for_function("document.querySelector('.ks-guess').dataset.state === 'shown'")
        assert texts(first) == ["1 ✓ recorded", "2", "3"]
        assert not first.locator(".ks-guess-verdict").is_visible()
        first.get_by_text("The answer").click()
        visit.page.wait_for_function("document.querySelector('.ks-guess').dataset.state === 'asked'")
        assert texts(first) == ["1", "2", "3"] and first.locator("input:enabled").count() == 3


VEILED = "figure => getComputedStyle(figure.querySelector('.ks-frame > *')).filter.startsWith('blur')"


def test_the_picture_below_a_question_is_blurred_until_it_is_answered_or_used(
    website, browser, served
) -> None:
    with Visit(browser, served, "light") as visit:
        visit.open("read/linear")
        boxes, figures = (visit.page.locator(css) for css in (".ks-guess", ".ks-guess + .ks-timeline"))
        assert figures.count() == boxes.count() == 2
        first, second = figures.nth(0), figures.nth(1)
        assert first.evaluate(VEILED) and second.evaluate(VEILED)
        boxes.nth(0).locator("input").nth(0).check()
        boxes.nth(0).get_by_role("button", name="That is my guess").click()
        assert not first.evaluate(VEILED) and second.evaluate(VEILED)
        second.locator(".ks-download").focus()
        visit.page.keyboard.press("Tab")
        assert second.evaluate(VEILED), "Tab only passes through the figure"
        second.locator(".ks-download").focus()
        visit.page.keyboard.press("ArrowDown")
        assert not second.evaluate(VEILED)
    with Visit(browser, served, "light", javascript=False) as visit:
        visit.open("read/linear")
        assert not visit.page.locator(".ks-guess + .ks-timeline").first.evaluate(VEILED)


def test_without_javascript_the_choices_can_be_made_and_the_answer_opens(website, browser, served) -> None:
    with Visit(browser, served, "light", javascript=False) as visit:
        visit.open("read/linear")
        box = visit.page.locator(".ks-guess").first
        assert box.get_by_role("button").count() == 0
        box.locator("input").nth(2).check()
        plain = box.locator("[data-right]").evaluate("label => getComputedStyle(label).boxShadow")
        box.get_by_text("Just show me").click()
        assert visible(box.locator(".ks-evidence"))
        assert box.locator("[data-right]").evaluate("label => getComputedStyle(label).boxShadow") != plain


@pytest.mark.parametrize("javascript", [True, False])
def test_on_paper_the_answer_is_open(website, browser, served, javascript: bool) -> None:
    with Visit(browser, served, "light", javascript=javascript) as visit:
        visit.open("read/linear")
        box = visit.page.locator(".ks-guess").first
        visit.page.emulate_media(media="print", reduced_motion="no-preference")
        if not javascript:
            assert box.locator(".ks-evidence").evaluate(SHOWN)
        else:
            visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
            assert box.locator(".ks-answer").evaluate("details => details.open")
            # a printed page shows the state before animations
            moving = (
                "box => box.getAnimations({ subtree: true }).filter(it => it instanceof CSSAnimation).length"
            )
            assert box.evaluate(moving) == 0
            assert visit.page.locator(":is(.sd-dropdown, .ks-how):not([open])").count() == 0
            visit.page.evaluate("dispatchEvent(new Event('afterprint'))")
            assert not box.locator(".ks-answer").evaluate("details => details.open")
        assert not box.locator("summary").is_visible()


PAGE = """<!doctype html><html lang=en><meta charset=utf-8><title>x</title><link rel=icon href="data:,">
<link rel=stylesheet href=kinetoscope.css>
<div class=ks-guess><fieldset class=ks-choices><legend>How many?</legend>
<label class=ks-choice><input type=radio name=x> <span>3</span></label>
<label class=ks-choice><input type=radio name=x> <span>5</span></label></fieldset>
<details class=ks-answer><summary>Just show me</summary>
<div class=ks-evidence>{}<p>Because.</p></div></details>
</div><script src=guess.js></script>"""
SAID = "<p class=ks-right>The recording says: <strong>{}</strong></p>"


def visiting_guess(browser, folder: Path, said: str):
    """Open a page with one guess, whose answer is ``said``."""
    for name in ("guess.js", "kinetoscope.css"):
        (folder / name).write_bytes((STATIC / name).read_bytes())
    return visiting(browser, folder, PAGE.format(said))


@pytest.mark.parametrize(
    ("said", "expected", "verdict", "choices"),
    [
        (SAID.format(5), "right", "✓ Right.", ["3", "5 ✓ your guess"]),
        (SAID.format(3), "wrong", "✗ Not this time: you guessed 5.", ["3 ✓ recorded", "5 ✗ your guess"]),
        (SAID.format(7), "other", "≠ None of the choices.", ["3", "5 ✗ your guess"]),
        ("", "open", "You guessed 5. Compare it with the answer.", ["3", "5 your guess"]),
        ("<p>Not measured here.</p>", "open", "You guessed 5.", ["3", "5 your guess"]),
    ],
)
def test_each_outcome_of_a_guess(
    tmp_path, browser, said: str, expected: str, verdict: str, choices: list[str]
) -> None:
    with visiting_guess(browser, tmp_path, said) as visit:
        box = visit.page.locator(".ks-guess")
        box.locator("input").nth(1).focus()
        visit.page.keyboard.press("Space")
        visit.page.keyboard.press("Enter")
        assert state(box) == expected
        assert visit.page.evaluate(FOCUSED).startswith(verdict)
        assert texts(box) == choices
        assert visible(box.get_by_text("Because."))


def test_another_recording_has_another_answer(tmp_path, browser) -> None:
    """The control for choosing a recording hides one of the two lines and shows the other."""
    said = f"<div class=a>{SAID.format(5)}</div><div class=b hidden>{SAID.format(3)}</div>"
    with visiting_guess(browser, tmp_path, said) as visit:
        box = visit.page.locator(".ks-guess")
        box.locator("input").nth(1).check()
        box.get_by_role("button", name="That is my guess").click()
        assert state(box) == "right"
        visit.page.evaluate(
            """for (const part of document.querySelectorAll('.a, .b')) part.hidden = !part.hidden;
            document.dispatchEvent(new CustomEvent('kinetoscope:machine'))"""
        )
        assert state(box) == "wrong" and texts(box) == ["3 ✓ recorded", "5 ✗ your guess"]
