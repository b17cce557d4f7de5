"""Gradients that are equal on all replicas: of equal samples where a call combines them, and by design where none does.

# Clause: G-27
"""

import numpy as np
import pytest

from simstrategy.check.causes.facts import DUPLICATED, PointFacts, StepFacts
from simstrategy.check.causes.step_sums import are_combined
from simstrategy.check.causes.steps import explain_steps

RANDOM = np.random.default_rng(3)
WEIGHT, BIAS = RANDOM.normal(size=(2, 3)).astype(np.float32), RANDOM.normal(size=3).astype(np.float32)
MEANT = (WEIGHT + np.float32(0.3) * WEIGHT[::-1], BIAS + np.float32(0.3) * BIAS[::-1])
BEFORE = (np.zeros_like(WEIGHT), np.zeros_like(BIAS))


def after(gradients):
    return tuple(-one for one in gradients)


def call(*arrays, op="SUM", times=1.0):
    """Returns a call of two replicas that combines arrays, one after another, as one of one dimension."""
    whole = np.concatenate([one.reshape(-1) for one in arrays]) * np.float32(times)
    return PointFacts(0, "train.py:7", "all_reduce", None, op, ((whole,), (whole,)), (whole,))


def step(*, calls=(), gradients=(WEIGHT, BIAS)):
    """Returns a step of two replicas that computed the same gradients."""
    both = (gradients, gradients)
    done = (after(gradients), after(gradients))
    return StepFacts(1, "train.py:9", "train.py:8", ("w", "b"), (BEFORE, BEFORE), both, both, done, tuple(calls))


def cause_of(other):
    one = StepFacts(1, "train.py:9", "train.py:8", ("w", "b"), (BEFORE,), (MEANT,), (MEANT,), (after(MEANT),))
    return explain_steps([one], [other], counts=(1, 2))


@pytest.mark.parametrize(
    "calls",
    [
        [call(BIAS, WEIGHT)],
        [call(BIAS), call(WEIGHT)],
        [call(WEIGHT, BIAS, times=2)],  # divided afterwards
        [call(np.ones(4, np.float32), WEIGHT, np.zeros(2, np.float32), BIAS, op="MEAN")],
    ],
    ids=["one bucket", "two", "a sum", "with others"],
)
def test_equal_gradients_that_calls_combine_are_of_equal_samples(calls):
    cause = cause_of(step(calls=calls))
    assert cause.kind == DUPLICATED, cause.text
    assert "replicas 0 and 1 contribute the same bits" in cause.text


@pytest.mark.parametrize(
    "calls",
    [[], [call(RANDOM.normal(size=(8, 4)).astype(np.float32))], [call(BIAS, WEIGHT, op="MAX")]],
    ids=["none", "of something else", "no sum"],
)
def test_equal_gradients_that_nothing_combines_may_be_meant(calls):
    assert not are_combined(step(calls=calls))
    assert cause_of(step(calls=calls)).kind is None


def test_each_gradient_has_to_be_in_a_result():
    assert are_combined(step(calls=[call(WEIGHT), call(BIAS)]))
    assert not are_combined(step(calls=[call(BIAS)]))


def test_gradients_of_zeros_need_no_result_and_those_that_are_not_finite_have_none():
    zeros = np.zeros_like(BIAS)
    assert are_combined(step(calls=[call(WEIGHT)], gradients=(WEIGHT, zeros)))
    assert not are_combined(step(calls=[call(WEIGHT)], gradients=(np.zeros_like(WEIGHT), zeros)))
    broken = np.full_like(BIAS, np.nan)
    assert not are_combined(step(calls=[call(WEIGHT, broken)], gradients=(WEIGHT, broken)))


def test_places_that_begin_alike_are_looked_at_so_often_and_no_more():
    part = np.concatenate([np.ones(1000, np.float32), np.float32([0.5])])
    assert not are_combined(step(calls=[call(np.ones(200_000, np.float32))], gradients=(part, part)))
