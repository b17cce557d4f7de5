"""Runs with the reference's result at one point: which point has the effect, and what was never combined.

Clauses: J-21, J-32
"""

from typing import Any

import numpy as np
import pytest
from training import ctx, variable

import simstrategy as ss
from simstrategy.check.causes import PointFacts
from simstrategy.check.causes.carried import carried
from simstrategy.check.causes.restoring import given_at, is_restorable
from simstrategy.check.causes.running import explain_difference, explain_recordings, record

ROWS = np.random.default_rng(7).normal(size=(12, 3)).astype(np.float32)


def steps(strategy: Any, step: Any) -> Any:
    """Runs a step of weights and rows twice; the weights are given to each run."""
    weights = strategy.xp.ones(3)
    for rows in strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices(ROWS).batch(6)):
        weights = strategy.unwrap(strategy.run(step, args=(weights, rows)))[0]
    return weights


def with_a_decoy(strategy: Any) -> Any:
    """The mean of ranks depends on the replicas and has no effect; the divisor is a mean, and has one."""
    w = variable(strategy, "w", ss.VariableAggregation.SUM)

    def step(rows: Any) -> None:
        ctx().all_reduce("MEAN", 1.0 + ctx().replica_id_in_sync_group)
        weight = ctx().all_reduce("MEAN", strategy.xp.sum(rows * rows))
        w.assign_sub(strategy.xp.sum(rows, axis=0) / weight)

    for rows in strategy.experimental_distribute_dataset([ROWS]):
        strategy.run(step, args=(rows,))
    return w.numpy()


def line(program: Any, text: str) -> str:
    code = program.__code__
    with open(code.co_filename, encoding="utf-8") as file:
        lines = file.read().splitlines()
    number = next(n for n in range(code.co_firstlineno, len(lines)) if text in lines[n])
    return f"test_experiments.py:{number + 1}"


@pytest.mark.parametrize("replicas", [2, 3])
def test_the_point_whose_result_makes_the_kept_value_agree_is_the_origin(replicas: int) -> None:
    cause = explain_difference(with_a_decoy, (1, replicas))
    assert cause.site == line(with_a_decoy, "weight = "), cause.text
    assert (cause.kind, cause.variable) == ("divided by the number of replicas once too often", "w")


def test_recordings_alone_do_not_show_which_of_two_points_it_is() -> None:
    runs = [record(with_a_decoy, count) for count in (1, 3)]
    cause = explain_recordings(runs[0], runs[1], counts=(1, 3))
    assert cause.kind != "divided by the number of replicas once too often"


def test_results_that_nothing_combines_are_found_by_replica_0s() -> None:
    """The quotient of two results that are both left unreduced is no multiple of either."""

    def program(strategy: Any) -> Any:
        def step(weights: Any, rows: Any) -> Any:
            near = strategy.xp.exp(-((rows - weights) ** 2))
            return strategy.xp.sum(near * rows, axis=0), strategy.xp.sum(near, axis=0)

        weights = strategy.xp.ones(3)
        for rows in strategy.experimental_distribute_dataset([ROWS] * 2):
            total, count = strategy.run(step, args=(weights, rows))
            weights = strategy.unwrap(total)[0] / strategy.unwrap(count)[0]
        return weights

    cause = explain_difference(program, (1, 2))
    assert {cause.kind, *cause.also} == {"missing reduction", "written by one replica only"}, cause.text
    assert (cause.step, "their sum gives the reference's result" in cause.text) == (1, True)


def test_a_mean_of_results_is_combined() -> None:
    def program(strategy: Any) -> Any:
        def step(rows: Any) -> Any:
            return strategy.xp.mean(rows * rows)

        found = strategy.run(step, args=tuple(strategy.experimental_distribute_dataset([ROWS[:7]])))
        return strategy.reduce("MEAN", found)

    assert explain_difference(program, (1, 2)).kind == "mean of means"


@pytest.mark.parametrize(("power", "kind"), [(1.0, "scaled by the number"), (0.5, "scaled by the square root")])
def test_state_that_runs_receive_is_kept_by_the_step_before(power: float, kind: str) -> None:
    def program(strategy: Any) -> Any:
        def step(weights: Any, rows: Any) -> Any:
            total = ctx().all_reduce("SUM", strategy.xp.sum(rows, axis=0))
            return weights - 0.1 * strategy.num_replicas_in_sync**power * total * weights

        return {"norm": strategy.xp.sum(steps(strategy, step) ** 2)}

    cause = explain_difference(program, (1, 3))
    assert cause.step == 1, cause.text
    assert cause.kind is None or cause.kind.startswith(kind)


def test_only_arrays_that_a_step_has_changed_are_state() -> None:
    """The rate stays as it is, and the rows are not the same on all replicas."""

    def program(strategy: Any) -> Any:
        rate = strategy.xp.full((2,), 0.5, dtype="float32")

        def step(weights: Any, rows: Any) -> Any:
            return weights + ctx().all_reduce("SUM", strategy.xp.sum(rows, axis=0) * rate[0])

        weights = strategy.xp.ones(3)
        for rows in (ROWS[:6], ROWS[6:]):
            (part,) = strategy.experimental_distribute_dataset([rows])
            weights = strategy.unwrap(strategy.run(lambda rate, w, x: step(w, x), args=(rate, weights, part)))[0]
        return weights

    (state,) = carried(record(program, 2))
    assert (state.step, state.kept, [leaf.tolist() for leaf in state.before]) == (1, True, [[1.0, 1.0, 1.0]])
    np.testing.assert_allclose(state.outputs[0], 1 + 0.5 * ROWS[:6].sum(axis=0), rtol=1e-5)


def test_a_run_receives_other_results_at_one_point() -> None:
    def program(strategy: Any) -> Any:
        def step(rows: Any) -> Any:
            sums = {"a": strategy.xp.sum(rows), "b": strategy.xp.sum(rows, axis=0)}
            return ctx().all_reduce("SUM", sums)["b"], ctx().all_reduce("MEAN", strategy.xp.sum(rows))

        found = strategy.run(step, args=tuple(strategy.experimental_distribute_dataset([ROWS])))
        return [strategy.unwrap(one)[0] for one in found]

    before = record(program, 2)
    first = next(one for one in before.points if one.kind == "all_reduce")
    new = np.float32([1, 2, 3])
    again = record(program, 2, given=given_at(before, first.number, (None, new)))
    leaves = dict(again.results[0].leaves)
    assert leaves["result[0]"].array.tolist() == [1, 2, 3]
    assert leaves["result[1]"].array == dict(before.results[0].leaves)["result[1]"].array
    run = next(one for one in before.points if one.kind == "run")
    again = record(program, 2, given=given_at(before, run.number, (new, None)))
    assert dict(again.results[0].leaves)["result[0]"].array.tolist() == [1, 2, 3]
    # Results of other shapes are not given.
    same = record(program, 2, given=given_at(before, first.number, (None, new[:2])))
    assert dict(same.results[0].leaves)["result[0]"].array.tolist() != [1, 2]


def test_writes_and_reductions_outside_replica_functions_receive_none() -> None:
    points = [
        PointFacts(1, "a.py:1", what, None, None, (), (), number=1) for what in ("all_reduce", "assign", "reduce")
    ]
    assert [is_restorable(one) for one in points] == [True, False, False]
