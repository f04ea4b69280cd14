"""How a page shows a recording: the Sphinx extension.  ``extensions = ["kinetoscope.book"]``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinetoscope import __version__
from kinetoscope.book import banner, build_setup, dependencies, gallery, stale_output, trace_assets, verdicts
from kinetoscope.book.build_context import book_of
from kinetoscope.book.chain import DispatchChain
from kinetoscope.book.claims import setup_claims
from kinetoscope.book.config import setup_config
from kinetoscope.book.course import setup_course
from kinetoscope.book.discovery import setup_discovery
from kinetoscope.book.guess import setup_guess
from kinetoscope.book.kernel_name import KernelNameTable
from kinetoscope.book.ladder import setup_ladder
from kinetoscope.book.machine_variants import setup_switch
from kinetoscope.book.machines import Machines
from kinetoscope.book.measured import Measured
from kinetoscope.book.nodes import setup_nodes
from kinetoscope.book.parser import GalleryParser
from kinetoscope.book.plot import setup_plot
from kinetoscope.book.profiler_table import ProfilerTable
from kinetoscope.book.published_role import Published
from kinetoscope.book.recorded_table import RecordedTable
from kinetoscope.book.reference_tables import ReferenceTable
from kinetoscope.book.timeline import Timeline
from kinetoscope.book.trace_compare import TraceCompare
from kinetoscope.book.viewer_assets import setup_viewer
from kinetoscope.draw.viewer import FIGURE_STYLE, STATIC

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

_STATIC = Path(__file__).with_name("static")


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers everything with Sphinx.  Sphinx-Gallery is set up first if conf.py has not done so."""
    app.setup_extension("sphinx_gallery.gen_gallery")
    setup_config(app)
    setup_nodes(app)
    setup_guess(app)
    setup_switch(app)
    setup_ladder(app)
    setup_claims(app)
    setup_plot(app)
    setup_course(app)
    setup_discovery(app)
    app.add_directive("timeline", Timeline)
    app.add_directive("profiler-table", ProfilerTable)
    app.add_directive("recorded-table", RecordedTable)
    app.add_directive("machines", Machines)
    app.add_directive("reference-table", ReferenceTable)
    app.add_directive("trace-compare", TraceCompare)
    app.add_directive("dispatch-chain", DispatchChain)
    app.add_directive("kernel-name", KernelNameTable)
    app.add_role("measured", Measured())
    app.add_role("published", Published())
    app.add_source_parser(GalleryParser, override=True)
    app.add_css_file(FIGURE_STYLE)
    app.add_css_file("kinetoscope.css")
    setup_viewer(app)

    # Sphinx-Gallery fills its settings in at config-inited 10 and lays out at builder-inited 500.
    app.connect("config-inited", gallery.never_execute, priority=5)
    app.connect("config-inited", _add_static, priority=800)
    app.connect("builder-inited", build_setup.open_book, priority=400)
    app.connect("builder-inited", gallery.prepare_folder, priority=450)
    app.connect("builder-inited", gallery.finish_folder, priority=600)
    app.connect("env-get-outdated", dependencies.outdated)
    app.connect("env-get-outdated", stale_output.note_published)
    app.connect("env-purge-doc", dependencies.purge)
    app.connect("env-merge-info", dependencies.merge)
    app.connect("env-purge-doc", verdicts.purge)
    app.connect("env-merge-info", verdicts.merge)
    app.connect("env-purge-doc", trace_assets.purge)
    app.connect("env-merge-info", trace_assets.merge)
    app.connect("env-updated", verdicts.warn_about_twins)
    app.connect("build-finished", verdicts.write_json)
    app.connect("doctree-read", banner.add_banner)
    app.connect("build-finished", stale_output.unpublish)
    app.connect("build-finished", trace_assets.publish)
    app.connect("build-finished", _fail_if_not_recorded)
    return {"version": __version__, "env_version": 6, "parallel_read_safe": True, "parallel_write_safe": True}


def _add_static(app: Sphinx, config: Config) -> None:
    config.html_static_path += [str(_STATIC), str(STATIC / FIGURE_STYLE)]


def _fail_if_not_recorded(app: Sphinx, exception: Exception | None) -> None:
    """An example that could not be recorded must not look like success, with ``-W`` or without."""
    if exception is None and book_of(app.env).failed:
        app.statuscode = 1
