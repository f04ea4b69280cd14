"""For your own Python: a trace that answers in rows, and assertions about what ran.

>>> import kinetoscope
>>> trace = kinetoscope.load("docs/recordings/nvidia-h200/02_linear/linear_eager.json.gz")
>>> trace.steps[0].number
2
>>> kinetoscope.count(trace.kernels, "nvjet*")
3
"""

from kinetoscope.api.counts import Count, Time, count, explain, time
from kinetoscope.api.loading import load, trace_of
from kinetoscope.api.trace import PublicTrace as Trace
from kinetoscope.api.trace import Table
from kinetoscope.measure.errors import NotMeasured
from kinetoscope.trace import TraceError

__all__ = [
    "Count",
    "NotMeasured",
    "Table",
    "Time",
    "Trace",
    "TraceError",
    "count",
    "explain",
    "load",
    "time",
    "trace_of",
]
