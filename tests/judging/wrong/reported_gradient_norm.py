"""The training is right; the norm of the gradient that is logged adds up the same squared norm of every replica."""

import math

import numpy as np

import simstrategy as ss


def program(strategy):
    rng = np.random.default_rng(7)
    points = rng.normal(size=(16, 3)).astype(np.float32)
    with strategy.scope():
        centre = ss.Variable(np.ones(3, np.float32), name="centre")

    def step(rows):
        ctx = ss.get_replica_context()
        gradient = ctx.all_reduce("SUM", ctx.xp.sum(centre.value() - rows, axis=0)) / 16.0
        ctx.merge_call(lambda merging, g: centre.assign_sub(0.5 * merging.reduce("MEAN", g)), args=(gradient,))
        return {"squared norm": ctx.xp.sum(gradient * gradient)}

    log = []
    for _ in range(3):
        for rows in strategy.experimental_distribute_dataset([points]):
            squares = strategy.run(step, args=(rows,))["squared norm"]
            # wrong: every replica has the squared norm of the whole gradient
            log.append(math.sqrt(strategy.reduce("SUM", squares)))  # shows
    return {"centre": centre.numpy(), "gradient norms": log}
