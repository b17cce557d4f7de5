"""Robust regression: the scale of the residuals is a median, and each replica takes its own."""

import numpy as np

import simstrategy as ss


def median(xp, values):
    ordered = xp.sort(values)
    middle = values.shape[0] // 2
    return ordered[middle] if values.shape[0] % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def program(strategy):
    rng = np.random.default_rng(6)
    x = np.linspace(-2, 2, 24).astype(np.float32)
    y = (2 * x + rng.standard_t(2, size=24)).astype(np.float32)
    with strategy.scope():
        slope = ss.Variable(0.0, name="slope", dtype="float32")

    def apply(merging, numerator, denominator):
        total, weight = merging.reduce("SUM", [numerator, denominator])
        slope.assign(total / weight)

    def reweighted(x, y):
        ctx = ss.get_replica_context()
        xp = ctx.xp
        residuals = xp.abs(y - slope.value() * x)
        scale = ctx.all_reduce("MEAN", median(xp, residuals))  # wrong: a mean of the replicas' medians
        weights = 1.0 / xp.maximum(residuals / scale, 1.0)
        ctx.merge_call(apply, args=(xp.sum(weights * x * y), xp.sum(weights * x * x)))

    slopes = []
    with strategy.scope():
        for _ in range(3):
            for batch in strategy.experimental_distribute_dataset([(x, y)]):
                strategy.run(reweighted, args=batch)
            slopes.append(slope.numpy())
    return slopes
