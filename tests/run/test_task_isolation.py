"""Tasks on both executors keep their state to themselves, and leave no thread and no memory behind."""

import contextvars
import gc
import sys
import threading
import weakref

import numpy as np
import pytest
from task_bodies import echo, ignore
from threads import at_once

from simstrategy.run import ReplicaTasks
from simstrategy.schedules import InOrder
from simstrategy.strategy import group_of

COLOUR = contextvars.ContextVar("colour", default="none")


def task_threads():
    """Returns the threads of tasks that are alive; other tests' threads may end beside the test, so compare sets."""
    return {thread for thread in threading.enumerate() if thread.name == "simstrategy task"}


def test_a_task_has_a_copy_of_the_callers_context_and_keeps_its_changes_to_itself(tasks):
    token = COLOUR.set("caller")
    try:

        def body(index, suspend):
            seen = [COLOUR.get()]
            COLOUR.set(f"task{index}")
            suspend(index)
            seen.append(COLOUR.get())
            return seen

        def match(calls, order):
            assert COLOUR.get() == "caller"
            return calls

        assert tasks().run(3, body, match, ignore) == [["caller", f"task{i}"] for i in range(3)]
        assert tasks().run(1, body, match, ignore) == [["caller", "task0"]]
        assert COLOUR.get() == "caller"
    finally:
        COLOUR.reset(token)


def test_a_reused_task_does_not_remember_the_context_of_its_last_run(tasks):
    made = tasks()
    made.run(2, lambda index, suspend: COLOUR.set("old"), echo, ignore)
    assert made.run(2, lambda index, suspend: COLOUR.get(), echo, ignore) == ["none", "none"]


def test_numpy_error_states_are_inherited_and_isolated(tasks):
    def body(index, suspend):
        inherited = np.geterr()["divide"]
        with np.errstate(divide="ignore" if index else "raise"):
            suspend(index)
            mine = np.geterr()["divide"]
        return inherited, mine, np.geterr()["divide"]

    with np.errstate(divide="call"):
        results = tasks().run(2, body, echo, ignore)
        assert np.geterr()["divide"] == "call"
    assert results == [("call", "raise", "call"), ("call", "ignore", "call")]


def test_exceptions_being_handled_are_isolated(tasks):
    def body(index, suspend):
        try:
            raise KeyError(index)
        except KeyError:
            suspend(index)
            return str(sys.exc_info()[1])

    assert tasks().run(3, body, echo, ignore) == ["0", "1", "2"]
    assert sys.exc_info()[1] is None


def test_a_group_of_one_runs_in_the_callers_thread_and_greenlet(tasks):
    from greenlet import getcurrent

    here = threading.get_ident(), getcurrent()
    assert tasks().run(1, lambda index, suspend: (threading.get_ident(), getcurrent()), echo, ignore) == [here]


def test_threads_are_reused_from_run_to_run():
    tasks = ReplicaTasks("thread", InOrder())
    first = tasks.run(3, lambda index, suspend: threading.get_ident(), echo, ignore)
    second = tasks.run(3, lambda index, suspend: threading.get_ident(), echo, ignore)
    assert sorted(first) == sorted(second)
    assert len(set(first)) == 3
    tasks.close()


def test_threads_whose_tasks_were_stopped_or_never_started_are_reused():
    tasks = ReplicaTasks("thread", InOrder())

    def body(index, suspend):
        if index == 1:
            raise KeyError
        suspend(index)

    before = task_threads()
    for _ in range(4):
        with pytest.raises(KeyError):
            tasks.run(4, body, echo, ignore)
    assert len(task_threads() - before) == 4
    tasks.close()


