"""How a run of tasks ends badly, on both executors: who is stopped, in which order, and who is told."""

import gc
import sys
from contextlib import suppress

import pytest
from greenlet import GreenletExit
from shares import one_in
from task_bodies import echo, ignore, steps

from simstrategy.errors import InvalidArgument, OutOfRangeError
from simstrategy.run import ReplicaTasks, TaskStopped
from simstrategy.schedules import InOrder, Replayed, Seeded


@pytest.mark.parametrize("culprit", [0, 1, 2])
def test_an_exception_before_the_first_meeting_keeps_later_tasks_from_starting(tasks, culprit):
    events, told = [], []

    def body(index, suspend):
        events.append(f"start{index}")
        try:
            if index == culprit:
                raise KeyError("mine")
            suspend(index)
        finally:
            events.append(f"finally{index}")

    def failed(index, error, calls, order):
        told.append((index, type(error), list(order)))

    with pytest.raises(KeyError, match="mine"):
        tasks().run(3, body, echo, failed)
    starts = [f"start{i}" for i in range(culprit + 1)]
    assert events == [*starts, f"finally{culprit}", *(f"finally{i}" for i in range(culprit))]
    assert told == [(culprit, KeyError, list(range(culprit)))]


@pytest.mark.parametrize("culprit", [0, 1, 2])
def test_an_exception_after_a_meeting_stops_all_that_wait_in_order(tasks, culprit):
    events = []

    def body(index, suspend):
        suspend(index)
        if index == culprit:
            raise KeyError("mine")
        try:
            suspend(index)
        except TaskStopped:
            events.append(f"stopped{index}")
            raise
        finally:
            events.append(f"finally{index}")

    with pytest.raises(KeyError):
        tasks().run(3, body, echo, ignore)
    # Those before the culprit wait in their second meeting, those after it still in their first.
    assert events == [event for i in range(culprit) for event in (f"stopped{i}", f"finally{i}")]


def test_an_exception_of_the_meeting_stops_all_tasks_in_order_and_comes_out_unchanged(tasks):
    events, told = [], []
    mine = ValueError("mine")

    def body(index, suspend):
        try:
            suspend(index)
        finally:
            events.append(index)

    def match(calls, order):
        raise mine

    with pytest.raises(ValueError, match="mine") as raised:
        tasks().run(3, body, match, lambda *what: told.append(what))
    assert raised.value is mine
    assert events == [0, 1, 2]
    assert told == []


@pytest.mark.parametrize("count", [1, 3])
def test_what_the_meeting_raised_is_told_for_no_task(tasks, count):
    told = []

    def body(index, suspend):
        try:
            suspend(index)
        except ValueError as error:
            raise KeyError("from the task") from error

    def match(calls, order):
        raise ValueError("from the meeting")

    with pytest.raises(ValueError, match="from the meeting"):
        tasks().run(count, body, match, lambda index, error, calls, order: told.append(type(error)))
    assert told == []


def test_a_task_that_swallows_its_stop_and_parks_again_is_stopped_again(tasks):
    swallowed = []

    def body(index, suspend):
        if index == 2:
            raise KeyError("mine")
        for _ in range(3):
            try:
                suspend(index)
            except TaskStopped:
                swallowed.append(index)
        return "pretends that nothing happened"

    with pytest.raises(KeyError, match="mine"):
        tasks().run(3, body, echo, ignore)
    assert swallowed == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("schedule", one_in(2, [InOrder, lambda: Seeded(4)]), ids=["in order", "seeded"])
def test_a_task_that_catches_every_stop_is_ended_by_force_and_leaves_nothing(tasks, schedule, count, capfd):
    tracer, ended = sys.gettrace(), []

    class Marked:
        def __del__(self):
            ended.append(1)

    def swallow(index, suspend):
        with suppress(BaseException):
            suspend(index)

    def body(index, suspend):
        marked = Marked()
        while True:
            try:
                swallow(index, suspend)
            except BaseException:  # noqa: BLE001 - as a program may do
                continue
        return marked

    def match(calls, order):
        raise KeyError("mine")

    made = tasks(schedule())
    for _ in range(3):
        with pytest.raises(KeyError, match="mine"):
            made.run(count, body, match, ignore)
        assert steps(made, 2, 1)[-1] == "after0-1" or schedule is not InOrder
    gc.collect()
    assert len(ended) == 3 * count
    assert sys.gettrace() is tracer
    assert capfd.readouterr() == ("", "")


