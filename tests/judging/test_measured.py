"""How far results are apart, as it is measured without the judge."""

import math

import numpy as np
import pytest
from measured import PER_REPLICA, Run, distance, distances, first_step, meaning, moved, run_once

import simstrategy as ss

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("one", "two", "far"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.0, 4.0], [1.5, 4.0], 0.125),
        ([0.0], [0.0], 0.0),
        ([0.0], [1e-9], 1.0),
        ([1.0], [1.0, 1.0], INF),
        ([NAN, 1.0], [NAN, 1.0], 0.0),
        ([NAN, 1.0], [2.0, 1.0], INF),
        ([INF, 1.0], [INF, 2.0], 0.5),
        ([INF, 1.0], [-INF, 1.0], INF),
        ([3, 4], [3, 8], 0.5),
        ([True], [False], 1.0),
        ("text", "text", 0.0),
        ("text", "other", INF),
        ([], [], 0.0),
    ],
)
def test_two_leaves_are_apart_by_their_largest_difference(one, two, far):
    assert distance(np.asarray(one), np.asarray(two)) == far
    assert distance(np.asarray(two), np.asarray(one)) == far


def test_a_leaf_that_only_one_run_has_is_infinitely_far_unless_it_is_per_replica():
    one = Run({"a": np.float32(1), "b": PER_REPLICA}, {})
    two = Run({"a": np.float32(1), "b[0]": np.float32(1), "b[1]": np.float32(2), "c": np.float32(1)}, {})
    assert distances(one, two) == {"a": 0.0, "c": INF}
    assert moved({1: one, 2: one, 4: two}) == {2: 0.0, 4: INF}


def test_a_variable_means_its_aggregate_and_no_component(mirrored):
    strategy = mirrored(2)
    read, aggregations = ss.VariableSynchronization.ON_READ, ss.VariableAggregation
    with strategy.scope():
        total, mean, first = (
            ss.Variable(0.0, synchronization=read, aggregation=one)
            for one in (aggregations.SUM, aggregations.MEAN, aggregations.ONLY_FIRST_REPLICA)
        )
        plain = ss.Variable(5.0)

    def write():
        rank = ss.get_replica_context().replica_id_in_sync_group
        for one in (total, mean, first):
            one.assign(2.0 + 4.0 * rank)

    strategy.run(write)
    assert [float(meaning(one)) for one in (total, mean, first, plain)] == [8.0, 4.0, 2.0, 5.0]


def test_what_all_replicas_have_in_common_is_noted_after_each_run():
    def program(strategy):
        with strategy.scope():
            weight = ss.Variable(1.0, aggregation=ss.VariableAggregation.SUM, name="weight")

        def step(scale):
            ctx = ss.get_replica_context()
            weight.assign_add(ctx.xp.ones(()) * scale)
            return ctx.replica_id_in_sync_group * 1.0, ctx.all_reduce("MEAN", 3.0)

        for scale in (0.0, 1.0):
            _own, shared = strategy.run(step, args=(scale,))
        return strategy.reduce("SUM", shared)

    runs = {count: run_once(program, count) for count in (1, 3)}
    assert {(step, name) for step, name in runs[3].observed if step == 1} == {
        (1, "weight 0"),
        (1, "run[1] 0"),
        (1, "reduce 0"),
    }
    assert first_step(runs, 1e-3) == (1, {"weight", "reduce"})


def test_an_error_is_kept_with_what_was_noted_before():
    found = run_once(lambda strategy: strategy.run(lambda: 1 / 0), 2)
    assert isinstance(found.error, ZeroDivisionError)
    assert found.leaves == {}
    assert ss.Strategy.run.__module__.startswith("simstrategy")
