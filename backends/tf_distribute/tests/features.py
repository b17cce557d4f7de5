"""Programs that use one feature of TensorFlow or Keras each, right and wrong, which `test_corpus.py` checks.  No tests.

Checkpoints, mixed precision with loss scaling, several steps in one call, a `train_step` of one's own, metrics,
gathers, and datasets that a function makes.
"""

import tempfile
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras_fits import fitted, summed
from loops import BATCH, ROWS, TARGETS, batches, by_loss, gradient_of, of_the_batch, reduced, weights_of

Strategy = tf.distribute.Strategy

ON_READ = tf.VariableSynchronization.ON_READ
SUM = tf.VariableAggregation.SUM


# Checkpoint and resume: the second half of the training begins with what the first half has saved.


class Momentum(tf.Module):
    """Weights [3], their momentum, and how many rows each replica has seen."""

    def __init__(self, strategy: Any) -> None:
        with strategy.scope():
            self.weights = tf.Variable(tf.ones(3), name="w")
            self.momentum = tf.Variable(tf.zeros(3), name="m")
            self.seen = tf.Variable(0.0, name="seen", synchronization=ON_READ, aggregation=SUM)

    def update(self, rows: Any, targets: Any) -> None:
        gradient = reduced("SUM", gradient_of(self.weights, rows, targets, of_the_batch))
        self.seen.assign_add(tf.cast(tf.shape(rows)[0], tf.float32))
        self.momentum.assign(0.9 * tf.convert_to_tensor(self.momentum) + gradient)
        self.weights.assign_sub(0.05 * tf.convert_to_tensor(self.momentum))


def trained_on(strategy: Any, state: Momentum) -> None:
    for batch in batches(strategy, rows=12):
        strategy.run(state.update, args=batch)


def resumed(strategy: Strategy) -> Any:
    first, second = Momentum(strategy), Momentum(strategy)
    trained_on(strategy, first)
    with tempfile.TemporaryDirectory() as folder:
        path = tf.train.Checkpoint(state=first).write(str(Path(folder) / "saved"))
        tf.train.Checkpoint(state=second).read(path).assert_consumed()
    trained_on(strategy, second)
    return {"weights": second.weights.numpy(), "seen": second.seen.read_value()}


def resumed_from_one_replica(strategy: Strategy) -> Any:
    """Saves what the first replica has seen, and not what all of them have."""
    first, second = Momentum(strategy), Momentum(strategy)
    trained_on(strategy, first)
    saved = [strategy.experimental_local_results(one)[0].numpy() for one in (first.weights, first.momentum, first.seen)]
    for variable, value in zip((second.weights, second.momentum, second.seen), saved, strict=True):
        variable.assign(value)
    trained_on(strategy, second)
    return {"weights": second.weights.numpy(), "seen": second.seen.read_value()}


# Mixed precision with loss scaling: gradients that are not finite are left out.

SCALE = 1024.0
LOUD = ROWS * np.float32([[60.0 if row == 1 else 1.0] for row in range(len(ROWS))])


def scaled(strategy: Any, *, skips_its_own: bool) -> Any:
    weights = weights_of(strategy)

    def update(rows: Any, targets: Any) -> None:
        with tf.GradientTape() as tape:
            errors = tf.linalg.matvec(rows, tf.cast(weights, tf.float16)) - targets
            loss = tf.reduce_sum(errors * errors) * tf.constant(SCALE / BATCH, tf.float16)
        gradient = tf.cast(tape.gradient(loss, weights), tf.float32) / SCALE
        if skips_its_own:
            gradient = tf.where(tf.math.is_finite(gradient), gradient, 0.0)
        total = reduced("SUM", gradient)
        finite = tf.reduce_all(tf.math.is_finite(total))
        weights.assign_sub(tf.where(finite, 0.1 * total, tf.zeros(3)))

    data = tf.data.Dataset.from_tensor_slices((np.float16(LOUD[:12]), np.float16(TARGETS[:12]))).batch(6)
    for batch in strategy.experimental_distribute_dataset(data):
        strategy.run(update, args=batch)
    return weights.numpy()


def skipped_by_all(strategy: Strategy) -> Any:
    return scaled(strategy, skips_its_own=False)


def skipped_by_each_replica(strategy: Strategy) -> Any:
    return scaled(strategy, skips_its_own=True)


