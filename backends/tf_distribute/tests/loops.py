"""Custom training loops, right and wrong, which `test_corpus.py` checks.  No tests.

Each takes the strategy and returns what matters. 14 rows make batches of 6, 6 and 2, so parts are uneven or empty.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

ROWS = np.random.default_rng(3).normal(size=(14, 3)).astype(np.float32)
TARGETS = ROWS @ np.float32([1, -2, 3])
BATCH = 6.0

Strategy = tf.distribute.Strategy


def reduced(op: str, value: Any) -> Any:
    return tf.distribute.get_replica_context().all_reduce(op, value)


def replica() -> Any:
    return tf.distribute.get_replica_context().replica_id_in_sync_group


def weights_of(strategy: Any, **settings: Any) -> Any:
    with strategy.scope():
        return tf.Variable(tf.ones(3), name="w", **settings)


def batches(strategy: Any, *, rows: int = 14, size: int = 6) -> Any:
    data = tf.data.Dataset.from_tensor_slices((ROWS[:rows], TARGETS[:rows])).batch(size)
    return strategy.experimental_distribute_dataset(data)


def gradient_of(weights: Any, rows: Any, targets: Any, loss_of: Callable[[Any], Any]) -> Any:
    with tf.GradientTape() as tape:
        loss = loss_of((tf.linalg.matvec(rows, weights) - targets) ** 2)
    return tape.gradient(loss, weights)


def trained(strategy: Any, update: Callable[[Any, Any, Any], None], **data: int) -> Any:
    """Runs `update(weights, rows, targets)` on each replica for each batch; returns the weights."""
    weights = weights_of(strategy)
    step = tf.function(lambda batch: strategy.run(update, args=(weights, *batch)), reduce_retracing=True)
    for batch in batches(strategy, **data):
        step(batch)
    return weights.numpy()


def by_loss(op: str, loss_of: Callable[[Any], Any]) -> Callable[[Any, Any, Any], None]:
    def update(weights: Any, rows: Any, targets: Any) -> None:
        weights.assign_sub(0.1 * reduced(op, gradient_of(weights, rows, targets, loss_of)))

    return update


def of_the_batch(losses: Any) -> Any:
    return tf.reduce_sum(losses) / BATCH


# Wrong.


def mean_of_means(strategy: Strategy) -> Any:
    return trained(strategy, by_loss("MEAN", tf.reduce_mean), rows=10, size=5)


def sum_of_means(strategy: Strategy) -> Any:
    return trained(strategy, by_loss("SUM", tf.reduce_mean), rows=12)


def divided_twice(strategy: Strategy) -> Any:
    return trained(strategy, by_loss("MEAN", of_the_batch))


def decay_of_each_replica(strategy: Strategy) -> Any:
    def update(weights: Any, rows: Any, targets: Any) -> None:
        gradient = gradient_of(weights, rows, targets, of_the_batch) + 0.2 * tf.convert_to_tensor(weights)
        weights.assign_sub(0.1 * reduced("SUM", gradient))

    return trained(strategy, update)


def clipped_before_the_sum(strategy: Strategy) -> Any:
    def update(weights: Any, rows: Any, targets: Any) -> None:
        gradient = tf.clip_by_norm(gradient_of(weights, rows, targets, of_the_batch), 0.5)
        weights.assign_sub(0.1 * reduced("SUM", gradient))

    return trained(strategy, update)


def rate_times_replicas(strategy: Strategy) -> Any:
    def update(weights: Any, rows: Any, targets: Any) -> None:
        rate = 0.05 * strategy.num_replicas_in_sync
        weights.assign_sub(rate * reduced("SUM", gradient_of(weights, rows, targets, of_the_batch)))

    return trained(strategy, update)


def left_by_each_replica(strategy: Strategy) -> Any:
    """The variable that differs is not returned."""
    with strategy.scope():
        seen = tf.Variable(0.0, name="seen")

    def update(weights: Any, rows: Any, targets: Any) -> None:
        seen.assign_add(tf.reduce_sum(rows))
        by_loss("SUM", of_the_batch)(weights, rows, targets)

    return trained(strategy, update)


def average_on_one_replica(strategy: Strategy) -> Any:
    with strategy.scope():
        average = tf.Variable(tf.zeros(3), name="average")
    weights = weights_of(strategy)

    def step(rows: Any, targets: Any) -> None:
        by_loss("SUM", of_the_batch)(weights, rows, targets)
        if replica() == 0:
            average.assign(0.9 * average + 0.1 * tf.convert_to_tensor(weights))

    for batch in batches(strategy):
        strategy.run(step, args=batch)
    return weights.numpy()


def one_replica_reduces(strategy: Strategy) -> Any:
    def step() -> Any:
        total = tf.ones(2)
        if tf.get_static_value(replica()) == 0:
            total = reduced("SUM", total)
        return total

    return strategy.experimental_local_results(tf.function(lambda: strategy.run(step))())[0]


def other_operations(strategy: Strategy) -> Any:
    """TensorFlow combines by what replica 0 asks for."""

    def step() -> Any:
        return reduced("SUM" if replica() == 0 else "MEAN", tf.ones(2) * (2.0 if replica() == 0 else 0.0))

    return strategy.experimental_local_results(strategy.run(step))[0]


def printed_mean_of_means(strategy: Strategy) -> Any:
    """The weights are right, and the loss that is returned is not."""
    weights = weights_of(strategy)

    def step(rows: Any, targets: Any) -> Any:
        by_loss("SUM", of_the_batch)(weights, rows, targets)
        return tf.reduce_mean((tf.linalg.matvec(rows, weights) - targets) ** 2)

    data = batches(strategy, rows=10, size=5)
    return {"losses": [strategy.reduce("MEAN", strategy.run(step, args=batch), axis=None) for batch in data]}


def batch_of_each_replica(strategy: Strategy) -> Any:
    size = 2 * strategy.num_replicas_in_sync
    return trained(strategy, by_loss("SUM", lambda losses: tf.reduce_sum(losses) / 2.0), rows=12, size=size)


# Lawful, though some look wrong.


def of_the_whole_batch(strategy: Strategy) -> Any:
    return trained(strategy, by_loss("SUM", of_the_batch))


def counted_rows(strategy: Strategy) -> Any:
    def update(weights: Any, rows: Any, targets: Any) -> None:
        gradient, count = gradient_of(weights, rows, targets, tf.reduce_sum), tf.cast(tf.shape(rows)[0], tf.float32)
        weights.assign_sub(0.1 * reduced("SUM", gradient) / reduced("SUM", count))

    return trained(strategy, update)


def scaled_and_averaged(strategy: Strategy) -> Any:
    """A mean of values that are multiplied by the number of replicas is their sum."""
    count = strategy.num_replicas_in_sync
    return trained(strategy, by_loss("MEAN", lambda losses: of_the_batch(losses) * count))


def clipped_after_the_sum(strategy: Strategy) -> Any:
    def update(weights: Any, rows: Any, targets: Any) -> None:
        gradient = reduced("SUM", gradient_of(weights, rows, targets, of_the_batch))
        weights.assign_sub(0.1 * tf.clip_by_norm(gradient, 0.5))

    return trained(strategy, update)


def decay_after_the_sum(strategy: Strategy) -> Any:
    def update(weights: Any, rows: Any, targets: Any) -> None:
        gradient = reduced("SUM", gradient_of(weights, rows, targets, of_the_batch))
        weights.assign_sub(0.1 * (gradient + 0.2 * tf.convert_to_tensor(weights)))

    return trained(strategy, update)


def counter_of_each_replica(strategy: Strategy) -> Any:
    """Every replica counts its rows alone, and reading the variable adds them."""
    on_read = tf.VariableSynchronization.ON_READ
    with strategy.scope():
        seen = tf.Variable(0.0, name="seen", synchronization=on_read, aggregation=tf.VariableAggregation.SUM)

    def update(weights: Any, rows: Any, targets: Any) -> None:
        seen.assign_add(tf.cast(tf.shape(rows)[0], tf.float32))
        by_loss("SUM", of_the_batch)(weights, rows, targets)

    return trained(strategy, update), seen.read_value()


def equal_writes_of_all_replicas(strategy: Strategy) -> Any:
    """No aggregation: but every replica writes what all of them have."""
    with strategy.scope():
        steps = tf.Variable(0, name="steps", dtype=tf.int64)

    def update(weights: Any, rows: Any, targets: Any) -> None:
        steps.assign_add(1)
        by_loss("SUM", of_the_batch)(weights, rows, targets)

    return trained(strategy, update)


def summed_by_the_variable(strategy: Strategy) -> Any:
    weights = weights_of(strategy, aggregation=tf.VariableAggregation.SUM)

    def step(rows: Any, targets: Any) -> None:
        weights.assign_add(-0.1 * gradient_of(weights, rows, targets, of_the_batch))

    for batch in batches(strategy, rows=12):
        # A sum of all replicas' changes is added once to each component.
        strategy.run(step, args=batch)
    return weights.numpy()


def noise_of_each_row(strategy: Strategy) -> Any:
    """Draws by a seed that a row has, whatever replica it is on."""

    def update(weights: Any, rows: Any, targets: Any) -> None:
        seeds = tf.bitcast(rows[:, :2], tf.int32)
        noise = tf.map_fn(lambda seed: tf.random.stateless_normal([3], seed), seeds, fn_output_signature=tf.float32)
        by_loss("SUM", of_the_batch)(weights, rows + 0.1 * noise, targets)

    return trained(strategy, update)


def parts_of_a_prediction(strategy: Strategy) -> Any:
    """Each replica returns the part that it predicts."""
    weights = weights_of(strategy)
    return [strategy.run(lambda rows, _: tf.linalg.matvec(rows, weights), args=batch) for batch in batches(strategy)]


def gathered(strategy: Strategy) -> Any:
    weights = weights_of(strategy)
    data = batches(strategy, rows=12)
    parts = [strategy.run(lambda rows, _: tf.linalg.matvec(rows, weights), args=batch) for batch in data]
    return [strategy.gather(one, axis=0) for one in parts]


def mean_of_equal_parts(strategy: Strategy) -> Any:
    """A mean of means is right where all parts have one size."""
    return trained(strategy, by_loss("MEAN", tf.reduce_mean), rows=12)
