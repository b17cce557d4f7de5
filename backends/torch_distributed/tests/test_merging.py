"""What each rank did, put into one order: no process is started."""

from hypothesis import given
from hypothesis import strategies as st

from simstrategy_torch_distributed.checking.merging import Moment, merged


def own(key):
    return Moment(key, None, key)


def together(key, *ranks):
    return Moment(key, frozenset(ranks), key)


def order(*ranks):
    """Returns the merged moments as texts such as "a01": a key, and the ranks that have it there."""
    return [f"{next(iter(one.values())).key}{''.join(map(str, one))}" for one in merged(ranks)]


def test_what_all_ranks_do_alike_between_two_calls_stands_once():
    both = [own("a"), together("c", 0, 1), own("b")]
    assert order(both, both) == ["a01", "c01", "b01"]


def test_what_one_rank_does_alone_keeps_its_place():
    assert order([own("a"), own("x"), own("b")], [own("a"), own("b"), own("y")]) == ["a01", "x0", "b01", "y1"]


def test_what_ranks_do_in_different_orders_stands_for_each_alone_where_it_must():
    assert order([own("a"), own("b")], [own("b"), own("a")]) == ["a0", "b01", "a1"]


def test_what_all_have_waits_for_what_some_have():
    ranks = ([own("s")], [own("x"), own("y"), own("s")], [own("y"), own("x"), own("s")])
    assert order(*ranks) == ["x1", "y12", "x2", "s012"]


def test_what_a_call_separates_is_not_together():
    assert order([own("a"), together("c", 0, 1)], [together("c", 0, 1), own("a")]) == ["a0", "c01", "a1"]


def test_calls_of_two_groups_that_ranks_began_in_different_orders_are_all_there():
    one, two = together("c", 0, 1), together("d", 0, 1)
    assert order([one, own("a"), two], [two, own("a"), one]) == ["c01", "a0", "d01", "a1"]


def test_a_call_of_some_ranks_leaves_the_others_their_way():
    assert order([own("a"), together("c", 0, 2)], [own("a")], [together("c", 0, 2), own("b")]) == ["a01", "c02", "b2"]


@st.composite
def programs(draw):
    """Draws ranks that make calls of groups in one order, and things of their own between them."""
    count = draw(st.integers(1, 4))
    ranks = [[] for _ in range(count)]
    for number in range(draw(st.integers(0, 12))):
        members = draw(st.sets(st.integers(0, count - 1), min_size=1))
        is_call = draw(st.booleans())
        for rank in members:
            ranks[rank].append(together(("call", number), *members) if is_call else own(("own", number)))
    return ranks


@given(programs())
def test_every_moment_is_there_once_in_the_order_of_its_rank_and_a_call_has_all_its_ranks(ranks):
    found = list(merged(ranks))
    for rank, moments in enumerate(ranks):
        assert [one[rank] for one in found if rank in one] == moments
    for one in found:
        first = next(iter(one.values()))
        assert first.members is None or first.members == one.keys()
    assert [*map(dict, merged(ranks))] == [*map(dict, found)]
