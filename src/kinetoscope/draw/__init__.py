"""What a trace looks like: one layout of lanes and bars, drawn for the page and for paper; and tables.

matplotlib is needed only for :mod:`kinetoscope.draw.paper`, and imported only when it draws.
"""

from kinetoscope.draw.describe import count_word, describe, headline
from kinetoscope.draw.figure import figure_html
from kinetoscope.draw.geometry import Arrow, Band, Bar, Label, Lane, Layout, Style, Tick
from kinetoscope.draw.layout import lay_out
from kinetoscope.draw.names import short_name
from kinetoscope.draw.paper import thumbnail
from kinetoscope.draw.svg import svg
from kinetoscope.draw.table import Column, cell_texts, event_places, html_table, text_table
from kinetoscope.draw.times import format_time
from kinetoscope.draw.walk import data_script, raw_script
from kinetoscope.draw.window import LayoutError, Steps

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
    "describe",
    "event_places",
    "figure_html",
    "format_time",
    "headline",
    "html_table",
    "lay_out",
    "raw_script",
    "short_name",
    "svg",
    "text_table",
    "thumbnail",
]
