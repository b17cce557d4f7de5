"""The collector's threshold while very many tasks run: raised, restored, and the program's own choice kept."""

import gc

import pytest

import simstrategy as ss
from simstrategy.run.collector import MANY, collector


@pytest.fixture(autouse=True)
def as_before():
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def threshold():
    return gc.get_threshold()[0]


def test_the_threshold_of_young_objects_grows_with_the_runs_tasks_and_ends_with_the_run():
    gc.set_threshold(700, 11, 12)
    with collector().patient(MANY):
        assert gc.get_threshold() == (16 * MANY, 11, 12)
        with collector().patient(2 * MANY):
            assert threshold() == 32 * MANY
        assert threshold() == 16 * MANY
    assert gc.get_threshold() == (700, 11, 12)


def test_a_run_of_many_replicas_with_one_collective_is_not_collected_before_it_ends():
    gc.set_threshold(700, 10, 10)
    strategy, going, collected = ss.Strategy.mirrored("sim", replicas=MANY), [], []

    def replica():
        context = ss.get_replica_context()
        going.append(True)
        total = context.all_reduce(ss.ReduceOp.SUM, context.xp.ones(()))
        going.pop()
        return total

    strategy.run(replica)
    gc.collect()
    gc.callbacks.append(lambda phase, info: collected.append(phase) if going else None)
    try:
        strategy.run(replica)
    finally:
        gc.callbacks.pop()
    assert not collected


def test_it_is_restored_when_the_last_of_several_runs_ends_in_any_order():
    gc.set_threshold(700, 10, 10)
    first, second = collector().patient(2 * MANY), collector().patient(MANY)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert threshold() == 16 * MANY
    second.__exit__(None, None, None)
    assert threshold() == 700


def test_what_the_program_sets_meanwhile_stays():
    gc.set_threshold(700, 10, 10)
    with collector().patient(MANY):
        gc.set_threshold(500, 5, 5)
        with collector().patient(2 * MANY):
            assert gc.get_threshold() == (500, 5, 5)
    assert gc.get_threshold() == (500, 5, 5)
    with collector().patient(MANY):
        assert gc.get_threshold() == (16 * MANY, 5, 5)


@pytest.mark.parametrize("young", [0, 10**6])
def test_a_collector_that_is_off_or_rarer_stays_as_it_is(young):
    gc.set_threshold(young, 10, 10)
    with collector().patient(MANY):
        assert threshold() == young


@pytest.mark.parametrize(("replicas", "raised"), [(MANY - 1, False), (MANY, True)])
def test_only_runs_of_many_replicas_raise_it_also_where_they_fail(replicas, raised):
    gc.set_threshold(700, 10, 10)
    found = []

    def replica():
        rank = ss.get_replica_context().replica_id_in_sync_group
        found.append(threshold())
        if rank == 1:
            raise KeyError("one")

    with pytest.raises(KeyError):
        ss.Strategy.mirrored("sim", replicas=replicas).run(replica)
    assert [one > 700 for one in found] == [raised] * 2
    assert threshold() == 700
