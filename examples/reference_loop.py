"""The loop of the r1.15 reference page, with nothing changed but the line that builds the strategy.

    python examples/reference_loop.py

Runs it with the whole epoch in one `tf.function`, with each step in one, and without any, under the real
`tf.distribute.MirroredStrategy` and under ours, and shows that losses and weights have the same bits. It is a lesson,
not a benchmark. Source of the loop: the documentation of `tf.compat.v2.distribute.Strategy`, TensorFlow 1.15.
"""

from typing import Any

import numpy as np
import tensorflow as tf

import simstrategy as ss

EPOCHS = 3
REPLICAS = 2


def make_dataset() -> Any:
    """Returns 22 rows in batches of 8: the last one is partial, 3 rows for each of two replicas."""
    generator = np.random.default_rng(0)
    features = generator.normal(size=(22, 4)).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices((features, features @ np.float32([1, -2, 3, 0]))).batch(8)


def train(my_strategy: Any, *, compiled: str) -> tuple[list[Any], Any]:
    """Trains a linear model; returns each epoch's loss, and the weights.  compiled: "epoch", "step" or "nothing"."""
    # TensorFlow 2 has dropped the name that the page uses.
    experimental_run_v2 = getattr(my_strategy, "experimental_run_v2", my_strategy.run)

    with my_strategy.scope():
        weights = tf.Variable(tf.zeros(4), aggregation=tf.VariableAggregation.SUM)

        def distribute_train_epoch(dataset: Any) -> Any:
            def replica_fn(inputs: Any) -> Any:
                features, labels = inputs
                with tf.GradientTape() as tape:
                    result = tf.reduce_sum((tf.linalg.matvec(features, weights) - labels) ** 2)
                weights.assign_sub(tape.gradient(result, weights) / 64.0)
                return result

            def train_step(x: Any) -> Any:
                per_replica_result = experimental_run_v2(replica_fn, args=(x,))
                return my_strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica_result, axis=None)

            if compiled == "step":
                train_step = tf.function(train_step)
            total_result = 0.0
            for x in dataset:
                total_result += train_step(x)
            return total_result

        if compiled == "epoch":
            distribute_train_epoch = tf.function(distribute_train_epoch)
        dist_dataset = my_strategy.experimental_distribute_dataset(make_dataset())
        results = [distribute_train_epoch(dist_dataset).numpy() for _ in range(EPOCHS)]
    return results, weights.numpy()


def main() -> None:
    """Prints two lines for each way to run the loop; raises SystemExit where losses or weights differ."""
    ours = ss.Strategy.mirrored("tensorflow", replicas=REPLICAS)
    copies = tf.distribute.ReductionToOneDevice()
    theirs = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(REPLICAS)], cross_device_ops=copies)
    different = 0
    for how, compiled in (("an epoch in a graph", "epoch"), ("a step in a graph", "step"), ("eagerly", "nothing")):
        expected, their_weights = train(theirs, compiled=compiled)
        losses, weights = train(ours, compiled=compiled)
        same = (losses, weights.tobytes()) == (expected, their_weights.tobytes())
        print(f"{how:20} MirroredStrategy  losses {[f'{loss:.6f}' for loss in expected]}")
        print(f"{'':20} ours              losses {[f'{loss:.6f}' for loss in losses]}", end="  ")
        print("the same bits" if same else "DIFFERENT")
        different += not same
    if different:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
