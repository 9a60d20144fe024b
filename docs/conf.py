"""How the documentation is built: ``make docs`` writes it to ``build/docs``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from counterrank import __version__

project = "Counterrank"
copyright = "the Counterrank authors"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "generated", "mathml"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"
exclude_patterns = ["_ext"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_title = f"Counterrank {version}"
html_math_renderer = "mathml"  # drawn by the browser itself: no script, no network
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "separated"
