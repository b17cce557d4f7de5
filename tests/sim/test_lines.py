"""The line of a call, which the simulator keeps from one call to the next."""

import sys

from simstrategy.sim.lines import last_line


def first(source):
    return source(sys._getframe(0))


def second(source):  # the same steps as `first`, in another code object
    return source(sys._getframe(0))


def both_lines(source):
    return [
        source(sys._getframe(0)),
        source(sys._getframe(0)),
    ]


def test_the_line_is_that_of_the_frame_whatever_was_asked_before():
    source = last_line()
    for _ in range(2):
        for ask in (first, second, second, first):
            assert source_of(ask) == ask(source)
        above, below = both_lines(source)
        assert above[1] + 1 == below[1]
        assert [above, below] == both_lines(last_line())


def source_of(ask):
    """Returns the line that a function asks for, which is its first one."""
    return (ask.__code__.co_filename, ask.__code__.co_firstlineno + 1)


def test_an_equal_call_site_is_the_same_object():
    source = last_line()
    sites = [first(source) for _ in range(3)]
    assert sites[0] is sites[1] is sites[2]
