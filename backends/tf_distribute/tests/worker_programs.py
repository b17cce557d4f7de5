"""Programs that `test_multi_worker.py` runs in processes, one for each worker.  No tests."""

import json
import os
import signal
import threading
from typing import Any

import numpy as np
import tensorflow as tf

ROWS = np.random.default_rng(3).normal(size=(14, 3)).astype(np.float32)
TARGETS = ROWS @ np.float32([1, -2, 3])
BATCH = 6.0  # the last batch has 2 rows: 1 and 1 of two workers, and none for the third of three

Strategy = tf.distribute.Strategy


def worker() -> int:
    """Returns the number of this process's worker; 0 in one process."""
    found: int = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {}).get("index", 0)
    return found


def in_workers() -> bool:
    return "TF_CONFIG" in os.environ


def batches(strategy: Any, *, rows: int = 14, size: int = 6) -> Any:
    data = tf.data.Dataset.from_tensor_slices((ROWS[:rows], TARGETS[:rows])).batch(size)
    return strategy.experimental_distribute_dataset(data)


def update(weights: Any, rows: Any, targets: Any) -> Any:
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((tf.linalg.matvec(rows, weights) - targets) ** 2) / BATCH
    gradient = tape.gradient(loss, weights)
    weights.assign_sub(0.1 * tf.distribute.get_replica_context().all_reduce("SUM", gradient))
    return loss


def weights_of(strategy: Any) -> Any:
    with strategy.scope():
        return tf.Variable(tf.ones(3), name="w")


def trained(strategy: Any, data: Any, weights: Any) -> Any:
    step = tf.function(lambda batch: strategy.run(update, args=(weights, *batch)), reduce_retracing=True)
    losses = [strategy.reduce("SUM", step(batch), axis=None) for batch in data]
    return {"losses": losses, "weights": weights.numpy()}


# Lawful.


def of_the_whole_batch(strategy: Strategy) -> Any:
    """Returns what is lawful as well: a value of each worker's own, and one that the first worker alone returns."""
    weights = weights_of(strategy)
    with strategy.scope():
        seen = tf.Variable(
            0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM
        )

    def step(rows: Any, targets: Any) -> Any:
        seen.assign_add(tf.cast(tf.shape(rows)[0], tf.float32))
        return update(weights, rows, targets)

    losses = []
    for batch in batches(strategy):
        local = strategy.run(step, args=batch)
        losses.append(strategy.experimental_local_results(local))
    gathered = strategy.gather(strategy.run(lambda: tf.ones([2]) * tf.reduce_sum(weights)), axis=0)
    found = {"weights": weights.numpy(), "losses": losses, "seen": seen.read_value(), "gathered": gathered}
    return found | ({"only": 1.0} if worker() == 0 and in_workers() else {})


def makes_variables_in_its_first_step(strategy: Strategy, *, in_all: bool = True) -> Any:
    """Returns what a traced function trains whose first call makes variables, as the optimizers of Keras do."""
    weights = weights_of(strategy)
    made: list[Any] = []

    def step(rows: Any, targets: Any) -> Any:
        loss = update(weights, rows, targets)
        if not made and (in_all or worker() == 0):
            made.extend([tf.Variable(tf.zeros(3), name="slot"), tf.Variable(1.0, name="rate")])
        for one in made:
            one.assign_add(tf.distribute.get_replica_context().all_reduce("SUM", tf.ones_like(one)))
        return loss

    traced = tf.function(lambda batch: strategy.run(step, args=batch))
    losses = [strategy.reduce("SUM", traced(batch), axis=None) for batch in batches(strategy, rows=12)]
    return {"losses": losses, "weights": weights.numpy(), "made": [one.numpy() for one in made]}


def trains_by_keras(strategy: Strategy) -> Any:
    """Returns weights that SGD trains, which makes its slots in the first call of a traced function."""
    weights = weights_of(strategy)
    with strategy.scope():
        optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)

    def step(rows: Any, targets: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((tf.linalg.matvec(rows, weights) - targets) ** 2) / BATCH
        optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])

    traced = tf.function(lambda batch: strategy.run(step, args=batch))
    for batch in batches(strategy, rows=12):
        traced(batch)
    return weights


