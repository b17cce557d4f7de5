"""Contrastive learning: the other rows of the part are the negatives, not those of the whole batch."""

import numpy as np

import simstrategy as ss

TEMPERATURE = 0.5


def program(strategy):
    rng = np.random.default_rng(403)
    anchors = rng.normal(size=(24, 3)).astype(np.float32)
    positives = (anchors + 0.3 * rng.normal(size=(24, 3))).astype(np.float32)
    with strategy.scope():
        scale = ss.Variable(np.ones(3, np.float32), aggregation=ss.VariableAggregation.SUM, name="scale")

    def softmax(xp, scores):
        powers = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
        return powers / xp.sum(powers, axis=1, keepdims=True)

    def step(pair):
        xp = ss.get_replica_context().xp
        a, p = pair["anchor"], pair["positive"]
        scores = xp.matmul(a * scale.value(), xp.matrix_transpose(p)) / TEMPERATURE  # wrong: positives of this part
        excess = softmax(xp, scores) - xp.eye(a.shape[0])
        slope = xp.sum(a * xp.matmul(excess, p), axis=0) / TEMPERATURE
        scale.assign_sub(0.05 * slope / 12)  # shows

    rows = ss.data.Dataset.from_tensor_slices({"anchor": anchors, "positive": positives}).batch(12)
    for pair in strategy.experimental_distribute_dataset(rows):
        strategy.run(step, args=(pair,))
    return {"scale": scale.numpy()}
