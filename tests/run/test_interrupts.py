"""A strategy can be used after an interrupt at any step of a run.  Clauses: M-15.

`ci/interrupts.py` interrupts at 20,000 steps of each executor; these are some of them.
"""

import gc
import operator
import signal
import sys
import threading
from collections import deque
from contextlib import suppress
from functools import partial

import pytest
from vocabulary import ctx, rank

import simstrategy as ss
from ci import interrupts
from simstrategy.run import forced, threads
from simstrategy.run.task import TaskStopped
from simstrategy.run.threads import TaskThread


@pytest.fixture
def handler():
    before = signal.signal(signal.SIGINT, interrupts.interrupted)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals need the main thread")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("executor", interrupts.EXECUTORS)
def test_the_next_run_is_right_after_an_interrupt_at_any_step(executor, handler):
    arrived, faults = interrupts.examine(executor, 40)
    assert faults == []
    assert arrived > 30


def end_last(pool):
    """Ends a thread as a pool does that is closed."""
    pool.pop().end()


@pytest.mark.slow
@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals need the main thread")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("end", [list[TaskThread].pop, end_last], ids=["lost", "closed"])
def test_a_thread_ends_at_whatever_step_of_its_end_the_interrupt_comes(handler, end):
    steps, pool = interrupts.Injector(0), [TaskThread()]
    steps.run(partial(end, pool))
    assert steps.steps > 40
    for at in range(1, steps.steps + 1):
        pool.append(TaskThread())
        carrier = pool[0]._thread  # nothing else of it is left
        interrupts.Injector(at).run(partial(end, pool))
        pool.clear()
        carrier.join(10)
        assert not carrier.is_alive(), f"interrupted at step {at} of {steps.steps}"


@pytest.mark.slow
@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals need the main thread")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_carrier_that_is_not_released_is_found(handler, monkeypatch, capfd):
    kept = []

    def end_without_release(channel):
        channel.ended.append(None)
        channel.lost = ()
        kept.append(channel)

    monkeypatch.setattr(threads._Channel, "end", end_without_release)
    monkeypatch.setattr(TaskThread, "end", lambda task, _=0: end_without_release(task._channel))
    monkeypatch.setattr(interrupts, "LIMIT_S", 5)
    try:
        _, faults = interrupts.examine("thread", 1)
    finally:
        for channel in kept:
            with suppress(RuntimeError):  # its thread has ended
                channel.go.release()
    assert [fault.partition(" threads are left")[1] for fault in faults] == [" threads are left"]


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals need the main thread")
def test_an_interrupt_during_a_forced_end_is_raised_and_no_stop_comes_after_it(monkeypatch):
    schedule, interrupt_once = forced._SCHEDULE, [interrupts._RAISE]

    def schedule_and_interrupt(*arguments):
        calls = [partial(schedule, *arguments), *(partial(one, None, None, None) for one in interrupt_once)]
        interrupt_once.clear()
        deque(map(operator.call, calls), 0)  # one call of C, in which neither arrives

    monkeypatch.setattr(forced, "_SCHEDULE", schedule_and_interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    late = []
    try:
        with pytest.raises(KeyboardInterrupt):
            forced.raise_no_more(sys.gettrace())
    except TaskStopped as error:
        late.append(error)
    finally:
        signal.signal(signal.SIGINT, before)
    assert interrupt_once == late == []


def test_a_strategy_that_another_thread_collects_ends_no_replica_of_a_run(mirrored):
    gc.collect()
    gc.disable()
    try:
        use_once()

        def step():
            if rank() == 0:
                collector = threading.Thread(target=gc.collect)
                collector.start()
                collector.join()
            return ctx().all_reduce("SUM", 1.0)

        assert [float(one) for one in mirrored(3).run(step).values] == [3, 3, 3]
    finally:
        gc.enable()


def use_once():
    """Makes a strategy and drops it."""
    ss.Strategy.mirrored("sim", replicas=3).run(lambda: ctx().all_reduce("SUM", 1.0))
