"""A softmax classifier: each replica scales its share of the gradient to a norm before the shares are summed."""

import numpy as np

import simstrategy as ss

BATCH, CLASSES, LIMIT, RATE = 12, 3, 0.2, 0.5


def make_batches():
    rng = np.random.default_rng(77)
    points = rng.normal(size=(36, 4)).astype(np.float32)
    labels = np.argmax(points[:, :CLASSES] + 0.3 * rng.normal(size=(36, CLASSES)), axis=1)
    return ss.data.Dataset.from_tensor_slices((points, np.eye(CLASSES, dtype=np.float32)[labels])).batch(BATCH)


def softmax(xp, scores):
    raised = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
    return raised / xp.sum(raised, axis=1, keepdims=True)


def program(strategy):
    with strategy.scope():
        planes = ss.Variable(np.zeros((4, CLASSES), np.float32), aggregation=ss.VariableAggregation.MEAN, name="planes")

    def step(points, labels):
        ctx = ss.get_replica_context()
        xp = ctx.xp
        errors = softmax(xp, points @ planes.value()) - labels
        share = xp.matrix_transpose(points) @ errors / BATCH
        norm = xp.sqrt(xp.sum(share * share))
        share = share * xp.minimum(xp.ones_like(norm), LIMIT / norm)  # wrong: the norm of a share
        gradient = ctx.all_reduce("SUM", share)  # shows
        planes.assign_sub(RATE * gradient)

    for _epoch in range(2):
        for batch in strategy.experimental_distribute_dataset(make_batches()):
            strategy.run(step, args=batch)
    return planes.numpy()
