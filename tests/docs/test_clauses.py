"""The page of examples has clauses of the law, each once, and names those without.  `test_blocks.py` runs them."""

import re
from collections import Counter

import pytest
from blocks import ROOT

LAW = re.findall(r"^\*\*([A-Z]-\d+)\*\*", (ROOT / "docs" / "semantics.md").read_text("utf-8"), re.MULTILINE)
PAGE = (ROOT / "docs" / "examples_of_clauses.md").read_text("utf-8")
SECTIONS = re.findall(r"^### ([^\n]+)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
SHOWN = [clause for heading, _ in SECTIONS for clause in heading.split(", ")]
COVERED = "CVMRUDK"
"""The letters of the clauses that most programs use: of these the page names those that have no example."""


def test_an_example_is_of_a_clause_of_the_law_and_no_clause_has_two():
    assert set(SHOWN) <= set(LAW)
    assert {clause: count for clause, count in Counter(SHOWN).items() if count > 1} == {}


def test_the_page_names_the_clauses_that_most_programs_use_and_that_have_no_example():
    *missing, last = [clause for clause in LAW if clause[0] in COVERED and clause not in SHOWN]
    assert f"have one, all but {', '.join(missing)} and {last}; so have some" in " ".join(PAGE.split())


@pytest.mark.parametrize(("heading", "section"), SECTIONS, ids=[heading for heading, _ in SECTIONS])
def test_the_section_of_a_clause_has_code_that_shows_something(heading, section):
    (code,) = re.findall(r"^```pycon\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    lines = code.splitlines()
    assert any(not line.startswith((">>>", "...")) for line in lines), f"{heading}: no line of output"
