"""Traces that nobody meant to make: mutated ones, and extreme ones of all kinds."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "data"
SHARED = Path(__file__).parents[3] / "shared"
LARGEST = 5_000_000
"""bytes of an input, unpacked"""
SMALL = 60_000

PIECES = [
    *('"ph":"B"', '"ph":"E"', '{"ph":', "NaN", "-Infinity", "inf", "null", "true", "1e400", '""', '"'),
    *("\\", "\\u", "\\ud800", "\0", "\n", "{", "}", "[", "]", ",", '"traceEvents": [', '"args": {'),
    *("</script>", "\u202e", '"dur": -5', '"ts": "1.5"', '"correlation": "7"', "[" * 50, '{"a":' * 50),
    *(
        "1" * 400,
        "9" * 5000,
        "9223372036854775807",
        '{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 5},',
    ),
]
VALUES: list[Any] = [
    *(None, True, 0, -1, 7, 2**53, 2**63, 2**64, 1e300, 0.0005, 10**400, "", "-1", "1.5", "nan", "stream 7"),
    *([], {}, [1], {"a": 1}, [[[]]], "\u202e", "\0", "ProfilerStep#3", "kernel", "Memcpy HtoD", "<b>"),
    "void f<int>(int)",
]
KEYS = ["ph", "cat", "name", "pid", "tid", "ts", "dur", "args"]
CATEGORIES = [
    *("kernel", "gpu_memcpy", "gpu_memset", "cpu_op", "cuda_runtime", "user_annotation", "python_function"),
    *("gpu_user_annotation", "overhead", "cuda_driver", "fwdbwd", "ac2g", "cuda_sync"),
]
IDS = ["correlation", "External id", "stream", "device", "graph node id", "Python id", "Python parent id"]
AROUND = ["deviceProperties", "distributedInfo", "baseTimeNanoseconds", "displayTimeUnit", "schemaVersion"]

MARK = "<script>ks_marker"
HOSTILE = [
    *(
        f"{MARK}(1)</script>",
        '"onload="ks_marker(2)',
        "'onload='ks_marker(3)",
        "</script><script>ks_marker(5)",
    ),
    *(
        '<img src=x onerror="ks_marker(4)">',
        "<!--<script>ks_marker",
        "]]><x/>&ks_marker;",
        "-->",
        "=1+1",
        "@SUM(1)",
    ),
    *(
        "\x1b[2J\x1b]0;ks\x07",
        "\u202eks\u2066\u200b\ufeff",
        "\ud800ks\udfff",
        "\0\u0085\u2028\u2029\ufffe\uffff",
    ),
    *(
        "$\\frac{1}{0}$",
        "_ks$_",
        "\U0001f469\u200d\U0001f4bb" * 3,
        "a\u0300" * 40,
        "\u6f22\u5b57" * 30,
        "x" * 5000,
    ),
    *(
        "%s{0}{x}",
        "C:\\Users\\ada\\x.py",
        "/home/ada/x.py",
        "",
        " ",
        "\n\n",
        "\ue000",
        "ProfilerStep#1",
        "aten::mm",
    ),
]
"""Names that would run, control a terminal, compute in a spreadsheet or break a picture, if nobody minded"""


FILES = [
    *(
        "in",
        "in.pt.trace",
        "<script>ks_marker(6)<",
        '"onload="x',
        "\x1b[2J\n",
        "\u202ex",
        "-x",
        "%s{0}",
        "=1+1",
    ),
    *("\udcff", "[a]*?", "", "x" * 200, "a b", "~", "$HOME", "\u6f22\u5b57"),
]
"""Names of files, without their ending"""

CLAIMS = json.dumps(
    [
        {
            "id": "a",
            "kind": "claim",
            "verdict": "holds",
            "value": "3 µs",
            "said_by": [],
            "sentence": "It is.",
        },
        {"id": "b", "kind": "reported", "verdict": "fails", "value": "", "said_by": ["x"], "sentence": "So."},
    ]
).encode()


# --- mutations ----------------------------------------------------------------------------------------------


def unpacked(data: bytes) -> bytes:
    """What a gzip file holds, or a little more than :data:`LARGEST` of it."""
    if data[:2] != b"\x1f\x8b":
        return data
    stream, text = zlib.decompressobj(31), b""
    with contextlib.suppress(zlib.error):
        for at in range(0, len(data), 2**12):
            text += stream.decompress(data[at : at + 2**12], LARGEST + 1 - len(text))
            if len(text) > LARGEST:
                break
    return text or data


def parsed(data: bytes) -> tuple[Any, list[Any]]:
    """A document and its list of events; an empty list where it has none."""
    try:
        document = json.loads(data, strict=False)
    except (ValueError, RecursionError):
        return None, []
    events = document.get("traceEvents") if isinstance(document, dict) else document
    return document, events if isinstance(events, list) else []


def seeds(*folders: Path) -> list[bytes]:
    """The traces of the tests, and of other folders: whole if they are small, or else both their ends."""
    paths = [
        path for folder in (DATA, *folders) for path in sorted(folder.rglob("*.json*")) if path.is_file()
    ]
    whole = dict.fromkeys(unpacked(path.read_bytes()) for path in paths)
    return [
        part
        for data in whole
        if data
        for part in ([data] if len(data) < SMALL else [data[: SMALL // 2], data[-SMALL // 2 :]])
    ]


def large_seeds() -> list[bytes]:
    """Whole traces from beside the checkout, of up to :data:`LARGEST` bytes."""
    paths = [path for path in sorted((SHARED / "corpus").rglob("*.json*")) if path.is_file()]
    return [data for path in paths if SMALL < len(data := unpacked(path.read_bytes())) <= LARGEST]


def with_other_bytes(data: bytes, chance: random.Random) -> bytes:
    mutated = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 5, 20])):
        at, length = chance.randrange(len(mutated) + 1), chance.choice([1, 2, 20, 400])
        what = chance.randrange(7)
        if what == 0 and at < len(mutated):
            mutated[at] ^= 1 << chance.randrange(8)
        elif what == 1:
            del mutated[at : at + length]
        elif what == 2:
            mutated[at:at] = mutated[at : at + length]
        elif what == 3:
            mutated[at:at] = chance.choice(PIECES).encode()
        elif what == 4:
            mutated[at : at + length] = chance.choice(PIECES).encode()
        elif what == 5:
            piece = bytes(mutated[at : at + length])
            del mutated[at : at + length]
            other = chance.randrange(len(mutated) + 1)
            mutated[other:other] = piece
        elif chance.random() < 0.3:
            del mutated[at:]
    return bytes(mutated)


def with_other_values(data: bytes, chance: random.Random) -> bytes:
    document, events = parsed(data)
    if not events:
        return with_other_bytes(data, chance)
    for _ in range(chance.choice([1, 2, 4, 12])):
        at = chance.randrange(len(events))
        event = events[at] = dict(events[at]) if isinstance(events[at], dict) else {}
        args = event.get("args")
        what = chance.randrange(6)
        if what == 0:
            events.insert(chance.randrange(len(events)), event)
        elif what == 1:
            events[at] = chance.choice(VALUES)
        elif what == 2:
            event["ph"] = chance.choice("BEXBEXiCbensftMN")
        elif what == 3 and isinstance(args, dict):
            key = chance.choice([*args, *IDS, "grid"])
            event["args"] = {**args, key: chance.choice(VALUES)}
        elif what == 4:
            event.pop(chance.choice(KEYS), None)
        else:
            event[chance.choice(KEYS)] = chance.choice(VALUES)
    return json.dumps(document).encode()


def with_other_structure(data: bytes, chance: random.Random) -> bytes:
    """The same field of many events replaced, times moved, entries repeated, metadata replaced."""
    document, events = parsed(data)
    dicts = [one for one in events if isinstance(one, dict)]
    if not dicts:
        return with_other_bytes(data, chance)
    for _ in range(chance.choice([1, 1, 2, 4])):
        some = (
            dicts
            if chance.random() < 0.2
            else chance.sample(dicts, min(len(dicts), chance.choice([1, 3, 30])))
        )
        what = chance.randrange(10)
        if what == 0:
            for one in some:
                one["name"] = chance.choice(HOSTILE) + chance.choice(["", str(one.get("name"))])
        elif what == 1:
            key = chance.choice(
                [*IDS, "name", "Call stack", "Kernel", "Input Dims", "kernel_file", HOSTILE[0]]
            )
            value = chance.choice([1, 1, number(chance), chance.choice(HOSTILE)])
            for one in some:
                one["args"] = {**(one["args"] if isinstance(one.get("args"), dict) else {}), key: value}
        elif what == 2:
            key = chance.choice(["ts", "dur"])
            for one in some:
                one[key] = chance.choice([number(chance), 0, one.get("ts"), 1e3])
        elif what == 3:
            events += [dict(one) for one in some] * chance.choice([1, 1, 20])
        elif what == 4:
            key, values = chance.choice(
                [("tid", [7, 1]), ("pid", [0, 1]), ("cat", CATEGORIES), ("ph", "XBEfsi"), ("name", HOSTILE)]
            )
            value = chance.choice(values)
            for one in some:
                one[key] = value
        elif what == 5:
            chance.shuffle(events)
        elif what == 6 and isinstance(document, dict):
            document[chance.choice([*AROUND, HOSTILE[0]])] = around_value(chance)
        elif what == 7:
            shift = chance.choice([-(10**6), 1e15, -1e15, 0.5])
            for one in some:
                if isinstance(one.get("ts"), (int, float)):
                    one["ts"] += shift
        elif what == 8:
            del events[chance.randrange(len(events) + 1) :]
        else:
            for n, one in enumerate(some):
                step = event(n, cat="user_annotation", name=f"ProfilerStep#{n}", ts=one.get("ts"), dur=1000)
                events.insert(
                    chance.randrange(len(events) + 1), {**step, "pid": one.get("pid"), "tid": one.get("tid")}
                )
    return json.dumps(document, ensure_ascii=chance.random() < 0.7).encode("utf-8", "surrogatepass")


def mutated(chance: random.Random, small: list[bytes], large: list[bytes]) -> tuple[bytes, str]:
    """An input, and the name of its file."""
    kind = chance.random()
    if kind < 0.12:
        data = extreme(chance)
        if chance.random() < 0.15:
            data = with_other_bytes(data, chance)
    else:
        data = CLAIMS if kind < 0.14 else chance.choice(large if large and kind > 0.98 else small)
        for _ in range(chance.choice([1, 1, 2])):
            changes = [with_other_bytes, with_other_values, with_other_structure, with_other_structure]
            data = chance.choice(changes)(data, chance)
    data, packed = data[:LARGEST], chance.random() < 0.15
    if packed:
        data = gzip.compress(data, 1)
        data = with_other_bytes(data, chance) if chance.random() < 0.5 else data
    # The name of one in ten says the opposite.
    ending = ".json.gz" if packed == (chance.random() < 0.9) else ".json"
    return data, (chance.choice(FILES) if chance.random() < 0.2 else "in") + ending


# --- extremes -----------------------------------------------------------------------------------------------


def number(chance: random.Random) -> Any:
    near = [0, -1, 1, 0.001, chance.random() * 10 ** chance.randrange(18), str(chance.random())]
    far = [9.2e15, -9.2e18, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30, 1e308, 1e18]
    return chance.choice([*near, *far])


def around_value(chance: random.Random) -> Any:
    device = {
        "id": chance.choice([0, 0, -1, 2**40, "0", None]),
        "name": chance.choice([*HOSTILE, "NVIDIA H100"]),
    }
    rank = {"rank": chance.choice([0, -1, "x", [1]]), "world_size": 2}
    return chance.choice(
        [None, [], {}, [device], [device, device], rank, number(chance), chance.choice(HOSTILE)]
    )


def event(n: int, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": n * 10, "dur": 5, **more}


def launched(n: int, name: str, correlation: Any, **more: Any) -> list[dict[str, Any]]:
    """A launch and its kernel."""
    args = {"correlation": correlation}
    call = event(n, cat="cuda_runtime", name="cudaLaunchKernel", pid=1, tid=1, dur=2, args=args)
    on_gpu = {"device": 0, "stream": 7, "grid": [1, 1, 1], "block": [32, 1, 1], **args}
    return [call, event(n, **{"name": name, "ts": n * 10 + 3, "args": on_gpu, **more})]


def extreme(chance: random.Random) -> bytes:
    """Much of one thing, or numbers and names that nobody expects; at most :data:`LARGEST` bytes."""
    powers = [chance.uniform(0, 3)] * 6 + [chance.uniform(2, 4)] * 3 + [chance.uniform(4, 5)]
    events: list[Any] = []
    size = 0
    for one in chance.choice(EXTREMES)(chance, int(10 ** chance.choice(powers))):
        size += len(json.dumps(one)) + 2
        if size > LARGEST - SMALL:
            break
        events.append(one)
    around = {key: around_value(chance) for key in AROUND if chance.random() < 0.2}
    return json.dumps({"traceEvents": events, **around}).encode()


def many_names(chance: random.Random, most: int) -> Iterator[Any]:
    cat = chance.choice(CATEGORIES)
    start = chance.choice(["k", "void f<", "_Z3", "aten::", "triton_poi_fused_", MARK])
    for n in range(most):
        yield event(n, cat=cat, name=f"{start}{n}")


def many_lanes(chance: random.Random, most: int) -> Iterator[Any]:
    keys = chance.sample(["pid", "tid", "device", "stream"], chance.randrange(1, 4))
    cat = chance.choice(["kernel", "cpu_op"])
    for n in range(most):
        ids = {key: n if chance.random() < 0.9 else f"lane {n}" for key in keys}
        lane = {key: value for key, value in ids.items() if key in ("pid", "tid")}
        if chance.random() < 0.1:
            named = chance.choice(["process_name", "thread_name", "process_labels", "thread_sort_index"])
            yield {
                "ph": "M",
                "name": named,
                "args": {"name": chance.choice(HOSTILE), "labels": "GPU 0"},
                **lane,
            }
        yield event(n, cat=cat, args=ids, **lane)


def many_steps(chance: random.Random, most: int) -> Iterator[Any]:
    stride = chance.choice([1, 1, 0, -1, 10**6, 10**17])
    length = chance.choice([10, 10, 9, 100, 0, 10**7])
    threads = chance.choice([1, 1, 1, 2, most])
    for n in range(most):
        tid = 1 + n % threads
        yield event(n, cat="user_annotation", name=f"ProfilerStep#{n * stride}", pid=1, tid=tid, dur=length)
        if chance.random() < 0.5:
            yield from launched(n, "k", n)


def deep_in_time(chance: random.Random, most: int) -> Iterator[Any]:
    cat = chance.choice(CATEGORIES)
    for n in range(most):
        args = {"Python id": n, "Python parent id": n - 1} if cat == "python_function" else {}
        yield event(0, cat=cat, name=f"f{n % 7}", ts=n, dur=2 * (most - n), args=args)


def deep_in_json(chance: random.Random, most: int) -> Iterator[Any]:
    value: Any = 1
    for n in range(min(most, 900)):
        value = [value] if n % 2 else {"a": value}
    yield from launched(1, "k", 1)
    yield event(2, args={"correlation": 2, chance.choice([*IDS, "deep"]): value})


def one_correlation(chance: random.Random, most: int) -> Iterator[Any]:
    same = chance.choice([1, 0, -1, 2**40, "1"])
    for n in range(most):
        pair = launched(n, f"k{n % 5}", same)
        yield from pair if chance.random() < 0.5 else [chance.choice(pair)]


def odd_numbers(chance: random.Random, most: int) -> Iterator[Any]:
    keys = chance.sample(["ts", "dur", "pid", "tid"], chance.randrange(1, 4))
    for n in range(min(most, 5000)):
        for one in launched(n, "k", n):
            if chance.random() < 0.5:
                one.update({key: number(chance) for key in keys})
            if chance.random() < 0.3:
                one["args"] = {key: number(chance) for key in (*one["args"], *IDS, "bytes")}
            yield one


def same_ids(chance: random.Random, most: int) -> Iterator[Any]:
    key, few = chance.choice([*IDS, "id", "Sequence number", "Ev Idx"]), chance.choice([1, 2, 10])
    for n in range(most):
        args = {key: n % few, "Python parent id": chance.randrange(10)}
        cat = chance.choice(CATEGORIES)
        ph = chance.choice("sf") if cat in ("ac2g", "fwdbwd") else "X"
        yield event(n, cat=cat, ph=ph, id=n % 3, args=args)


def hostile_names(chance: random.Random, most: int) -> Iterator[Any]:
    def text() -> str:
        return "".join(chance.choice(HOSTILE) for _ in range(chance.choice([1, 1, 3])))

    keys = [
        *IDS,
        "Call stack",
        "Input Dims",
        "Kernel",
        "Input type",
        "Module Hierarchy",
        "kernel_file",
        "fusion",
    ]
    for n in range(min(most, 3000)):
        args = {key: text() for key in chance.sample(keys, 3)}
        cat = chance.choice([*CATEGORIES, text()])
        pid = chance.choice([0, 1, "\ud800", "\udfff", "\ue000", HOSTILE[0]])  # no path: scrub shortens them
        yield event(n, cat=cat, name=text(), pid=pid, args=args)
        yield from launched(n, text(), n)
        if chance.random() < 0.3:
            name = chance.choice(
                ["process_name", "thread_name", "process_labels", "process_sort_index", text()]
            )
            named = {"name": text(), "labels": text(), "sort_index": text()}
            yield {"ph": "M", "name": name, "pid": chance.choice([0, 1]), "tid": 1, "args": named}


def crossing(chance: random.Random, most: int) -> Iterator[Any]:
    """Events of a lane that cross, begins and ends that do not pair, flows that go anywhere."""
    for n in range(most):
        ph, cat, tid = chance.choice("XXXXBEsfti"), chance.choice(CATEGORIES), chance.choice([1, 7])
        times = {"ts": chance.randrange(10 * most), "dur": chance.randrange(100)}
        yield event(n, ph=ph, cat=cat, name=f"f{n % 9}", tid=tid, id=n % 11, **times)


def long_names(chance: random.Random, most: int) -> Iterator[Any]:
    names = [
        *("void f<" * most + ">" * most, "_ZN" + "1a" * most + "Ev", "_ZN1aI" * most + "E" * most),
        *("_Z1fI" + "S0_" * most + "E", "triton_poi_fused_" + "add_" * most, "ProfilerStep#" + "9" * most),
        *("void at::native::" + "elementwise_kernel<4, " * most, "sm80_xmma_gemm_" + "f16f16_" * most),
        *(
            start * most
            for start in ("a::", "(", "<", ">", "x", "0", "[", "_", " ", "\u202e", "&", "*", "1x")
        ),
        *(
            start * most
            for start in ("{lambda(", "operator", "Memcpy HtoD (", "cutlass::Kernel2<", "nccl", "S_")
        ),
    ]
    for n, name in enumerate(chance.sample(names, 4)):
        yield from launched(n, name[: LARGEST // 6], n, cat=chance.choice(["kernel", *CATEGORIES]))


def graphs(chance: random.Random, most: int) -> Iterator[Any]:
    for n in range(0, most, 50):
        yield event(n, cat="cuda_runtime", name="cudaGraphLaunch", pid=1, tid=1, args={"correlation": n})
        for m in range(chance.randrange(50)):
            args = {"correlation": n, "graph node id": m, "stream": m % 3, "device": 0}
            yield event(n, name=f"k{m}", ts=10 * n + m, dur=chance.randrange(3), args=args)


def long_ago(chance: random.Random, most: int) -> Iterator[Any]:
    """Times that are far apart."""
    for n in range(min(most, 20_000)):
        ts = chance.choice([0, 1.7e15, 1.7e15 + n, 9e15, -5, n])
        yield from ({**one, "ts": ts} for one in launched(n, "k", n))


EXTREMES: list[Callable[[random.Random, int], Iterator[Any]]] = [
    *(many_names, many_lanes, many_steps, deep_in_time, deep_in_json, one_correlation, odd_numbers),
    *(same_ids, hostile_names, crossing, long_names, graphs, long_ago),
]
