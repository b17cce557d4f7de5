"""What budgets.py measures: one subject a process, times in seconds as one line of JSON."""

import json
import resource
import subprocess
import sys
import time

IN, HIDDEN, OUT, BATCH, RATE = 784, 128, 10, 32, 0.1


def best(action, rounds=7):
    """Returns the shortest of several times of `action`."""
    return min(times_of(action, rounds))


def typical(action, rounds=15):
    """Returns the median of several times: some subjects are now and then lucky with their threads."""
    return sorted(times_of(action, rounds))[rounds // 2]


def times_of(action, rounds):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return times


def mlp_data(replicas, batch=BATCH):
    """Returns each replica's images [batch, 784] and one-hot labels [batch, 10], and the first weights."""
    import numpy as np

    rng = np.random.default_rng(0)
    images = [rng.random((batch, IN), dtype=np.float32) for _ in range(replicas)]
    labels = [np.eye(OUT, dtype=np.float32)[rng.integers(0, OUT, batch)] for _ in range(replicas)]
    weights = [
        (rng.standard_normal((IN, HIDDEN)) / 28).astype(np.float32),
        np.zeros(HIDDEN, np.float32),
        (rng.standard_normal((HIDDEN, OUT)) / 11).astype(np.float32),
        np.zeros(OUT, np.float32),
    ]
    return images, labels, weights


def gradients(xp, weights, images, labels, scale):
    """Returns the scaled gradients of an MLP 784-128-10; the same operations for NumPy and for us."""
    w1, b1, w2, b2 = weights
    hidden = xp.maximum(xp.matmul(images, w1) + b1, 0.0)
    logits = xp.matmul(hidden, w2) + b2
    shifted = xp.exp(logits - xp.max(logits, axis=1, keepdims=True))
    errors = (shifted / xp.sum(shifted, axis=1, keepdims=True) - labels) * scale
    back = xp.matmul(errors, xp.permute_dims(w2, (1, 0))) * (hidden > 0)
    return [
        xp.matmul(xp.permute_dims(images, (1, 0)), back),
        xp.sum(back, axis=0),
        xp.matmul(xp.permute_dims(hidden, (1, 0)), errors),
        xp.sum(errors, axis=0),
    ]


def mlp():
    """Times the NumPy loops and ours by turns, in one process: the same allocator, the same cache.

    A turn is a few steps, as in training, after one that is not counted: it finds the cache full of another's.
    """
    figures = {}
    for replicas, rounds, steps in ((8, 60, 8), (64, 15, 2)):
        subjects = {"keep": numpy_keep(replicas), "plain": numpy_plain(replicas), "sim": sim_mlp(replicas)}
        if replicas == 8:
            subjects |= {"host": host_mlp(replicas, "value"), "copies": host_mlp(replicas, "numpy")}
        times = {name: [] for name in subjects}
        for _ in range(rounds):
            for name, step in subjects.items():
                step()
                times[name] += times_of(step, steps)
        figures |= {f"{name}_{replicas}": sorted(found)[len(found) // 2] for name, found in times.items()}
    return figures


def numpy_keep(replicas):
    """Returns a step that keeps all replicas' gradients until the last has come."""
    import numpy as np

    images, labels, weights = mlp_data(replicas)
    scale = np.float32(RATE / (BATCH * replicas))

    def step():
        kept = [gradients(np, weights, x, y, scale) for x, y in zip(images, labels, strict=True)]
        for i, weight in enumerate(weights):
            total = kept[0][i]
            for one in kept[1:]:
                total = total + one[i]
            weights[i] = weight - total

    return step


def numpy_plain(replicas, batch=BATCH):
    """Returns a step that adds each replica's gradients as they come."""
    import numpy as np

    images, labels, weights = mlp_data(replicas, batch)
    scale = np.float32(RATE / (batch * replicas))

    def step():
        totals = None
        for x, y in zip(images, labels, strict=True):
            one = gradients(np, weights, x, y, scale)
            totals = one if totals is None else [a + b for a, b in zip(totals, one, strict=True)]
        for i, weight in enumerate(weights):
            weights[i] = weight - totals[i]

    return step


def sim_mlp(replicas, trace=None, *, batch=BATCH, stacked=False):
    """Returns the same step as a program of ours: variables that sum what the replicas subtract.

    stacked: compiles it to one program of the simulator.
    """
    import simstrategy as ss

    images, labels, weights = mlp_data(replicas, batch)
    scale = RATE / (batch * replicas)
    strategy = ss.Strategy.mirrored(ss.backend("sim", replicas=replicas, stacked=stacked), trace=trace)
    with strategy.scope():
        variables = [ss.Variable(weight, aggregation=ss.VariableAggregation.SUM) for weight in weights]
    x, y = (ss.PerReplica(strategy.run(identity, (ss.PerReplica(one),)).values) for one in (images, labels))

    def replica(x, y):
        xp = ss.get_replica_context().xp
        found = gradients(xp, [variable.value() for variable in variables], x, y, scale)
        for variable, gradient in zip(variables, found, strict=True):
            variable.assign_sub(gradient)

    step = strategy.compile(replica) if stacked else replica
    return lambda: strategy.run(step, (x, y))


def host_mlp(replicas, read):
    """Returns the same step with NumPy's functions, on batches of NumPy.  read: how weights are read."""
    import numpy as np

    import simstrategy as ss

    images, labels, weights = mlp_data(replicas)
    scale = np.float32(RATE / (BATCH * replicas))
    strategy = ss.Strategy.mirrored("sim", replicas=replicas)
    with strategy.scope():
        variables = [ss.Variable(weight, aggregation=ss.VariableAggregation.SUM) for weight in weights]

    def replica(x, y):
        weights = [getattr(variable, read)() for variable in variables]
        for variable, gradient in zip(variables, gradients(np, weights, x, y, scale), strict=True):
            variable.assign_sub(gradient)

    return lambda: strategy.run(replica, (ss.PerReplica(images), ss.PerReplica(labels)))


def sim():
    import simstrategy as ss

    return {
        "sim_all_reduce": all_reduce(None, nest=False),
        "sim_traced": all_reduce(ss.trace.Trace, nest=False),
        "sim_nest": all_reduce(None, nest=True),
        "sim_host": all_reduce(None, nest=False, host=True),
    }


def identity(value):
    import simstrategy as ss

    return ss.get_replica_context().xp.asarray(value)


def all_reduce(make_trace, *, nest, host=False):
    """Returns the time of one collective among 8 replicas of a fresh array of 256 floats, or of four.

    host: of NumPy, with the op as a text.
    """
    import numpy as np

    import simstrategy as ss

    count = 1000

    def replica():
        ctx = ss.get_replica_context()
        xp, number = ctx.xp, float(ctx.replica_id_in_sync_group)
        if host:
            for _ in range(count):
                ctx.all_reduce("SUM", np.full((256,), number, dtype="float32"))
            return
        for _ in range(count):
            x = xp.full((256,), number, dtype="float32")
            ctx.all_reduce(ss.ReduceOp.SUM, {"a": x, "b": x, "c": [x, x]} if nest else x)

    backend = ss.backend("sim", replicas=8)
    times = []
    for _ in range(9):
        # A trace grows, so each round has one of its own; making the strategy is not what is measured.
        strategy = ss.Strategy.mirrored(backend, trace=make_trace() if make_trace else None)
        strategy.run(lambda: None)
        times.append(best(lambda strategy=strategy: strategy.run(replica), 1))
    return sorted(times)[len(times) // 2] / count


def tensorflow():
    import tensorflow as tf

    cpus = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpus, [tf.config.LogicalDeviceConfiguration() for _ in range(8)])
    strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(8)])

    def replica():
        ctx = tf.distribute.get_replica_context()
        x = tf.fill((256,), tf.cast(ctx.replica_id_in_sync_group, tf.float32))
        return ctx.all_reduce(tf.distribute.ReduceOp.SUM, x)

    step = tf.function(lambda: strategy.run(replica))
    step()

    def loop():
        for _ in range(50):
            step()

    return {"tensorflow_all_reduce": typical(loop) / 50}


def jax():
    """A fresh array for all replicas, made on the device, and one call of a compiled function."""
    import jax
    import jax.numpy as jnp

    step = jax.jit(jax.vmap(lambda x: jax.lax.psum(x, "replicas"), axis_name="replicas"))
    step(jnp.ones((8, 256))).block_until_ready()

    def loop():
        for number in range(200):
            step(jnp.full((8, 256), float(number))).block_until_ready()

    return {"jax_all_reduce": typical(loop) / 200}


def bare():
    """The limit: greenlets and NumPy alone, requests compared, no devices, checks, traces or errors."""
    import numpy as np
    from greenlet import getcurrent, greenlet

    count, replicas = 2000, 8

    def run():
        park = getcurrent().switch

        def replica(number):
            for _ in range(count):
                x = np.full((256,), number, np.float32)
                frame = sys._getframe(0)
                park(("all_reduce", "SUM", x.shape, x.dtype, x, (frame.f_code.co_filename, frame.f_lineno)))

        lanes, answers = [greenlet(replica) for _ in range(replicas)], [*map(float, range(replicas))]
        while True:
            arrivals = [lane.switch(answer) for lane, answer in zip(lanes, answers, strict=True)]
            if lanes[0].dead:
                return
            assert all(arrival[:4] == arrivals[0][:4] for arrival in arrivals)
            total = arrivals[0][4] + arrivals[1][4]
            for arrival in arrivals[2:]:
                total += arrival[4]
            answers = [total.view() for _ in lanes]

    return {"bare_all_reduce": typical(run, 9) / count}


def many():
    import simstrategy as ss

    count = 10_000
    strategy = ss.Strategy.mirrored("sim", replicas=count)

    def replica():
        ctx = ss.get_replica_context()
        return ctx.all_reduce(ss.ReduceOp.SUM, ctx.xp.ones(()))

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    strategy.run(replica)
    kib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / count
    return {"many_s": typical(lambda: strategy.run(replica), 9) / count, "many_kib": kib}


def start(code):
    return best(lambda: subprocess.run([sys.executable, "-c", code], check=True), 5)


def start_numpy():
    return {"start_numpy": start("import numpy")}


def start_sim():
    code = (
        "import simstrategy as ss\n"
        "strategy = ss.Strategy.mirrored('sim', replicas=2)\n"
        "strategy.run(lambda: ss.get_replica_context().all_reduce('SUM', 1.0))"
    )
    return {"start_sim": start(code)}


def start_help():
    command = [sys.executable, "-m", "simstrategy", "--help"]
    return {"start_help": best(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL), 5)}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]]()))
