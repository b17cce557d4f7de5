"""A compiled step beside hand-written `shard_map`, on 8 host devices: the budget of docs/budgets.md, as a ratio.

    python3 ci/bench/compiled.py [--rounds 60]

Both do data-parallel SGD of an MLP 784-128-10, float32, and wait for the end of each step. They take turns in one
process; the figure is the median of their times. What a compiled step costs more does not depend on its size, so a
small step and a larger one are measured. ReplicaTasks are stated, not bounded.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from statistics import median

from subjects import HIDDEN, IN, OUT, RATE, mlp_data

REPLICAS = 8
BATCHES = (32, 128)
"""Of each replica."""
BUDGET = 1.10
ROUNDS_MIN = 30
STEP_MS_MIN = 1.0
"""The budget is of steps that take so long."""


def data(batch):
    """Returns images [8 * batch, 784], one-hot labels [8 * batch, 10] and the first weights."""
    import numpy as np

    images, labels, weights = mlp_data(REPLICAS, batch)
    return np.concatenate(images), np.concatenate(labels), weights


def gradients(xp, weights, images, labels, transposed):
    """Returns the scaled gradients and the losses [batch]; the same operations for JAX and for us."""
    w1, b1, w2, b2 = weights
    hidden = xp.maximum(xp.matmul(images, w1) + b1, 0.0)
    logits = xp.matmul(hidden, w2) + b2
    shifted = logits - xp.max(logits, axis=1, keepdims=True)
    exponents = xp.exp(shifted)
    total = xp.sum(exponents, axis=1, keepdims=True)
    losses = xp.log(total[:, 0]) - xp.sum(shifted * labels, axis=1)
    errors = (exponents / total - labels) * (RATE / (images.shape[0] * REPLICAS))
    back = xp.where(hidden > 0, xp.matmul(errors, transposed(w2)), 0.0)
    found = [xp.matmul(transposed(images), back), xp.sum(back, axis=0)]
    return [*found, xp.matmul(transposed(hidden), errors), xp.sum(errors, axis=0)], losses


def by_hand(batch):
    """Returns a step as one writes it with `jax.shard_map`, and what reads the weights."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()[:REPLICAS]), ("ranks",))
    spread, same = PartitionSpec("ranks"), PartitionSpec()
    images, labels, first = data(batch)
    x, y = (jax.device_put(one, NamedSharding(mesh, spread)) for one in (images, labels))
    weights = [jax.device_put(one, NamedSharding(mesh, same)) for one in first]

    def body(weights, x, y):
        with jax.default_matmul_precision("highest"):
            found, losses = gradients(jnp, weights, x, y, jnp.transpose)
        found = [jax.lax.psum(one, "ranks") for one in found]
        return [one - less for one, less in zip(weights, found, strict=True)], losses

    specs = (same, spread, spread)
    compiled = jax.jit(jax.shard_map(body, mesh=mesh, in_specs=specs, out_specs=(same, spread), check_vma=False))

    def step():
        nonlocal weights
        weights, losses = compiled(weights, x, y)
        jax.block_until_ready((weights, losses))

    return step, lambda: np.asarray(weights[0])


def ours(batch, *, compiles):
    """Returns the same step as a program of ours, compiled or by lanes, and what reads the weights."""
    import jax
    import numpy as np

    import simstrategy as ss

    strategy = ss.Strategy.mirrored("xla", replicas=REPLICAS)
    images, labels, first = data(batch)
    with strategy.scope():
        variables = [ss.Variable(one, aggregation=ss.VariableAggregation.SUM) for one in first]

    def replica_fn(x, y):
        xp = ss.get_replica_context().xp
        weights = [one.value() for one in variables]
        found, losses = gradients(xp, weights, x, y, lambda one: xp.permute_dims(one, (1, 0)))
        for variable, gradient in zip(variables, found, strict=True):
            variable.assign_sub(gradient)
        return losses

    run = strategy.compile(replica_fn) if compiles else replica_fn
    (given,) = strategy.experimental_distribute_dataset([(images, labels)])

    def step():
        losses = strategy.run(run, args=given)
        # On CPUs the step has been waited for; one of its results tells for all, elsewhere too.
        jax.block_until_ready(losses.values[0] if compiles else losses.values)

    return step, lambda: np.asarray(variables[0].numpy())


def measure(rounds, batch):
    """Returns the median seconds of each way, which take turns; all have to come to the same weights."""
    import numpy as np

    import simstrategy as ss

    ss.backend("xla", replicas=REPLICAS).close()  # makes the host devices, before JAX's first use
    ways = {
        "by hand": by_hand(batch),
        "compiled": ours(batch, compiles=True),
        "lanes": ours(batch, compiles=False),
    }
    times = {name: [] for name in ways}
    for number in range(rounds):
        for name, (step, _) in ways.items():
            if name == "lanes" and number >= rounds // 6:
                continue  # far slower, and not bounded
            start = time.perf_counter()
            step()
            times[name].append(time.perf_counter() - start)
        if number == rounds // 6 - 1:
            found = [read() for _, read in ways.values()]
            for one in found[1:]:
                np.testing.assert_allclose(one, found[0], rtol=1e-4, atol=1e-6)
    return {name: median(one[2:]) for name, one in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=120, help="of each process")
    parser.add_argument("--processes", type=int, default=3, help="one after the other; the median one counts")
    parser.add_argument("--one", type=int, metavar="BATCH", help="measure in this process, and print JSON")
    options = parser.parse_args()
    if options.rounds < ROUNDS_MIN:
        parser.error(f"a median takes at least {ROUNDS_MIN} rounds, not {options.rounds}")
    if options.one:
        print(json.dumps(measure(options.rounds, options.one)))
        return 0
    print(f"a step of an MLP {IN}-{HIDDEN}-{OUT} on {REPLICAS} host devices, beside hand-written shard_map")
    kept = [report(batch, options) for batch in BATCHES]
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores.")
    return 0 if all(kept) else 1


def report(batch, options):
    """Measures one size of batch in processes of its own; prints it, and returns whether the budget is kept."""
    command = [sys.executable, __file__, "--one", str(batch), "--rounds", str(options.rounds)]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    found = []
    for _ in range(options.processes):
        done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    ratios = [one["compiled"] / one["by hand"] for one in found]
    own, compiled, lanes = (median(one[name] for one in found) * 1e3 for name in ("by hand", "compiled", "lanes"))
    is_kept = median(ratios) <= BUDGET or own < STEP_MS_MIN
    each = ", ".join(f"{one:.3f}" for one in ratios)
    print(
        f"batch {batch} a replica: by hand {own:.2f} ms, compiled {compiled:.2f} ms, lanes {lanes:.2f} ms", flush=True
    )
    missed = "" if is_kept else "  MISSED"
    print(f"  compiled: {median(ratios):.3f} ×, at most {BUDGET:.2f}{missed}; of each process: {each}")
    print(f"  lanes: {lanes / own:.1f} × (stated, not bounded)", flush=True)
    return is_kept


if __name__ == "__main__":
    sys.exit(main())
