"""Sphinx configuration.  Build with ``python -m sphinx -c . docs docs/_build/html`` or ``nox -s docs``."""

import os
import sys
from pathlib import Path

from sphinx_gallery.sorting import ExplicitOrder

ROOT = Path(__file__).parent
# A checkout builds where nothing can be installed, such as a GPU node with no network.
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "docs/_extensions")]

# The addresses of the published site and of its source; only the publisher knows them.  Without the first
# there is no sitemap and no card (both need absolute addresses), without the second no link to edit a page.
SITE = os.environ.get("KINETOSCOPE_URL") or os.environ.get("READTHEDOCS_CANONICAL_URL") or ""
REPOSITORY = (os.environ.get("KINETOSCOPE_REPOSITORY") or "").rstrip("/")

project = "Kinetoscope"
author = "The Kinetoscope authors"
copyright = "The Kinetoscope authors"  # noqa: A001 (Sphinx's name for it)
html_title = "Kinetoscope"
language = "en"
nitpicky = True

extensions = [
    "kinetoscope",
    "sphinx_gallery.gen_gallery",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx.ext.intersphinx",
    "sphinx_llms_txt",
    "one_stylesheet",
]
if SITE:
    extensions.append("sphinxext.opengraph")
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "recordings", "gallery/sg_execution_times.rst"]
# Sphinx-Gallery's configuration holds an object that Sphinx cannot store.
suppress_warnings = ["config.cache"]

kinetoscope_machine = "nvidia-h200"
kinetoscope_course = "read/index"
# The sources that pages quote: a tag, what it stands for, and an address if it has a lasting one.
kinetoscope_sources = {
    "HF1": (
        "Hugging Face blog, Profiling in PyTorch, part 1: a beginner's guide to torch.profiler (May 2026)",
        "https://huggingface.co/blog/torch-profiler",
    ),
    "HF2": (
        "Hugging Face blog, Profiling in PyTorch, part 2: from nn.Linear to a fused MLP (June 2026)",
        "https://huggingface.co/blog/torch-mlp-fusion",
    ),
    "ES": ("A Spanish retelling of HF2 for teams in Latin America", ""),
    "ZH": ("A Chinese retelling of HF2, with a three-layer ReLU MLP", ""),
    "WIKI": ("A knowledge-base entry about HF2, in Chinese and English, with advice of its own", ""),
}

EXAMPLES = [
    "01_matmul_add",
    "02_linear",
    "02_strides_and_views",
    "03_simple_mlp",
    "03_kernels_mlp",
    "04_pointwise_geglu",
    "04_dual_gemm",
    "04_fused_mlp",
    "05_regimes",
    "05_recompiles",
]

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": ExplicitOrder([f"{name}.py" for name in EXAMPLES]),
    "image_scrapers": ["kinetoscope"],
    "capture_repr": (),
    "write_computation_times": False,
    # The page says how long the recorded run took; Sphinx-Gallery would say how long the layout took.
    "min_reported_time": 1e9,
    "show_signature": False,
    "remove_config_comments": True,
    "backreferences_dir": None,
}

myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3

intersphinx_mapping = {
    # Only the committed inventories: a build needs no network and does not change when others publish.
    "torch": ("https://docs.pytorch.org/docs/stable/", str(ROOT / "docs/_inventories/torch.inv")),
    "triton": ("https://triton-lang.org/main/", str(ROOT / "docs/_inventories/triton.inv")),
}

html_theme = "pydata_sphinx_theme"
html_baseurl = SITE
templates_path = ["docs/_templates"]
html_static_path = ["docs/_static"]
html_css_files = ["book.css"]
html_js_files = [("book.js", {"defer": "defer"})]
html_favicon = "docs/_static/favicon.svg"
html_show_sphinx = False
# The page would be empty: nothing is indexed.
html_use_index = False
html_copy_source = True
html_theme_options = {
    "logo": {"text": "Kinetoscope"},
    "show_toc_level": 2,
    "navigation_with_keys": False,
    # It would cover the text.
    "back_to_top_button": False,
    "show_prev_next": True,
    "article_header_end": ["course"],
    "article_footer_items": ["edit-this-page"],
    "use_edit_page_button": bool(REPOSITORY),
    "footer_start": ["copyright"],
    "footer_end": [],
    # The picture of the landing page takes the whole width.
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {
    # The source of a gallery page is its example.
    "edit_page_url_template": REPOSITORY
    + "/edit/main/{% if file_name == 'gallery/index.rst' %}examples/GALLERY_HEADER.rst"
    + "{% elif file_name.startswith('gallery/') %}examples/{{ file_name[8:-4] }}.py"
    + "{% else %}docs/{{ file_name }}{% endif %}",
}
ogp_site_url = SITE
ogp_image = "_images/card.png"
ogp_image_alt = (
    "One step of each example of the book on one time scale: what the CPU asked for, and what the GPU did"
)
ogp_custom_meta_tags = ['<meta name="twitter:card" content="summary_large_image" />']
# Link the pages, not their sources: a source asks for numbers, a page has them.
llms_txt_uri_template = "{base_url}{docname}.html" if SITE else "{docname}.html"
llms_txt_full_file = False
llms_txt_title = "Profiling PyTorch, from nn.Linear to a fused MLP"
llms_txt_summary = (
    "A book about what a GPU does when PyTorch runs. Every number, figure and table is computed from a "
    "recording of its examples on a named machine."
)
copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True
