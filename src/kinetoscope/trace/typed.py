"""Raw event dictionaries -> :class:`Event`, with integer nanoseconds, kind and lane."""

from __future__ import annotations

import math
import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from kinetoscope.trace.events import Event, Kind, LaneId

if TYPE_CHECKING:
    from kinetoscope.trace.findings import Findings

STEP_NAME = re.compile(r"ProfilerStep#(\d+)")

KINDS = {
    "cpu_op": Kind.OP,
    "operator": Kind.OP,
    "user_annotation": Kind.ANNOTATION,
    "cuda_runtime": Kind.CALL,
    "cuda_driver": Kind.CALL,
    "runtime": Kind.CALL,
    "driver": Kind.CALL,
    "hip_runtime": Kind.CALL,
    "xpu_runtime": Kind.CALL,
    "xpu_driver": Kind.CALL,
    "mtia_runtime": Kind.CALL,
    "privateuse1_runtime": Kind.CALL,
    "privateuse1_driver": Kind.CALL,
    "kernel": Kind.KERNEL,
    "concurrent_kernel": Kind.KERNEL,
    "gpu_memcpy": Kind.MEMCPY,
    "memcpy": Kind.MEMCPY,
    "gpu_memset": Kind.MEMSET,
    "memset": Kind.MEMSET,
    "gpu_user_annotation": Kind.GPU_ANNOTATION,
    "cuda_sync": Kind.SYNC,
    "python_function": Kind.PYTHON,
    "overhead": Kind.OVERHEAD,
}
"""Kind by case-folded ``cat``: Kineto's names (``libkineto/src/ActivityType.cpp``), and those of 2021
(``Operator``, ``Runtime``, ``Kernel``, ``Memcpy``, ``Memset``)."""

LEGACY_PIDS = {"CPU functions": Kind.OP, "CUDA functions": Kind.KERNEL}
"""Kind by ``pid`` where the profiler of torch without Kineto wrote no ``cat`` (pytorch#95460)."""

_ON_STREAM = frozenset({Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET, Kind.GPU_ANNOTATION, Kind.SYNC})
LONGEST = 365 * 24 * 3600 * 10**9
"""ns; what lasts longer was never finished: the profiler wrote an end of -1 or of the largest integer"""

_LARGEST_US = Decimal(10) ** 17  # µs; epoch µs are about 1.7e15, anything beyond is no time stamp
_STREAM_TID = re.compile(r"\s*(?:stream\s+)?(\d+)\s*", re.IGNORECASE)


def typed_events(raw: list[Any], findings: Findings) -> list[Event]:
    """The complete ("X") events among ``raw``, in order of start, an outer one before an inner one.

    An event without a readable ``ts`` is left out, a negative or absurd ``dur`` read as 0; ``findings``
    say so.
    """
    lanes: dict[tuple[Any, ...], LaneId] = {}
    events: list[Event] = []
    for index, entry in enumerate(raw):
        if not isinstance(entry, dict):
            findings.add("no-object", f"entry {index} of traceEvents")
        elif entry.get("ph") == "X":
            event = _event(entry, index, lanes, findings)
            if event is not None:
                events.append(event)
    origin = min((event.start for event in events), default=0)
    for event in events:
        event.start -= origin
    events.sort(key=lambda event: (event.start, -event.dur, event.index))
    return events


def _event(
    entry: dict[str, Any], index: int, lanes: dict[tuple[Any, ...], LaneId], findings: Findings
) -> Event | None:
    start = nanoseconds(entry.get("ts"))
    dur = nanoseconds(entry.get("dur", 0))
    if start is None or dur is None:
        findings.add("no-time", f"entry {index} of traceEvents")
        return None
    name = str(entry.get("name", ""))
    if not 0 <= dur <= LONGEST:
        findings.add("negative-duration" if dur < 0 else "absurd-duration", f"event {index}, {name[:80]!r}")
        dur = 0
    raw_args = entry.get("args")
    args: dict[str, Any] = (
        {key: _plain(value) for key, value in raw_args.items()} if isinstance(raw_args, dict) else {}
    )
    kind = kind_of(entry.get("cat"), entry.get("pid"), name)
    external = args.get("External id", args.get("external id"))
    return Event(
        name=name,
        kind=kind,
        start=start,
        dur=dur,
        lane=_lane(kind, entry.get("pid", 0), entry.get("tid", 0), args, lanes),
        args=args,
        index=index,
        correlation=_integer(args.get("correlation")),
        external_id=_integer(external),
    )


def kind_of(cat: Any, pid: Any, name: str) -> Kind:
    """What an event is, by its category.

    Two profilers give ``ProfilerStep#n`` the category of ops (Kineto of 2021, Ascend); it is the
    annotation that it is elsewhere.
    """
    kind = LEGACY_PIDS.get(str(pid), Kind.OTHER) if cat is None else KINDS.get(str(cat).lower(), Kind.OTHER)
    if kind is Kind.OP and name.startswith("ProfilerStep#") and STEP_NAME.fullmatch(name):
        return Kind.ANNOTATION
    return kind


def nanoseconds(value: Any) -> int | None:
    """A time in µs, as the file has it (integer, exact decimal or text), in ns; None if it is no time.

    Digits beyond the nanosecond are rounded.
    """
    if type(value) is int:
        return value * 1000 if abs(value) < _LARGEST_US else None
    try:
        exact = Decimal(value) if isinstance(value, (str, Decimal)) else None
    except InvalidOperation:
        return None
    if exact is None or not exact.is_finite() or abs(exact) >= _LARGEST_US:
        return None
    return int((exact * 1000).to_integral_value())


def _plain(value: Any) -> Any:
    """A value of ``args`` with floats for decimals and None for what no float holds."""
    kind = type(value)
    if kind is Decimal:
        number = float(value)
        return number if math.isfinite(number) else None
    if kind is list:
        return [_plain(item) for item in value]
    if kind is dict:
        return {key: _plain(item) for key, item in value.items()}
    return value


def _integer(value: Any) -> int | None:
    if type(value) is int:
        return value
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    return None


def _lane(
    kind: Kind, pid: Any, tid: Any, args: dict[str, Any], lanes: dict[tuple[Any, ...], LaneId]
) -> LaneId:
    pid, tid = _id(pid), _id(tid)
    stream = device = None
    if kind in _ON_STREAM:
        stream, device = _integer(args.get("stream")), _integer(args.get("device"))
        if stream is None:
            match = _STREAM_TID.fullmatch(str(tid))
            stream = int(match[1]) if match else 0
        if device is None and isinstance(pid, int):
            device = pid
    key = (pid, tid, stream, device)
    return lanes.setdefault(key, LaneId(pid, tid, stream, device))


def _id(value: Any) -> int | str:
    """A ``pid`` or ``tid``: files of 2021 write a thread as the text of its number."""
    number = _integer(value)
    return str(value) if number is None else number
