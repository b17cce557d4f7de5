"""The first difference of two traces."""

from simstrategy.trace import Event, first_difference

ONE = Event(0, 0, "all_reduce", "SUM", None, None, ((2,),), ("float32",), "a.py:1")
OTHER = ONE._replace(op="MEAN")


def test_equal_traces_have_no_difference():
    assert first_difference([], []) is None
    assert first_difference([ONE, OTHER], [ONE, OTHER]) is None
    assert first_difference(iter([ONE]), iter([ONE])) is None


def test_the_first_of_several_differences_is_told_in_words():
    found = first_difference([ONE, ONE, ONE], [ONE, OTHER, OTHER])
    assert found == (1, ONE, OTHER)
    assert str(found) == f"event 1: {ONE.line()} against {OTHER.line()}"


def test_a_trace_that_ends_early_differs_at_its_end():
    found = first_difference([ONE], [ONE, OTHER])
    assert found == (1, None, OTHER)
    assert str(found) == f"event 1: the end against {OTHER.line()}"
    assert str(first_difference([ONE], [])) == f"event 0: {ONE.line()} against the end"
