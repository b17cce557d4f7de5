"""The law of random draws: what replicas draw does not depend on whether they share a process.

Clauses: J-18
"""

import random
import warnings

import numpy as np
import pytest

import simstrategy as ss

ROWS = np.float32([0.3, 1.5, 2.25, -0.7, 1.1, 0.4, -3.0, 0.9])


pytestmark = pytest.mark.usefixtures("generators_as_before")


def ctx():
    return ss.get_replica_context()


def judged(program, replicas=(1, 2, 3), **settings):
    settings = {"laws": ["random"], "without": ["replicas"]} | settings
    return ss.check(program, replicas=replicas, **settings)


def seeded(step, steps=3):
    """Returns a program that seeds the global generators, and sums what `step` returns for each part."""

    def program(strategy):
        random.seed(3)
        np.random.seed(4)
        data = strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices(ROWS).batch(4).repeat())
        parts = iter(data)
        runs = [strategy.run(step, args=(next(parts),)) for _ in range(steps)]
        return [strategy.reduce("SUM", run, axis=None) for run in runs]

    return program


def total(x):
    return ctx().xp.sum(x)


def dropout(x):
    return total(x * np.float32(np.random.rand(*x.shape) < 0.5) * np.float32(2))


def jitter(x):
    return total(x) * np.float32(random.uniform(0.5, 1.5))


@pytest.mark.parametrize(("step", "module"), [(dropout, "numpy.random"), (jitter, "random")])
def test_noise_from_a_global_generator_depends_on_the_process(step, module):
    report = judged(seeded(step))
    assert [(one.law, one.replicas) for one in report.findings] == [("random", "2"), ("random", "3")], str(report)
    assert all(one.text.startswith("result[") for one in report.findings)
    assert f"replicas draw from {module}: in one process one after the other" in report.findings[0].text
    assert f"2 replicas in processes of their own draw the same numbers from {module} in 3 of 3 runs" in str(report)


def drawn_outside(strategy):
    """The program draws one number for all replicas, outside of them."""
    np.random.seed(4)
    runs = []
    for _ in range(3):
        noise = np.float32(np.random.normal())
        runs.append(strategy.run(lambda: ctx().all_reduce("MEAN", noise)))  # noqa: B023
    return runs


def by_seed_of_each_replica(x):
    noise = np.random.default_rng(ctx().seed("noise")).normal(size=x.shape)
    return total(x + noise.astype(np.float32))


def seeded_by_replica(x):
    """The global generator begins anew with a seed of the replica, so that nothing of the others' draws is left."""
    np.random.seed(ctx().seed("noise") % 2**32)
    return total(x * np.float32(np.random.normal()))


def equal_weights(x):
    """Each replica draws the same weights, for it seeds the generator with one number."""
    np.random.seed(11)
    return total(x * np.random.normal(size=1).astype(np.float32))


def draws_and_discards(x):
    random.random()
    return total(x)


@pytest.mark.parametrize("step", [seeded_by_replica, equal_weights, draws_and_discards])
def test_draws_that_give_the_same_in_any_process_are_not_accused(step):
    report = judged(seeded(step))
    assert report.agrees, str(report)
    assert [row.replicas for row in report.rows if row.law == "random"] == ["2", "3"]


def test_equal_draws_are_a_remark():
    text = "right for what replicas share, such as initial weights, and wrong for noise of each example"
    assert text in str(judged(seeded(draws_and_discards)))
    assert text not in str(judged(seeded(seeded_by_replica)))


def test_replicas_that_draw_otherwise_are_a_remark():
    def step(x):
        if ctx().replica_id_in_sync_group == 1:
            random.random()
        return total(x)

    report = judged(seeded(step), replicas=[2])
    assert report.agrees, str(report)
    assert "2 replicas begin run 1 with random in one state and draw otherwise from it" in str(report)


@pytest.mark.parametrize("program", [seeded(by_seed_of_each_replica), drawn_outside, seeded(total)])
def test_replicas_without_draws_from_a_global_generator_are_not_judged(program):
    report = judged(program)
    assert not report.findings
    assert report.verdict == "undecided"
    assert "the replica functions draw from no global generator" in str(report)


def test_seeds_of_each_replica_are_named():
    assert "seeds of each replica ('noise') differ in any case" in str(judged(seeded(by_seed_of_each_replica)))


def test_all_laws_leave_a_program_without_draws_its_verdict():
    report = ss.check(seeded(total), replicas=[1, 2], laws=["all"])
    assert report.agrees, str(report)
    assert "not judged: no draws" in str(report)


def test_a_program_that_seeds_nothing_is_not_judged():
    def program(strategy):
        return strategy.run(lambda: ctx().all_reduce("SUM", np.float32(np.random.normal())))

    report = judged(program, replicas=[2])
    assert (report.verdict, report.findings) == ("undecided", ())
    assert "NOT JUDGED: not repeatable" in str(report)


def test_a_program_that_raises_before_a_draw_is_not_judged():
    def program(strategy):
        raise ValueError("no data")

    report = judged(program, replicas=[2], allow_errors=True)
    assert "its run raises ValueError before a draw" in str(report)


def test_one_replica_is_not_judged():
    assert "NOT JUDGED: one replica" in str(judged(seeded(dropout), replicas=[1]))


def test_a_generator_that_goes_on_outside_of_the_replicas_is_followed_without_a_warning():
    def unequally():
        draws = np.random.rand(1 + ctx().replica_id_in_sync_group)
        return ctx().all_reduce("SUM", np.float32(draws[0]))

    def program(strategy):
        np.random.seed(4)
        for _ in range(2):
            found = strategy.run(unequally)
            np.random.rand()
        return found

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = judged(program, replicas=[2])
    assert [finding.law for finding in report.findings] == ["random"], str(report)
    assert report.findings[0].text.startswith("result: ")


def test_what_is_swapped_is_given_back():
    random.seed(7)
    wanted = random.random()
    random.seed(7)
    judged(drawn_outside, replicas=[1, 2])
    assert random.random() == wanted
