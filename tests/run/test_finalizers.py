"""What a replica drops is gone at that step, whether replicas share a process or not.  Clauses: M-18."""

import contextlib
import gc
import os
import weakref

import numpy as np
import pytest
from shares import one_in
from vocabulary import ctx

import simstrategy as ss
from simstrategy.run.threads import TaskThread, hubs
from simstrategy.schedules import Seeded
from simstrategy.sim import Cluster

EXPECTED = [
    *("local", "after a local"),
    *("given to merge_call", "after merge_call"),
    *("given to all_reduce", "after all_reduce"),
    *("given to all_gather", "after all_gather"),
    *("through merge_call", "after a value that went through"),
    *("result of all_reduce", "after a result"),
    "held until the return",
]


class Held:
    """An object whose end is observed."""


@pytest.fixture(autouse=True)
def no_collections():
    """Without automatic ones, whose step is chance."""
    gc.disable()
    yield
    gc.enable()


def observed(log):
    """Returns a function that makes an object append a text to a log when it ends, and where it ended."""

    def observe(thing, name):
        here = ctx()
        weakref.finalize(thing, lambda: log.append(name if in_replica(here) else f"{name}, elsewhere")).atexit = False
        return thing

    return observe


def in_replica(context):
    return not ss.in_cross_replica_context() and ctx() is context


def program(strategy):
    """Returns for each replica the order of what it did, and of the ends of what it dropped."""
    logs = {}

    def step():
        log = logs.setdefault(ctx().replica_id_in_sync_group, [])
        observe = observed(log)
        held = observe(Held(), "local")
        del held
        log.append("after a local")
        held = observe(Held(), "given to merge_call")
        ctx().merge_call(lambda _, given: None, args=(held,))
        del held
        log.append("after merge_call")
        array = observe(np.ones(3, np.float32), "given to all_reduce")
        result = ctx().all_reduce("SUM", array)
        del array
        log.append("after all_reduce")
        array = observe(np.ones((1, 2), np.float32), "given to all_gather")
        ctx().all_gather(array, axis=0)
        del array
        log.append("after all_gather")
        held = observe(Held(), "through merge_call")
        held = ctx().merge_call(lambda _, given: given, args=(held,))
        del held
        log.append("after a value that went through")
        observe(result, "result of all_reduce")
        del result
        log.append("after a result")
        held = observe(Held(), "held until the return")
        assert held is not None

    strategy.run(step)
    return logs


def in_one_process(**settings):
    return program(ss.Strategy.mirrored("sim", replicas=2, **settings))


def in_cluster(**settings):
    return {rank: log for logs in Cluster(2, 1, **settings).run(program) for rank, log in logs.items()}


CARRIERS = {
    "greenlets": in_one_process,
    "threads": lambda: in_one_process(executor="thread"),
    "another order": lambda: in_one_process(schedule=Seeded(0)),
    "isolated": lambda: in_one_process(isolate=True),
    "a cluster": in_cluster,
    "a cluster of pairs": lambda: {
        rank: log for logs in Cluster(2, 2).run(program) for rank, log in logs.items() if rank < 2
    },
    "one replica": lambda: {rank: program(ss.Strategy.mirrored("sim", replicas=1))[0] for rank in range(2)},
}


@pytest.mark.parametrize("carrier", CARRIERS)
def test_what_a_replica_drops_ends_at_that_step_in_that_replica(carrier):
    assert CARRIERS[carrier]() == {0: EXPECTED, 1: EXPECTED}


def left_after(strategy, step):
    """Returns what lives on when a run of this step has ended, and its error is forgotten."""
    made = {}

    def keep(thing, name):
        made[name] = weakref.ref(thing)
        return thing

    def run():
        function = keep(lambda: step(keep), "the function")
        with contextlib.suppress(KeyError, ss.errors.ReplicasDisagree):
            strategy.run(function)

    run()
    return [name for name, reference in made.items() if reference() is not None]


def ends_well(keep):
    held = keep(Held(), f"object {ctx().replica_id_in_sync_group}")
    ctx().all_reduce("SUM", 1.0)
    ctx().merge_call(keep(lambda _, given: None, f"merge {ctx().replica_id_in_sync_group}"), args=(held,))


def returns_it(keep):
    return keep(Held(), f"object {ctx().replica_id_in_sync_group}")


def one_raises(keep):
    held = keep(Held(), f"object {ctx().replica_id_in_sync_group}")
    ctx().all_reduce("SUM", 1.0)
    if ctx().replica_id_in_sync_group == 1:
        raise KeyError("stop", held)
    ctx().all_reduce("SUM", 1.0)


def they_disagree(keep):
    held = keep(Held(), f"object {ctx().replica_id_in_sync_group}")
    ctx().all_reduce("MEAN" if ctx().replica_id_in_sync_group else "SUM", 1.0)
    return held


@pytest.mark.parametrize("step", [ends_well, returns_it, one_raises, they_disagree])
@pytest.mark.parametrize("seed", [None, 0])
def test_nothing_that_replicas_made_outlives_their_run(mirrored, executor, seed, step):
    strategy = mirrored(2, executor=executor, schedule=None if seed is None else Seeded(seed))
    assert left_after(strategy, step) == []


def test_nothing_that_workers_made_outlives_their_runs():
    assert Cluster(2, 1).run(lambda strategy: [left_after(strategy, step) for step in (ends_well, returns_it)]) == (
        [[], []],
        [[], []],
    )


def test_a_collection_ends_the_cycles_of_all_replicas_of_the_process(mirrored, executor):
    """In processes of their own each would end later: what depends on the collector is not the same everywhere."""
    ended = []

    def step():
        if ctx().replica_id_in_sync_group == 0:
            held = Held()
            held.itself = held
            weakref.finalize(held, lambda: ended.append(ctx().replica_id_in_sync_group)).atexit = False
            del held
        else:
            gc.collect()
        ctx().all_reduce("SUM", 1.0)

    mirrored(2, executor=executor).run(step)
    assert ended == [1]


def test_a_collective_of_another_replica_is_refused_in_a_finalizer(mirrored, executor):
    """Where the last reference is dropped by another replica, the finalizer runs there."""
    shared, raised = [], []

    def step():
        context = ctx()
        if context.replica_id_in_sync_group == 0:

            def ends():
                try:
                    context.all_reduce("SUM", 100.0)
                except ss.errors.ContextError as error:
                    raised.append(str(error))

            shared.append(Held())
            weakref.finalize(shared[0], ends).atexit = False
        else:
            shared.clear()
        return context.all_reduce("SUM", 1.0)

    assert [float(one) for one in mirrored(2, executor=executor).run(step).values] == [2.0, 2.0]
    assert len(raised) == 1
    assert "on the context of replica 0 inside replica 1" in raised[0]


@pytest.mark.parametrize("young", one_in(3, range(8, 28, 4)))
def test_a_destructor_may_begin_and_end_threads_while_all_are_listed(young):
    class Begins:
        def __init__(self):
            self.itself = self

        def __del__(self):
            other = TaskThread()
            while not other.ident:
                os.sched_yield()
            other.begin()
            kept.append(other)

    kept = [TaskThread() for _ in range(20)]
    for one in kept:
        one.begin()
    pairs = [(one, one) for one in range(5000)]  # no more are left for which Python has memory already
    gc.collect()
    Begins()
    before = gc.get_threshold()
    gc.set_threshold(young)
    gc.enable()
    try:
        assert len(hubs()) >= 20
    finally:
        gc.disable()
        gc.set_threshold(*before)
        gc.collect()
        for one in kept:
            one.end()
    assert len(kept) == 21
    assert len(pairs) == 5000
