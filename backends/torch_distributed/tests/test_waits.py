"""Which ranks can never continue."""

import pytest

from simstrategy_torch_distributed.waits import stuck


@pytest.mark.parametrize(
    ("running", "needs", "expected"),
    [
        ({0, 1}, {}, set()),
        ({2}, {0: [{2}], 1: [{0}]}, set()),  # a chain that ends at a rank that computes
        (set(), {0: [{1}], 1: [{0}]}, {0, 1}),  # two ranks wait for each other
        ({3}, {0: [{1}], 1: [{2}], 2: [{0}]}, {0, 1, 2}),  # a circle beside a rank that computes
        ({1}, {0: [{2}]}, {0}),  # rank 2 has ended
        ({1}, {0: [{1, 2}]}, {0}),  # one of two missing ranks has ended
        ({1}, {0: [{2}, {1}]}, set()),  # of two threads one can continue
    ],
)
def test_a_waiting_rank_is_stuck_exactly_if_a_rank_it_needs_has_ended_or_is_stuck(running, needs, expected):
    assert stuck(running, needs) == expected
