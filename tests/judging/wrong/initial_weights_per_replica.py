"""Weights that each replica draws for itself and keeps; gradients are averaged, the weights never are."""

import numpy as np

import simstrategy as ss


def initial(context):
    generator = np.random.default_rng(100 + context.replica_id_in_sync_group)  # wrong: other weights on each
    return generator.normal(size=3).astype(np.float32)


def step(weights, features, targets):
    """Returns this replica's weights after a step with the gradient of all rows."""
    ctx = ss.get_replica_context()
    weights = ctx.xp.asarray(weights)
    errors = ctx.xp.matmul(features, weights) - targets
    sums = ctx.all_reduce("SUM", {"gradient": ctx.xp.matmul(errors, features), "loss": ctx.xp.sum(errors**2)})  # shows
    return weights - 0.2 * sums["gradient"] / 12, sums["loss"] / 12


def program(strategy):
    generator = np.random.default_rng(0)
    features = generator.normal(size=(36, 3)).astype(np.float32)
    targets = features @ np.float32([1, 2, -1])
    weights = strategy.experimental_distribute_values_from_function(initial)
    losses = []
    batches = ss.data.Dataset.from_tensor_slices((features, targets)).batch(12)
    for batch in strategy.experimental_distribute_dataset(batches):
        weights, loss = strategy.run(step, args=(weights, *batch))
        losses.append(strategy.experimental_local_results(loss)[0])
    return {"losses": losses, "weights": strategy.reduce("MEAN", weights)}
