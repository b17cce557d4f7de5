"""Replicas that wait for each other outside of collectives are named, and slow ones are not accused.  Clauses: M-11."""

import os
import queue
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress
from pathlib import Path

import pytest
from shares import one_in
from vocabulary import ctx, rank

import simstrategy as ss
from simstrategy.errors import ContextError, ReplicasBlocked, ReplicaWaits
from simstrategy.run import looks as looking
from simstrategy.run import watch as watching
from simstrategy.run.frames import frames_of_threads
from simstrategy.run.used_time import used_in
from simstrategy.schedules import Seeded
from simstrategy.sim import Cluster

LIMIT_S = 0.2


class Holder:
    def __init__(self):
        self.lock = threading.Lock()


def lock_held_across_a_collective():
    lock = threading.Lock()

    def step():
        with lock:
            return ctx().all_reduce("SUM", 1.0)

    return step


def attribute_held_across_a_collective():
    holder = Holder()

    def step():
        holder.lock.acquire()
        try:
            return ctx().all_reduce("SUM", 1.0)
        finally:
            holder.lock.release()

    return step


def waits_first(wait, act):
    def step():
        return wait() if rank() == 0 else act()

    return step


def queue_between_replicas():
    items = queue.Queue()
    return waits_first(items.get, lambda: items.put(1))


def simple_queue_between_replicas():
    items = queue.SimpleQueue()
    return waits_first(items.get, lambda: items.put(1))


def event_between_replicas():
    event = threading.Event()
    return waits_first(event.wait, event.set)


def barrier_between_replicas():
    barrier = threading.Barrier(2)

    def step():
        return barrier.wait()

    return step


def condition_between_replicas():
    condition = threading.Condition()

    def wait():
        with condition:
            condition.wait()

    return waits_first(wait, condition.notify)


def wait_that_catches_every_exception():
    items = queue.Queue()

    def wait():
        with suppress(BaseException):
            items.get()

    return waits_first(wait, lambda: items.put(1))


CASES = [
    lock_held_across_a_collective,
    attribute_held_across_a_collective,
    queue_between_replicas,
    simple_queue_between_replicas,
    event_between_replicas,
    barrier_between_replicas,
    condition_between_replicas,
    wait_that_catches_every_exception,
]


def sums(strategy):
    return [float(one) for one in strategy.run(lambda: ctx().all_reduce("SUM", 1.0)).values]


def rlock_held_across_a_collective():
    lock = threading.RLock()

    def step():
        with lock:
            return ctx().all_reduce("SUM", 1.0)

    return step


def examine(executor, name, seeded):
    """Runs a case in this process, which has no other threads: they could end the wait."""
    schedule = Seeded(2) if seeded == "seeded" else None
    strategy = ss.Strategy.mirrored("sim", replicas=2, executor=executor, schedule=schedule, wait_limit_s=LIMIT_S)
    with pytest.raises(ReplicasBlocked, match=r"replica \d: waits for \w+ at test_waiting.py:\d+") as raised:
        strategy.run(globals()[name]())
    assert str(raised.value).count("\n  replica ") == 2
    assert sums(strategy) == [2, 2]


def examine_workers(*_):
    """The same for workers of a simulated cluster, of one replica each."""
    step = queue_between_replicas()
    cluster = Cluster(2, 1, wait_limit_s=LIMIT_S)
    with pytest.raises(ReplicasBlocked, match=r"worker 0: waits for Queue at test_waiting.py:\d+"):
        cluster.run(lambda strategy: strategy.run(step))


def in_a_process(*arguments, function="examine"):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    code = f"import sys, test_waiting; test_waiting.{function}(*sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("case", one_in(3, CASES))
def test_replicas_that_wait_for_each_other_end_with_an_error_that_shows_where(executor, case):
    in_a_process(executor, case.__name__, "in order")


@pytest.mark.slow
def test_workers_that_wait_for_each_other_end_with_an_error_too():
    in_a_process(function="examine_workers")


@pytest.mark.slow
def test_a_lock_is_named_under_another_schedule(executor):
    in_a_process(executor, "lock_held_across_a_collective", "seeded")


@pytest.mark.slow
def test_an_rlock_held_across_a_collective_blocks_threads():
    in_a_process("thread", "rlock_held_across_a_collective", "in order")


