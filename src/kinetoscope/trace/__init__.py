"""What the profiler wrote: bytes -> typed events -> :class:`Trace`."""

from kinetoscope.trace.errors import TraceError
from kinetoscope.trace.events import COPIES, GPU_ACTIVITIES, Event, Kind, LaneId, Step, Trace
from kinetoscope.trace.load import load, loads

__all__ = [
    "COPIES",
    "GPU_ACTIVITIES",
    "Event",
    "Kind",
    "LaneId",
    "Step",
    "Trace",
    "TraceError",
    "load",
    "loads",
]