def half_precision_fit(strategy: Strategy) -> Any:
    def optimizer() -> Any:
        return keras.mixed_precision.LossScaleOptimizer(keras.optimizers.SGD(0.05 / BATCH), initial_scale=256.0)

    return fitted(strategy, [keras.layers.Dense(2, dtype="mixed_float16")], summed(), optimizer)


# Several steps in one call of a compiled function.


def partial_batch_among_several_steps(strategy: Strategy) -> Any:
    return fitted(strategy, [], "mse", rows=19, steps_per_execution=3)


# A `train_step` of one's own.


class Own(keras.Model):  # type: ignore[misc]  # Keras's way
    """A linear model that is trained by its own step.  count: by what the sum of the losses is divided; None: mean."""

    def __init__(self, count: float | None) -> None:
        keras.Model.__init__(self)
        self.out, self.count = keras.layers.Dense(1, name="out"), count

    def call(self, rows: Any) -> Any:
        return self.out(rows)

    def train_step(self, data: Any) -> Any:
        rows, targets = data
        with tf.GradientTape() as tape:
            losses = (self(rows, training=True) - targets) ** 2
            loss = tf.reduce_mean(losses) if self.count is None else tf.reduce_sum(losses) / self.count
        self.optimizer.apply_gradients(
            zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables, strict=True)
        )
        return {"rows": tf.shape(rows)[0]}


def by_own_step(strategy: Any, count: float | None) -> Any:
    with strategy.scope():
        model = Own(count)
        model.build((None, 3))
        model.compile(keras.optimizers.SGD(0.05))
    model.fit(ROWS[:12], TARGETS[:12, None], batch_size=6, epochs=1, shuffle=False, verbose=0)
    return model


def own_step_by_the_batch(strategy: Strategy) -> Any:
    return by_own_step(strategy, BATCH)


def own_step_by_each_part(strategy: Strategy) -> Any:
    return by_own_step(strategy, None)


# Metrics.


def measured(strategy: Any, *, by_example: bool) -> Any:
    weights = weights_of(strategy)
    with strategy.scope():
        metric = keras.metrics.Mean(name="error")

    def step(rows: Any, targets: Any) -> None:
        losses = (tf.linalg.matvec(rows, weights) - targets) ** 2
        metric.update_state(losses if by_example else tf.reduce_mean(losses))

    for batch in batches(strategy, rows=10, size=5):
        strategy.run(step, args=batch)
    return {"error": metric.result()}


def metric_of_examples(strategy: Strategy) -> Any:
    return measured(strategy, by_example=True)


def metric_of_means(strategy: Strategy) -> Any:
    return measured(strategy, by_example=False)


# Gathers.


def gathered_means(strategy: Strategy) -> Any:
    """Takes the mean of what all replicas have gathered, each of which is a mean already."""
    weights = weights_of(strategy)

    def step(rows: Any, _: Any) -> Any:
        return tf.reduce_mean(tf.linalg.matvec(rows, weights))[None]

    data = batches(strategy, rows=10, size=5)
    return [tf.reduce_mean(strategy.gather(strategy.run(step, args=batch), axis=0)) for batch in data]


def gathered_in_the_step(strategy: Strategy) -> Any:
    """Every replica standardises its rows by all of them."""
    weights = weights_of(strategy)

    def update(rows: Any, targets: Any) -> None:
        whole = tf.distribute.get_replica_context().all_gather(rows, axis=0)
        by_loss("SUM", of_the_batch)(weights, rows - tf.reduce_mean(whole, axis=0), targets)

    for batch in batches(strategy, rows=12):
        strategy.run(update, args=batch)
    return weights.numpy()


# Datasets that a function makes.


def from_function(strategy: Any, *, whole_batch: bool) -> Any:
    weights = weights_of(strategy)

    def made(context: Any) -> Any:
        size = 6 if whole_batch else context.get_per_replica_batch_size(6)
        data = tf.data.Dataset.from_tensor_slices((ROWS[:12], TARGETS[:12]))
        return data.shard(context.num_input_pipelines, context.input_pipeline_id).batch(size)

    for batch in strategy.distribute_datasets_from_function(made):
        strategy.run(by_loss("SUM", of_the_batch), args=(weights, *batch))
    return weights.numpy()


def batch_of_all_replicas(strategy: Strategy) -> Any:
    return from_function(strategy, whole_batch=False)


def whole_batch_for_each_replica(strategy: Strategy) -> Any:
    return from_function(strategy, whole_batch=True)
