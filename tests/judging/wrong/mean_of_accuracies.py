"""Evaluates a fixed classifier; each replica returns the accuracy on its part of the batch."""

import numpy as np

import simstrategy as ss

rng = np.random.default_rng(11)
IMAGES = rng.normal(size=(31, 5)).astype(np.float32)
LABELS = rng.integers(0, 4, size=31).astype(np.int32)
KERNEL = rng.normal(size=(5, 4)).astype(np.float32)


def evaluate(images, labels):
    xp = ss.get_replica_context().xp
    guesses = xp.argmax(xp.matmul(images, xp.asarray(KERNEL)), axis=1)
    return xp.mean(xp.astype(guesses == labels, "float32"))  # wrong: the mean of a part, whose size is lost


def program(strategy):
    batches = ss.data.Dataset.from_tensor_slices((IMAGES, LABELS)).batch(16)
    accuracies = []
    for batch in strategy.experimental_distribute_dataset(batches):
        accuracies.append(strategy.reduce("MEAN", strategy.run(evaluate, args=batch)))  # shows
    return {"accuracy": strategy.xp.stack(accuracies)}
