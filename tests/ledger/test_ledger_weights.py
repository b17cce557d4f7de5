"""Exact weights of steps that are right, and of steps that are wrong in one way each (L-1, L-2)."""

from fractions import Fraction

import ledger_steps as steps
import numpy as np
import pytest
from ledger_steps import distributed

import simstrategy as ss
from simstrategy.ledger import probing


def ones(count=10):
    return (Fraction(1),) * count


def spread(*groups):
    """Returns weights from pairs of a number of samples and their weight."""
    return tuple(Fraction(weight) for count, weight in groups for _ in range(count))


RIGHT = {
    "right": distributed(steps.right),
    "class weights": distributed(steps.class_weights),
    "variable": steps.in_a_variable,
    "sliced by rank": steps.sliced(),
    "accumulation by samples": steps.accumulated("samples"),
    "losses": steps.on_losses,
}

# Name: step, weights with 2, 3 and 4 replicas, and a part of what is reported for 3.
WRONG = {
    "mean of means": (
        distributed(steps.mean_of_means),
        [ones(), spread((8, Fraction(5, 6)), (2, Fraction(5, 3))), spread((9, Fraction(5, 6)), (1, Fraction(5, 2)))],
        "A mean of means",
    ),
    "sum of means": (
        distributed(steps.sum_of_means),
        [spread((10, 2)), spread((8, Fraction(5, 2)), (2, 5)), spread((9, Fraction(10, 3)), (1, 10))],
        "A sum of means",
    ),
    "factor of the replicas": (
        distributed(steps.times_replicas),
        [spread((10, 2)), spread((10, 3)), spread((10, 4))],
        "Every sample counts 3 times: a sum over the replicas where a mean is meant",
    ),
    "divided twice": (
        distributed(steps.divided_twice),
        [spread((10, Fraction(1, 2))), spread((10, Fraction(1, 3))), spread((10, Fraction(1, 4)))],
        "Every sample counts 1/3 times: the result is divided by the number of replicas once too often",
    ),
    "reduced twice": (
        distributed(steps.reduced_twice),
        [spread((10, 2)), spread((10, 3)), spread((10, 4))],
        "Every sample counts 3 times",
    ),
    "lost sample": (
        distributed(steps.lost_sample),
        [spread((9, 1), (1, 0))] * 3,
        "Sample 9 is lost: weight 0.",
    ),
    "dropped part": (
        distributed(steps.dropped_part),
        [spread((5, 1), (5, 0)), spread((4, 1), (4, 0), (2, 1)), spread((3, 1), (3, 0), (4, 1))],
        "Samples 4–7 are lost: weight 0. Replica 1 contributes no sample.",
    ),
    "overlap of slices": (
        steps.sliced(overlap=1),
        [
            spread((5, 1), (1, 2), (4, 1)),
            spread((4, 1), (1, 2), (3, 1), (1, 2), (1, 1)),
            spread((3, 1), (1, 2), (2, 1), (1, 2), (2, 1), (1, 2)),
        ],
        "Samples 4, 8 count 2 times as much as the others: more than one replica has them (sample 4: replicas 0 and",
    ),
    "remainder dropped": (
        steps.sliced(drop=True),
        [ones(), spread((9, 1), (1, 0)), spread((8, 1), (2, 0))],
        "Sample 9 is lost: weight 0.",
    ),
    "filled up from the front": (
        steps.sliced(pad=True),
        [ones(), spread((2, 2), (8, 1)), spread((2, 2), (8, 1))],
        "Samples 0, 1 count 2 times as much as the others",
    ),
    "mean over a filled-up sample": (
        steps.sampled,
        [ones(), spread((2, Fraction(5, 3)), (8, Fraction(5, 6))), spread((2, Fraction(5, 3)), (8, Fraction(5, 6)))],
        "Every other sample counts 5/6 times, so that the total is that of one replica.",
    ),
    "windows of parts": (
        distributed(steps.windows_of_parts),
        [
            spread((4, Fraction(5, 6)), (1, Fraction(5, 3)), (4, Fraction(5, 6)), (1, Fraction(5, 3))),
            spread((8, Fraction(5, 6)), (2, Fraction(5, 3))),
            spread(
                (2, Fraction(5, 8)),
                (1, Fraction(5, 4)),
                (2, Fraction(5, 8)),
                (1, Fraction(5, 4)),
                (2, Fraction(5, 8)),
                (1, Fraction(5, 4)),
                (1, Fraction(5, 2)),
            ),
        ],
        "A mean of means",
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_every_sample_of_a_right_step_weighs_one(name):
    found = ss.ledger(RIGHT[name], steps.batch())
    assert [found.weights(count) for count in (2, 3, 4)] == [ones()] * 3
    assert found.right
    assert found.problems == ()


@pytest.mark.parametrize("name", WRONG)
def test_weights_of_a_wrong_step_are_exact(name):
    step, weights, problem = WRONG[name]
    found = ss.ledger(step, steps.batch())
    assert [found.weights(count) for count in (2, 3, 4)] == weights
    assert not found.right
    assert [entry.replicas for entry in found.entries if entry.problems] == [
        count for count, one in zip((2, 3, 4), weights, strict=True) if one != ones()
    ]
    assert any(problem in one for one in found.entry(3).problems), found


def test_a_missing_reduction_shows_as_weights_that_differ_per_replica():
    found = ss.ledger(distributed(steps.without_reduction), steps.batch(), replicas=[2, 3])
    assert found.entry(2).per_replica == (spread((5, 1), (5, 0)), spread((5, 0), (5, 1)))
    assert found.entry(3).per_replica == (
        spread((4, 1), (6, 0)),
        spread((4, 0), (4, 1), (2, 0)),
        spread((8, 0), (2, 1)),
    )
    assert "a reduction is missing (replica 0 counts 0–4; replica 1 counts 5–9)" in found.entry(2).problems[0]
    assert not found.right


def test_a_masked_sample_has_no_weight_and_is_no_problem():
    x, y = steps.batch()
    found = ss.ledger(distributed(steps.masked), (x, y))
    assert found.right
    assert found.weights(3) == tuple(None if label == 0 else Fraction(1) for label in y)
    assert any("do not all count alike" in remark and "count nothing" in remark for remark in found.remarks)


def test_a_mean_of_masked_means_is_named_although_parts_are_equal():
    x, y = steps.batch()
    y[:] = 1
    y[:3] = 0
    found = ss.ledger(distributed(steps.masked_by_part), (x, y), replicas=[2])
    assert found.weights(2) == (None, None, None, *spread((2, Fraction(7, 4)), (5, Fraction(7, 10))))
    assert "A mean of means" in found.entry(2).problems[0]


def test_windows_of_unequal_size_are_shown_with_one_replica_too():
    found = ss.ledger(steps.accumulated("windows"), steps.batch())
    assert found.right  # as with one replica: what is wrong is the same with any number of them
    (remark,) = [one for one in found.remarks if "do not all count alike" in one]
    assert "0–7 count 1; 8, 9 count 2" in remark


def test_empty_parts_are_measured():
    found = ss.ledger(distributed(steps.mean_of_means), steps.batch(3), replicas=[2, 3, 4])
    assert found.weights(2) == (Fraction(3, 4), Fraction(3, 4), Fraction(3, 2))
    assert found.weights(3) == ones(3)
    assert found.weights(4) == (Fraction(3, 4),) * 3
    assert "of which 3 have samples" in found.entry(4).problems[0]


@pytest.mark.filterwarnings("ignore:Mean of empty slice:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
def test_the_nan_of_an_empty_part_is_a_problem_of_that_number_of_replicas():
    def replica(_x, _y, rows):
        return steps.ctx().all_reduce("MEAN", steps.ctx().xp.mean(rows, axis=0))

    found = ss.ledger(distributed(replica), steps.batch(3), replicas=[3, 4])
    assert found.entry(3).problems == ()
    assert found.weights(4) == ()
    assert "NaN" in found.entry(4).problems[0]
    assert not found.right


def test_every_result_has_entries_of_its_own():
    found = ss.ledger(steps.two_results, steps.batch(), replicas=[3])
    assert found.weights(3, "result['loss']") == ones()
    assert found.weights(3, "result['gradient']") == spread((8, Fraction(5, 6)), (2, Fraction(5, 3)))
    assert found.problems[0].startswith("result['gradient'], 3 replicas: A mean of means")


def test_every_replica_with_the_whole_batch_counts_every_sample_as_often_as_there_are_replicas():
    def step(strategy, _batch, probe):
        def replica():
            rows = steps.ctx().xp.asarray(probe)
            return steps.ctx().all_reduce("SUM", steps.total(rows) / len(probe))

        return strategy.run(replica)

    found = ss.ledger(step, steps.batch(), replicas=[3])
    assert found.weights(3) == spread((10, 3))
    assert "every replica contributes all of them" in found.entry(3).problems[0]
    assert found.entry(3).parts == ((0, 1, 2),) * 10


def test_a_step_in_float32_gives_exact_weights_too():
    def replica(_x, _y, rows):
        xp = steps.ctx().xp
        return steps.ctx().all_reduce("MEAN", xp.mean(xp.astype(rows, "float32"), axis=0))

    assert ss.ledger(distributed(replica), steps.batch(), replicas=[3]).weights(3) == spread(
        (8, Fraction(5, 6)), (2, Fraction(5, 3))
    )


def test_samples_that_do_not_fit_into_one_run_are_probed_in_several(monkeypatch):
    monkeypatch.setattr(probing, "_ELEMENTS_MAX", 40)
    calls = []

    def step(strategy, batch, probe):
        calls.append((strategy.num_replicas_in_sync, probe.shape))
        return distributed(steps.sum_of_means)(strategy, batch, probe)

    found = ss.ledger(step, steps.batch(), replicas=[3])
    assert found.weights(3) == spread((8, Fraction(5, 2)), (2, 5))
    assert found.entry(3).parts == ((0,),) * 4 + ((1,),) * 4 + ((2,),) * 2
    # 4 samples a run: once without probes, 3 times with them, and twice with sums of them.
    assert calls == [(1, (10, 5))] * 6 + [(3, (10, 5))] * 6


def test_hundreds_of_samples_take_as_many_runs_as_ten():
    calls = []

    def step(strategy, batch, probe):
        calls.append(probe.shape)
        return distributed(steps.mean_of_means)(strategy, batch, probe)

    found = ss.ledger(step, steps.batch(301), replicas=[3])
    assert found.weights(3) == spread((202, Fraction(301, 303)), (99, Fraction(301, 297)))
    assert calls == [(301, 302)] * 8


def test_samples_are_assigned_to_the_replicas_that_bring_them_to_each_kind_of_reduction():
    def gathered(_x, _y, rows):
        return steps.total(steps.ctx().all_gather(rows, axis=0)) / 10

    def reduced_to_one(strategy, batch, probe):
        (rows,) = strategy.experimental_distribute_dataset([probe])
        mine = strategy.run(lambda rows: steps.total(rows) / len(probe), args=(rows,))
        return strategy.extended.reduce_to("SUM", mine, destinations=strategy.extended.worker_devices[0])

    def beside_nan(_x, _y, rows):
        xp = steps.ctx().xp
        pair = xp.stack([xp.full((rows.shape[1],), float("nan"), dtype="float64"), steps.total(rows) / 10])
        return steps.ctx().all_reduce("SUM", pair)[1]

    three = ((0,),) * 4 + ((1,),) * 4 + ((2,),) * 2
    for step in (distributed(gathered), reduced_to_one, distributed(beside_nan)):
        found = ss.ledger(step, steps.batch(), replicas=[3])
        assert found.right
        assert found.entry(3).parts == three
    # Of windows of 4, 4 and 2 samples each replica has two, two and none, or one.
    windows = ss.ledger(steps.accumulated("samples"), steps.batch(), replicas=[3]).entry(3)
    assert [one[0] for one in windows.parts] == [0, 0, 1, 1, 0, 0, 1, 1, 0, 1]


def test_a_sample_that_counts_with_several_replicas_alone_is_a_problem():
    def replica(x, _y, rows):
        mask = np.ones((x.shape[0], 1))
        mask[9:] = 0.0  # the tenth sample of each part
        return steps.ctx().all_reduce("SUM", steps.total(rows * steps.ctx().xp.asarray(mask)) / 10)

    found = ss.ledger(distributed(replica), steps.batch(), replicas=[2])
    assert found.weights(2) == (*ones(9), None)
    assert found.problems == ("2 replicas: Sample 9 counts with 2 replicas, and not at all with one.",)


def test_the_square_of_the_number_of_replicas_is_named():
    def replica(x, y, rows):
        return steps.ctx().all_reduce("SUM", steps.reduced_twice(x, y, rows))

    found = ss.ledger(distributed(replica), steps.batch(), replicas=[3])
    assert found.weights(3) == spread((10, 9))
    assert "the square of the number of replicas" in found.problems[0]


def test_the_value_of_a_variable_that_replicas_write_alone_is_its_aggregate():
    def step(strategy, _batch, probe):
        with strategy.scope():
            sums = ss.Variable(
                np.zeros(probe.shape[1]),
                synchronization=ss.VariableSynchronization.ON_READ,
                aggregation=ss.VariableAggregation.SUM,
            )
        (rows,) = strategy.experimental_distribute_dataset([probe])
        strategy.run(lambda rows: sums.assign_add(steps.total(rows) / len(probe)), args=(rows,))
        return sums

    assert ss.ledger(step, steps.batch(), replicas=[2, 3]).right


def test_a_step_in_float32_whose_result_is_cast_to_float64_gives_exact_weights_too():
    def replica(_x, _y, rows):
        xp = steps.ctx().xp
        mean = steps.ctx().all_reduce("MEAN", xp.mean(xp.astype(rows, "float32"), axis=0))
        return xp.astype(mean, "float64")

    found = ss.ledger(distributed(replica), steps.batch(), replicas=[3])
    assert found.weights(3) == spread((8, Fraction(5, 6)), (2, Fraction(5, 3)))


def test_a_number_of_replicas_that_is_given_twice_is_measured_once():
    found = ss.ledger(distributed(steps.right), steps.batch(), replicas=[3, 1, 3, 2])
    assert [entry.replicas for entry in found.entries] == [3, 2]
