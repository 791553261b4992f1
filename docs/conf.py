"""Settings of the documentation site: `python -m sphinx -W -b html docs build/site`."""

import shutil
from pathlib import Path

from puffer_frames import __version__

NOTEBOOKS = Path(__file__).parent / "notebooks"
"""Copies of examples/notebooks for the site, made anew by every build; git ignores them."""
shutil.rmtree(NOTEBOOKS, ignore_errors=True)
shutil.copytree(
    NOTEBOOKS.parents[1] / "examples" / "notebooks",
    NOTEBOOKS,
    ignore=lambda _, names: [name for name in names if not name.endswith(".ipynb")],
)

project = "puffer_frames"
author = "the puffer_frames developers"
copyright = "the puffer_frames developers"  # noqa: A001 - a name of Sphinx
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build", "gallery.py", "messages.py"]
source_suffix = {
    ".rst": "restructuredtext",
    ".md": "myst-nb",
    ".ipynb": "myst-nb",
}  # the first one is that of generated pages

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "auto"  # pages that say so in their first lines: tutorial.md
nb_execution_excludepatterns = ["notebooks/*"]  # their stored outputs are shown
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_execution_show_tb = True
suppress_warnings = [
    "myst.header",
    "mystnb.unknown_mime_type",
    "ref.python",
]  # the last: a parameter called as an attribute

autodoc_typehints = "description"
autodoc_member_order = "groupwise"
autosummary_generate = True
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "pydata_sphinx_theme"
html_title = f"puffer_frames {version}"
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {page: [] for page in ("index", "tutorial", "theory", "benchmarks")}
