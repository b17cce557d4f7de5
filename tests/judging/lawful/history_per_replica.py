"""Training whose history has a list for every replica: as many lists as replicas, and shares of the loss in them."""

import numpy as np

import simstrategy as ss


def program(strategy):
    rng = np.random.default_rng(165)
    x = rng.normal(size=(24, 2)).astype(np.float32)
    y = (x @ np.float32([1.0, 3.0])).astype(np.float32)
    with strategy.scope():
        w = ss.Variable(np.zeros(2, np.float32), aggregation=ss.VariableAggregation.SUM, name="w")
    histories = [[] for _ in range(strategy.num_replicas_in_sync)]

    def step(x, y):
        ctx = ss.get_replica_context()
        errors = ctx.xp.matmul(x, w.value()) - y
        w.assign_sub(0.3 * ctx.xp.matmul(errors, x) / 8.0)
        histories[ctx.replica_id_in_sync_group].append(ctx.xp.sum(errors * errors) / 8.0)

    for batch in strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices((x, y)).batch(8)):
        strategy.run(step, args=batch)
    return {"weights": w.numpy(), "history": histories}
