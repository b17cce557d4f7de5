"""Stacked steps of the simulator, for budgets.py: beside JAX, the NumPy loop, and many replicas.

    python3 ci/bench/stacked.py sim|jax|mlp|many     times in seconds as one line of JSON

A collective is one run of a compiled step that all-reduces 256 floats of each replica. Of the same array: the argument
of the run before. Of a fresh one: what the run before has left of it, less the mean.
"""

import json
import resource
import sys
import time

from subjects import BATCH, numpy_plain, sim_mlp, times_of

COUNTS = (8, 64, 512, 4096)
MANY = 100_000


def median(action, rounds, calls):
    """Returns the median of the times of one call."""

    def loop():
        for _ in range(calls):
            action()

    loop()
    return sorted(times_of(loop, rounds))[rounds // 2] / calls


def chain(step, first):
    """Returns an action that gives a step the result of the step before."""
    kept = [first]

    def action():
        kept[0] = step(kept[0])

    return action


def sim():
    import numpy as np

    import simstrategy as ss

    def total(x):
        return ss.get_replica_context().all_reduce("SUM", x)

    def mean(x):
        return x - ss.get_replica_context().all_reduce("MEAN", x)

    figures = {}
    for count in COUNTS:
        strategy = ss.Strategy.mirrored(ss.backend("sim", replicas=count, stacked=True))
        given = ss.PerReplica([np.full(256, rank, np.float32) for rank in range(count)])
        x = strategy.run(strategy.compile(lambda x: x + 0), args=(given,))
        same, fresh = strategy.compile(total), strategy.compile(mean)
        calls = 20_000 // (count + 100)
        figures[f"sim_same_{count}"] = median(lambda s=strategy, x=x, f=same: s.run(f, args=(x,)), 15, calls)
        figures[f"sim_fresh_{count}"] = median(chain(lambda x, s=strategy, f=fresh: s.run(f, args=(x,)), x), 15, calls)
    return figures


def jax():
    import jax
    import jax.numpy as jnp

    def total(x):
        return jax.lax.psum(x, "replicas")

    figures = {}
    for count in COUNTS:
        x = jnp.full((count, 256), jnp.arange(count, dtype=jnp.float32)[:, None])
        same = jax.jit(jax.vmap(total, axis_name="replicas"))
        fresh = jax.jit(jax.vmap(lambda x, count=count: x - total(x) / count, axis_name="replicas"))
        calls = 20_000 // (count + 100)
        figures[f"jax_same_{count}"] = median(lambda f=same, x=x: f(x).block_until_ready(), 15, calls)
        figures[f"jax_fresh_{count}"] = median(chain(lambda x, f=fresh: f(x).block_until_ready(), x), 15, calls)
    return figures


def mlp():
    """Times the NumPy loop and ours by turns, as `subjects.mlp` does."""
    figures = {}
    for batch in (4, BATCH):
        ways = {"plain": numpy_plain(64, batch), "stacked": sim_mlp(64, batch=batch, stacked=True)}
        times = {name: [] for name in ways}
        for _ in range(15):
            for name, step in ways.items():
                step()
                times[name] += times_of(step, 2)
        figures |= {f"{name}_mlp_{batch}": sorted(found)[len(found) // 2] for name, found in times.items()}
    return figures


def many(count=MANY):
    """Times a scalar all_reduce of many replicas, and to read each one's result; states the process's memory."""
    import simstrategy as ss

    start = time.perf_counter()
    strategy = ss.Strategy.mirrored(ss.backend("sim", replicas=count, stacked=True))
    opened = time.perf_counter() - start

    def replica():
        ctx = ss.get_replica_context()
        return ctx.all_reduce("SUM", ctx.replica_id_in_sync_group * 0 + 1)

    step = strategy.compile(replica)
    start = time.perf_counter()
    found = strategy.run(step)
    first = time.perf_counter() - start
    assert int(found.values[-1]) == count
    each = median(lambda: strategy.run(step), 5, 3) / count
    read = median(lambda: strategy.run(step).values, 5, 1) / count
    gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    times = {"stacked_many_s": each, "stacked_read_s": read}
    return times | {"stacked_open_s": opened, "stacked_first_s": first, "stacked_many_gib": gib}


if __name__ == "__main__":
    name, *numbers = sys.argv[1:]
    print(json.dumps(globals()[name](*map(int, numbers))))
