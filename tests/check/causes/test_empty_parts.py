"""Means to which some replicas bring nothing, and values that a step returns beside others that agree.

Clauses: J-22, J-23, J-65.
"""

import numpy as np
import pytest
from by_hand import point, rows

from simstrategy.check.causes import explain
from simstrategy.check.causes.facts import DIVIDED, MEAN_OF_MEANS
from simstrategy.check.causes.named import Named
from simstrategy.check.causes.watching import NamedValue

VALUE = rows(0.3, -0.7, 1.1)
OTHER = rows(0.9, 0.2, -0.4)


def masks(*of_ranks):
    return [NamedValue(1, 0, rank, "train.py:30", "mask", rows(*one)) for rank, one in enumerate(of_ranks)]


def test_a_replica_with_no_example_weighs_nothing_in_a_mean_of_means():
    whole = (3 * VALUE + 2 * OTHER) / 5
    reference = [point(whole, op="MEAN")]
    other = [point(VALUE, OTHER, 0 * VALUE, op="MEAN")]
    named = Named(masks([1, 1, 1, 1, 1, 0, 0, 0, 0]), masks([1, 1, 1], [1, 1, 0], [0, 0, 0]))
    cause = explain(reference, other, counts=(1, 3), named=named)
    assert (cause.kind, cause.site) == (MEAN_OF_MEANS, "train.py:31")
    assert "mask" in cause.text


def test_a_mean_to_which_one_replica_alone_brings_anything_may_be_one_of_means():
    cause = explain([point(VALUE, op="MEAN")], [point(VALUE, 0 * VALUE, op="MEAN")], counts=(1, 2))
    assert (cause.kind, cause.also) == (DIVIDED, (MEAN_OF_MEANS,))
    assert "replica 0 alone" in cause.text


def test_a_mean_of_shares_is_divided_once_too_often_and_nothing_else():
    cause = explain([point(VALUE, op="MEAN")], [point(VALUE / 2, VALUE / 2, op="MEAN")], counts=(1, 2))
    assert (cause.kind, cause.also) == (DIVIDED, ())


def returned(value, subject):
    array = np.asarray(value, np.float32)
    return point(array, subject=subject, line=50)._replace(what="return", op=None, inputs=(), outputs=(array,))


@pytest.mark.parametrize("weights_agree", [True, False])
def test_a_point_that_only_agreeing_values_follow_has_no_effect(weights_agree):
    def run(sent, loss, weights):
        terms = [np.float32(0)] * (len(sent) - 1) + [np.float32(loss)]
        points = [point(*sent, op="", subject=None, line=30)._replace(what="permute", outputs=(sent[0],))]
        points.append(point(*terms, op="MEAN", subject=None, line=45))
        return [*points, returned(weights, "[0]"), returned(points[1].outputs[0], "[1]")]

    reference = run([VALUE], 3.8, VALUE)
    other = run([OTHER, VALUE], 3.8, VALUE if weights_agree else OTHER)
    cause = explain(reference, other, counts=(1, 2))
    assert cause.site == ("train.py:45" if weights_agree else "train.py:30")
    assert (cause.kind == DIVIDED) == weights_agree
