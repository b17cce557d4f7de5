"""Causes of two runs that differ in an argument, on one number of replicas.  Clause: J-86"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from by_hand import point, rows

from simstrategy.check.causes import explain
from simstrategy.check.causes.explaining import Named
from simstrategy.check.causes.facts import DUPLICATED, FACTOR, StepFacts
from simstrategy.check.causes.steps import explain_steps
from simstrategy.check.causes.varied import Arguments
from simstrategy.check.causes.watching import NamedValue

A, B = rows(0.31, -1.7, 2.2), rows(1.13, 0.4, -0.9)
MICRO = Arguments.of({"accumulate": 1}, {"accumulate": 2})


def held(name: str, value: Any, line: int) -> NamedValue:
    return NamedValue(1, -1, 0, f"train.py:{line}", name, value)


@pytest.mark.parametrize("replicas", [1, 2, 4])
@pytest.mark.parametrize(
    ("factor", "text"),
    [(2.0, "2 times the expected ones, as accumulate is"), (0.5, "0.5 times the expected ones, as 1 / accumulate is")],
)
def test_a_factor_that_an_argument_has_is_named_after_it(replicas: int, factor: float, text: str) -> None:
    terms = [A + number * B for number in range(replicas)]
    wrong = [np.float32(factor) * term for term in terms]
    counts = (replicas, replicas)
    cause = explain([point(*terms)], [point(*wrong)], counts=counts, arguments=MICRO)
    assert (cause.kind, cause.factor) == (FACTOR, pytest.approx(factor))
    assert text in cause.text
    assert cause.text.startswith("accumulate=2 against accumulate=1: in step 1, all_reduce SUM of 'w' at train.py:31")
    plain = explain([point(*terms)], [point(*wrong)], counts=counts)
    assert plain.kind is None
    other = explain([point(*terms)], [point(*[3 * term for term in terms])], counts=counts, arguments=MICRO)
    assert (other.kind, "accumulate is" in other.text) == (None, False)


@pytest.mark.parametrize(
    ("there", "here"),
    [
        pytest.param(A, B, id="another value"),
        pytest.param(np.outer(rows(1, 2, 3, 4, 5, 6), A), np.outer(rows(1, 2, 3), A), id="fewer rows in each call"),
    ],
)
def test_no_kind_of_several_replicas_is_named_where_each_run_has_one(there: Any, here: Any) -> None:
    named = Named([held("x", A, 26), held("h", there, 27)], [held("x", A, 26), held("h", here, 27)])
    cause = explain([point(A)], [point(np.roll(B, 1))], counts=(1, 1), named=named, arguments=MICRO)
    assert (cause.kind, cause.source, cause.certain) == (None, None, False)
    assert "replica" not in cause.text


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_kind_of_the_replicas_that_a_point_shows_needs_more_than_one(replicas: int) -> None:
    """Of replicas that share no rows, two may have the same ones; one has no other."""
    texts = [tuple(f"row {rank} {number}" for number in range(2)) for rank in range(replicas)]
    twice = [(one[0], one[0]) for one in texts]
    points: Sequence[Any] = [
        point(*[A] * replicas, rows=tuple(given), parts=(2,) * replicas, op="MEAN") for given in (texts, twice)
    ]
    wrong = points[1]._replace(outputs=(B,), inputs=((B,),) * replicas)
    cause = explain([points[0]], [wrong], counts=(replicas, replicas), arguments=MICRO)
    assert cause.kind == (DUPLICATED if replicas > 1 else None)


def test_steps_of_an_optimizer_name_the_argument_too() -> None:
    step = StepFacts(1, "train.py:9", "train.py:8", ("w",), *[((rows(1, 3, 4),),)] * 4)
    twice = step._replace(gradients=((rows(2, 6, 8),),), terms=(), after=((rows(3, 9, 12),),))
    cause = explain_steps([step], [twice], counts=(1, 1), arguments=MICRO)
    assert (cause.kind, cause.site) == (FACTOR, "train.py:8")
    assert cause.text.startswith("accumulate=2 against accumulate=1: ")
    assert "as accumulate is. Divide by accumulate" in cause.text
