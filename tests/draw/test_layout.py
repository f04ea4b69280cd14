"""The geometry of timelines: nothing overlaps, nothing leaves its place, arrows meet their ends."""

from __future__ import annotations

import itertools
import re
import tracemalloc

import pytest

from kinetoscope.draw.describe import describe, headline
from kinetoscope.draw.figure import standalone_svg
from kinetoscope.draw.layout import MOST_ROWS, LayoutError, TimelineOptions, lay_out, typical_step
from kinetoscope.draw.names import clean, short_name
from kinetoscope.draw.text_metrics import fit, text_width
from kinetoscope.trace import Kind, Trace

WIDTHS = (340, 720)


def rows_of(picture):
    rows = {}
    for bar in picture.bars:
        rows.setdefault((bar.lane, bar.row), []).append(bar)
    return [sorted(row, key=lambda bar: bar.x) for row in rows.values()]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("steps", [None, "all"])
def test_labels_neither_overlap_nor_leave_their_place(any_trace: Trace, width: int, steps) -> None:
    picture = lay_out(any_trace, TimelineOptions(steps=steps), width=width)
    for row in rows_of(picture):
        for bar in row:
            if not (label := bar.label):
                continue
            text = f"{label.name}  {label.time}" if label.time else label.name
            assert text_width(text, picture.style.font) <= label.end - label.start + 1e-6
            if label.place == "inside":
                assert bar.x <= label.start and label.end <= bar.x + bar.w
            else:  # in free space: on no bar at all, and within the picture
                assert label.start >= 0 and label.end <= width
                assert not [other for other in row if other.x < label.end and other.x + other.w > label.start]
        spans = sorted((bar.label.start, bar.label.end) for bar in row if bar.label)
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    ticks = [(t.label_x, text_width(t.label, picture.style.font) / 2) for t in picture.ticks if t.label]
    assert all(x - half >= 0 and x + half <= width for x, half in ticks)
    assert all(a + ha < b - hb for (a, ha), (b, hb) in itertools.pairwise(ticks))


@pytest.mark.parametrize("width", WIDTHS)
def test_bars_are_visible_apart_and_inside_the_picture(any_trace: Trace, width: int) -> None:
    picture = lay_out(any_trace, TimelineOptions(steps="all"), width=width)
    for row in rows_of(picture):
        for bar in row:
            assert bar.w >= picture.style.least - 1e-6
            side = picture.style.side
            assert side <= bar.x and bar.x + bar.w <= width - side + 1e-6
            assert bar.y >= 0 and bar.y + bar.h <= picture.height
        assert all(a.x + a.w <= b.x + picture.style.least for a, b in itertools.pairwise(row))
    shown = sorted(e.index for bar in picture.bars for e in (bar.event, *bar.merged))
    kinds = {Kind.OP, Kind.ANNOTATION, Kind.CALL, Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET}
    assert shown == sorted(e.index for e in any_trace.events if e.kind in kinds), "each event exactly once"


def test_arrows_span_the_launch_delay(any_trace: Trace) -> None:
    picture = lay_out(any_trace, width=720)
    bars = {id(event): bar for bar in picture.bars for event in (bar.event, *bar.merged)}
    for arrow in picture.arrows:
        assert arrow.activity.launch is arrow.call
        call, activity = bars[id(arrow.call)], bars[id(arrow.activity)]
        assert call.x <= arrow.x1 <= call.x + call.w and arrow.y1 == call.y + call.h
        assert activity.x <= arrow.x2 <= activity.x + activity.w and arrow.y2 == activity.y
        assert arrow.y1 < arrow.turn < arrow.level < arrow.y2
    if any_trace.steps:
        launched = [a for a in picture.window.steps[0].gpu if a.launch]
        assert {a.activity.index for a in picture.arrows} >= {a.index for a in launched}


def test_the_window_is_one_typical_step_with_all_it_launched(sample) -> None:
    trace = sample("geglu_eager")
    step = typical_step(trace.steps)
    lengths = sorted(s.end - s.start for s in trace.steps)
    assert len(lengths) == 3 and step.end - step.start == lengths[1], "the median, as in every sentence"
    window = lay_out(trace, width=720).window
    assert (window.start, window.end) == (step.start, max(a.end for a in step.gpu))
    assert window.end > step.event.end, "its kernels outlast the CPU step"


