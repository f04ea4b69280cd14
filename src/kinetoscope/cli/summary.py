"""``kinetoscope summary TRACE``."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from kinetoscope.cli.console import finding_dict, say, say_json
from kinetoscope.cli.files import add_trace, read_trace

if TYPE_CHECKING:
    import argparse

    from kinetoscope.measure.summary import Summary
    from kinetoscope.trace import Trace


def add_summary(parser: argparse.ArgumentParser) -> None:
    """Adds the options of ``kinetoscope summary``."""
    add_trace(parser)
    parser.add_argument("--json", action="store_true", help="the same numbers as JSON, times in ns")


def run_summary(options: argparse.Namespace) -> int:
    """Prints ten numbers and the findings of the file."""
    from kinetoscope.measure.summary import summarize

    trace = read_trace(options, options.trace, shows_findings=True)
    summary = summarize(trace)
    if options.json:
        numbers = {field.name: getattr(summary, field.name) for field in fields(summary)}
        say_json({**numbers, "findings": [finding_dict(finding) for finding in summary.findings]})
    else:
        say(_text(trace, summary))
    return 3 if options.strict and summary.findings else 0


def _text(trace: Trace, summary: Summary) -> str:
    from kinetoscope.measure.presence import GPU, has, why_missing
    from kinetoscope.measure.printing import printed
    from kinetoscope.measure.summary import busy_by_device, summary_lines

    lines = [("trace", trace.path), ("devices", _devices(trace.device_names) or "none named")]
    for label, value, what in summary_lines(trace, summary):
        lines.append((label, f"{value} ({what})" if what else value))
        by_device = busy_by_device(trace) if label == "GPU busy" else {}
        for (process, device), time in by_device.items() if len(by_device) > 1 else ():
            whose = "" if process == device else f", process {process}"
            lines.append((f"  device {device}", f"{printed(time, 'ns')}{whose}"))
    size = max(len(name) for name, _ in lines)
    text = [f"{name.ljust(size)}  {' '.join(value.split())}" for name, value in lines]
    text.append("")
    if not has(trace, GPU):
        text += [f"Not measured, for there is {why_missing(trace, GPU)}", ""]
    if summary.findings:
        text += ["Findings", *(f"  {' '.join(str(finding).split())}" for finding in summary.findings)]
    else:
        text.append("Nothing in the file had to be repaired, left out or assumed.")
    if summary.gpu_busy_ns:
        text += [
            "",
            "`kinetoscope table --by waiting` lists what the GPU waited for, `--by kernel` what took",
            "longest; `kinetoscope show` opens all of it as one page.",
        ]
    return "\n".join(text)


def _devices(names: dict[int, str]) -> str:
    """Each name once, after the numbers of its devices: ``0-7: NVIDIA B200``."""
    by_name: dict[str, list[int]] = {}
    for number, name in sorted(names.items()):
        by_name.setdefault(name, []).append(number)
    parts = []
    for name, numbers in by_name.items():
        is_range = len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1
        listed = f"{numbers[0]}-{numbers[-1]}" if is_range else ", ".join(map(str, numbers))
        parts.append(f"{listed}: {name}")
    return "; ".join(parts)
