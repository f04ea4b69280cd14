"""Test the kernels of an example in Triton's interpreter on the CPU; test_kernels.py starts this program.

Triton must know that it interprets before it is imported. So each example runs in a process of its own, at a
small size, and the tests there use what it has defined.
"""

import os
import runpy
import sys
import warnings
from pathlib import Path
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"

import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from torch.nn import functional as F  # noqa: N812

settings.register_profile(
    "ours",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],  # the interpreter is too slow to shrink an example
)
settings.load_profile("ours")
NAN = float("nan")
EXAMPLE: dict[str, Any] = {}


def load(path: str, *flags: str) -> None:
    """Run an example with flags, and keep what it has defined."""
    sys.argv = [path, "--device", "cpu", "--out", "out", *flags]
    EXAMPLE.update(runpy.run_path(path))


def error_of(result: torch.Tensor, reference: torch.Tensor) -> float:
    """The error of the whole result, relative to the whole reference."""
    return ((result.double() - reference).norm() / (reference.norm() + 1e-30)).item()


def raises(kind: type[Exception], words: str, call: Any) -> None:
    """Check that a call raises an error of this kind with these words."""
    try:
        call()
    except kind as error:
        assert words in str(error), f"{error} does not say {words!r}"
    else:
        raise AssertionError(f"no {kind.__name__} with {words!r}")


# 04_pointwise_geglu


@settings(max_examples=12)
@given(
    rows=st.integers(0, 5),
    hidden=st.integers(1, 300),
    kind=st.sampled_from([torch.float32, torch.float16, torch.bfloat16]),
    layout=st.sampled_from(["flat", "views", "rows apart", "three dimensions"]),
    seed=st.integers(0, 2**31),
)
def pointwise_any_layout(rows: int, hidden: int, kind: torch.dtype, layout: str, seed: int) -> None:
    torch.manual_seed(seed)
    if layout == "views":
        gate, up = torch.randn(rows, 2 * hidden).mul(3).to(kind).chunk(2, dim=-1)
    elif layout == "rows apart":
        gate, up = torch.randn(2, 3 * rows, hidden + 7).mul(3).to(kind)[:, ::3, :hidden].unbind()
    elif layout == "three dimensions":
        gate, up = torch.randn(2, rows, 2, hidden).mul(3).to(kind).unbind()
    else:
        gate, up = torch.randn(2, rows, hidden).mul(3).to(kind).unbind()
    frame = torch.full((gate.numel() + 64,), NAN, dtype=kind)
    out = frame[32:-32].view(gate.shape)
    assert EXAMPLE["geglu"](gate, up, out) is out
    reference = F.gelu(gate.double(), approximate="tanh") * up.double()
    assert frame[:32].isnan().all()
    assert frame[-32:].isnan().all()
    assert not out.isnan().any()
    # One rounding of the data type; the interpreter does not always round to nearest.
    assert error_of(out, reference) <= 2 * torch.finfo(kind).eps


def pointwise_wrong_inputs() -> None:
    geglu, a = EXAMPLE["geglu"], torch.ones(4, 6)
    raises(ValueError, "give both one shape", lambda: geglu(a, a[:2]))
    raises(TypeError, "give both one of", lambda: geglu(a, a.half()))
    raises(TypeError, "give both one of", lambda: geglu(a.int(), a.int()))
    raises(ValueError, "move one of them", lambda: geglu(a, a.to("meta")))
    raises(ValueError, "out must be like gate", lambda: geglu(a, a, torch.empty(6, 4)))
    raises(ValueError, "last dimension must be contiguous", lambda: geglu(a.t(), a.t()))
    raises(
        ValueError,
        "last dimension must be contiguous",
        lambda: geglu(*[torch.ones(2, 3, 4).transpose(0, 1)] * 2),
    )


# 04_dual_gemm


