"""Files that people give for a trace, by their first bytes: what each is, and what to do with it."""

from __future__ import annotations

import re

from kinetoscope.trace.findings import TraceError

LOOKED_AT = 2**16
"""bytes from the beginning of a file"""

_TORCH = "record a trace with torch.profiler, and give the file that export_chrome_trace wrote"
_UNPACK = "unpack it, and give what is in it"
_OPEN_IN = "open it with {} (Kinetoscope reads what export_chrome_trace of torch.profiler writes)"
_SYSTEMS = (
    "Nsight Systems (its report or an export of it)",
    _OPEN_IN.format("Nsight Systems, or read it with `nsys stats`"),
)

_NSYS = (
    rb'\s*[\[{].*?"(?:AnalysisDetails|GlobalVid|TraceProcessEvent|(?:Cuda|Nvtx|OSRT)Event|StringIds|'
    rb'CUPTI_ACTIVITY_KIND_\w+|TARGET_INFO_\w+)"'
)
"""Keys and tables of its exports"""

_FORMATS: tuple[tuple[bytes, str, str], ...] = (
    (
        rb"version https://git-lfs\.github\.com/spec/",
        "a pointer of Git LFS, and the trace itself was not fetched",
        "run `git lfs pull` in its repository",
    ),
    (rb"PK\x03\x04.{0,200}data\.pkl", "a file of torch.save", _TORCH),
    (rb"PK\x03\x04", "a zip archive", _UNPACK),
    (rb"PK\x05\x06", "an empty zip archive", _UNPACK),
    (rb"\x28\xb5\x2f\xfd", "compressed with zstd", "unpack it (`unzstd FILE`), and give what is in it"),
    (rb"BZh\d", "compressed with bzip2", "unpack it (`bunzip2 FILE`), and give what is in it"),
    (rb"\xfd7zXZ\x00", "compressed with xz", "unpack it (`unxz FILE`), and give what is in it"),
    (rb"\x04\x22M\x18", "compressed with lz4", "unpack it (`unlz4 FILE`), and give what is in it"),
    (rb"7z\xbc\xaf", "a 7z archive", _UNPACK),
    (rb".{257}ustar", "a tar archive", _UNPACK),
    (rb"\x1f\x8b", "gzipped twice", "unpack it once (`gunzip FILE`)"),
    (
        rb"SQLite format 3\x00",
        "an SQLite database, as Nsight Systems exports one",
        _OPEN_IN.format("`nsys stats`, or the program that wrote it"),
    ),
    (rb"NVR\x00", "a report of Nsight Compute", _OPEN_IN.format("Nsight Compute")),
    # Each report begins so, by programs that read its version there; NVIDIA does not document it.
    (rb"NVIDIA Tegra Profiler Report ", f"a file of {_SYSTEMS[0]}", _SYSTEMS[1]),
    (
        rb"\x80[\x02-\x05][\x95}(\]cK]",
        "a pickle, perhaps a snapshot of torch's memory",
        "open a snapshot at https://docs.pytorch.org/memory_viz, and for a timeline " + _TORCH,
    ),
    (rb".{12,60}brain\.Event:\d", "an event file of TensorBoard", "give the .pt.trace.json beside it"),
    # Its first field is a packet; text has no such control characters.
    (
        rb"\n(?=.{0,64}[\x00-\x08\x0e-\x1f])",
        "a trace of Perfetto in its own format",
        "convert it with `traceconv json FILE`, or open it at https://ui.perfetto.dev",
    ),
    (
        rb"\s*<(?:!doctype|html|head|\?xml|svg)",
        "a page or a picture (HTML or XML), as a server sends in place of a file",
        "open it in a browser to see what it says, and download the trace itself",
    ),
    (rb"%PDF|\x89PNG|\xff\xd8\xff", "a picture or a document", _TORCH),
)
"""First bytes (a pattern), what the file is, and what to do next"""

_JSON: tuple[tuple[bytes, str, str], ...] = (
    (
        rb'\s*\{(?=.*?"schema"\s*:)(?=.*?"nodes"\s*:\s*\[)',
        "an execution trace of torch (ExecutionTraceObserver, Chakra), which has no times of the GPU",
        "give the trace that torch.profiler exported beside it (export_chrome_trace)",
    ),
    (
        _NSYS,
        f"a file of {_SYSTEMS[0]}",
        _SYSTEMS[1],
    ),
    (
        rb'\s*\{.*?"(?:device_traces|segments)"\s*:\s*\[',
        "a snapshot of torch's memory",
        "open it at https://docs.pytorch.org/memory_viz",
    ),
    (
        rb'\s*\{.*?"https://www\.speedscope\.app/',
        "a profile of speedscope",
        "open it at https://www.speedscope.app",
    ),
    (rb'\s*\{\s*"cells"\s*:|\s*\{.*?"nbformat"\s*:', "a notebook", _TORCH),
    (
        rb'\s*\{\s*"rocprofiler-sdk-tool"\s*:',
        "a file of rocprofv3",
        "write it with `--output-format pftrace` and open it at https://ui.perfetto.dev",
    ),
)
"""The same for JSON that has no list traceEvents near its beginning"""

_ENDINGS = {
    ".nsys-rep": _SYSTEMS,
    ".qdrep": _SYSTEMS,
    ".ncu-rep": ("Nsight Compute", _OPEN_IN.format("Nsight Compute")),
}
"""By the end of the name, for formats whose first bytes are not documented"""


def refuse_other_formats(start: bytes, path: str) -> None:
    """Raises :class:`TraceError`, naming ``path``, if the first bytes are those of another format."""
    start = start[:LOOKED_AT]
    formats = _FORMATS if b'"traceEvents"' in start else _FORMATS + _JSON
    for pattern, what, remedy in formats:
        if re.match(pattern, start, re.DOTALL | re.IGNORECASE):
            raise TraceError(f"{path}: this is {what}; {remedy}.")
    for ending, (program, remedy) in _ENDINGS.items():
        if path.endswith(ending):
            raise TraceError(f"{path}: this is a file of {program}; {remedy}.")
