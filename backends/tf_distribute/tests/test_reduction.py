"""Our reductions inside the real MirroredStrategy: Keras's fit is the same to the bit, checked, and traced by name."""

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from sklearn.datasets import load_digits

import simstrategy as ss
from simstrategy.errors import ReplicasDisagree
from simstrategy_tf_distribute import OrderedReduction
from simstrategy_tf_distribute.devices import mirrored

COUNT = 2
DIGITS = load_digits()
FEATURES, LABELS = (DIGITS.data[:150] / 16).astype(np.float32), DIGITS.target[:150].astype(np.int32)


def model_of() -> Any:
    layers = keras.layers
    hidden = [layers.Dense(16, activation="relu", name="hidden"), layers.BatchNormalization(name="norm")]
    return keras.Sequential([layers.Input((64,)), *hidden, layers.Dropout(0.3), layers.Dense(10, name="out")])


def fit(strategy: Any, *, ops: OrderedReduction | None = None) -> tuple[Any, Any, list[Any]]:
    """Fits two epochs of digits in batches of 64, the last of 22; returns history, evaluation, weights."""
    with strategy.scope():
        model = model_of()
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.SGD(0.1), loss, metrics=["accuracy"])
    if ops is not None:
        ops.name_gradients(model.trainable_variables)
    history = model.fit(FEATURES, LABELS, batch_size=64, epochs=2, shuffle=False, verbose=0).history
    return history, model.evaluate(FEATURES, LABELS, batch_size=64, verbose=0), model.get_weights()


# Warnings of Keras and TensorFlow.
quiet = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@quiet
@pytest.mark.slow
@pytest.mark.deep
def test_keras_fits_to_the_same_bits_with_our_reductions_and_without_and_every_gradient_is_named() -> None:
    trace = ss.trace.Trace()
    ops = OrderedReduction(trace=trace)
    results = []
    for given in (None, ops):
        keras.utils.set_random_seed(3)
        results.append(fit(mirrored(COUNT, given), ops=given))
    (history, evaluation, weights), (our_history, our_evaluation, our_weights) = results
    assert (history, evaluation) == (our_history, our_evaluation)
    assert [one.tobytes() for one in weights] == [one.tobytes() for one in our_weights]
    subjects = [event.subject for event in trace.events() if event.replica == 0]
    for name in ("hidden/kernel", "hidden/bias", "norm/gamma", "norm/beta", "out/kernel", "out/bias"):
        assert any(f"gradient of {name}" in str(subject) or str(subject).endswith(f"/{name}") for subject in subjects)
    assert all(event.site.startswith("test_reduction.py:") for event in trace.events())
    assert sum(event.replica == 0 for event in trace.events()) == sum(event.replica == 1 for event in trace.events())


def context() -> Any:
    return tf.distribute.get_replica_context()


def rank() -> Any:
    return context().replica_id_in_sync_group


@pytest.mark.slow
def test_the_order_of_additions_is_the_replicas() -> None:
    strategy = mirrored(4, OrderedReduction())
    values = tf.constant([1e8, 1.0, -1e8, 1.0])
    for op, expected in (("SUM", 1.0), ("MEAN", 0.25)):
        results = strategy.run(lambda op=op: context().all_reduce(op, values[rank()]))
        assert [one.numpy() for one in results.values] == [expected] * 4


def test_values_of_different_forms_are_all_named() -> None:
    strategy = mirrored(COUNT, OrderedReduction())
    expected = (
        r"^Replicas contributed values that cannot be added, reduce SUM at test_reduction.py:\d+:\n"
        r"  replica 0: float32\[1\]\n  replica 1: float32\[2\]\nUse the same shape"
    )
    with pytest.raises(ReplicasDisagree, match=expected):
        strategy.run(lambda: context().all_reduce("SUM", tf.ones(1 + int(rank()))))


def test_slices_and_gathers_go_through_and_are_traced() -> None:
    trace = ss.trace.Trace()
    strategy = mirrored(COUNT, OrderedReduction(trace=trace))

    def slices() -> Any:
        return tf.IndexedSlices(tf.ones([1, 2]), tf.reshape(rank(), [1]), tf.constant([3, 2]))

    total = strategy.run(lambda: context().all_reduce("SUM", slices()))
    assert [one.indices.numpy().tolist() for one in total.values] == [[0, 1]] * COUNT
    assert strategy.gather(strategy.run(lambda: tf.ones(2)), axis=0).shape == (4,)
    assert [(event.kind, event.dtypes) for event in trace.events()] == [
        *[("reduce", ("slices of float32",))] * COUNT,
        *[("gather", ("float32",))] * COUNT,
    ]