@settings(max_examples=6)
@given(
    step=st.sampled_from(["plain", "wide", "persistent", "tma"]),
    rows=st.integers(1, 70),
    dim=st.sampled_from([4, 32, 36, 64]),
    hidden=st.sampled_from([4, 32, 40, 72]),
    group=st.sampled_from([1, 2, 8]),
    seed=st.integers(0, 2**31),
)
def dual_gemm_any_size(step: str, rows: int, dim: int, hidden: int, group: int, seed: int) -> None:
    torch.manual_seed(seed)
    x, gate, up = EXAMPLE["make"](rows, dim, hidden)
    memory = torch.full((rows * hidden + 64,), NAN, dtype=x.dtype)
    out = memory[: rows * hidden].view(rows, hidden)
    choices = {"group": group} if step in ("persistent", "tma") else {}
    EXAMPLE["prepare"](step, (x, gate, up), **choices)(out)
    assert memory[rows * hidden :].isnan().all()
    assert error_of(out, EXAMPLE["exact"](x, gate, up)) < 1e-6


def dual_gemm_weave() -> None:
    gate, up = torch.arange(10.0).view(5, 2), -torch.arange(10.0).view(5, 2)
    woven = EXAMPLE["weave"](gate, up, 4)
    assert woven.shape == (16, 2)
    assert torch.equal(woven[:4], gate[:4])
    assert torch.equal(woven[4:8], up[:4])
    assert torch.equal(woven[8], gate[4])
    assert torch.equal(woven[12], up[4])
    assert woven[9:12].eq(0).all()


def dual_gemm_every_tile_once() -> None:
    """The order of the tiles visits each once, at any size."""
    seen = EXAMPLE["tile_at"].fn
    for tiles_m, tiles_n, group in [(1, 1, 8), (7, 3, 2), (64, 48, 8), (9, 5, 8)]:
        # tl.minimum works only in a kernel, and here the numbers are plain ones.
        seen.__globals__["tl"] = type("tl", (), {"minimum": staticmethod(min), "constexpr": int})
        tiles = {seen(number, tiles_m, tiles_n, group) for number in range(tiles_m * tiles_n)}
        assert tiles == {(m, n) for m in range(tiles_m) for n in range(tiles_n)}


# 04_fused_mlp


@settings(max_examples=6)
@given(
    rows=st.integers(1, 64),
    dim=st.sampled_from([16, 40, 264]),
    hidden=st.sampled_from([8, 48]),
    dual=st.booleans(),
    seed=st.integers(0, 2**31),
)
def fused_few_rows(rows: int, dim: int, hidden: int, dual: bool, seed: int) -> None:
    torch.manual_seed(seed)
    x, w, up = torch.randn(rows, dim), torch.randn(hidden, dim) / dim**0.5, torch.randn(hidden, dim)
    memory = torch.full((rows * hidden + 64,), NAN)
    out = memory[: rows * hidden].view(rows, hidden)
    EXAMPLE["Launches"](x.dtype, dim, hidden).few_rows(x, w, up if dual else None, out)
    reference = F.linear(x.double(), w.double())
    if dual:
        reference = F.gelu(reference, approximate="tanh") * F.linear(x.double(), up.double())
    assert memory[rows * hidden :].isnan().all()
    assert error_of(out, reference) < 1e-6


