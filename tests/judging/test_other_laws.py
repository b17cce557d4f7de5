"""The laws of coverage and of random draws accuse no lawful program of the corpus, and of the wrong ones the right one.

Clauses: J-17, J-18
"""

import pytest
from corpus import lawful, wrong

import simstrategy as ss
from simstrategy.check.programs import load_program

WRONG = {one.name: one for one in wrong()}


def findings(file):
    laws = {"laws": ["coverage", "random"], "without": ["replicas"]}
    report = ss.check(load_program(file), replicas=[1, 3], allow_errors=True, **laws)
    return [(one.law, one.replicas) for one in report.findings if one.law in laws["laws"]]


@pytest.mark.parametrize("program", lawful(), ids=lambda program: program.name)
def test_lawful_programs_are_not_accused(program):
    assert findings(program.file) == []


@pytest.mark.parametrize(
    ("name", "found"),
    [("every_replica_reads_all", [("coverage", "3")]), ("mean_of_gradient_means", []), ("sum_of_means", [])],
)
def test_a_wrong_program_is_accused_of_its_own_mistake_alone(name, found):
    assert findings(WRONG[name].file) == found
