"""Small wrong programs: name -> program, kind, step, variable, and a count of replicas for which they are wrong.

The line that is to be named has the mark `# here`. It holds no test.
"""

import inspect
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from training import BATCH, FIRST, MEAN, SUM, X, Y, batches, columns, ctx, gradient, total, trained, variable

import simstrategy as ss
from simstrategy.check.causes import facts as kinds

__all__ = ["WRONG", "Wrong", "line_of"]


class Wrong(NamedTuple):
    """A wrong program.  variable: that is named; None for a result."""

    program: Callable[[ss.Strategy], Any]
    kind: str
    step: int
    variable: str | None
    replicas: int


WRONG: Final[dict[str, Wrong]] = {}


def line_of(program: Callable[..., Any]) -> str:
    """Returns the site of the line with the mark, in a program's source."""
    lines, first = inspect.getsourcelines(program)
    return f"wrong_programs.py:{next(first + number for number, line in enumerate(lines) if '# here' in line)}"


def wrong(kind: str, replicas: int, *, step: int = 1, variable: str | None = "w") -> Any:
    """Registers a program under its name."""

    def register(program: Callable[[ss.Strategy], Any]) -> Callable[[ss.Strategy], Any]:
        WRONG[program.__name__] = Wrong(program, kind, step, variable, replicas)
        return program

    return register


# Means.


@wrong(kinds.MEAN_OF_MEANS, 2, step=2)
def mean_of_means(strategy):
    def step(w, x, y):
        g = ctx().all_reduce("MEAN", strategy.xp.mean(gradient(w, x, y), axis=0))  # here
        w.assign_sub(0.1 * g)

    return trained(strategy, step, rows=15)


@wrong(kinds.MEAN_OF_MEANS, 3)
def mean_of_means_by_hand(strategy):
    def step(w, x, y):
        g = ctx().all_reduce("SUM", strategy.xp.mean(gradient(w, x, y), axis=0))  # here
        w.assign_sub(0.1 * g / strategy.num_replicas_in_sync)

    return trained(strategy, step)


@wrong(kinds.MEAN_OF_MEANS, 4, step=2)
def mean_by_the_aggregation(strategy):
    def step(w, x, y):
        w.assign_sub(0.1 * strategy.xp.mean(gradient(w, x, y), axis=0))  # here

    return trained(strategy, step, rows=15)