def first_value_of_a_host_function(strategy: Strategy) -> Any:
    """Returns a variable whose first value, in a traced function, is an operation that TensorFlow takes as stateful."""
    made: list[Any] = []

    def first() -> Any:
        value = tf.numpy_function(lambda: ROWS[0], [], tf.float32)
        value.set_shape([3])
        return value

    def step(rows: Any, _targets: Any) -> None:
        if not made:
            made.append(tf.Variable(first))
        made[0].assign_add(tf.distribute.get_replica_context().all_reduce("SUM", tf.reduce_sum(rows, 0)))

    traced = tf.function(lambda batch: strategy.run(step, args=batch))
    for batch in batches(strategy, rows=12):
        traced(batch)
    return made[0].numpy()


def compiled_by_xla(strategy: Strategy) -> Any:
    """XLA compiles no function with calls of the host in it."""
    weights = weights_of(strategy)
    doubled = tf.function(lambda: strategy.run(lambda: tf.ones(2) * 2.0), jit_compile=True)
    return strategy.experimental_local_results(doubled())[0], weights


# Wrong.


def first_worker_reduces(strategy: Strategy) -> Any:
    weights = weights_of(strategy)

    def step() -> Any:
        context = tf.distribute.get_replica_context()
        total = tf.reduce_sum(weights)
        if in_workers() and tf.get_static_value(context.replica_id_in_sync_group) == 0:
            total = context.all_reduce("SUM", total)
        return total

    return strategy.reduce("SUM", tf.function(lambda: strategy.run(step))(), axis=None)


def first_worker_makes_variables_in_its_first_step(strategy: Strategy) -> Any:
    return makes_variables_in_its_first_step(strategy, in_all=not in_workers())


def batch_of_each_worker(strategy: Strategy) -> Any:
    """Each worker takes another global batch."""
    return trained(strategy, batches(strategy, rows=12, size=4 if worker() else 6), weights_of(strategy))


def weights_of_each_worker(strategy: Strategy) -> Any:
    """TensorFlow sends the first values from the first worker, and no later ones."""
    weights = weights_of(strategy)
    weights.assign(np.random.default_rng(worker()).normal(size=3).astype(np.float32))
    return trained(strategy, batches(strategy, rows=12), weights)["losses"][:1]


def same_rows_for_each_worker(strategy: Strategy) -> Any:
    """The function that makes the data leaves `shard` out."""

    def made(context: Any) -> Any:
        return tf.data.Dataset.from_tensor_slices((ROWS[:12], TARGETS[:12])).batch(
            context.get_per_replica_batch_size(6)
        )

    data = strategy.distribute_datasets_from_function(made)
    steps = [batch for batch, _ in zip(data, range(2), strict=False)]
    return trained(strategy, steps, weights_of(strategy))


def one_raises(strategy: Strategy) -> Any:
    if worker() == 1:
        raise KeyError("mine")
    return trained(strategy, batches(strategy), weights_of(strategy))


def one_is_killed(strategy: Strategy) -> Any:
    if worker() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return trained(strategy, batches(strategy), weights_of(strategy))


def one_sleeps(strategy: Strategy) -> Any:
    if worker() == 1:
        threading.Event().wait(1000)
    return trained(strategy, batches(strategy), weights_of(strategy))


def other_shapes(strategy: Strategy) -> Any:
    def step() -> Any:
        value = tf.ones(2 + worker())
        return tf.reduce_sum(tf.distribute.get_replica_context().all_reduce("SUM", value))

    return strategy.reduce("SUM", tf.function(lambda: strategy.run(step))(), axis=None)


def first_worker_saves(strategy: Strategy) -> Any:
    """Reading what replicas have counted needs all workers."""
    with strategy.scope():
        seen = tf.Variable(
            1.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM, name="seen"
        )
    return seen.read_value() if worker() == 0 else None


def adds_on_one_worker(strategy: Strategy, *, on: tuple[int, ...] = (1,)) -> Any:
    """Writes mirrored variables in the loop, on some workers; one of them is written nowhere else."""
    weights = weights_of(strategy)
    with strategy.scope():
        other = tf.Variable(tf.ones(3), name="other")
    step = tf.function(lambda batch: strategy.run(update, args=(weights, *batch)), reduce_retracing=True)
    for number, batch in enumerate(batches(strategy, rows=12), 1):
        step(batch)
        if number == 1 and in_workers() and worker() in on:
            weights.assign_add(tf.ones(3) * worker())
            other.assign_add(tf.ones(3) * worker())
    return weights.numpy()


def adds_its_number(strategy: Strategy) -> Any:
    return adds_on_one_worker(strategy, on=(0, 1))
