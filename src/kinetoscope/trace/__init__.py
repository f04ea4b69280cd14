"""What the profiler wrote: bytes -> typed events -> :class:`Trace`."""

from kinetoscope.trace.errors import TraceError
from kinetoscope.trace.events import COPIES, GPU_ACTIVITIES, Event, Kind, LaneId, Step, Trace
from kinetoscope.trace.findings import CODES, Finding, Severity
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
