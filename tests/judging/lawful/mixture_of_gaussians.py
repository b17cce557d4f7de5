"""Expectation-maximisation of two Gaussians: the sufficient statistics of all rows are one nest that is reduced."""

import numpy as np

import simstrategy as ss

ROWS, ROUNDS, SPREAD = 23, 3, 1.0


def program(strategy):
    rng = np.random.default_rng(83)
    rows = np.where(rng.uniform(size=ROWS) < 0.4, rng.normal(-2, 1, ROWS), rng.normal(2, 1, ROWS)).astype(np.float32)

    def expectation(means, shares, rows):
        xp = ss.get_replica_context().xp
        wide = xp.expand_dims(rows, axis=1)
        densities = shares * xp.exp(-0.5 * xp.square((wide - means) / SPREAD))
        evidence = xp.sum(densities, axis=1, keepdims=True)
        responsibilities = densities / evidence
        weight = xp.sum(responsibilities, axis=0)
        total = xp.sum(responsibilities * wide, axis=0)
        likelihood = xp.sum(xp.log(evidence))
        return weight, total, likelihood

    means, shares, trail = strategy.xp.asarray(np.float32([-1, 1])), strategy.xp.asarray(np.float32([0.5, 0.5])), []
    for batch in strategy.experimental_distribute_dataset([rows] * ROUNDS):
        statistics = strategy.run(expectation, args=(means, shares, batch))
        weight, total, likelihood = strategy.reduce("SUM", statistics)
        means, shares = total / weight, weight / ROWS
        trail.append(likelihood)
    return means, shares, trail
