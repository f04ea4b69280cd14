"""What the profiler wrote: bytes -> typed events -> :class:`Trace`."""

from kinetoscope.trace.categories import COPIES, GPU_ACTIVITIES, Kind
from kinetoscope.trace.events import Event, Step, Trace
from kinetoscope.trace.fields import LaneId
from kinetoscope.trace.findings import CODES, Finding, Severity, TraceError
from kinetoscope.trace.load import load, load_whole, loads
from kinetoscope.trace.steps import StepAt

__all__ = [
    "CODES",
    "COPIES",
    "GPU_ACTIVITIES",
    "Event",
    "Finding",
    "Kind",
    "LaneId",
    "Severity",
    "Step",
    "StepAt",
    "Trace",
    "TraceError",
    "load",
    "load_whole",
    "loads",
]
