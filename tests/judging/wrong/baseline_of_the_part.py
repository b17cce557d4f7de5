"""REINFORCE for a bandit: the baseline that is subtracted from the rewards is the mean of the replica's part."""

import numpy as np

import simstrategy as ss


class Bandit:
    def __init__(self, arms, seed):
        self.rng = np.random.default_rng(seed)
        self.payoffs = np.linspace(0, 1, arms).astype(np.float32)

    def play(self, rounds):
        actions = self.rng.integers(0, len(self.payoffs), size=rounds).astype(np.int32)
        rewards = self.payoffs[actions] + self.rng.normal(0, 0.3, size=rounds)
        return actions, rewards.astype(np.float32)


def program(strategy):
    bandit = Bandit(4, seed=404)
    with strategy.scope():
        preferences = ss.Variable(np.zeros(4, np.float32), name="preferences")

    def gradient(actions, rewards):
        xp = ss.get_replica_context().xp
        powers = xp.exp(preferences.value())
        policy = powers / xp.sum(powers)
        advantages = rewards - xp.mean(rewards)  # wrong: the mean of this part
        chosen = xp.astype(xp.expand_dims(actions, axis=1) == xp.arange(4), "float32")
        return xp.matmul(advantages, chosen - policy)

    for _ in range(4):
        played = bandit.play(16)
        for actions, rewards in strategy.experimental_distribute_dataset([played]):
            found = strategy.run(gradient, args=(actions, rewards))
            total = strategy.reduce("SUM", found)  # shows
            with strategy.scope():
                preferences.assign_add(total / 16)
    return preferences.numpy()
