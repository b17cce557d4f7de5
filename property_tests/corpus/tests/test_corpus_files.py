"""The committed corpus: every file can be read, and a right program differs from its wrong one by the fix alone."""

import ast
import difflib

import pytest

from simstrategy_corpus.kinds import KINDS
from simstrategy_corpus.reading import bugs, healthy

BUGS = bugs()
HEALTHY = healthy()
LINES_OF_A_FIX = 12


@pytest.mark.parametrize("bug", BUGS, ids=lambda one: one.name)
def test_right_differs_from_wrong_by_a_few_lines(bug):
    wrong, right = (one.file.read_text().splitlines() for one in (bug.wrong, bug.right))
    changed = [line for line in difflib.ndiff(wrong, right) if line.startswith(("+ ", "- "))]
    assert 0 < len(changed) <= LINES_OF_A_FIX, changed
    assert len(wrong) <= 90


@pytest.mark.parametrize("bug", BUGS, ids=lambda one: one.name)
def test_a_pair_has_one_description_and_names_a_line_of_the_wrong_program(bug):
    documents = [ast.get_docstring(ast.parse(one.file.read_text())) for one in (bug.wrong, bug.right)]
    assert documents[0]
    assert documents[0] == documents[1]
    assert bug.lines
    assert bug.source.startswith("https://")
    assert bug.fix.startswith("https://") or not bug.fix


def test_there_are_as_many_programs_as_the_documents_state():
    assert len(BUGS) == 72
    assert len(HEALTHY) == 42
    assert sum(one.suspicious for one in HEALTHY) >= len(HEALTHY) / 2
    assert {bug.kind for bug in BUGS} == set(KINDS)


def test_no_program_imports_simstrategy():
    for case in (*(one for bug in BUGS for one in (bug.wrong, bug.right)), *(one.case for one in HEALTHY)):
        assert "simstrategy" not in case.file.read_text()
