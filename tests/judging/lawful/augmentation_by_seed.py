"""Replicas draw augmentations by `ctx.seed`, so the losses depend on how many of them there are, on purpose."""

import numpy as np

import simstrategy as ss


def program(strategy):
    images = np.random.default_rng(155).uniform(size=(16, 9)).astype(np.float32)
    with strategy.scope():
        template = ss.Variable(np.zeros(9, np.float32), aggregation=ss.VariableAggregation.SUM, name="template")

    def step(part):
        ctx = ss.get_replica_context()
        noise = np.random.default_rng(ctx.seed("augment")).normal(0, 0.1, size=part.shape)
        noisy = part + ctx.xp.asarray(noise.astype(np.float32))
        template.assign_add(0.5 * ctx.xp.sum(noisy - template.value(), axis=0) / 8.0)

    for part in strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices(images).batch(8)):
        strategy.run(step, args=(part,))
    return template.numpy()
