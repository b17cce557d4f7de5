"""Steps for the ledger's tests: right ones, and ones that are wrong in one way each.  No tests."""

import numpy as np

import simstrategy as ss

SAMPLES = 10


def ctx():
    return ss.get_replica_context()


def batch(samples=SAMPLES):
    """A batch of features [samples, 3] and labels [samples]."""
    rng = np.random.default_rng(3)
    return rng.standard_normal((samples, 3)), rng.integers(0, 3, samples)


def distributed(replica):
    """Returns a step that runs `replica(features, labels, rows)` on the parts of the batch."""

    def step(strategy, batch, probe):
        (parts,) = strategy.experimental_distribute_dataset([(*batch, probe)])
        return strategy.run(replica, args=parts)

    return step


def total(rows):
    return ctx().xp.sum(rows, axis=0)


def right(_x, _y, rows):
    return ctx().all_reduce("SUM", total(rows) / SAMPLES)


def mean_of_means(x, _y, rows):
    return ctx().all_reduce("MEAN", total(rows) / max(x.shape[0], 1))


def sum_of_means(x, _y, rows):
    return ctx().all_reduce("SUM", total(rows) / max(x.shape[0], 1))


def times_replicas(x, y, rows):
    return right(x, y, rows) * ctx().num_replicas_in_sync


def divided_twice(_x, _y, rows):
    return ctx().all_reduce("MEAN", total(rows) / SAMPLES)


def reduced_twice(x, y, rows):
    return ctx().all_reduce("SUM", right(x, y, rows))


def without_reduction(_x, _y, rows):
    return total(rows) / SAMPLES


def lost_sample(_x, _y, rows):
    """The last replica drops its last sample, as a loop to size - 1 does, if there are several replicas."""
    context = ctx()
    last = context.replica_id_in_sync_group == context.num_replicas_in_sync - 1
    kept = rows[: rows.shape[0] - 1] if last and context.num_replicas_in_sync > 1 else rows
    return context.all_reduce("SUM", total(kept) / SAMPLES)


def dropped_part(x, _y, rows):
    """One replica returns zeros in place of its sum."""
    context = ctx()
    mine = total(rows) / SAMPLES
    return context.all_reduce("SUM", mine * 0.0 if context.replica_id_in_sync_group == 1 else mine)


def class_weights(_x, y, rows):
    """Weights of each sample by its class, on purpose, divided by their sum over all replicas."""
    context = ctx()
    weights = context.xp.astype(y, "float64") + 1.0
    norm = context.all_reduce("SUM", context.xp.sum(weights))
    return context.all_reduce("SUM", total(rows * context.xp.reshape(weights, (-1, 1)))) / norm


def masked(_x, y, rows):
    """Samples of class 0 are masked out, on purpose."""
    context = ctx()
    mask = context.xp.astype(y > 0, "float64")
    count = context.all_reduce("SUM", context.xp.sum(mask))
    return context.all_reduce("SUM", total(rows * context.xp.reshape(mask, (-1, 1)))) / count


def masked_by_part(_x, y, rows):
    """The mask's count is that of the replica: a mean of masked means."""
    context = ctx()
    mask = context.xp.astype(y > 0, "float64")
    count = context.xp.maximum(context.xp.sum(mask), context.xp.asarray(1.0, dtype="float64"))
    return context.all_reduce("MEAN", total(rows * context.xp.reshape(mask, (-1, 1))) / count)


def windows_of_parts(_x, _y, rows, size=2):
    """Accumulates over windows of a replica's part and divides by their number: the last one may be partial."""
    context = ctx()
    starts = range(0, rows.shape[0], size)
    sums = context.xp.zeros(rows.shape[1], dtype="float64")
    for start in starts:
        sums = sums + context.xp.mean(rows[start : start + size], axis=0)
    return context.all_reduce("MEAN", sums / max(len(starts), 1))


# Steps that distribute the batch themselves.


def sliced(*, overlap=0, drop=False, pad=False):
    """Returns a step in which each replica slices the batch by its rank."""

    def step(strategy, batch, probe):
        def replica():
            context = ctx()
            rank, count = context.replica_id_in_sync_group, context.num_replicas_in_sync
            size = len(probe) // count if drop else -(-len(probe) // count)
            indices = np.arange(rank * size, (rank + 1) * size + (overlap if rank < count - 1 else 0))
            indices = indices % len(probe) if pad else indices[indices < len(probe)]
            return context.all_reduce("SUM", total(context.xp.asarray(probe[indices])) / len(probe))

        return strategy.run(replica)

    return step


def sampled(strategy, batch, probe):
    """Draws as a distributed sampler does: every replica equally many, the first samples again as a filling."""
    count = strategy.num_replicas_in_sync
    drawn = np.resize(np.arange(len(probe)), -(-len(probe) // count) * count)

    def replica():
        context = ctx()
        mine = context.xp.asarray(probe[drawn[context.replica_id_in_sync_group :: count]])
        return context.all_reduce("MEAN", context.xp.mean(mine, axis=0))

    return strategy.run(replica)


def accumulated(divide):
    """Returns a step over global windows of 4 samples, the last one partial: 4, 4 and 2 of 10."""

    def step(strategy, batch, probe):
        windows = ss.data.Dataset.from_tensor_slices((*batch, probe)).batch(4)
        sums, count = 0.0, 0
        for _x, _y, rows in strategy.experimental_distribute_dataset(windows):
            mine = strategy.run(lambda rows: rows, args=(rows,))
            sums = sums + strategy.reduce("MEAN" if divide == "windows" else "SUM", mine, axis=0)
            count += 1
        return sums / (count if divide == "windows" else len(probe))

    return step


def in_a_variable(strategy, batch, probe):
    """Adds the reduced gradient to a variable, which it returns."""
    with strategy.scope():
        gradient = ss.Variable(np.zeros(probe.shape[1]), aggregation=ss.VariableAggregation.SUM)
    (rows,) = strategy.experimental_distribute_dataset([probe])
    strategy.run(lambda rows: gradient.assign_add(total(rows) / len(probe)), args=(rows,))
    return gradient


def on_losses(strategy, batch, probe):
    """Adds the probes to the samples' real losses."""

    def replica(x, _y, rows):
        context = ctx()
        losses = context.xp.sum(x * x, axis=1, keepdims=True) + rows
        return context.all_reduce("SUM", context.xp.sum(losses, axis=0) / SAMPLES)

    return distributed(replica)(strategy, batch, probe)


def two_results(strategy, batch, probe):
    """A loss that is reduced rightly, and a gradient that is a mean of means."""

    def replica(x, y, rows):
        return {"loss": right(x, y, rows), "gradient": mean_of_means(x, y, rows)}

    return distributed(replica)(strategy, batch, probe)
