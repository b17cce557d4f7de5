"""What a strategy does in several threads, and what a replica cannot catch or leave undone."""

import functools
import threading
import warnings

import numpy as np
import pytest
from threads import at_once
from vocabulary import SUM, ctx, rank

import simstrategy as ss
from simstrategy.errors import InvalidType, ReplicasDisagree, ReplicaWaits
from simstrategy.sim import Cluster


# Clauses: M-13
@pytest.mark.slow
def test_runs_of_several_threads_lose_no_update(mirrored, executor):
    strategy = mirrored(2, executor=executor)
    with strategy.scope():
        variable = ss.Variable(0.0, aggregation=SUM)

    def use(_):
        for _ in range(40):
            strategy.run(lambda: variable.assign_add(ctx().xp.ones(())))

    at_once(use, range(3))
    assert [float(one) for one in variable.components] == [240, 240]


@pytest.mark.slow
@pytest.mark.parametrize("scoped", [True, False])
def test_writes_of_several_threads_outside_of_replicas_lose_no_update(mirrored, scoped):
    strategy = mirrored(2)
    if scoped:
        with strategy.scope():
            variable = ss.Variable(0.0, aggregation=SUM)
    else:
        variable = ss.Variable(0.0)

    def use(_):
        for _ in range(100):
            variable.assign_add(1.0)

    at_once(use, range(3))
    assert [float(one) for one in variable.components] == [300] * len(variable.components)


def test_a_run_that_waits_for_another_thread_for_long_is_reported(mirrored):
    strategy = mirrored(2, wait_limit_s=0.05)
    inside, reported = threading.Event(), threading.Event()

    def slow():
        inside.set()
        reported.wait(10)

    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        first = threading.Thread(target=strategy.run, args=(slow,))
        second = threading.Thread(target=strategy.run, args=(lambda: None,), name="second")
        first.start()
        inside.wait(10)
        second.start()
        while not any("in thread 'second' has waited" in str(one.message) for one in given) and second.is_alive():
            second.join(0.01)
        reported.set()
        first.join()
        second.join()
    assert any(isinstance(one.message, ReplicaWaits) and "'second'" in str(one.message) for one in given)


# Clauses: M-10
@pytest.mark.parametrize("replicas", [1, 2])
def test_a_disagreement_cannot_be_caught_and_replaced_in_any_number_of_replicas(replicas):
    def main(strategy):
        worker = strategy.experimental_local_results(strategy.run(rank))[0] // replicas

        def step():
            try:
                return ctx().all_reduce("SUM", 1.0) if worker else ctx().all_reduce("MEAN", 1.0)
            except Exception:  # noqa: BLE001 - as a program may do
                return ctx().xp.asarray(7.0)

        return strategy.run(step)

    for outcome in Cluster(2, replicas).outcomes(main):
        assert isinstance(outcome.error, ReplicasDisagree)


def generator():
    yield ctx().all_reduce("SUM", 1.0)


async def coroutine():
    return ctx().all_reduce("SUM", 1.0)


async def asynchronous_generator():
    yield ctx().all_reduce("SUM", 1.0)


class Callable:
    def __call__(self):
        yield 1


@functools.wraps(generator)
def wrapped():
    return generator()


LAZY = [
    generator,
    coroutine,
    asynchronous_generator,
    Callable(),
    functools.partial(coroutine),
    wrapped,
    lambda: coroutine(),  # noqa: PLW0108 - a plain function that returns one
]


# Clauses: M-14
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("function", LAZY, ids=lambda one: getattr(one, "__name__", type(one).__name__))
def test_a_replica_function_whose_body_has_not_run_is_refused(mirrored, function, replicas):
    with pytest.raises(InvalidType, match="its body has not run"):
        mirrored(replicas).run(function)


def test_a_merge_function_whose_body_has_not_run_is_refused(mirrored):
    def merge(strategy):
        yield strategy

    with pytest.raises(InvalidType, match="merge_call takes a function that runs to its end"):
        mirrored(2).run(lambda: ctx().merge_call(merge))


def test_a_generator_inside_a_result_is_a_value_like_any_other(mirrored):
    results = mirrored(2).run(lambda: {"lazy": (number for number in range(3))})
    assert [list(one) for one in results["lazy"].values] == [[0, 1, 2]] * 2


# Clauses: E-3
def test_context_variables_are_each_replicas_own_on_both_executors_and_thread_locals_in_threads(mirrored, executor):
    local = threading.local()

    def step():
        local.count = getattr(local, "count", 0) + 1
        return np.float32(local.count)

    counts = [float(one) for one in mirrored(2, executor=executor).run(step).values]
    assert counts == ([1, 1] if executor == "thread" else [1, 2])
