"""``kinetoscope summary TRACE``."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from kinetoscope.cli.output import finding_dict, say, say_json
from kinetoscope.cli.reading import add_trace, read_trace

if TYPE_CHECKING:
    import argparse

    from kinetoscope.measure.summary import Summary
    from kinetoscope.trace import Trace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's own options."""
    add_trace(parser)
    parser.add_argument("--json", action="store_true", help="the same numbers as JSON, times in ns")


def run(options: argparse.Namespace) -> int:
    """Prints ten numbers and what was found in the file."""
    from kinetoscope.measure.summary import summarise

    trace = read_trace(options, options.trace, shows_findings=True)
    found = summarise(trace)
    if options.json:
        plain = {each.name: getattr(found, each.name) for each in fields(found) if each.name != "findings"}
        say_json({**plain, "findings": [finding_dict(finding) for finding in found.findings]})
    else:
        say(_text(trace, found))
    return 3 if options.strict and found.findings else 0


def _text(trace: Trace, found: Summary) -> str:
    from kinetoscope.measure.printing import printed
    from kinetoscope.measure.summary import busy_by_device, kind_counts

    kinds = ", ".join(f"{number} {kind.value}" for kind, number in kind_counts(trace).items())
    steps = ", ".join(str(step.number) for step in trace.steps_at[:12])
    more = f" and {found.steps - 12} more" if found.steps > 12 else ""
    busy = f"{printed(found.gpu_busy_ns, 'ns')}"
    if found.gpu_span_ns:
        busy += f", {printed(found.gpu_busy_ns / found.gpu_span_ns, 'share')} of the span"
    devices = _devices(trace.device_names)
    lines = [
        ("trace", trace.path),
        ("devices", devices or "none named"),
        ("events", f"{found.events} ({kinds})" if kinds else "0"),
        ("steps", f"{found.steps} (number {steps}{more})" if steps else "0"),
        ("streams", str(found.streams)),
        ("kernels", str(found.kernels)),
        ("kernel sum", f"{printed(found.kernel_sum_ns, 'ns')}, durations added up"),
        ("GPU busy", f"{busy}; kernels and copies, what overlaps counted once"),
        ("GPU span", f"{printed(found.gpu_span_ns, 'ns')}, from the first to the last of them"),
        (
            "linked",
            f"{found.linked} of {found.linked + found.unlinked} kernels and copies to a launch in the file",
        ),
    ]
    by_device = busy_by_device(trace)
    if len(by_device) > 1:
        at = next(place for place, (name, _) in enumerate(lines) if name == "GPU span")
        lines[at:at] = [
            (
                f"  device {device}",
                f"{printed(time, 'ns')}{'' if process == device else f', process {process}'}",
            )
            for (process, device), time in by_device.items()
        ]
    size = max(len(name) for name, _ in lines)
    text = [f"{name.ljust(size)}  {' '.join(value.split())}" for name, value in lines]
    text.append("")
    if not found.kernels and not found.gpu_busy_ns:
        text += ["No GPU activity is in the file: the times above are 0 because of that.", ""]
    if not found.findings:
        text.append("Nothing in the file had to be repaired, left out or assumed.")
    else:
        text.append("Findings")
        text += [f"  {' '.join(str(finding).split())}" for finding in found.findings]
    if found.gpu_busy_ns:
        text += ["", "`kinetoscope table --by waiting` has what the GPU waited for, `--by kernel` what took"]
        text += ["longest; `kinetoscope show` opens all of it as one page."]
    return "\n".join(text)


def _devices(names: dict[int, str]) -> str:
    """Each name once, after the numbers of its devices: ``0-7: NVIDIA B200``."""
    numbers: dict[str, list[int]] = {}
    for number, name in sorted(names.items()):
        numbers.setdefault(name, []).append(number)
    parts = []
    for name, of in numbers.items():
        row = len(of) > 2 and of[-1] - of[0] == len(of) - 1
        parts.append(f"{f'{of[0]}-{of[-1]}' if row else ', '.join(map(str, of))}: {name}")
    return "; ".join(parts)
