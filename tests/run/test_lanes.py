"""Lanes on both carriers: order, results, nesting, errors, isolation, and nothing left behind."""

import contextvars
import gc
import sys
import threading
import weakref

import numpy as np
import pytest

from simstrategy.errors import InvalidArgument, OutOfRangeError
from simstrategy.run import FINISHED, Lanes, LaneStopped
from simstrategy.schedules import InOrder, Recorded, Replayed, Seeded

COLOUR = contextvars.ContextVar("colour", default="none")


def echo(arrivals, order):
    """A meeting that gives every lane all arrivals."""
    return [list(arrivals)] * len(arrivals)


def ignore(index, error, arrivals, order):
    pass


def lane_threads():
    return [thread for thread in threading.enumerate() if thread.name == "simstrategy lane"]


@pytest.fixture
def lanes(carrier):
    made = []

    def make(schedule=None):
        made.append(Lanes(carrier, InOrder() if schedule is None else schedule))
        return made[-1]

    yield make
    for one in made:
        one.close()


def steps(lanes, count=3, meetings=2):
    """Runs lanes that write down what happens, and returns the list."""
    events = []

    def body(index, park):
        events.append(f"start{index}")
        for number in range(meetings):
            park(index)
            events.append(f"after{number}-{index}")

    def meet(arrivals, order):
        events.append(f"meet {order}")
        return arrivals

    lanes.run(count, body, meet, ignore)
    return events


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


@pytest.mark.parametrize("culprit", [0, 1, 2])
def test_an_exception_before_the_first_meeting_keeps_later_lanes_from_starting(lanes, culprit):
    events, told = [], []

    def body(index, park):
        events.append(f"start{index}")
        try:
            if index == culprit:
                raise KeyError("mine")
            park(index)
        finally:
            events.append(f"finally{index}")

    def failed(index, error, arrivals, order):
        told.append((index, type(error), list(order)))

    with pytest.raises(KeyError, match="mine"):
        lanes().run(3, body, echo, failed)
    starts = [f"start{i}" for i in range(culprit + 1)]
    assert events == [*starts, f"finally{culprit}", *(f"finally{i}" for i in range(culprit))]
    assert told == [(culprit, KeyError, list(range(culprit)))]


@pytest.mark.parametrize("culprit", [0, 1, 2])
def test_an_exception_after_a_meeting_stops_all_that_wait_in_order(lanes, culprit):
    events = []

    def body(index, park):
        park(index)
        if index == culprit:
            raise KeyError("mine")
        try:
            park(index)
        except LaneStopped:
            events.append(f"stopped{index}")
            raise
        finally:
            events.append(f"finally{index}")

    with pytest.raises(KeyError):
        lanes().run(3, body, echo, ignore)
    # Those before the culprit wait in their second meeting, those after it still in their first.
    assert events == [event for i in range(culprit) for event in (f"stopped{i}", f"finally{i}")]


def test_an_exception_of_the_meeting_stops_all_lanes_in_order_and_comes_out_unchanged(lanes):
    events, told = [], []
    mine = ValueError("mine")

    def body(index, park):
        try:
            park(index)
        finally:
            events.append(index)

    def meet(arrivals, order):
        raise mine

    with pytest.raises(ValueError, match="mine") as raised:
        lanes().run(3, body, meet, lambda *what: told.append(what))
    assert raised.value is mine
    assert events == [0, 1, 2]
    assert told == []


@pytest.mark.parametrize("count", [1, 3])
def test_what_failed_is_told_once_for_a_lane_and_never_for_the_meeting(lanes, count):
    told = []

    def body(index, park):
        try:
            park(index)
        except ValueError as error:
            raise KeyError("from the lane") from error

    def meet(arrivals, order):
        raise ValueError("from the meeting")

    with pytest.raises((KeyError, ValueError)):
        lanes().run(count, body, meet, lambda index, error, arrivals, order: told.append(type(error)))
    assert told == ([KeyError] if count == 1 else [])


def test_a_lane_that_swallows_its_stop_and_parks_again_is_stopped_again(lanes):
    swallowed = []

    def body(index, park):
        if index == 2:
            raise KeyError("mine")
        for _ in range(3):
            try:
                park(index)
            except LaneStopped:
                swallowed.append(index)
        return "pretends that nothing happened"

    with pytest.raises(KeyError, match="mine"):
        lanes().run(3, body, echo, ignore)
    assert swallowed == [0, 0, 0, 1, 1, 1]


def test_what_a_stopped_lane_raises_instead_does_not_replace_the_first_exception(lanes):
    def body(index, park):
        if index == 1:
            raise KeyError("first")
        try:
            park(index)
        finally:
            raise OSError("second")

    with pytest.raises(KeyError, match="first"):
        lanes().run(2, body, echo, ignore)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupt_inside_a_lane_ends_the_run_like_any_exception(lanes, error):
    stopped = []

    def body(index, park):
        if index == 1:
            raise error
        try:
            park(index)
        finally:
            stopped.append(index)

    made = lanes()
    with pytest.raises(error):
        made.run(3, body, echo, ignore)
    assert stopped == [0]
    assert steps(made, 2, 1)[0] == "start0"


def test_lanes_work_after_an_exception(lanes):
    made = lanes()

    def body(index, park):
        park(index)
        raise KeyError(index)

    for _ in range(3):
        with pytest.raises(KeyError, match="0"):
            made.run(3, body, echo, ignore)
        assert steps(made, 3, 1) == steps(Lanes("greenlet", InOrder()), 3, 1)


@pytest.mark.parametrize("draws", [0, 2, 3])
def test_a_schedule_that_gives_out_stops_every_waiting_lane_and_blames_none(lanes, draws):
    events, told = [], []

    def body(index, park):
        events.append(f"start{index}")
        try:
            park(index)
            park(index)
        finally:
            events.append(f"finally{index}")

    schedule = Replayed([("lane", 3, 0), ("lane", 2, 0), ("lane", 3, 0)][:draws])
    with pytest.raises(OutOfRangeError, match="one more"):
        lanes(schedule).run(3, body, echo, lambda *what: told.append(what))
    started = [event for event in events if event.startswith("start")]
    assert len(started) == {0: 0, 2: 3, 3: 3}[draws]
    assert events == [*started, *(f"finally{i}" for i in range(len(started)))]
    assert told == []


def test_a_schedule_that_disagrees_in_the_middle_of_a_round_stops_every_waiting_lane(lanes):
    ended = []

    def body(index, park):
        try:
            park(index)
        finally:
            ended.append(index)

    with pytest.raises(InvalidArgument, match="recorded as 'shuffle'"):
        lanes(Replayed([("lane", 3, 1), ("shuffle", 2, 0)])).run(3, body, echo, ignore)
    assert ended == [1]


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

    for _ in range(4):
        with pytest.raises(KeyError):
            lanes.run(4, body, echo, ignore)
    assert len(lane_threads()) == 4
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
    made, wrong = lanes(), []

    def use(number):
        try:
            for count in (2, 3, 5, 4) * 8:
                results = made.run(count, lambda index, park: park((number, index)), echo, ignore)
                assert results == [[(number, i) for i in range(count)]] * count  # noqa: PT017
        except BaseException as error:  # noqa: BLE001 - told in the main thread
            wrong.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=use, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
    finally:
        sys.setswitchinterval(interval)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []


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
        return weakref.ref(variable.components[0]), weakref.ref(strategy.extended._lanes)

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
