"""A custom training loop as in the tutorial on distributed training."""

import argparse

import numpy as np
import tensorflow as tf

BATCH = 8


def program(strategy: tf.distribute.Strategy):
    generator = np.random.default_rng(0)
    images = generator.normal(size=(16, 6)).astype(np.float32)
    labels = generator.integers(3, size=16)
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).batch(BATCH)
    distributed = strategy.experimental_distribute_dataset(dataset)
    with strategy.scope():
        weights = tf.Variable(tf.zeros((6, 3)))
        loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")

    def step(inputs):
        images, labels = inputs
        with tf.GradientTape() as tape:
            per_example = loss_object(labels, tf.matmul(images, weights))
            loss = tf.nn.compute_average_loss(per_example, global_batch_size=BATCH)
        gradient = tape.gradient(loss, weights)
        gradient = tf.distribute.get_replica_context().all_reduce("SUM", gradient)
        weights.assign_sub(0.1 * gradient)
        return loss

    losses = []
    for inputs in distributed:
        losses.append(float(strategy.reduce("SUM", strategy.run(step, args=(inputs,)), axis=None)))
    return {"losses": np.array(losses), "weights": weights.numpy()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicas", type=int, default=2)
    replicas = parser.parse_args().replicas
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * replicas)
    found = program(tf.distribute.MirroredStrategy([f"CPU:{number}" for number in range(replicas)]))
    for name, values in found.items():
        print("result", name, *values.flatten().tolist())
