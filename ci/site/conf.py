"""Sphinx's configuration, for a build from the repository's folder.

The source folder is the repository: pages stay where they are, and links between them are those of a checkout.
"""

import inspect
import re
import sys
from pathlib import Path
from typing import Any

from ci.run import DISTRIBUTIONS
from ci.site.docstrings import Known, as_markup
from ci.site.insertions import CLAUSE, commands, course, with_anchors
from ci.site.term_links import anchor, link

ROOT = Path(__file__).resolve().parents[2]
# Commands of the other distributions, which .venv has as links that an environment over it does not follow.
sys.path[:0] = [str(ROOT / one) for one in DISTRIBUTIONS]

project = "simstrategy"
author = "the authors of simstrategy"
root_doc = "docs/index"
extensions = ["myst_parser", "sphinx.ext.autodoc"]

lessons = [page for page in [ROOT / "docs" / "course.md"] if page.exists()]
lessons += sorted(ROOT.glob("course/**/lessons/**/*.md"))
include_patterns = [
    "docs/**.md",
    "*.md",
    "tests/golden/README.md",
    *(lesson.relative_to(ROOT).as_posix() for lesson in lessons),
]
exclude_patterns = [
    *(".git", ".venv", "venv", "build", "dist", "**/__pycache__", "**/.*"),
    *("backends", "changelog.d", "ci", "examples", "property_tests", "simstrategy"),
    "README.md",  # the first page of the repository; the site has docs/index.md
]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_class_signature = "mixed"
maximum_signature_line_length = 88
add_module_names = False
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"

smartquotes = False  # options of commands begin with two hyphens
html_theme = "furo"
html_title = "simstrategy"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["extra"]
html_show_sourcelink = False
html_copy_source = False
html_search_scorer = str(ROOT / "ci" / "site" / "scorer.js")
html_show_copyright = False
html_show_search_summary = False  # it reads pages by requests, which a page that is opened as a file may not make
html_permalinks_icon = "#"
html_baseurl = ""
pygments_style = "friendly"
pygments_dark_style = "github-dark"

_CONSTANT = re.compile(r"(?<= = )[A-Z][A-Z_]+\b(?!\.)")
law = (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8")
clauses = frozenset(clause for clause, _ in CLAUSE.findall(law))


def on_source_read(app: Any, name: str, content: list[str]) -> None:
    """Puts into a page what is made, and not written."""
    if name == "docs/semantics":
        examples = {page.name: page.read_text(encoding="utf-8") for page in sorted(ROOT.glob("docs/examples_of_*.md"))}
        content[0] = with_anchors(content[0], examples)
    elif name == "docs/reference/command_line":
        content[0] = content[0].replace("<!-- commands -->", commands())
    elif name == "docs/index":
        content[0] = content[0].replace("<!-- course -->", course(ROOT, lessons))


def on_page_read(app: Any, page: Any) -> None:
    """Gives the terms that a page defines their places."""
    name = app.env.docname
    anchor(name, (ROOT / f"{name}.md").read_text(encoding="utf-8"), page)


def on_docstring(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Makes markup of a docstring; a module's is for those who read the file, and its page has an introduction."""
    lines[:] = [] if what == "module" else as_markup(lines, Known(names_of(value), clauses))


def on_signature(
    app: Any, what: str, name: str, value: Any, options: Any, given: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Shows the values of the constants that are defaults of parameters."""
    constants = getattr(value, "__globals__", {})
    shown = given and _CONSTANT.sub(lambda found: repr(constants.get(found[0], found[0])), given)
    return shown, returned


def names_of(value: Any) -> frozenset[str]:
    """Returns the parameters of a function or class, and the fields of a class."""
    try:
        parameters = set(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        parameters = set()
    return frozenset({*parameters, *getattr(value, "__annotations__", {})})


def setup(app: Any) -> None:
    """Connects what is above; Sphinx calls it."""
    app.connect("source-read", on_source_read)
    app.connect("doctree-read", on_page_read)
    app.connect("doctree-resolved", link)
    app.connect("autodoc-process-docstring", on_docstring)
    app.connect("autodoc-process-signature", on_signature)
