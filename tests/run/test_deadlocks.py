"""Threads that wait for each other while one of them waits for its turn: named and ended.  Clauses: M-16."""

import asyncio
import contextvars
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import numpy as np
import pytest
from shares import one_in
from vocabulary import rank, variable_under

import simstrategy as ss
from simstrategy.errors import ReplicasBlocked
from simstrategy.run import one_thread
from simstrategy.sim import Cluster

LOOK_S = 0.02
LONG_S = 30


def in_thread(function):
    threading.Thread(target=function, name="reader", daemon=True).start()


def join(read):
    read_by = threading.Thread(target=read, name="reader")
    read_by.start()
    read_by.join()


def future(read):
    with ThreadPoolExecutor(1, "reader") as pool:
        return pool.submit(read).result()


def futures(read):
    with ThreadPoolExecutor(2, "reader") as pool:
        wait([pool.submit(read) for _ in range(2)])


def mapped(read):
    with ThreadPoolExecutor(2, "reader") as pool:
        return list(pool.map(lambda _: read(), range(2)))


def items(read):
    found = queue.Queue()
    in_thread(lambda: found.put(read()))
    return found.get()


def simple_items(read):
    found = queue.SimpleQueue()
    in_thread(lambda: found.put(read()))
    return found.get()


def event(read):
    done = threading.Event()
    in_thread(lambda: (read(), done.set()))
    done.wait()


def locked(lock, read):
    held = threading.Event()

    def hold():
        with lock:
            held.set()
            read()

    in_thread(hold)
    held.wait()
    with lock:
        pass


def lock(read):
    locked(threading.Lock(), read)


def rlock(read):
    locked(threading.RLock(), read)


def loop(read):
    async def coroutine():
        return await asyncio.get_running_loop().run_in_executor(None, read)

    return asyncio.run(coroutine())


def chain(read):
    """The thread that is joined waits for another one, which waits for its turn."""

    def wait_for_another():
        items(read)

    one = threading.Thread(target=wait_for_another, name="between", daemon=True)
    one.start()
    one.join()


WAYS = [join, future, futures, mapped, items, simple_items, event, lock, rlock, loop, chain]


def a_run(kind, way):
    """Returns a function that runs replicas, of which the first waits for a thread that waits for its turn."""
    if kind.startswith("cluster"):

        def program(strategy):
            data = ss.data.Dataset.from_tensor_slices(np.arange(8.0)).batch(4)
            steps = iter(strategy.experimental_distribute_dataset(data))
            return strategy.run(lambda: way(lambda: next(steps)))

        return lambda: Cluster(2, int(kind[-1])).run(program)
    strategy, variable = variable_under(kind)
    return lambda: strategy.run(lambda: way(lambda: variable.assign(2.0)))


def collect(run, raised):
    """Appends the error that a function raises to a list."""
    try:
        run()
    except Exception as error:  # noqa: BLE001 - examined by the caller
        raised.append(error)


def examine(kind, where):
    """Runs all ways in this process, which has no other threads: they could end the wait."""
    one_thread._LOOK_S = LOOK_S
    threading.excepthook = lambda _: None
    # A join outside of the main thread cannot be interrupted, and `chain` leaves a thread that waits for ever.
    for way in WAYS[:-1] if (kind, where) == ("greenlet", "side") else WAYS:
        run, raised = a_run(kind, way), []
        if where == "main":
            collect(run, raised)
        else:
            side = threading.Thread(target=collect, args=(run, raised), daemon=True)
            side.start()
            side.join(LONG_S)
        assert [type(error) for error in raised] == [ReplicasBlocked], (way.__name__, raised)
        text = str(raised[0])
        assert "thread 'reader" in text or "thread 'asyncio_0'" in text, way.__name__
        assert "ended its call of the same strategy at test_deadlocks.py:" in text, way.__name__
        assert f"{'worker' if kind.startswith('cluster') else 'thread' if kind == 'inline' else 'replica'} " in text
        assert " waits for " in text, way.__name__


KINDS = ["inline", "greenlet", "greenlet, seeded", "thread", "thread, seeded", "cluster 1", "cluster 2"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", one_in(3, [*(f"{kind} on main" for kind in KINDS), "thread on side", "greenlet on side"])
)
def test_a_replica_that_waits_for_a_thread_that_waits_for_its_turn_ends_with_an_error(case):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    code = "import sys, test_deadlocks; test_deadlocks.examine(*sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", code, *case.split(" on ")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=2 * LONG_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def soon(monkeypatch):
    monkeypatch.setattr(one_thread, "_LOOK_S", LOOK_S)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)


def test_the_error_names_threads_replicas_and_what_they_wait_for(soon):
    strategy, variable = variable_under("greenlet")
    with pytest.raises(ReplicasBlocked) as raised:
        strategy.run(lambda: join(lambda: variable.assign(1.0)))
    lines = [line.strip() for line in str(raised.value).splitlines()]
    assert lines[1].endswith("runs:")
    assert lines[2].startswith("replica 0: waits for Thread 'reader' at test_deadlocks.py:")
    assert lines[3] == "replica 1: has not started, or has returned"
    assert lines[4].startswith("thread 'reader' waits at test_deadlocks.py:")
    assert "On a cluster each process keeps the same rule" in lines[5]


