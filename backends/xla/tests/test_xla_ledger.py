"""The ledger with JAX's gradients, in float32: the gradient of a probe in each loss, after the reductions (L-5)."""

from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import ledger_steps as steps
import numpy as np
from vocabulary import ctx

import simstrategy as ss


def averaged(strategy: ss.Strategy, batch: Any, probe: np.ndarray) -> Any:
    """A mean of means: each replica's gradient of the mean of its own losses, averaged."""

    def replica(x: jax.Array, _y: jax.Array, rows: jax.Array) -> Any:
        def loss(z: jax.Array) -> jax.Array:
            return jnp.mean(jnp.sum(x, axis=1) ** 2 + rows @ z)

        return ctx().all_reduce("MEAN", jax.grad(loss)(jnp.zeros(rows.shape[1], rows.dtype)))

    return steps.distributed(replica)(strategy, batch, probe)


def test_gradients_averaged_over_parts_of_unequal_size_are_a_mean_of_means() -> None:
    features, labels = steps.batch()
    batch = features.astype(np.float32), labels.astype(np.int32)
    found = ss.ledger(averaged, batch, replicas=[2, 3], backend="xla")
    assert found.weights(2) == (Fraction(1),) * 10
    assert found.weights(3) == (Fraction(5, 6),) * 8 + (Fraction(5, 3),) * 2
    assert "A mean of means" in found.problems[0]
