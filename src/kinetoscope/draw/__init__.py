"""What a trace looks like: one layout of lanes and bars, drawn for the page and for paper; and tables.

matplotlib is needed only for :mod:`kinetoscope.draw.paper`, and imported only when it draws.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kinetoscope.draw.column import Column
    from kinetoscope.draw.describe import count_word, headline
    from kinetoscope.draw.figure import figure_html
    from kinetoscope.draw.geometry import Arrow, Band, Bar, Label, Lane, Layout, Style, Tick
    from kinetoscope.draw.layout import lay_out
    from kinetoscope.draw.names import short_name
    from kinetoscope.draw.paper import thumbnail
    from kinetoscope.draw.table import cell_texts, event_places, html_table, text_table
    from kinetoscope.draw.times import format_time
    from kinetoscope.draw.walk import data_script, raw_script
    from kinetoscope.draw.window import LayoutError, Steps

# A command that reads one trace and prints four lines should not pay for what it does not use.
_HOMES = {
    "Arrow": "geometry",
    "Band": "geometry",
    "Bar": "geometry",
    "Column": "column",
    "Label": "geometry",
    "Lane": "geometry",
    "Layout": "geometry",
    "LayoutError": "window",
    "Steps": "window",
    "Style": "geometry",
    "Tick": "geometry",
    "cell_texts": "table",
    "count_word": "describe",
    "data_script": "walk",
    "event_places": "table",
    "figure_html": "figure",
    "format_time": "times",
    "headline": "describe",
    "html_table": "table",
    "lay_out": "layout",
    "raw_script": "walk",
    "short_name": "names",
    "text_table": "table",
    "thumbnail": "paper",
}

__all__ = [
    "Arrow",
    "Band",
    "Bar",
    "Column",
    "Label",
    "Lane",
    "Layout",
    "LayoutError",
    "Steps",
    "Style",
    "Tick",
    "cell_texts",
    "count_word",
    "data_script",
    "event_places",
    "figure_html",
    "format_time",
    "headline",
    "html_table",
    "lay_out",
    "raw_script",
    "short_name",
    "text_table",
    "thumbnail",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
