"""Simulated clusters: each worker's results, errors and early ends, under every schedule."""

import numpy as np
import pytest
from vocabulary import ctx, rank

import simstrategy as ss
from simstrategy.errors import InvalidArgument, PeerFailed, ReplicasDisagree
from simstrategy.schedules import Recorded, Replayed, Seeded
from simstrategy.sim import Cluster
from simstrategy.strategy import group_of


def numbers(value):
    """Makes plain numbers of what a worker returned."""
    if isinstance(value, ss.PerReplica):
        return [np.asarray(one).tolist() for one in value.values]
    return np.asarray(value).tolist()


def test_two_workers_of_two_replicas_count_four_and_know_their_places():
    def main(strategy):
        assert strategy.num_replicas_in_sync == 4
        return strategy.run(lambda: (rank(), ctx().num_replicas_in_sync, ctx().devices))

    first, second = Cluster(2, 2).run(main)
    assert [first[0].values, second[0].values] == [(0, 1), (2, 3)]
    assert first[1] == second[1] == 4
    assert [place for (place,) in [first[2][0].values[:1], second[2][0].values[:1]]] == ["sim:0", "sim:2"]


# Clauses: K-1
def test_results_come_in_worker_order_and_local_results_are_the_workers_own():
    def main(strategy):
        per_replica = strategy.run(lambda: np.float32(rank()))
        return [float(one) for one in strategy.experimental_local_results(per_replica)]

    assert Cluster(3, 2).run(main) == ([0, 1], [2, 3], [4, 5])


# Clauses: U-1
def test_a_variable_starts_with_worker_0s_value_everywhere():
    def main(strategy):
        with strategy.scope():
            variable = ss.Variable(np.float32(10 + group_of(strategy).coordinator.worker))
        return [float(one) for one in variable.components]

    assert Cluster(2, 2).run(main) == ([10, 10], [10, 10])


def test_a_plain_value_is_reduced_once_per_worker():
    results = Cluster(3, 1).run(lambda strategy: float(strategy.reduce("SUM", np.float32(2))))
    assert results == (6.0, 6.0, 6.0)


# Clauses: K-2
@pytest.mark.parametrize("culprit", [0, 1, 2])
def test_a_worker_that_raises_ends_the_others_with_its_line(culprit):
    def main(strategy):
        strategy.run(lambda: ctx().all_reduce("SUM", 1.0))
        if group_of(strategy).coordinator.worker == culprit:
            raise KeyError("mine")
        return strategy.run(lambda: ctx().all_reduce("SUM", 2.0))

    cluster = Cluster(3, 1)
    outcomes = cluster.outcomes(main)
    for worker, outcome in enumerate(outcomes):
        if worker == culprit:
            assert isinstance(outcome.error, KeyError)
        else:
            assert isinstance(outcome.error, PeerFailed)
            assert f"replica {culprit}: KeyError('mine') raised at test_cluster.py:" in str(outcome.error)
            assert f"replica {worker}: all_reduce SUM float32[] at test_cluster.py:" in str(outcome.error)
    with pytest.raises(KeyError, match="mine"):
        cluster.run(main)


# Clauses: K-2
@pytest.mark.parametrize("early", [0, 1])
def test_a_worker_that_leaves_early_is_named_in_everyone_who_still_asks(early):
    def main(strategy):
        strategy.run(lambda: ctx().all_reduce("SUM", 1.0))
        if group_of(strategy).coordinator.worker == early:
            return "left"
        return strategy.run(lambda: ctx().all_reduce("SUM", 2.0))

    outcomes = Cluster(2, 2).outcomes(main)
    assert outcomes[early].result == "left"
    assert outcomes[early].error is None
    assert isinstance(outcomes[1 - early].error, ReplicasDisagree)
    lines = [line.strip() for line in str(outcomes[1 - early].error).splitlines()[1:]]
    assert [line.split(":")[0] for line in lines] == [f"replica {i}" for i in range(4)]
    assert all("the program ended" in lines[2 * early + i] for i in range(2))
    assert all("all_reduce SUM" in lines[2 * (1 - early) + i] for i in range(2))


def test_different_numbers_of_runs_and_variables_and_reduces_are_found():
    def runs(strategy):
        for _ in range(1 + group_of(strategy).coordinator.worker):
            strategy.run(lambda: 0)

    def variables(strategy):
        with strategy.scope():
            ss.Variable(np.zeros(1 + group_of(strategy).coordinator.worker))

    def reduces(strategy):
        strategy.reduce("MEAN" if group_of(strategy).coordinator.worker else "SUM", np.float32(1))

    for main in (runs, variables, reduces):
        errors = [outcome.error for outcome in Cluster(2, 1).outcomes(main)]
        assert any(isinstance(error, ReplicasDisagree) for error in errors), main.__name__
        assert all(error is None or isinstance(error, ReplicasDisagree) for error in errors), main.__name__


def test_an_error_that_all_workers_have_and_catch_is_survived_by_all():
    def main(strategy):
        try:
            op = "MEAN" if group_of(strategy).coordinator.worker else "SUM"
            strategy.run(lambda: ctx().all_reduce(op, 1.0))
        except ReplicasDisagree:
            pass
        return numbers(strategy.run(lambda: ctx().all_reduce("SUM", 1.0)))

    assert Cluster(2, 2).run(main) == ([4, 4], [4, 4])


