"""Programs that compute in bfloat16 and keep float32 are judged by the rounding of bfloat16.  Clause: J-81."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from simstrategy_tf_distribute import replicas_agree
from simstrategy_tf_distribute.narrow import Graphs

ROWS = np.random.default_rng(3).normal(size=(24, 4)).astype(np.float32)
TARGETS = ROWS.sum(1, keepdims=True)
KINDS = [(8, "mixed_bfloat16"), (1, "float32")]


def of_keras(rate):
    """Returns a program with one layer of Keras that computes in bfloat16.  rate: from the number of replicas."""

    def program(strategy):
        keras.utils.set_random_seed(1)
        with strategy.scope():
            layers = [keras.layers.Dense(size, dtype=dtype, bias_initializer="ones") for size, dtype in KINDS]
            model = keras.Sequential([keras.Input((4,)), *layers])
            model.compile(keras.optimizers.SGD(rate(strategy.num_replicas_in_sync)), loss="mse")
        model.fit(tf.data.Dataset.from_tensor_slices((ROWS, TARGETS)).batch(12), epochs=1, verbose=0, shuffle=False)

    return program


def of_casts(rate, operation="MEAN"):
    """Returns a program that casts what it multiplies.  rate: as of `of_keras`. operation: on gradients."""

    def program(strategy):
        with strategy.scope():
            weights = tf.Variable(tf.ones((4, 1)))
        count = strategy.num_replicas_in_sync

        def step(rows, targets):
            with tf.GradientTape() as tape:
                found = tf.cast(tf.cast(rows, tf.bfloat16) @ tf.cast(weights, tf.bfloat16), tf.float32)
                loss = tf.reduce_mean((found - 2 * targets) ** 2)
            gradient = tape.gradient(loss, weights)
            if operation is not None:
                gradient = tf.distribute.get_replica_context().all_reduce(operation, gradient)
            weights.assign_sub(rate(count) * gradient)

        @tf.function
        def train(given):
            strategy.run(step, args=given)

        dataset = tf.data.Dataset.from_tensor_slices((ROWS, TARGETS)).batch(12)
        for given in strategy.experimental_distribute_dataset(dataset):
            train(given)
        return weights

    return program


@pytest.mark.slow
@pytest.mark.parametrize("made", [pytest.param(of_keras, marks=pytest.mark.deep), of_casts])
def test_a_lawful_program_that_computes_in_bfloat16_is_not_accused(made):
    report = replicas_agree(made(lambda count: 0.01), replicas=[1, 2])
    assert report.verdict == "agree", str(report)
    assert "The program computes in bfloat16, so what rounding may explain is measured" in str(report)


@pytest.mark.slow
@pytest.mark.parametrize(
    "program",
    [
        pytest.param(of_keras(lambda count: 0.01 * count), id="rate of Keras", marks=pytest.mark.deep),
        pytest.param(of_casts(lambda count: 0.01 * count), id="rate"),
        pytest.param(of_casts(lambda count: 0.01, "SUM"), id="sum", marks=pytest.mark.deep),
        pytest.param(of_casts(lambda count: 0.01, None), id="no reduction"),
    ],
)
def test_a_mistake_in_a_program_that_computes_in_bfloat16_is_found(program):
    report = replicas_agree(program, replicas=[1, 2])
    assert report.verdict == "differ", str(report)
    assert [one.law for one in report.findings if one.law != "state"] == ["replicas"]


def test_a_cast_in_a_graph_is_seen():
    graphs = Graphs()
    graphs.look()
    with tf.Graph().as_default():
        value = tf.ones(3) * 2
        graphs.look()
        assert not graphs.found
        tf.cast(tf.cast(value, tf.float16), tf.float32)
        graphs.look()
    assert graphs.found == {"float16"}
