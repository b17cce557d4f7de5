"""Whether the runs of a script have one global batch, by what replicas give its modules.  Clauses: G-39, G-103"""

import pytest

from simstrategy.check.scripts.facts import Inputs
from simstrategy.check.scripts.inputs import are_other_data, other_rows


@pytest.mark.parametrize(
    ("one", "other", "is_other"),
    [
        ([(7, 12)], [(7, 6), (8, 6)], False),  # turns of an accumulation
        ([(7, 6)], [(7, 6), (8, 6)], True),
        ([(7, None)], [(7, 6), (8, 6)], True),
        ([(7, 12)], [(9, 6), (8, 6)], False),
        ([(7, 12)], [(7, 12), (7, 12)], False),
    ],
    ids=["turns", "grown", "unknown", "shared out", "equal"],
)
def test_replicas_that_share_out_the_turns_of_an_accumulation_have_one_batch(one, other, is_other):
    runs = [[Inputs(*given) for given in run] for run in (one, other)]
    assert are_other_data(*runs, is_stated=True) is is_other


def test_unlike_numbers_of_rows_are_stated_where_replicas_have_rows_of_their_own():
    reference = [Inputs(7, 12)]
    assert "give their modules 8 rows, and 12 in the reference" in other_rows(reference, [Inputs(7, 4), Inputs(8, 4)])
    assert other_rows(reference, [Inputs(7, 6), Inputs(8, 6)]) == ""
    assert other_rows(reference, [Inputs(7, 12), Inputs(7, 12)]) == ""
    assert other_rows(reference, [Inputs(7, None), Inputs(8, 6)]) == ""
