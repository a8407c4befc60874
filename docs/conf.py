# SPDX-License-Identifier: MIT
"""Settings of the documentation site; docs/build_site.py runs Sphinx with them."""
import os
import pathlib
import re

project = "jit_gemm"
author = "the authors of jit_gemm"
ROOT = pathlib.Path(__file__).resolve().parent.parent
version = release = re.search(r"version: '([\d.]+)'", (ROOT / "meson.build").read_text())[1]
extensions = ["myst_parser", "breathe"]
root_doc = "docs/index"

# Pages are written for readers of the tree as well: anchors are those of other renderers, and links are
# to files.
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4

# The reference is made of Doxygen's XML.
breathe_projects = {"jit_gemm": os.environ.get("JIT_GEMM_DOXYGEN_XML", "xml")}
breathe_default_project = "jit_gemm"
breathe_domain_by_extension = {"h": "c"}
breathe_show_include = False
primary_domain = "c"
highlight_language = "text"  # of blocks that do not say what they are

nitpicky = True
# Types of C's own headers.
nitpick_ignore = [("c:identifier", name) for name in (
    "size_t", "int8_t", "uint8_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t")]

html_theme = "furo"
html_title = f"jit_gemm {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#2a6f4f", "color-brand-content": "#2a6f4f"},
    "dark_css_variables": {"color-brand-primary": "#7fd0a6", "color-brand-content": "#7fd0a6"},
}
