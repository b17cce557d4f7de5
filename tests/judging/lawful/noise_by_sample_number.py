"""Each sample's noise is drawn from a generator that is seeded by the sample's number, whichever replica has it."""

import numpy as np

import simstrategy as ss


def noise_of(numbers, epoch):
    return np.float32([np.random.default_rng((epoch, int(n))).normal(size=2) for n in numbers]).reshape(-1, 2)


def program(strategy):
    rng = np.random.default_rng(505)
    x = rng.normal(size=(22, 2)).astype(np.float32)
    y = (x[:, 0] + x[:, 1]).astype(np.float32)
    with strategy.scope():
        w = ss.Variable(np.zeros(2, np.float32), name="w", aggregation=ss.VariableAggregation.SUM)

    def step(epoch, numbers, x, y):
        xp = ss.get_replica_context().xp
        noisy = x + 0.2 * xp.asarray(noise_of(np.asarray(numbers), epoch))
        w.assign_sub(0.3 * xp.matmul(xp.matmul(noisy, w.value()) - y, noisy) / 11)

    for epoch in range(2):
        rows = ss.data.Dataset.from_tensor_slices((np.arange(22), x, y)).shuffle(22, seed=epoch).batch(11)
        for batch in strategy.experimental_distribute_dataset(rows):
            strategy.run(step, args=(epoch, *batch))
    return w.numpy()
