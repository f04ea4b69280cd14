"""What a trace means: tables, and expressions over recordings."""

from kinetoscope.measure.busy import busy, span
from kinetoscope.measure.csvtable import Table, read_table
from kinetoscope.measure.errors import ExpressionError, TableError, UnitError
from kinetoscope.measure.expressions import evaluate, show
from kinetoscope.measure.printing import printed
from kinetoscope.measure.quantity import Quantity
from kinetoscope.measure.regime import Regime, StepSummary, regime, step_summaries, whole_summary
from kinetoscope.measure.tables import (
    Row,
    StepRow,
    annotation_table,
    call_table,
    copy_table,
    kernel_table,
    op_table,
    step_table,
)
from kinetoscope.measure.torch_table import TorchRow, torch_table
from kinetoscope.measure.vocabulary import VOCABULARY, Entry

__all__ = [
    "VOCABULARY",
    "Entry",
    "ExpressionError",
    "Quantity",
    "Regime",
    "Row",
    "StepRow",
    "StepSummary",
    "Table",
    "TableError",
    "TorchRow",
    "UnitError",
    "annotation_table",
    "busy",
    "call_table",
    "copy_table",
    "evaluate",
    "kernel_table",
    "op_table",
    "printed",
    "read_table",
    "regime",
    "show",
    "span",
    "step_summaries",
    "step_table",
    "torch_table",
    "whole_summary",
]
