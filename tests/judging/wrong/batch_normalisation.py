"""Two layers with batch normalisation between them; the statistics are those of the replica's part."""

import numpy as np

import simstrategy as ss

SUM = ss.VariableAggregation.SUM
BATCH = 12


def normalise(xp, x):
    mean = xp.mean(x, axis=0, keepdims=True)  # wrong: of this part of the batch
    variance = xp.mean(xp.square(x - mean), axis=0, keepdims=True)
    return (x - mean) / xp.sqrt(variance + 1e-3)


def program(strategy):
    rng = np.random.default_rng(17)
    inputs = (rng.normal(size=(24, 6)) + np.linspace(0, 2, 24)[:, None]).astype(np.float32)
    targets = np.tanh(inputs[:, :1] - inputs[:, 1:2]).astype(np.float32)
    hidden = rng.normal(size=(6, 5)).astype(np.float32)
    with strategy.scope():
        readout = ss.Variable(np.zeros((5, 1), np.float32), aggregation=SUM, name="readout")

    def step(batch):
        x, y = batch
        xp = ss.get_replica_context().xp
        activations = normalise(xp, xp.matmul(x, xp.asarray(hidden)))
        errors = xp.matmul(activations, readout.value()) - y
        readout.assign_sub(xp.matmul(xp.matrix_transpose(activations), errors) * (0.3 / BATCH))  # shows
        return xp.square(errors)

    losses = []
    dataset = ss.data.Dataset.from_tensor_slices((inputs, targets)).batch(BATCH)
    for batch in strategy.experimental_distribute_dataset(dataset):
        losses.append(strategy.reduce("MEAN", strategy.run(step, args=(batch,)), axis=0))
    return losses
