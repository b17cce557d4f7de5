"""An exponential moving average of the outputs, which rank 0 updates, as it writes the checkpoints."""

import numpy as np

import simstrategy as ss

DECAY = 0.8


class MovingAverage:
    def __init__(self, name):
        self.state = ss.Variable(
            0.0,
            trainable=False,
            synchronization=ss.VariableSynchronization.ON_READ,
            aggregation=ss.VariableAggregation.ONLY_FIRST_REPLICA,
            name=name,
        )

    def update(self, ctx, value):
        if ctx.replica_id_in_sync_group == 0:
            self.state.assign(DECAY * self.state.value() + (1 - DECAY) * value)  # wrong: rank 0's value alone


def program(strategy):
    signal = np.random.default_rng(70).normal(1.0, 2.0, size=(6, 12)).astype(np.float32)
    with strategy.scope():
        average, power = MovingAverage("average"), MovingAverage("power")

    def observe(window):
        ctx = ss.get_replica_context()
        average.update(ctx, ctx.xp.mean(window))
        power.update(ctx, ctx.xp.mean(window * window))

    for window in strategy.experimental_distribute_dataset(list(signal)):
        strategy.run(observe, args=(window,))
    with strategy.scope():
        return average.state.value(), power.state.value()
