"""How a page shows a recording: the Sphinx extension.  ``extensions = ["kinetoscope"]`` sets it up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinetoscope import __version__
from kinetoscope.book import (
    assets,
    build_setup,
    claims,
    gallery,
    guess,
    ladder,
    machine_variants,
    machines,
    measured,
    nodes,
    plot,
    site,
)
from kinetoscope.book.claims import Claim, Published, Reported, When
from kinetoscope.book.config import VALUES
from kinetoscope.book.directive import BookDirective
from kinetoscope.book.dispatch_chain import DispatchChain
from kinetoscope.book.guess import Guess
from kinetoscope.book.ladder import Ladder, Rung
from kinetoscope.book.machines import Machines
from kinetoscope.book.measured import Measured
from kinetoscope.book.nodes import ForPaper, NodeVisitors
from kinetoscope.book.page_data import PageDataCollector
from kinetoscope.book.plot import RecordedFigure
from kinetoscope.book.reference_tables import ReferenceTable, document_options
from kinetoscope.book.tables import KernelNameTable, ProfilerTable, RecordedTable
from kinetoscope.book.timeline import Timeline
from kinetoscope.book.trace_compare import TraceCompare
from kinetoscope.draw.viewer import FIGURE_STYLE, figure_style

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

DIRECTIVES: dict[str, type[BookDirective]] = {
    # Figures and tables
    "timeline": Timeline,
    "profiler-table": ProfilerTable,
    "trace-compare": TraceCompare,
    "dispatch-chain": DispatchChain,
    "kernel-name": KernelNameTable,
    "recorded-table": RecordedTable,
    "recorded-figure": RecordedFigure,
    "ladder": Ladder,
    "rung": Rung,
    "machines": Machines,
    "reference-table": ReferenceTable,
    # Sentences
    "claim": Claim,
    "reported": Reported,
    "when": When,
    "guess": Guess,
}
ROLES = {"measured": Measured(), "published": Published()}
_WITH_NODES = (nodes, measured, claims, guess, ladder, machine_variants, plot)
_NODES: NodeVisitors = {node: how for module in _WITH_NODES for node, how in module.NODES.items()}

document_options(DIRECTIVES)


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers everything with Sphinx.  Sphinx-Gallery is set up first if conf.py has not done so."""
    app.setup_extension("sphinx_gallery.gen_gallery")
    for value in VALUES:
        app.add_config_value(value.name, value.default, value.rebuild, types=frozenset({type(value.default)}))
    for name, directive in DIRECTIVES.items():
        app.add_directive(name, directive)
    for name, role in ROLES.items():
        app.add_role(name, role)
    for node, visitors in _NODES.items():
        app.add_node(node, html=visitors)
    app.add_post_transform(ForPaper)
    app.add_source_parser(gallery.GalleryParser, override=True)
    app.add_env_collector(PageDataCollector)
    app.add_css_file(FIGURE_STYLE)
    app.add_css_file("kinetoscope.css")
    assets.add_viewer_loader(app)
    _connect(app)
    return {"version": __version__, "env_version": 7, "parallel_read_safe": True, "parallel_write_safe": True}


def _connect(app: Sphinx) -> None:
    """What happens when, in the order of a build.  Handlers of one event run by priority."""
    # Sphinx-Gallery completes its configuration at 10.
    app.connect("config-inited", gallery.never_execute, priority=5)
    app.connect("config-inited", _add_static, priority=800)

    # Sphinx-Gallery lays out the gallery at 500.
    app.connect("builder-inited", build_setup.set_up_build, priority=400)
    app.connect("builder-inited", gallery.prepare_folder, priority=450)
    app.connect("builder-inited", gallery.finish_folder, priority=600)

    app.connect("env-get-outdated", site.note_published)

    # Sphinx collects downloads and titles at 500.
    app.connect("doctree-read", site.add_run_line, priority=200)
    # Before the banner, which is not part of the page's own text.
    app.connect("doctree-read", site.describe_page, priority=300)
    app.connect("doctree-read", plot.use_drawings)
    app.connect("doctree-read", machines.add_banner)
    app.connect("doctree-read", machine_variants.keep_out_of_contents, priority=900)

    app.connect("env-updated", claims.warn_about_equal_ids)

    # Before sphinxext-opengraph, which adds to the same tags.
    app.connect("html-page-context", site.describe_search, priority=400)
    app.connect("html-page-context", site.add_course)
    app.connect("html-page-context", guess.add_guess_script)
    app.connect("html-page-context", machine_variants.add_switch_script)

    app.connect("build-finished", site.sort_documents, priority=100)
    app.connect("build-finished", site.write_sitemap)
    app.connect("build-finished", site.draw_card)
    app.connect("build-finished", site.remove_unpublished)
    app.connect("build-finished", claims.write_claims_json)
    app.connect("build-finished", assets.write_assets)
    app.connect("build-finished", build_setup.fail_if_not_recorded)


def _add_static(app: Sphinx, config: Config) -> None:
    style = Path(app.doctreedir) / FIGURE_STYLE
    style.parent.mkdir(parents=True, exist_ok=True)
    style.write_text(figure_style(), encoding="utf-8")
    config.html_static_path += [str(Path(__file__).with_name("static")), str(style)]
