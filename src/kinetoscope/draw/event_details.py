"""What a trace says about one event besides its name and its times, as labels and values for a reader.

The keys are those Kineto writes into ``args`` (``libkineto/src/output_json.cpp``, and torch's own for ops
in ``torch/csrc/profiler/collection.cpp``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinetoscope.draw.names import clean
from kinetoscope.trace.events import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kinetoscope.trace.events import Event

Facts = tuple[tuple[str, str], ...]
"""label and value of each, in the order they are read"""

_LONGEST = 240
"""Characters of a value; an op on a list of two hundred tensors is told by the first of them"""


def facts(event: Event, device_names: Mapping[int, str]) -> Facts:
    """How a kernel was launched, how much a copy moved, what an op was given; empty where nothing is told.

    ``device_names``: the GPU's name by device number.
    """
    if event.kind is Kind.KERNEL:
        found = _kernel(event.args)
    elif event.kind.on_gpu:
        found = _copy(event)
    elif event.kind is Kind.OP:
        found = _op(event.args)
    else:
        found = []
    if event.lane.stream is not None:
        found.append(("stream", str(event.lane.stream)))
    device = event.lane.device if event.kind.on_gpu else None
    if device is not None:
        name = device_names.get(device)
        found.append(("device", f"{device}, {name}" if name else str(device)))
    return tuple((label, _cut(clean(value))) for label, value in found)


def _kernel(args: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = []
    for key in ("grid", "block"):
        value = args.get(key)
        if isinstance(value, list | tuple):
            found.append((key, " × ".join(str(part) for part in value)))
    known: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
        ("registers per thread", "registers", lambda value: f"{value} a thread"),
        ("shared memory", "shared memory", lambda value: f"{value} B a block"),
        ("blocks per SM", "blocks", lambda value: f"{_short(value)} per SM"),
        ("warps per SM", "warps", lambda value: f"{_short(value)} per SM"),
        (
            "est. achieved occupancy %",
            "occupancy",
            lambda value: f"{_short(value)} %, the profiler's estimate",
        ),
    )
    return found + [(label, write(args[key])) for key, label, write in known if args.get(key) is not None]


def _copy(event: Event) -> list[tuple[str, str]]:
    size, rate = event.args.get("bytes"), event.args.get("memory bandwidth (GB/s)")
    if size is None or not _is_number(size):
        return []
    found = [("bytes", f"{size} B")]
    if not _is_number(rate):
        # bytes a ns are GB/s
        rate = float(size) / event.dur if event.dur else None
    return found if rate is None else [*found, ("bandwidth", f"{_short(rate)} GB/s")]


def _op(args: Mapping[str, Any]) -> list[tuple[str, str]]:
    dims, strides, types = (_list(args.get(key)) for key in ("Input Dims", "Input Strides", "Input type"))
    tensors = [i for i, shape in enumerate(dims) if shape]
    found = []
    for label, values in (("shapes", dims), ("strides", strides), ("dtypes", types)):
        # Side by side the three read as one, so each has the same inputs in the same order.
        written = [_value(values[i]) for i in tensors if i < len(values)]
        if any(written):
            found.append((label, ", ".join(written)))
    given = [str(value) for value in _list(args.get("Concrete Inputs")) if value not in ("", None)]
    if given:
        found.append(("other inputs", ", ".join(given)))
    if args.get("kernel_backend"):
        found.append(("backend", str(args["kernel_backend"])))
        if args.get("kernel_kwargs"):
            found.append(("kernel arguments", str(args["kernel_kwargs"])))
        for key, label in (("num_warps", "warps"), ("num_stages", "stages")):
            if args.get(key) is not None:
                found.append((label, str(args[key])))
    return found


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _value(value: Any) -> str:
    return str(value).removeprefix("c10::")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _short(value: Any) -> str:
    """A number to four digits; whatever else a foreign profiler wrote in its place, as it is."""
    if not _is_number(value):
        return str(value)
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:.0f}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
