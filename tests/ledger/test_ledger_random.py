"""Steps drawn at random, whose weights are computed beforehand with fractions, are measured exactly (L-1, L-3)."""

from fractions import Fraction

import numpy as np
import pytest
from ledger_steps import ctx, total

import simstrategy as ss


def drawn(seed):
    """Returns a random step, its batch, its number of replicas, and the weights that it has.

    Replica r uses sample i `uses[r, i]` times, and multiplies its sum by `factors[r]`; one replica uses each sample
    `alone[i]` times.
    """
    rng = np.random.default_rng(seed)
    samples, replicas = int(rng.integers(1, 40)), int(rng.integers(2, 6))
    uses = rng.integers(0, 3, (replicas, samples))
    alone = rng.integers(0, 4, samples)
    alone[rng.integers(samples)] = 1
    factors = [Fraction(int(rng.integers(1, 9)), int(rng.integers(1, 12))) for _ in range(replicas)]
    op = ("SUM", "MEAN")[int(rng.integers(2))]
    precise = ("float64", "float64", "float32")[int(rng.integers(3))]

    def step(strategy, batch, probe):
        def replica():
            one = strategy.num_replicas_in_sync == 1
            rank = ctx().replica_id_in_sync_group
            rows = np.repeat(probe, alone if one else uses[rank], axis=0).astype(precise)
            factor = 1.0 if one else factors[rank].numerator / factors[rank].denominator
            return ctx().all_reduce(op, total(ctx().xp.asarray(rows)) * (factor / len(batch)))

        return strategy.run(replica)

    each = Fraction(1, replicas if op == "MEAN" else 1)
    weights = [
        sum(int(use) * factor * each for use, factor in zip(uses[:, i], factors, strict=True)) for i in range(samples)
    ]
    expected = [weight / int(here) if here else None for weight, here in zip(weights, alone, strict=True)]
    return step, np.zeros(samples), replicas, expected, uses, precise


@pytest.mark.parametrize("seed", range(40))
def test_weights_of_a_random_step_are_those_of_its_fractions(seed):
    step, batch, replicas, expected, uses, precise = drawn(seed)
    try:
        entry = ss.ledger(step, batch, replicas=[replicas]).entry(replicas)
    except ss.errors.InvalidArgument:
        assert precise == "float32"  # whose bits do not separate fractions of such terms
        assert any(weight is not None and max(weight.numerator, weight.denominator) > 40 for weight in expected)
        return
    assert entry.weights == tuple(expected)
    assert entry.parts == tuple(tuple(int(rank) for rank in np.flatnonzero(column)) for column in uses.T)
    wrong = any(weight not in (None, 1) for weight in expected) or any(
        weight is None and column.any() for weight, column in zip(expected, uses.T, strict=True)
    )
    assert bool(entry.problems) == wrong
