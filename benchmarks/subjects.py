"""The subjects of `nox -s bench`, each run in its own process: `python benchmarks/subjects.py SUBJECT TRACE`.

A subject reads a trace the way its documentation says. With `--answers` it also prints its answer as JSON:
the number of kernels, and the sum of their durations in ns. A subject imports only what it needs, so this
module imports nothing at the top.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    Answer: TypeAlias = dict[str, int] | None

_GZIP = b"\x1f\x8b"


def _unpacked(path: str) -> bytes:
    """The JSON of a file. Subjects that cannot unpack do it with this: zlib, all at once."""
    import zlib

    data = _read(path)
    return zlib.decompress(data, 31) if data.startswith(_GZIP) else data


def _read(path: str) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123 (pathlib would not be in a bare process)
        return file.read()


def kinetoscope(path: str) -> Answer:
    """Load, nest, link, and make every table."""
    import kinetoscope as k
    from kinetoscope.draw.views import VIEWS

    trace = k.load(path)
    tables = {view: trace.table(view) for view in VIEWS}
    rows = tables["kernel"]
    return {"kernels": sum(row.calls for row in rows), "time_ns": sum(row.device for row in rows)}


def msgspec_typed(path: str) -> Answer:
    """A bare decode into records with the necessary fields of an event, and nothing else."""
    import msgspec

    number = int | str
    args = [("correlation", int | None, None), ("stream", number | None, None), ("device", int | None, None)]
    inside = msgspec.defstruct("Args", args, gc=False)
    event = [("ph", str, ""), ("cat", str, ""), ("name", str, ""), ("pid", number, 0), ("tid", number, 0)]
    event += [("ts", float, 0.0), ("dur", float, 0.0), ("args", inside | None, None)]
    entries = list[msgspec.defstruct("Event", event, gc=False)]
    document = msgspec.defstruct("Document", [("traceEvents", entries)])
    msgspec.json.decode(_unpacked(path), type=document)
    return None


def msgspec_untyped(path: str) -> Answer:
    """A bare decode into dictionaries."""
    import msgspec

    msgspec.json.decode(_unpacked(path))
    return None


def orjson(path: str) -> Answer:
    """A bare decode with orjson."""
    import orjson as library

    library.loads(_unpacked(path))
    return None


def simdjson(path: str) -> Answer:
    """A bare decode with simdjson."""
    import simdjson as library

    library.loads(_unpacked(path))
    return None


def python_json(path: str) -> Answer:
    """json.load of the file, as people do it."""
    import gzip
    import json

    gzipped = _suffix(path).endswith(".gz")
    with (gzip.open if gzipped else open)(path, "rt", encoding="utf-8") as file:
        json.load(file)
    return None


def hta(path: str) -> Answer:
    """HolisticTraceAnalysis: load, and its kernel breakdown.

    By default it leaves out the last profiler step. Its answer includes that one.
    """
    import logging
    import tempfile
    from pathlib import Path

    logging.disable(logging.CRITICAL)
    from hta.trace_analysis import TraceAnalysis

    options: dict[str, Any] = {"include_last_profiler_step": True} if "--answers" in sys.argv else {}
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder, f"rank0{_suffix(path)}")
        link.symlink_to(path)
        analysis = TraceAnalysis(trace_files={0: str(link)}, trace_dir=folder, **options)
        _, kernels = analysis.get_gpu_kernel_breakdown(
            visualize=False, **({"num_kernels": 10**6} if options else {})
        )
        if not options:
            return None
        work = kernels[kernels.kernel_type != "MEMORY"]
        time = round(float(work["sum (us)"].sum()) * 1000)
        trace = analysis.t.get_trace(0)
        symbols = analysis.t.symbol_table.get_sym_table()
        on_stream = trace[trace.stream >= 0]
        count = sum(not symbols[name].startswith(("Memcpy", "Memset")) for name in on_stream.name)
    return {"kernels": count, "time_ns": time}


def tensorboard(path: str) -> Answer:
    """The loader of TensorBoard's profiler plugin, on a folder with one run."""
    import tempfile
    from pathlib import Path

    from torch_tb_profiler import io
    from torch_tb_profiler.profiler import RunLoader

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, f"worker0.1.pt.trace{_suffix(path)}").symlink_to(path)
        run = RunLoader("run", folder, io.Cache()).load()
        profile = min(run.profiles.values(), key=lambda each: str(each.worker) != "worker0")
        data = profile.kernel_table["data"]
        heads = [column["name"] for column in data["columns"]]
        calls, time = heads.index("Calls"), heads.index("Total Duration (us)")
        return {
            "kernels": sum(row[calls] for row in data["rows"]),
            "time_ns": round(sum(row[time] for row in data["rows"]) * 1000),
        }


def nothing(path: str) -> Answer:
    """The cost of a bare process."""
    return None


def numpy_alone(path: str) -> Answer:
    """The cost of a process that imports numpy."""
    import numpy  # noqa: F401

    return None


def _command(*words: str) -> Callable[[str], Answer]:
    """`kinetoscope` with these words, the whole command; `TRACE` stands for the path, `OUT` for a folder."""

    def command(path: str) -> Answer:
        import tempfile

        from kinetoscope.cli import main

        with tempfile.TemporaryDirectory() as folder:
            if status := main([word.replace("TRACE", path).replace("OUT", folder) for word in words]):
                sys.exit(f"ended with {status}")
        return None

    return command


def _suffix(path: str) -> str:
    return ".json.gz" if _read(path).startswith(_GZIP) else ".json"


def _unpack_with(module: str) -> Callable[[str], Answer]:
    def unpack(path: str) -> Answer:
        import importlib

        library = importlib.import_module(module)
        data, size = _read(path), 0
        stream = library.decompressobj(31)
        for at in range(0, len(data), 2**14):
            size += len(stream.decompress(data[at : at + 2**14]))
        return None

    return unpack


def _at_once(path: str) -> Answer:
    _unpacked(path)
    return None


SUBJECTS: dict[str, Callable[[str], Answer]] = {
    "kinetoscope": kinetoscope,
    "msgspec, typed": msgspec_typed,
    "msgspec, untyped": msgspec_untyped,
    "orjson": orjson,
    "pysimdjson": simdjson,
    "json": python_json,
    "HolisticTraceAnalysis": hta,
    "torch-tb-profiler": tensorboard,
    "nothing": nothing,
    "numpy, loaded": numpy_alone,
    "kinetoscope summary": _command("summary", "TRACE"),
    "kinetoscope table": _command("table", "TRACE"),
    "kinetoscope compare": _command("compare", "TRACE", "TRACE"),
    "kinetoscope scrub": _command("scrub", "TRACE", "OUT/scrubbed.json"),
    "kinetoscope show": _command("show", "TRACE", "-o", "OUT/page.html", "--no-open"),
    "kinetoscope timeline": _command("timeline", "TRACE", "-o", "OUT/timeline.svg"),
    "zlib, at once": _at_once,
    "zlib, in pieces": _unpack_with("zlib"),
    "isal, in pieces": _unpack_with("isal.isal_zlib"),
    "zlib-ng, in pieces": _unpack_with("zlib_ng.zlib_ng"),
}

if __name__ == "__main__":
    answer = SUBJECTS[sys.argv[1]](sys.argv[2])
    if "--answers" in sys.argv:
        import json

        print("\n" + json.dumps(answer))
