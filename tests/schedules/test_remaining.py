"""Things in order of which any can be taken out: as a list, whatever was taken before."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simstrategy.schedules.remaining import Remaining, taken_from

BLOCK = 4096


@settings(deadline=None)
@given(st.integers(0, 3 * BLOCK), st.lists(st.none() | st.floats(0, 1, exclude_max=True), max_size=200))
def test_what_is_taken_and_what_is_left_is_that_of_a_list(count, steps):
    ours, theirs = Remaining(range(count)), list(range(count))
    for number, place in enumerate(steps):
        if place is None or not theirs:
            ours.append(-number)
            theirs.append(-number)
        else:
            at = int(place * len(theirs))
            assert ours.pop(at) == theirs.pop(at)
    assert len(ours) == len(theirs)
    assert [ours.pop(0) for _ in range(len(theirs))] == theirs


def test_blocks_that_have_become_small_are_joined():
    left = Remaining(range(8 * BLOCK))
    taken = [left.pop(len(left) // 2) for _ in range(7 * BLOCK + BLOCK // 2)]
    rest = [left.pop(0) for _ in range(BLOCK // 2)]
    assert sorted(taken + rest) == list(range(8 * BLOCK))
    assert rest == sorted(rest)


@pytest.mark.parametrize(("most", "kind"), [(BLOCK, list), (BLOCK + 1, Remaining)])
def test_few_items_are_a_list_and_many_are_in_blocks(most, kind):
    assert type(taken_from("ab", most)) is kind
