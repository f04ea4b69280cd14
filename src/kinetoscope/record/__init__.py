"""Recordings of what a machine produced: where they lie, how they are made, when they are stale."""

from kinetoscope.record.provenance import Machine, Provenance, RecordingError
from kinetoscope.record.store import ExampleRecording, MachineRecording, read_machines

__all__ = ["ExampleRecording", "Machine", "MachineRecording", "Provenance", "RecordingError", "read_machines"]
