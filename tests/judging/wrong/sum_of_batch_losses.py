"""Policy gradients: each replica normalises by its own number of episodes, and a merge call adds the results up."""

import numpy as np

import simstrategy as ss

ACTIONS = 3


def surrogate(xp, logits, actions, returns):
    probabilities = xp.exp(logits) / xp.sum(xp.exp(logits))
    chosen = xp.astype(xp.expand_dims(actions, axis=1) == xp.arange(ACTIONS, dtype="int32"), "float32")
    return xp.expand_dims(returns, axis=1) * (chosen - probabilities)


def program(strategy):
    rng = np.random.default_rng(205)
    actions = rng.integers(0, ACTIONS, size=(3, 14)).astype(np.int32)
    returns = (actions == 2) + 0.1 * rng.normal(size=(3, 14))
    with strategy.scope():
        logits = ss.Variable(np.zeros(ACTIONS, np.float32), name="logits")

    def ascend(merging, gradient):
        logits.assign_add(0.7 * merging.reduce(ss.ReduceOp.SUM, gradient))  # shows

    def learn(episode):
        ctx = ss.get_replica_context()
        terms = surrogate(ctx.xp, logits.value(), *episode)
        # wrong: the mean over this replica's episodes
        ctx.merge_call(ascend, args=(ctx.xp.mean(terms, axis=0),))

    episodes = list(zip(actions, returns.astype(np.float32), strict=True))
    for episode in strategy.experimental_distribute_dataset(episodes):
        strategy.run(learn, args=(episode,))
    return logits.numpy()
