"""A strategy can be used after an interrupt at any step of a run.  Clauses: M-15.

`ci/interrupts.py` interrupts at 20,000 steps of each executor; these are some of them.
"""

import gc
import signal
import threading
from functools import partial

import pytest
from vocabulary import ctx, rank

import simstrategy as ss
from ci import interrupts
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


def end_last(threads):
    """Ends a thread as a pool does that is closed."""
    threads.pop().end()


@pytest.mark.slow
@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals need the main thread")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("end", [list[TaskThread].pop, end_last], ids=["lost", "closed"])
def test_a_thread_ends_at_whatever_step_of_its_end_the_interrupt_comes(handler, end):
    steps, threads = interrupts.Injector(0), [TaskThread()]
    steps.run(partial(end, threads))
    assert steps.steps > 40
    for at in range(1, steps.steps + 1):
        threads.append(TaskThread())
        carrier = threads[0]._thread  # nothing else of it is left
        interrupts.Injector(at).run(partial(end, threads))
        threads.clear()
        carrier.join(10)
        assert not carrier.is_alive(), f"interrupted at step {at} of {steps.steps}"


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
