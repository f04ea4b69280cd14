"""The ladder's strips: what is in them, on one scale, in words and on paper."""

from __future__ import annotations

import re

import pytest

from kinetoscope.draw.ladder import Mark, Strip, common_scale, strip, strip_svg
from kinetoscope.draw.layout import typical_step
from kinetoscope.trace import Kind


def test_a_strip_is_the_typical_step_and_what_it_waited_for(sample) -> None:
    trace = sample("geglu_eager")
    step = typical_step(trace.steps)
    drawn = strip(trace, "geglu_eager")
    own = [mark for mark in drawn.marks if mark.on_gpu and not mark.faded]
    assert len(own) == len(step.gpu)
    assert sum(mark.end - mark.start for mark in own) == sum(event.dur for event in step.gpu)
    assert {mark.kind for mark in own} <= {"gemm", "kernel", "copy"}
    assert (drawn.cpu_end, drawn.end) == (step.event.end - step.start, step.end - step.start)
    assert all(0 <= mark.start <= mark.end <= drawn.end for mark in drawn.marks)
    outermost = [e for e in step.event.children if e.kind is Kind.OP]
    others = [e for e in step.event.walk() if e.kind is Kind.OP and e.parent and e.parent.kind is not Kind.OP]
    assert sum(mark.kind == "op" for mark in drawn.marks) == len({id(e) for e in (*outermost, *others)})


def test_faint_is_other_steps_work() -> None:
    text = strip_svg(
        Strip("x", (Mark("gemm", True, 0, 10, True), Mark("gemm", True, 20, 30)), 15, 30),
        common_scale([Strip("x", (), 15, 40)]),
        label='a "b" & c',
    )
    faint, own = re.findall(r'<rect class="ks-mark ([^"]*)" x="([\d.]+%)"[^>]* width="([\d.]+%)"', text)
    assert faint == ("ks-gemm ks-faded", "0%", "25%")
    assert own == ("ks-gemm", "50%", "25%")
    assert 'aria-label="a &quot;b&quot; &amp; c"' in text


@pytest.mark.parametrize(
    ("longest", "labels"),
    [
        (630_400, ["0", "100 µs", "200 µs", "300 µs", "400 µs", "500 µs", "600 µs"]),
        (1_400, ["0", "200 ns", "400 ns", "600 ns", "800 ns", "1000 ns", "1200 ns", "1400 ns"]),
        (5_819_000, ["0", "1 ms", "2 ms", "3 ms", "4 ms", "5 ms"]),
        (0, ["0", "1 ns"]),
    ],
)
def test_one_scale_for_all_with_few_round_ticks(longest: int, labels: list[str]) -> None:
    scale = common_scale([Strip("a", (), 1, longest // 2), Strip("b", (), 1, longest)])
    assert scale.length == max(longest, 1)
    assert [label for _, label in scale.ticks] == labels
    assert [at for at, _ in scale.ticks] == sorted(at for at, _ in scale.ticks)


def test_paper_and_card_are_the_same_each_time(sample, tmp_path) -> None:
    pytest.importorskip("matplotlib")
    from kinetoscope.draw.matplotlib_backend import CARD, save_card, save_ladder

    strips = [strip(sample("geglu_eager"), "geglu_eager")]
    for suffix in ("png", "pdf"):
        for name in ("a", "b"):
            save_ladder(strips, tmp_path / f"{name}.{suffix}")
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()
    with pytest.raises(ValueError, match=r"saved as \.png or \.pdf"):
        save_ladder(strips, tmp_path / "a.jpg")
    for name in ("a", "b"):
        save_card(strips, tmp_path / f"card-{name}.png", title="A $title$ of some length", below="here")
    card = (tmp_path / "card-a.png").read_bytes()
    assert card == (tmp_path / "card-b.png").read_bytes()
    assert (int.from_bytes(card[16:20], "big"), int.from_bytes(card[20:24], "big")) == CARD