@pytest.mark.parametrize("kind", ["inline", "greenlet", "thread"])
def test_the_strategy_can_be_used_again(kind, soon):
    strategy, variable = variable_under(kind)
    with pytest.raises(ReplicasBlocked):
        strategy.run(lambda: join(lambda: variable.assign(1.0)))
    strategy.run(lambda: None)
    assert float(variable.assign(3.0).values[0] if kind != "inline" else variable.assign(3.0)) == 3.0


@pytest.mark.parametrize("kind", ["inline", "greenlet", "thread"])
def test_turns_with_two_strategies_that_are_crossed_end_both_runs(kind, soon):
    strategies, variables = zip(variable_under(kind), variable_under(kind), strict=True)
    both, raised = threading.Barrier(2), {}

    def use(mine):
        def step():
            if rank() == 0:
                both.wait()
                variables[1 - mine].assign(1.0)

        try:
            strategies[mine].run(step)
        except ReplicasBlocked as error:
            raised[mine] = str(error)

    threads = [threading.Thread(target=use, args=(one,), daemon=True) for one in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(LONG_S)
    assert sorted(raised) == [0, 1]
    assert raised[0] == raised[1]


@pytest.mark.parametrize("kind", ["inline", "greenlet", "thread"])
def test_a_write_of_a_replica_outside_of_its_context_has_its_runs_turn_already(kind, soon):
    strategy, variable = variable_under(kind)
    strategy.run(lambda: contextvars.Context().run(lambda: variable.assign(4.0) and None))
    assert float(variable.components[0]) == 4.0


RELEASED = threading.Event()
SIGNALS = queue.SimpleQueue()


def release():
    RELEASED.set()


class Releases:
    def now(self):
        release()


def no_thread_waits(read, wait_s):
    in_thread(read)
    threading.Event().wait(wait_s)


def with_a_time_out(read, wait_s):
    one = threading.Thread(target=read)
    one.start()
    one.join(wait_s)


def a_lock_with_a_time_out(read, wait_s):
    taken = threading.Lock()
    taken.acquire()
    in_thread(lambda: (read(), taken.release()))
    taken.acquire(True, wait_s)


def the_user_releases_it(read, wait_s):
    one = threading.Thread(target=lambda: (RELEASED.wait(), read()))
    one.start()
    threading.Event().wait(wait_s)
    RELEASED.set()


def another_thread_releases_it(read, wait_s):
    in_thread(lambda: (read(), RELEASED))
    threading.Timer(wait_s, release).start()
    RELEASED.wait()


def a_method_of_another_thread_releases_it(read, wait_s):
    in_thread(lambda: (read(), RELEASED))
    releases = Releases()
    in_thread(lambda: (threading.Event().wait(wait_s), releases.now()))
    RELEASED.wait()


def a_signal_releases_it(read, wait_s):
    # No Event, which the main thread cannot set while it holds its lock in `wait`: a handler runs between two steps.
    in_thread(lambda: (read(), SIGNALS))
    before = signal.signal(signal.SIGALRM, lambda *_: SIGNALS.put(1))
    signal.setitimer(signal.ITIMER_REAL, wait_s)
    SIGNALS.get()
    signal.signal(signal.SIGALRM, before)


def two_threads_take_turns(read, wait_s):
    there, back = queue.SimpleQueue(), queue.SimpleQueue()

    def answer():
        while there.get():
            back.put(1)

    in_thread(answer)
    in_thread(lambda: (read(), back.put(1)))
    end = time.monotonic() + wait_s
    while time.monotonic() < end:
        there.put(1)
        back.get()
    there.put(0)


INNOCENT = [
    no_thread_waits,
    with_a_time_out,
    a_lock_with_a_time_out,
    the_user_releases_it,
    another_thread_releases_it,
    a_method_of_another_thread_releases_it,
    a_signal_releases_it,
    two_threads_take_turns,
]


@pytest.mark.parametrize("kind", ["inline", "greenlet", "thread"])
@pytest.mark.parametrize("program", INNOCENT)
def test_programs_that_only_look_so_are_not_accused(kind, program, soon):
    if program is a_signal_releases_it and kind == "thread":
        pytest.skip("the main thread alone sets handlers of signals")
    RELEASED.clear()
    strategy, variable = variable_under(kind)
    assert strategy.run(lambda: program(lambda: variable.assign(2.0), 10 * LOOK_S) if rank() == 0 else None) is None
    end = time.monotonic() + LONG_S
    while float(variable.components[0]) != 2.0 and time.monotonic() < end:  # the thread has had its turn
        threading.Event().wait(LOOK_S)
    assert float(variable.components[0]) == 2.0


def test_none_is_no_limit_for_turns_either(soon):
    strategy, variable = variable_under("greenlet", wait_limit_s=None)
    strategy.run(lambda: with_a_time_out(lambda: variable.assign(2.0), 10 * LOOK_S))
