"""Replicas that wait for threads which cannot go on end with an error; threads that will end are not accused.

Clauses: M-11.
"""

import asyncio
import os
import queue
import select
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from shares import one_in
from vocabulary import ctx, rank

import simstrategy as ss
from simstrategy.errors import ReplicasBlocked, ReplicaWaits
from simstrategy.run.lost import Waits
from simstrategy.sim import Cluster

pause = threading.Event().wait
LIMIT_S = 0.2
LONG_S = 20


def started(target):
    thread = threading.Thread(target=target, name="helper", daemon=True)
    thread.start()
    return thread


def queue_that_nobody_fills():
    return queue.Queue().get


def simple_queue_of_the_replica():
    items = queue.SimpleQueue()

    def wait():
        items.get()

    return wait


def event_that_nobody_sets():
    return threading.Event().wait


def lock_that_nobody_releases():
    lock = threading.Lock()
    lock.acquire()

    def wait():
        with lock:
            pass

    return wait


def condition_that_nobody_notifies():
    condition = threading.Condition()

    def wait():
        with condition:
            condition.wait()

    return wait


def future_that_nobody_sets():
    return Future().result


def another_join():
    return lambda: started(queue_that_nobody_fills()).join()


def two_that_wait_for_each_other():
    there, back = queue.Queue(), queue.Queue()

    def answer():
        back.put(there.get())

    def wait():
        started(answer)
        back.get()
        there.put(1)

    return wait


def work_in_a_pool():
    def wait():
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(queue_that_nobody_fills()).result()

    return wait


LOST = [
    queue_that_nobody_fills,
    simple_queue_of_the_replica,
    event_that_nobody_sets,
    lock_that_nobody_releases,
    condition_that_nobody_notifies,
    future_that_nobody_sets,
    another_join,
    two_that_wait_for_each_other,
    work_in_a_pool,
]


def first_alone(act):
    """Returns a step whose first replica does this, before a collective of all."""

    def step():
        if rank() == 0:
            act()
        return ctx().all_reduce("SUM", 1.0)

    return step


def run_on(carrier, step, limit_s=LIMIT_S):
    if carrier == "cluster":
        return Cluster(2, 1, wait_limit_s=limit_s).run(lambda strategy: strategy.run(step))
    executor = "thread" if carrier == "thread" else "greenlet"
    return ss.Strategy.mirrored("sim", replicas=2, executor=executor, wait_limit_s=limit_s).run(step)


def blocked(carrier, step):
    """Returns the error of a run, in the main thread or beside it, with every warning as an error."""
    raised = []

    def attempt():
        try:
            run_on(carrier, step)
        except ReplicasBlocked as error:
            raised.append(str(error))

    if carrier == "beside":
        side = started(attempt)
        side.join(LONG_S)
        assert not side.is_alive()
    else:
        attempt()
    (text,) = raised
    return text


def examine(carrier):
    """Runs all cases in this process, which has no other threads: they could end the waits."""
    threading.excepthook = lambda _: None
    warnings.simplefilter("error")
    who = "worker 0" if carrier == "cluster" else "replica 0"
    for case in LOST:
        text = blocked(carrier, first_alone(lambda case=case: started(case()).join()))
        assert f"{who}: waits for Thread 'helper' at test_lost_threads.py:" in text, (case.__name__, text)
        assert "thread 'helper' waits for " in text, (case.__name__, text)
        step = first_alone(lambda: None)
        assert float(first_of(run_on(carrier, step, limit_s=None))) == 2.0


def first_of(result):
    """Returns one replica's value of what a run of two replicas or two workers returned."""
    first = result[0] if isinstance(result, tuple) else result
    return first.values[0] if isinstance(first, (ss.PerReplica, ss.Mirrored)) else first


def in_a_process(function, carrier):
    """Calls a function of this file in a process of its own, which has no other threads, and no other objects."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    # Without the shutdown of the interpreter, which waits for the threads of `ThreadPoolExecutor`.
    code = f"import os, sys, test_lost_threads; test_lost_threads.{function.__name__}(sys.argv[1]); os._exit(0)"
    done = subprocess.run(
        [sys.executable, "-c", code, carrier], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("carrier", one_in(2, ["greenlet", "thread", "cluster", "beside"]))
def test_a_replica_that_joins_a_thread_that_cannot_go_on_ends_with_an_error_that_names_both(carrier):
    in_a_process(examine, carrier)


SET = threading.Event()


def sleeps(wait_s):
    started(lambda: select.select([], [], [], wait_s)).join()


def waits_with_a_time_out(wait_s):
    started(lambda: threading.Event().wait(wait_s)).join()


def works(wait_s):
    end = time.monotonic() + wait_s

    def work():
        while time.monotonic() < end:
            pass

    started(work).join()


def reads_a_pipe(wait_s):
    """Another process may write to it: no error is raised on a guess."""
    reads, writes = os.pipe()
    reader = started(lambda: os.read(reads, 1))
    threading.Timer(wait_s, lambda: os.write(writes, b"1")).start()
    reader.join()


def is_served_by_a_thread_that_sleeps(wait_s):
    items = queue.Queue()
    started(lambda: (pause(wait_s), items.put(1)))
    started(items.get).join()


def is_served_over_two_threads(wait_s):
    first, second = queue.Queue(), queue.SimpleQueue()
    started(lambda: (pause(wait_s), first.put(1)))
    started(lambda: second.put(first.get()))
    started(second.get).join()


def works_in_a_pool(wait_s):
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda number: (pause(wait_s), number)[1], range(2))) == [0, 1]


def runs_an_event_loop(wait_s):
    async def later():
        await asyncio.wait([asyncio.ensure_future(asyncio.Event().wait())], timeout=wait_s)
        SET.set()

    started(lambda: asyncio.run(later()))
    started(SET.wait).join()


def is_called_on_an_event_loop(wait_s):
    loop = asyncio.new_event_loop()
    lives = started(loop.run_forever)

    async def later():
        await asyncio.wait([asyncio.ensure_future(asyncio.Event().wait())], timeout=wait_s)

    def call():
        asyncio.run_coroutine_threadsafe(later(), loop).result()
        loop.call_soon_threadsafe(loop.stop)

    started(call).join()
    lives.join()
    loop.close()


WILL_END = [
    sleeps,
    waits_with_a_time_out,
    works,
    reads_a_pipe,
    is_served_by_a_thread_that_sleeps,
    is_served_over_two_threads,
    works_in_a_pool,
    runs_an_event_loop,
    is_called_on_an_event_loop,
]


def accuse_none(carrier):
    """Runs all programs whose threads will end."""
    for program in WILL_END:
        SET.clear()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = run_on(carrier, first_alone(lambda program=program: program(4 * LIMIT_S)))
        assert float(first_of(result)) == 2.0, program.__name__
        assert all(isinstance(one.message, ReplicaWaits) for one in caught), (program.__name__, caught)


@pytest.mark.slow
@pytest.mark.parametrize("carrier", one_in(2, ["thread", "greenlet", "cluster"]))
def test_a_replica_that_joins_a_thread_that_will_end_is_not_accused(carrier):
    in_a_process(accuse_none, carrier)


def test_a_thread_that_makes_another_one_goes_on():
    class Name:
        def __str__(self):
            waits = Waits({1: sys._getframe(1)}, lambda _: [])
            return f"{waits.circle(1)} {waits.lost_with(1)}"

    assert threading.Thread(name=Name()).name == "set() set()"