@pytest.mark.slow
def test_a_replica_that_computes_for_long_is_not_reported(mirrored, executor):
    limit_s = 5 * LIMIT_S  # on a machine that does much else, its share of a shorter time can be nothing

    def step():
        end = time.monotonic() + 1.6 * limit_s
        while time.monotonic() < end:
            pass

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mirrored(2, executor=executor, wait_limit_s=limit_s).run(step)


def test_a_thread_that_waits_for_a_processor_counts_as_one_that_computes(tmp_path):
    """On a loaded machine it has a hundredth of the time, and waits for no other replica."""
    assert used_in(tmp_path) is None
    (tmp_path / "stat").write_text(f"7 (a b) c) R {' 0' * 10} 30 70 0 0")
    assert used_in(tmp_path) == 100 / os.sysconf("SC_CLK_TCK")
    (tmp_path / "schedstat").write_text("10000000 990000000 12\n")
    assert used_in(tmp_path) == 1.0


@pytest.mark.slow
def test_a_wait_that_may_end_ends_the_run_where_warnings_are_errors(mirrored, executor):
    fed = threading.Event()
    feeder = threading.Timer(60.0, fed.set)
    feeder.start()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ReplicaWaits)
        with pytest.raises(ReplicaWaits, match=r"replica 0 has waited for .* s outside"):
            mirrored(2, executor=executor, wait_limit_s=LIMIT_S).run(fed.wait)
    fed.set()  # a thread that goes on waiting would be left
    feeder.cancel()
    feeder.join()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["sleep", "time-out", "another thread"])
def test_a_wait_that_may_end_is_a_warning_and_goes_on(mirrored, executor, how):
    items = queue.Queue()
    fed = threading.Event()

    def feed():
        fed.wait(4 * LIMIT_S)
        items.put(7)

    def step():
        if rank() > 0:
            return 7
        if how == "sleep":
            threading.Event().wait(3 * LIMIT_S)
            return 7
        if how == "time-out":
            with pytest.raises(queue.Empty):
                items.get(timeout=3 * LIMIT_S)
            return 7
        return items.get()

    feeder = threading.Thread(target=feed)
    if how == "another thread":
        feeder.start()
    with pytest.warns(ReplicaWaits, match=r"replica 0 has waited for .* s outside of collectives"):
        assert mirrored(2, executor=executor, wait_limit_s=LIMIT_S).run(step) == 7
    if how == "another thread":
        feeder.join()


def traced(called):
    called.append(1)


@pytest.mark.slow
def test_a_thread_that_goes_on_waiting_does_not_hold_up_traced_functions(mirrored):
    """CPython 3.11 does not come past the first step of a traced function while an exception has not arrived."""
    fed, called = threading.Event(), []
    before = sys.gettrace()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ReplicaWaits)
        with pytest.raises(ReplicaWaits):
            mirrored(2, executor="thread", wait_limit_s=LIMIT_S).run(lambda: fed.wait(600.0))
    sys.settrace(lambda *_: None)
    try:
        traced(called)
    finally:
        sys.settrace(before)
        fed.set()
    assert called


def test_none_is_no_limit(mirrored, executor):
    assert sums(mirrored(2, executor=executor, wait_limit_s=None)) == [2, 2]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_destructor_in_the_thread_that_watches_cannot_hold_up_the_run_that_it_waits_for(mirrored, monkeypatch):
    """The run waits at its end until the watch has looked, and a destructor there for its turn after the run."""
    strategy = mirrored(2, executor="greenlet", wait_limit_s=LIMIT_S)
    collected, raised = threading.Event(), []

    class Writes:
        def __del__(self):
            try:
                strategy.run(lambda: None)
            except ContextError as error:
                raised.append(str(error))

    def collecting():
        if not collected.is_set() and watching.watch().looks_here():
            collected.set()
            threading.Event().wait(LIMIT_S)  # the run has ended, and waits
            Writes()
        return frames_of_threads()

    monkeypatch.setattr(looking, "frames_of_threads", collecting)
    strategy.run(lambda: collected.wait(60) and None)
    assert len(raised) == 1
    assert "the garbage collector ran it in the thread that watches replicas" in raised[0]
