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
WITHOUT = [clause for clause in LAW if clause not in SHOWN]


def test_an_example_is_of_a_clause_of_the_law_and_no_clause_has_two():
    assert set(SHOWN) <= set(LAW)
    assert {clause: count for clause, count in Counter(SHOWN).items() if count > 1} == {}


def test_the_introductions_name_the_clauses_that_have_no_example():
    introductions = " ".join(" ".join(text.partition("```")[0].split()) for text in PAGES.values())
    named = re.findall(r"all but ([A-Z]-\d+(?:(?:, | and )[A-Z]-\d+)*)", introductions)
    clauses = [clause for one in named for clause in re.split(", | and ", one)]
    assert sorted(clauses) == sorted(WITHOUT)


@pytest.mark.parametrize(
    ("page", "heading", "section"), SECTIONS, ids=[f"{page} {heading}" for page, heading, _ in SECTIONS]
)
def test_the_section_of_a_clause_has_code_that_shows_something(page, heading, section):
    (code, *_) = re.findall(r"^```pycon\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    lines = code.splitlines()
    assert any(not line.startswith((">>>", "...")) for line in lines), f"{page}, {heading}: no line of output"
