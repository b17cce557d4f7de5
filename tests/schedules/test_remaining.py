"""Things in order of which any can be taken out: as a list, whatever was taken before."""

import sys

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


def lines_run(function):
    count = 0

    def local(_frame, event, _argument):
        nonlocal count
        count += event == "line"
        return local

    before = sys.gettrace()
    sys.settrace(lambda *_: local)
    try:
        function()
    finally:
        sys.settrace(before)
    return count


def test_an_item_is_found_in_as_many_steps_as_the_number_has_digits():
    few, many = Remaining(range(4 * BLOCK)), Remaining(range(256 * BLOCK))
    # The last item, which a search from the first block finds last. 2 levels and 8 are 4 times as many.
    assert lines_run(lambda: many.pop(len(many) - 1)) <= 4 * lines_run(lambda: few.pop(len(few) - 1))


def test_a_buffer_that_is_emptied_and_filled_for_long_stays_that_of_a_list():
    ours, theirs = Remaining(range(BLOCK + 1)), list(range(BLOCK + 1))
    for number in range(12 * BLOCK):
        place = number * 7919 % len(theirs)
        assert ours.pop(place) == theirs.pop(place)
        ours.append(number)
        theirs.append(number)
    assert lines_run(lambda: ours.pop(len(ours) - 1)) <= 32  # as with the few blocks that it needs
    theirs.pop()
    assert [ours.pop(0) for _ in range(len(theirs))] == theirs


def test_blocks_that_have_become_small():
    left = Remaining(range(8 * BLOCK))
    taken = [left.pop(len(left) // 2) for _ in range(7 * BLOCK + BLOCK // 2)]
    rest = [left.pop(0) for _ in range(BLOCK // 2)]
    assert sorted(taken + rest) == list(range(8 * BLOCK))
    assert rest == sorted(rest)


@pytest.mark.parametrize(("most", "kind"), [(BLOCK, list), (BLOCK + 1, Remaining)])
def test_few_items_are_a_list_and_many_are_in_blocks(most, kind):
    assert type(taken_from("ab", most)) is kind
