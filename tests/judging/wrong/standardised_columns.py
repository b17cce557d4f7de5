"""Columns are standardised with the mean and the deviation of what this replica holds."""

import numpy as np

import simstrategy as ss

TABLE = np.random.default_rng(77).lognormal(size=(18, 4)).astype(np.float32)


def covariance(strategy):
    """Returns the correlation matrix of the whole table [4, 4]: replicas compute the products of their rows."""

    def chunk(context):
        return np.array_split(TABLE, context.num_replicas_in_sync)[context.replica_id_in_sync_group]

    chunks = strategy.experimental_distribute_values_from_function(chunk)

    def standardised_products(rows):
        xp = ss.get_replica_context().xp
        rows = xp.asarray(rows)
        rows = (rows - xp.mean(rows, axis=0)) / xp.std(rows, axis=0)  # wrong: the mean and deviation of a chunk
        return xp.matmul(xp.matrix_transpose(rows), rows)

    products = strategy.run(standardised_products, args=(chunks,))
    return strategy.reduce("SUM", products) / len(TABLE)  # shows


def program(strategy):
    matrix = covariance(strategy)
    direction = strategy.xp.ones(4)
    for _ in range(5):
        direction = strategy.xp.matmul(matrix, direction)
        direction = direction / strategy.xp.sqrt(strategy.xp.sum(strategy.xp.square(direction)))
    return {"correlation": matrix, "first component": direction}
