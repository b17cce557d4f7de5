"""Keras's own compile, fit and evaluate on scikit-learn's digits: do replica counts agree?

    simstrategy check examples/keras_digits.py --replicas 1,2,4                    # agrees
    simstrategy check examples/keras_digits.py --replicas 1,2,4 --function usual   # differs, and reports the cause
    simstrategy check examples/keras_digits.py --replicas 1,2,4 --function normalized
    simstrategy check examples/keras_digits.py --replicas 1,2,3 --workers 2,3 --function looped   # in processes as well

The type of a program's parameter selects the strategy: this one takes TensorFlow's, so it runs under the real
MirroredStrategy. The last batch is partial: 22 examples are 6, 6, 6 and 4 of four replicas.
"""

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

BATCH = 64
EXAMPLES = 150
EPOCHS = 2


def digits() -> tuple[Any, Any]:
    """Returns images [150, 64] float32 in 0..1 and labels [150] int32."""
    images, labels = load_digits(return_X_y=True)
    return (images[:EXAMPLES] / 16.0).astype(np.float32), labels[:EXAMPLES].astype(np.int32)


def fitted(strategy: tf.distribute.Strategy, layers: list[Any], loss: Any, rate: float) -> dict[str, Any]:
    """Returns the model and the metrics of Keras after two epochs in the order of the data."""
    images, labels = digits()
    with strategy.scope():
        hidden = [keras.layers.Dense(32, activation="relu", name="hidden"), *layers]
        model = keras.Sequential([keras.layers.Input((64,)), *hidden, keras.layers.Dense(10, name="out")])
        crossentropy = keras.metrics.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.SGD(rate), loss, metrics=["accuracy", crossentropy])
    model.fit(images, labels, batch_size=BATCH, epochs=EPOCHS, shuffle=False, verbose=0)
    # Metrics add up what the replicas counted. The loss in front of them does not: it is left out.
    return {"model": model, "evaluated": model.evaluate(images, labels, batch_size=BATCH, verbose=0)[1:]}


def program(strategy: tf.distribute.Strategy) -> dict[str, Any]:
    """Sums losses and divides by the whole batch, in the learning rate: the same on any number of replicas."""
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum")
    return fitted(strategy, [], loss, 0.2 / BATCH)


def usual(strategy: tf.distribute.Strategy) -> dict[str, Any]:
    """Leaves the mean to Keras, which takes it over each replica's part: wrong where parts are unequal."""
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return fitted(strategy, [], loss, 0.2)


def normalized(strategy: tf.distribute.Strategy) -> dict[str, Any]:
    """Has layers whose result depends on who shares a replica with an example."""
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum")
    layers = [keras.layers.BatchNormalization(name="norm"), keras.layers.Dropout(0.3, name="dropout")]
    return fitted(strategy, layers, loss, 0.2 / BATCH)


def looped(strategy: tf.distribute.Strategy) -> dict[str, Any]:
    """Trains by a loop of its own: `fit` of Keras 3.15 does not start under the strategy of several processes."""
    with strategy.scope():
        model = keras.Sequential([keras.layers.Input((64,)), keras.layers.Dense(32, activation="relu", name="hidden")])
        model.add(keras.layers.Dense(10, name="out"))
        optimizer = keras.optimizers.SGD(0.2)
        accuracy = keras.metrics.SparseCategoricalAccuracy()
    model_loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum")

    @tf.function(reduce_retracing=True)
    def step(batch: Any) -> Any:
        def update(images: Any, labels: Any) -> Any:
            with tf.GradientTape() as tape:
                logits = model(images, training=True)
                loss = model_loss(labels, logits) / BATCH
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            accuracy.update_state(labels, logits)
            return loss

        return strategy.reduce("SUM", strategy.run(update, args=batch), axis=None)

    data = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(digits()).batch(BATCH))
    losses = [step(batch) for _ in range(EPOCHS) for batch in data]
    return {"model": model, "losses": losses, "accuracy": accuracy.result()}
