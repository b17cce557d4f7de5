"""Models and metrics over a distributed dataset."""

import keras
import numpy as np
import tensorflow as tf


def drawn(seed, *shape):
    return np.random.default_rng(seed).uniform(0.05, 0.95, shape).astype(np.float32)


def labels(seed, count, *shape):
    return np.random.default_rng(seed).integers(0, count, shape)


def updated(strategy, metric, arrays, batch):
    """Updates a metric with batches of arrays that the replicas share."""
    data = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(arrays).batch(batch))
    for rows in data:
        strategy.run(lambda *given: metric.update_state(*given), args=rows)
    return metric.result()


def model_of(layers, inputs):
    keras.utils.set_random_seed(7)
    return keras.Sequential([keras.Input(inputs), *layers])
