"""What the programs of this folder share: data, variables, batches, a gradient.  It holds no test."""

import numpy as np

import simstrategy as ss
from simstrategy.data import Dataset

__all__ = [
    "BATCH",
    "FIRST",
    "MEAN",
    "SUM",
    "X",
    "Y",
    "batches",
    "columns",
    "ctx",
    "gradient",
    "total",
    "trained",
    "variable",
]

BATCH = 8
X = np.random.default_rng(0).normal(size=(16, 3)).astype(np.float32)[:15]
Y = (X @ np.float32([1, -2, 3]) + np.random.default_rng(1).normal(size=15)).astype(np.float32)
FIRST, MEAN, SUM = (ss.VariableAggregation[name] for name in ("ONLY_FIRST_REPLICA", "MEAN", "SUM"))
ctx = ss.get_replica_context


def variable(strategy, name, aggregation=MEAN, *, value=(1.0, 1.0, 1.0), **settings):
    """Returns a variable of float32."""
    with strategy.scope():
        return ss.Variable(np.asarray(value, np.float32), name=name, aggregation=aggregation, **settings)


def batches(strategy, rows, batch=BATCH):
    """Returns the distributed batches of the first rows, each of features [n, 3] and targets [n]."""
    return strategy.experimental_distribute_dataset(Dataset.from_tensor_slices((X[:rows], Y[:rows])).batch(batch))


def columns(x, factors):
    """Returns x [n, 3] with each row times its factor."""
    return x * factors[:, None]


def gradient(w, x, y):
    """Returns the gradient of half the squared error for each example [n, 3]."""
    return columns(x, x @ w.value() - y)


def total(rows):
    """Returns the sum over the examples [3]."""
    return rows.sum(axis=0)


def trained(strategy, step, *, rows=15, batch=BATCH, aggregation=MEAN, start=(1.0, 1.0, 1.0)):
    """Runs `step(w, x, y)` for each batch, and returns the weights."""
    w = variable(strategy, "w", aggregation, value=start)
    for one in batches(strategy, rows, batch):
        strategy.run(lambda x, y: step(w, x, y), args=one)
    return w.numpy()
