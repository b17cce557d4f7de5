"""Loss scaling in float16: gradients of very different sizes are added in half precision."""

import numpy as np

import simstrategy as ss

SCALE = 64.0


def program(strategy):
    rng = np.random.default_rng(135)
    magnitudes = (10.0 ** rng.uniform(-3, 1, size=(24, 3))).astype(np.float16)
    with strategy.scope():
        master = ss.Variable(np.ones(3, np.float32), name="master")

    def apply(merging, scaled):
        total = merging.reduce("SUM", scaled)
        master.assign_sub(merging.xp.astype(total, "float32") / (SCALE * 240.0))

    def step(rows):
        ctx = ss.get_replica_context()
        ctx.merge_call(apply, args=(ctx.xp.sum(rows * SCALE, axis=0),))

    for rows in strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices(magnitudes).batch(8)):
        strategy.run(step, args=(rows,))
    return master.numpy()
