"""Live profiles on the CPU: loaded, compared with torch's own table, and used in tests with pytest."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

import kinetoscope

from ..measure.torch_table import torch_table

pytestmark = pytest.mark.torch
pytest_plugins = ("pytester",)

SRC = Path(__file__).parents[2] / "src"


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch")


def profiled(torch: Any, steps: int = 0) -> Any:
    """Profiles a small network with its backward pass."""
    from torch.profiler import ProfilerActivity, profile, record_function

    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 4))
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        for _ in range(3):
            with record_function("my range"):
                model(torch.ones(8, 16)).sum().backward()
    return prof


def test_every_row_is_that_of_key_averages(torch: Any) -> None:
    prof = profiled(torch)
    theirs = {row.key: row for row in prof.key_averages()}
    ours = {row.name: row for row in torch_table(kinetoscope.load(prof))}
    assert ours.keys() == theirs.keys()
    assert {"aten::linear", "aten::gelu", "my range"} <= ours.keys()
    for name, row in ours.items():
        assert row.calls == theirs[name].count, name
        # torch adds up µs as floats, which rounds by about a nanosecond per call.
        assert abs(row.cpu - theirs[name].cpu_time_total * 1000) <= row.calls + 0.1, name
        assert abs(row.self_cpu - theirs[name].self_cpu_time_total * 1000) <= 4 * row.calls + 0.1, name


def test_the_table_by_op_agrees_too(torch: Any) -> None:
    prof = profiled(torch)
    theirs = {row.key: row.count for row in prof.key_averages()}
    trace = kinetoscope.load(prof)
    ours = {row.name: row.calls for row in trace.table("op")}
    # torch counts an op that calls itself once; our table counts every event in the trace.
    inner = [op for op in trace.ops if op.parent and op.parent.name == op.name]
    assert {op.name for op in inner} <= {"aten::sum"}
    ours["aten::sum"] -= len(inner)
    assert {name: theirs[name] for name in ours} == ours


def test_a_profile_can_be_loaded_once(torch: Any) -> None:
    prof = profiled(torch)
    assert kinetoscope.load(prof).path == "(profile)"
    with pytest.raises(kinetoscope.TraceError, match=r"only once.*export_chrome_trace"):
        kinetoscope.load(prof)


def test_a_profile_that_has_nothing_yet(torch: Any) -> None:
    from torch.profiler import ProfilerActivity, profile

    with pytest.raises(kinetoscope.TraceError, match="has not recorded anything"):
        kinetoscope.load(profile(activities=[ProfilerActivity.CPU]))
    with (
        profile(activities=[ProfilerActivity.CPU]) as prof,
        pytest.raises(kinetoscope.TraceError, match="still recording"),
    ):
        kinetoscope.load(prof)


def test_the_older_profiler(torch: Any) -> None:
    with torch.autograd.profiler.profile() as prof:
        torch.ones(3) + 1
    assert kinetoscope.count(kinetoscope.load(prof).ops, "aten::add") == 1


def test_what_one_call_does(torch: Any) -> None:
    calls = []

    def function(x: Any, *, scale: float) -> Any:
        calls.append(scale)
        return torch.relu(x) * scale

    trace = kinetoscope.trace_of(function, torch.ones(4), scale=2.0, warmup=3)
    assert calls == [2.0] * 4
    assert [kinetoscope.count(trace.ops, f"aten::{name}") for name in ("relu", "mul")] == [1, 1]
    with pytest.raises(ZeroDivisionError):
        kinetoscope.trace_of(lambda: 1 / 0)


NESTED = """
    import threading, torch
    from torch.profiler import ProfilerActivity, profile, schedule
    import kinetoscope

    def new(**more):
        return profile(activities=[ProfilerActivity.CPU], **more)

    def work():
        return torch.ones(3) + 1

    def refused(says, function, *args, **more):
        try:
            function(*args, **more)
        except kinetoscope.TraceError as error:
            assert says in str(error), error
        else:
            raise AssertionError("nothing was refused")

    def inner():
        with new():
            work()

    def older():
        with torch.autograd.profiler.profile():
            work()

    def in_a_thread():
        thread = threading.Thread(target=inner)
        thread.start()
        thread.join()

    def nested():
        kinetoscope.trace_of(work)

    for function in (inner, older, in_a_thread):
        for warmup in (0, 1):
            refused("the function runs a profiler itself", kinetoscope.trace_of, function, warmup=warmup)
            assert not torch.autograd._profiler_enabled()
    refused("call it after that one has ended", kinetoscope.trace_of, nested, warmup=0)
    warming = schedule(wait=0, warmup=1, active=1)
    for outer in (new(), torch.autograd.profiler.profile(), new(schedule=warming)):
        with outer:
            refused("call it after that one has ended", kinetoscope.trace_of, work)
            if hasattr(outer, "step"):
                outer.step()
            work()
        assert "aten::add" in [op.name for op in kinetoscope.load(outer).ops]
    with new() as outer:
        inner()
    refused("a second profiler was started", kinetoscope.load, outer)
    assert not torch.autograd._profiler_enabled()
    assert len(kinetoscope.trace_of(work).ops) > 1
    print("all said")
