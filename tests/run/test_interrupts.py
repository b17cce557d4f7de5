"""A strategy can be used after an interrupt at any step of a run.  Clauses: M-15.

`ci/interrupts.py` interrupts at 20,000 steps of each executor; these are some of them.
"""

import gc
import signal
import threading

import pytest
from vocabulary import ctx, rank

import simstrategy as ss
from ci import interrupts


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
