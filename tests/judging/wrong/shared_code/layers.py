"""Layers of a recommender, in a file of their own."""

import simstrategy as ss


def embed(table, items):
    """Returns the rows of a table [items, width] for item numbers [batch]."""
    xp = ss.get_replica_context().xp
    return xp.take(table, items, axis=0)


def whitened(vectors):
    """Returns vectors [batch, width] with mean 0 and variance 1 in each column."""
    xp = ss.get_replica_context().xp
    centred = vectors - xp.mean(vectors, axis=0, keepdims=True)  # wrong: the mean of the rows of one replica
    return centred / xp.sqrt(xp.mean(centred * centred, axis=0, keepdims=True) + 0.01)
