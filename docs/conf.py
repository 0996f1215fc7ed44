"""How Sphinx builds the documentation: sphinx-build -W -b html docs docs/_build/html"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]

project = "datasette-bear-search"
author = "the datasette-bear-search contributors"
copyright = f"2026, {author}"
[release] = re.findall(r'^VERSION = "(.+)"', (ROOT / "setup.py").read_text(), re.MULTILINE)
version = release

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
# The source stays readable on GitHub: cog's markers are comments there and here.
exclude_patterns = ["_build"]
# What a reader copies from a terminal example is the command.
copybutton_prompt_text = "$ "

autodoc_typehints = "description"
autoclass_content = "both"
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = "datasette-bear-search"
html_theme_options = {
    "source_repository": "https://github.com/datasette-bear-search/datasette-bear-search/",
    "source_branch": "main",
    "source_directory": "docs/",
}