def test_no_thread_is_left_after_close_and_close_may_come_twice():
    gc.collect()  # what an earlier test dropped
    before = task_threads()
    tasks = ReplicaTasks("thread", InOrder())
    tasks.run(3, lambda index, suspend: suspend(index), echo, ignore)
    assert len(task_threads() - before) == 3
    tasks.close()
    tasks.close()
    assert task_threads() <= before
    assert tasks.run(2, lambda index, suspend: index, echo, ignore) == [0, 1]
    tasks.close()


def test_no_thread_is_left_after_the_tasks_are_dropped():
    gc.collect()  # what an earlier test dropped
    before = task_threads()
    tasks = ReplicaTasks("thread", InOrder())
    tasks.run(3, lambda index, suspend: suspend(index), echo, ignore)
    del tasks
    gc.collect()
    assert task_threads() <= before


def test_no_thread_is_left_after_a_strategy_is_dropped_or_closed(mirrored):
    gc.collect()  # what an earlier test dropped
    before = task_threads()
    import simstrategy as ss

    def use(strategy):
        with strategy.scope():
            variable = ss.Variable(1.0, aggregation=ss.VariableAggregation.SUM)
        strategy.run(lambda: variable.assign_add(1.0 + ss.get_replica_context().replica_id_in_sync_group))

    strategy = ss.Strategy.mirrored("sim", replicas=3, executor="thread")
    use(strategy)
    assert len(task_threads() - before) == 3
    del strategy
    gc.collect()
    assert task_threads() <= before
    strategy = mirrored(3, executor="thread")
    use(strategy)
    strategy.close()
    assert task_threads() <= before


def test_nothing_of_a_run_is_kept_by_the_pooled_lanes(tasks):
    class Big:
        pass

    made = tasks()
    held = []

    def run():
        big = Big()
        held.append(weakref.ref(big))
        made.run(3, lambda index, suspend: (suspend(big), big), lambda calls, order: calls, ignore)

    run()
    gc.collect()
    assert held[0]() is None


def test_one_tasks_object_may_be_used_from_one_thread_after_another(tasks):
    made, results = tasks(), []

    def use():
        results.append(made.run(3, lambda index, suspend: sum(suspend(index)), echo, ignore))

    for _ in range(3):
        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        use()
    assert results == [[3, 3, 3]] * 6


@pytest.mark.slow
def test_one_tasks_object_may_be_used_from_several_threads_at_once(tasks):
    made = tasks()

    def use(number):
        for count in (2, 3, 5, 4) * 8:
            results = made.run(count, lambda index, suspend: suspend((number, index)), echo, ignore)
            assert results == [[(number, i) for i in range(count)]] * count

    at_once(use, range(4))


def test_ten_thousand_tasks_meet():
    tasks = ReplicaTasks("greenlet", InOrder())

    def match(calls, order):
        return [sum(call[0] for call in calls)] * len(calls)

    total = tasks.run(10_000, lambda index, suspend: suspend(index), match, ignore)
    assert total == [sum(range(10_000))] * 10_000


def test_a_dropped_strategy_is_freed_with_all_its_variables(executor):
    import simstrategy as ss

    def use():
        strategy = ss.Strategy.mirrored("sim", replicas=3, executor=executor)
        with strategy.scope():
            variable = ss.Variable(np.zeros(3), aggregation=ss.VariableAggregation.SUM)
        strategy.run(lambda: variable.assign_add(np.ones(3) * ss.get_replica_context().replica_id_in_sync_group))
        return weakref.ref(variable.components[0]), weakref.ref(group_of(strategy))

    held = use()
    gc.collect()
    assert [one() for one in held] == [None, None]


def test_a_task_of_one_keeps_its_context_from_the_meeting_as_several_do(tasks):
    def body(index, suspend):
        with np.errstate(divide="raise"):
            return suspend(index)

    def match(calls, order):
        return [np.geterr()["divide"]] * len(calls)

    with np.errstate(divide="ignore"):
        assert tasks().run(1, body, match, ignore) == ["ignore"]
        assert tasks().run(2, body, match, ignore) == ["ignore", "ignore"]
