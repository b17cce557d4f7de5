"""Tasks on both executors: order, answers, results, nesting."""

import threading

import pytest
from task_bodies import echo, ignore, steps

from simstrategy.run import FINISHED, ReplicaTasks
from simstrategy.schedules import InOrder, Recorded, Replayed, Seeded


def test_in_order_runs_tasks_by_rank_and_meets_when_all_wait(tasks):
    assert steps(tasks(), 3, 2) == [
        *("start0", "start1", "start2", "meet [0, 1, 2]"),
        *("after0-0", "after0-1", "after0-2", "meet [0, 1, 2]"),
        *("after1-0", "after1-1", "after1-2"),
    ]


def test_the_meeting_runs_in_the_thread_that_called_run(tasks):
    where = []

    def match(calls, order):
        where.append(threading.get_ident())
        return calls

    tasks().run(3, lambda index, suspend: suspend(index), match, ignore)
    assert where == [threading.get_ident()]


def test_a_seeded_schedule_changes_the_order_and_its_draws_replay_it(tasks):
    recorded = Recorded(Seeded(3))
    first = steps(tasks(recorded), 4, 3)
    assert first != steps(tasks(), 4, 3)
    assert sorted(first) != first
    assert steps(tasks(Seeded(3)), 4, 3) == first
    assert steps(tasks(Replayed(recorded.draws)), 4, 3) == first
    assert [(label, n) for label, n, _ in recorded.draws] == [("task", n) for _ in range(4) for n in (4, 3, 2)]


def test_both_executors_take_the_same_order():
    greenlet, thread = ReplicaTasks("greenlet", Seeded(8)), ReplicaTasks("thread", Seeded(8))
    assert steps(greenlet, 5, 3) == steps(thread, 5, 3)
    thread.close()


@pytest.mark.parametrize("count", [1, 2, 7])
def test_results_and_answers_come_in_task_order_whatever_the_schedule(tasks, count):
    def body(index, suspend):
        answer = suspend(index * 10)
        return index, answer

    def match(calls, order):
        assert sorted(order) == list(range(count))
        return [call[0] + 1 for call in calls]

    assert tasks(Seeded(5)).run(count, body, match, ignore) == [(i, i * 10 + 1) for i in range(count)]


def test_tasks_that_never_meet_return_and_no_meeting_is_held(tasks):
    def match(calls, order):
        raise AssertionError("nobody came")

    assert tasks().run(3, lambda index, suspend: index, match, ignore) == [0, 1, 2]


def test_a_task_that_has_returned_stands_in_the_meeting_as_finished(tasks):
    seen = []

    def body(index, suspend):
        return "done" if index == 1 else suspend(index)

    def match(calls, order):
        seen.append([call is FINISHED for call in calls])
        raise ValueError("who is missing?")

    with pytest.raises(ValueError, match="who is missing"):
        tasks().run(3, body, match, ignore)
    assert seen == [[False, True, False]]


def test_tasks_nest_inside_a_meeting(tasks):
    made = tasks()

    def match(calls, order):
        inner = made.run(2, lambda index, suspend: suspend(index)[0] + sum(call[0] for call in calls), echo, ignore)
        return [inner] * len(calls)

    assert made.run(3, lambda index, suspend: (index, suspend(index)), match, ignore) == [(i, [3, 3]) for i in range(3)]


def test_tasks_nest_inside_a_task_and_each_group_meets_by_itself(tasks):
    made = tasks()

    def outer(index, suspend):
        inner = made.run(2, lambda i, inner_suspend: inner_suspend((index, i)), echo, ignore)
        return inner, suspend(index)

    results = made.run(2, outer, echo, ignore)
    assert results == [([[(i, 0), (i, 1)]] * 2, [0, 1]) for i in range(2)]


def test_groups_of_different_sizes_may_follow_each_other(tasks):
    made = tasks()
    for count in (2, 5, 1, 3, 5):
        assert made.run(count, lambda index, suspend: sum(suspend(index)), echo, ignore) == [sum(range(count))] * count


@pytest.mark.parametrize("schedule", [InOrder(), Seeded(2)], ids=["in order", "seeded"])
def test_tasks_go_on_without_those_that_have_returned_if_the_meeting_answers(tasks, schedule):
    asked = []

    def body(index, suspend):
        return [suspend((index, number)) for number in range(index + 1)]

    def match(calls, order):
        here = [i for i, call in enumerate(calls) if call is not FINISHED]
        asked.append(sorted(order))
        return [here] * len(calls)

    results = tasks(schedule).run(3, body, match, ignore)
    assert results == [[[0, 1, 2]], [[0, 1, 2], [1, 2]], [[0, 1, 2], [1, 2], [2]]]
    assert asked == [[0, 1, 2], [0, 1, 2], [1, 2]]
