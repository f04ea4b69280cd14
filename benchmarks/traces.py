"""For reading.py: repeat a trace, lose launches from one, make one, count what is in one.

    python benchmarks/traces.py repeat TRACE INTO ENTRIES
    python benchmarks/traces.py lose TRACE INTO
    python benchmarks/traces.py make INTO EVENTS NAMES
    python benchmarks/traces.py exact TRACE

Each prints its answer as JSON. Nothing here uses Kinetoscope, so its answers can be checked against these.
"""

from __future__ import annotations

import gzip
import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

try:
    from orjson import dumps
except ImportError:

    def dumps(value: Any) -> bytes:
        """Does what orjson does, slower."""
        return json.dumps(value, ensure_ascii=False).encode()


def unpacked(path: Path) -> bytes:
    """The JSON of a file."""
    data = path.read_bytes()
    return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data


def repeat(path: Path, into: Path, wanted: int) -> int:
    """Write a trace of about ``wanted`` entries: one trace over and over, later each time and with new ids.

    Returns the exact number of entries.
    """
    document = json.loads(unpacked(path))
    entries = document["traceEvents"] if isinstance(document, dict) else document
    timed = [entry for entry in entries if "ts" in entry]
    begin = min(float(entry["ts"]) for entry in timed)
    length = int(max(float(entry["ts"]) + float(entry.get("dur") or 0) for entry in timed) - begin) + 1000
    times = max(1, round(wanted / len(entries)))
    with gzip.open(into, "wb", compresslevel=1) as file:
        file.write(b'{"schemaVersion": 1, "traceEvents": [')
        for n in range(times):
            lines = [dumps(_moved(entry, n, length)) for entry in entries]
            file.write((b"" if n == 0 else b",") + b"\n" + b",\n".join(lines))
        file.write(b"\n]}\n")
    return times * len(entries)


_IDS = ("correlation", "External id", "Python id", "Python parent id")
_ID_STEP = 10_000_000


def _moved(entry: dict[str, Any], n: int, length: int) -> dict[str, Any]:
    if n == 0 or "ts" not in entry:
        return entry
    moved = {**entry, "ts": round(float(entry["ts"]) + n * length, 3)}
    if isinstance(entry["ts"], int):
        moved["ts"] = entry["ts"] + n * length
    args = entry.get("args")
    if isinstance(args, dict):
        ids = {key: args[key] + n * _ID_STEP for key in _IDS if isinstance(args.get(key), int) and args[key]}
        moved["args"] = {**args, **ids}
    if isinstance(entry.get("id"), int):
        moved["id"] = entry["id"] + n * _ID_STEP
    return moved


def lose(path: Path, into: Path) -> int:
    """Write a trace without every second launch, as if the profiler's buffer had been full.

    All kernels are still there.  Returns the number of lost launches.
    """
    document = json.loads(unpacked(path))
    entries = document["traceEvents"]
    launches = [n for n, entry in enumerate(entries) if _is_launch(entry)]
    lost = set(launches[1::2])
    document["traceEvents"] = [entry for n, entry in enumerate(entries) if n not in lost]
    into.write_bytes(gzip.compress(dumps(document)))
    return len(lost)


def _is_launch(entry: dict[str, Any]) -> bool:
    is_call = entry.get("cat") in ("cuda_runtime", "cuda_driver")
    return is_call and entry.get("ph") == "X" and "launch" in entry["name"].lower()


def make(into: Path, wanted: int, names: int) -> int:
    """Write a trace of about ``wanted`` events: ops, the launch in each, and its kernel, with a training
    run's ``args``.  The kernels have ``names`` names.  Returns the exact number of events.
    """
    lines = (line for n in range(max(1, wanted // 3)) for line in _launched(n, names))
    with into.open("wb") as file:
        file.write(b'{"schemaVersion": 1, "traceEvents": [\n' + next(lines))
        for line in lines:
            file.write(b",\n" + line)
        file.write(b"\n]}\n")
    return 3 * max(1, wanted // 3)


def _launched(n: int, names: int) -> Iterator[bytes]:
    """An op of 8 µs, its launch, and the kernel."""
    at, ids = 1000 + 10 * n, {"External id": n + 1}
    op = {**ids, "Record function id": 0, "Sequence number": n, "Fwd thread id": 0, "Ev Idx": n}
    op |= {"Input Dims": [[n % 64, 32], []], "Input type": ["float", ""]}
    call = {**ids, "cbid": 211, "correlation": n + 1}
    kernel = {**ids, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": n + 1}
    kernel |= {"registers per thread": 32, "shared memory": 0, "blocks per SM": 1.5, "warps per SM": 8}
    kernel |= {"grid": [n % 128, 1, 1], "block": [256, 1, 1], "est. achieved occupancy %": 33}
    name = f"void kernel_{n % names}<float>(int)"
    for cat, called, where, start, dur, args in (
        ("cpu_op", f"aten::op{n % 50}", (1, 1), at, 8.5, op),
        ("cuda_runtime", "cudaLaunchKernel", (1, 1), at + 2.5, 4.125, call),
        ("kernel", name, (0, 7), at + 6.25, 9.5, kernel),
    ):
        pid, tid = where
        yield dumps(
            {
                "ph": "X",
                "cat": cat,
                "name": called,
                "pid": pid,
                "tid": tid,
                "ts": start,
                "dur": dur,
                "args": args,
            }
        )


def exact(trace: Path) -> tuple[int, int]:
    """The number of kernels in a file, and the sum of their durations in ns: json, decimals and a loop."""
    document = json.loads(unpacked(trace), parse_float=Decimal, strict=False)
    entries = document["traceEvents"] if isinstance(document, dict) else document
    kernels = [e for e in entries if e.get("ph") == "X" and str(e.get("cat", "")).lower() == "kernel"]
    return len(kernels), int(sum(Decimal(entry["dur"]) for entry in kernels) * 1000)


def main(task: str, trace: str, *more: str) -> None:
    """Run one task and print its answer."""
    if task == "repeat":
        into, entries = more
        print(repeat(Path(trace), Path(into), int(entries)))
    elif task == "lose":
        (into,) = more
        print(lose(Path(trace), Path(into)))
    elif task == "make":
        print(make(Path(trace), *map(int, more)))
    else:
        print(json.dumps(exact(Path(trace))))


if __name__ == "__main__":
    main(*sys.argv[1:])
