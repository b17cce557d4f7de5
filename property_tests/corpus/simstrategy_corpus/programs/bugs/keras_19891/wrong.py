"""A training step as a library's trainer makes it: mean loss, gradients combined over replicas."""

import argparse

import numpy as np
import tensorflow as tf

BATCH = 12


def scaled(loss):
    """Returns a replica's share of the loss."""
    return loss


def program(strategy: tf.distribute.Strategy):
    generator = np.random.default_rng(1)
    inputs = generator.uniform(-1, 1, (BATCH, 2)).astype(np.float32)
    targets = generator.uniform(-1, 1, (BATCH, 3)).astype(np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((inputs, targets)).batch(BATCH).repeat(3)
    with strategy.scope():
        kernel = tf.Variable(tf.ones((2, 3)))

    def train_step(data):
        inputs, targets = data
        with tf.GradientTape() as tape:
            loss = scaled(tf.reduce_mean(tf.square(tf.matmul(inputs, kernel) - targets)))
        gradient = tf.distribute.get_replica_context().all_reduce("SUM", tape.gradient(loss, kernel))
        kernel.assign_sub(0.1 * gradient)
        return loss

    losses = []
    for data in strategy.experimental_distribute_dataset(dataset):
        losses.append(float(strategy.reduce("SUM", strategy.run(train_step, args=(data,)), axis=None)))
    return {"losses": np.array(losses), "kernel": kernel.numpy()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicas", type=int, default=2)
    replicas = parser.parse_args().replicas
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * replicas)
    found = program(tf.distribute.MirroredStrategy([f"CPU:{number}" for number in range(replicas)]))
    for name, values in found.items():
        print("result", name, *values.flatten().tolist())