@wrong(kinds.MEAN_OF_MEANS, 2)
def mean_of_means_of_own_slices(strategy):
    w = variable(strategy, "w")

    def step():
        size = -(-len(X) // strategy.num_replicas_in_sync)
        first = int(ctx().replica_id_in_sync_group) * size
        x, y = strategy.xp.asarray(X[first : first + size]), strategy.xp.asarray(Y[first : first + size])
        w.assign_sub(0.1 * ctx().all_reduce("MEAN", strategy.xp.mean(gradient(w, x, y), axis=0)))  # here

    strategy.run(step)
    return w.numpy()


@wrong(kinds.MEAN_OF_MEANS, 3, variable=None)
def mean_of_losses(strategy):
    found = [strategy.run(lambda x, y: strategy.xp.mean(y * y), args=batch) for batch in batches(strategy, 15)]
    return [float(strategy.reduce("MEAN", one, axis=None)) for one in found]  # here


@wrong(kinds.MEAN_OF_MEANS, 3)
def a_mean_over_no_examples(strategy):
    def step(w, x, y):
        w.assign_sub(0.1 * ctx().all_reduce("MEAN", strategy.xp.mean(gradient(w, x, y), axis=0)))  # here

    return trained(strategy, step, rows=4, batch=4)


@wrong(kinds.SUM_OF_MEANS, 2)
def sum_of_means(strategy):
    def step(w, x, y):
        w.assign_sub(0.1 * ctx().all_reduce("SUM", strategy.xp.mean(gradient(w, x, y), axis=0)))  # here

    return trained(strategy, step)


@wrong(kinds.SUM_OF_MEANS, 3)
def sum_of_means_outside(strategy):
    w = variable(strategy, "w", ss.VariableAggregation.NONE)
    for batch in batches(strategy, 15):
        found = strategy.run(lambda x, y: strategy.xp.mean(gradient(w, x, y), axis=0), args=batch)
        w.assign_sub(0.1 * strategy.reduce("SUM", found, axis=None))  # here
    return w.numpy()


# Factors.


@wrong(kinds.DIVIDED, 3)
def divided_twice(strategy):
    def step(w, x, y):
        w.assign_sub(0.1 * ctx().all_reduce("MEAN", total(gradient(w, x, y)) / BATCH))  # here

    return trained(strategy, step)


@wrong(kinds.SUMMED, 2)
def summed_again(strategy):
    def step(w, x, y):
        g = ctx().all_reduce("SUM", total(gradient(w, x, y)) / BATCH)
        w.assign_sub(0.1 * g)  # here

    return trained(strategy, step, aggregation=SUM)


@wrong(kinds.NORMS_AGAIN, 4)
def squared_norm_summed_again(strategy):
    def step(w, x, y):
        g = ctx().all_reduce("SUM", total(gradient(w, x, y)) / BATCH)
        norm = strategy.xp.sqrt(ctx().all_reduce("SUM", strategy.xp.sum(g * g)))  # here
        w.assign_sub(g * (0.1 / norm))

    return trained(strategy, step)


@wrong(kinds.SCALED, 2)
def rate_times_replicas(strategy):
    rate = 0.1 * strategy.num_replicas_in_sync

    def step(w, x, y):
        g = ctx().all_reduce("SUM", total(gradient(w, x, y)) / BATCH)
        w.assign_sub(rate * g)  # here

    return trained(strategy, step)


@wrong(kinds.SCALED, 3, variable="b")
def one_of_two_leaves(strategy):
    w, b = variable(strategy, "w"), variable(strategy, "b", value=0.0)

    def step(x, y):
        error = x @ w.value() + b.value() - y
        both = total(columns(x, error)) / BATCH, strategy.xp.sum(error) * (strategy.num_replicas_in_sync / BATCH)
        gw, gb = ctx().all_reduce("SUM", both)  # here
        w.assign_sub(0.1 * gw)
        b.assign_sub(0.1 * gb)

    for batch in batches(strategy, 15):
        strategy.run(step, args=batch)
    return w.numpy(), b.numpy()


# Samples.


@wrong(kinds.DUPLICATED, 2)
def all_samples_on_each(strategy):
    w = variable(strategy, "w")

    def step():
        x, y = strategy.xp.asarray(X), strategy.xp.asarray(Y)
        w.assign_sub(0.1 * ctx().all_reduce("SUM", total(gradient(w, x, y)) / len(X)))  # here

    strategy.run(step)
    return w.numpy()


@wrong(kinds.DUPLICATED, 4)
def overlapping_slices(strategy):
    w = variable(strategy, "w")

    def step():
        size = -(-len(X) // strategy.num_replicas_in_sync)
        first = min(int(ctx().replica_id_in_sync_group) * size, len(X) - size)
        x, y = strategy.xp.asarray(X[first : first + size]), strategy.xp.asarray(Y[first : first + size])
        w.assign_sub(0.1 * ctx().all_reduce("SUM", total(gradient(w, x, y)) / len(X)))  # here

    strategy.run(step)
    return w.numpy()


@wrong(kinds.DUPLICATED, 3)
def the_first_part_for_all(strategy):
    w = variable(strategy, "w")

    def part(context):
        size = 12 // context.num_replicas_in_sync
        first = 0 if context.replica_id_in_sync_group < 2 else 2 * size
        return X[first : first + size], Y[first : first + size]

    given = strategy.experimental_distribute_values_from_function(part)

    def step(x, y):
        w.assign_sub(0.1 * ctx().all_reduce("SUM", total(gradient(w, x, y)) / 12))  # here

    strategy.run(step, args=given)
    return w.numpy()


@wrong(kinds.MISSING_SAMPLES, 2)
def a_remainder_is_lost(strategy):
    w = variable(strategy, "w")

    def step():
        size = len(X) // strategy.num_replicas_in_sync
        first = int(ctx().replica_id_in_sync_group) * size
        x, y = strategy.xp.asarray(X[first : first + size]), strategy.xp.asarray(Y[first : first + size])
        w.assign_sub(0.1 * ctx().all_reduce("SUM", total(gradient(w, x, y)) / len(X)))  # here

    strategy.run(step)
    return w.numpy()


@wrong(kinds.MISSING_SAMPLES, 4, step=2)
def a_partial_batch_is_cut(strategy):
    w = variable(strategy, "w")
    replicas = strategy.num_replicas_in_sync

    def step(x, y):
        w.assign_sub(0.1 * ctx().all_reduce("SUM", total(gradient(w, x, y)) / BATCH))  # here

    for start in (0, BATCH):
        size = len(X[start : start + BATCH]) // replicas

        def part(context, start=start, size=size):
            first = start + int(context.replica_id_in_sync_group) * size
            return X[first : first + size], Y[first : first + size]

        strategy.run(step, args=strategy.experimental_distribute_values_from_function(part))
    return w.numpy()


@wrong(kinds.BATCH_GROWS, 2)
def a_batch_for_each_replica(strategy):
    def step(w, x, y):
        w.assign_sub(0.1 * ctx().all_reduce("MEAN", strategy.xp.mean(gradient(w, x, y), axis=0)))  # here

    return trained(strategy, step, rows=12, batch=3 * strategy.num_replicas_in_sync)


# What replicas compute.


@wrong(kinds.CLIPPING, 2)
def clipped_by_norm(strategy):
    xp = strategy.xp

    def step(w, x, y):
        g = total(gradient(w, x, y)) / BATCH
        g = g * xp.minimum(1.0, 0.5 / xp.sqrt(xp.sum(g * g)))
        w.assign_sub(0.1 * ctx().all_reduce("SUM", g))  # here

    return trained(strategy, step)


@wrong(kinds.CLIPPING, 3)
def clipped_by_the_norm_of_all(strategy):
    xp = strategy.xp
    w, b = variable(strategy, "w"), variable(strategy, "b", value=0.0)

    def step(x, y):
        error = x @ w.value() + b.value() - y
        gw, gb = total(columns(x, error)) / BATCH, xp.sum(error) / BATCH
        factor = xp.minimum(1.0, 0.3 / xp.sqrt(xp.sum(gw * gw) + gb * gb))
        w.assign_sub(0.1 * ctx().all_reduce("SUM", gw * factor))  # here
        b.assign_sub(0.1 * ctx().all_reduce("SUM", gb * factor))

    for batch in batches(strategy, 15):
        strategy.run(step, args=batch)
    return w.numpy(), b.numpy()


@wrong(kinds.CLIPPING, 4)
def clipped_by_value(strategy):
    def step(w, x, y):
        g = strategy.xp.clip(total(gradient(w, x, y)) / BATCH, -0.2, 0.2)
        w.assign_sub(0.1 * ctx().all_reduce("SUM", g))  # here

    return trained(strategy, step)


@wrong(kinds.STATISTICS, 2)
def normalised_by_part(strategy):
    xp = strategy.xp

    def step(w, x, y):
        x = (x - xp.mean(x, axis=0)) / (xp.std(x, axis=0) + 1e-5)
        w.assign_sub(0.1 * ctx().all_reduce("SUM", total(gradient(w, x, y)) / BATCH))  # here

    return trained(strategy, step)


@wrong(kinds.STATISTICS, 4)
def scaled_by_the_parts_largest(strategy):
    def step(w, x, y):
        scaled = y / strategy.xp.max(strategy.xp.abs(y))
        w.assign_sub(0.1 * ctx().all_reduce("SUM", total(gradient(w, x, scaled)) / 16))  # here

    return trained(strategy, step, rows=16, batch=16)


@wrong(kinds.STATISTICS, 2, variable="variance")
def moving_variance(strategy):
    xp = strategy.xp
    mean, variance = variable(strategy, "mean", value=np.zeros(3)), variable(strategy, "variance")

    def step(x, y):
        mean.assign(0.9 * mean.value() + 0.1 * xp.mean(x, axis=0))
        variance.assign(0.9 * variance.value() + 0.1 * xp.var(x, axis=0))  # here

    for batch in batches(strategy, 8):
        strategy.run(step, args=batch)
    return variance.numpy()


@wrong(kinds.DRAWS, 3)
def one_stream_for_all(strategy):
    def step(w, x, y):
        keep = np.random.default_rng(5).random(len(y)) < 0.5
        g = gradient(w, x, y) * strategy.xp.asarray(keep.astype(np.float32)[:, None])
        w.assign_sub(0.1 * ctx().all_reduce("SUM", total(g) / BATCH))  # here

    return trained(strategy, step)


@wrong(kinds.DRAWS, 2)
def a_seed_for_each(strategy):
    def step(w, x, y):
        noise = np.random.default_rng(ctx().seed("noise")).normal(size=x.shape).astype(np.float32)
        w.assign_sub(0.1 * ctx().all_reduce("SUM", total(gradient(w, x + noise, y)) / BATCH))  # here

    return trained(strategy, step, rows=15)


@wrong(kinds.FUNCTION, 2, variable=None)
def mean_of_roots(strategy):
    def step(x, y):
        return ctx().all_reduce("MEAN", strategy.xp.sqrt(strategy.xp.mean(y * y)))  # here

    return [strategy.experimental_local_results(strategy.run(step, args=one))[0] for one in batches(strategy, 8)]


@wrong(kinds.FUNCTION, 3, variable=None)
def sum_of_maxima(strategy):
    found = [strategy.run(lambda x, y: strategy.xp.max(x, axis=0), args=one) for one in batches(strategy, 8)]
    return [strategy.reduce("SUM", one, axis=None) for one in found]  # here


# What is kept.


@wrong(kinds.ONE_REPLICA, 2)
def the_first_replicas_gradient(strategy):
    def step(w, x, y):
        w.assign_sub(0.1 * total(gradient(w, x, y)) / BATCH)  # here

    return trained(strategy, step, aggregation=FIRST)


@wrong(kinds.ONE_REPLICA, 3)
def the_first_value_of_a_merge_call(strategy):
    def update(inner, g, w):
        w.assign_sub(0.1 * inner.experimental_local_results(g)[0])

    def step(w, x, y):
        ctx().merge_call(update, args=(total(gradient(w, x, y)) / BATCH, w))  # here

    return trained(strategy, step)


@wrong(kinds.ONE_REPLICA, 2, variable="seen")
def a_counter_of_the_first_replica(strategy):
    seen = variable(strategy, "seen", SUM, value=0.0, synchronization=ss.VariableSynchronization.ON_READ)

    def step(x, y):
        if ctx().replica_id_in_sync_group == 0:
            seen.assign_add(float(len(y)))  # here

    for batch in batches(strategy, 15):
        strategy.run(step, args=batch)
    with strategy.scope():
        return seen.numpy()


@wrong(kinds.MISSING_REDUCTION, 2, variable=None)
def the_local_result(strategy):
    found = [
        strategy.run(lambda x, y: strategy.xp.sum(y * y), args=batch)  # here
        for batch in batches(strategy, 15)
    ]
    return [float(strategy.experimental_local_results(one)[0]) for one in found]


@wrong(kinds.ORDER, 2, variable=None)
def gathered_along_another_axis(strategy):
    def step(x, y):
        return ctx().all_gather(x, axis=1)  # here

    return [strategy.experimental_local_results(strategy.run(step, args=one))[0] for one in batches(strategy, 8)]


@wrong(kinds.ORDER, 4, variable=None)
def every_nth_row(strategy):
    def step():
        rank, count = int(ctx().replica_id_in_sync_group), strategy.num_replicas_in_sync
        return ctx().all_gather(strategy.xp.asarray(X[:12][rank::count]), axis=0)  # here

    return strategy.experimental_local_results(strategy.run(step))[0]


@wrong(kinds.REPEATED, 2, step=2)
def a_decay_of_every_replica(strategy):
    """In the first step all weights are 0: the decay is, too."""

    def step(w, x, y):
        g = total(gradient(w, x, y)) / BATCH + 0.05 * w.value()
        w.assign_sub(0.1 * ctx().all_reduce("SUM", g))  # here

    return trained(strategy, step, start=(0.0, 0.0, 0.0))


@wrong(kinds.REPEATED, 3)
def the_signs_of_every_replica(strategy):
    def step(w, x, y):
        g = total(gradient(w, x, y)) / BATCH + 0.05 * strategy.xp.sign(w.value())
        w.assign_sub(0.1 * ctx().all_reduce("SUM", g))  # here

    return trained(strategy, step, start=(1.0, -2.0, 0.5))


@wrong(kinds.REPEATED, 4)
def a_number_of_every_replica(strategy):
    def step(w, x, y):
        w.assign_sub(0.1 * ctx().all_reduce("SUM", total(gradient(w, x, y)) / BATCH + 0.25))  # here

    return trained(strategy, step)


_ = MEAN
