"""Errors of programs under tf.distribute: the user's lines alone, and the line that raised.

Clause: J-98
"""

import re
from typing import Any

import keras
import pytest
import tensorflow as tf
from loops import batches, weights_of

from simstrategy_tf_distribute.running import run_once


def line_of(text: str) -> int:
    """Returns the number of this file's first line with a text."""
    with open(__file__, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


def traced(strategy: Any, update: Any) -> Any:
    @tf.function
    def step(batch: Any) -> Any:  # TensorFlow has no stack of what runs in a lambda
        return strategy.run(update, args=batch)

    return [step(batch) for batch in batches(strategy, rows=12)]


def of_wrong_shapes(strategy: Any) -> Any:
    weights = weights_of(strategy)

    def update(rows: Any, _: Any) -> Any:
        return tf.matmul(rows, weights[:2, None])  # wrong shapes

    return traced(strategy, update)


def of_keras(strategy: Any) -> Any:
    with strategy.scope():
        model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])

    def update(rows: Any, _: Any) -> Any:
        return model(rows)  # of another width

    return traced(strategy, update)


def while_it_runs(strategy: Any) -> Any:
    def update(rows: Any, _: Any) -> Any:
        tf.debugging.assert_less(rows, -100.0)  # fails while it runs
        return rows

    return traced(strategy, update)


@pytest.mark.parametrize(
    ("program", "kind", "text"),
    [
        (of_wrong_shapes, "ValueError", "# wrong shapes"),
        (of_keras, "ValueError", "# of another width"),
        (while_it_runs, "InvalidArgumentError", "# fails while it runs"),
    ],
)
def test_an_error_of_a_traced_function_has_the_users_lines_alone(program: Any, kind: str, text: str) -> None:
    outcome = run_once(program, 0, 2).outcome
    assert outcome.error is not None
    line = line_of(text)
    assert outcome.notes == (f"{kind} raised at test_error_texts.py:{line}",)
    assert {name for name, _ in re.findall(r'File "([^"]+)", line (\d+)', outcome.error[1])} == {"test_error_texts.py"}
    assert f'File "test_error_texts.py", line {line}, in update' in outcome.error[1]
    assert "\x1b" not in outcome.error[1]


def test_numbers_in_a_programs_own_error_are_kept() -> None:
    def program(strategy: Any) -> Any:
        raise ValueError("8/3 rows for worker_1")

    assert run_once(program, 0, 1).outcome.error == ("ValueError", "8/3 rows for worker_1")


def test_an_error_that_names_graphs_is_the_same_in_every_run() -> None:
    def program(strategy: Any) -> Any:
        kept: list[Any] = []
        tf.function(lambda: kept.append(tf.ones(2) * 2.0))()
        return kept[0] + 1.0

    one, other = [run_once(program, 0, 1).outcome.error for _ in range(2)]
    assert one == other
    assert one is not None


def test_a_tensor_that_left_its_function_is_the_same_error_in_every_run() -> None:
    def program(strategy: Any) -> Any:
        kept: list[Any] = []
        tf.function(lambda: kept.append(tf.ones(2) * 2.0))()
        return tf.function(lambda: kept[0] + 1.0)()

    one, other = [run_once(program, 0, 1).outcome.error for _ in range(2)]
    assert one == other
    assert one is not None
