"""Two runs of which one gives nothing but zeros, or leaves a value out with a reason.

Clauses: G-23, J-8
"""

import numpy as np
import pytest

from simstrategy.check.across import Side, compare_across
from simstrategy.check.meaning import meaning_of
from simstrategy.check.outcome import Outcome


def side(replicas, value, *nudged):
    outcomes = [Outcome((("result", np.float32(one)),), None, ()) for one in (value, *nudged)]
    return Side(replicas, meaning_of(outcomes[0]), [meaning_of(one) for one in outcomes[1:]], outcomes[0])


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        pytest.param(([0.01, 0],), ([0, 0], [0.01, 0]), "undecided", id="zeros move as far as the reference is large"),
        pytest.param(([1e6, 0],), ([0, 0], [1, 0]), "problems", id="zeros move by little of the reference"),
        pytest.param(([0, 0],), ([1e6, 0], [-1e6, 0]), "undecided", id="a large value moves to its negative"),
        pytest.param(([0, 0],), ([1e6, 0], [1e6 + 1, 0]), "problems", id="a large value moves by little"),
        pytest.param(([0, 0],), ([1e-3, 0], [2e-3, 0]), "undecided", id="a small value is noise"),
        pytest.param(([0, 0],), ([1e-3, 0], [1.000001e-3, 0]), "problems", id="a small value moves by little"),
        pytest.param(([0, 0], [1e-6, 0]), ([1e-6, 0], [2e-6, 0]), "agree", id="both move by what is left of a sum"),
        pytest.param(([1, 0],), ([0, 0],), "problems", id="nothing moves"),
        pytest.param(([np.nan, 1],), ([0, 0], [5, 0]), "problems", id="another value is no number"),
    ],
)
def test_a_run_of_zeros_moves_in_the_scale_of_the_distance(one, other, found):
    across = compare_across(side(1, *one), side(2, *other), {})
    assert [name for name in ("problems", "undecided") if getattr(across, name)] == (
        [] if found == "agree" else [found]
    )
    assert across.values == 1


def test_a_value_that_a_run_leaves_out_with_a_reason_is_not_compared_and_no_difference():
    one, other = side(1, [1.0]), side(2, [1.0])
    leaves = (*one.outcome.leaves, ("after step 2['w']", np.float32([3.0])))
    more = one._replace(meaning=meaning_of(one.outcome._replace(leaves=leaves)))
    known = other._replace(meaning=meaning_of(other.outcome._replace(missing=(("after step 2['w']", "too large"),))))
    for pair in ((more, known), (known, more)):
        found = compare_across(*pair, {})
        assert (found.problems, found.left, found.values) == ({}, {"after step 2['w']": "too large"}, 1)
    assert compare_across(more, other, {}).problems == {"after step 2['w']": "it is in the result with 1 replica only"}
