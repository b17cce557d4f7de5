"""Data ends where it ends for two workers of the real strategy.  Clauses: D-2, D-4, D-5, D-13.

every_end.py does it for 200 datasets.
"""

import ends_program
import pytest
from ending import Found, asked, judge

COUNT = 12


@pytest.fixture(scope="module")
def found() -> Found:
    return asked(COUNT)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(COUNT))
def test_each_worker_gets_what_the_real_strategy_gives_it(found: Found, number: int) -> None:
    judge(found, number)


def test_the_cases_are_of_all_kinds() -> None:
    cases = [ends_program.drawn(number) for number in range(COUNT)]
    assert {case.source for case in cases} == {"dataset", "function", "endless"}
    assert {case.way for case in cases} == {"for", "get_next", "optional"}
    assert {case.drop_remainder for case in cases} == {True, False}
