"""Evaluation: a confusion matrix of integers in an ON_READ variable, and metrics computed from it."""

import numpy as np

import simstrategy as ss

CLASSES = 3


def program(strategy):
    rng = np.random.default_rng(15)
    truth = rng.integers(0, CLASSES, size=29).astype(np.int32)
    guesses = np.where(rng.uniform(size=29) < 0.7, truth, rng.integers(0, CLASSES, size=29)).astype(np.int32)
    with strategy.scope():
        matrix = ss.Variable(
            np.zeros((CLASSES, CLASSES), np.int32),
            synchronization=ss.VariableSynchronization.ON_READ,
            aggregation=ss.VariableAggregation.SUM,
            name="confusion",
        )

    def count(truth, guesses):
        xp = ss.get_replica_context().xp
        classes = xp.arange(CLASSES, dtype="int32")
        rows = xp.astype(xp.expand_dims(truth, axis=1) == classes, "int32")
        columns = xp.astype(xp.expand_dims(guesses, axis=1) == classes, "int32")
        matrix.assign_add(xp.matmul(xp.matrix_transpose(rows), columns))

    for batch in strategy.experimental_distribute_dataset(
        ss.data.Dataset.from_tensor_slices((truth, guesses)).batch(10)
    ):
        strategy.run(count, args=batch)
    with strategy.scope():
        found = np.asarray(matrix.value())
    recall = np.diag(found) / found.sum(axis=1)
    return {"matrix": found, "recall": recall, "accuracy": float(np.trace(found) / found.sum())}
