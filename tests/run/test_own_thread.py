"""A replica's calls from other threads and inside event loops are refused alike on every executor.  Clauses: M-12."""

import asyncio
import contextlib
import contextvars
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from vocabulary import ctx, rank

from simstrategy import sim
from simstrategy.errors import ContextError, PeerFailed
from simstrategy.schedules import Seeded

EXECUTORS = ["inline", "greenlet", "greenlet, seeded", "thread"]


@pytest.fixture(params=EXECUTORS)
def strategy(request, mirrored):
    kind, _, seeded = request.param.partition(", ")
    if kind == "inline":
        return mirrored(1)
    return mirrored(2, executor=kind, schedule=Seeded(1) if seeded else None)


def reduced():
    return ctx().all_reduce("SUM", 1.0)


def right(strategy):
    count = strategy.num_replicas_in_sync
    return [float(one) for one in strategy.experimental_local_results(strategy.run(reduced))] == [count] * count


def in_another_thread(function):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(contextvars.copy_context().run, function).result()


def test_a_collective_in_another_thread_is_refused_before_any_replica_is_skipped(strategy):
    started = []

    def step():
        started.append(rank())
        return in_another_thread(reduced)

    with pytest.raises(ContextError, match="this call was made in another one, 'ThreadPoolExecutor"):
        strategy.run(step)
    assert len(started) == 1
    assert right(strategy)


def test_a_collective_in_asyncio_to_thread_is_refused(strategy):
    async def coroutine():
        return await asyncio.to_thread(reduced)

    with pytest.raises(ContextError, match="this call was made in another one, 'asyncio_0'"):
        strategy.run(lambda: asyncio.run(coroutine()))
    assert right(strategy)


def test_a_replica_goes_on_after_a_call_of_another_thread_was_refused(strategy):
    def step():
        with pytest.raises(ContextError):
            in_another_thread(reduced)
        return reduced()

    count = strategy.num_replicas_in_sync
    results = strategy.experimental_local_results(strategy.run(step))
    assert [float(one) for one in results] == [count] * count


def test_a_call_of_another_thread_does_not_enter_a_round_that_goes_on_meanwhile(strategy):
    """The other thread is held where its call is taken back, or has ended, while the replica makes its own."""

    def step():
        reached, free, errors = threading.Event(), threading.Event(), []

        def hold(frame, event, argument):
            if frame.f_code.co_name == "withdraw":
                reached.set()
                free.wait(10)

        def elsewhere():
            sys.settrace(hold)
            try:
                ctx().all_reduce("SUM", 7.0)
            except ContextError as error:
                errors.append(error)
            finally:
                sys.settrace(None)
                reached.set()

        other = threading.Thread(target=contextvars.copy_context().run, args=(elsewhere,))
        other.start()
        reached.wait(10)
        try:
            return reduced()
        finally:
            free.set()
            other.join(10)
            assert len(errors) == 1

    count = strategy.num_replicas_in_sync
    results = strategy.experimental_local_results(strategy.run(step))
    assert [float(one) for one in results] == [count] * count


@pytest.mark.parametrize("who", ["all", "the first", "the last"])
def test_a_replica_returns_after_a_call_of_another_thread_was_refused(strategy, who):
    last = strategy.num_replicas_in_sync - 1

    def step():
        if who == "all" or rank() == (0 if who == "the first" else last):
            for _ in range(2):
                with pytest.raises(ContextError):
                    in_another_thread(reduced)
        return rank()

    assert [*strategy.experimental_local_results(strategy.run(step))] == [*range(last + 1)]


@pytest.mark.filterwarnings("ignore:coroutine 'test_a:RuntimeWarning")
@pytest.mark.parametrize("who", ["all", "the first", "the last"])
def test_a_collective_inside_an_event_loop_is_refused_and_its_line_named(strategy, who):
    last = strategy.num_replicas_in_sync - 1

    async def coroutine():
        return reduced()

    def step():
        if who != "all" and rank() != (0 if who == "the first" else last):
            return reduced()
        one = coroutine()
        try:
            return asyncio.run(one)
        finally:
            one.close()  # where another replica's loop kept it from beginning

    with pytest.raises(ContextError, match=r"inside an event loop .* at test_own_thread.py:\d+\. .* Call it outside"):
        strategy.run(step)
    assert right(strategy)


def test_a_collective_inside_an_event_loop_cannot_be_swallowed(strategy):
    def step():
        one = reduced_in_a_loop()
        with contextlib.suppress(Exception):
            asyncio.run(one)
        one.close()  # where another replica's loop kept it from beginning

    with pytest.raises(ContextError, match="inside an event loop"):
        strategy.run(step)
    assert right(strategy)


async def reduced_in_a_loop():
    return reduced()


def test_workers_are_notified_of_a_collective_inside_an_event_loop():
    def main(strategy):
        def step():
            if rank() == 1:
                return reduced()
            with contextlib.suppress(Exception):
                return asyncio.run(reduced_in_a_loop())

        return strategy.run(step)

    first, second = sim.Cluster(2, 1).outcomes(main)
    assert isinstance(first.error, ContextError)
    assert isinstance(second.error, PeerFailed)
    assert "inside an event loop" in str(second.error)


def test_an_event_loop_between_collectives_is_free(strategy):
    async def coroutine():
        await asyncio.to_thread(int)
        return 1.0

    count = strategy.num_replicas_in_sync
    results = strategy.experimental_local_results(
        strategy.run(lambda: ctx().all_reduce("SUM", asyncio.run(coroutine())))
    )
    assert [float(one) for one in results] == [count] * count


def test_runs_inside_a_loop_of_the_program_are_free(strategy):
    async def program():
        return right(strategy)

    if strategy.num_replicas_in_sync > 1:
        assert asyncio.run(program())


@pytest.mark.filterwarnings("ignore:coroutine:RuntimeWarning")
@pytest.mark.parametrize("executor", ["greenlet", "thread"])
@pytest.mark.parametrize("schedule", [None, Seeded(1)])
def test_an_event_loop_is_refused_when_every_replica_has_begun(mirrored, executor, schedule):
    strategy = mirrored(3, executor=executor, **({} if schedule is None else {"schedule": schedule}))
    began = []

    async def coroutine():
        return reduced()

    def step():
        began.append(rank())
        return asyncio.run(coroutine()) if rank() == 0 else reduced()

    for _ in range(2):
        began.clear()
        with pytest.raises(ContextError, match=r"event loop that it runs itself \(asyncio\) at .*test_own_thread.py"):
            strategy.run(step)
        assert sorted(began) == [0, 1, 2]
    assert [float(one) for one in strategy.experimental_local_results(strategy.run(reduced))] == [3] * 3
