"""Matrix factorisation; the caller takes the first local result for the gradient of all."""

import numpy as np

import simstrategy as ss

RANK = 2


def ratings():
    rng = np.random.default_rng(90)
    left, right = rng.normal(size=(8, RANK)), rng.normal(size=(RANK, 5))
    return (left @ right).astype(np.float32)


def share_of_gradient(users, rows, items):
    """Returns the gradient to the items [RANK, 5] of this replica's users."""
    xp = ss.get_replica_context().xp
    errors = xp.matmul(users, items) - rows
    return xp.matmul(xp.matrix_transpose(users), errors)


def program(strategy):
    users = np.random.default_rng(91).normal(size=(8, RANK)).astype(np.float32)
    items = strategy.xp.zeros((RANK, 5))
    distributed = strategy.experimental_distribute_dataset(
        ss.data.Dataset.from_tensor_slices((users, ratings())).batch(8).repeat(4)
    )
    for users_here, rows in distributed:
        gradients = strategy.run(share_of_gradient, args=(users_here, rows, items))  # shows
        gradient = strategy.experimental_local_results(gradients)[0]  # wrong: one share, not the sum of them
        items = items - 0.05 * gradient
    return items