def fused_module() -> None:
    """On the CPU the module falls back to the MLP, and says so once."""
    ours, plain = EXAMPLE["FusedGeGLUMLP"], EXAMPLE["GeGLUMLP"]
    torch.manual_seed(0)
    mlp = plain(16, 32).eval()
    fused = ours.from_mlp(mlp)
    assert fused.gate_proj.weight is mlp.gate_proj.weight, "the weights were copied"
    assert not fused.training
    assert list(fused.state_dict()) == list(mlp.state_dict())
    EXAMPLE["SAID"].clear()
    with warnings.catch_warnings(record=True) as caught, torch.no_grad():
        warnings.simplefilter("always")
        for shape in [(16,), (3, 16), (2, 3, 16), (0, 16)]:
            x = torch.randn(shape)
            assert torch.equal(fused(x), mlp(x))
        apart = torch.randn(3, 32)[:, ::2]
        assert torch.equal(fused(apart), mlp(apart))
    assert [str(w.message) for w in caught] == [
        "FusedGeGLUMLP uses plain PyTorch: there is no kernel for cpu"
    ]
    assert not torch.equal(fused(x := torch.randn(3, 16)), fused(x + 1)), (
        "the result does not depend on the input"
    )

    raises(ValueError, "its last dimension must be 16", lambda: fused(torch.randn(3, 15)))
    raises(ValueError, "its last dimension must be 16", lambda: fused(torch.tensor(1.0)))
    raises(TypeError, "convert one of them", lambda: fused(torch.randn(3, 16).half()))
    raises(ValueError, "move one of them", lambda: fused(torch.randn(3, 16, device="meta")))
    raises(TypeError, "has no gate_proj, up_proj, down_proj", lambda: ours.from_mlp(torch.nn.Linear(2, 2)))
    for change, kind, words in [
        (lambda m: setattr(m, "up_proj", torch.nn.ReLU()), TypeError, "up_proj is ReLU"),
        (lambda m: setattr(m, "up_proj", torch.nn.Linear(16, 32)), ValueError, "up_proj has a bias"),
        (
            lambda m: setattr(m, "up_proj", torch.nn.Linear(16, 31, bias=False)),
            ValueError,
            "do not make a GeGLU MLP",
        ),
        (lambda m: m.up_proj.half(), ValueError, "convert or move them"),
        (
            lambda m: m.register_forward_hook(lambda _m, _x, out: 2 * out),
            ValueError,
            "does not compute down(gelu",
        ),
    ]:
        change(other := plain(16, 32))
        raises(kind, words, lambda other=other: ours.from_mlp(other))


def fused_never_something_else() -> None:
    """Later changes of the MLP's layers have an effect: hooks, weights, data types, autocast."""
    ours, plain = EXAMPLE["FusedGeGLUMLP"], EXAMPLE["GeGLUMLP"]
    torch.manual_seed(0)
    mlp, x = plain(16, 32).eval(), torch.randn(3, 16)
    fused = ours.from_mlp(mlp)
    with torch.no_grad():
        for weights in (mlp.state_dict(), plain(16, 32).state_dict()):
            fused.load_state_dict(weights)
            assert torch.equal(fused(x), mlp(x))
        with torch.autocast("cpu", torch.bfloat16):
            for call in (fused, torch.compile(fused, backend="eager", fullgraph=True)):
                assert call(x).dtype is torch.bfloat16
                assert torch.equal(call(x), mlp(x))
            assert torch.equal(fused(x.bfloat16()), mlp(x.bfloat16()))
        for name in ("gate_proj", "up_proj", "down_proj"):
            layer = getattr(mlp, name)
            before = mlp(x)
            hook = layer.register_forward_hook(lambda _layer, _inputs, result: 2 * result)
            assert not torch.equal(mlp(x), before)
            assert torch.equal(fused(x), mlp(x)), f"a hook of {name} is not called"
            hook.remove()
            layer.forward = lambda x, forward=layer.forward: 3 * forward(x)
            assert torch.equal(fused(x), mlp(x)), f"forward of {name} is not called"
            del layer.forward
    fused.up_proj.half()
    raises(TypeError, "convert one of them", lambda: fused(x))
    fused.up_proj = torch.nn.Linear(16, 31, bias=False)
    raises(ValueError, "do not make a GeGLU MLP", lambda: fused(x))


