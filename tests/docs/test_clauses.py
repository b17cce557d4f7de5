"""The pages of examples have clauses of the law, each once, and name those without.  `test_blocks.py` runs most."""

import re
from collections import Counter

import pytest
from blocks import ROOT

LAW = re.findall(r"^\*\*([A-Z]-\d+)\*\*", (ROOT / "docs" / "semantics.md").read_text("utf-8"), re.MULTILINE)
PAGES = {page.stem: page.read_text("utf-8") for page in sorted(ROOT.glob("docs/examples_of_*.md"))}
SECTIONS = [
    (page, *found)
    for page, text in PAGES.items()
    for found in re.findall(r"^### ([^\n]+)\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL)
]
SHOWN = [clause for _, heading, _ in SECTIONS for clause in heading.split(", ")]
COVERED = {"examples_of_clauses": "CVMRUDKY", "examples_of_checks": "LTN", "examples_of_backends": "PEB"}
"""The letters of the clauses of a page, of which it names those that have no example."""
WITHOUT_MOST = {"J": 30, "F": 7, "G": 43}
"""How many clauses of the other letters have no example: no more may come to them."""


def without(letters):
    return [clause for clause in LAW if clause[0] in letters and clause not in SHOWN]


def test_an_example_is_of_a_clause_of_the_law_and_no_clause_has_two():
    assert set(SHOWN) <= set(LAW)
    assert {clause: count for clause, count in Counter(SHOWN).items() if count > 1} == {}


@pytest.mark.parametrize("page", COVERED)
def test_a_page_names_the_clauses_of_its_letters_that_have_no_example(page):
    introduction = " ".join(PAGES[page].partition("```")[0].split())
    named = re.findall(r"all but ([A-Z]-\d+(?:(?:, | and )[A-Z]-\d+)*)", introduction)
    clauses = [clause for one in named for clause in re.split(", | and ", one) if clause[0] in COVERED[page]]
    assert clauses == without(COVERED[page])


def test_every_letter_of_the_law_is_of_a_page_or_counted_and_no_example_is_lost():
    assert {clause[0] for clause in LAW} == {*"".join(COVERED.values()), *WITHOUT_MOST}
    assert {letter: len(without(letter)) for letter in WITHOUT_MOST} == WITHOUT_MOST


@pytest.mark.parametrize(
    ("page", "heading", "section"), SECTIONS, ids=[f"{page} {heading}" for page, heading, _ in SECTIONS]
)
def test_the_section_of_a_clause_has_code_that_shows_something(page, heading, section):
    (code, *_) = re.findall(r"^```pycon\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    lines = code.splitlines()
    assert any(not line.startswith((">>>", "...")) for line in lines), f"{page}, {heading}: no line of output"
