"""What a trace looks like: one layout of lanes and bars, drawn for the page and for files; and tables.

Only :mod:`kinetoscope.draw.matplotlib_backend` needs matplotlib, and imports it only when it draws.
"""
