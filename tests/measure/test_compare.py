"""Two traces paired by name."""

from __future__ import annotations

from pathlib import Path

from kinetoscope import load
from kinetoscope.measure.compare import compare
from kinetoscope.trace import Kind

TRACES = Path(__file__).parents[1] / "data" / "traces"


def pairs(before: str, after: str, *kinds: Kind):
    return compare(load(TRACES / f"{before}.json.gz"), load(TRACES / f"{after}.json.gz"), *kinds)


def test_what_compile_did_to_the_geglu_mlp() -> None:
    changes = {
        pair.name.split("<")[0].split("(")[0]: pair.change for pair in pairs("geglu_eager", "geglu_compiled")
    }
    assert changes["triton_poi_fused__unsafe_view_gelu_mul_0"] == "new"
    assert changes["void at::native::vectorized_elementwise_kernel"] == "gone"
    gemms = [pair for pair in pairs("geglu_eager", "geglu_compiled") if pair.name.startswith("nvjet")]
    assert len(gemms) == 2
    assert all(pair.calls_before == pair.calls_after for pair in gemms)
    assert [pair.calls_after for pair in gemms] == [2.0, 1.0]


def test_a_trace_and_itself() -> None:
    unchanged = pairs("geglu_eager", "geglu_eager")
    assert unchanged
    assert {pair.change for pair in unchanged} == {"kept"}
    assert all(pair.ratio == 1.0 for pair in unchanged)


def test_gone_first_then_new_then_kept_by_time() -> None:
    order = [pair.change for pair in pairs("geglu_eager", "geglu_compiled")]
    assert order == sorted(order, key=lambda change: {"gone": 0, "new": 1}.get(change, 2))


def test_ops() -> None:
    names = {
        pair.name: pair for pair in pairs("linear_1024_32_64_eager", "linear_1024_32_64_compiled", Kind.OP)
    }
    assert names["aten::t"].change == "gone"
    assert names["aten::t"].ratio is None
    assert names["TorchDynamo Cache Lookup"].change == "new"
    assert names["aten::addmm"].change in ("kept", "slower", "faster")


def test_slower_and_faster_are_beyond_the_tolerance() -> None:
    trace, slower = (load(TRACES / "geglu_eager.json.gz") for _ in range(2))
    slower.columns.dur[slower.columns.where(Kind.KERNEL)] *= 2
    assert {pair.change for pair in compare(trace, slower, Kind.KERNEL)} == {"slower"}
    assert {pair.change for pair in compare(slower, trace, Kind.KERNEL)} == {"faster"}