def fused_reasons() -> None:
    """Each reason not to use the kernels, in the module's words."""
    why_not = EXAMPLE["why_not"]

    class OnGPU:
        """The attributes that why_not reads, for a tensor on a GPU that does not exist."""

        is_cuda, requires_grad, device, dtype, start, whole = (
            True,
            False,
            torch.device("cuda"),
            torch.bfloat16,
            0,
            True,
        )

        def __init__(self, *shape: int, **more: Any) -> None:
            self.shape = shape
            self.__dict__.update(more)

        def element_size(self) -> int:
            return self.dtype.itemsize

        def data_ptr(self) -> int:
            return self.start

        def is_contiguous(self) -> bool:
            return self.whole

    why_not.__globals__["KNOWN"] += (OnGPU,)
    generation = [(9, 0)]
    torch.cuda.get_device_capability = lambda device=None: generation[0]
    gate, down = OnGPU(32, 16), OnGPU(16, 32)
    assert why_not(OnGPU(3, 16), gate, gate, down) is None
    assert "no kernel for torch.float32" in why_not(OnGPU(3, 16, dtype=torch.float32), gate, gate, down)
    tensors = [OnGPU(3, 16), gate, gate, down]
    for place, tensor in enumerate(tensors):
        wanted = OnGPU(*tensor.shape, requires_grad=True)
        told = why_not(*tensors[:place], wanted, *tensors[place + 1 :])
        assert told is not None, f"a gradient of tensor {place} would be lost"
        assert "gradients are wanted" in told
        other = type("Other", (OnGPU,), {})(*tensor.shape)
        assert "of a class of its own" in why_not(*tensors[:place], other, *tensors[place + 1 :])
    torch.set_autocast_enabled("cuda", True)  # torch.autocast leaves it off where there is no GPU
    assert "autocast is on" in why_not(*tensors)
    torch.set_autocast_enabled("cuda", False)
    with torch.no_grad():
        assert why_not(OnGPU(3, 16, requires_grad=True), gate, gate, down) is None
    assert "no multiple of 16 bytes" in why_not(OnGPU(3, 12), OnGPU(32, 12), OnGPU(32, 12), OnGPU(12, 32))
    assert "does not begin at a multiple" in why_not(OnGPU(3, 16, start=8), gate, gate, down)
    assert "not contiguous" in why_not(OnGPU(3, 16), gate, gate, OnGPU(16, 32, whole=False))
    generation[0] = (10, 0)
    assert "not of the Hopper generation" in why_not(OnGPU(3, 16), gate, gate, down)


def fused_compiles() -> None:
    """When compiled, the MLP is one operator; its fake implementation gives the shape and the errors."""
    ours = EXAMPLE["FusedGeGLUMLP"].from_mlp(EXAMPLE["GeGLUMLP"](16, 32).eval())
    graphs = []

    def keep(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Any:
        graphs.append([str(node.target) for node in graph.graph.nodes if node.op == "call_function"])
        return graph

    x = torch.randn(2, 3, 16)
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(ours, backend=keep, fullgraph=True)(x), ours(x))
    assert graphs == [["geglu.fused_mlp.default"]]
    weights = [layer.weight.detach() for layer in (ours.gate_proj, ours.up_proj, ours.down_proj)]
    torch.library.opcheck(
        torch.ops.geglu.fused_mlp, (x, *weights), test_utils=["test_schema", "test_faketensor"]
    )
    # Under autocast, and with gradients, the plain MLP is compiled.
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        assert torch.compile(ours, backend=keep, fullgraph=True)(x).dtype is torch.bfloat16
    assert "geglu.fused_mlp.default" not in graphs.pop()
    compiled = torch.compile(ours, backend=keep, fullgraph=True)
    compiled(x.requires_grad_()).sum().backward()
    assert x.grad is not None
    assert "geglu.fused_mlp.default" not in graphs[1]


TESTS = {
    "04_pointwise_geglu": (["--rows", "1", "--hidden", "8"], pointwise_any_layout, pointwise_wrong_inputs),
    "04_dual_gemm": (
        ["--rows", "1", "--dim", "4", "--hidden", "4", "--step", "plain"],
        dual_gemm_any_size,
        dual_gemm_weave,
        dual_gemm_every_tile_once,
    ),
    "04_fused_mlp": (
        ["--rows", "1", "--dim", "16", "--hidden", "16"],
        fused_few_rows,
        fused_module,
        fused_never_something_else,
        fused_compiles,
        fused_reasons,
    ),
}

if __name__ == "__main__":
    example = sys.argv[1]
    flags, *tests = TESTS[Path(example).stem]
    load(example, *flags)
    for test in tests:
        test()
        print("passed:", test.__name__)
