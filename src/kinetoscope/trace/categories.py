"""What kind of event a category means, across years and vendors: the one table of it.

Sources: Kineto's names (``libkineto/include/ActivityType.h`` in pytorch/kineto, which says of each whether it
is of the host or the device), with those of XPU, MTIA, HPU and PrivateUse1; ``Operator``, ``Runtime``,
``Kernel``, ``Memcpy`` and ``Memset`` as files of 2021 have them; HIP as ROCm's build of Kineto writes it;
``enqueue`` and ``dequeue`` as torch_npu does; the profiler of torch before Kineto wrote no category
(pytorch#95460).
"""

from __future__ import annotations

import re

from kinetoscope.trace.events import Kind

STEP_NAME = re.compile(r"ProfilerStep#(\d{1,18})")

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
"""Kind by case-folded ``cat``; anything else is :attr:`Kind.OTHER`"""

NEITHER = frozenset(
    {
        *("trace", "cpu_instant_event", "external_correlation", "collective_comm", "cuda_event"),
        *("cuda_profiler_range", "xpu_scope_profiler", "hardware_counters", "mtia_counters", "mtia_insight"),
        *("enqueue", "dequeue"),
    }
)
"""Categories that are known and are of no kind: the recording as a whole, counters, events of CUDA (which are
marks), what other events say already, and the queue between two threads of Ascend's"""

LEGACY_PIDS = {"CPU functions": Kind.OP, "CUDA functions": Kind.KERNEL}
"""Kind by ``pid`` where the profiler of torch without Kineto wrote no ``cat`` (pytorch#95460)."""


def kind_of(cat: str | None, pid: int | str) -> Kind:
    """What an event is, by its category; by its ``pid`` where it has none."""
    return LEGACY_PIDS.get(str(pid), Kind.OTHER) if cat is None else KINDS.get(cat.lower(), Kind.OTHER)
