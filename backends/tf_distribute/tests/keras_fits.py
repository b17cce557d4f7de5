"""Keras programs, right and wrong, which `test_corpus.py` checks.  No tests."""

from functools import partial
from typing import Any

import keras
import numpy as np
import tensorflow as tf

ROWS = np.random.default_rng(4).normal(size=(20, 3)).astype(np.float32)
TARGETS = ROWS @ np.float32([[1], [-2], [3]])
BATCH = 8  # the last one has 4 rows

Strategy = tf.distribute.Strategy


def summed() -> Any:
    return keras.losses.MeanSquaredError(reduction="sum")


def fitted(
    strategy: Any, layers: list[Any], loss: Any, optimizer: Any = None, rows: int = 20, size: int = BATCH, **more: Any
) -> Any:
    with strategy.scope():
        model = keras.Sequential([keras.layers.Input((3,)), *layers, keras.layers.Dense(1, name="out")])
        model.compile(optimizer() if optimizer else keras.optimizers.SGD(0.05 / BATCH), loss, **more)
    model.fit(ROWS[:rows], TARGETS[:rows], batch_size=size, epochs=2, shuffle=False, verbose=0)
    return model


# Wrong.


def mean_over_a_partial_batch(strategy: Strategy) -> Any:
    return fitted(strategy, [], "mse", rows=19)


def statistics_of_each_part(strategy: Strategy) -> Any:
    return fitted(strategy, [keras.layers.BatchNormalization(name="norm")], summed())


def dropped_on_each_part(strategy: Strategy) -> Any:
    return fitted(strategy, [keras.layers.Dropout(0.5, seed=1, name="drop")], summed())


def uneven_first_batch(strategy: Strategy) -> Any:
    """Keras takes the mean of the replicas' parts of the first batch, and cannot for parts of 4 and 3 rows."""
    return fitted(strategy, [], summed(), size=7)


# Lawful.


def sum_over_the_batch(strategy: Strategy) -> Any:
    return fitted(strategy, [keras.layers.Dense(2, name="hidden")], summed(), rows=19)


def with_adam(strategy: Strategy) -> Any:
    return fitted(strategy, [], summed(), lambda: keras.optimizers.Adam(0.01), metrics=["mae"])


def statistics_of_the_batch(strategy: Strategy) -> Any:
    layers = [keras.layers.BatchNormalization(name="norm", synchronized=True)]
    return fitted(strategy, layers, summed(), rows=16)


def several_steps_at_once(strategy: Strategy) -> Any:
    optimizer = partial(keras.optimizers.SGD, 0.01, momentum=0.9)
    return fitted(strategy, [], summed(), optimizer, steps_per_execution=2)


def mean_of_equal_parts(strategy: Strategy) -> Any:
    return fitted(strategy, [], "mse", rows=16)
