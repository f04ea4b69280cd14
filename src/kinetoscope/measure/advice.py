"""What to look at next in a trace: sentences, each by a rule that has limits and a source.

A rule reads what was measured and gives one sentence, or none: no advice is better than a doubtful one.
Shares are of the step that is looked at, or of the whole of a trace without steps.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from kinetoscope.measure.device import op_of
from kinetoscope.measure.measured_step import LONG, WORTH, Half, Measured, Sentence
from kinetoscope.measure.printing import printed
from kinetoscope.measure.steps import communication
from kinetoscope.trace import Kind
from kinetoscope.trace.columns import CODE, distinct
from kinetoscope.trace.fields import NONE, plain_args

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kinetoscope.measure.steps import StepRow
    from kinetoscope.trace import Trace

_Says: TypeAlias = "Callable[[Measured], Sentence | None]"

LARGE_KERNEL = 0.25
"""A kernel gets a sentence from this share of the kernel time on"""

MANY = 100
"""With fewer kernels than this, short ones get no sentence"""

HANDOVER = 5_000
"""ns.  From one queued kernel to the next, the GPU needs one or two microseconds."""

STAGED = 65_536
"""Bytes.  The CPU doesn't wait for a copy of up to so many from pageable memory: the driver keeps them
(https://docs.nvidia.com/cuda/cuda-driver-api/api-sync-behavior.html)."""

_COMPILED = re.compile(r"triton_(?:poi|red|per|tem)_fused|Torch-Compiled Region|## Call CompiledFxGraph")
"""Begins the names of what torch.compile makes and records"""

_WORTH = printed(WORTH, "share")

_TUNING = "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"
_PROFILER = "https://docs.pytorch.org/docs/stable/profiler.html"
_RECIPE = "https://docs.pytorch.org/tutorials/recipes/recipes/profiler_recipe.html"
_PINNING = "https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html"
_BRRR = "https://horace.io/brrr_intro.html"
_GRAPHS = "https://docs.nvidia.com/dl-cuda-graph/cuda-graph-basics/cuda-graph.html"
_IDLE = "https://docs.pytorch.org/tutorials/beginner/hta_intro_tutorial.html"
_COLLECTIVES = "https://github.com/AMD-AGI/TraceLens/blob/main/docs/how-to/nccl-analysis.md"


@dataclass(frozen=True)
class Rule:
    """When a sentence is given, what it says and why; the texts are for the reference page."""

    when: str
    says: str
    source: str
    """an address"""
    sentence: _Says


RULES: dict[str, Rule] = {}
"""By name, in the order of the sentences"""


def advice(trace: Trace, step: StepRow) -> Iterator[Sentence]:
    """The sentences on a step of a trace, or on the whole of it (``whole_row``), the most important first."""
    measured = Measured(trace, step)
    for rule in RULES.values():
        sentence = rule.sentence(measured)
        if sentence is not None:
            yield sentence


def _rule(name: str, when: str, says: str, source: str) -> Callable[[_Says], _Says]:
    """Adds a rule to :data:`RULES`."""

    def add(sentence: _Says) -> _Says:
        RULES[name] = Rule(when, says, source, sentence)
        return sentence

    return add


@_rule(
    "verdict",
    "The file has GPU activity. A trace without steps gets no verdict if gaps of more than a millisecond "
    "make up half of its waiting: nobody knows whether there was anything to do.",
    "Says what the step waits for: its ``regime``, as in an expression, with the shares that it rests on.",
    _BRRR,
)
def _verdict(measured: Measured) -> Sentence | None:
    step, whole = measured.step, measured.whole
    if measured.has_gpu and measured.regime is None:
        return Sentence(
            f"No launch of the {whole}'s GPU work is in the file, so what the GPU waited for can't be told."
        )
    wait, alone, computing = (
        printed(ns / (step.span or 1), "share")
        for ns in (measured.waiting, step.communicating, step.computing)
    )
    if measured.regime == "overhead-bound":
        if whole == "trace" and measured.half.least > LONG:
            return None
        where = f"{whole} from its first launch to its last work" if measured.margin else whole
        wait = printed(measured.waiting / (step.span - measured.margin), "share")
        return Sentence(
            f"Overhead-bound (CPU-bound): the GPU waits for the CPU for {wait} of the {where}. "
            "Even if its kernels took no time, that wait would remain."
        )
    if measured.regime == "communication-bound":
        return Sentence(f"Communication-bound: for {alone} of the {whole}, only communication runs. {_PEERS}")
    if measured.regime == "gpu-bound":
        saves = "hardly does" if measured.waiting < 0.01 * step.span else f"saves {wait} at most"
        return Sentence(
            f"GPU-bound: the GPU computes for {computing} of the {whole}. Faster kernels shorten "
            f"it; a faster CPU {saves}."
        )
    parts = {
        "computes": step.computing,
        "only communicates": step.communicating,
        "only copies from or to the host": step.gpu_busy - step.computing - step.communicating,
        "waits for the CPU": measured.waiting,
        "is idle before the first launch or after the last work": measured.margin,
        "is idle although work is queued": step.idle_queued,
        "is idle before work whose launch isn't in the file": step.idle_unknown,
    }
    said = [
        f"{what} for {printed(ns / step.span, 'share')}"
        for what, ns in parts.items()
        if measured.is_worth(ns)
    ]
    return Sentence(f"Mixed: of the {whole}, the GPU {', '.join(said)}.") if said else None


_PEERS = (
    "Such kernels also run while they wait for the other ranks: compare the ranks' traces. In an "
    "all-reduce, the rank that spends the least time is the one that the others wait for."
)


@_rule(
    "communication",
    f"For at least {_WORTH}, only communication runs, and the verdict doesn't say so already.",
    "Says that such a kernel also runs while it waits for the other ranks. No rule calls it slow.",
    _COLLECTIVES,
)
def _communication(measured: Measured) -> Sentence | None:
    time = measured.step.communicating
    if measured.regime == "communication-bound" or not measured.is_worth(time):
        return None
    return Sentence(f"For {measured.part(time)}, only communication runs on the GPU. {_PEERS}")


@_rule(
    "lead",
    f"For at least {_WORTH} at the start of the step, nothing had been launched since the recording began.",
    "Says that a longer run may hide this time, and what the CPU did in it.",
    _PROFILER,
)
def _lead(measured: Measured) -> Sentence | None:
    lead = measured.step.lead
    if measured.whole == "trace" or not measured.is_worth(lead):
        return None
    words, names = measured.meanwhile(measured.start, measured.start + lead)
    later = "look at a later step" if len(measured.trace.steps_at) > 1 else "record more steps"
    return Sentence(
        f"The first {measured.part(lead)} passed before the first launch of the recording. {words} In a "
        f"longer run, the GPU may still be at work on the step before: {later}.",
        names,
    )


@_rule(
    "data-loader",
    f"For at least {_WORTH}, the GPU waited for the CPU while the CPU was in a data loader.",
    "Says to load ahead, or faster.",
    _TUNING,
)
def _data_loader(measured: Measured) -> Sentence | None:
    gaps = measured.gaps
    time = int(gaps.loading[gaps.waits].sum())
    if not measured.is_worth(time):
        return None
    what = "More worker processes (num_workers) or a cheaper batch help, if the workers are the bottleneck."
    names = "\n".join(measured.columns.names)
    if "_SingleProcessDataLoaderIter" in names and "_MultiProcessingDataLoaderIter" not in names:
        what = "It loads in the training process: let worker processes load ahead (num_workers)."
    return Sentence(
        f"For {measured.part(time)}, the GPU was idle while the CPU was in the data loader. {what}"
    )


@_rule(
    "late-launches",
    f"For at least {_WORTH}, the GPU waited for the CPU, and no data loader, synchronization or lead "
    "explains it.",
    "Says whether half of it is one gap, a few long ones or many short ones. Of the longest: when it was and "
    "what the CPU did. Of many short ones: to launch less often.",
    _GRAPHS,
)
def _late_launches(measured: Measured) -> Sentence | None:
    gaps, late, half = measured.gaps, measured.late, measured.half
    if not measured.is_worth(measured.late_time):
        return None
    words = f"For {measured.part(measured.late_time)}, the GPU waited for the CPU to launch work"
    if measured.has_short_gaps:
        ways = [] if _is_compiled(measured) else ["fusion (torch.compile)"]
        if not any("GraphLaunch" in name for name in measured.columns.names):
            of = "its" if ways else "torch.compile's"
            ways.append(f"CUDA graphs ({of} mode reduce-overhead)")
        ways.append("more work in each (larger batches)")
        few = f"{', '.join(ways[:-1])}, or {ways[-1]}" if len(ways) > 1 else ways[0]
        middle = printed(int(np.median(gaps.length[late])), "ns")
        return Sentence(
            f"{words}, in {len(late):,} gaps of {middle} at the median. Fewer launches help: {few}."
        )
    longest = int(late[np.argmax(gaps.length[late])])
    begin, end = int(gaps.begin[longest]), int(gaps.end[longest])
    after = begin - measured.start
    when = f"{printed(after, 'ns')} after the start" if after else "at the start"
    place = f"of {printed(end - begin, 'ns')}, {when} of the {measured.whole}"
    if half.number == 1:
        words += f", most of it in one gap {place}."
    else:
        words += f", half of it in {half.number:,} gaps of {printed(half.least, 'ns')} or more."
        words += f" The longest is {place}."
    what = measured.meanwhile(begin, end)
    return Sentence(f"{words} {what.words}", what.names)


@_rule(
    "short-kernels",
    f"Many short gaps make up half of that time, and more than half of at least {MANY} kernels take less "
    "time than the CPU needed to launch them. The kernels of a graph share the time of its launch.",
    "Says that even a CPU that does nothing but launch couldn't keep up, and to fuse kernels.",
    _BRRR,
)
def _short_kernels(measured: Measured) -> Sentence | None:
    columns = measured.columns
    gpu = np.flatnonzero(columns.timed)
    gpu = gpu[columns.launch[gpu] != NONE]
    kernels = gpu[columns.kind[gpu] == CODE[Kind.KERNEL]]
    if not measured.has_short_gaps or len(kernels) < MANY:
        return None
    launch = columns.launch[kernels]
    each = columns.dur[launch] / np.bincount(columns.launch[gpu])[launch]
    share = float((columns.dur[kernels] < each).mean())
    if share <= 0.5:
        return None
    return Sentence(
        f"{printed(share, 'share')} of {len(kernels):,} kernels take less time than the CPU needs to "
        f"launch them ({printed(int(np.median(each)), 'ns')} at the median). Fusing them "
        f"({'' if _is_compiled(measured) else 'torch.compile, '}foreach and fused optimizers) saves launches."
    )


def _is_compiled(measured: Measured) -> bool:
    return any(_COMPILED.match(name) for name in measured.columns.names)


@_rule(
    "profiler",
    "Many short gaps make up half of that time, or one gap of at most a millisecond.",
    "Says that a profiler slows the CPU, Python stacks most of all.",
    _PROFILER,
)
def _profiler(measured: Measured) -> Sentence | None:
    if not measured.is_worth(measured.late_time) or measured.half.least > LONG:
        return None
    if (measured.columns.kind == CODE[Kind.PYTHON]).any():
        return Sentence(
            "Recording Python stacks slows the CPU, and this trace has them: record without with_stack "
            "before you believe how long the GPU waits."
        )
    return Sentence("A profiler slows the CPU: measure without it before you work on such gaps.")


@_rule(
    "synchronization",
    f"For at least {_WORTH}, the GPU was idle in gaps of at most {printed(LONG, 'ns')} that began while the "
    "CPU waited for it. The end of the recording doesn't count.",
    "Says in which call the CPU waited before the longest of these gaps, and what asks for such waits.",
    _TUNING,
)
def _synchronization(measured: Measured) -> Sentence | None:
    columns, gaps = measured.columns, measured.gaps
    time = int(gaps.length[gaps.synced].sum())
    if not measured.is_worth(time):
        return None
    since = gaps.since[gaps.synced][np.argmax(gaps.length[gaps.synced])]
    calls = measured.on_threads(Kind.CALL)
    calls = calls[(columns.start[calls] < since) & (columns.ends(calls) > since)]
    names = []
    if len(calls):
        call = int(calls[np.argmax(columns.dur[calls])])
        around = [call, int(columns.op[call])] if columns.op[call] != NONE else [call]
        names = [columns.names[columns.name[at]] for at in around]
    where = f" (the longest time in {' of '.join(['{}'] * len(names))})" if names else ""
    return Sentence(
        f"For {measured.part(time)}, the GPU was idle after the CPU had waited for it{where}: when such a "
        "wait ends, nothing is queued. Look for .item(), .cpu(), print or torch.cuda.synchronize(), and "
        "do it less often.",
        tuple(names),
    )


@_rule(
    "queued",
    f"For at least {_WORTH}, the GPU was idle although the next activity was in the queue.",
    f"Says whether it handed over from one to the next (gaps of at most {printed(HANDOVER, 'ns')} make up "
    "half of it), or something held the queue.",
    _IDLE,
)
def _queued(measured: Measured) -> Sentence | None:
    lengths = measured.gaps.length[measured.gaps.queued]
    time = int(lengths.sum())
    if not measured.is_worth(time):
        return None
    words = f"For {measured.part(time)}, the GPU was idle although the next activity was queued"
    if Half.of(lengths).least <= HANDOVER:
        return Sentence(
            f"{words}: it handed over {len(lengths):,} times from one activity to the next, in "
            f"{printed(int(np.median(lengths)), 'ns')} at the median. Fewer, longer kernels hand over "
            "less often."
        )
    return Sentence(
        f"{words}, for up to {printed(int(lengths.max()), 'ns')}. Its stream waited for another one, or "
        "for something that isn't in the trace."
    )


@_rule(
    "kernel",
    f"The verdict is GPU-bound or mixed. One kernel takes at least {printed(LARGE_KERNEL, 'share')} of "
    "the time of all kernels in the trace but those that communicate, and with that share of the "
    f"computing at least {_WORTH}.",
    "Says which kernel to look at first, and which ops launch it.",
    _RECIPE,
)
def _kernel(measured: Measured) -> Sentence | None:
    if measured.regime not in ("gpu-bound", "mixed"):
        return None
    columns = measured.columns
    kernels = columns.where(Kind.KERNEL)
    kernels = kernels[~columns.wrong[kernels]]
    computing = kernels[~communication(columns, kernels)]
    times = np.bincount(columns.name[computing], columns.dur[computing], minlength=1)
    first = int(np.argmax(times))
    share = float(times[first] / (times.sum() or 1))
    if share < LARGE_KERNEL or not measured.is_worth(int(share * measured.step.computing)):
        return None
    ops = op_of(columns, computing[columns.name[computing] == first])
    names = [columns.names[name] for name in columns.name[distinct(ops[ops != NONE])].tolist()]
    by = tuple(dict.fromkeys(names))[:3]
    launched = f" (launched by {', '.join(['{}'] * len(by))})" if by else ""
    of = "all kernel time" if len(computing) == len(kernels) else "the kernel time without communication"
    return Sentence(
        f"On the GPU, look at {{}}{launched} first: it takes {printed(share, 'share')} of {of}.",
        (columns.names[first], *by),
    )


@_rule(
    "pageable-copies",
    f"For at least {_WORTH}, copies from or to pageable memory ran while the CPU was in the call that "
    f"started them, and the longest is of more than {STAGED // 1024} KiB.",
    "Says to copy from or to pinned memory.",
    _PINNING,
)
def _pageable_copies(measured: Measured) -> Sentence | None:
    columns = measured.columns
    pageable = np.array(["Pageable" in name for name in columns.names], bool)
    at = columns.where(Kind.MEMCPY)
    at = at[~columns.wrong[at]]
    at = at[pageable[columns.name[at]] & (columns.launch[at] != NONE)]
    at = at[(columns.start[at] >= measured.start) & (columns.start[at] < measured.end)]
    waited = np.minimum(columns.ends(at), columns.ends(columns.launch[at])) - columns.start[at]
    time = int(np.maximum(waited, 0).sum())
    if not measured.is_worth(time):
        return None
    longest = at[np.argmax(waited)]
    [args] = columns.args_in_turn(np.array([longest]))
    size = plain_args(args).get("bytes")
    if isinstance(size, int) and size <= STAGED:
        return None
    name = columns.names[columns.name[longest]]
    if "DtoH" in name:
        what = "Copy into pinned memory with non_blocking=True, and synchronize before you read it."
    else:
        what = (
            "Let the data loader pin its memory (pin_memory=True), or pin a buffer once, and copy with "
            "non_blocking=True. To pin memory for each copy may take longer than it saves."
        )
    return Sentence(f"For {measured.part(time)}, the CPU waited for {{}}. {what}", (name,))


@_rule("no-gpu", "The file has no GPU activity.", "Says what may be missing.", _PROFILER)
def _no_gpu(measured: Measured) -> Sentence | None:
    if measured.has_gpu:
        return None
    found = {finding.code: finding.count for finding in measured.trace.findings}
    unknown = found.get("unknown-categories", 0)
    words = []
    if "no-gpu-events" in found:
        words.append(
            "Kernels were launched, and none was recorded. Was ProfilerActivity.CUDA on? Does another "
            "profiler hold the GPU's counters, or was this one set to read counters?"
        )
    elif not unknown:
        words.append("There is no GPU activity in the file, so what is here tells of the CPU alone.")
    if unknown:
        words.append(
            f"{unknown:,} events are of a category that is not known here: they may be another vendor's "
            "device. They are counted among the events, and neither drawn nor in a table."
        )
    return Sentence(" ".join(words))
