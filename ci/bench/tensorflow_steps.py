"""One training step on TensorFlow's logical CPUs: ours beside MirroredStrategy's, in a graph and eager; for budgets.py.

    python ci/bench/tensorflow_steps.py REPLICAS

Prints JSON: seconds for each, medians of steps that take turns. Both do the same: an MLP 784-512-10 on 128 examples a
replica, gradients all-reduced in rank order by copies, and weights assigned.
"""

import json
import sys
import time

import numpy as np
import tensorflow as tf

import simstrategy as ss

EXAMPLES = 128
STEPS = {"graph": 40, "eager": 8}


def step_of(strategy, get_replica_context):
    """Returns step(images, labels), which trains once on all replicas and returns the mean loss."""
    generator = np.random.default_rng(0)
    with strategy.scope():
        weights = [
            tf.Variable(
                generator.normal(scale=0.03, size=shape).astype(np.float32), aggregation=tf.VariableAggregation.MEAN
            )
            for shape in ((784, 512), (512, 10))
        ]

    def replica(images, labels):
        with tf.GradientTape() as tape:
            logits = tf.nn.relu(images @ weights[0]) @ weights[1]
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        gradients = get_replica_context().all_reduce("MEAN", tape.gradient(loss, weights))
        for variable, gradient in zip(weights, gradients, strict=True):
            variable.assign_sub(0.01 * gradient)
        return loss

    return lambda images, labels: strategy.reduce("MEAN", strategy.run(replica, args=(images, labels)), axis=None)


def subjects(replicas):
    """Returns (name, step, batch) of ours and theirs."""
    ours = ss.Strategy.mirrored("tensorflow", replicas=replicas)
    copies = tf.distribute.ReductionToOneDevice()
    theirs = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(replicas)], cross_device_ops=copies)
    generator = np.random.default_rng(1)
    images = generator.normal(size=(replicas * EXAMPLES, 784)).astype(np.float32)
    labels = generator.integers(0, 10, size=replicas * EXAMPLES).astype(np.int32)
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).batch(replicas * EXAMPLES, drop_remainder=True)
    for name, strategy, context in (
        ("ours", ours, ss.get_replica_context),
        ("theirs", theirs, tf.distribute.get_replica_context),
    ):
        batch = next(iter(strategy.experimental_distribute_dataset(dataset)))
        yield name, step_of(strategy, context), batch


def main(replicas):
    made = list(subjects(replicas))
    times = {}
    for how, count in STEPS.items():
        steps = [(name, tf.function(step) if how == "graph" else step, batch) for name, step, batch in made]
        losses = [float(step(*batch)) for _, step, batch in steps]
        assert np.isclose(*losses, rtol=1e-5, atol=0), losses  # after many steps, apart by rounding
        found = {name: [] for name, *_ in steps}
        for number in range(count):
            for name, step, batch in steps if number % 2 else reversed(steps):
                start = time.perf_counter()
                float(step(*batch))
                found[name].append(time.perf_counter() - start)
        times |= {f"{name}_{how}_{replicas}": float(np.median(values)) for name, values in found.items()}
    print(json.dumps(times))


if __name__ == "__main__":
    main(int(sys.argv[1]))
