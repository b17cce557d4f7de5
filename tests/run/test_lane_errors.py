"""How a run of lanes ends badly, on both carriers: who is stopped, in which order, and who is told."""

import pytest
from greenlet import GreenletExit
from lane_bodies import echo, ignore, steps

from simstrategy.errors import InvalidArgument, OutOfRangeError
from simstrategy.run import Lanes, LaneStopped
from simstrategy.schedules import InOrder, Replayed, Seeded


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


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, GreenletExit])
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


@pytest.mark.parametrize("schedule", [InOrder, lambda: Seeded(4)], ids=["in order", "seeded"])
def test_a_lane_that_goes_on_alone_and_then_raises_is_the_one_that_is_told(lanes, schedule):
    told = []

    def body(index, park):
        for number in range(index + 1):
            park((index, number))
        if index == 2:
            raise KeyError("alone")

    with pytest.raises(KeyError, match="alone"):
        lanes(schedule()).run(4, body, echo, lambda index, error, arrivals, order: told.append((index, order)))
    assert [(index, sorted(order)) for index, order in told] in ([(2, [])], [(2, [3])])


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
