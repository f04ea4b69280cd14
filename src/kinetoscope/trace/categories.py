"""What kind of event a category means, across years and vendors: the one table of it.

A new category of a vendor is one line in :data:`KIND_OF_CATEGORY`, or in :data:`NO_KIND` if its events should
be in no table.

Sources: Kineto's names (``libkineto/include/ActivityType.h`` in pytorch/kineto, which says of each whether it
is of the host or the device), with those of XPU, MTIA, HPU and PrivateUse1; ``Operator``, ``Runtime``,
``Kernel``, ``Memcpy`` and ``Memset`` as files of 2021 have them; HIP as ROCm's build of Kineto writes it;
``enqueue`` and ``dequeue`` as torch_npu does; the profiler of torch before Kineto wrote no category
(pytorch#95460).
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
    """A ``cuda_sync`` range: it covers kernels on its lane and is never busy time."""
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
    "python_function": Kind.PYTHON,
    "overhead": Kind.OVERHEAD,
}
"""Kind by ``cat`` in lower case; every other category is :attr:`Kind.OTHER`."""

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
