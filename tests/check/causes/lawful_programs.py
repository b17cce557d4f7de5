"""Programs without a cause: lawful ones that look suspicious, and wrong ones that no kind describes.

A lawful program gives the same result on any number of replicas. It holds no test.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from training import BATCH, SUM, X, batches, ctx, gradient, total, trained, variable

import simstrategy as ss

__all__ = ["LAWFUL", "UNCLEAR"]

Program = Callable[[ss.Strategy], Any]

LAWFUL: Final[dict[str, Program]] = {}
UNCLEAR: Final[dict[str, Program]] = {}


def registered(programs: dict[str, Program]) -> Callable[[Program], Program]:
    """Registers a program under its name."""

    def register(program: Program) -> Program:
        programs[program.__name__] = program
        return program

    return register


@registered(LAWFUL)
def divided_by_the_batch(strategy):
    def step(w, x, y):
        w.assign_sub(0.1 * ctx().all_reduce("SUM", total(gradient(w, x, y)) / BATCH))

    return trained(strategy, step)


@registered(LAWFUL)
def a_sum_of_means_that_is_divided_later(strategy):
    """All parts are equal, and a point differs by the number of replicas in each step."""

    def step(w, x, y):
        g = ctx().all_reduce("SUM", strategy.xp.mean(gradient(w, x, y), axis=0))
        w.assign_sub(0.1 * g / strategy.num_replicas_in_sync)

    return trained(strategy, step, rows=12, batch=12)


@registered(LAWFUL)
def counted_examples(strategy):
    def step(w, x, y):
        parts = total(gradient(w, x, y)), strategy.xp.asarray(np.float32(len(y)))
        g, count = ctx().all_reduce("SUM", parts)
        w.assign_sub(0.1 * g / count)

    return trained(strategy, step)


@registered(LAWFUL)
def a_counter_that_is_summed(strategy):
    seen = variable(strategy, "seen", SUM, value=0.0, synchronization=ss.VariableSynchronization.ON_READ)
    for batch in batches(strategy, 15):
        strategy.run(lambda x, y: seen.assign_add(float(len(y))), args=batch)
    with strategy.scope():
        return seen.numpy()


@registered(LAWFUL)
def statistics_of_the_whole_batch(strategy):
    xp = strategy.xp

    def step(w, x, y):
        count = ctx().all_reduce("SUM", xp.asarray(np.float32(len(y))))
        mean = ctx().all_reduce("SUM", xp.sum(x, axis=0)) / count
        spread = xp.sqrt(ctx().all_reduce("SUM", xp.sum((x - mean) ** 2, axis=0)) / count)
        w.assign_sub(0.1 * ctx().all_reduce("SUM", total(gradient(w, (x - mean) / spread, y)) / BATCH))

    return trained(strategy, step)


@registered(LAWFUL)
def a_share_of_the_decay_on_every_replica(strategy):
    def step(w, x, y):
        share = 0.05 * w.value() / strategy.num_replicas_in_sync
        w.assign_sub(0.1 * ctx().all_reduce("SUM", total(gradient(w, x, y)) / BATCH + share))

    return trained(strategy, step, start=(1.0, -2.0, 0.5))


@registered(UNCLEAR)
def a_decay_that_depends_on_the_examples(strategy):
    """Each replica adds a term, and its weight is not the same everywhere."""

    def step(w, x, y):
        spread = strategy.xp.sum(x * x, axis=0) ** 2
        w.assign_sub(0.1 * ctx().all_reduce("SUM", total(gradient(w, x, y)) / BATCH + 0.01 * spread * w.value()))

    return trained(strategy, step, start=(1.0, -2.0, 0.5))


@registered(LAWFUL)
def clipped_after_the_sum(strategy):
    xp = strategy.xp

    def step(w, x, y):
        g = ctx().all_reduce("SUM", total(gradient(w, x, y)) / BATCH)
        w.assign_sub(0.1 * g * xp.minimum(1.0, 0.3 / xp.sqrt(xp.sum(g * g))))

    return trained(strategy, step)


@registered(UNCLEAR)
def a_rate_that_each_replica_lowers(strategy):
    calls = [0]

    def step(w, x, y):
        calls[0] += 1
        g = ctx().all_reduce("SUM", total(gradient(w, x, y)) / BATCH)
        w.assign_sub(g * (0.1 / calls[0] ** 0.3))

    return trained(strategy, step)


@registered(UNCLEAR)
def a_first_value_by_the_number_of_replicas(strategy):
    w = variable(strategy, "w", value=np.random.default_rng(strategy.num_replicas_in_sync).normal(size=3))

    def step(x, y):
        w.assign_sub(0.1 * ctx().all_reduce("SUM", total(gradient(w, x, y)) / BATCH))

    for batch in batches(strategy, 8):
        strategy.run(step, args=batch)
    return w.numpy()


@registered(UNCLEAR)
def a_cube_of_the_part(strategy):
    def step(w, x, y):
        w.assign_sub(0.001 * ctx().all_reduce("SUM", (total(gradient(w, x, y)) / BATCH) ** 3))

    return trained(strategy, step)


@registered(UNCLEAR)
def another_constant(strategy):
    constant = 8.0 if strategy.num_replicas_in_sync == 1 else 7.0

    def step(w, x, y):
        w.assign_sub(0.1 * ctx().all_reduce("SUM", total(gradient(w, x, y)) / constant))

    return trained(strategy, step, rows=12)


@registered(UNCLEAR)
def a_result_that_is_the_number_of_replicas_and_more(strategy):
    return np.float32([1.0, strategy.num_replicas_in_sync + 0.25, X[0, 0]])