# Clauses: M-10
@pytest.mark.parametrize("count", [1, 3])
def test_no_task_can_catch_what_the_meeting_raised_and_go_on(tasks, count):
    def body(index, suspend):
        try:
            suspend(index)
        except Exception:  # noqa: BLE001 - as a program may do
            return "made up"
        return "right"

    def match(calls, order):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        tasks().run(count, body, match, ignore)


def test_the_traceback_of_what_the_meeting_raised_names_the_line_of_a_lone_task(tasks):
    def body(index, suspend):
        return suspend(index)

    def match(calls, order):
        raise KeyError("mine")

    with pytest.raises(KeyError) as raised:
        tasks().run(1, body, match, ignore)
    names = [place.name for place in raised.traceback]
    assert names[-3:] == ["body", "suspend", "match"]


def test_what_a_stopped_task_raises_instead_does_not_replace_the_first_exception(tasks):
    def body(index, suspend):
        if index == 1:
            raise KeyError("first")
        try:
            suspend(index)
        finally:
            raise OSError("second")

    with pytest.raises(KeyError, match="first"):
        tasks().run(2, body, echo, ignore)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, GreenletExit])
def test_an_interrupt_inside_a_task_ends_the_run_like_any_exception(tasks, error):
    stopped = []

    def body(index, suspend):
        if index == 1:
            raise error
        try:
            suspend(index)
        finally:
            stopped.append(index)

    made = tasks()
    with pytest.raises(error):
        made.run(3, body, echo, ignore)
    assert stopped == [0]
    assert steps(made, 2, 1)[0] == "start0"


@pytest.mark.parametrize("schedule", [InOrder, lambda: Seeded(4)], ids=["in order", "seeded"])
def test_a_task_that_goes_on_alone_and_then_raises_is_the_one_that_is_told(tasks, schedule):
    told = []

    def body(index, suspend):
        for number in range(index + 1):
            suspend((index, number))
        if index == 2:
            raise KeyError("alone")

    with pytest.raises(KeyError, match="alone"):
        tasks(schedule()).run(4, body, echo, lambda index, error, calls, order: told.append((index, order)))
    assert [(index, sorted(order)) for index, order in told] in ([(2, [])], [(2, [3])])


def test_tasks_work_after_an_exception(tasks):
    made = tasks()

    def body(index, suspend):
        suspend(index)
        raise KeyError(index)

    for _ in range(3):
        with pytest.raises(KeyError, match="0"):
            made.run(3, body, echo, ignore)
        assert steps(made, 3, 1) == steps(ReplicaTasks("greenlet", InOrder()), 3, 1)


@pytest.mark.parametrize("draws", [0, 2, 3])
def test_a_schedule_that_gives_out_stops_every_waiting_task_and_blames_none(tasks, draws):
    events, told = [], []

    def body(index, suspend):
        events.append(f"start{index}")
        try:
            suspend(index)
            suspend(index)
        finally:
            events.append(f"finally{index}")

    schedule = Replayed([("task", 3, 0), ("task", 2, 0), ("task", 3, 0)][:draws])
    with pytest.raises(OutOfRangeError, match="one more"):
        tasks(schedule).run(3, body, echo, lambda *what: told.append(what))
    started = [event for event in events if event.startswith("start")]
    assert len(started) == {0: 0, 2: 3, 3: 3}[draws]
    assert events == [*started, *(f"finally{i}" for i in range(len(started)))]
    assert told == []


def test_a_schedule_that_disagrees_in_the_middle_of_a_round_stops_every_waiting_lane(tasks):
    ended = []

    def body(index, suspend):
        try:
            suspend(index)
        finally:
            ended.append(index)

    with pytest.raises(InvalidArgument, match="recorded as 'shuffle'"):
        tasks(Replayed([("task", 3, 1), ("shuffle", 2, 0)])).run(3, body, echo, ignore)
    assert ended == [1]
