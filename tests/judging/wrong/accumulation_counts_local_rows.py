"""Gradients are accumulated until 24 rows were seen; each replica counts its own rows, so the window grows."""

import numpy as np

import simstrategy as ss

WINDOW = 24


def program(strategy):
    rng = np.random.default_rng(44)
    x = rng.normal(size=(96, 2)).astype(np.float32)
    y = (x[:, 0] * 2 - x[:, 1]).astype(np.float32)
    pending = {"gradient": strategy.xp.zeros(2), "rows": 0}
    weights = strategy.xp.zeros(2)

    def share(weights, x, y):
        ctx = ss.get_replica_context()
        gradient = ctx.xp.matmul(ctx.xp.matmul(x, weights) - y, x)
        return ctx.all_reduce("SUM", gradient), x.shape[0]  # shows

    for x_part, y_part in strategy.experimental_distribute_dataset(
        ss.data.Dataset.from_tensor_slices((x, y)).batch(12)
    ):
        gradient, rows = strategy.run(share, args=(weights, x_part, y_part))  # shows
        pending["gradient"] = pending["gradient"] + strategy.experimental_local_results(gradient)[0]
        pending["rows"] += strategy.experimental_local_results(rows)[0]  # wrong: the rows of one replica
        if pending["rows"] >= WINDOW:
            weights = weights - 0.2 * pending["gradient"] / WINDOW
            pending = {"gradient": strategy.xp.zeros(2), "rows": 0}
    return weights
