"""Lanes on both carriers keep their state to themselves, and leave no thread and no memory behind."""

import contextvars
import gc
import sys
import threading
import weakref

import numpy as np
import pytest
from lane_bodies import echo, ignore
from threads import at_once

from simstrategy.run import Lanes
from simstrategy.schedules import InOrder

COLOUR = contextvars.ContextVar("colour", default="none")


def lane_threads():
    return [thread for thread in threading.enumerate() if thread.name == "simstrategy lane"]


def test_a_lane_has_a_copy_of_the_callers_context_and_keeps_its_changes_to_itself(lanes):
    token = COLOUR.set("caller")
    try:

        def body(index, park):
            seen = [COLOUR.get()]
            COLOUR.set(f"lane{index}")
            park(index)
            seen.append(COLOUR.get())
            return seen

        def meet(arrivals, order):
            assert COLOUR.get() == "caller"
            return arrivals

        assert lanes().run(3, body, meet, ignore) == [["caller", f"lane{i}"] for i in range(3)]
        assert lanes().run(1, body, meet, ignore) == [["caller", "lane0"]]
        assert COLOUR.get() == "caller"
    finally:
        COLOUR.reset(token)


def test_a_reused_lane_does_not_remember_the_context_of_its_last_run(lanes):
    made = lanes()
    made.run(2, lambda index, park: COLOUR.set("old"), echo, ignore)
    assert made.run(2, lambda index, park: COLOUR.get(), echo, ignore) == ["none", "none"]


def test_numpy_error_states_are_inherited_and_isolated(lanes):
    def body(index, park):
        inherited = np.geterr()["divide"]
        with np.errstate(divide="ignore" if index else "raise"):
            park(index)
            mine = np.geterr()["divide"]
        return inherited, mine, np.geterr()["divide"]

    with np.errstate(divide="call"):
        results = lanes().run(2, body, echo, ignore)
        assert np.geterr()["divide"] == "call"
    assert results == [("call", "raise", "call"), ("call", "ignore", "call")]


def test_exceptions_being_handled_are_isolated(lanes):
    def body(index, park):
        try:
            raise KeyError(index)
        except KeyError:
            park(index)
            return str(sys.exc_info()[1])

    assert lanes().run(3, body, echo, ignore) == ["0", "1", "2"]
    assert sys.exc_info()[1] is None


def test_a_group_of_one_runs_in_the_callers_thread_and_greenlet(lanes):
    from greenlet import getcurrent

    here = threading.get_ident(), getcurrent()
    assert lanes().run(1, lambda index, park: (threading.get_ident(), getcurrent()), echo, ignore) == [here]


def test_threads_are_reused_from_run_to_run():
    lanes = Lanes("thread", InOrder())
    first = lanes.run(3, lambda index, park: threading.get_ident(), echo, ignore)
    second = lanes.run(3, lambda index, park: threading.get_ident(), echo, ignore)
    assert sorted(first) == sorted(second)
    assert len(set(first)) == 3
    lanes.close()


def test_threads_whose_lanes_were_stopped_or_never_started_are_reused():
    lanes = Lanes("thread", InOrder())

    def body(index, park):
        if index == 1:
            raise KeyError
        park(index)

    before = set(lane_threads())  # other tests' strategies may still have theirs
    for _ in range(4):
        with pytest.raises(KeyError):
            lanes.run(4, body, echo, ignore)
    assert len(set(lane_threads()) - before) == 4
    lanes.close()


def test_no_thread_is_left_after_close_and_close_may_come_twice():
    before = len(lane_threads())
    lanes = Lanes("thread", InOrder())
    lanes.run(3, lambda index, park: park(index), echo, ignore)
    assert len(lane_threads()) == before + 3
    lanes.close()
    lanes.close()
    assert len(lane_threads()) == before
    assert lanes.run(2, lambda index, park: index, echo, ignore) == [0, 1]
    lanes.close()


def test_no_thread_is_left_after_the_lanes_are_dropped():
    before = len(lane_threads())
    lanes = Lanes("thread", InOrder())
    lanes.run(3, lambda index, park: park(index), echo, ignore)
    del lanes
    gc.collect()
    assert len(lane_threads()) == before


def test_no_thread_is_left_after_a_strategy_is_dropped_or_closed(mirrored):
    before = len(lane_threads())
    import simstrategy as ss

    def use(strategy):
        with strategy.scope():
            variable = ss.Variable(1.0, aggregation=ss.VariableAggregation.SUM)
        strategy.run(lambda: variable.assign_add(1.0 + ss.get_replica_context().replica_id_in_sync_group))

    strategy = ss.Strategy.mirrored("sim", replicas=3, lanes="thread")
    use(strategy)
    assert len(lane_threads()) == before + 3
    del strategy
    gc.collect()
    assert len(lane_threads()) == before
    strategy = mirrored(3, lanes="thread")
    use(strategy)
    strategy.close()
    assert len(lane_threads()) == before


def test_nothing_of_a_run_is_kept_by_the_pooled_lanes(lanes):
    class Big:
        pass

    made = lanes()
    held = []

    def run():
        big = Big()
        held.append(weakref.ref(big))
        made.run(3, lambda index, park: (park(big), big), lambda arrivals, order: arrivals, ignore)

    run()
    gc.collect()
    assert held[0]() is None


def test_one_lanes_object_may_be_used_from_one_thread_after_another(lanes):
    made, results = lanes(), []

    def use():
        results.append(made.run(3, lambda index, park: sum(park(index)), echo, ignore))

    for _ in range(3):
        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        use()
    assert results == [[3, 3, 3]] * 6


@pytest.mark.slow
def test_one_lanes_object_may_be_used_from_several_threads_at_once(lanes):
    made = lanes()

    def use(number):
        for count in (2, 3, 5, 4) * 8:
            results = made.run(count, lambda index, park: park((number, index)), echo, ignore)
            assert results == [[(number, i) for i in range(count)]] * count

    at_once(use, range(4))


def test_ten_thousand_lanes_meet():
    lanes = Lanes("greenlet", InOrder())
    total = lanes.run(10_000, lambda index, park: park(index), lambda a, o: [sum(a)] * len(a), ignore)
    assert total == [sum(range(10_000))] * 10_000


def test_a_dropped_strategy_is_freed_with_all_its_variables(carrier):
    import simstrategy as ss

    def use():
        strategy = ss.Strategy.mirrored("sim", replicas=3, lanes=carrier)
        with strategy.scope():
            variable = ss.Variable(np.zeros(3), aggregation=ss.VariableAggregation.SUM)
        strategy.run(lambda: variable.assign_add(np.ones(3) * ss.get_replica_context().replica_id_in_sync_group))
        return weakref.ref(variable.components[0]), weakref.ref(strategy.extended.engine._lanes)

    held = use()
    gc.collect()
    assert [one() for one in held] == [None, None]


def test_a_lane_of_one_keeps_its_context_from_the_meeting_as_several_do(lanes):
    def body(index, park):
        with np.errstate(divide="raise"):
            return park(index)

    def meet(arrivals, order):
        return [np.geterr()["divide"]] * len(arrivals)

    with np.errstate(divide="ignore"):
        assert lanes().run(1, body, meet, ignore) == ["ignore"]
        assert lanes().run(2, body, meet, ignore) == ["ignore", "ignore"]
