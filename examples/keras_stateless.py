"""A Keras 3 model whose state is in our variables, by `model.stateless_call`: one program on TensorFlow and on XLA.

    python examples/keras_stateless.py                          # TensorFlow
    KERAS_BACKEND=jax python examples/keras_stateless.py xla

Keras computes with the library that it was started with, so this runs on the backends of that library alone. Weights
are summed over the replicas; what a BatchNormalization has seen is each replica's own.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
from sklearn.datasets import load_digits

import simstrategy as ss

EXAMPLES = 300
BATCH = 64
RATE = 0.2


def make_model() -> Any:
    """Returns a small model with weights that do not depend on Keras's library."""
    layers = keras.layers
    model = keras.Sequential(
        [layers.Input((64,)), layers.Dense(16, activation="relu"), layers.BatchNormalization(), layers.Dense(10)]
    )
    generator = np.random.default_rng(0)
    for variable in model.trainable_variables:
        if len(variable.shape) == 2:
            variable.assign(generator.normal(scale=0.2, size=variable.shape).astype(np.float32))
    return model


def with_gradient(function: Callable[..., Any], parameters: Sequence[Any]) -> Any:
    """Returns function(parameters), a loss and more, and the gradients of the loss."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf  # noqa: PLC0415 - whichever library Keras has

        with tf.GradientTape() as tape:
            tape.watch(parameters)
            loss, more = function(parameters)
        return loss, more, tape.gradient(loss, parameters)
    import jax  # noqa: PLC0415

    (loss, more), gradients = jax.value_and_grad(function, has_aux=True)(parameters)
    return loss, more, gradients


def program(strategy: ss.Strategy) -> tuple[list[Any], list[Any]]:
    """Trains one epoch; returns the mean loss of each batch, and the weights."""
    digits = load_digits()
    features = (digits.data[:EXAMPLES] / 16).astype(np.float32)
    labels = digits.target[:EXAMPLES].astype(np.int32)
    model = make_model()
    crossentropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=None)
    with strategy.scope():
        weights = [
            ss.Variable(
                np.asarray(keras.ops.convert_to_tensor(one)), name=one.path, aggregation=ss.VariableAggregation.SUM
            )
            for one in model.trainable_variables
        ]
        seen = [
            ss.Variable(
                np.asarray(keras.ops.convert_to_tensor(one)),
                name=one.path,
                synchronization=ss.VariableSynchronization.ON_READ,
                aggregation=ss.VariableAggregation.MEAN,
            )
            for one in model.non_trainable_variables
        ]

    def step(batch: Any) -> Any:
        x, y = batch

        def loss_of(parameters: Any) -> Any:
            outputs, now = model.stateless_call(parameters, [one.value() for one in seen], x, training=True)
            losses = crossentropy(y, outputs)
            return keras.ops.sum(losses) / BATCH, (losses, now)

        _, (losses, now), gradients = with_gradient(loss_of, [one.value() for one in weights])
        for variable, gradient in zip(weights, gradients, strict=True):
            variable.assign_sub(gradient * RATE)
        for variable, value in zip(seen, now, strict=True):
            variable.assign(value)
        return losses

    dataset = ss.data.Dataset.from_tensor_slices((features, labels)).batch(BATCH)
    means = [
        strategy.reduce("MEAN", strategy.run(step, args=(batch,)), axis=0)
        for batch in strategy.experimental_distribute_dataset(dataset)
    ]
    with strategy.scope():  # a variable with a component on each replica is read as their aggregate
        return [np.asarray(mean) for mean in means], [one.numpy() for one in (*weights, *seen)]


if __name__ == "__main__":
    found, _ = program(ss.Strategy.mirrored(sys.argv[1] if len(sys.argv) > 1 else "tensorflow", replicas=2))
    print(f"Keras on {keras.backend.backend()}: " + " ".join(f"{float(mean):.5f}" for mean in found))
