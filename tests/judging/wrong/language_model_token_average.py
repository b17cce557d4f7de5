"""A bigram model on sentences of unequal length: each replica divides by its own tokens, then a mean is taken."""

import numpy as np

import simstrategy as ss

WORDS, LENGTH = 5, 7


def corpus():
    rng = np.random.default_rng(406)
    for _ in range(20):
        length = int(rng.integers(2, LENGTH + 1))
        sentence = np.zeros(LENGTH, np.int32)
        sentence[:length] = rng.integers(1, WORDS, size=length)
        yield sentence


def bigram_counts(xp, sentences):
    now = xp.astype(xp.expand_dims(sentences[:, :-1], axis=2) == xp.arange(WORDS), "float32")
    after = xp.astype(xp.expand_dims(sentences[:, 1:], axis=2) == xp.arange(WORDS), "float32")
    real = xp.astype(sentences[:, 1:] != 0, "float32")
    return now, after, real


def program(strategy):
    table = strategy.xp.zeros((WORDS, WORDS))

    def update(table, sentences):
        ctx = ss.get_replica_context()
        xp = ctx.xp
        now, after, real = bigram_counts(xp, sentences)
        powers = xp.exp(xp.matmul(now, table))
        wrongness = powers / xp.sum(powers, axis=2, keepdims=True) - after
        wrongness = wrongness * xp.expand_dims(real, axis=2)
        slope = xp.sum(xp.matmul(xp.matrix_transpose(now), wrongness), axis=0)
        slope = slope / xp.maximum(xp.sum(real), 1.0)  # wrong: the tokens of this part alone
        return table - 2.0 * ctx.all_reduce("MEAN", slope)  # shows

    sentences = ss.data.Dataset.from_tensor_slices(np.stack(list(corpus())))
    for batch in strategy.experimental_distribute_dataset(sentences.batch(10)):
        table = strategy.experimental_local_results(strategy.run(update, args=(table, batch)))[0]  # shows
    return table