def test_steps_and_zoom(sample) -> None:
    trace = sample("linear_1024_32_64_eager")
    assert [s.number for s in lay_out(trace, TimelineOptions(steps=(4, 2)), width=720).window.steps] == [2, 4]
    picture = lay_out(trace, TimelineOptions(zoom="aten::lin*", highlight=["aten::t", "nvjet*"]), width=720)
    assert picture.window.zoom.name == "aten::linear"
    assert picture.window.end == max(kernel.end for kernel in picture.window.steps[0].gpu)
    assert sorted({bar.event.name[:7] for bar in picture.bars if bar.highlighted}) == ["aten::t", "nvjet_s"]
    with pytest.raises(LayoutError, match="no step 9; the trace has steps: 2, 3, 4"):
        lay_out(trace, TimelineOptions(steps=9), width=720)
    with pytest.raises(LayoutError, match="nothing is called 'aten::relu'; the ops are aten::linear"):
        lay_out(trace, TimelineOptions(zoom="aten::relu"), width=720)


def test_what_belongs_to_another_step_is_faded_and_nameless(sample) -> None:
    picture = lay_out(sample("geglu_cudagraph"), width=720)
    own = set(map(id, picture.window.steps[0].gpu))
    gpu = [bar for bar in picture.bars if bar.event.kind.on_gpu]
    assert any(bar.faded for bar in gpu)
    assert all(bar.faded == (id(bar.event) not in own) for bar in gpu)
    assert not [bar for bar in picture.bars if bar.faded and bar.label]


def test_activities_that_overlap_on_a_stream_take_a_second_row(sample) -> None:
    picture = lay_out(sample("overlapping"), width=720)
    rows = {bar.event.name: bar.row for bar in picture.bars if bar.event.kind.on_gpu}
    assert rows == {"nvjet_a": 0, "nvjet_b": 1, "nvjet_c": 0}


def test_what_lies_too_deep_is_counted_and_not_drawn(make) -> None:
    depth = MOST_ROWS + 50
    for k in range(depth):
        make.add("op", Kind.OP, k, 2 * (depth - k))
    picture = lay_out(make.trace(), width=640)
    assert len(picture.bars) == MOST_ROWS
    assert picture.lanes[0].label == f"CPU · 50 below row {MOST_ROWS} not drawn"


def test_python_frames_only_when_asked(sample) -> None:
    trace = sample("geglu_compiled_stack_mem")
    assert Kind.PYTHON not in {bar.event.kind for bar in lay_out(trace, width=720).bars}


def test_a_large_trace_stays_a_small_picture(sample, make) -> None:
    assert len(lay_out(sample("crowded"), width=720).bars) <= 2 * 720
    for i in range(20_000):
        make.add("x", (Kind.OP, Kind.CALL)[i % 2], i * 100, 60)
    picture = lay_out(make.trace(), width=720)
    assert len(picture.bars) <= 2 * 720, "also where kinds take turns"
    assert sum(1 + len(bar.merged) for bar in picture.bars) == 20_000


def test_a_picture_holds_no_args_but_those_it_tells(make) -> None:
    """Read one by one they would bring the whole file into memory once more, and an object for each event."""
    for i in range(4_000):
        make.add("x", Kind.OP, i * 100, 60, **{"Input Dims": [[i]], "filler": "x" * 2_000})
    make.add("alone", Kind.OP, 10**9, 10**7, **{"Input Dims": [[3, 5]]})
    trace = make.trace()
    tracemalloc.start()
    text = standalone_svg(lay_out(trace, width=720), title="t", description="d")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "[3, 5]" in text, "the shapes of the op that has a bar of its own"
    assert peak < 4e6, "of a file of 8 MB"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("void at::native::vectorized_elementwise_kernel<8, at::native::F<(a)1>>(int)",
         "vectorized_elementwise_kernel<…>"),
        ("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<x::y<4> >(x)",
         "multi_tensor_apply_kernel<…>"),
        ("void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm>(P)",
         "Kernel2<cutlass_80_tensorop_s16816gemm>"),
        ("std::enable_if<!b, void>::type internal::gemvx::kernel<int, 4>(int)", "kernel<…>"),
        ("nvjet_sm90_tst_64x8_TNT", "nvjet_sm90_tst_64x8_TNT"),
        ("Memcpy DtoD (Device -> Device)", "Memcpy DtoD (Device -> Device)"),
        ("void <<<", "void <<<"),
        ("void ", "void"),
        ("", ""),
    ],
)  # fmt: skip
def test_short_names(name: str, short: str) -> None:
    assert short_name(name, Kind.KERNEL) == short


