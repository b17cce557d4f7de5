"""Rows of named values as examples: in another order, twice, never; and what two rows of a part show.

Clauses: J-22, J-24, J-26
"""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from training import ctx

import simstrategy as ss
from simstrategy.check.causes.companions import is_moved
from simstrategy.check.causes.row_order import Place, counted, of_selection, order_of
from simstrategy.check.causes.running import explain_difference

ROWS = np.random.default_rng(3).normal(size=(7, 2))
EXAMPLES = [counted(ROWS)]


def place(expected: Any, *found: Any) -> Place:
    return Place("train.py:5", "x", ROWS[expected], [ROWS[one] for one in found])


def test_rows_in_another_order_are_the_same_examples() -> None:
    order = order_of(place([6, 5, 4, 3, 2, 1, 0], [2, 1, 0], [6, 5, 4, 3]))
    assert order is not None
    assert [one.tolist() for one in order.indices] == [[4, 5, 6], [0, 1, 2, 3]]
    values = np.arange(7)
    assert [one.tolist() for one in order.split(values, [3, 4]) or ()] == [[4, 5, 6], [0, 1, 2, 3]]
    assert order.split(values, [4, 3]) is None


@pytest.mark.parametrize("found", [([0, 1, 2], [3, 4, 5]), ([0, 1, 2], [3, 4, 5, 0]), ([0, 1, 2], [3, 4, 5, 6, 6])])
def test_other_rows_are_no_order(found: tuple[list[int], ...]) -> None:
    assert order_of(place([0, 1, 2, 3, 4, 5, 6], *found)) is None


@pytest.mark.parametrize(
    ("expected", "found", "kind"),
    [
        ([0, 1, 2, 3, 4, 5, 6, 0], ([0, 1, 2, 3, 0], [4, 5, 6, 4]), "duplicated samples"),
        ([0, 1, 2, 3, 4, 5, 6] * 2, ([0, 1, 2, 3] * 2, [4, 5, 6]), "duplicated samples"),
        ([1, 2, 3, 4, 5, 6], ([1, 2, 3], [5, 6]), "missing samples"),
        ([0, 1, 2, 3, 4, 5], ([0, 1, 2, 3], [4, 5]), None),
        ([0, 1, 2, 3, 4, 5], ([0, 1], [4, 5]), "missing samples"),
        # One row is left out by both runs, and not the same one.
        ([0, 1, 2, 3, 4, 5], ([0, 1, 2], [4, 5, 6]), "missing samples"),
        # Rows that were drawn at random.
        ([0, 3, 4, 6], ([2, 0], [5, 4]), None),
        ([0, 3, 3, 6], ([2, 0], [5, 5]), None),
    ],
)
def test_rows_are_compared_with_the_examples(expected: list[int], found: Any, kind: str | None) -> None:
    finding = of_selection(place(expected, *found), EXAMPLES)
    assert (None if finding is None else finding.kind) == kind


def test_rows_that_are_no_examples_show_no_selection() -> None:
    other = place([0, 1, 2], [0], [1])
    assert of_selection(other._replace(expected=other.expected + 1), EXAMPLES) is None
    assert of_selection(other, [Counter()]) is None


@pytest.mark.parametrize(
    ("moves", "moved"),
    [
        ([(1.0, 0.3), (1.0, -0.2)], True),
        ([(0.5, 0.0), (2.0, 0.0)], True),
        ([(2.0, 0.0), (2.0, 0.0)], False),  # one factor for all
        ([(1.0, 0.0), (1.0, 0.4)], False),  # replica 0 has the reference's rows
        ([(0.5, 0.3), (2.0, -0.2)], False),  # two rows fit any line
    ],
)
def test_two_rows_of_a_part_show_a_shift_or_a_scale_alone(moves: list[tuple[float, float]], moved: bool) -> None:
    pairs = [(ROWS[2 * n : 2 * n + 2], ROWS[2 * n : 2 * n + 2] * k + b) for n, (k, b) in enumerate(moves)]
    assert is_moved(pairs) is moved


def masked(strategy: Any, *, named: bool) -> Any:
    rows = np.random.default_rng(8).normal(size=(9, 3)).astype(np.float32)
    mask = np.float32([1, 0, 1, 1, 1, 1, 0, 1, 0])

    def step(rows: Any, mask: Any) -> Any:
        xp = strategy.xp
        if named:
            tokens = xp.sum(mask)
            return ctx().all_reduce("MEAN", xp.matmul(mask, rows) / tokens)
        return ctx().all_reduce("MEAN", xp.matmul(mask, rows) / xp.maximum(xp.sum(mask), 1.0))

    data = ss.data.Dataset.from_tensor_slices((rows, mask)).batch(9)
    return [
        strategy.unwrap(strategy.run(step, args=batch))[0] for batch in strategy.experimental_distribute_dataset(data)
    ]


@pytest.mark.parametrize("named", [True, False])
def test_a_divisor_of_each_replica_is_a_weight(named: bool) -> None:
    """J-22: a number that has a name, or the sum of an array that has one."""
    cause = explain_difference(lambda strategy: masked(strategy, named=named), (1, 2))
    assert cause.kind == "mean of means", cause.text
    assert ("value of tokens at" if named else "sum of mask at") in cause.text


@pytest.mark.parametrize("change", ["mask", "noise"])
def test_rows_that_one_stream_changes_are_other_draws(change: str) -> None:
    """J-26: the rows are reversed first, so replica 0 has not the reference's values."""
    rows = np.random.default_rng(8).normal(size=(9, 3)).astype(np.float32)

    def program(strategy: Any) -> Any:
        def step(x: Any) -> Any:
            x = strategy.xp.flip(x, axis=0)
            draws = np.random.default_rng(4).random(x.shape).astype(np.float32)
            x = x * strategy.xp.asarray(draws.round()) if change == "mask" else x + strategy.xp.asarray(draws.round(1))
            return ctx().all_reduce("SUM", strategy.xp.sum(x * x, axis=0))

        return [
            strategy.unwrap(strategy.run(step, args=(x,)))[0] for x in strategy.experimental_distribute_dataset([rows])
        ]

    assert explain_difference(program, (1, 3)).kind == "different draws"


@pytest.mark.parametrize("grows", [False, True])
def test_rows_of_another_step_are_no_draws(grows: bool) -> None:
    """J-87: replica 0 has the reference's rows, and the other one has rows of a later step."""
    rows = np.random.default_rng(8).normal(size=(24, 3)).astype(np.float32)

    def program(strategy: Any) -> Any:
        def step(part: Any, number: int) -> Any:
            size = 3 if grows else len(part) // 4
            own = part[number * size : (number + 1) * size]
            return ctx().all_reduce("MEAN", strategy.xp.sum(own * own, axis=0))

        data = strategy.experimental_distribute_dataset([rows])
        return [strategy.unwrap(strategy.run(step, args=(x, number)))[0] for x in data for number in range(4)]

    kind = explain_difference(program, (1, 2)).kind
    assert kind == ("global batch grows with the number of replicas" if grows else "other batches")
