"""A language model's loss: the mean over the tokens that are no padding, of which each replica has another number."""

import numpy as np

import simstrategy as ss

VOCABULARY = 7


def sentences():
    rng = np.random.default_rng(5)
    lengths = np.array([6, 1, 2, 6, 3, 1, 5, 2, 4, 4, 1, 6])
    tokens = rng.integers(0, VOCABULARY, size=(12, 6)).astype(np.int32)
    mask = (np.arange(6) < lengths[:, None]).astype(np.float32)
    return tokens, mask


class Unigram:
    def __init__(self):
        self.logits = ss.Variable(np.linspace(-1, 1, VOCABULARY).astype(np.float32), name="logits")

    def loss_and_gradient(self, xp, tokens, mask):
        logits = self.logits.value()
        log_probabilities = logits - xp.log(xp.sum(xp.exp(logits)))
        one_hot = xp.astype(xp.expand_dims(tokens, axis=2) == xp.arange(VOCABULARY), "float32")
        wide = xp.expand_dims(mask, axis=2)
        tokens_here = xp.maximum(xp.sum(mask), 1.0)
        loss = -xp.sum(wide * one_hot * log_probabilities) / tokens_here
        counts = xp.sum(wide * one_hot, axis=(0, 1)) / tokens_here  # wrong: divided by this replica's tokens
        return loss, xp.exp(log_probabilities) - counts


def program(strategy):
    with strategy.scope():
        model = Unigram()

    def train_step(batch):
        ctx = ss.get_replica_context()
        loss, gradient = model.loss_and_gradient(ctx.xp, *batch)
        loss, gradient = ctx.all_reduce(ss.ReduceOp.MEAN, [loss, gradient])  # shows
        ctx.merge_call(update, args=(gradient,))
        return loss

    def update(merging, gradient):
        # Equal on all replicas; reduce_to brings it to the devices of the variable.
        mean = merging.extended.reduce_to("MEAN", gradient, model.logits)
        merging.extended.update(model.logits, lambda logits, g: logits.assign_sub(0.5 * g), args=(mean,))

    tokens, mask = sentences()
    history = []
    for _ in range(3):
        for batch in strategy.experimental_distribute_dataset([(tokens, mask)]):
            history.append(strategy.experimental_local_results(strategy.run(train_step, args=(batch,)))[0])
    return history