def busy(strategy):
    with strategy.scope():
        variable = ss.Variable(np.float32(0), aggregation=ss.VariableAggregation.MEAN)

    def replica():
        variable.assign(np.float32(rank()))
        ctx().merge_call(lambda strategy, v: strategy.run(lambda: ctx().all_reduce("SUM", 1.0)), args=(rank(),))
        return ctx().all_reduce("SUM", np.float32(0.1) * np.float32(rank())), variable.value()

    return [numbers(one) for one in strategy.run(replica)]


def test_every_seed_gives_the_results_of_the_order_of_ranks():
    wanted = Cluster(2, 3).run(busy)
    for seed in range(20):
        assert Cluster(2, 3, schedule=Seeded(seed)).run(busy) == wanted


def test_a_seeded_cluster_is_replayed_event_by_event():
    def run(schedule):
        trace = ss.trace.Trace()
        Cluster(2, 2, schedule=schedule, trace=trace).run(busy)
        return trace.digest()

    recorded = Recorded(Seeded(4))
    digest = run(recorded)
    assert run(Seeded(4)) == digest
    assert run(Replayed(recorded.draws)) == digest
    assert len({run(Seeded(seed)) for seed in range(6)}) > 1


def test_the_trace_holds_each_workers_events_with_global_ranks():
    trace = ss.trace.Trace()
    Cluster(2, 2, trace=trace).run(lambda strategy: strategy.run(lambda: ctx().all_reduce("SUM", 1.0)))
    assert [(e.worker, e.replica) for e in trace.events() if e.kind == "all_reduce"] == [(0, 0), (0, 1), (1, 2), (1, 3)]
    assert [e.worker for e in trace.events() if e.kind == "run"] == [0, 1]


def test_mirrored_points_to_multi_worker_on_a_backend_of_several_processes(worker_backend):
    with pytest.raises(InvalidArgument, match=r"spans 2 processes, .*Use Strategy.multi_worker"):
        ss.Strategy.mirrored(worker_backend(0))


@pytest.mark.parametrize("wrong", [0, -1, 1.0, True, "2", None])
def test_a_cluster_takes_whole_positive_numbers(wrong):
    with pytest.raises(InvalidArgument, match="takes workers of at least 1"):
        Cluster(wrong, 1)
    with pytest.raises(InvalidArgument, match="takes replicas_per_worker of at least 1"):
        Cluster(1, wrong)


def test_an_interrupt_ends_the_whole_simulation():
    def main(strategy):
        if group_of(strategy).coordinator.worker:
            raise KeyboardInterrupt
        strategy.run(lambda: ctx().all_reduce("SUM", 1.0))

    with pytest.raises(KeyboardInterrupt):
        Cluster(3, 1).run(main)


def test_settings_reach_every_workers_strategy():
    seen = []

    def wrap(backend):
        seen.append(backend.devices[0].placement)
        return backend

    def main(strategy):
        return group_of(strategy).semantics, group_of(strategy).coordinator.checks

    results = Cluster(2, 1, semantics=ss.Semantics.TF2, checks="strict", wrap=wrap).run(main)
    assert results == ((ss.Semantics.TF2, "strict"),) * 2
    assert len(seen) == 2


def test_sixty_four_workers_meet():
    def main(strategy):
        return float(strategy.reduce("SUM", strategy.run(lambda: np.float32(rank()))))

    assert set(Cluster(64, 2).run(main)) == {float(sum(range(128)))}


@pytest.mark.parametrize(("aggregation", "wanted"), [("SUM", 2 * 5 + 2 * 7), ("MEAN", 6)])
def test_one_object_shared_by_a_workers_replicas_counts_once_for_each(aggregation, wanted):
    def main(strategy):
        with strategy.scope():
            variable = ss.Variable(np.float32(0), aggregation=ss.VariableAggregation[aggregation])
        shared = [5.0, 7.0][group_of(strategy).coordinator.worker]
        strategy.run(variable.assign_add, args=(shared,))
        return [float(one) for one in variable.components]

    assert Cluster(2, 2).run(main) == ([wanted] * 2,) * 2


def test_workers_take_the_same_turn_where_only_one_of_them_shares_an_object():
    def main(strategy):
        with strategy.scope():
            variable = ss.Variable(np.float32(0), aggregation=ss.VariableAggregation.MEAN)
        shared = np.float32(4)
        worker = group_of(strategy).coordinator.worker
        strategy.run(lambda: variable.assign_add(np.float32(rank()) if worker else shared))
        return [float(one) for one in variable.components]

    assert Cluster(2, 2).run(main) == ([(4 + 4 + 2 + 3) / 4] * 2,) * 2


def test_a_worker_that_has_left_is_named_every_time_another_asks():
    def main(strategy):
        if group_of(strategy).coordinator.worker:
            return "left"
        lines = []
        for _ in range(3):
            with pytest.raises(ReplicasDisagree) as raised:
                strategy.run(lambda: ctx().all_reduce("SUM", 1.0))
            lines.append(str(raised.value).splitlines()[2].strip())
        return lines

    lines, left = Cluster(2, 1).run(main)
    assert left == "left"
    assert lines == ["replica 1: the program ended"] * 3