def test_names_fit_or_are_left_out() -> None:
    name = "void at::native::vectorized_elementwise_kernel<8, a::B>(int)"
    assert fit(name, Kind.KERNEL, 400, 12) == "vectorized_elementwise_kernel<…>"
    assert fit(name, Kind.KERNEL, 205, 12) == "vectorized_elementwise_kernel"
    assert fit(name, Kind.KERNEL, 80, 12) == "vectorized…"
    assert fit(name, Kind.KERNEL, 20, 12) == ""
    assert fit("aten::linear", Kind.OP, 45, 12) == "linear"


def test_the_alternative_text_says_what_is_seen(sample) -> None:
    trace = sample("linear_1024_32_64_eager")
    picture = lay_out(trace, width=720)
    assert describe(trace, picture) == (
        "One step of three: the CPU lane shows aten::linear, 40 µs, holding aten::t and aten::addmm; "
        "the stream shows one kernel, 2.7 µs, starting 11 µs after its launch."
    )
    assert headline(trace, picture) == "One step of three, 74 µs"
    longer = lay_out(trace, TimelineOptions(at_least=1_000_000), width=720)
    assert headline(trace, longer) == "One step of three, 74 µs"
    assert describe(sample("empty"), lay_out(sample("empty"), width=720)) == "Nothing was recorded."
    cpu = sample("cpu_only")
    assert describe(cpu, lay_out(cpu, width=340)) == (
        "The whole trace: the CPU lane shows aten::linear, 5.0 µs, holding aten::t; the GPU was not measured."
    )


def test_the_alternative_text_is_short_and_leaves_nothing_out(sample) -> None:
    """Ops of one name are counted, and the one with most of the time is looked into."""
    eager = sample("geglu_eager")
    text = describe(eager, lay_out(eager, TimelineOptions(highlight=["*vectorized*"]), width=720))
    assert "shows three aten::linear (126 µs in all), aten::gelu (12 µs) and aten::mul (13 µs);" in text
    assert text.endswith(" Highlighted: two vectorized_elementwise_kernel<…>."), (
        "not those of the step before"
    )
    compiled = sample("geglu_compiled")
    text = describe(compiled, lay_out(compiled, width=720))
    holding = r"Torch-Compiled Region: 0/0 \([\d.]+ µs, holding .*aten::mm and triton_poi_fused\w+\)"
    assert re.search(holding, text), "through the range that is called after the graph"
    assert "Highlighted" not in text


def test_what_turns_or_hides_text_is_not_shown() -> None:
    turning = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    for char in f"{turning}\u200b\u2060\ufeff\x1b\x9b\0\n\ud800":
        assert clean(f"a{char}b") == "a\ufffdb", hex(ord(char))
    assert clean("مرحبا é 👩\u200d🚀") == "مرحبا é 👩\u200d🚀"


@pytest.mark.parametrize("kind", [Kind.ANNOTATION, Kind.GPU_ANNOTATION, Kind.OP, Kind.PYTHON])
@pytest.mark.parametrize(
    "name",
    [
        "execute_context_1(512)_generation_3(3)",
        "FSDP::all_gather (layers.0)",
        "## forward ##",
        "## Call CompiledFxGraph fadri2gvaccdsuvko2wteeonnvzahljuczzqqcavvykm3cznaibj ##",
        "void f<int>(x)",
        "loss [step 3] <a::b>(c)",
        "Torch-Compiled Region: 0/0",
        "torch::autograd::CppNode<SplitLookupFunction_Dense_Op>",
        "torch/nn/modules/module.py(1779): _call_impl",
    ],
)
def test_text_stays_whole(name: str, kind: Kind) -> None:
    assert short_name(name, kind) == name


def test_a_picture_cuts_text_at_its_end_and_a_hash_anywhere() -> None:
    graph = "## Call CompiledFxGraph fadri2gvaccdsuvko2wteeonnvzahljuczzqqcavvykm3cznaibj ##"
    assert fit(graph, Kind.ANNOTATION, 2000, 12) == "Call CompiledFxGraph fadri…"
    assert fit("FSDP::all_gather (layers.0)", Kind.ANNOTATION, 120, 12) == "FSDP::all_gather…"
    assert fit("execute_context_1(512)", Kind.ANNOTATION, 100, 12).startswith("execute_con")