"""


def test_one_profiler_at_a_time(torch: Any) -> None:
    """In another process, which dies if a second profiler is not refused."""
    run = [sys.executable, "-c", textwrap.dedent(NESTED)]
    done = subprocess.run(
        run, env={**os.environ, "PYTHONPATH": str(SRC)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["all said"]), done.stderr


def test_what_is_no_call(torch: Any) -> None:
    async def later() -> None:
        torch.ones(3)

    with pytest.raises(kinetoscope.TraceError, match=r"nobody awaited.*asyncio\.run"):
        kinetoscope.trace_of(later)
    with pytest.raises(ValueError, match="0 or more, not -3"):
        kinetoscope.trace_of(torch.ones, 3, warmup=-3)
    with pytest.raises(TypeError, match=r"not float \(1\.5\)"):
        kinetoscope.trace_of(torch.ones, 3, warmup=1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="takes a function and its arguments"):
        kinetoscope.trace_of(torch.ones(3))


# --- the plugin ---------------------------------------------------------------------------------------------

TESTS = """
    import torch
    from kinetoscope import count, time

    def work(x):
        return torch.relu(x + 1) + 1

    def test_passes(trace_of):
        t = trace_of(work, torch.ones(4))
        assert count(t.ops, "aten::add") == 2

    def test_who_means_it(trace_of):
        t = trace_of(work, torch.ones(4), absent_is_zero=True)
        assert count(t.kernels) == 0 and "Memcpy*" not in t.copies

    def test_of_a_gpu_that_was_not_recorded(trace_of):
        t = trace_of(work, torch.ones(4))
        assert count(t.kernels) == 0

    def test_fails(trace_of):
        t = trace_of(work, torch.ones(4), warmup=2)
        assert count(t.ops, "aten::add") == 1

    def test_fails_too(trace_of):
        t = trace_of(work, torch.ones(4))
        assert time(t.ops) > 10**12

    def test_others_are_left_alone():
        assert 1 == 2
"""


def options() -> list[str]:
    installed = any(entry.value == "kinetoscope.pytest_plugin" for entry in entry_points(group="pytest11"))
    return [] if installed else ["-p", "kinetoscope.pytest_plugin"]


def test_a_failing_test_shows_what_ran(torch: Any, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    done = pytester.runpytest(*options(), "-p", "no:cacheprovider")
    done.assert_outcomes(passed=2, failed=4)
    done.stdout.fnmatch_lines(
        [
            "E  *NotMeasured: no GPU activity in the file: was `ProfilerActivity.CUDA` on? (*absent_is_zero*",
            "E       *assert 2 == 1",
            "E         * events were there (op), of which 'aten::add' fits those marked with >:",
            "E         >    2×  * aten::add",
            "E         * and * more names (-vv lists more)",
            "E       *assert * ns (*) > 1000000000000",
            "E         * events were there (op):",
            "E       assert 1 == 2",
        ]
    )


def test_the_fixture_is_listed_and_costs_nothing_unused(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_nothing_is_loaded():
            assert "kinetoscope.pytest_plugin" in sys.modules
            heavy = {"numpy", "torch", "msgspec", "kinetoscope.api", "kinetoscope.trace"}
            assert heavy & set(sys.modules) == set()
        """
    )
    monkeypatch.setenv("PYTHONPATH", str(SRC), prepend=os.pathsep)
    done = pytester.runpytest_subprocess(*options(), "-p", "no:cacheprovider", "-p", "no:hypothesispytest")
    done.assert_outcomes(passed=1)
    shown = pytester.runpytest_subprocess(*options(), "--fixtures")
    shown.stdout.fnmatch_lines(["trace_of*", "*what one call does, recorded by torch's profiler*"])
