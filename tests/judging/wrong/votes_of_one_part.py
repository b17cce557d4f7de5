"""Naive Bayes: how often each word stands in each class; the counts that are kept are those of one part."""

import numpy as np

import simstrategy as ss

CLASSES, WORDS = 2, 4


def documents():
    """Returns how often each word stands in each document [12, WORDS], and the class of each [12, CLASSES]."""
    rng = np.random.default_rng(311)
    labels = rng.integers(0, CLASSES, size=12)
    rates = np.where(labels[:, None] == 0, [3.0, 1.0, 2.0, 1.0], [1.0, 4.0, 1.0, 2.0])
    return rng.poisson(rates).astype(np.float32), np.eye(CLASSES, dtype=np.float32)[labels]


def count_words(words, classes):
    """Returns the counts [CLASSES, WORDS] of this replica's documents."""
    xp = ss.get_replica_context().xp
    return xp.matmul(xp.matrix_transpose(classes), words)


def program(strategy):
    counts = strategy.xp.ones((CLASSES, WORDS))
    source = ss.data.Dataset.from_tensor_slices(documents()).batch(12).repeat(2)
    for words, classes in strategy.experimental_distribute_dataset(source):
        found = strategy.run(count_words, args=(words, classes))  # shows
        counts = counts + strategy.experimental_local_results(found)[0]  # wrong: the other parts' documents are lost
    return counts
