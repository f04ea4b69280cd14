"""For your own Python: a trace that answers in rows, and assertions about what ran.

>>> import kinetoscope
>>> trace = kinetoscope.load("docs/recordings/nvidia-h200/02_linear/linear_eager.json.gz")
>>> trace.steps[0].number
2
>>> kinetoscope.count(trace.kernels, "nvjet*")
3
"""

from kinetoscope.api.counts import Count, Time, count, time
from kinetoscope.api.loading import load
from kinetoscope.api.profiled import trace_of
from kinetoscope.api.tables import Table
from kinetoscope.api.traces import Trace

__all__ = ["Count", "Table", "Time", "Trace", "count", "load", "time", "trace_of"]
