"""What kind of event a category means, across years and vendors: the one table of it.

A new category of a vendor is one line in :data:`KIND_OF_CATEGORY`, or in :data:`NO_KIND` if its events should
be in no table.

Sources: Kineto's names (``libkineto/include/ActivityType.h`` in pytorch/kineto, which says of each whether it
is of the host or the device), with those of XPU, MTIA, HPU and PrivateUse1; ``Operator``, ``Runtime``,
``Kernel``, ``Memcpy`` and ``Memset`` as files of 2021 have them; HIP as ROCm's build of Kineto writes it;
``enqueue`` and ``dequeue`` as torch_npu does; the profiler of torch before Kineto wrote no category
(pytorch#95460).

Not all that stands on a stream is work.  What only waits, marks a moment or runs on the CPU is no kernel:
:data:`KIND_OF_CATEGORY` says so by category, and :data:`NO_KERNEL` by name where a vendor gives it the
category of kernels.
"""

from __future__ import annotations

import re
from enum import Enum


class Kind(Enum):
    """What an event is, decided by its ``cat`` field alone (never by which keys it carries)."""

    OP = "op"
    """A CPU-side dispatcher call (``cpu_op``): ``aten::linear``."""
    ANNOTATION = "annotation"
    """A ``record_function`` or ``ProfilerStep#n`` range on the CPU (``user_annotation``)."""
    CALL = "call"
    """A CUDA/HIP runtime or driver call (``cuda_runtime``, ``cuda_driver``)."""
    KERNEL = "kernel"
    MEMCPY = "memcpy"
    MEMSET = "memset"
    GPU_ANNOTATION = "gpu_annotation"
    """The span of a CPU annotation's kernels, drawn by the profiler on the stream; never summed."""
    SYNC = "sync"
    """On a stream, but no work: a wait (``cuda_sync``), a mark or a host callback.  It may cover kernels on
    its lane, and is never busy time."""
    PYTHON = "python"
    """A Python stack frame (``python_function``)."""
    OVERHEAD = "overhead"
    """The profiler's own work (``overhead``)."""
    OTHER = "other"

    @property
    def on_gpu(self) -> bool:
        """Whether this is a GPU activity: work on a stream that counts as busy time."""
        return self in GPU_ACTIVITIES


GPU_ACTIVITIES = frozenset({Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET})
COPIES = frozenset({Kind.MEMCPY, Kind.MEMSET})

STEP_NAME = re.compile(r"ProfilerStep#(\d{1,18})")

KIND_OF_CATEGORY = {
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
    "glow_runtime": Kind.CALL,
    "hpu_op": Kind.CALL,
    "privateuse1_runtime": Kind.CALL,
    "privateuse1_driver": Kind.CALL,
    "kernel": Kind.KERNEL,
    "concurrent_kernel": Kind.KERNEL,
    "mtia_ccp_events": Kind.KERNEL,
    "gpu_memcpy": Kind.MEMCPY,
    "memcpy": Kind.MEMCPY,
    "gpu_memset": Kind.MEMSET,
    "memset": Kind.MEMSET,
    "gpu_user_annotation": Kind.GPU_ANNOTATION,
    "cuda_sync": Kind.SYNC,
    "xpu_sync": Kind.SYNC,
    "graph_host_node": Kind.SYNC,
    "python_function": Kind.PYTHON,
    "overhead": Kind.OVERHEAD,
}
"""Kind by ``cat`` in lower case; every other category is :attr:`Kind.OTHER`."""

NO_KERNEL: dict[str, tuple[Kind, str]] = {
    r"event_(wait|record)": (
        Kind.SYNC,
        "a queue of MTIA waits for another, or marks a moment (HolisticTraceAnalysis: mtia_inference_trace)",
    ),
    r"dma_request": (
        Kind.MEMCPY,
        "a copy of MTIA's, with a direction and a size (the same trace)",
    ),
    r"(Event|Stream|Context|Device) Sync|Stream Wait Event": (
        Kind.SYNC,
        "the four synchronizations of CUPTI (kineto#862), which Kineto gives the category cuda_sync",
    ),
    r"HostNode(: .*)?|(cuda|cu|hip)(LaunchHostFunc|StreamAddCallback)(_v2)?": (
        Kind.SYNC,
        "a function that runs on the CPU while its stream waits; in a graph it is a node (pytorch#191690)",
    ),
    r"zeCommandListAppend(Barrier|WaitOnEvents|SignalEvent|EventReset)|HIP_EVENT_(RECORD|WAIT)": (
        Kind.SYNC,
        "barriers and events of Level Zero (level-zero-spec#310) and HIP (rocm-systems#10276)",
    ),
}
"""What rows with the category of kernels are if all of their name fits the pattern, and why.

A name counts only as a whole: a user's kernel may have any of these words in its name.
"""

_NO_KERNEL = re.compile("|".join(NO_KERNEL))


def kind_of_kernel(name: str) -> Kind:
    """What a row with the category of kernels is, by its name."""
    if not _NO_KERNEL.fullmatch(name):
        return Kind.KERNEL
    return next(kind for names, (kind, _) in NO_KERNEL.items() if re.fullmatch(names, name))


NO_KIND = frozenset(
    {
        *("trace", "cpu_instant_event", "external_correlation", "collective_comm", "cuda_event"),
        *("cuda_profiler_range", "xpu_scope_profiler", "hardware_counters", "mtia_counters", "mtia_insight"),
        *("enqueue", "dequeue"),
    }
)
"""Known categories that are of no kind, so that they are no finding: the recording as a whole, counters, CUDA
events (which mark a moment), what other events say already, and the queue between two threads of Ascend's."""

_KIND_OF_PID = {"CPU functions": Kind.OP, "CUDA functions": Kind.KERNEL}
"""Kind by ``pid`` where the profiler of torch without Kineto wrote no ``cat`` (pytorch#95460)."""


def kind_of(cat: str | None, pid: int | str) -> Kind:
    """What an event is, by its category; by its ``pid`` if it has no category."""
    if cat is None:
        return _KIND_OF_PID.get(str(pid), Kind.OTHER)
    return KIND_OF_CATEGORY.get(cat.lower(), Kind.OTHER)
