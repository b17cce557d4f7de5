"""Softmax regression with the loss of a single-GPU script, and gradients that are summed."""

import numpy as np

import simstrategy as ss


def blobs(rows):
    rng = np.random.default_rng(21)
    labels = rng.integers(0, 3, size=rows)
    points = rng.normal(size=(rows, 2)) + np.array([[2.0, 0.0], [-1.0, 2.0], [-1.0, -2.0]])[labels]
    return points.astype(np.float32), np.eye(3, dtype=np.float32)[labels]


def program(strategy):
    dataset = ss.data.Dataset.from_tensor_slices(blobs(24)).batch(12)
    with strategy.scope():
        kernel = ss.Variable(np.zeros((2, 3), np.float32))
        bias = ss.Variable(np.zeros(3, np.float32))

    def replica_step(points, labels):
        ctx = ss.get_replica_context()
        xp = ctx.xp
        logits = xp.matmul(points, kernel.value()) + bias.value()
        scores = xp.exp(logits - xp.max(logits, axis=1, keepdims=True))
        probabilities = scores / xp.sum(scores, axis=1, keepdims=True)
        errors = (probabilities - labels) / points.shape[0]  # wrong: the rows of this part
        gradients = {"bias": xp.sum(errors, axis=0), "kernel": xp.matmul(xp.matrix_transpose(points), errors)}
        return ctx.all_reduce("SUM", gradients)  # shows

    for _ in range(2):
        for points, labels in strategy.experimental_distribute_dataset(dataset):
            gradients = strategy.run(replica_step, args=(points, labels))
            with strategy.scope():
                first = {name: strategy.unwrap(value)[0] for name, value in gradients.items()}
                kernel.assign_sub(0.2 * first["kernel"])
                bias.assign_sub(0.2 * first["bias"])
    return {"kernel": kernel.numpy(), "bias": bias.numpy()}
