"""The ledger with TensorFlow's gradients: the gradient of a probe in each loss, read after the reductions (L-5)."""

from fractions import Fraction
from typing import Any

import ledger_steps as steps
import numpy as np
import tensorflow as tf
from vocabulary import ctx

import simstrategy as ss


def averaged(strategy: ss.Strategy, batch: Any, probe: np.ndarray) -> Any:
    """A mean of means: each replica's gradient of the mean of its own losses, averaged."""

    def replica(x: tf.Tensor, _y: tf.Tensor, rows: tf.Tensor) -> Any:
        z = tf.zeros(rows.shape[1], tf.float64)
        with tf.GradientTape() as tape:
            tape.watch(z)
            loss = tf.reduce_mean(tf.reduce_sum(x, 1) ** 2 + tf.linalg.matvec(rows, z))
        return ctx().all_reduce("MEAN", tape.gradient(loss, z))

    return steps.distributed(replica)(strategy, batch, probe)


def test_gradients_averaged_over_parts_of_unequal_size_are_a_mean_of_means() -> None:
    found = ss.ledger(averaged, steps.batch(), replicas=[2, 3], backend="tensorflow")
    assert found.weights(2) == (Fraction(1),) * 10
    assert found.weights(3) == (Fraction(5, 6),) * 8 + (Fraction(5, 3),) * 2
    assert "A mean of means" in found.problems[0]
