"""Errors that end a call from outside come while it runs, and in the right call.  Clauses: M-15, M-16."""

import gc
import signal
import subprocess
import sys
import threading

import greenlet
import pytest
from vocabulary import rank, variable_under

import simstrategy as ss
from simstrategy.errors import ContextError, ReplicasBlocked
from simstrategy.run import threads
from simstrategy.run.frames import frames_of_threads
from simstrategy.run.turns import Failure
from simstrategy.strategy import group_of


@pytest.mark.parametrize("kind", ["greenlet", "greenlet, seeded"])
def test_a_greenlet_whose_last_reference_another_thread_drops_ends_no_replica_of_a_run(kind):
    """A thread that reads the frames of a run keeps its greenlets, also those of a strategy that is gone."""
    kept = []
    strategy, _ = variable_under(kind)
    strategy.run(lambda: kept.append(greenlet.getcurrent()))
    strategy.close()
    del strategy
    gc.collect()
    strategy, _ = variable_under(kind)

    def step():
        if rank() == 0:
            drops = threading.Thread(target=kept.clear)
            drops.start()
            drops.join()
        return ss.get_replica_context().all_reduce("SUM", 1)

    assert strategy.run(step).values == (2, 2)
    assert strategy.run(step).values == (2, 2)


def test_an_error_for_a_replica_whose_greenlet_was_left_by_other_code():
    strategy, _ = variable_under("greenlet")
    with pytest.raises(ContextError, match="by other code than this library's"):
        strategy.run(lambda: greenlet.getcurrent().parent.switch("here"))
    assert strategy.run(rank).values == (0, 1)


@pytest.mark.parametrize("kind", ["inline", "greenlet", "thread"])
def test_a_call_that_ends_while_it_is_accused_is_not_interrupted(kind, monkeypatch):
    """The failure comes when the run has ended, and before its turn has: nothing is raised."""
    strategy, variable = variable_under(kind)
    users, failure = group_of(strategy).coordinator.one_thread, Failure(ReplicasBlocked("too late"))
    leave, found = users.leave, []

    def leave_late(use, _):
        found.append(users.fail(threading.get_ident(), failure))
        leave(use, None)

    monkeypatch.setattr(users, "leave", leave_late)
    strategy.run(lambda: None)
    variable.assign(1.0)
    assert found == [False, False]


@pytest.mark.parametrize("kind", ["inline", "greenlet", "thread"])
def test_a_call_waits_for_the_interrupts_that_are_sent_for_it(kind):
    """SIGINT is sent when the run has ended its tasks: none of it reaches the code after the run."""
    strategy, _ = variable_under(kind)
    users, failure = group_of(strategy).coordinator.one_thread, Failure(ReplicasBlocked("no way"))
    main = threading.get_ident()

    def send():
        threading.Event().wait(0.1)  # the run waits for this thread
        failure.signals = 1
        signal.pthread_kill(main, signal.SIGINT)
        failure.sent = True

    def step():
        if rank() == 0:
            assert users.fail(main, failure)
            threading.Thread(target=send).start()

    with pytest.raises(ReplicasBlocked, match="no way"):
        strategy.run(step)
    assert strategy.run(lambda: None) is None


@pytest.mark.parametrize("own", [1, 2])
def test_an_interrupt_of_the_user_is_not_taken_for_the_one_that_ends_a_wait(own):
    strategy, _ = variable_under("greenlet")
    users, failure = group_of(strategy).coordinator.one_thread, Failure(ReplicasBlocked("no way"))
    failure.signals, failure.sent = own - 1, True

    def step():
        if rank() == 0:
            assert users.fail(threading.get_ident(), failure)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt if own == 1 else ReplicasBlocked):
        strategy.run(step)


def test_a_failure_that_is_withdrawn_raises_nothing():
    strategy, _ = variable_under("greenlet")
    users, failure = group_of(strategy).coordinator.one_thread, Failure(ReplicasBlocked("no way"))
    failure.withdrawn = failure.sent = True
    assert strategy.run(lambda: users.fail(threading.get_ident(), failure)) is True
    strategy.run(lambda: None)


def test_a_thread_that_was_interrupted_after_its_run_carries_no_other_run():
    pool = threads.ThreadPool()
    taken = pool.take(1)
    pool.give_back(taken)
    taken[0].interrupt(ReplicasBlocked("too late"))
    again = pool.take(1)
    assert again[0].idle
    assert again[0] is not taken[0]
    assert taken[0].dead
    pool.give_back(again)
    pool.close()


def test_a_thread_that_starts_another_one_is_ended_after_that(monkeypatch):
    """Until the new thread runs it has the number of the one that starts it, and would get the exception."""
    new, starting, started, ended_in_start = threading.Thread(target=lambda: None), threading.Event(), [], []
    wait, raise_in_thread = new._started.wait, threads.raise_in_thread

    def wait_long():
        starting.set()
        threading.Event().wait(0.2)
        started.append(wait())

    def examined(ident):
        ended_in_start.append(not started)
        raise_in_thread(ident)

    monkeypatch.setattr(new._started, "wait", wait_long)
    monkeypatch.setattr(threads, "raise_in_thread", examined)
    over = threading.Event()
    pool = threads.ThreadPool()
    [task] = pool.take(1)

    def body(*_):
        new.start()
        over.wait()

    runs = threading.Thread(
        target=lambda: task.switch((body, iter([0]), [None], task.suspend, task.suspend)), daemon=True
    )
    runs.start()
    starting.wait()
    task.end(0.1)
    new.join()
    over.set()
    assert ended_in_start == [False]


@pytest.mark.parametrize("collects", [True, False])
def test_the_frames_of_threads_are_read_without_the_garbage_collector(collects, monkeypatch):
    found = []
    monkeypatch.setattr(sys, "_current_frames", lambda: found.append(gc.isenabled()) or {})
    (gc.enable if collects else gc.disable)()
    try:
        frames_of_threads()
        assert (found, gc.isenabled()) == ([False], collects)
    finally:
        gc.enable()


FORCED = """
import sys, threading
import simstrategy as ss

strategy = ss.Strategy.mirrored("sim", replicas=2, executor="{executor}")

def step():
    context = ss.get_replica_context()
    if context.replica_id_in_sync_group == 1:
        raise ValueError
    while True:
        try:
            context.all_reduce("SUM", 1)
        except BaseException:
            pass

try:
    strategy.run(step)
except Exception as error:
    print(type(error).__name__)

def function():
    return "traced"

sys.settrace(lambda *_: None)
print(function())
"""


@pytest.mark.parametrize("executor", ["greenlet", "thread"])
def test_functions_can_be_traced_after_a_replica_was_ended_by_force(executor):
    """CPython 3.11 never enters a traced function while an exception is scheduled, or was and has been withdrawn."""
    done = subprocess.run(
        [sys.executable, "-c", FORCED.format(executor=executor)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.split()[-1:] == ["traced"], done.stderr
