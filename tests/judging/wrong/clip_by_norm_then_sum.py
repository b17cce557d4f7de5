"""A recurrent cell's weights, whose gradients are clipped to a norm on each replica before they are summed."""

import numpy as np

import simstrategy as ss

Agg = ss.VariableAggregation
CLIP = 0.05


def make_batches():
    rng = np.random.default_rng(31)
    sequences = rng.normal(size=(20, 4)).astype(np.float32)
    return ss.data.Dataset.from_tensor_slices((sequences, sequences.sum(axis=1))).batch(10)


def clip_by_global_norm(xp, gradients, limit):
    norm = xp.sqrt(sum(xp.sum(xp.square(g)) for g in gradients))
    return [g * (limit / xp.maximum(norm, limit)) for g in gradients]


def program(strategy):
    with strategy.scope():
        decay = ss.Variable(np.float32(0.5), aggregation=Agg.SUM, name="decay")
        gain = ss.Variable(np.float32(0.5), aggregation=Agg.SUM, name="gain")

    def unroll(xp, sequences):
        """Returns the state at the end, and its derivatives to decay and gain."""
        state = to_decay = to_gain = xp.zeros_like(sequences[:, 0])
        for moment in range(sequences.shape[1]):
            to_decay = state + decay.value() * to_decay
            to_gain = sequences[:, moment] + decay.value() * to_gain
            state = decay.value() * state + gain.value() * sequences[:, moment]
        return state, to_decay, to_gain

    def step(sequences, sums):
        xp = ss.get_replica_context().xp
        state, to_decay, to_gain = unroll(xp, sequences)
        errors = (state - sums) / 10
        gradients = [xp.sum(errors * to_decay), xp.sum(errors * to_gain)]
        gradients = clip_by_global_norm(xp, gradients, CLIP)  # wrong: the norm of a part of the gradient
        decay.assign_sub(gradients[0])  # shows
        gain.assign_sub(gradients[1])

    for _epoch in range(2):
        for batch in strategy.experimental_distribute_dataset(make_batches()):
            strategy.experimental_run_v2(step, args=batch)
    return {"decay": decay.numpy(), "gain": gain.numpy()}
