"""The rate is multiplied by the replicas, as for a batch of so many rows per replica; but the batch is global."""

import numpy as np

import simstrategy as ss

BASE_RATE = 0.02


def program(strategy):
    world = strategy.num_replicas_in_sync
    rng = np.random.default_rng(28)
    x, noise = rng.normal(size=(24, 2)), rng.normal(size=24)
    table = {"x": x.astype(np.float32), "y": (x @ [0.7, -1.1] + 0.05 * noise).astype(np.float32)}
    with strategy.scope():
        theta = ss.Variable(np.zeros(2, np.float32), aggregation=ss.VariableAggregation.SUM, name="theta")

    def lad_step(batch):
        """Least absolute deviations."""
        xp = ss.get_replica_context().xp
        signs = xp.sign(xp.matmul(batch["x"], theta.value()) - batch["y"])
        rate = BASE_RATE * world  # wrong: 24 rows in all, whatever the replicas
        theta.assign_sub(rate * xp.matmul(signs, batch["x"]) / 24.0)  # shows

    for batch in strategy.experimental_distribute_dataset([table] * 5):
        strategy.run(lad_step, args=(batch,))
    return theta.numpy()
