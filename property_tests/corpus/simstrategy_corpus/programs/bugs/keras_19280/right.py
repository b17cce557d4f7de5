"""An accuracy over an epoch, kept in variables that all replicas write."""

import argparse

import numpy as np
import tensorflow as tf

BATCH = 12


class Mean:
    """A metric: the mean of all values of all replicas."""

    def __init__(self):
        self.total, self.count = (self.variable() for _ in range(2))

    def variable(self):
        return tf.Variable(
            0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM
        )

    def update_state(self, values):
        self.total.assign_add(tf.reduce_sum(values))
        self.count.assign_add(tf.cast(tf.size(values), tf.float32))

    def result(self):
        return self.total.read_value() / self.count.read_value()


def program(strategy: tf.distribute.Strategy):
    generator = np.random.default_rng(2)
    scores = generator.uniform(size=(2 * BATCH,)).astype(np.float32)
    dataset = tf.data.Dataset.from_tensor_slices(scores).batch(BATCH)
    with strategy.scope():
        accuracy = Mean()

    def test_step(scores):
        accuracy.update_state(tf.cast(scores > 0.4, tf.float32))

    for part in strategy.experimental_distribute_dataset(dataset):
        strategy.run(test_step, args=(part,))
    return {"accuracy": np.array([float(accuracy.result())])}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicas", type=int, default=2)
    replicas = parser.parse_args().replicas
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * replicas)
    found = program(tf.distribute.MirroredStrategy([f"CPU:{number}" for number in range(replicas)]))
    for name, values in found.items():
        print("result", name, *values.flatten().tolist())
