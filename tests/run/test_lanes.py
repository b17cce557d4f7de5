"""Lanes on both carriers: order, answers, results, nesting."""

import threading

import pytest
from lane_bodies import echo, ignore, steps

from simstrategy.run import FINISHED, Lanes
from simstrategy.schedules import InOrder, Recorded, Replayed, Seeded


def test_in_order_runs_lanes_by_rank_and_meets_when_all_wait(lanes):
    assert steps(lanes(), 3, 2) == [
        *("start0", "start1", "start2", "meet [0, 1, 2]"),
        *("after0-0", "after0-1", "after0-2", "meet [0, 1, 2]"),
        *("after1-0", "after1-1", "after1-2"),
    ]


def test_the_meeting_runs_in_the_thread_that_called_run(lanes):
    where = []

    def meet(arrivals, order):
        where.append(threading.get_ident())
        return arrivals

    lanes().run(3, lambda index, park: park(index), meet, ignore)
    assert where == [threading.get_ident()]


def test_a_seeded_schedule_changes_the_order_and_its_draws_replay_it(lanes):
    recorded = Recorded(Seeded(3))
    first = steps(lanes(recorded), 4, 3)
    assert first != steps(lanes(), 4, 3)
    assert sorted(first) != first
    assert steps(lanes(Seeded(3)), 4, 3) == first
    assert steps(lanes(Replayed(recorded.draws)), 4, 3) == first
    assert [(label, n) for label, n, _ in recorded.draws] == [("lane", n) for _ in range(4) for n in (4, 3, 2)]


def test_both_carriers_take_the_same_order():
    greenlet, thread = Lanes("greenlet", Seeded(8)), Lanes("thread", Seeded(8))
    assert steps(greenlet, 5, 3) == steps(thread, 5, 3)
    thread.close()


@pytest.mark.parametrize("count", [1, 2, 7])
def test_results_and_answers_come_in_lane_order_whatever_the_schedule(lanes, count):
    def body(index, park):
        answer = park(index * 10)
        return index, answer

    def meet(arrivals, order):
        assert sorted(order) == list(range(count))
        return [arrival + 1 for arrival in arrivals]

    assert lanes(Seeded(5)).run(count, body, meet, ignore) == [(i, i * 10 + 1) for i in range(count)]


def test_lanes_that_never_meet_return_and_no_meeting_is_held(lanes):
    def meet(arrivals, order):
        raise AssertionError("nobody came")

    assert lanes().run(3, lambda index, park: index, meet, ignore) == [0, 1, 2]


def test_a_lane_that_has_returned_stands_in_the_meeting_as_finished(lanes):
    seen = []

    def body(index, park):
        return "done" if index == 1 else park(index)

    def meet(arrivals, order):
        seen.append([arrival is FINISHED for arrival in arrivals])
        raise ValueError("who is missing?")

    with pytest.raises(ValueError, match="who is missing"):
        lanes().run(3, body, meet, ignore)
    assert seen == [[False, True, False]]


def test_lanes_nest_inside_a_meeting(lanes):
    made = lanes()

    def meet(arrivals, order):
        inner = made.run(2, lambda index, park: park(index)[0] + sum(arrivals), echo, ignore)
        return [inner] * len(arrivals)

    assert made.run(3, lambda index, park: (index, park(index)), meet, ignore) == [(i, [3, 3]) for i in range(3)]


def test_lanes_nest_inside_a_lane_and_each_group_meets_by_itself(lanes):
    made = lanes()

    def outer(index, park):
        inner = made.run(2, lambda i, inner_park: inner_park((index, i)), echo, ignore)
        return inner, park(index)

    results = made.run(2, outer, echo, ignore)
    assert results == [([[(i, 0), (i, 1)]] * 2, [0, 1]) for i in range(2)]


def test_groups_of_different_sizes_may_follow_each_other(lanes):
    made = lanes()
    for count in (2, 5, 1, 3, 5):
        assert made.run(count, lambda index, park: sum(park(index)), echo, ignore) == [sum(range(count))] * count


@pytest.mark.parametrize("schedule", [InOrder(), Seeded(2)], ids=["in order", "seeded"])
def test_lanes_go_on_without_those_that_have_returned_if_the_meeting_answers(lanes, schedule):
    asked = []

    def body(index, park):
        return [park((index, number)) for number in range(index + 1)]

    def meet(arrivals, order):
        here = [i for i, arrival in enumerate(arrivals) if arrival is not FINISHED]
        asked.append(sorted(order))
        return [here] * len(arrivals)

    results = lanes(schedule).run(3, body, meet, ignore)
    assert results == [[[0, 1, 2]], [[0, 1, 2], [1, 2]], [[0, 1, 2], [1, 2], [2]]]
    assert asked == [[0, 1, 2], [0, 1, 2], [1, 2]]
