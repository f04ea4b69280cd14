"""The names that ``conf.py`` had for the gallery scraper before it was called ``"kinetoscope"``."""

from kinetoscope.record.scraper import scrape

# The first of the two that is called takes what a block made, and leaves nothing to the second.
figures = scrape

__all__ = ["figures", "scrape"]
