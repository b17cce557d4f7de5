"""Links of the pages to files of the repository, and to headings in them, lead somewhere."""

import re

import pytest
from blocks import PAGES, ROOT, prose_of

_LINK = re.compile(r"(?<!`)\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_TOCTREE = re.compile(r"^```\{toctree\}(.*?)^```$", re.MULTILINE | re.DOTALL)
WITHOUT_HOST = [page for page in PAGES if _LINK.search(page.read_text("utf-8"))]


def places(page):
    """Returns the anchors of a page's headings, as GitHub and the site make them."""
    text = prose_of(page)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in _HEADING.findall(text)}


@pytest.mark.parametrize("page", WITHOUT_HOST, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_link_leads_to_a_file_and_a_heading(page):
    missing = []
    for target in _LINK.findall(prose_of(page)):
        path, _, place = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not target.startswith(("http://", "https://")) and (
            not file.exists() or (place and place not in places(file))
        ):
            missing.append(target)
    assert missing == []


def test_every_page_of_the_folder_is_in_the_table_of_contents():
    index = ROOT / "docs" / "index.md"
    listed = [line for toctree in _TOCTREE.findall(index.read_text("utf-8")) for line in toctree.split()]
    named = {(index.parent / one).resolve().with_suffix(".md") for one in listed}
    with_place_of_its_own = {index, ROOT / "docs" / "course.md"}  # `ci/site` puts the course beside its lessons
    missing = {page for page in PAGES if page.is_relative_to(index.parent)} - named - with_place_of_its_own
    assert missing == set(), "name it in docs/index.md, under what it is: how to, reference or explanation"
