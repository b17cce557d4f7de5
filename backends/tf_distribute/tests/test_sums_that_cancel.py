"""What rounding leaves of a sum whose terms cancel accuses nobody, whatever an optimizer makes of it.  Clause: J-51."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from simstrategy_tf_distribute import replicas_agree

ROWS = np.random.default_rng(3).normal(size=(12, 4))
FACTORS = np.random.default_rng(2).permutation(np.outer([0.1, 0.2, 0.3, 0.7, 0.6, 0.9], [1, -1]).ravel())
BOTH = np.stack([FACTORS, np.abs(FACTORS)], 1)


def run_steps(strategy, step, columns):
    """Runs a step with each batch of the rows."""
    data = tf.data.Dataset.from_tensor_slices(columns).batch(12)
    for rows in strategy.experimental_distribute_dataset(data):
        strategy.run(step, args=rows)


def signs_of(scale):
    """Returns a program whose optimizer takes the sign of a gradient that is zero but for rounding.

    scale: of the rate, from the number of replicas.
    """

    def program(strategy):
        keras.utils.set_random_seed(1)
        with strategy.scope():
            layer = keras.layers.Dense(2, dtype="float64")
            layer.build((None, 4))
            optimizer = keras.optimizers.Lion(0.01 * scale(strategy.num_replicas_in_sync))
            optimizer.build(layer.trainable_variables)

        def step(rows, both):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(layer(rows) * both) / 24.0
            gradients = tape.gradient(loss, layer.trainable_variables)
            optimizer.apply(gradients, layer.trainable_variables)

        run_steps(strategy, step, (ROWS, BOTH))
        return layer.get_weights()

    return program


def balanced(scale):
    """Returns a program in which the terms of a gradient are constants, so that no rounding of inputs moves them.

    scale: as of `signs_of`.
    """
    labels = np.random.default_rng(0).permutation(np.arange(12) % 3)

    def program(strategy):
        with strategy.scope():
            variables = [tf.Variable(np.zeros((4, 3))), tf.Variable(np.zeros(3))]
        rate = 0.01 * scale(strategy.num_replicas_in_sync)

        def step(rows, labels):
            with tf.GradientTape() as tape:
                out = rows @ variables[0] + variables[1]
                gaps = tf.nn.relu(1.0 - tf.gather(out, labels, batch_dims=1)[:, None] + out)
                loss = tf.reduce_sum(gaps * (1 - tf.one_hot(labels, 3, dtype=tf.float64))) / 36.0
            context = tf.distribute.get_replica_context()
            gradients = context.all_reduce("SUM", tape.gradient(loss, variables))
            for variable, gradient in zip(variables, gradients, strict=True):
                variable.assign_sub(rate * gradient / (tf.abs(gradient) + 1e-8))

        run_steps(strategy, tf.function(step), (ROWS, labels))
        return variables

    return program


CASES = [
    pytest.param(balanced, [1, 2], id="all of it", marks=pytest.mark.deep),
    pytest.param(signs_of, [1, 3], id="its sign", marks=pytest.mark.deep),
]


@pytest.mark.slow
@pytest.mark.parametrize(("made", "counts"), CASES)
def test_an_optimizer_that_enlarges_what_is_left_is_not_accused(made, counts):
    report = replicas_agree(made(lambda count: 1), replicas=counts)
    assert report.verdict == "undecided", str(report)
    assert "Rounding alone may change these results" in str(report)


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize(("made", "counts"), CASES)
def test_another_rate_beside_what_is_left_is_found(made, counts):
    report = replicas_agree(made(lambda count: count), replicas=counts)
    assert report.verdict == "differ", str(report)
