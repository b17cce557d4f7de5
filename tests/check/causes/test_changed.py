"""What replicas change in a value of their own before it is combined, and one replica's component in place of all.

Clauses: J-76, J-79, J-80
"""

import numpy as np
import pytest
from by_hand import point, rows

from simstrategy.check.causes import explain
from simstrategy.check.causes.changed import by_changed
from simstrategy.check.causes.combination import combine
from simstrategy.check.causes.facts import (
    DIVIDED,
    FUNCTION,
    LOST,
    MISSING_REDUCTION,
    RATE,
    SCALED,
    STEPS_COUNTED,
    PointFacts,
)
from simstrategy.check.causes.row_order import Place
from simstrategy.check.causes.scene import Scene
from simstrategy.check.causes.single import by_component

A, B = rows(0.31, -1.7, 2.2), rows(1.13, 0.4, -0.9)
NAN = np.full(3, np.nan, np.float32)
ZERO = np.zeros(3, np.float32)


def of(expected, terms, *places, op="SUM"):
    """Returns what `by_changed` finds.  expected: of the reference; terms: of each replica; places: names' values."""
    one = combine(point(expected, op=op), point(*terms, op=op), (), (1, len(terms)))
    return by_changed(one, [Place(f"train.py:{line}", "gradient", value, list(found)) for line, value, found in places])


def test_what_is_not_finite_and_replaced_on_one_replica_alone_is_a_function_before_the_sum():
    found = of(ZERO, [ZERO, B], (7, NAN, [NAN, B]), (8, ZERO, [ZERO, B]))
    assert found is not None
    assert (found.kind, found.source) == (FUNCTION, "train.py:7")
    assert "gradient at train.py:7 is not finite on replica 0, and is replaced there before the sum" in found.reason


def test_a_value_that_some_replicas_change_and_whose_sum_is_right_is_named_with_the_first_that_does():
    found = of(A + B, [A, B / 2], (7, A + B, [A, B]))
    assert found is not None
    assert "the sum of the replicas' gradient at train.py:7 is the reference's value, but on replica 1" in found.reason
    alone = of((A + B) / 2, [A, B], (7, A + B, [A, B]))
    assert alone is not None
    assert "but with one replica something else" in alone.reason


@pytest.mark.parametrize(
    ("expected", "terms", "places"),
    [
        (A + B, [A, B / 2], [(7, A, [A, B])]),  # its sum is not the reference's
        (A + B, [A / 3, B / 2], [(7, A + B, [A, B])]),  # no replica combines it: it may be another value
        (A + B, [A, B / 2], [(7, A + B, [A, B / 2])]),  # it is what is combined
        (NAN, [ZERO, B], [(7, NAN, [NAN, B])]),  # the reference replaces nothing
        (A + B, [A, A], [(7, A + B, [A, B])]),  # all replicas combine the same
        (A[:1] + B[:1], [A[:1], B[:1] / 2], [(7, A[:1] + B[:1], [A[:1], B[:1]])]),  # one number shows nothing
    ],
)
def test_other_values_show_no_function(expected, terms, places):
    assert of(expected, terms, *places) is None


def test_a_value_that_all_replicas_have_alike_is_none_of_their_own():
    assert of(2 * A, [A, B], (7, A, [A, A]), op="MEAN") is None
    found = of(A, [A, ZERO], (7, A, [A, A]), op="MEAN")
    assert found is not None
    assert found.kind == LOST


def test_zeros_of_one_replica_are_a_lost_part():
    found = of(A + B, [A, ZERO], (7, A + B, [A, B]))
    assert found is not None
    assert (found.kind, found.also) == (LOST, (FUNCTION,))
    assert "but replica 1 combines zeros in place of it" in found.reason


def component(*values, name="seen", step=1):
    """Returns the state of a variable of which each replica has a component."""
    terms = tuple([(np.float32(value),) for value in values])
    return PointFacts(step, "train.py:3", "change", name, "SUM", terms, (), own=True, added=terms, number=step)


def alone(reference, other):
    """Returns what `by_component` finds of a copy that two replicas hold.  reference, other: (component …, copy)."""
    sides = []
    for *components, copy in (reference, other):
        parts = [copy / len(components)] * len(components)
        made = component(*parts, name="copy", step=2)._replace(own=False, outputs=(np.float32(copy),))
        sides.append((component(*components), made))
    one = combine(sides[0][1], sides[1][1], (), (1, len(other) - 1))
    return by_component(Scene(one, sides[0], sides[1]))


def test_a_number_that_is_one_replica_s_component_is_a_missing_reduction():
    found = alone((12.5, 12.5), (4.25, 8.25, 4.25))
    assert found is not None
    assert (found.kind, found.also) == (MISSING_REDUCTION, ())
    assert found.reason.startswith("it is 'seen' of replica 0 alone, as step 1 left it: the sum over the replicas is")


def test_half_of_a_number_may_as_well_be_divided_once_too_often():
    found = alone((12.5, 12.5), (6.25, 6.25, 6.25))
    assert found is not None
    assert (found.kind, found.also) == (DIVIDED, (MISSING_REDUCTION,))


@pytest.mark.parametrize(
    ("reference", "other"),
    [
        ((1.0, 12.5), (4.25, 8.25, 4.25)),  # the reference's is no copy
        ((12.5, 12.5), (4.25, 8.25, 5.0)),  # it is no replica's
        ((12.5, 12.5), (4.25, 4.25, 4.25)),  # the replicas together have not the reference's either
    ],
)
def test_other_numbers_show_no_component(reference, other):
    assert alone(reference, other) is None


def test_a_right_variable_is_no_cause_of_a_number_that_is_divided_elsewhere():
    """J-21: the component of each of two replicas is a half, and so is anything that is divided by two."""
    result = [PointFacts(1, "", "result", "loss", None, (), (np.float32(size),), kept=True) for size in (31.25, 15.625)]
    cause = explain([component(6.0), result[0]], [component(3.0, 3.0), result[1]], counts=(1, 2))
    assert (cause.kind, cause.variable, cause.what) == (DIVIDED, "loss", "result"), cause.text


def change(value, *, replicas=1):
    """Returns what a step changes in a variable."""
    inputs = ((np.float32(value),),) * replicas
    return PointFacts(1, "train.py:5", "change", "w", None, inputs, (np.float32(value),), kept=True, number=5)


@pytest.mark.parametrize(
    ("factor", "counted", "kind", "also"),
    [
        (2.0, False, SCALED, (RATE,)),
        (0.5, False, DIVIDED, (STEPS_COUNTED, RATE)),
        (0.5, True, STEPS_COUNTED, (DIVIDED, RATE)),
    ],
)
def test_a_change_by_a_factor_names_what_has_it(factor, counted, kind, also):
    counts = [component(3.0), component(3.0, 3.0)] if counted else [component(3.0), component(1.0, 2.0)]
    reference, other = (
        [counts[0], point(A + B), change(A + B)],
        [counts[1], point(A, B), change(factor * (A + B), replicas=2)],
    )
    cause = explain(reference, other, counts=(1, 2))
    assert (cause.kind, cause.also, cause.site) == (kind, also, "train.py:5"), cause.text
