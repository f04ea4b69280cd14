"""What a trace means: tables, and expressions over recordings."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from kinetoscope.measure.busy import busy, span

if TYPE_CHECKING:
    from kinetoscope.measure.csvtable import Table, read_table
    from kinetoscope.measure.errors import ExpressionError, TableError, UnitError
    from kinetoscope.measure.expressions import evaluate, show
    from kinetoscope.measure.printing import printed
    from kinetoscope.measure.quantity import Quantity
    from kinetoscope.measure.regime import Regime, StepSummary, step_summaries, whole_summary
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
    from kinetoscope.measure.torch_table import TorchRow
    from kinetoscope.measure.vocabulary import VOCABULARY, Entry

# A command that reads one trace and prints four lines should not pay for what it does not use.
_HOMES = {
    "Entry": "vocabulary",
    "ExpressionError": "errors",
    "Quantity": "quantity",
    "Regime": "regime",
    "Row": "tables",
    "StepRow": "tables",
    "StepSummary": "regime",
    "Table": "csvtable",
    "TableError": "errors",
    "TorchRow": "torch_table",
    "UnitError": "errors",
    "VOCABULARY": "vocabulary",
    "annotation_table": "tables",
    "call_table": "tables",
    "copy_table": "tables",
    "evaluate": "expressions",
    "kernel_table": "tables",
    "op_table": "tables",
    "printed": "printing",
    "read_table": "csvtable",
    "show": "expressions",
    "step_summaries": "regime",
    "step_table": "tables",
    "whole_summary": "regime",
}

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
    "show",
    "span",
    "step_summaries",
    "step_table",
    "whole_summary",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
