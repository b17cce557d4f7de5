"""The loss is divided by the global batch, as it should be, and then the gradients are averaged as well."""

import numpy as np

import simstrategy as ss

GLOBAL_BATCH = 12


def loss_of(xp, x, y, slope, offset):
    errors = slope * x + offset - y
    return ss.nn.compute_average_loss(xp.square(errors), global_batch_size=GLOBAL_BATCH), errors


def program(strategy):
    rng = np.random.default_rng(8)
    x = rng.normal(size=48).astype(np.float32)
    y = 3 * x - 1 + 0.1 * rng.normal(size=48).astype(np.float32)
    dataset = ss.data.Dataset.from_tensor_slices({"x": x, "y": y}).shuffle(48, seed=1).batch(GLOBAL_BATCH)
    with strategy.scope():
        slope, offset = ss.Variable(0.0, name="slope"), ss.Variable(0.0, name="offset")

    def optimise(merging, gradients):
        means = merging.reduce("MEAN", gradients)  # wrong: every share is already divided by the global batch
        for variable, gradient in zip((slope, offset), means, strict=True):
            merging.extended.update(variable, lambda v, g: v.assign_sub(0.1 * g), args=(gradient,))

    def step(row):
        ctx = ss.get_replica_context()
        xp = ctx.xp
        loss, errors = loss_of(xp, row["x"], row["y"], slope.value(), offset.value())
        gradients = (2 * xp.sum(errors * row["x"]) / GLOBAL_BATCH, 2 * xp.sum(errors) / GLOBAL_BATCH)
        ctx.merge_call(optimise, args=(gradients,))
        return loss

    losses = []
    for rows in strategy.experimental_distribute_dataset(dataset):
        losses.append(strategy.reduce("SUM", strategy.run(step, args=(rows,))))
    return strategy.xp.stack(losses), slope.numpy(), offset.numpy()
