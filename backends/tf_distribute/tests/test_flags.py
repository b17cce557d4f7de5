"""Labels of zeros and ones do not move where rounding is measured: programs compare them with 1.  Clause: J-51."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from simstrategy_tf_distribute import replicas_agree
from simstrategy_tf_distribute.observing import nudged_dataset

ROWS = np.random.default_rng(5).normal(size=(24, 4)).astype(np.float32)
LABELS = (ROWS.sum(1, keepdims=True) > 0).astype(np.float32)


def weighted(factor):
    """Returns a program whose loss weighs rows by what their label is.  factor: of the loss, by replicas."""

    def program(strategy):
        keras.utils.set_random_seed(1)
        with strategy.scope():
            layer = keras.layers.Dense(1)
            layer.build((None, 4))
            optimizer = keras.optimizers.SGD(2.0)
            optimizer.build(layer.trainable_variables)
        data = tf.data.Dataset.from_tensor_slices((ROWS, LABELS)).batch(12)

        def step(rows, labels):
            with tf.GradientTape() as tape:
                found = layer(rows)
                weights = tf.where(tf.equal(labels, 1.0), 0.25, 0.75)
                loss = tf.reduce_sum(weights * (found - labels) ** 2) / 12.0
                loss *= factor(strategy.num_replicas_in_sync)
            optimizer.apply(tape.gradient(loss, layer.trainable_variables), layer.trainable_variables)

        for element in strategy.experimental_distribute_dataset(data):
            strategy.run(step, args=element)
        return layer.get_weights()

    return program


@pytest.mark.slow
@pytest.mark.parametrize(("factor", "verdict"), [(lambda _: 1.0, "agree"), (float, "differ")], ids=["right", "wrong"])
def test_a_loss_that_asks_whether_a_label_is_one_is_judged(factor, verdict):
    report = replicas_agree(weighted(factor), replicas=(1, 2))
    assert report.verdict == verdict, str(report)


@pytest.mark.parametrize(
    ("columns", "moving"),
    [
        (([[0.5, 3.0]], [[0.0, 1.0]], [[-1.0, 1.0]], [[1, 2]]), [True, False, False, False]),
        (([[0.0, 1.0]], [[1, 2]]), [True, False]),
        (([[1.0, 2.0]],), [True]),
        (([[1, 2]], [[3, 4]]), [False, False]),
    ],
)
def test_zeros_and_ones_stay_beside_other_floats(columns, moving):
    data = tf.data.Dataset.from_tensor_slices(tuple([tf.constant(one) for one in columns]))
    for element in nudged_dataset(data, 1):
        found = element if len(columns) > 1 else (element if isinstance(element, tuple) else (element,))
        changed = [bool(np.any(one.numpy() != np.asarray(known)[0])) for one, known in zip(found, columns, strict=True)]
        assert changed == moving
